"""Costs of alignments: of every position against a gap, of every match, of single matches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from palmette.data.checks import check_offsets
from palmette.data.ragged import gather


@dataclass(frozen=True)
class MatchCost:
    """A cost of alignments: of positions against gaps, of every match, of single matches, and a constant.

    Parameters
    ----------
    gap : ndarray of float64, shape (n_kinds, n_positions)
    uniform : ndarray of float64, shape (n_samples,)
        Cost of every match of a sample.
    constant : ndarray of float64, shape (n_samples,)
    entry_ptr : ndarray of int64, shape (n_samples + 1,)
    entry : ndarray of int64
        Single matches, each only once: those of sample s, as ``i * m + j``, stand at ``entry_ptr[s]:entry_ptr[s + 1]``.
    value : ndarray of float64
        What each of them costs beside ``uniform``.
    dense : ndarray of float64, shape (sum of n m,), or None
        Rectangles of costs of all matches.

    Examples
    --------
    >>> cost = MatchCost.none(np.array([0, 5]), uniform=np.array([0.5]))
    >>> cost.dense_cells(np.array([0, 6]))
    array([0.5, 0.5, 0.5, 0.5, 0.5, 0.5])
    """

    gap: np.ndarray
    uniform: np.ndarray
    constant: np.ndarray
    entry_ptr: np.ndarray
    entry: np.ndarray
    value: np.ndarray
    dense: np.ndarray | None = None

    @classmethod
    def none(cls, offsets: np.ndarray, n_kinds: int = 1, **own: Any) -> MatchCost:
        """No cost for samples of these offsets, but for what is named."""
        n = len(offsets) - 1
        return cls(**{
            "gap": np.zeros((n_kinds, int(offsets[-1]))), "uniform": np.zeros(n), "constant": np.zeros(n),
            "entry_ptr": np.zeros(n + 1, np.int64), "entry": np.empty(0, np.int64), "value": np.empty(0), **own,
        })  # fmt: skip

    def __len__(self) -> int:
        return len(self.uniform)

    def times(self, weight: np.ndarray, offsets: np.ndarray, starts: np.ndarray) -> MatchCost:
        """The cost times a weight for each sample; cells begin at ``starts``."""
        dense = None if self.dense is None else self.dense * np.repeat(weight, np.diff(starts))
        return MatchCost(
            self.gap * np.repeat(weight, np.diff(offsets)), self.uniform * weight, self.constant * weight,
            self.entry_ptr, self.entry, self.value * np.repeat(weight, np.diff(self.entry_ptr)), dense,
        )  # fmt: skip

    def take(self, samples: np.ndarray, offsets: np.ndarray, starts: np.ndarray) -> MatchCost:
        """The costs of some samples of a batch with these offsets, whose cells begin at ``starts``."""
        samples = np.asarray(samples, np.int64)
        entries, ptr = gather(self.entry_ptr, samples)
        dense = None if self.dense is None else self.dense[gather(starts, samples)[0]]
        return MatchCost(
            np.ascontiguousarray(self.gap[:, gather(offsets, samples)[0]]), self.uniform[samples],
            self.constant[samples], ptr, self.entry[entries], self.value[entries], dense,
        )  # fmt: skip

    def dense_cells(self, starts: np.ndarray) -> np.ndarray:
        """The costs of all matches as rectangles that begin at ``starts``."""
        out = np.repeat(self.uniform, np.diff(starts))
        np.add.at(out, np.repeat(starts[:-1], np.diff(self.entry_ptr)) + self.entry, self.value)
        return out if self.dense is None else out + self.dense

    def check(self, theta: Any) -> None:
        """Refuse what would let a kernel read past an array."""
        n, starts = len(theta), theta.starts
        for name, array, dtype, shape in (
            ("cost.gap", self.gap, np.float64, theta.unit.shape),
            ("cost.uniform", self.uniform, np.float64, (n,)),
            ("cost.constant", self.constant, np.float64, (n,)),
            ("cost.entry", self.entry, np.int64, (len(self.entry),)),
            ("cost.value", self.value, np.float64, (len(self.entry),)),
        ):
            check_array(name, array, dtype, shape)
        check_offsets("cost.entry_ptr", self.entry_ptr, len(self.entry))
        if len(self.entry_ptr) != n + 1:
            raise ValueError(f"cost.entry_ptr has {len(self.entry_ptr)} entries, expected {n + 1}")
        if len(self.entry) and (
            self.entry.min() < 0 or np.any(self.entry >= np.repeat(np.diff(starts), np.diff(self.entry_ptr)))
        ):
            raise ValueError("cost.entry has a match that its sample does not have")
        if self.dense is not None:
            check_array("cost.dense", self.dense, np.float64, (int(starts[-1]),))


def check_array(name: str, array: Any, dtype: Any, shape: tuple[int, ...]) -> None:
    """Raise ValueError unless this is a contiguous array of this type and shape."""
    if not isinstance(array, np.ndarray) or array.dtype != dtype or array.shape != shape:
        found = (
            f"{array.dtype} of shape {array.shape}" if isinstance(array, np.ndarray) else type(array).__name__
        )
        raise ValueError(f"{name} is {found}, expected {np.dtype(dtype)} of shape {shape}")
    if not array.flags.c_contiguous:
        raise ValueError(f"{name} must be contiguous: use np.ascontiguousarray")
