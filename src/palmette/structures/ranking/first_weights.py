"""Where the ramp loss of rankings starts: weights that put documents of high grades first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from palmette.executors.shards import blocks
from palmette.structures.ranking.codec import grades_of
from palmette.structures.ranking.tables import RankingTables

if TYPE_CHECKING:
    from palmette.structures.ranking.ranking import Ranking


def first_weights(structure: Ranking, scorer: Any, samples: Any) -> np.ndarray:
    """Features of the best minus those of the worst ranking, their mean over queries.

    Documents of equal grade share the mean weight of their ranks, so that their given order does not matter.
    """
    out = np.zeros(scorer.n_params)
    for some in (samples.slice(a, b) for a, b in blocks(samples.batch)):
        offsets, grades = some.batch.offsets, grades_of(some.codes)
        counts = np.zeros(len(grades))
        for lo, hi, weight in zip(offsets[:-1], offsets[1:], some.weight):
            own = grades[lo:hi]
            position = structure.weights(int(hi - lo))
            _, group, size = np.unique(own, return_inverse=True, return_counts=True)
            for turn, falls in ((1.0, True), (-1.0, False)):
                order = np.argsort(-own if falls else own, kind="stable")
                total = np.bincount(group[order], position)
                counts[lo:hi] += turn * weight * (total / size)[group]
        scorer.pull_back(RankingTables(counts, offsets), some.batch, out)
    return out / samples.weight.sum()
