"""Folders of the Cell Tracking Challenge: round trips on generated movies, and every fault by name."""

from __future__ import annotations

import importlib.util
import io

import numpy as np
import pytest
from small_movies import LINKS, MERGE, lineage, masks, movie, same

from palmette.apps.tracking import (
    CTCMovie,
    FrameFiles,
    read_ctc_lineage,
    read_ctc_tracks,
    write_ctc,
)
from palmette.apps.tracking.ctc_tracks import numbered_tracks
from palmette.datasets import store
from palmette.errors import DataFileError
from palmette.structures.tracking.lineage import Lineage

tifffile = pytest.importorskip("tifffile")


def save(folder, stack, kind="mask", tracks=None, digits=3):
    folder.mkdir(exist_ok=True)
    for frame, image in enumerate(stack):
        tifffile.imwrite(folder / f"{kind}{frame:0{digits}d}.tif", image, photometric="minisblack")
    if tracks is not None:
        name = {"mask": "res_track.txt"}.get(kind, "man_track.txt")
        (folder / name).write_text("".join(" ".join(map(str, row)) + "\n" for row in tracks))
    return folder


def renamed(found: Lineage, original: list[np.ndarray], written: list[np.ndarray]) -> Lineage:
    """The lineage of relabelled masks in terms of the labels of the original ones."""
    ids = []
    for frame, label in zip(found.frame, found.id):
        own = np.unique(original[frame][written[frame] == label])
        assert len(own) == 1
        ids.append(own[0])
    return Lineage(found.frame, np.array(ids), found.edges)


@pytest.mark.parametrize("kind", ["mask", "man_track", "man_seg"])
@pytest.mark.parametrize("digits", [3, 4])
def test_masks_are_measured_frame_by_frame(tmp_path, kind, digits):
    found = CTCMovie(save(tmp_path, masks(7), kind, digits=digits))
    assert len(found) == 7
    for _ in range(2):  # as often as wanted
        for own, expected in zip(found, movie(7), strict=True):
            assert own.frame == expected.frame and own.ids.tolist() == expected.ids.tolist()
            np.testing.assert_array_equal(own.position, expected.position)
            assert own.shape == expected.shape


def test_raw_images_give_intensities(tmp_path, rng):
    stack = masks()
    images = [rng.normal(size=each.shape).astype(np.float32) for each in stack]
    save(tmp_path / "raw", images, "t")
    found = CTCMovie(save(tmp_path / "found", stack), images=tmp_path / "raw", spacing=2.0)
    for cells, labels, image in zip(found, stack, images):
        own = cells.features["intensity"][0]
        assert own == pytest.approx(
            image[labels == cells.ids[0]].mean(dtype=float) - np.median(image[labels == 0]), abs=1e-6
        )
        assert cells.shape == (80, 120)
    (tmp_path / "raw" / "t004.tif").unlink()
    with pytest.raises(DataFileError, match=r"frame 4 has a mask .* but no image t004.tif"):
        CTCMovie(tmp_path / "found", images=tmp_path / "raw")


def test_volumes(tmp_path):
    stack = [np.stack([np.zeros_like(each), each, each]) for each in masks()]
    found = list(CTCMovie(save(tmp_path, stack)))
    assert found[0].position.shape[1] == 3 and set(found[0].position[:, 0]) == {1.5}
    assert found[0].boxes.shape[1] == 6
    write_ctc(tmp_path / "results", lineage(), tmp_path)
    assert tifffile.imread(tmp_path / "results" / "mask000.tif").shape == stack[0].shape
    assert len(read_ctc_lineage(tmp_path / "results")) == len(lineage())


# -- round trips -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("digits", [3, 4])
def test_a_lineage_that_was_written_is_read_again(tmp_path, digits):
    stack = masks(6)
    found = save(tmp_path / "found", stack, digits=digits)
    write_ctc(tmp_path / "results", lineage(), found)
    names = sorted(path.name for path in (tmp_path / "results").iterdir())
    assert names == [*(f"mask{frame:0{digits}d}.tif" for frame in range(6)), "res_track.txt"]
    written = [tifffile.imread(tmp_path / "results" / name) for name in names[:-1]]
    assert all(each.dtype == np.uint16 for each in written)
    for before, after in zip(stack, written):
        np.testing.assert_array_equal(before > 0, after > 0)
    again = read_ctc_lineage(tmp_path / "results")
    assert same(renamed(again, stack, written), lineage())


def test_a_gap_is_written_as_a_child(tmp_path):
    write_ctc(tmp_path / "results", lineage(), save(tmp_path / "found", masks()))
    rows = {row.label: row for row in read_ctc_tracks(tmp_path / "results" / "res_track.txt")}
    behind = next(row for row in rows.values() if (row.begin, row.end) == (4, 4))
    assert rows[behind.parent][1:3] == (0, 2)
    assert len(rows) == len(lineage().tracks()) + 1


