"""The n-slack cutting-plane algorithm for structured SVMs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from palmette.contracts.problem import SampledProblem
from palmette.loops.block_state import BlockState
from palmette.registry import register
from palmette.solvers.block_ascent import Ascent, Best, BlockAscent, Work
from palmette.solvers.working_set import WorkingSetBlocks


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

    name: ClassVar[str] = "n_slack"
    needs: ClassVar = ("samples", "convex", "separable", "whole", "no_l1", "l2")

    def blocks_of(self, problem: SampledProblem) -> WorkingSetBlocks:
        """The visits of samples."""
        return WorkingSetBlocks(problem)

    def begin(self, work: Work, w0: np.ndarray | None) -> Ascent:
        """No constraint; the objective of the first weights is looked at, and no loss is negative."""
        run = super().begin(work, w0)
        run.best = work.better(run.best.w, run.best._replace(lower=0.0))
        run.active.n_oracle = 1.0
        return run

    def restart(self, problem: Any, state: Ascent, targets: np.ndarray | None = None) -> Ascent:
        """The constraints of an earlier run, with the masses that suit the new penalty or linear term best.

        They say what the losses are at least, which neither changes; to find the masses takes no oracle call.
        """
        run = super().restart(problem, state, targets)
        work = self.prepare(problem)
        return self._balanced(work, work.blocks.place(run.active))

    def started(self, problem: Any, w: np.ndarray) -> Ascent:
        """A run that begins with the constraints that are met at ``w``, which takes one pass."""
        work = self.prepare(problem)
        active = work.blocks.begin()
        active.w = w.copy()
        value = work.blocks.change("meet", active) + problem.regularizer.value(w)
        work.refresh(active)
        run = self._balanced(work, active)
        slope = 0.0 if work.slope is None else float(work.slope @ w)
        run.best, run.active.n_oracle = Best(w.copy(), value - slope, 0.0), 1.0
        return run

    def visited(self, problem: Any, concave: Any, order: np.ndarray) -> tuple[Ascent, np.ndarray]:
        """A run that begins with a visit of each sample, at which the tangent of a concave part is taken for it.

        Tangents are taken at different weights: at first at zero, where they say little. So the mean of the weights is
        the best point. Also returns the outputs that the tangents prefer. It takes two passes.
        """
        work = self.prepare(problem)
        active = work.blocks.begin()
        mean, outputs = work.blocks.change("meet_tangents", active, concave, order, problem.samples.codes)
        run = Ascent.of(work.blocks.collect(active))
        run.best = run.best._replace(w=mean)
        return run, outputs

    def _balanced(self, work: Work, active: BlockState) -> Ascent:
        """A run with the best masses of the constraints that there are; no sample is visited."""
        work.blocks.visit(active, np.empty(0, np.int64))
        active.restart()
        return Ascent.of(work.blocks.collect(active))
