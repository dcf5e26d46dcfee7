"""How well predicted pairs agree with reference structures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from palmette.structures.folding.brackets import Pair


@dataclass(frozen=True, eq=False)
class FoldingReport:
    """Counts of pairs by sequence, and the measures made of them.

    Parameters
    ----------
    right, predicted, true : ndarray of int64, shape (n_sequences,)
        Pairs that are in both structures, in the predicted one, in the reference.

    Examples
    --------
    >>> report = evaluate_folds([[(0, 8), (1, 7)]], [[(0, 8), (2, 6)]])
    >>> report.sensitivity, report.selectivity, report.f1
    (0.5, 0.5, 0.5)
    """

    right: np.ndarray
    predicted: np.ndarray
    true: np.ndarray

    def __len__(self) -> int:
        return len(self.right)

    @property
    def each_f1(self) -> np.ndarray:
        """F1 of every sequence; 1 where neither structure has pairs."""
        return _ratio(2 * self.right, self.predicted + self.true)

    @property
    def f1(self) -> float:
        """Mean over sequences of the harmonic mean of sensitivity and selectivity."""
        return float(self.each_f1.mean())

    @property
    def sensitivity(self) -> float:
        """Mean over sequences of the share of the reference's pairs that are found (recall)."""
        return float(_ratio(self.right, self.true).mean())

    @property
    def selectivity(self) -> float:
        """Mean over sequences of the share of the predicted pairs that are right (precision, PPV)."""
        return float(_ratio(self.right, self.predicted).mean())

    @property
    def pooled(self) -> dict[str, float]:
        """The same over the pairs of all sequences together."""
        right, predicted, true = (int(each.sum()) for each in (self.right, self.predicted, self.true))
        return {
            "sensitivity": right / true if true else 1.0,
            "selectivity": right / predicted if predicted else 1.0,
            "f1": 2 * right / (predicted + true) if predicted + true else 1.0,
        }

    def to_dict(self) -> dict[str, Any]:
        """All numbers for JSON."""
        return {
            "sequences": len(self), "pairs": int(self.true.sum()), "predicted_pairs": int(self.predicted.sum()),
            "f1": self.f1, "sensitivity": self.sensitivity, "selectivity": self.selectivity, "pooled": self.pooled,
        }  # fmt: skip

    def headline(self) -> str:
        """The most important ones in a few words."""
        return f"F1 {self.f1:.4f}, sensitivity {self.sensitivity:.4f}, selectivity {self.selectivity:.4f}"

    def format(self) -> str:
        """A table of means over sequences, and over pairs."""
        pooled = self.pooled
        rows = [
            ("mean of sequences", self.sensitivity, self.selectivity, self.f1),
            ("all pairs together", pooled["sensitivity"], pooled["selectivity"], pooled["f1"]),
        ]
        lines = [f"{'':<20}{'sensitivity':>12}{'selectivity':>12}{'F1':>8}"]
        lines += [f"{name:<20}{a:>12.4f}{b:>12.4f}{c:>8.4f}" for name, a, b, c in rows]
        found = f"{len(self):,} sequences, {int(self.true.sum()):,} pairs, {int(self.predicted.sum()):,} predicted"
        return "\n".join([found, *lines])


def evaluate_folds(true: Sequence[Iterable[Pair]], predicted: Sequence[Iterable[Pair]]) -> FoldingReport:
    """Compare predicted pairs with those of references, which may have pseudoknots.

    Parameters
    ----------
    true, predicted : list of lists of (int, int)
    """
    if len(true) != len(predicted):
        raise ValueError(f"there are {len(true)} references, but {len(predicted)} predictions")
    if not true:
        raise ValueError("there is nothing to compare: give at least one sequence")
    both = [(set(t), set(p)) for t, p in zip(true, predicted)]
    counts = np.array([(len(t & p), len(p), len(t)) for t, p in both], np.int64)
    return FoldingReport(*counts.T)


def _ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return np.where(whole == 0, 1.0, part / np.maximum(whole, 1))
