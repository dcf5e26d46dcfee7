"""One sample of a batch, and what every answer checks."""

from __future__ import annotations

from typing import Any

import numpy as np

from palmette.errors import InfeasibleError
from palmette.structures.alignment.tables import AlignmentTables


def one_sample(theta: AlignmentTables, cost: Any, within: Any, s: int) -> tuple[AlignmentTables, Any, Any]:
    """One sample of everything."""
    if len(theta) == 1:
        return theta, cost, within
    one, starts = np.array([s]), theta.starts
    price = None if cost is None else cost.take(one, theta.offsets, starts)
    return theta.take(one), price, None if within is None else within.take(one, theta.offsets, starts)


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
    bad = np.flatnonzero(~(values > -np.inf))
    if len(bad):
        raise infeasible(int(bad[0]), theta)


def infeasible(sample: int, theta: AlignmentTables) -> InfeasibleError:
    """The error for a sample without an alignment."""
    n, m = lengths_of(theta, sample)
    return InfeasibleError(
        f"sample {sample} (lengths {n} and {m}): no alignment satisfies the restriction; forced matches must increase "
        "in both sequences, and every position needs a match or a gap that is allowed",
        sample,
    )
