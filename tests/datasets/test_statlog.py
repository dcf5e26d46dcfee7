"""Sets for classification: on small files of the same form, and on the real ones by their counts."""

from __future__ import annotations

import io

import numpy as np
import pytest

from palmette.datasets import load_statlog, statlog_format, store

# rows, columns, and how often each class occurs
COUNTS = {
    "dna": (3186, 180, [767, 765, 1654]),
    "letter": (20000, 16, None),
    "satimage": (6435, 36, [1533, 703, 1358, 626, 707, 1508]),
    "segment": (2310, 19, [330] * 7),
    "shuttle": (58000, 9, [45586, 50, 171, 8903, 3267, 10, 13]),
    "usps": (9298, 256, [1553, 1269, 929, 824, 852, 716, 834, 792, 708, 821]),
}


def npz(**arrays) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


@pytest.mark.parametrize("kind", ["uint8", "int16", "float32"])
def test_a_table_comes_back(kind, rng):
    X = rng.integers(0, 99, (7, 3)).astype(kind)
    y = np.array([0, 1, 2, 0, 1, 2, 2], np.uint8)
    content = statlog_format.from_npz(npz(X=X, y=y, classes=np.array(["a", "b", "c"]), n_train=np.int32(4)))
    table = statlog_format.parse(content)
    np.testing.assert_array_equal(table.data, X)
    np.testing.assert_array_equal(table.codes, y)
    assert table.classes == ("a", "b", "c") and table.n_train == 4
    big = statlog_format.pack(X.astype(np.dtype(kind).newbyteorder(">")), y, ("a", "b", "c"), 4)
    assert big == content


def test_grey_levels_of_usps():
    content = statlog_format.from_npz(
        npz(Xq=np.array([[0, 1000, 2000, 1234]], np.int16), y=np.array([3], np.uint8))
    )
    table = statlog_format.parse(content)
    np.testing.assert_array_equal(table.data, [[-1.0, 0.0, 1.0, 0.234]])
    assert table.classes == tuple("0123456789")


def test_published_texts_give_the_same_content():
    letters = b"T,2,8,3,5,1,8,13,0,6,6,10,8,0,8,0,8\nI,5,12,3,7,2,10,5,5,4,13,3,9,2,8,4,10\n"
    X = np.array([line.split(b",")[1:] for line in letters.split()]).astype(np.uint8)
    expected = npz(X=X, y=np.array([19, 8], np.uint8), classes=np.array(statlog_format.LETTERS))
    assert statlog_format.from_letters(letters) == statlog_format.from_npz(expected)
    line = b"164.0 49.0 9 0.0 0.0 1.1666654 0.43333474 1.4999987 0.30000052 126.18519 116.333336 141.77779 120.44444 "
    line += b"-29.555555 46.77778 -17.222221 141.77779 0.1794131 -2.2637377 2\n"
    X = np.array([line.split()[:-1]]).astype(np.float32)
    expected = npz(X=X, y=np.array([1], np.uint8), classes=np.array(statlog_format.SEGMENTS))
    assert statlog_format.from_segments(line) == statlog_format.from_npz(expected)


def test_what_the_loader_gives(monkeypatch):
    X, y = np.array([[1], [2], [3]], np.uint8), np.array([0, 1, 1], np.uint8)
    content = statlog_format.pack(X, y, ("no", "yes"), 2)
    monkeypatch.setattr(store, "read", lambda name, sources: {"dna": content})
    bunch = load_statlog("dna")
    assert bunch.target.tolist() == ["no", "yes", "yes"] and bunch.target_names == ["no", "yes"]
    assert bunch.groups.tolist() == ["train", "train", "test"] and "Statlog" in bunch.DESCR
    with pytest.raises(ValueError, match=r"name must be one of dna, letter.*got 'iris'"):
        load_statlog("iris")


@pytest.mark.data
@pytest.mark.parametrize("name", COUNTS)
def test_real_sets(name):
    n_rows, n_columns, counts = COUNTS[name]
    bunch = load_statlog(name)
    assert bunch.data.shape == (n_rows, n_columns) and bunch.data.dtype == float
    found = [int(np.sum(bunch.target == label)) for label in bunch.target_names]
    assert sum(found) == n_rows and (counts is None or found == counts)
    if name == "letter":
        assert len(found) == 26 and (min(found), max(found)) == (734, 813)
        assert bunch.target[0] == "T" and bunch.data[0, :4].tolist() == [2, 8, 3, 5]
    n_train = {"satimage": 4435, "shuttle": 43500, "usps": 7291}.get(name, 0)
    assert np.sum(bunch.groups == "train") == n_train
