"""Scores of documents, costs of their ranks, and restrictions on them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from palmette.contracts.structure import Allowed
from palmette.data.ragged import gather


@dataclass(frozen=True)
class RankingTables:
    """One number per document of a batch of queries: potentials, or counts (the weight of the document's rank).

    Parameters
    ----------
    node : ndarray of float64, shape (n_rows,)
        Documents of all queries one after the other.
    offsets : ndarray of int64, shape (n_samples + 1,)
    """

    node: np.ndarray
    offsets: np.ndarray

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def shapes(self) -> tuple[Any, ...]:
        """Shape of the scores."""
        return (self.node.shape,)

    @property
    def longest(self) -> int:
        """Documents of the largest query."""
        return int(np.diff(self.offsets).max(initial=0))

    def zeros(self) -> RankingTables:
        """Zeros in this shape."""
        return RankingTables(np.zeros_like(self.node), self.offsets)

    def take(self, samples: np.ndarray) -> RankingTables:
        """Copies of the queries of these numbers, in their order; a query may be taken more than once."""
        rows, offsets = gather(self.offsets, np.asarray(samples, np.int64))
        return RankingTables(self.node[rows], offsets)

    def dot(self, other: RankingTables) -> float:
        """Inner product."""
        return float(self.node @ other.node)

    def plus(self, other: RankingTables) -> RankingTables:
        """The sums of the scores."""
        return RankingTables(self.node + other.node, self.offsets)

    def relabelled(self, place: np.ndarray) -> RankingTables:
        """The same scores, since documents have no labels."""
        return self

    def any(self) -> bool:
        """Whether two rankings differ, given the difference of their counts."""
        return bool(np.any(self.node))

    def distance(self) -> float:
        """How far two rankings are apart, given the difference of their counts: half the change of rank weights."""
        return 0.5 * float(np.abs(self.node).sum())

    def check(self) -> None:
        """Refuse what would let a kernel read past an array, and scores that cannot be compared."""
        node, offsets = self.node, self.offsets
        if not isinstance(node, np.ndarray) or node.dtype != np.float64 or not node.flags.c_contiguous:
            raise TypeError("scores of documents must be a C-contiguous array of float64")
        if node.ndim != 1:
            raise ValueError(f"scores have shape {node.shape}, expected one per document")
        if offsets.dtype != np.int64 or offsets[0] != 0 or offsets[-1] != len(node):
            raise ValueError(
                f"offsets must be int64 from 0 to the number of rows, {len(node)}; got {offsets.dtype} from "
                f"{offsets[0]} to {offsets[-1]}"
            )
        empty = np.flatnonzero(np.diff(offsets) < 1)
        if len(empty):
            raise ValueError(f"sample {empty[0]} has no documents; leave empty queries out")
        if not np.all(np.isfinite(node)):
            row = int(np.flatnonzero(~np.isfinite(node))[0])
            sample = int(np.searchsorted(offsets, row, side="right")) - 1
            raise ValueError(
                f"sample {sample}, document {row - offsets[sample]}: its score is {node[row]}, since feature values or "
                "weights are too large; scale the features to values around 1 and fit again"
            )


@dataclass(frozen=True)
class RankingCost:
    """A cost of every document at every rank: ``gain[d] discount[r] + table[d, r]``; what is None is 0.

    Parameters
    ----------
    gain : ndarray of shape (n_rows,), optional
    discount : ndarray of shape (n_ranks,), optional
        By rank; at least as many as the largest query has documents.
    table : ndarray of shape (n_rows, n_ranks), optional
        Any cost; a row of a query of n documents uses its first n columns.

    Examples
    --------
    >>> RankingCost(table=np.zeros((3, 2))).of(1, 3)  # the second and third document are a query
    array([[0., 0.],
           [0., 0.]])
    """

    gain: np.ndarray | None = None
    discount: np.ndarray | None = None
    table: np.ndarray | None = None

    def check(self, theta: RankingTables) -> None:
        """Compare shapes with the potentials before any work starts."""
        n_rows, longest = len(theta.node), theta.longest
        if (self.gain is None) != (self.discount is None):
            raise ValueError("a RankingCost has gain and discount, or neither")
        if self.gain is not None and self.gain.shape != (n_rows,):
            raise ValueError(f"cost.gain has shape {self.gain.shape}, expected one per document, {(n_rows,)}")
        if self.discount is not None and (self.discount.ndim != 1 or len(self.discount) < longest):
            raise ValueError(
                f"cost.discount has shape {self.discount.shape}, expected at least {longest} ranks"
            )
        if self.table is not None:
            _check_table("cost.table", self.table, n_rows, longest)
        for name in ("gain", "discount", "table"):
            array = getattr(self, name)
            if array is not None and not np.all(np.isfinite(array)):
                raise ValueError(f"cost.{name} has values that are not finite; forbid ranks with within=")

    def of(self, start: int, stop: int) -> np.ndarray:
        """The costs of one query, documents by ranks."""
        n = stop - start
        found = np.zeros((n, n))
        if self.gain is not None and self.discount is not None:
            found += np.multiply.outer(self.gain[start:stop], self.discount[:n])
        if self.table is not None:
            found += self.table[start:stop, :n]
        return found


@dataclass(frozen=True)
class RankingRestriction(Allowed):
    """Which rankings are allowed; None allows all of them.

    Parameters
    ----------
    allowed : ndarray of bool, shape (n_rows, n_ranks), optional
        Ranks that documents may have. A row of a query of n documents uses its first n columns.
    agrees : ndarray of int, shape (n_rows,), optional
        Grades, -1 where unknown: of two documents of known grades the higher one stands first.
    contradicts : ndarray of int, shape (n_rows,), optional
        Grades, -1 where unknown: some document stands before one of a higher grade.

    Examples
    --------
    The first of three documents must be the winner:

    >>> RankingRestriction.fixed(np.array([0, -1, -1]), np.array([0, 3])).allowed[0]
    array([ True, False, False])

    Documents of a higher level stand before those of a lower one:

    >>> RankingRestriction.levels(np.array([0, 1, 1]), np.array([0, 3])).allowed
    array([[False, False,  True],
           [ True,  True, False],
           [ True,  True, False]])
    """

    allowed: np.ndarray | None = None
    agrees: np.ndarray | None = None
    contradicts: np.ndarray | None = None

    def __and__(self, other: RankingRestriction) -> RankingRestriction:
        """What both allow; only one of them may have grades to agree with, or to contradict."""
        both = {}
        for f in fields(self):
            own, more = getattr(self, f.name), getattr(other, f.name)
            if own is not None and more is not None and f.name != "allowed":
                raise ValueError(f"within.{f.name} names a second annotation; give one")
            both[f.name] = more if own is None else own if more is None else own & more
        return RankingRestriction(**both)

    @classmethod
    def fixed(cls, ranks: np.ndarray, offsets: np.ndarray) -> RankingRestriction:
        """Documents with these ranks (from 0); -1 where any rank will do."""
        ranks = np.asarray(ranks)
        longest = int(np.diff(offsets).max(initial=0))
        allowed = ranks[:, None] == np.arange(longest)
        allowed[ranks < 0] = True
        return cls(allowed)

    @classmethod
    def levels(cls, level: np.ndarray, offsets: np.ndarray) -> RankingRestriction:
        """All orders in which documents of a higher level stand before those of a lower one."""
        allowed = np.zeros((len(level), int(np.diff(offsets).max(initial=0))), bool)
        for lo, hi in zip(offsets[:-1].tolist(), offsets[1:].tolist()):
            allowed[lo:hi, : hi - lo] = possible_ranks(np.asarray(level[lo:hi]))
        return cls(allowed)

    def check(self, theta: RankingTables) -> None:
        """Compare shapes with the potentials before any work starts."""
        for name in ("agrees", "contradicts"):
            grades = getattr(self, name)
            if grades is not None and (grades.shape != theta.node.shape or grades.dtype.kind not in "iu"):
                raise ValueError(
                    f"within.{name} must be a whole number per document, {len(theta.node)}; got {grades.dtype} of "
                    f"shape {grades.shape}"
                )
        if self.allowed is None:
            return
        if np.asarray(self.allowed).dtype != bool:
            raise TypeError("within.allowed must be an array of bool")
        _check_table("within.allowed", self.allowed, len(theta.node), theta.longest)


def possible_ranks(grades: np.ndarray) -> np.ndarray:
    """Ranks that documents of one query may have so that higher grades can stand first; any rank where -1.

    If all grades are known, these ranks say the same as the grades.

    >>> possible_ranks(np.array([0, 1, -1])).astype(int)
    array([[0, 1, 1],
           [1, 1, 0],
           [1, 1, 1]])
    """
    known = grades >= 0
    above = ((grades[None, :] > grades[:, None]) & known).sum(axis=1)
    below = ((grades[None, :] < grades[:, None]) & known).sum(axis=1)
    place = np.arange(len(grades))
    fits = (place >= above[:, None]) & (place < (len(grades) - below)[:, None])
    return fits | ~known[:, None]


def out_of_order(grades: np.ndarray, ranks: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Whether some document of each query stands before one of a higher grade, bool; grades of -1 are unknown.

    >>> out_of_order(np.array([0, 1, 1, -1]), np.array([0, 1, 0, 1]), np.array([0, 2, 4]))
    array([ True, False])
    """
    sample = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    known = np.flatnonzero(grades >= 0)
    order = known[np.lexsort((ranks[known], sample[known]))]
    rises = (np.diff(grades[order]) > 0) & (np.diff(sample[order]) == 0)
    out = np.zeros(len(offsets) - 1, bool)
    out[sample[order][1:][rises]] = True
    return out


def _check_table(name: str, table: np.ndarray, n_rows: int, longest: int) -> None:
    if table.ndim != 2 or len(table) != n_rows or table.shape[1] < longest:
        raise ValueError(
            f"{name} has shape {table.shape}, expected ({n_rows}, at least {longest}): documents by ranks"
        )
