"""Potentials of pairs of sequences to align."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from palmette.data.checks import check_offsets
from palmette.data.ragged import gather, offsets_from_lengths
from palmette.structures.alignment.cost import MatchCost, check_array

FIELDS = ("substitution", "unit", "open", "extend", "change", "cells")
"""The scores, in the order in which messages name them."""
DOUBLE, SINGLE, LONG, SHORT = (np.dtype(kind) for kind in (np.float64, np.float32, np.int64, np.int16))


def cells_of(offsets: np.ndarray, splits: np.ndarray) -> np.ndarray:
    """Where the rectangles of samples, n x m numbers each, begin and end in a flat array.

    >>> cells_of(np.array([0, 5, 9]), np.array([2, 3]))
    array([0, 6, 9])
    """
    return offsets_from_lengths(splits * (np.diff(offsets) - splits))


def boundaries_of(offsets: np.ndarray) -> np.ndarray:
    """Where the boundaries of samples begin and end: n + 1 of the first sequence, then m + 1 of the second.

    >>> boundaries_of(np.array([0, 5, 9]))
    array([ 0,  7, 13])
    """
    return offsets + 2 * np.arange(len(offsets))


@dataclass(frozen=True)
class AlignmentTables:
    """Scores of the matches and gaps of a batch of pairs, and of everything of that shape: counts, gradients.

    A sample is a pair of sequences of n and m positions; those of the first stand before those of the second. A gap
    lies at a boundary of the other sequence: boundary i stands before position i, and boundary n after the last one.
    The boundaries of a sample are the n + 1 of the first sequence, then the m + 1 of the second. A run of positions
    against a gap scores ``open`` for the first of them, ``extend`` for each further one, and ``unit`` for each.

    Parameters
    ----------
    substitution : ndarray of float64, shape (n_symbols, n_symbols)
        Score of a match of a symbol of the first sequence (row) with one of the second (column), alike for all
        samples. Counts are summed over samples.
    letters : ndarray of int16, shape (n_positions,)
        Symbols, 0..n_symbols - 1.
    offsets : ndarray of int64, shape (n_samples + 1,)
    splits : ndarray of int64, shape (n_samples,)
        How many positions of each sample belong to its first sequence.
    unit : ndarray of float64, shape (n_kinds, n_positions)
        Added where a position is against a gap of this kind: 0 short, 1 long.
    open, extend : ndarray of float64, shape (n_kinds, n_boundaries)
        Scores of the first and of each further position of a run at a boundary of the other sequence.
    change : ndarray of float64, shape (1,)
        Added where positions of the second sequence against a gap follow directly on such of the first.
    cells : ndarray of float64 or float32, shape (sum of n m,), or None
        Of each sample a rectangle, of which entry (i, j) is added to the match of i and j.

    Examples
    --------
    >>> theta = AlignmentTables.of([([0, 1, 1], [0, 1])], np.eye(2), open=-2.0, extend=-1.0)
    >>> len(theta), theta.n_kinds, theta.open.shape
    (1, 1, (1, 7))
    """

    substitution: np.ndarray
    letters: np.ndarray
    offsets: np.ndarray
    splits: np.ndarray
    unit: np.ndarray
    open: np.ndarray
    extend: np.ndarray
    change: np.ndarray
    cells: np.ndarray | None = None

    @classmethod
    def of(
        cls,
        pairs: Any,
        substitution: Any,
        *,
        open: Any = -11.0,
        extend: Any = -1.0,
        end_open: float | None = None,
        end_extend: float | None = None,
        change: float = 0.0,
    ) -> AlignmentTables:
        """Potentials of pairs of symbol numbers with constant scores of gaps.

        ``open`` and ``extend`` are numbers, or have one for each kind of gap. Gaps before and after a whole sequence
        score ``end_open`` and ``end_extend`` if given.
        """
        own = [(np.asarray(a, np.int16), np.asarray(b, np.int16)) for a, b in pairs]
        offsets = offsets_from_lengths([len(a) + len(b) for a, b in own])
        letters = np.concatenate([np.empty(0, np.int16), *(each for pair in own for each in pair)])
        splits = np.array([len(a) for a, _ in own], np.int64)
        starts = boundaries_of(offsets)
        ends = np.concatenate([starts[:-1], starts[:-1] + splits, starts[:-1] + splits + 1, starts[1:] - 1])
        scores = []
        for inner, end in ((open, end_open), (extend, end_extend)):
            table = np.repeat(np.atleast_1d(np.asarray(inner, float))[:, None], int(starts[-1]), axis=1)
            if end is not None:
                table[:, ends] = end
            scores.append(table)
        substitution = np.ascontiguousarray(substitution, float)
        unit = np.zeros((len(scores[0]), len(letters)))
        opened, extended = scores
        last = np.array([float(change)])
        return cls(substitution, letters, offsets, splits, unit, opened, extended, last)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def n_kinds(self) -> int:
        """Kinds of gaps, 1 or 2."""
        return len(self.open)

    @property
    def n_codes(self) -> int:
        """0, positions of the other sequence + 1, and the long gap: as many kinds as the largest sample needs."""
        lengths = np.diff(self.offsets)
        if self.n_kinds == 2:
            return int(lengths.max(initial=0)) + 2
        return int(np.maximum(self.splits, lengths - self.splits).max(initial=0)) + 1

    @property
    def starts(self) -> np.ndarray:
        """Where rectangles of cells begin and end."""
        return cells_of(self.offsets, self.splits)

    @property
    def others(self) -> np.ndarray:
        """For every position the length of the other sequence, int64 (n_positions,)."""
        lengths = np.diff(self.offsets)
        sizes = np.stack([lengths - self.splits, self.splits], axis=1).ravel()
        return np.repeat(sizes, np.stack([self.splits, lengths - self.splits], axis=1).ravel())

    @property
    def long_codes(self) -> np.ndarray:
        """For every position the code of a long gap, int64 (n_positions,): 1 + the length of both sequences."""
        lengths = np.diff(self.offsets)
        return np.repeat(lengths + 1, lengths)

    def zeros(self) -> AlignmentTables:
        """Zeros in this shape."""
        own = {name: np.zeros_like(getattr(self, name)) for name in FIELDS[:-1]}
        return replace(self, **own, cells=None if self.cells is None else np.zeros_like(self.cells))

    def take(self, samples: np.ndarray) -> AlignmentTables:
        """Copies of the samples of these numbers, in their order; ``substitution`` and ``change`` are those of all."""
        samples = np.asarray(samples, np.int64)
        rows, offsets = gather(self.offsets, samples)
        boundaries = gather(boundaries_of(self.offsets), samples)[0]
        cells = None if self.cells is None else self.cells[gather(self.starts, samples)[0]]
        unit, open_, extend = (
            np.ascontiguousarray(own[:, at])
            for own, at in ((self.unit, rows), (self.open, boundaries), (self.extend, boundaries))
        )
        return replace(
            self, letters=self.letters[rows], offsets=offsets, splits=self.splits[samples], unit=unit, open=open_,
            extend=extend, cells=cells,
        )  # fmt: skip

    def dot(self, other: AlignmentTables) -> float:
        """Inner product."""
        both = [(getattr(self, name), getattr(other, name)) for name in FIELDS]
        return float(sum(np.vdot(a, b) for a, b in both if a is not None and b is not None))

    def any(self) -> bool:
        """Whether any number is not 0."""
        own = (getattr(self, name) for name in FIELDS)
        return any(bool(np.any(table)) for table in own if table is not None)

    def distance(self) -> float:
        """In how many columns two alignments differ at least, given the difference of their counts."""
        gaps = 0.5 * np.abs(self.unit).sum()
        return float(max(np.abs(self.substitution).sum() / 2.0, gaps, float(self.any())))

    def plus(self, cost: MatchCost) -> AlignmentTables:
        """These potentials with a cost inside; its constant is spread over the positions."""
        lengths, rooms = np.diff(self.offsets), np.diff(self.starts)
        each = cost.constant / np.maximum(lengths, 1)
        cells = cost.dense_cells(self.starts) + np.repeat(2.0 * each, rooms)
        if self.cells is not None:
            cells += self.cells
        return replace(self, unit=self.unit + cost.gap + np.repeat(each, lengths), cells=cells)

    def position_cost(self, costs: np.ndarray) -> MatchCost:
        """A cost of every code at every position, shape (n_positions, n_codes): a match costs what both its ends do."""
        dense, bounds = [], zip(self.offsets.tolist(), self.splits.tolist(), self.offsets[1:].tolist())
        for lo, n, hi in bounds:
            m = hi - lo - n
            dense.append((costs[lo : lo + n, 1 : m + 1] + costs[lo + n : hi, 1 : n + 1].T).ravel())
        gap = np.ascontiguousarray(costs[:, :1].T)
        if self.n_kinds == 2:
            gap = np.stack([gap[0], costs[np.arange(len(costs)), self.long_codes]])
        cells = np.concatenate([np.empty(0), *dense])
        return MatchCost.none(self.offsets, self.n_kinds, gap=gap, dense=cells)

    def check(self) -> None:
        """Refuse what would let a kernel read past an array, and scores that cannot be compared."""
        if not self._is_sound():
            self._refuse()

    def _is_sound(self) -> bool:
        """Whether :meth:`_refuse` has nothing to say, found in one go."""
        from palmette.structures.alignment.kernels.soundness import are_sound

        given = self.for_kernels()
        return given is not None and bool(are_sound(*given))

    def for_kernels(self) -> tuple[Any, ...] | None:
        """All fields and whether there are cells, if types and shapes fit together; None for :meth:`check` to refuse.

        Every answer asks for this, and for short pairs it takes as long as the answer: nothing is done twice.
        """
        letters, offsets, splits, cells = self.letters, self.offsets, self.splits, self.cells
        size, n, symbols, kinds = len(letters), len(offsets) - 1, len(self.substitution), len(self.open)
        given = self.change if cells is None else cells
        boundaries = kinds, size + 2 * n
        for array, dtype, shape in (
            (self.substitution, DOUBLE, (symbols, symbols)),
            (letters, SHORT, (size,)),
            (offsets, LONG, (n + 1,)),
            (splits, LONG, (n,)),
            (self.unit, DOUBLE, (kinds, size)),
            (self.open, DOUBLE, boundaries),
            (self.extend, DOUBLE, boundaries),
            (self.change, DOUBLE, (1,)),
            (given, self._cell_type(), (len(given),)),
        ):
            if type(array) is not np.ndarray or array.dtype != dtype or array.shape != shape:
                return None
            if not array.flags.c_contiguous:
                return None
        if kinds not in (1, 2) or n < 0:
            return None
        return (
            self.substitution, letters, offsets, splits, self.unit, self.open, self.extend, self.change, given,
            cells is not None,
        )  # fmt: skip

    def _cell_type(self) -> Any:
        """The type that cells have: that of all scores, or half of it, since there are many of them."""
        return SINGLE if getattr(self.cells, "dtype", None) == SINGLE else DOUBLE

    def _refuse(self) -> None:
        """Raise ValueError at the first thing that is wrong."""
        size, kinds = len(self.letters), len(np.atleast_1d(self.open))
        if kinds not in (1, 2):
            raise ValueError(f"open has {kinds} rows, expected 1, or 2 with long gaps")
        check_offsets("offsets", self.offsets, size)
        check_array("splits", self.splits, np.int64, (len(self),))
        short = np.flatnonzero((self.splits < 0) | (self.splits > np.diff(self.offsets)))
        if len(short):
            s = int(short[0])
            raise ValueError(f"splits[{s}] is {self.splits[s]}, expected 0..{np.diff(self.offsets)[s]}")
        boundaries = size + 2 * len(self)
        symbols = len(np.atleast_1d(self.substitution))
        for name, dtype, shape in (
            ("substitution", np.float64, (symbols, symbols)),
            ("letters", np.int16, (size,)),
            ("unit", np.float64, (kinds, size)),
            ("open", np.float64, (kinds, boundaries)),
            ("extend", np.float64, (kinds, boundaries)),
            ("change", np.float64, (1,)),
            ("cells", self._cell_type(), (int(self.starts[-1]),)),
        ):
            if name != "cells" or self.cells is not None:
                check_array(name, getattr(self, name), dtype, shape)
        if size and not 0 <= self.letters.min() <= self.letters.max() < symbols:
            at = int(np.flatnonzero((self.letters < 0) | (self.letters >= symbols))[0])
            raise ValueError(f"letters[{at}] is {self.letters[at]}, expected 0..{symbols - 1}")
        for name in FIELDS:
            scores = getattr(self, name)
            if scores is None or np.isfinite(scores.sum()):  # not if any of them is not
                continue
            if not np.all(np.isfinite(scores)):
                at = np.argwhere(~np.isfinite(scores))[0].tolist()
                raise ValueError(
                    f"{name}{at} is {scores[tuple(at)]}, since weights or evidence are too large; forbid matches and "
                    "gaps with within="
                )


@dataclass(frozen=True)
class AlignmentParts:
    """A number for every match and every position against a gap of a batch: probabilities, or best scores.

    Parameters
    ----------
    gaps : ndarray of float64, shape (n_kinds, n_positions)
    matches : ndarray of float64, shape (sum of n m,)
        A rectangle for each sample.
    offsets, splits : ndarray of int64
        Of the potentials.
    additive : bool
        Whether the number of a position that is matched anyhow is the sum over its partners, or the highest.
    """

    gaps: np.ndarray
    matches: np.ndarray
    offsets: np.ndarray
    splits: np.ndarray
    additive: bool = True

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def of(self, s: int) -> np.ndarray:
        """The rectangle of sample ``s``, shape (n, m)."""
        starts, n = cells_of(self.offsets, self.splits), int(self.splits[s])
        return self.matches[starts[s] : starts[s + 1]].reshape(n, int(np.diff(self.offsets)[s]) - n)

    @property
    def node(self) -> np.ndarray:
        """For every position what it has against a gap and matched, shape (n_positions, 2)."""
        over = np.sum if self.additive else np.max
        least = 0.0 if self.additive else -np.inf
        matched = [over(self.of(s), axis=axis, initial=least) for s in range(len(self)) for axis in (1, 0)]
        return np.stack([over(self.gaps, axis=0), np.concatenate([np.empty(0), *matched])], axis=1)
