"""Vocabularies without strings: texts and pairs by number against plain dicts, and hashes against their formula."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palmette.errors import ModelFileError
from palmette.features.hashed import hash_columns
from palmette.features.pairs import PairIndex
from palmette.features.texts import TextIndex, spans_of, spans_of_lines

texts = st.text(st.sampled_from("abé字\n\x00 \ud800"), max_size=4)
batches = st.lists(st.lists(texts, max_size=12), max_size=4)
codes = st.integers(-1, 5)


def numbered(known: dict, keys) -> list[int]:
    return [known.setdefault(key, len(known)) for key in keys]


@given(batches, st.lists(texts, max_size=10))
def test_texts_are_numbered_as_by_a_dict(parts, others):
    index, known = TextIndex(), {}
    for part in parts:
        assert index.add(part).tolist() == numbered(known, part)
    assert index.strings() == list(known) and len(index) == len(known)
    assert [index[i] for i in range(len(index))] == list(known)
    assert index.find(others).tolist() == [known.get(text, -1) for text in others]
    assert index.trimmed().find(others).tolist() == [known.get(text, -1) for text in others]
    again = TextIndex.from_state(index.state("names"), "names")
    assert again.strings() == list(known)
    assert again.find(others).tolist() == [known.get(text, -1) for text in others]


@given(st.lists(texts, unique=True, max_size=12), st.data())
def test_some_texts_are_kept_in_their_order(names, data):
    keep = np.array(data.draw(st.lists(st.booleans(), min_size=len(names), max_size=len(names))), bool)
    index = TextIndex(names).kept(keep)
    assert index.strings() == [name for name, stays in zip(names, keep) if stays]
    copy = index.copy()
    copy.add(["new", "newer"])
    assert len(copy) == len(index) + 2 and index.find(["newer"]).tolist() == [-1]


def test_an_index_that_grows_beyond_any_first_size():
    names = [f"w{i}" for i in range(3000)]
    index = TextIndex()
    for start in range(0, 3000, 70):
        index.add(names[start : start + 70])
    assert index.find(names).tolist() == list(range(3000))


@given(st.lists(texts, max_size=8), st.lists(texts, max_size=8))
def test_hashes_are_polynomials_in_the_bytes_and_can_be_put_together(left, right):
    multiplier = 0x9E3779B97F4A7C15

    def by_formula(text: str) -> int:
        value = 0
        for byte in text.encode("utf-8", "surrogatepass"):
            value = (value * multiplier + byte + 1) % 2**64
        return value

    assert spans_of(left).hashes.tolist() == [by_formula(text) for text in left]
    for a, b in zip(left, right):
        length = len(b.encode("utf-8", "surrogatepass"))
        whole = (by_formula(a) * pow(multiplier, length, 2**64) + by_formula(b)) % 2**64
        assert spans_of([a + b]).hashes.tolist() == [whole]


def test_hashed_columns_never_change():
    """Model files rely on these numbers."""
    columns = hash_columns(spans_of(["", "w:the", "w:cat", "é"]).hashes, 2**20)
    assert columns.tolist() == [0, 141155, 692845, 504843]


def test_hashed_columns_are_spread_evenly():
    names = [f"U{k}:{word}" for k in range(20) for word in range(5000)]
    columns = hash_columns(spans_of(names).hashes, 1000)
    counts = np.bincount(columns, minlength=1000)
    assert 0 <= columns.min() and columns.max() < 1000
    # chi-square of 999 degrees of freedom: mean 999, standard deviation 45
    assert ((counts - 100) ** 2 / 100).sum() < 999 + 6 * 45


def test_lines_are_counted():
    assert spans_of_lines(["a", "b\nc"], 3).starts.tolist() == [0, 2, 4]
    assert spans_of_lines(["a", "b\nc"], 2) is None and spans_of_lines(["a"], 2) is None
    assert spans_of_lines([], 0).starts.tolist() == [] and spans_of_lines(["a"], 0) is None
    assert spans_of_lines([""], 1).stops.tolist() == [0]


@pytest.mark.parametrize(
    "state",
    [
        {"names": np.zeros(0, np.uint8)},
        {"names": np.array([97, 98], np.uint8), "names_offsets": np.array([0, 1])},
        {"names": np.array([97, 97], np.uint8), "names_offsets": np.array([0, 1, 2])},
        {"names": np.array([0xC3, 0xA9], np.uint8), "names_offsets": np.array([0, 1, 2])},
        {"names": np.array([0xE9], np.uint8), "names_offsets": np.array([0, 1])},
        {"names": np.array([97, 98], np.uint8), "names_offsets": np.array([0, 3, 2])},
    ],
)
def test_damaged_texts_are_refused(state):
    with pytest.raises(ModelFileError):
        TextIndex.from_state(state, "names")


@given(
    st.lists(st.lists(st.tuples(codes, codes), max_size=12), max_size=4), st.lists(st.tuples(codes, codes))
)
def test_pairs_are_numbered_as_by_a_dict(parts, others):
    index, known = PairIndex(), {}

    def columns(pairs):
        array = np.array(pairs, np.int32).reshape(-1, 2)
        return np.ascontiguousarray(array[:, 0]), np.ascontiguousarray(array[:, 1])

    for part in parts:
        expected = [-1 if min(pair) < 0 else known.setdefault(pair, len(known)) for pair in part]
        assert index.add(*columns(part)).tolist() == expected
    assert list(zip(*(side.tolist() for side in index.parts()))) == list(known)
    for some in (index, index.trimmed()):
        assert some.find(*columns(others)).tolist() == [known.get(pair, -1) for pair in others]
    keep = np.arange(len(known)) % 2 == 0
    kept = {pair: i for i, pair in enumerate([pair for pair, stays in zip(known, keep) if stays])}
    assert index.kept(keep).find(*columns(others)).tolist() == [kept.get(pair, -1) for pair in others]


@given(st.lists(st.text("abé", max_size=30), max_size=20), st.lists(st.text("abé", max_size=30), max_size=20))
def test_texts_of_all_lengths_are_told_apart(texts, others):
    index = TextIndex(texts)
    numbers = {text: number for number, text in enumerate(dict.fromkeys(texts))}
    wanted = [*others, *texts, *(text[:-1] + "c" for text in texts), *("c" + text[1:] for text in texts)]
    assert index.find(wanted).tolist() == [numbers.get(text, -1) for text in wanted]
