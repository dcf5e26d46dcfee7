"""Loaders of web pages and snakes: on small files of the same form, and on the real ones."""

from __future__ import annotations

import io
import os
import pickle
import tarfile
from collections import Counter

import numpy as np
import pytest

from palmette.datasets import (
    load_snakes,
    load_webkb_cmu,
    load_webkb_linqs,
    snakes_format,
    store,
    webkb_format,
)


@pytest.fixture
def contents(monkeypatch):
    """What the store returns instead of real files: a dict from source to content, to be filled."""
    given = {}
    monkeypatch.setattr(store, "read", lambda name, sources: {s: given[s] for s in given if s in sources})
    return given


def tarred(files, mode="w:gz") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


# ---------------------------------------------------------------------------------------------- web pages

PAGES = {
    "student/texas/http:^^a.edu^~ann^": b"Date: today\r\nServer: x\r\n\r\n<title>Ann</title>",
    "course/cornell/http:^^b.edu:8080^cs_1^x:y.html": b"<p>no headers\n\nat all \xe9",
}


def test_archives_with_colons_and_with_underscores_decode_alike():
    colons = tarred({f"webkb/{name}": page for name, page in PAGES.items()})
    copy = tarred(
        {f"a-1/webkb/{name.replace(':', '_')}": page for name, page in reversed(PAGES.items())}, "w:xz"
    )
    assert webkb_format.from_tar(colons) == webkb_format.from_tar(copy)
    urls = [page.url for page in webkb_format.parse(webkb_format.from_tar(colons))]
    assert urls == ["http://b.edu:8080/cs_1/x_y.html", "http://a.edu/~ann/"]


def test_an_archive_of_something_else_is_refused():
    with pytest.raises(ValueError, match="no files webkb/<class>/<school>/<name>"):
        webkb_format.from_tar(tarred({"readme": b"hello"}))


def test_pages_lose_their_headers(contents):
    contents["pages"] = webkb_format.from_tar(tarred({f"webkb/{k}": v for k, v in PAGES.items()}))
    bunch = load_webkb_cmu()
    assert bunch.data == ["<p>no headers\n\nat all \xe9", "<title>Ann</title>"]
    assert bunch.target == ["course", "student"] and bunch.schools.tolist() == ["cornell", "texas"]
    assert load_webkb_cmu("texas", return_X_y=True) == (["<title>Ann</title>"], ["student"])


@pytest.mark.parametrize("load", [load_webkb_cmu, load_webkb_linqs])
@pytest.mark.parametrize("subset", ["oxford", ["texas", "oxford"], 3, None])
def test_unknown_school(load, subset, contents):
    with pytest.raises(ValueError, match=r"subset must be 'all' or schools from cornell, texas, .*, got"):
        load(subset)


def test_no_school(contents):
    with pytest.raises(ValueError, match="subset is empty"):
        load_webkb_linqs([])


def test_links_go_from_the_second_page_to_the_first(contents):
    contents["texas.content"] = b"u\t0\t1\tcourse\nv\t1\t1\tstaff\n"
    contents["texas.cites"] = b"u v\nv v\n"
    bunch = load_webkb_linqs("texas")
    assert bunch.links[0].tolist() == [[1, 0], [1, 1]]
    assert bunch.data[0].toarray().tolist() == [[0, 1], [1, 1]] and bunch.target == [["course", "staff"]]


# ------------------------------------------------------------------------------------------------- snakes


def make_images(rng):
    shapes = [(2, 3), (4, 2), (3, 3)]
    pictures = [255 * rng.integers(2, size=(*shape, 3)).astype(np.uint8) for shape in shapes]
    return pictures, [rng.integers(11, size=shape) for shape in shapes]


def as_npz(pictures, grids, n_train) -> bytes:
    buffer = io.BytesIO()
    np.savez(
        buffer,
        X=np.concatenate([each.ravel() for each in pictures]),
        Y=np.concatenate([each.ravel() for each in grids]),
        shapeX=[each.shape for each in pictures],
        shapeY=[each.shape for each in grids],
        n_train=n_train,
    )
    return buffer.getvalue()


