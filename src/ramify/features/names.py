"""Named features: dicts and lists of strings become sparse rows over a vocabulary."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from ramify.data.batch import Batch, SparseRows
from ramify.data.ragged import offsets_from_lengths
from ramify.data.sequences import listed
from ramify.errors import ModelFileError
from ramify.features.attributes import SCALARS, attribute_name, attributes, describe, names_in_order
from ramify.features.base import Encoder, check_lengths, place
from ramify.features.kinds import Layout, require_kind, samples_of
from ramify.features.rows import first_not_finite, sparse_rows

_NO_COLUMN = -1  # unseen attribute, or value 0
_NUMBER = -2  # a value other than 0 and 1: it waits in `_Pairs.numbers`


class Vocabulary(dict):
    """Attribute names and their columns. ``vocabulary[name]`` adds a new name, or is -1 for it once frozen.

    A dict that fills itself lets one C loop, ``map(vocabulary.__getitem__, names)``, index all features.
    """

    frozen = False

    def __missing__(self, name: Any) -> int:
        if type(name) is not str:
            return self[attribute_name(name)]
        if self.frozen:
            return _NO_COLUMN
        column = self[name] = len(self)
        return column


class _Pairs(dict):
    """Columns of the (key, value) pairs of flat dicts, looked up as in `Vocabulary` and remembered."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.numbers: list[tuple[int, float]] = []

    def __missing__(self, pair: tuple[Any, Any]) -> int:
        name, value = attribute_name(pair[0]), pair[1]
        if isinstance(value, str):
            column = self.vocabulary[f"{name}:{attribute_name(value)}"]
        elif value == 0:
            column = _NO_COLUMN
        elif value == 1:
            column = self.vocabulary[name]
        else:
            self.numbers.append((self.vocabulary[name], float(value)))
            return _NUMBER  # not remembered: numbers seldom come again, and would fill the memory
        self[pair] = column
        return column


class NamesEncoder(Encoder):
    """Encoder of dicts and lists of strings; see `ramify.features.attributes` for what they mean.

    Examples
    --------
    >>> encoder = NamesEncoder("sequences")
    >>> batch = encoder.fit_transform([[{"w": "the", "n": 2.5}, {"w": "cat", "cap": True}]])
    >>> encoder.feature_names
    ['w:the', 'n', 'w:cat', 'cap']
    >>> encoder.transform([[["cap", "w:dog"]]]).rows.indices
    array([3], dtype=int32)
    """

    kind = "names"

    def __init__(self, layout: Layout, names: Iterable[str] = ()) -> None:
        super().__init__(layout)
        self.vocabulary = Vocabulary((name, column) for column, name in enumerate(names))
        self.vocabulary.frozen = True

    @property
    def n_columns(self) -> int:
        """Number of attributes known."""
        return len(self.vocabulary)

    @property
    def feature_names(self) -> list[str]:
        """Attribute names by column."""
        return list(self.vocabulary)

    def fit_transform(self, X: Any, *, allow_empty: bool = False) -> Batch:
        """Take a new vocabulary from `X`, in order of appearance, and encode `X`."""
        vocabulary = Vocabulary()
        batch = self._encode(X, vocabulary, allow_empty)
        if not len(batch):
            raise ValueError("X is empty: there is no sample to learn from")
        if not vocabulary:
            raise ValueError("X has no features: every position is an empty dict or list, or has zeros only")
        vocabulary.frozen = True
        self.vocabulary = vocabulary
        return batch

    def transform(self, X: Any, *, allow_empty: bool = True) -> Batch:
        """Encode `X`; attributes without a column are ignored."""
        return self._encode(X, self.vocabulary, allow_empty)

    def extended(self, X: Any) -> NamesEncoder:
        """An encoder with these columns, followed by the attributes that only `X` has."""
        vocabulary = Vocabulary(self.vocabulary)
        self._encode(X, vocabulary, allow_empty=True)
        return NamesEncoder(self.layout, vocabulary)

    def _encode(self, X: Any, vocabulary: Vocabulary, allow_empty: bool) -> Batch:
        X = listed(X)
        require_kind(X, self.layout, "names")
        positions, offsets = _positions(X, self.layout)
        check_lengths(np.diff(offsets), allow_empty)
        try:
            rows = _index(positions, vocabulary)
        except (TypeError, ValueError, OverflowError):
            _explain(positions, offsets, self.layout)
            raise
        bad = first_not_finite(rows)
        if bad is not None:
            row, column, value = bad
            raise ValueError(
                f"{place(offsets, row, self.layout)}: attribute {list(vocabulary)[column]!r} is {value}; "
                "NaN and infinite (inf) feature values are refused"
            )
        return Batch(rows, offsets)

    def state(self) -> tuple[dict, dict[str, np.ndarray]]:
        """Header and arrays; the vocabulary is one UTF-8 text and the bounds of the names in it."""
        encoded = [name.encode("utf-8", "surrogatepass") for name in self.vocabulary]
        arrays = {
            "vocabulary": np.frombuffer(bytearray(b"".join(encoded)), np.uint8),
            "vocabulary_offsets": offsets_from_lengths([len(name) for name in encoded]),
        }
        return {"kind": self.kind, "layout": self.layout, "n_columns": self.n_columns}, arrays

    @classmethod
    def from_state(cls, header: dict, arrays: Mapping[str, np.ndarray]) -> NamesEncoder:
        """Encoder from what `state` returned."""
        try:
            text, offsets = arrays["vocabulary"], arrays["vocabulary_offsets"]
        except KeyError as error:
            raise ModelFileError(f"a model file with named features lacks the array {error}") from None
        bounds = offsets.tolist()
        consistent = text.ndim == offsets.ndim == 1 and text.dtype == np.uint8 and offsets.dtype == np.int64
        if not consistent or bounds[:1] != [0] or bounds[-1] != len(text) or (np.diff(offsets) < 0).any():
            raise ModelFileError("damaged vocabulary in a model file: names and their bounds do not fit")
        whole = text.tobytes()
        try:
            names = [whole[a:b].decode("utf-8", "surrogatepass") for a, b in zip(bounds, bounds[1:])]
        except UnicodeDecodeError as error:
            raise ModelFileError(f"damaged vocabulary in a model file: {error}") from None
        encoder = cls(header["layout"], names)
        if not encoder.n_columns == len(names) == header["n_columns"]:
            raise ModelFileError(
                f"damaged vocabulary in a model file: {header['n_columns']} columns, {len(names)} names, "
                f"{encoder.n_columns} of them different"
            )
        return encoder