def test_objects_that_are_not_in_the_lineage_are_removed(tmp_path):
    some = Lineage.from_links([(0, 3), (1, 1)], LINKS[:1])
    write_ctc(tmp_path / "results", some, save(tmp_path / "found", masks()))
    counts = [len(np.unique(tifffile.imread(tmp_path / "results" / f"mask00{t}.tif"))) - 1 for t in range(5)]
    assert counts == [1, 1, 0, 0, 0]


def test_merges_are_lost_with_a_warning(tmp_path):
    found = save(tmp_path / "found", masks())
    with pytest.warns(UserWarning, match=r"1 links are not written: .* detection 2 of frame 4"):
        write_ctc(tmp_path / "results", lineage(MERGE), found)
    assert len(read_ctc_lineage(tmp_path / "results").edges) == len(LINKS)


def test_results_replace_others_only_if_told(tmp_path):
    found, results = save(tmp_path / "found", masks()), tmp_path / "results"
    write_ctc(results, lineage(), found)
    with pytest.raises(FileExistsError, match=r"has results; pass overwrite=True"):
        write_ctc(results, lineage(), found)
    with pytest.raises(FileExistsError, match="the masks given are there and would be lost"):
        write_ctc(found, lineage(), found, overwrite=True)
    (results / "mask009.tif").write_bytes(b"of a longer movie")
    write_ctc(results, lineage(), found, overwrite=True)
    assert len(FrameFiles(results)) == 5


def test_a_compression_that_needs_another_package_is_named(tmp_path):
    """Without imagecodecs, tifffile cannot read LZW, the compression of many published masks."""
    image = pytest.importorskip("PIL.Image")
    image.fromarray(masks()[0].astype(np.uint16)).save(tmp_path / "mask000.tif", compression="tiff_lzw")
    if importlib.util.find_spec("imagecodecs") is None:
        with pytest.raises(DataFileError, match=r"mask000.tif: frame 0 .*LZW.*; pip install imagecodecs"):
            FrameFiles(tmp_path).image(0)
    else:
        assert np.array_equal(FrameFiles(tmp_path).image(0), masks()[0])


def test_a_failure_leaves_no_track_file(tmp_path):
    found, results = save(tmp_path / "found", masks()), tmp_path / "results"
    write_ctc(results, lineage(), found)
    (found / "mask003.tif").write_bytes(b"damaged")
    with pytest.raises(DataFileError, match=r"mask003.tif: frame 3 cannot be read .*; replace the file"):
        write_ctc(results, lineage(), found, overwrite=True)
    assert not (results / "res_track.txt").exists(), "what is there is not complete"


def test_detections_must_be_in_the_masks(tmp_path):
    found = save(tmp_path / "found", masks())
    with pytest.raises(DataFileError, match="frame 2 has no label 77, but the lineage has"):
        write_ctc(tmp_path / "a", Lineage.from_links([(2, 77)], []), found)
    with pytest.raises(DataFileError, match="no mask of frame 9, but the lineage has detection 1 there"):
        write_ctc(tmp_path / "b", Lineage.from_links([(9, 1)], []), found)
    assert not (tmp_path / "b").exists()


def test_too_many_tracks_for_masks(tmp_path):
    many = Lineage.from_links([(0, k) for k in range(1, 2**16 + 1)], [])
    with pytest.raises(ValueError, match="65536 tracks, but masks of the challenge hold 65535"):
        write_ctc(tmp_path / "a", many, save(tmp_path / "found", masks()))


def test_labels_of_tracks_follow_their_first_frame():
    rows = [track.row for track in numbered_tracks(lineage())]
    assert [row.label for row in rows] == list(range(1, len(rows) + 1))
    assert [row.begin for row in rows] == sorted(row.begin for row in rows)


# -- faults ----------------------------------------------------------------------------------------------------------


def test_a_frame_that_is_lacking(tmp_path):
    save(tmp_path, masks())
    (tmp_path / "mask002.tif").unlink()
    with pytest.raises(
        DataFileError, match=r"frame 2 is lacking \(mask002.tif\).*frames 0 to 4 .* an image of zeros"
    ):
        CTCMovie(tmp_path)


def test_masks_of_two_kinds_or_of_none(tmp_path):
    with pytest.raises(DataFileError, match=r"no files such as mask000\.tif or man_track000\.tif"):
        FrameFiles(tmp_path)
    save(tmp_path, masks())
    save(tmp_path, masks(), "man_seg")
    with pytest.raises(DataFileError, match=r"several kinds \(mask, man_seg\); choose one with kind='mask'"):
        FrameFiles(tmp_path)
    assert FrameFiles(tmp_path, "man_seg").kind == "man_seg"
    with pytest.raises(ValueError, match="kind must be one of 'mask'"):
        FrameFiles(tmp_path, "masks")
    with pytest.raises(DataFileError, match="not a folder"):
        FrameFiles(tmp_path / "nothing")


