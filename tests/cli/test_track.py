"""``palmette track``, and training, prediction and evaluation of trackers: files in, files out, bad input."""

from __future__ import annotations

import json

import pytest

from palmette.apps.tracking import read_lineage, write_lineage, write_table
from palmette.cli import main
from palmette.datasets import make_cells


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Tables of two movies and their lineages, masks of the first, and a tracker of it."""
    root = tmp_path_factory.mktemp("cells")
    for name, seed in (("one", 0), ("two", 1)):
        movie = make_cells(10, 8, render=True, random_state=seed)
        write_table(root / f"{name}.csv", movie.frames)
        write_lineage(root / f"{name}-lineage.csv", "csv", movie.lineage)
        if name == "one":
            tifffile = pytest.importorskip("tifffile")
            (root / "masks").mkdir()
            for t, labels in enumerate(movie.masks):
                tifffile.imwrite(root / "masks" / f"mask{t:03d}.tif", labels.astype("uint16"))
    assert main(
        ["train", "--task", "tracking", str(root / "one.csv"), "--lineage", str(root / "one-lineage.csv"),
         "--model", str(root / "m.palmette")]
    ) == 0  # fmt: skip
    return root


def run(capsys, *arguments):
    code = main([str(each) for each in arguments])
    shown = capsys.readouterr()
    return code, shown.out, shown.err


def test_tracks_a_table_with_and_without_a_model(folder, capsys, tmp_path):
    for number, options in enumerate(([], ["--model", folder / "m.palmette"])):
        out = tmp_path / f"{number}.csv"
        code, shown, log = run(capsys, "track", folder / "two.csv", "-o", out, "--json", *options)
        record = json.loads(shown)
        assert code == 0 and record["pretrained"] == (not options) and record["lost"] == 0.0
        assert len(read_lineage(out)) == record["detections"] == sum(1 for _ in open(folder / "two.csv")) - 1
        assert ("simulated cells" in log) == (not options)


def test_tracks_masks_and_writes_every_format(folder, capsys, tmp_path):
    for name in ("ctc", "geff", "napari", "links", "csv"):
        if name == "geff":
            pytest.importorskip("geff")
        out = tmp_path / f"result.{name}"
        code, shown, log = run(capsys, "track", folder / "masks", "--format", name, "-o", out)
        assert code == 0 and out.exists() and f"({name})" in shown, log
    assert (tmp_path / "result.ctc" / "res_track.txt").exists()
    code, _, log = run(capsys, "track", folder / "masks", "--format", "ctc", "-o", tmp_path / "result.ctc")
    assert code == 2 and "--overwrite" in log
    code, _, _ = run(
        capsys, "track", folder / "masks", "--format", "ctc", "-o", tmp_path / "result.ctc", "--overwrite"
    )
    assert code == 0


def test_pictures_and_time_limits(folder, capsys, tmp_path):
    code, _, _ = run(capsys, "track", folder / "two.csv", "--plot", tmp_path / "tree.png", "--time-limit", 60)
    assert code == 0 and (tmp_path / "tree.png").stat().st_size > 1000
    code, _, log = run(capsys, "track", folder / "two.csv", "--time-limit", 0)
    assert code == 2 and "--time-limit must be above 0" in log


def test_predict_evaluate_and_inspect(folder, capsys):
    code, shown, _ = run(capsys, "predict", "-m", folder / "m.palmette", folder / "two.csv")
    assert code == 0 and shown.startswith("frame,id,track,parent\n")
    code, shown, _ = run(
        capsys, "evaluate", folder / "two.csv", "--lineage", folder / "two-lineage.csv", "-m", folder / "m.palmette",
        "--json",
    )  # fmt: skip
    assert code == 0 and json.loads(shown)["tra"] > 0.95
    code, shown, _ = run(capsys, "inspect", folder / "m.palmette")
    assert code == 0 and "move: distance" in shown and "divide" in shown


def test_pins(folder, capsys, tmp_path):
    tracked = tmp_path / "all.csv"
    run(capsys, "track", folder / "two.csv", "-m", folder / "m.palmette", "-o", tracked, "--format", "links")
    first = tracked.read_text().splitlines()[:2]
    (tmp_path / "one.csv").write_text("\n".join(first) + "\n")
    code, _, _ = run(
        capsys, "track", folder / "two.csv", "-m", folder / "m.palmette", "--forbid", tmp_path / "one.csv", "-o",
        tmp_path / "less.csv", "--format", "links",
    )  # fmt: skip
    assert code == 0 and first[1] not in (tmp_path / "less.csv").read_text().splitlines()
    code, _, _ = run(capsys, "track", folder / "two.csv", "--pins", tmp_path / "one.csv")
    assert code == 0


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["track", "{}/nothing"], "No such file"),
        (["track", "{}/two.csv", "--format", "csv"], "--format csv says how to write --output"),
        (["track", "{}/two.csv", "-o", "{}/x", "--format", "avi"], "--format must be one of"),
        (["track", "{}/two.csv", "-o", "{}/x", "--format", "ctc"], "needs masks"),
        (["track", "{}/m.palmette"], "Understood are"),
        (["train", "--task", "tracking", "{}/masks", "-m", "{}/x.palmette"], "no track file"),
        (["train", "--task", "tracking", "{}/one.csv", "-m", "{}/x.palmette"], "track"),
        (
            ["train", "--task", "tracking", "{}/one.csv", "--window", "1", "-m", "{}/x.palmette"],
            "--window must be",
        ),
        (["train", "{}/masks", "-m", "{}/x.palmette"], "is a folder"),
    ],
)
def test_bad_input(folder, capsys, arguments, text):
    code, _, log = run(capsys, *(each.format(folder) for each in arguments))
    assert code == 2 and text in log, log


def test_lineages_as_links_and_held_out_movies(folder, capsys, tmp_path):
    write_lineage(tmp_path / "links.csv", "links", read_lineage(folder / "one-lineage.csv"))
    code, shown, log = run(
        capsys, "train", "--task", "tracking", folder / "one.csv", "--lineage", tmp_path / "links.csv", "--dev",
        folder / "two.csv", "--dev-lineage", folder / "two-lineage.csv", "-m", tmp_path / "m.palmette",
    )  # fmt: skip
    assert code == 0 and "TRA" in shown, log
    code, _, log = run(capsys, "track", folder / "two.csv", "--images", tmp_path)
    assert code == 2 and "--images gives intensities to CTC masks" in log


def test_what_is_read_is_not_replaced(folder, capsys):
    before = (folder / "two.csv").read_bytes()
    code, _, log = run(capsys, "track", folder / "two.csv", "-o", folder / "two.csv")
    assert code == 2 and "would replace" in log and (folder / "two.csv").read_bytes() == before


def test_training_on_some_measurements_and_with_a_track_file(folder, capsys, tmp_path):
    tracked, model = tmp_path / "tracked", tmp_path / "m"
    assert run(capsys, "track", folder / "masks", "--format", "ctc", "-o", tracked)[0] == 0
    (tracked / "res_track.txt").rename(tmp_path / "tracks.txt")
    arguments = ["train", "--task", "tracking", tracked, "--model", model, "--measurements", "area,boxes"]
    code, _, log = run(capsys, *arguments)
    assert code == 2 and "name it (tracks, --lineage)" in log
    code, shown, log = run(capsys, *arguments, "--lineage", tmp_path / "tracks.txt")
    assert code == 0 and "uses        area, boxes" in shown and "1 movie of 8 frames" in shown, log
    code, _, log = run(capsys, "track", folder / "masks", "--model", folder / "m.palmette")
    assert code == 2 and "frame 0 has no int_std, intensity" in log and "need images" in log
    code, _, log = run(capsys, *arguments[:3], folder / "one.csv", "--model", model)
    assert code == 2 and "no column 'track'" in log and "--lineage" in log


def test_what_is_odd_in_a_movie_is_told(folder, capsys, tmp_path):
    lines = (folder / "two.csv").read_text().splitlines()
    (tmp_path / "gap.csv").write_text("\n".join(line for line in lines if not line.startswith("4,")) + "\n")
    code, shown, log = run(capsys, "track", tmp_path / "gap.csv", "--model", folder / "m.palmette", "--json")
    assert code == 0 and json.loads(shown)["empty"] == [4] and "no detections in frame 4" in log
    (tmp_path / "links.csv").write_text("frame_from,id_from,frame_to,id_to\n3,1,4,999\n")
    arguments = ["train", "--task", "tracking", folder / "one.csv", "--model", tmp_path / "m"]
    code, _, log = run(capsys, *arguments, "--lineage", tmp_path / "links.csv")
    assert code == 2 and "links.csv: a link names detection 999 of frame 4" in log
