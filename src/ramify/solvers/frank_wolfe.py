"""Block-coordinate pairwise Frank-Wolfe: the dual of the structured hinge, one sample at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ramify.solvers.active_set import ActiveSet
from ramify.solvers.base import Callback, Result, check_settings
from ramify.solvers.block_ascent import ascend, check_dual, first, restarted
from ramify.solvers.graph_parts import require_bounds, without_tree
from ramify.solvers.hinge_blocks import GenericBlocks, PackedBlocks, is_compiled
from ramify.solvers.marginal_blocks import require_parts
from ramify.solvers.relaxed_blocks import RelaxedBlocks, RelaxedSet


@dataclass(frozen=True)
class FrankWolfe:
    """Maximise the dual of ``sum_i hinge_i(w) + sum_j l2_j/2 w_j^2`` block by block.

    With ``mu_i`` a distribution over the outputs of sample i, the dual is
    ``sum_i weight_i E_mu_i[loss] - sum_j (l2_j / 2) w_j^2``. A visit of sample i finds the augmented best output and
    moves mass to the best active output from the worst one by exact steps; samples with small gaps are visited every
    third epoch only. The gap between objective and dual is exact, computed by a full pass when the sum of the
    block gaps seen in an epoch says that it is worth it, and at least every ``check_every`` epochs. The primal point
    is the better of the present weights and the running mean of those of the last epochs.

    Graphs whose best labels are not known exactly (``Graph`` beyond its ``memory_limit``) have the relaxed dual: the
    active set then holds vertices of the local polytope, perhaps fractional ones, which a linear program finds.

    Parameters
    ----------
    max_iter : int
        Epochs.
    tol : float
        Relative duality gap at which the run stops.
    """

    max_iter: int = 2000
    tol: float = 1e-4
    check_every: int = 10
    random_state: int = 0
    callbacks: Sequence[Callback] = field(default=())

    def __post_init__(self) -> None:
        check_settings(self, positive=("max_iter", "check_every"), not_negative=("tol", "random_state"))

    def solve(self, problem: Any, w0: np.ndarray | None = None, state: dict | None = None) -> Result:
        """Run from the true labelings (``w = 0``), or go on from the ``state`` of an earlier result."""
        check_dual(problem, "frank_wolfe", w0)
        blocks, kind = blocks_of(problem)
        start = first(kind.at_truth(problem)) if state is None else state
        return ascend(self, "frank_wolfe", problem, blocks, start)

    @staticmethod
    def can_restart(state: Any) -> bool:
        """Whether ``state`` is one of this solver's."""
        return isinstance(state, dict) and isinstance(state.get("active"), ActiveSet | RelaxedSet)

    def restart(self, problem: Any, state: dict) -> dict:
        """The dual variables of an earlier run as the start of this one; only the penalty may have changed."""
        blocks, _ = blocks_of(problem)
        return restarted("frank_wolfe", problem, state["active"], blocks)


def blocks_of(problem: Any) -> tuple[Any, Any]:
    """The fastest visits that serve a problem, and the kind of variables they work on."""
    if is_compiled(problem):
        return PackedBlocks(problem), ActiveSet
    require_bounds(problem, "frank_wolfe")
    if without_tree(problem):
        require_parts(problem, "frank_wolfe")
        return RelaxedBlocks(problem), RelaxedSet
    return GenericBlocks(problem), ActiveSet
