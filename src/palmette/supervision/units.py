"""What can be asked at once: whole samples, single parts, or patches of neighbouring parts."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

from palmette.contracts.structure import can

if TYPE_CHECKING:
    from palmette.contracts.structure import Structure

UNITS = ("sample", "part", "patch")


class Units:
    """A partition of the parts of all samples; a part is one code of an output.

    Parameters
    ----------
    of_part : ndarray of int64, shape (n_parts,)
        The unit of each part. A unit has parts of one sample.
    offsets : ndarray of int64, shape (n_samples + 1,)
        Parts of the samples.
    kind : {"sample", "part", "patch"}

    Attributes
    ----------
    sample : ndarray of int64, shape (n_units,)
        The sample of each unit.
    """

    def __init__(self, of_part: np.ndarray, offsets: np.ndarray, kind: str) -> None:
        self.of_part, self.offsets, self.kind = of_part, offsets, kind
        self._order = np.argsort(of_part, kind="stable")
        self._starts = np.searchsorted(of_part[self._order], np.arange(len(self) + 1))
        self.sample = np.searchsorted(offsets, self._order[self._starts[:-1]], side="right") - 1

    def __len__(self) -> int:
        return int(self.of_part.max(initial=-1)) + 1

    def parts(self, unit: int) -> np.ndarray:
        """The parts of a unit, counted over all samples."""
        return self._order[self._starts[unit] : self._starts[unit + 1]]

    def mean(self, values: np.ndarray, chosen: np.ndarray) -> np.ndarray:
        """Mean of ``values`` over the chosen parts of each unit; 0 for a unit without any."""
        own = self.of_part[chosen]
        total = np.bincount(own, values[chosen], len(self))
        return total / np.maximum(np.bincount(own, minlength=len(self)), 1)


def make_units(structure: Structure, batch: Any, unit: str, patch_size: int) -> Units:
    """The units of a pool.

    Patches of a structure with ``links`` grow along them from the first part that is in none yet, breadth first; those
    of others are runs of neighbouring parts, as equal in size as possible.
    """
    offsets = structure.output_offsets(batch)
    lengths = np.diff(offsets)
    if unit == "sample":
        of_part = np.repeat(np.arange(len(lengths)), lengths)
    elif unit == "part":
        of_part = np.arange(offsets[-1])
    elif can(structure, "links"):
        of_part = _grown(structure.links(batch), int(offsets[-1]), patch_size)
    else:
        of_part = _runs(offsets, patch_size)
    return Units(of_part, offsets, unit)


def _runs(offsets: np.ndarray, size: int) -> np.ndarray:
    """Runs of at most ``size`` parts.

    >>> _runs(np.array([0, 5, 7]), 3)
    array([0, 0, 0, 1, 1, 2, 2])
    """
    lengths = np.diff(offsets)
    pieces = -(-lengths // size)
    first = np.cumsum(pieces) - pieces
    place = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
    return np.repeat(first, lengths) + place * np.repeat(pieces, lengths) // np.repeat(lengths, lengths)


def _grown(links: np.ndarray, n_parts: int, size: int) -> np.ndarray:
    """Connected patches of at most ``size`` parts.

    >>> _grown(np.array([[0, 1], [1, 2], [3, 2]]), 5, 2)
    array([0, 0, 1, 1, 2])
    """
    both = np.concatenate([links, links[:, ::-1]])
    both = both[np.lexsort((both[:, 1], both[:, 0]))]
    starts, ends = np.searchsorted(both[:, 0], np.arange(n_parts + 1)).tolist(), both[:, 1].tolist()
    patch, n_patches = [-1] * n_parts, 0
    for seed in range(n_parts):
        if patch[seed] >= 0:
            continue
        patch[seed], room, border = n_patches, size - 1, deque([seed])
        while border and room:
            at = border.popleft()
            for other in ends[starts[at] : starts[at + 1]]:
                if patch[other] < 0 and room:
                    patch[other], room = n_patches, room - 1
                    border.append(other)
        n_patches += 1
    return np.array(patch, np.int64)
