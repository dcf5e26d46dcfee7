"""Rankings for ``palmette warmup``: every kernel of theirs once."""

from __future__ import annotations

import numpy as np

from palmette import SSVM, Ranking
from palmette.structures import RankingCost, RankingTables


def run_rankings() -> None:
    """Answers by sorting and by assignment, and losses by merging."""
    X, y = [np.eye(4)], [[2, 1, 1, 0]]
    SSVM(Ranking(), tol=0.1, l2=0.01, n_jobs=1).fit(X, y).predict(X)
    theta = RankingTables(np.arange(3.0), np.array([0, 3]))
    Ranking().k_best(theta, 2, cost=RankingCost(table=np.eye(3)))
