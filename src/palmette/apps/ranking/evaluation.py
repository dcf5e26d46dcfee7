"""How good rankings of queries are, in the measures of LETOR."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from palmette.metrics import mean_average_precision, ndcg, precision_at, reciprocal_rank

CUTS = tuple(range(1, 11))


@dataclass(frozen=True)
class RankingEvaluation:
    """Measures of all queries; means are over queries, those without relevant documents included (with 0).

    Parameters
    ----------
    ndcg, precision : ndarray of shape (n_queries, 10)
        At ranks 1 to 10.
    average_precision, reciprocal_rank : ndarray of shape (n_queries,)
    documents : int

    Examples
    --------
    >>> evaluation = evaluate_scores([[0, 2, 1], [1, 0]], [[0.1, 0.3, 0.2], [1.0, 2.0]])
    >>> print(evaluation.format())
           @1      @2      @3      @4      @5      @6      @7      @8      @9      @10
    NDCG   0.5000  1.0000  1.0000  1.0000  1.0000  1.0000  1.0000  1.0000  1.0000  1.0000
    P      0.5000  0.7500  0.5000  0.3750  0.3000  0.2500  0.2143  0.1875  0.1667  0.1500
    MAP 0.7500, reciprocal rank 0.7500; 2 queries, 5 documents
    """

    ndcg: np.ndarray
    precision: np.ndarray
    average_precision: np.ndarray
    reciprocal_rank: np.ndarray
    documents: int

    def to_dict(self) -> dict[str, Any]:
        """Keys queries, documents, ndcg and precision (by rank), map, reciprocal_rank."""
        return {
            "queries": len(self.ndcg),
            "documents": self.documents,
            "ndcg": dict(zip(map(str, CUTS), self.ndcg.mean(axis=0).tolist())),
            "precision": dict(zip(map(str, CUTS), self.precision.mean(axis=0).tolist())),
            "map": float(self.average_precision.mean()),
            "reciprocal_rank": float(self.reciprocal_rank.mean()),
        }

    def format(self) -> str:
        """Write a table of NDCG and precision by rank, and the other means."""
        rows = [["", *(f"@{k}" for k in CUTS)]]
        for name, values in (("NDCG", self.ndcg), ("P", self.precision)):
            rows.append([name, *(f"{value:.4f}" for value in values.mean(axis=0))])
        lines = ["  ".join([row[0].ljust(5), *(cell.ljust(6) for cell in row[1:])]).rstrip() for row in rows]
        facts = self.to_dict()
        last = (
            f"MAP {facts['map']:.4f}, reciprocal rank {facts['reciprocal_rank']:.4f}; {facts['queries']:,} queries, "
            f"{facts['documents']:,} documents"
        )
        return "\n".join([*lines, last])

    def headline(self) -> str:
        """The figures in a few words."""
        return f"NDCG@10 {self.ndcg[:, -1].mean():.4f}, MAP {self.average_precision.mean():.4f}"


def evaluate_scores(y: Sequence[Any], scores: Sequence[Any], ties: Any = "average") -> RankingEvaluation:
    """Compare scores of documents with their grades; equal scores count as the mean of all their orders."""
    cuts, options = list(CUTS), {"ties": ties, "per_query": True}
    return RankingEvaluation(
        ndcg(y, scores, cuts, **options),
        precision_at(y, scores, cuts, **options),
        mean_average_precision(y, scores, **options),
        reciprocal_rank(y, scores, **options),
        sum(map(len, y)),
    )
