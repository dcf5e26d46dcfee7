"""Items of dicts are remembered: the answers are those of the slow path, whatever was met before."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palmette.features import make_encoder
from palmette.features.hashed import HashedNamesEncoder
from palmette.features.item_columns import ItemColumns
from palmette.features.names import NamesEncoder
from palmette.features.texts import TextIndex


class AnyCase(str):
    """A string that is equal to others which it does not spell."""

    def __eq__(self, other):
        return self.lower() == other.lower()

    def __hash__(self):
        return hash(self.lower())


# many that are equal and hash alike, of the same meaning and of others
VALUES = [
    True, 1, 1.0, np.bool_(True), np.float32(1), np.int8(1), Fraction(1), "1", b"1", np.str_("1"), "True",
    False, 0, 0.0, -0.0, np.bool_(False), np.uint8(0), "0", "", 2, 2.0, np.int64(2), 2.5, Fraction(5, 2), -1,
    "a", "A", AnyCase("A"), b"a", "b\nc", "é", ["a", "b"], ("a",), {"a"}, {"a": 1, "b": "c"}, [], {},
]  # fmt: skip
dicts = st.dictionaries(st.sampled_from(["a", "b", "a:a", b"a", "n"]), st.sampled_from(VALUES), max_size=4)
samples = st.lists(st.lists(dicts, max_size=3), max_size=4)


def slow(X):
    """The same samples as mappings that are no dicts, whose attributes are spelled one by one."""
    return [[MappingProxyType(position) for position in sample] for sample in X]


def same(a, b):
    for x, y in zip(
        (a.rows.indptr, a.rows.indices, a.rows.values), (b.rows.indptr, b.rows.indices, b.rows.values)
    ):
        np.testing.assert_array_equal(x, y)


@given(samples, samples, st.booleans())
def test_what_was_met_before_does_not_matter(X, before, hashed):
    names = ["a", "a:1", "a:a", "a:A", "b", "n", "a:True", "n:a", "b:b", "a:a:a"]
    make = (
        (lambda: HashedNamesEncoder("sequences", 50))
        if hashed
        else (lambda: NamesEncoder("sequences", names))
    )
    used = make()
    used.transform(before)
    used.transform(before[::-1])
    expected = make().transform(slow(X))
    same(used.transform(X), expected)
    same(used.transform(X), expected)
    if any(dict.__len__(position) for sample in X for position in sample) and len(expected.rows.indices):
        fast, slowly = NamesEncoder("sequences"), NamesEncoder("sequences")
        same(fast.fit_transform(X, allow_empty=True), slowly.fit_transform(slow(X), allow_empty=True))
        assert fast.feature_names == slowly.feature_names


@pytest.mark.parametrize(
    "value", [Decimal(1), complex(1, 0), None, np.complex64(1), np.timedelta64(1, "s"), object()]
)
def test_values_that_only_equal_a_number_are_refused(value):
    encoder = NamesEncoder("sequences", ["a"])
    assert encoder.transform([[{"a": 1}]]).rows.indices.tolist() == [0]
    with pytest.raises(TypeError, match=r"sample 1, row 0 \(X\[1\]\[0\]\): "):
        encoder.transform([[{"a": 1}], [{"a": value}]])
    assert encoder.transform([[{"a": 1, "b": 2.5}]]).rows.indices.tolist() == [0]


@pytest.mark.parametrize("item", [("n", float("nan")), ("n", 10**400), (3, "x"), (None, 0), (3, True)])
def test_a_failure_leaves_nothing_half_known(item):
    encoder = make_encoder([[{"a": "x", "b": 2.0}]], "sequences")
    expected = encoder.fit_transform([[{"a": "x", "b": 2.0}]])
    with pytest.raises((TypeError, ValueError), match="sample 0, row 1"):
        encoder.transform([[{"new": "one"}, dict([item])]])
    same(encoder.transform([[{"a": "x", "b": 2.0, "new": "one"}]]), expected)


def test_what_is_remembered_is_bounded(monkeypatch):
    monkeypatch.setattr("palmette.features.item_columns._ITEMS_REMEMBERED", 10)
    known, index = ItemColumns(), TextIndex()
    for start in range(0, 60, 5):
        columns, values = known.look_up([("w", str(k)) for k in range(start, start + 5)], 5, index.add)
        assert values is None and columns.tolist() == list(range(start, start + 5))
        assert len(known._numbers) <= 15
    known.look_up([("x", 0.5 + k) for k in range(1000)], 1000, index.add)
    assert len(known._numbers) <= 16  # reals are not remembered


def test_copies_remember_nothing_and_threads_share():
    X = [[{"w": str(k % 97), "n": k % 3, "x": k / 7} for k in range(s, s + 40)] for s in range(60)]
    encoder = NamesEncoder("sequences")
    expected = encoder.fit_transform(X)
    encoder.transform(X)
    for other in (pickle.loads(pickle.dumps(encoder)), copy.deepcopy(encoder), copy.copy(encoder)):
        same(other.transform(X), expected)
    fresh = pickle.loads(pickle.dumps(encoder))
    assert not len(fresh._known._numbers) and len(encoder._known._numbers)
    with ThreadPoolExecutor(4) as pool:
        for batch in pool.map(fresh.transform, [X] * 16):
            same(batch, expected)
