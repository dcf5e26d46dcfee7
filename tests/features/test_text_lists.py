"""Lists of strings are read from what marshal writes: the same rows as from the strings one by one."""

from __future__ import annotations

import marshal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palmette._kernels.marshalled import cut_lists
from palmette.features import named_rows, text_lists
from palmette.features.hashed import HashedNamesEncoder
from palmette.features.names import NamesEncoder
from palmette.features.text_lists import read_lists
from palmette.features.texts import spans_of

# texts of all kinds and lengths; hypothesis gives the same object again and again, as feature functions do
texts = st.sampled_from(
    ["", "a", "é", "字", "\n", "\x00", "\ud800", "bias", "w=" + "x" * 7, "y" * 255, "z" * 256, "é" * 200]
)
texts |= st.text(max_size=20)
rows = st.lists(texts, max_size=6).flatmap(lambda row: st.sampled_from([row, tuple(row)]))
samples = st.lists(rows, max_size=5).flatmap(
    lambda sample: st.sampled_from([sample, tuple(sample), sample * 2])
)
batches = st.lists(samples, max_size=4)


class Text(str):
    """A string that is not quite a string."""


def written_out(read):
    """The rows of each sample, from the bytes."""
    buffer, starts, stops = read.spans.text.tobytes(), read.spans.starts.tolist(), read.spans.stops.tolist()
    found = [buffer[a:b].decode("utf-8", "surrogatepass") for a, b in zip(starts, stops)]
    rows = [[found[k] for k in read.texts[a:b]] for a, b in zip(read.indptr, read.indptr[1:])]
    return rows, read.lengths.tolist()


def same(a, b):
    np.testing.assert_array_equal(a.offsets, b.offsets)
    for x, y in zip(
        (a.rows.indptr, a.rows.indices, a.rows.values), (b.rows.indptr, b.rows.indices, b.rows.values)
    ):
        np.testing.assert_array_equal(x, y)


@given(batches)
def test_rows_are_what_was_given(X):
    read = read_lists(X)
    rows = {id(row) for sample in X for row in sample}
    if len({*map(id, X)} - rows) < len(X):  # a sample comes again: all empty tuples are one object
        assert read is None
        return
    assert written_out(read) == ([list(row) for sample in X for row in sample], list(map(len, X)))
    found = [row[k] for sample in X for row in sample for k in range(len(row))]
    np.testing.assert_array_equal(read.spans.hashes[read.texts], spans_of(found).hashes)


@given(batches, batches)
def test_encoders_do_not_see_how_lists_are_read(X, others):
    def encoded():
        if any(row for sample in X for row in sample):
            names = NamesEncoder("sequences")
            yield names.fit_transform(X, allow_empty=True)
            yield names.transform(others)
            yield NamesEncoder("items").fit_transform([row for sample in X for row in sample])
        yield HashedNamesEncoder("sequences", 50).transform(X)

    slow = list(encoded())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(named_rows, "FEW_POSITIONS", -1)
        fast = list(encoded())
    for a, b in zip(fast, slow, strict=True):
        same(a, b)


@pytest.mark.parametrize(
    "odd",
    [
        ["a", b"b"], ["a", Text("b")], ["a", np.str_("b")], {"a", "b"}, frozenset(["a"]), {"a": 1.0}, {"a": "b"},
        ["a", 1], ["a", None], ["a", ["b"]], None, "a", 1.5, object(), ["a", object()], [["a"]], range(3),
    ],
)  # fmt: skip
@pytest.mark.parametrize("sample", [list, tuple, lambda rows: np.array([None, *rows], object)[1:]])
def test_anything_else_is_left_to_others(odd, sample):
    assert read_lists([[["a"]], sample([["a"], odd])]) is None


def test_a_sample_that_comes_again_is_left_to_others():
    """Only rows and texts are copied."""
    sample = [["a", "b"]]
    assert read_lists([sample, sample]) is None
    same(
        *(
            NamesEncoder("sequences").fit_transform(X)
            for X in ([sample, sample], [[["a", "b"]], [["a", "b"]]])
        )
    )


def test_more_than_there_was_room_for():
    row = ["", "a"] * 50
    X = [[row] * 40, [["", ""]] * 200, [[] for _ in range(300)]]
    assert written_out(read_lists(X))[0] == [row] * 40 + [["", ""]] * 200 + [[]] * 300


def test_a_row_within_itself():
    row = ["a"]
    row.append(row)
    assert read_lists([[row]]) is None


def test_another_format_is_noticed(monkeypatch):
    monkeypatch.setattr(text_lists.marshal, "dumps", lambda value, version: b"[\x01\x00\x00\x00N")
    text_lists._is_known_format.cache_clear()
    try:
        assert read_lists([[["a"]]]) is None
        assert NamesEncoder("sequences").fit_transform([[["a", "b"], ["a"]]]).rows.indices.tolist() == [
            0,
            1,
            0,
        ]
    finally:
        text_lists._is_known_format.cache_clear()


@given(st.binary(max_size=60), st.data())
def test_bytes_of_any_kind_stay_inside(noise, data):
    """Whatever the bytes say, they are read or refused, and nothing beyond the arrays is touched."""
    good = marshal.dumps([[["a", "é" * 9, "a"], ("b",)], ([],)], 4)
    cut = data.draw(st.integers(0, len(good)))
    for given_bytes in (noise, good[:cut], good[:cut] + noise, b"[\x01\x00\x00\x00[\x01\x00\x00\x00" + noise):
        if not given_bytes:
            continue
        whole = np.frombuffer(bytearray(given_bytes + bytes(8)), np.uint8)
        room = 40
        known, indptr, numbers, starts, stops = (np.empty(room, np.int64) for _ in range(5))
        arguments = np.empty(1, np.int64), indptr, numbers, starts, stops, np.empty(room, np.uint64)
        n_rows, n_entries, n_texts = cut_lists(whole, len(given_bytes), known, *arguments)
        assert n_rows < room and n_texts <= n_entries <= room
