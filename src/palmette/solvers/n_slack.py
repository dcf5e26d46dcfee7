"""The n-slack cutting-plane algorithm for structured SVMs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from palmette.contracts.structure import require
from palmette.errors import MissingCapability
from palmette.objectives.problem import (
    require_convex,
    require_no_l1,
    require_penalised,
    require_separable,
    require_whole,
)
from palmette.registry import register
from palmette.solvers.base import Result
from palmette.solvers.block_ascent import Best, BlockAscent, ascend, better
from palmette.solvers.working_set import WorkingSet, WorkingSetBlocks


@register("solver")
@dataclass(frozen=True)
class NSlack(BlockAscent):
    """Minimise ``sum_i slack_i + sum_j (l2_j / 2) w_j^2`` with a working set of constraints for each sample.

    After Tsochantaridis, Joachims, Hofmann and Altun (2005): a visit of sample i finds its most violated constraint,
    ``slack_i >= loss + <counts of the rival - true counts, w>``, and adds it to the working set of i if it asks for
    more than those there do, by a share of what samples lacked in the epoch before. The dual over the working set of i
    is improved at once, that over all working sets after each epoch, by exact exchanges of mass between two constraints
    of a sample; constraints without mass for 10 epochs are dropped. Any convex loss has such constraints: the cuts of
    the single losses.

    The gap between objective and dual is exact, computed by full passes when the violations met in an epoch say that
    it is worth it, and at least every ``check_every`` epochs. Samples with small gaps are visited every third epoch
    only. It needs the fewest oracle calls of all solvers, and memory for all constraints: it is for structures whose
    maximum is expensive.

    Parameters
    ----------
    max_iter : int
        Epochs.
    tol : float
        Relative duality gap at which the run stops.

    Examples
    --------
    >>> from palmette import SSVM, Multiclass
    >>> X, y = [[0.0, 1.0], [1.0, 1.0], [1.0, 0.0]], ["a", "a", "b"]
    >>> SSVM(Multiclass(), solver="n_slack").fit(X, y).result_.reason
    'gap'
    """

    name = "n_slack"

    def blocks_of(self, problem: Any) -> WorkingSetBlocks:
        """The visits of samples."""
        return WorkingSetBlocks(problem)

    def solve(self, problem: Any, w0: np.ndarray | None = None, state: dict | None = None) -> Result:
        """Run from ``w = 0``, or go on from the ``state`` of an earlier result."""
        self._check(problem, w0)
        blocks = WorkingSetBlocks(problem)
        if state is None:
            zero = WorkingSet.at_truth(problem)
            zero.n_oracle = 1.0
            best = better(problem, blocks, zero.w.copy(), Best(zero.w, np.inf, 0.0))
            state = {"active": zero, "history": (), "best": best}
        return ascend(self, self.name, problem, blocks, state)

    def _check(self, problem: Any, w0: np.ndarray | None) -> None:
        require(problem, ("sample_loss",), user=self.name, remedy="Use solver='one_slack' or 'bundle'.")
        for refuse in (require_convex, require_separable, require_whole, require_no_l1, require_penalised):
            refuse(problem, self.name)
        if w0 is not None and np.any(w0):
            raise MissingCapability(
                f"{self.name} cannot start from given weights, only from the state of an earlier result; use "
                "solver='bundle', 'one_slack' or 'subgradient' for that"
            )