def test_a_frame_of_another_shape_and_one_twice(tmp_path):
    save(tmp_path, [*masks()[:2], np.zeros((3, 3), np.uint16)])
    with pytest.raises(
        DataFileError, match=r"mask002.tif: frame 2 has shape \(3, 3\), the frames before it \(40, 60\)"
    ):
        list(CTCMovie(tmp_path))
    tifffile.imwrite(tmp_path / "mask0001.tif", np.zeros((3, 3), np.uint16))
    with pytest.raises(DataFileError, match="frame 1 has two files"):
        CTCMovie(tmp_path)


TRUTH = [np.array([[1, 9]]), np.array([[1, 0]]), np.array([[2, 3]])]
TRACKS = [(1, 0, 1, 0), (2, 2, 2, 1), (3, 2, 2, 1), (9, 0, 0, 0)]


def truth(folder, stack=TRUTH, tracks=TRACKS):
    return save(folder, [each.astype(np.uint16) for each in stack], "man_track", tracks)


def test_truth(tmp_path):
    found = read_ctc_lineage(truth(tmp_path))
    assert found.links(0, 1) == [(1, 1)] and found.links(1, 2) == [(1, 2), (1, 3)] and len(found) == 5


@pytest.mark.parametrize(
    ("tracks", "message"),
    [
        (
            [*TRACKS, (5, 1, 2, 0)],
            "track 5 lives from frame 1 to 2, but the mask of frame 1 .* has no label 5",
        ),
        (TRACKS[:3], "frame 0 has the label 9, which has no line"),
        ([*TRACKS[:3], (9, 1, 1, 0)], "frame 0 has the label 9, but its track in .* lives from frame 1 to 1"),
        ([(1, 0, 2, 0), *TRACKS[1:]], "track 2 begins in frame 2, but its parent 1 ends in frame 2"),
        ([*TRACKS[:2], (3, 2, 2, 7), TRACKS[3]], "track 3 has the parent 7, which has no line"),
        ([*TRACKS, (1, 0, 1, 0)], "track.txt:5: the label 1 stands already in line 1"),
        ([*TRACKS, (5, 2, 1, 0)], "track.txt:5: track 5 ends in frame 1, before it begins in frame 2"),
        ([*TRACKS, (5, 2, 1)], "track.txt:5: '5 2 1' is not four whole numbers"),
        ([*TRACKS, (0, 2, 2, 0)], "track.txt:5: .* labels count from 1"),
        ([*TRACKS[:3], (9, 0, 7, 0)], "track 9 lives from frame 0 to 7, but .* masks of the frames 0 to 2"),
    ],
)
def test_track_files_with_faults(tmp_path, tracks, message):
    with pytest.raises(DataFileError, match=message):
        read_ctc_lineage(truth(tmp_path, tracks=tracks))


def test_gaps_are_refused_or_linked(tmp_path):
    truth(tmp_path, [np.array([[1]]), np.array([[0]]), np.array([[1]])], [(1, 0, 2, 0)])
    with pytest.raises(DataFileError, match=r"the mask of frame 1 .* has no label 1; .*gaps='link'"):
        read_ctc_lineage(tmp_path)
    assert read_ctc_lineage(tmp_path, gaps="link").links(0, 2) == [(1, 1)]
    with pytest.raises(ValueError, match="gaps must be 'error' or 'link'"):
        read_ctc_lineage(tmp_path, gaps="skip")


def test_the_track_file_may_be_elsewhere(tmp_path):
    truth(tmp_path / "a")
    (tmp_path / "a" / "man_track.txt").rename(tmp_path / "tracks.txt")
    with pytest.raises(
        DataFileError, match=r"no track file man_track.txt beside the masks.*tracks, --lineage"
    ):
        read_ctc_lineage(tmp_path / "a")
    assert len(read_ctc_lineage(tmp_path / "a", tmp_path / "tracks.txt")) == 5


@pytest.mark.data
@pytest.mark.parametrize("name", ["fluo-n2dh-sim", "fluo-n2dl-hela"])
def test_real_markers_and_their_track_file(tmp_path, name):
    from palmette.datasets import load_fluo

    contents = store.read(name, ["markers", "tracks_01"])
    with np.load(io.BytesIO(contents["markers"])) as stacks:
        save(tmp_path, stacks["01"], "man_track")
    (tmp_path / "man_track.txt").write_bytes(contents["tracks_01"])
    found = read_ctc_lineage(tmp_path)
    bunch = load_fluo(name.rpartition("-")[2], "01")
    label = {}
    for cells, labels in zip(bunch.frames, bunch.labels):
        label |= {(cells.frame, own): each for own, each in zip(cells.ids.tolist(), labels.tolist())}
    ids = [label[node] for node in zip(bunch.lineage.frame.tolist(), bunch.lineage.id.tolist())]
    assert same(found, Lineage(bunch.lineage.frame, np.array(ids), bunch.lineage.edges))
