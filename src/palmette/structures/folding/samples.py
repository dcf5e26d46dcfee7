"""One sample of a batch, copies of it, and what every answer checks."""

from __future__ import annotations

from typing import Any

import numpy as np

from palmette.errors import InfeasibleError
from palmette.structures.folding.contradiction import repeated
from palmette.structures.folding.restrictions import FoldingRestriction
from palmette.structures.folding.tables import FoldingTables


def one_sample(theta: FoldingTables, cost: Any, within: Any, s: int) -> tuple[FoldingTables, Any, Any]:
    """One sample of everything."""
    if len(theta) == 1:
        return theta, cost, within
    one = np.array([s])
    price = None if cost is None else cost.take(one, theta.offsets)
    return theta.take(one), price, None if within is None else within.take(one, theta.offsets)


def copies_of(theta: FoldingTables, cost: Any, within: Any, times: int) -> tuple[FoldingTables, Any, Any]:
    """One sample of everything so often."""
    same = np.zeros(times, np.int64)
    price = None if cost is None else cost.take(same, theta.offsets)
    limit = FoldingRestriction() if within is None else repeated(within, times)
    return theta.take(same), price, limit


def longest(theta: FoldingTables) -> int:
    """Positions of the longest sample."""
    return int(np.diff(theta.offsets).max(initial=0))


def weights_of(theta: FoldingTables, weight: Any) -> np.ndarray:
    """One weight per sample; 1 by default."""
    if weight is None:
        return np.ones(len(theta))
    weight = np.ascontiguousarray(weight, float)
    if weight.shape != (len(theta),):
        raise ValueError(f"weight has shape {weight.shape}, expected one per sample, {(len(theta),)}")
    return weight


def check_feasible(values: np.ndarray, theta: FoldingTables) -> None:
    """Raise InfeasibleError for the first sample without a structure."""
    bad = np.flatnonzero(~(values > -np.inf))
    if len(bad):
        raise infeasible(int(bad[0]), theta)


def infeasible(sample: int, theta: FoldingTables) -> InfeasibleError:
    """The error for a sample without a structure."""
    n = int(theta.offsets[sample + 1] - theta.offsets[sample])
    return InfeasibleError(
        f"sample {sample} (length {n}): no structure satisfies the restriction; forced pairs must nest, be of letters "
        "that may pair, and leave room for hairpins",
        sample,
    )
