"""An aligned pair: what an aligner returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from palmette.apps.aligning.cigar import format_cigar
from palmette.apps.aligning.records import PairRecord, SequenceRecord, aligned_rows
from palmette.plot.alignment_columns import Columns


@dataclass(frozen=True, eq=False)
class Aligned:
    """Two aligned sequences.

    Parameters
    ----------
    a, b : str
    matches : ndarray of int64, shape (k, 2)
        Aligned positions (i, j) from 0, both ascending.
    score : float
        Of the alignment; that of the best one is the highest.
    name : str
        Of the pair.
    names : (str, str)
        Of the sequences.
    posteriors : ndarray of shape (n, m), optional
        Probabilities of matches.
    gaps_a, gaps_b : ndarrays of shape (n,) and (m,), optional
        Probabilities that a position is against a gap.
    log_partition : float, optional
        The logarithm of the sum of ``exp(unit * score)`` of all alignments.
    unit : float
        What one unit of the score is in nats.
    alternatives : tuple of (ndarray, float)
        Further alignments and their scores, best first.

    Examples
    --------
    >>> aligned = Aligned("MKV", "MV", np.array([(0, 0), (2, 1)]), 5.0)
    >>> aligned.rows, aligned.cigar, round(aligned.identity)
    (('MKV', 'M-V'), '1M1I1M', 100)
    """

    a: str
    b: str
    matches: np.ndarray
    score: float
    name: str = ""
    names: tuple[str, str] = ("a", "b")
    posteriors: np.ndarray | None = None
    gaps_a: np.ndarray | None = None
    gaps_b: np.ndarray | None = None
    log_partition: float | None = None
    unit: float = 1.0
    alternatives: tuple[tuple[np.ndarray, float], ...] = ()

    @property
    def rows(self) -> tuple[str, str]:
        """Both sequences with gaps."""
        return aligned_rows(self.a, self.b, self.matches)

    @property
    def cigar(self) -> str:
        """The CIGAR string, a as the query."""
        return format_cigar(self.matches, len(self.a), len(self.b))

    @property
    def identity(self) -> float:
        """Percentage of matched columns whose letters are equal; NaN without any."""
        same = [self.a[i].upper() == self.b[j].upper() for i, j in self.matches]
        return 100.0 * sum(same) / len(same) if same else float("nan")

    @property
    def confidence(self) -> np.ndarray | None:
        """How probable each column of :attr:`rows` is; None unless posteriors were asked for."""
        if self.posteriors is None:
            return None
        return Columns.of(self.a, self.b, self.matches).confidence(self.posteriors, self.gaps_a, self.gaps_b)

    @property
    def probability(self) -> float | None:
        """Of the alignment as a whole; None unless posteriors were asked for."""
        return (
            None if self.log_partition is None else float(np.exp(self.unit * self.score - self.log_partition))
        )

    def record(self) -> PairRecord:
        """The same for files."""
        return PairRecord(
            SequenceRecord(self.names[0], self.a),
            SequenceRecord(self.names[1], self.b),
            self.matches,
            name=self.name,
            whole=True,
        )

    def to_dict(self, least: float = 1e-2) -> dict[str, Any]:
        """For JSON; of the posteriors of matches those of at least `least` as (i, j, p), from 0."""
        above, below = self.rows
        found: dict[str, Any] = {
            "name": self.name, "a": {"name": self.names[0], "sequence": self.a, "row": above},
            "b": {"name": self.names[1], "sequence": self.b, "row": below}, "score": self.score, "cigar": self.cigar,
            "matches": self.matches.tolist(), "identity": None if np.isnan(self.identity) else self.identity,
        }  # fmt: skip
        confidence = self.confidence
        if confidence is not None and self.posteriors is not None:
            i, j = np.nonzero(self.posteriors >= least)
            found["log_partition"], found["probability"] = self.log_partition, self.probability
            found["confidence"] = [round(value, 6) for value in confidence.tolist()]
            found["match_posteriors"] = [
                [p, q, round(value, 6)]
                for p, q, value in zip(i.tolist(), j.tolist(), self.posteriors[i, j].tolist())
            ]
        if self.alternatives:
            found["alternatives"] = [
                {"cigar": format_cigar(matches, len(self.a), len(self.b)), "score": score}
                for matches, score in self.alternatives
            ]
        return found
