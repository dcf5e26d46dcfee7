"""Named features: dicts and lists of strings become sparse rows over a vocabulary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from palmette.data.batch import Batch
from palmette.errors import ModelFileError
from palmette.features.base import Encoder
from palmette.features.item_columns import ItemColumns
from palmette.features.kinds import Layout
from palmette.features.named_rows import Entries, encode_names
from palmette.features.rows import frequent, sparse_rows
from palmette.features.texts import TextIndex
from palmette.registry import register


@register("encoder", "names")
class NamesEncoder(Encoder):
    """Encoder of dicts and lists of strings; see `palmette.features.attributes` for what they mean.

    Parameters
    ----------
    layout : {"sequences", "items"}
    names : list of str, optional
        Attributes known already, by column.
    min_count : int, default=1
        Attributes that `fit_transform` sees fewer times get no column.

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
    named = True

    def __init__(self, layout: Layout, names: Sequence[str] = (), *, min_count: int = 1) -> None:
        super().__init__(layout)
        self.min_count = min_count
        self._take(TextIndex(names))

    def _take(self, index: TextIndex) -> None:
        self._index, self._known = index, ItemColumns()

    @property
    def n_columns(self) -> int:
        """Number of attributes known."""
        return len(self._index)

    @property
    def feature_names(self) -> list[str]:
        """Attribute names by column."""
        return self._index.strings()

    def fit_transform(self, X: Any, *, allow_empty: bool = False) -> Batch:
        """Take a new vocabulary from `X`, in order of appearance, and encode `X`."""
        index = TextIndex()
        entries = encode_names(X, self.layout, index.add, allow_empty)
        refuse_nothing(entries, len(index))
        if self.min_count > 1:
            new, keep = frequent(entries.columns, len(index), self.min_count)
            entries, index = entries._replace(columns=new), index.kept(keep)
        self._take(index.trimmed())
        return named_batch(entries, self.n_columns)

    def transform(self, X: Any, *, allow_empty: bool = True) -> Batch:
        """Encode `X`; attributes without a column are ignored."""
        entries = encode_names(X, self.layout, self._index.find, allow_empty, self._known)
        return named_batch(entries, self.n_columns)

    def extended(self, X: Any) -> NamesEncoder:
        """An encoder with these columns, followed by the attributes that only `X` has."""
        index = self._index.copy()
        encode_names(X, self.layout, index.add, allow_empty=True)
        return self._with(index.trimmed())

    def restricted(self, keep: np.ndarray) -> NamesEncoder:
        """An encoder with those columns for which `keep` is true."""
        return self._with(self._index.kept(keep))

    def _with(self, index: TextIndex) -> NamesEncoder:
        other = NamesEncoder(self.layout, min_count=self.min_count)
        other._take(index)
        return other

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Header and arrays; the vocabulary is one UTF-8 text and the bounds of the names in it."""
        header = {"layout": self.layout, "n_columns": self.n_columns}
        return header, self._index.state("vocabulary")

    @classmethod
    def from_state(cls, header: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> NamesEncoder:
        """Encoder from what `state` returned."""
        encoder = cls(header["layout"])
        encoder._take(TextIndex.from_state(arrays, "vocabulary"))
        if encoder.n_columns != header["n_columns"]:
            raise ModelFileError(
                f"damaged vocabulary in a model file: {header['n_columns']} columns, {encoder.n_columns} names"
            )
        return encoder


def named_batch(entries: Entries, n_columns: int) -> Batch:
    """The batch of some entries."""
    return Batch(sparse_rows(entries.indptr, entries.columns, entries.values, n_columns), entries.offsets)


def refuse_nothing(entries: Entries, n_columns: int) -> None:
    """Raise ValueError unless there is a sample and an attribute to learn from."""
    if len(entries.offsets) < 2:
        raise ValueError("X is empty: there is no sample to learn from")
    if not n_columns:
        raise ValueError("X has no features: every position is an empty dict or list, or has zeros only")
