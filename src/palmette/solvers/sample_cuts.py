"""Cuts of every sample's loss, a pass at a time: for the rounds of the concave-convex procedure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from palmette.contracts.solver import Progress
from palmette.solvers.block_ascent import Ascent, Best, Work, dual_value
from palmette.solvers.n_slack import NSlack

CAUTION = 0.5  # of the way from the best point to the minimiser of the cuts
TURNS = 10  # at most, of steps over all masses after a pass ...
LITTLE = 0.02  # ... or until they raise the bound by less than this share of the gap


@dataclass(frozen=True)
class SampleCuts(NSlack):
    """The bundle method with cuts of single samples instead of one cut of their sum.

    A pass at a point gives the objective there and a cut of the loss of every sample, so that none is spent on looking
    at the objective alone. Cuts are kept as the constraints of :class:`NSlack`, whose masses are improved without the
    oracle. The next point is half way from the best one to the minimiser of the cuts. Maxima must be exact.
    """

    name: ClassVar[str] = "sample_cuts"

    def step(self, work: Work, run: Ascent, last: int) -> Progress:
        """A pass, and the masses of all cuts."""
        state, best = run.active, run.best
        here = best.w + CAUTION * (state.w - best.w) if np.isfinite(best.found) else state.w.copy()
        state.w = here.copy()
        value = work.blocks.change("meet", state) + work.problem.regularizer.value(here)
        value -= 0.0 if work.slope is None else float(work.slope @ here)
        if value < best.found:
            best = best._replace(w=here, found=value)
        state.epoch += 1
        state.n_oracle += 1.0
        run.best = best._replace(lower=max(best.lower, self._raised(work, run, best)))
        run.count()
        closed = run.best.primal - run.best.lower <= self.tol * abs(run.best.primal)
        return Progress(run.best.primal, run.best.lower, checked=closed)

    def _raised(self, work: Work, run: Ascent, best: Best) -> float:
        """The bound that the cuts prove, after steps over their masses."""
        state = run.active
        work.refresh(state)
        bound = -np.inf
        for _ in range(TURNS):
            work.blocks.visit(state, np.empty(0, np.int64))
            before, bound = bound, dual_value(work.problem, state)
            if bound - before <= LITTLE * (best.primal - bound):
                break
        return bound
