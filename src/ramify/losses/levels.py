"""Rescaled maxima by dynamic programming over the levels of a loss whose costs are multiples of a unit.

The best score at every loss follows from a table that is as many times larger than that of the best output as there are
levels: exact for any rescaling. Small batches go this way at once; of others only what a parametric search leaves open.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ramify.losses.rescaling import RescaledBest
from ramify.losses.trade_off import spread_of

LARGEST_TABLE = 2**23  # numbers of the table of one sample
AT_ONCE = 3e6  # steps of a batch that take less time than a search


def levels_at_once(
    task_loss: Any,
    structure: Any,
    theta: Any,
    true: np.ndarray,
    truth: np.ndarray,
    rescaling: Any,
    margin: bool,
) -> RescaledBest | None:
    """The rescaled maxima of a small batch, or None where the levels would take longer than a search."""
    if task_loss.way != "parts" or not hasattr(structure, "best_by_level"):
        return None
    largest = task_loss.largest(structure, theta, true)
    unit = spread_of(task_loss, largest).unit
    if unit is None:
        return None
    top = np.floor(largest / unit + 0.5).astype(np.int64)
    sizes = table_sizes(theta, np.arange(len(theta)), top)
    width = theta.n_labels + getattr(theta, "max_length", 0)
    if sizes.sum() * width > AT_ONCE or sizes.max() > LARGEST_TABLE:
        return None
    return best_of_levels(task_loss, structure, theta, true, truth, rescaling, margin, unit, top)


def table_sizes(theta: Any, samples: np.ndarray, top: np.ndarray) -> np.ndarray:
    """Numbers in the tables of some samples, given the highest level of each."""
    states = theta.n_labels if theta.triple is None else theta.n_labels**2
    return np.diff(theta.offsets)[samples] * (top + 1.0) * states


def best_of_levels(
    task_loss: Any, structure: Any, theta: Any, true: np.ndarray, truth: np.ndarray, rescaling: Any,
    margin: bool, unit: float, top: np.ndarray,
) -> RescaledBest:  # fmt: skip
    """The rescaled maxima among the outputs whose loss is at most ``top`` units."""
    losses = np.arange(top.max() + 1) * unit
    steps = np.rint(task_loss.table[true] / unit).astype(np.int64)
    codes, level, values = structure.best_by_level(
        theta, steps, top, rescaling.gamma(losses), margin * losses, truth
    )
    return RescaledBest(codes, values, level * unit, values)
