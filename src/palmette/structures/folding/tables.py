"""Potentials of sequences to fold, costs of pairs, and numbers for every unpaired position and pair."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from palmette.data.checks import check_offsets
from palmette.data.ragged import gather, offsets_from_lengths
from palmette.structures.folding.layout import N_LETTERS, SLICES, TABLE_SIZE


def squares_of(offsets: np.ndarray) -> np.ndarray:
    """Where the squares of samples, n x n numbers each, begin and end in a flat array.

    >>> squares_of(np.array([0, 2, 5]))
    array([ 0,  4, 13])
    """
    return offsets_from_lengths(np.diff(offsets) ** 2)


def take_squares(flat: np.ndarray, offsets: np.ndarray, samples: np.ndarray) -> np.ndarray:
    """The squares of some samples."""
    return flat[gather(squares_of(offsets), samples)[0]]


@dataclass(frozen=True)
class FoldingTables:
    """Scores of the loops of a batch of sequences, and of everything of that shape: counts, gradients.

    Parameters
    ----------
    tables : ndarray of float64, shape (2577,)
        Scores of loop features (:mod:`palmette.structures.folding.layout`), alike for all samples. Counts are summed
        over samples.
    letters : ndarray of int8, shape (n_positions,)
        A=0, C=1, G=2, U=3, 4 for a letter that pairs with nothing.
    offsets : ndarray of int64, shape (n_samples + 1,)
    unpaired : ndarray of float64, shape (n_positions,)
        Evidence: added to the score where a position is unpaired.
    pair_scores : ndarray of float64, shape (sum of n^2,), or None
        Evidence: of each sample a square, of which entry (i, j), i < j, is added where i and j are paired.

    Examples
    --------
    >>> theta = FoldingTables.of(["GAAAC", "ACGU"])
    >>> len(theta), theta.letters
    (2, array([2, 0, 0, 0, 1, 0, 1, 2, 3], dtype=int8))
    """

    tables: np.ndarray
    letters: np.ndarray
    offsets: np.ndarray
    unpaired: np.ndarray
    pair_scores: np.ndarray | None = None

    @classmethod
    def of(cls, sequences: Any, tables: np.ndarray | None = None) -> FoldingTables:
        """Potentials of sequences of letters, without evidence; tables are zeros by default."""
        from palmette.structures.folding.alphabet import letter_codes

        own = [letter_codes(text, f"sequences[{i}]") for i, text in enumerate(sequences)]
        offsets = offsets_from_lengths([len(each) for each in own])
        letters = np.concatenate([np.empty(0, np.int8), *own])
        tables = np.zeros(TABLE_SIZE) if tables is None else tables
        return cls(tables, letters, offsets, np.zeros(len(letters)))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def n_codes(self) -> int:
        """0 for unpaired, 1 + position of the partner: as many kinds as the longest sample needs."""
        return int(np.diff(self.offsets).max(initial=0)) + 1

    @property
    def squares(self) -> np.ndarray:
        """Where squares of pairs begin and end."""
        return squares_of(self.offsets)

    def section(self, name: str) -> np.ndarray:
        """The part of the tables of this name, flat."""
        return self.tables[SLICES[name]]

    def zeros(self) -> FoldingTables:
        """Zeros in this shape."""
        pairs = None if self.pair_scores is None else np.zeros_like(self.pair_scores)
        return replace(
            self, tables=np.zeros_like(self.tables), unpaired=np.zeros_like(self.unpaired), pair_scores=pairs
        )

    def take(self, samples: np.ndarray) -> FoldingTables:
        """Copies of the samples of these numbers, in their order; the tables are those of all."""
        samples = np.asarray(samples, np.int64)
        rows, offsets = gather(self.offsets, samples)
        pairs = self.pair_scores
        if pairs is not None:
            pairs = take_squares(pairs, self.offsets, samples)
        return FoldingTables(self.tables, self.letters[rows], offsets, self.unpaired[rows], pairs)

    def dot(self, other: FoldingTables) -> float:
        """Inner product."""
        total = float(self.tables @ other.tables + self.unpaired @ other.unpaired)
        if self.pair_scores is not None and other.pair_scores is not None:
            total += float(self.pair_scores @ other.pair_scores)
        return total

    def any(self) -> bool:
        """Whether any number is not 0."""
        return bool(np.any(self.tables) or np.any(self.unpaired))

    def distance(self) -> float:
        """In how many base pairs two structures differ at least, given the difference of their counts."""
        pairs = np.abs(self.section("base_pair")).sum()
        return float(max(pairs, 0.5 * np.abs(self.unpaired).sum(), float(self.any())))

    def plus(self, cost: PairCost) -> FoldingTables:
        """These potentials with a cost inside; its constant is spread over the positions."""
        lengths = np.diff(self.offsets)
        each = cost.constant / np.maximum(lengths, 1)
        pairs = cost.dense_squares(self.offsets) + np.repeat(2.0 * each, lengths**2)
        if self.pair_scores is not None:
            pairs += self.pair_scores
        return replace(
            self, unpaired=self.unpaired + cost.unpaired + np.repeat(each, lengths), pair_scores=pairs
        )

    def position_cost(self, costs: np.ndarray) -> PairCost:
        """A cost of every code at every position, shape (n_positions, n_codes): a pair costs what both its ends do."""
        lengths = np.diff(self.offsets)
        ends = [
            costs[lo : lo + n, 1 : n + 1] + costs[lo : lo + n, 1 : n + 1].T
            for lo, n in zip(self.offsets[:-1].tolist(), lengths.tolist())
        ]
        dense = np.concatenate([np.empty(0), *(own.ravel() for own in ends)])
        return PairCost.none(self.offsets, unpaired=np.ascontiguousarray(costs[:, 0]), dense=dense)

    def check(self) -> None:
        """Refuse what would let a kernel read past an array, and scores that cannot be compared."""
        for name, array, dtype, shape in (
            ("tables", self.tables, np.float64, (TABLE_SIZE,)),
            ("letters", self.letters, np.int8, (len(self.letters),)),
            ("unpaired", self.unpaired, np.float64, (len(self.letters),)),
        ):
            _check_array(name, array, dtype, shape)
        check_offsets("offsets", self.offsets, len(self.letters))
        if len(self.letters) and not 0 <= self.letters.min() <= self.letters.max() < N_LETTERS:
            at = int(np.flatnonzero((self.letters < 0) | (self.letters >= N_LETTERS))[0])
            raise ValueError(f"letters[{at}] is {self.letters[at]}, expected 0..{N_LETTERS - 1}")
        if self.pair_scores is not None:
            _check_array("pair_scores", self.pair_scores, np.float64, (int(self.squares[-1]),))
        for name, scores in (
            ("tables", self.tables),
            ("unpaired", self.unpaired),
            ("pair_scores", self.pair_scores),
        ):
            if scores is not None and not np.all(np.isfinite(scores)):
                at = int(np.flatnonzero(~np.isfinite(scores))[0])
                raise ValueError(
                    f"{name}[{at}] is {scores[at]}, since weights or evidence are too large; forbid pairs and unpaired "
                    "positions with within="
                )


def _check_array(name: str, array: Any, dtype: Any, shape: tuple[int, ...]) -> None:
    if not isinstance(array, np.ndarray) or array.dtype != dtype or array.shape != shape:
        found = (
            f"{array.dtype} of shape {array.shape}" if isinstance(array, np.ndarray) else type(array).__name__
        )
        raise ValueError(f"{name} is {found}, expected {np.dtype(dtype)} of shape {shape}")
    if not array.flags.c_contiguous:
        raise ValueError(f"{name} must be contiguous: use np.ascontiguousarray")


@dataclass(frozen=True)
class PairCost:
    """A cost of structures: of every unpaired position, of every pair, of single pairs, and a constant.

    Parameters
    ----------
    unpaired : ndarray of float64, shape (n_positions,)
    uniform : ndarray of float64, shape (n_samples,)
        Cost of every pair of a sample.
    constant : ndarray of float64, shape (n_samples,)
    entry_ptr : ndarray of int64, shape (n_samples + 1,)
    entry : ndarray of int64
        Single pairs, each only once: those of sample s, as ``i * n + j`` with i < j, stand at
        ``entry_ptr[s]:entry_ptr[s + 1]``.
    value : ndarray of float64
        What each of them costs beside ``uniform``.
    dense : ndarray of float64, shape (sum of n^2,), or None
        Squares of costs of all pairs, of which entries with i < j count.

    Examples
    --------
    >>> cost = PairCost.none(np.array([0, 5]), uniform=np.array([0.5]))
    >>> cost.dense_squares(np.array([0, 5])).reshape(5, 5)[0, 4]
    np.float64(0.5)
    """

    unpaired: np.ndarray
    uniform: np.ndarray
    constant: np.ndarray
    entry_ptr: np.ndarray
    entry: np.ndarray
    value: np.ndarray
    dense: np.ndarray | None = None

    @classmethod
    def none(cls, offsets: np.ndarray, **own: Any) -> PairCost:
        """No cost for samples of these offsets, but for what is named."""
        n = len(offsets) - 1
        return cls(**{
            "unpaired": np.zeros(int(offsets[-1])), "uniform": np.zeros(n), "constant": np.zeros(n),
            "entry_ptr": np.zeros(n + 1, np.int64), "entry": np.empty(0, np.int64), "value": np.empty(0), **own,
        })  # fmt: skip

    def __len__(self) -> int:
        return len(self.uniform)

    def times(self, weight: np.ndarray, offsets: np.ndarray) -> PairCost:
        """The cost times a weight for each sample."""
        lengths = np.diff(offsets)
        dense = None if self.dense is None else self.dense * np.repeat(weight, lengths**2)
        return PairCost(
            self.unpaired * np.repeat(weight, lengths), self.uniform * weight, self.constant * weight, self.entry_ptr,
            self.entry, self.value * np.repeat(weight, np.diff(self.entry_ptr)), dense,
        )  # fmt: skip

    def take(self, samples: np.ndarray, offsets: np.ndarray) -> PairCost:
        """The costs of some samples of a batch with these offsets."""
        samples = np.asarray(samples, np.int64)
        entries, ptr = gather(self.entry_ptr, samples)
        dense = None if self.dense is None else take_squares(self.dense, offsets, samples)
        return PairCost(
            self.unpaired[gather(offsets, samples)[0]], self.uniform[samples], self.constant[samples], ptr,
            self.entry[entries], self.value[entries], dense,
        )  # fmt: skip

    def dense_squares(self, offsets: np.ndarray) -> np.ndarray:
        """The costs of all pairs as squares."""
        squares = squares_of(offsets)
        out = np.repeat(self.uniform, np.diff(squares))
        np.add.at(out, np.repeat(squares[:-1], np.diff(self.entry_ptr)) + self.entry, self.value)
        return out if self.dense is None else out + self.dense

    def check(self, theta: FoldingTables) -> None:
        """Refuse what would let a kernel read past an array."""
        n, squares = len(theta), theta.squares
        for name, array, dtype, shape in (
            ("cost.unpaired", self.unpaired, np.float64, theta.unpaired.shape),
            ("cost.uniform", self.uniform, np.float64, (n,)),
            ("cost.constant", self.constant, np.float64, (n,)),
            ("cost.entry", self.entry, np.int64, (len(self.entry),)),
            ("cost.value", self.value, np.float64, (len(self.entry),)),
        ):
            _check_array(name, array, dtype, shape)
        check_offsets("cost.entry_ptr", self.entry_ptr, len(self.entry))
        if len(self.entry_ptr) != n + 1:
            raise ValueError(f"cost.entry_ptr has {len(self.entry_ptr)} entries, expected {n + 1}")
        if len(self.entry) and (
            self.entry.min() < 0 or np.any(self.entry >= np.repeat(np.diff(squares), np.diff(self.entry_ptr)))
        ):
            raise ValueError("cost.entry has a pair that its sample does not have")
        if self.dense is not None:
            _check_array("cost.dense", self.dense, np.float64, (int(squares[-1]),))


@dataclass(frozen=True)
class FoldingParts:
    """A number for every unpaired position and every pair of a batch: probabilities, or best scores.

    Parameters
    ----------
    unpaired : ndarray of float64, shape (n_positions,)
    pairs : ndarray of float64, shape (sum of n^2,)
        A symmetric square for each sample.
    offsets : ndarray of int64, shape (n_samples + 1,)
    additive : bool
        Whether the number of a position that is paired anyhow is the sum over its partners, or the highest.
    """

    unpaired: np.ndarray
    pairs: np.ndarray
    offsets: np.ndarray
    additive: bool = True

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def of(self, s: int) -> np.ndarray:
        """The symmetric square of sample ``s``, shape (n, n)."""
        squares, n = squares_of(self.offsets), int(self.offsets[s + 1] - self.offsets[s])
        return self.pairs[squares[s] : squares[s + 1]].reshape(n, n)

    @property
    def node(self) -> np.ndarray:
        """For every position what it has unpaired and paired, shape (n_positions, 2)."""
        over = np.sum if self.additive else np.max
        paired = [over(self.of(s), axis=1) for s in range(len(self))]
        return np.stack([self.unpaired, np.concatenate([np.empty(0), *paired])], axis=1)