@pytest.mark.parametrize("protocol", [0, 1, 2, 4])
@pytest.mark.parametrize("kind", ["u1", "<i8", ">i4", "f8"])
def test_pickle_and_npz_decode_alike(rng, protocol, kind):
    pictures, grids = make_images(rng)
    typed = [np.asfortranarray(grid.astype(kind)) for grid in grids]
    whole = dict(X_train=pictures[:2], Y_train=typed[:2], X_test=pictures[2:], Y_test=typed[2:])
    text = snakes_format.from_pickle(pickle.dumps(whole, protocol))
    assert text == snakes_format.from_npz(as_npz(pictures, grids, 2))
    images = snakes_format.parse(text)
    assert [image.part for image in images] == ["train", "train", "test"]
    for image, picture, grid in zip(images, pictures, grids):
        assert (image.labels == grid).all() and (image.colours == (picture > 0) @ [1, 2, 4]).all()


class Attack:
    def __reduce__(self):
        return os.mkdir, ("never made",)


def test_a_pickle_that_names_code_is_refused_and_does_not_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for raw in (pickle.dumps(Attack()), pickle.dumps({"X_train": [Attack()]})):
        with pytest.raises(ValueError, match=r"not the pickle .* expected: it names (posix|nt)\.mkdir"):
            snakes_format.from_pickle(raw)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("raw", [b"", b"junk", pickle.dumps([1]), pickle.dumps(np.array([None]))])
def test_a_damaged_pickle_is_refused(raw):
    with pytest.raises((ValueError, EOFError)):
        snakes_format.from_pickle(raw)


def test_colours_and_labels_are_checked(rng):
    pictures, grids = make_images(rng)
    with pytest.raises(ValueError, match="labels other than 0 to 10"):
        snakes_format.from_npz(as_npz(pictures, [grid + 5 for grid in grids], 2))
    with pytest.raises(ValueError, match=r"shape \(2, 3, 3\) with labels of shape \(4, 2\)"):
        snakes_format.from_npz(as_npz(pictures, [grids[1], grids[0], grids[2]], 2))


def test_parts_of_snakes(rng, contents):
    pictures, grids = make_images(rng)
    contents["images"] = snakes_format.from_npz(as_npz(pictures, grids, 2))
    both = load_snakes("all")
    assert both.groups.tolist() == ["train", "train", "test"] and both.target_names == list(range(11))
    for found, picture in zip(both.data, pictures):
        assert (found == picture).all()
    assert [len(load_snakes(part, return_X_y=True)[0]) for part in ("train", "fit", "dev", "test")] == [
        2,
        1,
        1,
        1,
    ]


# ---------------------------------------------------------------------------------------------- real data


@pytest.mark.data
def test_real_pages():
    bunch = load_webkb_cmu()
    assert Counter(bunch.target) == {
        "student": 1641, "faculty": 1124, "staff": 137, "department": 182, "course": 930, "project": 504, "other": 3764
    }  # fmt: skip
    assert Counter(bunch.schools.tolist()) == {
        "cornell": 867, "texas": 827, "washington": 1205, "wisconsin": 1263, "misc": 4120
    }  # fmt: skip


@pytest.mark.data
def test_real_linqs():
    bunch = load_webkb_linqs()
    assert [words.shape for words in bunch.data] == [(195, 1703), (187, 1703), (230, 1703), (265, 1703)]
    assert [len(links) for links in bunch.links] == [304, 328, 446, 530]
    assert [int((links[:, 0] == links[:, 1]).sum()) for links in bunch.links] == [3, 18, 51, 20]
    assert bunch.target_names == ["course", "faculty", "project", "staff", "student"]


@pytest.mark.data
def test_real_snakes():
    train, test = load_snakes(), load_snakes("test")
    assert (len(train.data), len(test.data)) == (200, 100)
    labels = Counter(int(label) for grid in train.target + test.target for label in grid.ravel())
    assert labels == {0: 8316} | {place: 300 for place in range(1, 11)}
    for picture, grid in zip(train.data, train.target):
        assert ((picture == [0, 0, 255]).all(axis=2) == (grid == 0)).all(), "blue is the background"
