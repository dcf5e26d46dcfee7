"""Ragged batches: concatenated values plus offsets, never a list of objects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from palmette.data.checks import check_offsets


def offsets_from_lengths(lengths: Sequence[int] | np.ndarray) -> np.ndarray:
    """Turn item lengths into ``offsets`` of shape ``(n_items + 1,)``.

    >>> offsets_from_lengths([2, 0, 3])
    array([0, 2, 2, 5])
    """
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def gather(offsets: np.ndarray, items: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where the values of some items stand, one item after the other, and the offsets of these items.

    >>> gather(np.array([0, 2, 2, 5]), np.array([2, 0]))
    (array([2, 3, 4, 0, 1]), array([0, 3, 5]))
    """
    lengths = offsets[items + 1] - offsets[items]
    new = offsets_from_lengths(lengths)
    return np.repeat(offsets[items] - new[:-1], lengths) + np.arange(new[-1]), new


@dataclass(frozen=True)
class Ragged:
    """A list of arrays of different lengths, stored as one array.

    Parameters
    ----------
    values : ndarray of shape (n_rows, ...)
        The items one after the other.
    offsets : ndarray of int64, shape (n_items + 1,)
        Item ``i`` is ``values[offsets[i]:offsets[i + 1]]``.

    Examples
    --------
    >>> r = Ragged.from_list([[1, 2], [3]])
    >>> len(r), r[0]
    (2, array([1, 2]))
    """

    values: np.ndarray
    offsets: np.ndarray

    def __post_init__(self) -> None:
        check_offsets("offsets", self.offsets, len(self.values), part=True)

    @classmethod
    def from_list(cls, items: Sequence[Any]) -> Ragged:
        """Pack a list of arrays (or lists) of equal trailing shape."""
        arrays = [np.asarray(item) for item in items]
        if not arrays:
            raise ValueError("cannot pack an empty list; give at least one item")
        values = np.ascontiguousarray(np.concatenate(arrays))
        return cls(values, offsets_from_lengths([len(a) for a in arrays]))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, i: int) -> np.ndarray:
        return self.values[self.offsets[i] : self.offsets[i + 1]]

    def __iter__(self) -> Iterator[np.ndarray]:
        return (self[i] for i in range(len(self)))

    @property
    def lengths(self) -> np.ndarray:
        """Length of each item."""
        return np.diff(self.offsets)

    def slice(self, start: int, stop: int) -> Ragged:
        """Items ``start:stop`` as a view of the same values."""
        offsets = self.offsets[start : stop + 1]
        return Ragged(self.values[offsets[0] : offsets[-1]], offsets - offsets[0])
