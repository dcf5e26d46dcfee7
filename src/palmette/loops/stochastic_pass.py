"""One pass of stochastic steps over the samples: a compiled loop where there is one, a generic one elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Protocol

import numpy as np

from palmette.contracts.problem import SampledProblem
from palmette.errors import MissingCapability
from palmette.executors.choose import require_shared_memory
from palmette.loops.table import Loop, find

VECTORS = ("w", "squares", "drift")
PARALLEL = (None, "sharded", "lock_free")
GATHERED_EDGES = 32  # of the pieces of a sample, at most, for one step on transitions
DTYPES = {"single": np.float32, "double": np.float64}


@dataclass
class PassState:
    """Weights and what goes with them from step to step; plain data, so that a run can be resumed.

    ``drift`` holds ``sum_s age_s change_s``: the average of the weights since the average was restarted is
    ``w - drift / age``, although each step touches only some weights.
    """

    w: np.ndarray
    squares: np.ndarray
    drift: np.ndarray
    rate: float
    decay: float
    adaptive: bool
    dtype: type = np.float64  # of the compiled loops
    n_steps: int = 0
    age: int = 0
    epoch: int = 0

    @classmethod
    def new(
        cls,
        problem: SampledProblem,
        w0: np.ndarray | None,
        *,
        adaptive: bool,
        rate: float = 1.0,
        dtype: type = np.float64,
    ) -> PassState:
        """Start at ``w0`` (zero by default)."""
        w = np.zeros(problem.n_params) if w0 is None else np.array(w0, float)
        return cls(w, np.zeros_like(w), np.zeros_like(w), rate, 0.0, adaptive, dtype)

    def copy(self) -> PassState:
        """An independent copy."""
        arrays = {f.name: getattr(self, f.name).copy() for f in fields(self) if f.name in VECTORS}
        return replace(self, **arrays)

    def restart_average(self) -> None:
        """Average from the current weights on."""
        self.drift[:] = 0.0
        self.age = 0

    def weights(self, averaged: bool) -> np.ndarray:
        """The present or the averaged weights."""
        return self.w - self.drift / self.age if averaged and self.age else self.w.copy()


class Pass(Protocol):
    """A loop of the table for stochastic steps. Both methods change ``state`` but for its counts of steps."""

    def run(self, state: PassState, order: np.ndarray) -> tuple[float, int]:
        """A step on each sample of ``order``: the sum of their values before, and how many called for a step."""

    def run_parallel(self, state: PassState, order: np.ndarray, mode: str) -> tuple[float, int, int]:
        """The same on several threads; and the number of steps that one sequence of them has taken."""


def check_choices(solver: Any) -> None:
    """Refuse a precision or a kind of parallelism that does not exist."""
    for name, choices in (("parallel", PARALLEL), ("precision", tuple(DTYPES))):
        value = getattr(solver, name)
        if value not in choices:
            raise ValueError(f"{type(solver).__name__}: {name} must be one of {choices}, got {value!r}")


def settles(problem: SampledProblem) -> np.ndarray:
    """After which samples transitions take a step, bool (n_samples,): all; of pieces the last one of each sample.

    Under a smooth loss every piece, however short, moves all transitions, and a step with each would cost more than the
    rest. So they wait for the pieces of a sample, or for ``GATHERED_EDGES``. Under others pieces count as samples.
    """
    sample = problem.sample_of_piece
    if sample is None or not problem.smooth:
        return np.ones(problem.n_samples, bool)
    return np.diff(sample, append=-1) != 0


def stochastic_pass(
    problem: SampledProblem, state: PassState, order: np.ndarray, parallel: str | None = None
) -> tuple[float, int]:
    """Take one step on each sample of ``order``, where the samples are.

    Returns the sum of the samples' values, each before its step, and the number of samples that called for one.
    """
    if parallel == "lock_free":
        require_shared_memory(problem.executor, "parallel='lock_free'", "use parallel='sharded'")
    after, value, n_updates = problem.in_sequence(pass_here, state, np.asarray(order, np.int64), parallel)
    vars(state).update(vars(after))
    return value, n_updates


def pass_here(
    problem: SampledProblem, _: Any, state: PassState, order: np.ndarray, parallel: str | None
) -> tuple[PassState, float, int]:
    """One step on each sample of ``order``: where they lead, the sum of values and the number of steps taken."""
    loop: Pass = (find("stochastic", problem) or GenericPass)(problem)
    state, n_steps = state.copy(), len(order)
    if parallel is None:
        value, n_updates = loop.run(state, order)
    else:
        value, n_updates, n_steps = loop.run_parallel(state, order, parallel)
    state.n_steps += n_steps
    state.age += n_steps
    return state, value, n_updates


class GenericPass(Loop):
    """Steps through one-sample shards, for problems without a compiled loop.

    Transitions take a step where that :func:`settles`, when ``GATHERED_EDGES`` have come since their last one, and at
    the end, with the sum of the gradients. A scorer says by ``transitions`` which weights these are.
    """

    def run_parallel(self, state: PassState, order: np.ndarray, mode: str) -> tuple[float, int, int]:
        """Refused: the interpreter runs one step at a time."""
        raise MissingCapability(
            f"parallel={mode!r} needs the compiled loop, which {type(self.problem.structure).__name__} with these "
            "features does not have: use parallel=None"
        )

    def _touches(self) -> np.ndarray:
        """For every weight the number of samples that touch it."""
        problem, count = self.problem, np.zeros(self.problem.n_params)
        for i in range(problem.n_samples):
            count[problem.scorer.touched(problem.samples.batch.slice(i, i + 1))] += 1
        return count

    def run(self, state: PassState, order: np.ndarray) -> tuple[float, int]:
        """A step on each sample of ``order``: the sum of their values before, and how many called for a step."""
        problem = self.problem
        total, n_updates = 0.0, 0
        l2, l1 = problem.regularizer.l2, problem.regularizer.l1
        penalised = bool(l2.any() or l1.any())
        # only penalties are shared out
        touch_count = self._touches() if penalised else np.ones(problem.n_params)
        gradient = np.zeros(problem.n_params)
        settled = settles(problem)
        gathering = not settled.all() and hasattr(problem.scorer, "transitions")
        n_edges, n_gathered = 0, 0
        for turn, i in enumerate(order):
            value, counts, batch = problem.sample_loss(int(i), state.w)
            total += problem.samples.weight[i] * value
            problem.scorer.pull_back(counts, batch, gradient)
            n_updates += counts.any()
            at = problem.scorer.touched(batch)
            share = 1.0 / touch_count[at]
            if gathering:
                gathered = problem.scorer.transitions(at)
                n_edges, n_gathered = n_edges + batch.n_rows - 1, n_gathered + 1
                if settled[i] or n_edges >= GATHERED_EDGES or turn == len(order) - 1:
                    share[gathered] *= n_gathered
                    n_edges, n_gathered = 0, 0
                else:
                    at, share = at[~gathered], share[~gathered]
            step = gradient[at] + share * l2[at] * state.w[at]
            gradient[at] = 0.0
            pace = np.full(len(at), state.rate / (1.0 + state.decay * (state.n_steps + turn)))
            if state.adaptive:
                state.squares[at] += step * step
                pace = np.divide(
                    pace, np.sqrt(state.squares[at]), out=np.zeros_like(pace), where=state.squares[at] > 0
                )
            fresh = state.w[at] - pace * step
            fresh = np.sign(fresh) * np.maximum(np.abs(fresh) - pace * share * l1[at], 0.0)
            state.drift[at] += (state.age + turn) * (fresh - state.w[at])
            state.w[at] = fresh
        return total, n_updates
