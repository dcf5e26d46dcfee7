"""Labels of many sequences as one array of codes, without being told the labels."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from palmette.data.ragged import offsets_from_lengths


class Codes(dict[Any, int]):
    """Codes in order of appearance: a key that is not there yet gets the next."""

    def __missing__(self, key: Hashable) -> int:
        code = self[key] = len(self)
        return code


class FlatLabels(NamedTuple):
    """Labels of all sequences one after the other.

    Attributes
    ----------
    codes : ndarray of int32, shape (n_positions,)
    offsets : ndarray of int64, shape (n_sequences + 1,)
    labels : list
        The different labels, by code, in order of appearance.
    """

    codes: np.ndarray
    offsets: np.ndarray
    labels: list[Any]

    def place(self, t: int) -> tuple[int, int]:
        """Sequence and position in it of a position counted over all."""
        sequence = int(np.searchsorted(self.offsets, t, side="right")) - 1
        return sequence, t - int(self.offsets[sequence])


def flatten_labels(Y: Sequence[Sequence[Hashable]]) -> FlatLabels:
    """Labels of all sequences as codes.

    >>> flatten_labels([["B-NP", "O"], [], ["O"]])
    FlatLabels(codes=array([0, 1, 1], dtype=int32), offsets=array([0, 2, 2, 3]), labels=['B-NP', 'O'])
    """
    if isinstance(Y, str) or any(isinstance(labels, str) for labels in Y):
        raise TypeError("labels must be a list of sequences, each a list of labels; found a string")
    offsets = offsets_from_lengths([len(labels) for labels in Y])
    lookup = Codes()
    codes = np.fromiter(map(lookup.__getitem__, chain.from_iterable(Y)), np.int32, int(offsets[-1]))
    return FlatLabels(codes, offsets, list(lookup))
