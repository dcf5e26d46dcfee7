"""Rescaled maxima by dynamic programming over the levels of a loss whose costs are multiples of a unit.

The best score at every loss follows from a table that is as many times larger than that of the best output as there are
levels: exact for any rescaling. Small batches go this way at once; of others only what a parametric search leaves open.
"""

from __future__ import annotations

import numpy as np

from palmette.losses.rescaled_query import Question, RescaledBest
from palmette.losses.worth_under_line import spread_of

LARGEST_TABLE = 2**23  # numbers of the table of one sample
AT_ONCE = 3e6  # steps of a batch that take less time than a search


def levels_at_once(asked: Question) -> RescaledBest | None:
    """The rescaled maxima of a small batch, or None where the levels would take longer than a search."""
    if asked.task_loss.way != "parts" or not asked.structure.can("best_by_level"):
        return None
    largest = asked.task_loss.largest(asked.structure, asked.theta, asked.true)
    unit = spread_of(asked.task_loss, largest).unit
    if unit is None:
        return None
    top = np.floor(largest / unit + 0.5).astype(np.int64)
    sizes = table_sizes(asked, np.arange(len(asked)), top)
    if sizes.sum() * asked.structure.level_costs(asked.theta)[1] > AT_ONCE or sizes.max() > LARGEST_TABLE:
        return None
    return best_of_levels(asked, unit, top)


def table_sizes(asked: Question, samples: np.ndarray, top: np.ndarray) -> np.ndarray:
    """Numbers in the tables of some samples, given the highest level of each."""
    return asked.structure.level_costs(asked.theta)[0][samples] * (top + 1.0)


def best_of_levels(asked: Question, unit: float, top: np.ndarray) -> RescaledBest:
    """The rescaled maxima among the outputs whose loss is at most ``top`` units."""
    losses = np.arange(top.max() + 1) * unit
    steps = np.rint(asked.task_loss.table[asked.true] / unit).astype(np.int64)
    codes, level, values = asked.structure.best_by_level(
        asked.theta, steps, top, asked.rescaling.gamma(losses), asked.margin * losses, asked.truth
    )
    return RescaledBest(codes, values, level * unit, values)
