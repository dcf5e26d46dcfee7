"""How well predicted alignments agree with references of which some columns are certain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from palmette.apps.aligning.records import PairRecord, check_matches

BANDS = (0.0, 10.0, 20.0, 30.0, 40.0, 100.0)
"""Bounds of percentage identity in tables."""


@dataclass(frozen=True, eq=False)
class AlignmentReport:
    """Counts of columns by pair, and the measures made of them.

    Parameters
    ----------
    right, core : ndarray of int64, shape (n_pairs,)
        Core columns of the reference that the prediction has, and all of them.
    claimed : ndarray of int64, shape (n_pairs,)
        Predicted matches with a position that is in a core column: those of which the reference tells whether they are
        right.
    filled, gaps : ndarray of int64, shape (n_pairs,)
        Positions that the reference has against a gap: those that the prediction matches, and all of them.
    predicted : ndarray of int64, shape (n_pairs,)
        All predicted matches.
    identity : ndarray of shape (n_pairs,)
        Percentage of the core columns whose letters are equal.

    Examples
    --------
    >>> reference = PairRecord.from_rows("ACDE-", "A-DEF")
    >>> report = evaluate_alignments([reference], [[(0, 0), (1, 1), (3, 2)]])
    >>> round(report.recall, 3), round(report.precision, 3), report.over_alignment
    (0.667, 0.667, 0.5)
    """

    right: np.ndarray
    core: np.ndarray
    claimed: np.ndarray
    filled: np.ndarray
    gaps: np.ndarray
    predicted: np.ndarray
    identity: np.ndarray

    def __len__(self) -> int:
        return len(self.right)

    @property
    def each_recall(self) -> np.ndarray:
        """Of every pair the share of core columns that are found (Q); 1 where there are none."""
        return _ratio(self.right, self.core)

    @property
    def recall(self) -> float:
        """Mean over pairs of the share of core columns that are found (Q score)."""
        return float(self.each_recall.mean())

    @property
    def precision(self) -> float:
        """Mean over pairs of the share of right ones among predicted matches at positions of core columns."""
        return float(_ratio(self.right, self.claimed).mean())

    @property
    def over_alignment(self) -> float:
        """Mean over pairs of the share of positions against a gap in the reference that are matched; 0 without any."""
        return float((self.filled / np.maximum(self.gaps, 1)).mean())

    @property
    def pooled(self) -> dict[str, float]:
        """The same over the columns of all pairs together."""
        right, core, claimed, filled, gaps = (
            int(each.sum()) for each in (self.right, self.core, self.claimed, self.filled, self.gaps)
        )
        return {
            "recall": right / core if core else 1.0,
            "precision": right / claimed if claimed else 1.0,
            "over_alignment": filled / gaps if gaps else 0.0,
        }

    def bands(self, bounds: Sequence[float] = BANDS) -> list[tuple[str, int, float]]:
        """Recall by percentage identity: name, number of pairs and mean of each band; the last has its upper bound."""
        found = []
        for low, high in zip(bounds[:-1], bounds[1:]):
            inside = (self.identity >= low) & (
                self.identity < high if high < bounds[-1] else self.identity <= high
            )
            mean = float(self.each_recall[inside].mean()) if inside.any() else float("nan")
            found.append((f"{low:g}-{high:g} %", int(inside.sum()), mean))
        return found

    def to_dict(self) -> dict[str, Any]:
        """All numbers for JSON."""
        return {
            "pairs": len(self), "core_columns": int(self.core.sum()), "predicted_matches": int(self.predicted.sum()),
            "recall": self.recall, "precision": self.precision, "over_alignment": self.over_alignment,
            "pooled": self.pooled,
            "bands": [{"identity": name, "pairs": n, "recall": mean} for name, n, mean in self.bands() if n],
        }  # fmt: skip

    def headline(self) -> str:
        """The most important ones in a few words."""
        return f"recall {self.recall:.4f}, precision {self.precision:.4f}, over-alignment {self.over_alignment:.4f}"

    def format(self) -> str:
        """A table of means over pairs, over columns, and of recall by identity."""
        pooled = self.pooled
        rows = [
            ("mean of pairs", self.recall, self.precision, self.over_alignment),
            ("all columns together", pooled["recall"], pooled["precision"], pooled["over_alignment"]),
        ]
        lines = [f"{'':<22}{'recall':>8}{'precision':>11}{'over-alignment':>16}"]
        lines += [f"{name:<22}{a:>8.4f}{b:>11.4f}{c:>16.4f}" for name, a, b, c in rows]
        lines += ["", f"{'identity of columns':<22}{'recall':>8}{'pairs':>11}"]
        lines += [f"{name:<22}{mean:>8.4f}{n:>11,}" for name, n, mean in self.bands() if n]
        core, predicted = int(self.core.sum()), int(self.predicted.sum())
        found = f"{len(self):,} pairs, {core:,} core columns, {predicted:,} matches predicted"
        return "\n".join([found, *lines])


def evaluate_alignments(references: Sequence[PairRecord], predicted: Sequence[Any]) -> AlignmentReport:
    """Compare predicted matches with those of references.

    Parameters
    ----------
    references : list of PairRecord
        All with alignments; matches that are no core columns are not scored.
    predicted : list of arrays of shape (k, 2)
        Matches (i, j) from 0.
    """
    if len(references) != len(predicted):
        raise ValueError(f"there are {len(references)} references, but {len(predicted)} predictions")
    if not references:
        raise ValueError("there is nothing to compare: give at least one pair")
    counts = np.array([_counts(true, found) for true, found in zip(references, predicted)], np.int64)
    right, core, claimed, filled, gaps, found = counts.T
    identity = np.array([each.identity for each in references])
    return AlignmentReport(right, core, claimed, filled, gaps, found, identity)


def _counts(reference: PairRecord, predicted: Any) -> tuple[int, ...]:
    if reference.matches is None:
        raise ValueError(f"{reference.name}: the reference has no alignment to compare with")
    n, m = len(reference.a), len(reference.b)
    found, core = check_matches(predicted, n, m, reference.name), reference.core_matches
    partner = np.full(n, -1)
    partner[core[:, 0]] = core[:, 1]
    right = int((partner[found[:, 0]] == found[:, 1]).sum())
    known = [np.zeros(length, bool) for length in (n, m)]
    gapped = [np.ones(length, bool) for length in (n, m)]
    for side in (0, 1):
        known[side][core[:, side]] = True
        gapped[side][reference.matches[:, side]] = False
    claimed = int((known[0][found[:, 0]] | known[1][found[:, 1]]).sum())
    filled = int(gapped[0][found[:, 0]].sum() + gapped[1][found[:, 1]].sum())
    return right, len(core), claimed, filled, int(gapped[0].sum() + gapped[1].sum()), len(found)


def _ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return np.where(whole == 0, 1.0, part / np.maximum(whole, 1))
