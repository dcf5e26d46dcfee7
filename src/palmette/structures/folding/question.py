"""What is asked of a batch, as kernels read it: potentials with costs inside, and what is allowed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.structures.folding.restrictions import FoldingRestriction
from palmette.structures.folding.tables import FoldingTables, PairCost


class Question(NamedTuple):
    """The first arguments of every kernel, in their order.

    ``dense``, ``mask`` and ``partner`` are empty where they do not matter.
    """

    tables: np.ndarray  # float64 (2577,)
    letters: np.ndarray  # int8 (n_positions,)
    offsets: np.ndarray  # int64 (n_samples + 1,)
    unpaired: np.ndarray  # float64 (n_positions,): evidence and cost; -inf where a position must be paired
    uniform: np.ndarray  # float64 (n_samples,): added to every pair
    entry_ptr: np.ndarray  # int64 (n_samples + 1,)
    entry: np.ndarray  # int64: single pairs i * n + j
    value: np.ndarray  # float64: added to them
    dense: np.ndarray  # float64 squares: added to the pairs
    mask: np.ndarray  # bool squares: pairs that may be
    partner: np.ndarray  # int32 (n_positions,): -1 any, 0 none, j + 1
    squares: np.ndarray  # int64 (n_samples + 1,)
    can_pair: np.ndarray  # bool (5, 5): letters that may pair
    min_hairpin: int
    max_interior: int


def ask(
    theta: FoldingTables,
    cost: PairCost | None,
    within: FoldingRestriction | None,
    can_pair: np.ndarray,
    min_hairpin: int,
    max_interior: int,
    sign: float = 1.0,
) -> Question:
    """``sign * (theta + cost)`` within a restriction (but for ``contradicts``), checked."""
    theta.check()
    n, n_samples = len(theta.letters), len(theta)
    if cost is None:
        cost = PairCost.none(theta.offsets)
    elif not isinstance(cost, PairCost):
        raise TypeError(f"cost must be a PairCost, got {type(cost).__name__}")
    else:
        cost.check(theta)
    unpaired = sign * (theta.unpaired + cost.unpaired)
    mask, partner = np.empty(0, bool), np.empty(0, np.int32)
    if within is not None:
        if not isinstance(within, FoldingRestriction):
            raise TypeError(f"within must be a FoldingRestriction, got {type(within).__name__}")
        within.check(theta)
        if within.unpaired is not None:
            unpaired[~within.unpaired] = -np.inf
        if within.partner is not None and n:
            partner = within.partner
            unpaired[partner > 0] = -np.inf
        if within.pairs is not None and n:
            mask = within.pairs
    dense = np.empty(0)
    if theta.pair_scores is not None:
        dense = theta.pair_scores if cost.dense is None else theta.pair_scores + cost.dense
    elif cost.dense is not None:
        dense = cost.dense
    scores = (theta.tables, cost.uniform, cost.value, dense)
    tables, uniform, value, dense = scores if sign == 1.0 else (sign * own for own in scores)
    return Question(
        tables, theta.letters, theta.offsets, unpaired, uniform, cost.entry_ptr, cost.entry, value, dense, mask,
        partner, theta.squares if len(dense) or len(mask) else np.zeros(n_samples + 1, np.int64), can_pair,
        int(min_hairpin), int(max_interior),
    )  # fmt: skip