def _positions(X: Any, layout: Layout) -> tuple[list, np.ndarray]:
    """The positions of all samples in one list, and the offsets of the samples in it."""
    if layout == "items":
        positions = list(X)
        return positions, np.arange(len(positions) + 1)
    samples = samples_of(X)
    for i, sample in enumerate(samples):
        if type(sample) is not list and not isinstance(sample, Sequence | np.ndarray):
            raise TypeError(
                f"X[{i}] must be a list of dicts or of lists of strings; found {describe(sample)}"
            )
    offsets = offsets_from_lengths([len(sample) for sample in samples])
    return list(chain.from_iterable(samples)), offsets


def _index(positions: list, vocabulary: Vocabulary) -> SparseRows:
    """Sparse rows of the positions. Adds new names to a vocabulary that is not frozen."""
    types = set(map(type, positions))
    if types <= {list, tuple}:
        indptr = offsets_from_lengths([len(names) for names in positions])
        names = chain.from_iterable(positions)
        indices = np.fromiter(map(vocabulary.__getitem__, names), np.int32, int(indptr[-1]))
        return sparse_rows(indptr, indices, None, len(vocabulary))

    if types <= {set, frozenset}:
        return _index([names_in_order(names) for names in positions], vocabulary)

    flat = types == {dict} and _are_flat(positions)
    if not flat:
        positions = [attributes(position) for position in positions]
    indptr = offsets_from_lengths([len(position) for position in positions])
    pairs = chain.from_iterable(map(dict.items, positions) if flat else positions)
    lookup = _Pairs(vocabulary)
    indices = np.fromiter(map(lookup.__getitem__, pairs), np.int32, int(indptr[-1]))
    values = None
    if lookup.numbers:
        where = indices == _NUMBER
        values = np.ones(len(indices))
        indices[where], values[where] = zip(*lookup.numbers)
    return sparse_rows(indptr, indices, values, len(vocabulary))


def _are_flat(dicts: list[dict]) -> bool:
    """Whether every value is a string or a number, so that `_Pairs` can read the items as they are."""
    found = set(map(type, chain.from_iterable(map(dict.values, dicts))))
    return all(issubclass(kind, (str, *SCALARS)) for kind in found)


def _explain(positions: list, offsets: np.ndarray, layout: Layout) -> None:
    """Raise the exact error of the first position that cannot be read; only called after a failure."""
    for row, position in enumerate(positions):
        try:
            attributes(position)
        except (TypeError, ValueError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"{place(offsets, row, layout)}: {error}") from None
