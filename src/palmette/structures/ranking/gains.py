"""What documents gain at ranks under a cost and a restriction, and the rankings that gain most."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np

from palmette.structures.ranking.search import assignments, merged, restricted_rankings
from palmette.structures.ranking.tables import RankingTables


def sort_keys(theta: RankingTables, cost: Any, within: Any, position: np.ndarray) -> np.ndarray | None:
    """Keys by which sorting maximises, or None if it takes an assignment."""
    if within is not None:
        return None
    if cost is None:
        return theta.node
    if cost.table is not None:
        return None
    if cost.gain is None or not len(position):
        return theta.node
    ratio = float(cost.discount[0] / position[0])
    return theta.node + ratio * cost.gain if is_proportional(cost.discount, position) else None


def is_proportional(discount: np.ndarray, position: np.ndarray) -> bool:
    """Whether the first ranks of ``discount`` are ``position`` times a number, but for rounding."""
    scaled = position * (discount[0] / position[0])
    return bool(np.all(np.abs(discount[: len(position)] - scaled) <= 1e-14 * abs(discount[0])))


def gains(theta: Any, cost: Any, within: Any, position: Any, lo: Any, hi: Any, sign: Any) -> np.ndarray:
    """What each document adds at each rank, documents by ranks; -inf where it may not stand."""
    gain = np.multiply.outer(theta.node[lo:hi], position[: hi - lo])
    if cost is not None:
        gain += cost.of(lo, hi)
    gain *= sign
    if within is not None and within.allowed is not None:
        gain[~within.allowed[lo:hi, : hi - lo]] = -np.inf
    return gain


def ranked(
    theta: Any, cost: Any, within: Any, position: Any, lo: Any, hi: Any, sign: Any, k: Any
) -> list[tuple[np.ndarray, float]]:
    """The k best rankings of the query with the rows ``lo:hi`` under a cost and a restriction."""
    score = theta.node[lo:hi]
    plain = within is not None and within.allowed is None and within.contradicts is None
    if k == 1 and sign > 0 and cost is None and plain:
        return [merged(score, within.agrees[lo:hi], position)]
    gain = gains(theta, cost, within, position, lo, hi, sign)
    if within is not None and not (within.agrees is None and within.contradicts is None):
        agrees, contradicts = (
            None if own is None else own[lo:hi] for own in (within.agrees, within.contradicts)
        )
        return restricted_rankings(gain, score, agrees, contradicts, k)
    return list(islice(assignments(gain, score, k), k))
