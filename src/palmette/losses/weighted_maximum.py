"""``max_y f(y) + weight D(true, y)`` with one weight per sample, and how sure the maximum is."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from palmette.contracts.structure import Structure


class Weighted(NamedTuple):
    """Outputs, the values found, and proven upper bounds (equal to the values where inference is exact)."""

    codes: np.ndarray
    values: np.ndarray
    bounds: np.ndarray


def per_sample(weight: Any, theta: Any) -> np.ndarray:
    """A weight, or one for each sample, as an array of one for each sample; at least 0."""
    weight = np.broadcast_to(np.asarray(weight, float), (len(theta),))
    if not np.all(weight >= 0.0):
        raise ValueError(f"the weights of a task loss must be at least 0, got {weight.min()}")
    return weight


def sums_by(values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Sums of the values of each sample; those of sample i are ``values[offsets[i]:offsets[i + 1]]``, perhaps none.

    >>> sums_by(np.array([1.0, 2.0, 4.0]), np.array([0, 2, 2, 3]))
    array([3., 0., 4.])
    """
    out, there = np.zeros(len(offsets) - 1), np.diff(offsets) > 0
    if there.any():
        out[there] = np.add.reduceat(values, offsets[:-1][there])
    return out


def weighted_best(
    task_loss: Any, structure: Structure, theta: Any, true: np.ndarray, weight: np.ndarray
) -> Weighted:
    """The weighted maximum of any task loss, with bounds where a structure's inference is not exact.

    A weight of 0 asks for the best output, a weight of 1 for the augmented maximum: losses need not serve others.
    """
    if not structure.exact:
        cost = None
        if np.any(weight):
            cost = task_loss.weighted_cost(structure, theta, true, weight)
        return Weighted(*structure.bounded_best(theta, cost=cost))
    if not np.any(weight):
        found = structure.best(theta)
    elif np.all(weight == 1.0):
        found = task_loss.augmented_best(structure, theta, true)
    else:
        found = task_loss.weighted_best(structure, theta, true, weight)
    return Weighted(found.codes, found.values, found.values)
