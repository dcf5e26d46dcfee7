"""One pass of a mistake-driven learner: a compiled loop where there is one, a generic one elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from palmette._kernels.constants import AROW, PERCEPTRON
from palmette.contracts.problem import SampledProblem
from palmette.loops.table import Loop, find


@dataclass
class OnlineState:
    """Weights and what goes with them from step to step; plain data, so that a run can be resumed.

    The weights before the first step and after each of the steps 1, ..., age - 1 average to ``w - drift / age``.
    """

    w: np.ndarray
    drift: np.ndarray  # sum of (the step's number) x (its change of the weights)
    variance: np.ndarray  # per weight, for AROW; empty for the others
    age: int = 1
    epoch: int = 0

    def copy(self) -> OnlineState:
        """An independent copy."""
        return replace(self, w=self.w.copy(), drift=self.drift.copy(), variance=self.variance.copy())

    def weights(self, averaged: bool) -> np.ndarray:
        """The averaged or the current weights."""
        return self.w - self.drift / self.age if averaged else self.w.copy()


class OnlineLoop(Protocol):
    """A loop of the table for mistake-driven learners; it changes ``state`` but for its age."""

    def run(
        self, state: OnlineState, order: np.ndarray, rule: int, strength: float, root_cost: bool
    ) -> tuple[float, int]:
        """Visit each sample of ``order``: the sum of the losses and the number of wrong predictions."""


def online_pass(
    problem: SampledProblem,
    state: OnlineState,
    order: np.ndarray,
    rule: int,
    strength: float,
    root_cost: bool,
) -> tuple[float, int]:
    """Visit each sample of ``order``: the sum of the losses and the number of wrong predictions."""
    settings = rule, float(strength), bool(root_cost)
    after, *found = problem.in_sequence(pass_here, state, np.asarray(order, np.int64), *settings)
    vars(state).update(vars(after))
    return tuple(found)


def pass_here(
    problem: SampledProblem, _: Any, state: OnlineState, order: np.ndarray, *settings: Any
) -> tuple[OnlineState, float, int]:
    """Visit each sample of ``order``: where that leads, the sum of the losses and the number of wrong predictions."""
    state = state.copy()
    loop: OnlineLoop = (find("online", problem) or GenericOnline)(problem)
    loss, n_wrong = loop.run(state, order, *settings)
    state.age += len(order)
    return state, loss, n_wrong


class GenericOnline(Loop):
    """Steps through one-sample shards, for problems without a compiled loop."""

    def run(
        self, state: OnlineState, order: np.ndarray, rule: int, strength: float, root_cost: bool
    ) -> tuple[float, int]:
        """Visit each sample of ``order``: the sum of the losses and the number of wrong predictions."""
        from palmette._kernels.online_step import step_size

        problem = self.problem
        total, n_wrong = 0.0, 0
        for turn, i in enumerate(order):
            weight = problem.samples.weight[i]
            value, counts, batch = problem.sample_loss(int(i), state.w)
            n_errors = counts.distance() / weight if weight else 0.0
            if n_errors == 0.0:
                continue
            n_wrong += 1
            margin = n_errors if rule == AROW else np.sqrt(n_errors) if root_cost else 1.0
            cost = n_errors / batch.n_rows if rule == PERCEPTRON else value + margin
            total += weight * cost
            delta = np.zeros(problem.n_params)
            problem.scorer.pull_back(counts, batch, delta)
            delta /= -weight
            direction = delta * state.variance if rule == AROW else delta
            norm = float(delta @ direction)
            if norm == 0.0:
                continue
            own = strength / weight if rule == AROW else strength * weight
            change = step_size(rule, cost, norm, own) * direction
            state.w += change
            state.drift += (state.age + turn) * change
            if rule == AROW:
                state.variance /= 1.0 + state.variance * delta**2 / own
        return total, n_wrong
