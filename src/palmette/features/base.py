"""The contract of encoders: user inputs in, packed batches out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from palmette.data.batch import Batch
from palmette.features.kinds import Kind, Layout


class Encoder(ABC):
    """Turns the inputs of some samples into a `Batch`; its columns are fixed by `fit_transform`.

    Parameters
    ----------
    layout : {"sequences", "items"}
        Whether `X` is a list of sequences of positions, or one table whose rows are the samples.
    """

    kind: ClassVar[Kind]
    layouts: ClassVar[tuple[str, ...]] = ("sequences", "items")
    named: ClassVar[bool] = False
    """Whether the columns are attributes with names: then only pairs of column and label seen in training get a
    weight, and there is no intercept, unless the estimator says otherwise."""
    of: ClassVar[str] = "rows"
    """What it encodes: rows of features, or the inputs of one structure, which others refuse."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout

    @property
    def named_tables(self) -> tuple[bool, ...]:
        """Whether the columns of each table of features (``Batch.feature_tables``) have names."""
        return (self.named,)

    @property
    @abstractmethod
    def n_columns(self) -> int:
        """Number of feature columns."""

    @property
    def column_counts(self) -> tuple[int, int]:
        """Columns of rows, and of what a structure has beside them (segments, edges)."""
        return self.n_columns, 0

    @property
    def makes_dense_rows(self) -> bool:
        """Whether the rows of its batches are dense."""
        return self.kind == "dense"

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the columns, or None where features are arrays."""
        return None

    @property
    def readable_names(self) -> list[str] | None:
        """Names of the columns as reports show them."""
        return self.feature_names

    @abstractmethod
    def fit_transform(self, X: Any, *, allow_empty: bool = False) -> Batch:
        """Fix the columns from `X` and encode it; sequences of length zero are refused unless allowed."""

    @abstractmethod
    def transform(self, X: Any, *, allow_empty: bool = True) -> Batch:
        """Encode `X` with the columns known from `fit_transform`; attributes without a column are ignored."""

    @abstractmethod
    def extended(self, X: Any) -> Encoder:
        """An encoder with the columns of this one, followed by the attributes that only `X` has."""

    def restricted(self, keep: np.ndarray) -> Encoder:
        """An encoder with those columns for which `keep` (bool, one per column) is true; named features only."""
        raise TypeError("columns can be dropped from named features only; those of arrays are the user's own")

    @abstractmethod
    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Header (JSON values) and arrays, from which `encoder_from_state` makes the encoder again."""

    def check(self, batch: Batch) -> None:
        """Raise ValueError unless a batch, made by whomever, is one that this encoder could have made."""
        if type(batch) is not Batch:
            raise ValueError(f"the features are {self.kind}, but their batch is a {type(batch).__name__}")
        batch.check()
        if batch.n_columns != self.n_columns:
            raise ValueError(f"the batch has {batch.n_columns} columns, its encoder {self.n_columns}")
        if self.layout == "items" and np.any(batch.lengths != 1):
            raise ValueError("every sample of the layout 'items' is one row")

    def same_columns(self, other: Encoder) -> bool:
        """Whether the columns of the other encoder mean the same, as those of a copy or of a model from a file do."""
        if other is self:
            return True
        if type(other) is not type(self) or other.n_columns != self.n_columns:
            return False
        (header, arrays), (their_header, their_arrays) = self.state(), other.state()
        same = header == their_header and arrays.keys() == their_arrays.keys()
        return same and all(np.array_equal(arrays[name], their_arrays[name]) for name in arrays)


def check_lengths(lengths: np.ndarray, allow_empty: bool) -> None:
    """Raise ValueError naming the first sample without positions, unless they are allowed."""
    empty = np.flatnonzero(lengths == 0)
    if empty.size and not allow_empty:
        more = f" (and {empty.size - 1} more)" if empty.size > 1 else ""
        raise ValueError(f"X[{empty[0]}] is an empty sequence{more}; remove empty samples before fitting")


def place(offsets: np.ndarray, row: int, layout: Layout) -> str:
    """Names a row of a batch in a message.

    >>> place(np.array([0, 2, 5]), 3, "sequences")
    'sample 1, row 1 (X[1][1])'
    """
    if layout == "items":
        return f"row {row} (X[{row}])"
    sample = int(np.searchsorted(offsets, row, side="right")) - 1
    position = int(row - offsets[sample])
    return f"sample {sample}, row {position} (X[{sample}][{position}])"
