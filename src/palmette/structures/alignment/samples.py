"""One sample of a batch, and what every answer checks."""

from __future__ import annotations

from typing import Any

import numpy as np

from palmette.data.ragged import gather
from palmette.errors import InfeasibleError
from palmette.structures.alignment.tables import AlignmentTables, boundaries_of


def one_sample(theta: AlignmentTables, cost: Any, within: Any, s: int) -> tuple[AlignmentTables, Any, Any]:
    """One sample of everything."""
    return some_samples(theta, cost, within, np.array([s])) if len(theta) > 1 else (theta, cost, within)


def some_samples(
    theta: AlignmentTables, cost: Any, within: Any, samples: np.ndarray
) -> tuple[AlignmentTables, Any, Any]:
    """The samples of these numbers of everything."""
    at = samples, theta.offsets, theta.starts
    return (
        theta.take(samples),
        None if cost is None else cost.take(*at),
        None if within is None else within.take(*at),
    )


def add_samples(to: AlignmentTables, samples: np.ndarray, counts: AlignmentTables) -> None:
    """Add counts of some samples of a batch to those of all."""
    rows = gather(to.offsets, samples)[0]
    boundaries = gather(boundaries_of(to.offsets), samples)[0]
    to.substitution[...] += counts.substitution
    to.unit[:, rows] += counts.unit
    to.open[:, boundaries] += counts.open
    to.extend[:, boundaries] += counts.extend
    to.change[...] += counts.change
    if to.cells is not None and counts.cells is not None and len(to.cells):
        to.cells[gather(to.starts, samples)[0]] += counts.cells


def lengths_of(theta: AlignmentTables, s: int) -> tuple[int, int]:
    """Positions of both sequences of a sample."""
    n = int(theta.splits[s])
    return n, int(theta.offsets[s + 1] - theta.offsets[s]) - n


def weights_of(theta: AlignmentTables, weight: Any) -> np.ndarray:
    """One weight per sample; 1 by default."""
    if weight is None:
        return np.ones(len(theta))
    weight = np.ascontiguousarray(weight, float)
    if weight.shape != (len(theta),):
        raise ValueError(f"weight has shape {weight.shape}, expected one per sample, {(len(theta),)}")
    return weight


def check_feasible(values: np.ndarray, theta: AlignmentTables) -> None:
    """Raise InfeasibleError for the first sample without an alignment."""
    if len(values) and not values.min() > -np.inf:
        raise infeasible(int(np.flatnonzero(~(values > -np.inf))[0]), theta)


def infeasible(sample: int, theta: AlignmentTables) -> InfeasibleError:
    """The error for a sample without an alignment."""
    n, m = lengths_of(theta, sample)
    return InfeasibleError(
        f"sample {sample} (lengths {n} and {m}): no alignment satisfies the restriction; forced matches must increase "
        "in both sequences, and every position needs a match or a gap that is allowed",
        sample,
    )
