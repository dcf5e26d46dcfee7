"""The averaged perceptron."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from palmette.errors import MissingCapability
from palmette.loops.stochastic_pass import DTYPES, PassState, check_choices, stochastic_pass
from palmette.solvers.base import Callback, Recorder, Result, check_settings
from palmette.surrogates.perceptron import PerceptronLoss


@dataclass(frozen=True)
class AveragedPerceptron:
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
    random_state: int = 0
    callbacks: Sequence[Callback] = field(default=())

    def __post_init__(self) -> None:
        check_settings(self, positive=("max_iter",), not_negative=("tol", "random_state"))
        check_choices(self)

    def solve(self, problem: Any, w0: np.ndarray | None = None, state: dict | None = None) -> Result:
        """Run on ``problem`` from ``w0``, or go on from the ``state`` of an earlier result."""
        if not isinstance(problem.surrogate, PerceptronLoss):
            raise MissingCapability(
                f"the perceptron solver minimises the perceptron loss only, not {type(problem.surrogate).__name__}: "
                "use the Perceptron learner, or solver='stochastic'"
            )
        if state is None:
            current = PassState.new(problem, w0, adaptive=False, dtype=DTYPES[self.precision])
        else:
            current = state["pass"].copy()
        recorder = Recorder(self.callbacks, () if state is None else state["history"])
        reason = "max_iter"
        for _ in range(self.max_iter):
            pieces = problem.cut_anew(self.random_state, current.epoch)
            order = np.random.default_rng([self.random_state, current.epoch]).permutation(pieces.n_samples)
            loss, mistakes = stochastic_pass(pieces, current, order, self.parallel)
            current.epoch += 1
            previous = recorder.history[-1].primal if recorder.history else np.inf
            if recorder.record(current.epoch, current.epoch, loss, -np.inf, lambda: current.weights(True)):
                reason = "callback"
            elif mistakes == 0:
                reason = "no mistakes"
            elif abs(previous - loss) < self.tol * abs(loss):
                reason = "relative change over 1 epoch"
            if reason != "max_iter":
                break
        history = tuple(recorder.history)
        converged = reason not in ("max_iter", "callback")
        return Result(
            current.weights(True),
            history[-1],
            history,
            converged,
            reason,
            {"pass": current, "history": history},
        )
