"""The averaged perceptron."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from palmette.contracts.solver import Progress
from palmette.loops.stochastic_pass import DTYPES, PassState, check_choices, stochastic_pass
from palmette.registry import register
from palmette.solvers.driver import Seeded
from palmette.solvers.online import PassRun


@register("solver")
@dataclass(frozen=True)
class AveragedPerceptron(Seeded):
    """Add the true counts and subtract the predicted ones, sample by sample; return the average of all weights.

    There is no objective with a minimum to certify, so ``result.gap`` is NaN. The run stops after an epoch without
    a mistake, when the loss of an epoch changes by less than ``tol`` relative to the one before, or after
    ``max_iter`` epochs. ``primal`` in the history is the perceptron loss met during the epoch.

    With a :class:`~palmette.regularizers.Decomposition` each epoch visits random pieces of the samples.

    Parameters
    ----------
    max_iter : int
        Epochs.
    tol : float
        Relative change of an epoch's loss at which the run stops.
    parallel : {None, "sharded", "lock_free"}
        None visits one sample after the other. "sharded": four parts of the samples at a time, whose weights are
        averaged after each epoch; the result does not depend on the number of threads. "lock_free": all threads change
        the same weights without waiting for each other: fastest, and **not reproducible**.
    precision : {"single", "double"}
        Of the compiled loop.
    """

    max_iter: int = 10
    tol: float = 0.0
    parallel: str | None = None
    precision: str = "single"

    name: ClassVar[str] = "perceptron"
    needs: ClassVar = ("mistakes",)
    quiet: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choices(self)

    def begin(self, problem: Any, w0: np.ndarray | None) -> PassRun[PassState]:
        """The state of a new run."""
        return PassRun.of(PassState.new(problem, w0, adaptive=False, dtype=DTYPES[self.precision]))

    def step(self, problem: Any, run: PassRun[PassState], last: int) -> Progress:
        """An epoch."""
        pieces = problem.cut_anew(self.random_state, run.n_iter)
        order = pieces.visits(np.random.default_rng([self.random_state, run.n_iter]))
        loss, mistakes = stochastic_pass(pieces, run.state, order, self.parallel)
        run.count()
        previous = run.history[-1].primal if run.history else np.inf
        same = "relative change over 1 epoch" if abs(previous - loss) < self.tol * abs(loss) else ""
        return Progress(loss, -np.inf, estimate="no mistakes" if mistakes == 0 else same)

    def weights(self, problem: Any, run: PassRun[PassState]) -> np.ndarray:
        """The average of the weights of all steps."""
        return run.state.weights(True)
