"""Dual variables of the n-slack program: for every sample a few constraints and their masses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from palmette.contracts.problem import SampledProblem
from palmette.loops.block_state import BlockState
from palmette.objectives.problem import bounded_loss

NONE = -1  # end of a list, as in the kernel
IDLE_EPOCHS = 10  # after which a constraint without mass is dropped
INNER_STEPS = 3  # exchanges of mass per visit of a sample
SWEEPS = 20  # at most, over all working sets after an epoch ...
SHARE = 0.2  # ... or until these lack only this share of what the samples lacked
WORTH = 0.1  # a constraint is added if it is violated by this share of what samples lacked in the mean


@dataclass(kw_only=True)
class WorkingSet(BlockState):
    """Constraints ``slack_i >= offset_k + <g_k, w>`` of the samples, as ``palmette._kernels.working_set`` reads them.

    The arrays of constraints and of their entries have room to grow: the first ``n_constraints`` and
    ``start[n_constraints]`` are in use.
    """

    head: np.ndarray  # (samples,): first constraint of each
    preferred: np.ndarray  # (samples,): the constraint of the output that a linear term prefers
    n_constraints: int = 0
    following: np.ndarray
    offset: np.ndarray
    mass: np.ndarray
    used: np.ndarray  # epoch in which a constraint was added or last had mass
    sample: np.ndarray
    start: np.ndarray
    index: np.ndarray
    value: np.ndarray

    solver = "n_slack"

    @classmethod
    def at_truth(cls, problem: SampledProblem) -> WorkingSet:
        """No constraint but ``slack >= 0``: ``w = 0``."""
        none = np.zeros(0, np.int64)
        return cls(
            head=np.full(problem.n_samples, NONE), preferred=np.full(problem.n_samples, NONE), following=none,
            offset=np.zeros(0), mass=np.zeros(0), used=none, sample=none, start=np.zeros(1, np.int64), index=none,
            value=np.zeros(0), **cls.at_zero(problem),
        )  # fmt: skip

    def add(self, s: int, offset: float, index: np.ndarray, value: np.ndarray) -> None:
        """Append a constraint of sample ``s``, with its entries by rising index."""
        k, at = self.n_constraints, int(self.start[self.n_constraints])
        for name in ("following", "offset", "mass", "used", "sample"):
            setattr(self, name, _with_room(getattr(self, name), k + 1))
        self.start = _with_room(self.start, k + 2)
        self.index, self.value = (_with_room(a, at + len(index)) for a in (self.index, self.value))
        self.following[k], self.head[s] = self.head[s], k
        self.offset[k], self.mass[k], self.used[k], self.sample[k] = offset, 0.0, self.epoch, s
        self.index[at : at + len(index)], self.value[at : at + len(index)] = index, value
        self.start[k + 1] = at + len(index)
        self.n_constraints += 1

    def drop_idle(self) -> None:
        """Forget the constraints that have had no mass for long, once they are many."""
        n = self.n_constraints
        self.used[:n][self.mass[:n] > 0.0] = self.epoch
        self.used[self.preferred[self.preferred != NONE]] = self.epoch
        kept = self.used[:n] > self.epoch - IDLE_EPOCHS
        if kept.sum() > 0.8 * n:
            return
        lengths = np.diff(self.start[: n + 1])
        entries = np.repeat(kept, lengths)
        n_entries = len(entries)
        self.index, self.value = self.index[:n_entries][entries], self.value[:n_entries][entries]
        self.start = np.concatenate([[0], np.cumsum(lengths[kept])])
        for name in ("offset", "mass", "used", "sample"):
            setattr(self, name, getattr(self, name)[:n][kept])
        self.n_constraints = int(kept.sum())
        self.preferred = np.append(np.cumsum(kept) - 1, NONE)[self.preferred]  # NONE is the last place
        self.following = np.full(self.n_constraints, NONE)
        self.head[:] = NONE
        for k, s in enumerate(self.sample):
            self.following[k], self.head[s] = self.head[s], k

    def constraints(self) -> tuple[np.ndarray, ...]:
        """What the kernels read."""
        return self.head, self.following, self.start, self.index, self.value, self.offset


def _with_room(array: np.ndarray, n: int) -> np.ndarray:
    """The array, or a longer one that begins with it."""
    if n <= len(array):
        return array
    grown = np.zeros(max(n, 2 * len(array), 64), array.dtype)
    grown[: len(array)] = array
    return grown


class WorkingSetBlocks:
    """Visits of samples: one oracle call each, a constraint if it is violated enough, then steps over all constraints.

    A constraint is the cut of the sample's loss at the current weights, so any convex loss will do.
    """

    variables = WorkingSet

    def __init__(self, problem: SampledProblem) -> None:
        self.problem = problem
        self.inverse = 1.0 / problem.regularizer.l2
        self._scratch = np.zeros(problem.n_params)

    def follow(self, state: WorkingSet, before: np.ndarray, after: np.ndarray, factor: np.ndarray) -> None:
        """Give every sample the constraint that its loss is not below the linear term, without an oracle call.

        It takes over the mass of the constraint of the output ``before`` (at first all mass that is left): as far as
        that mass goes, the weights stay where they were.
        """
        samples = self.problem.samples
        for s in range(self.problem.n_samples):
            own = slice(*samples.code_offsets[s : s + 2])
            if state.preferred[s] == NONE or not np.array_equal(before[own], after[own]):
                self._prefer(state, s, samples.slice(s, s + 1), after[own], factor[s : s + 1])

    def _prefer(self, state: WorkingSet, s: int, one: Any, output: np.ndarray, factor: np.ndarray) -> float:
        """The same for one sample; returns the mass that moves."""
        problem, last, k = self.problem, int(state.preferred[s]), state.n_constraints
        theta = problem.scorer.score(state.w, one.batch)
        counts = problem.structure.count(theta, output, weight=factor * one.weight)
        counts = problem.structure.count(theta, one.codes, weight=-factor * one.weight, into=counts)
        left = 1.0 - float(state.mass[:k][state.sample[:k] == s].sum())
        state.add(s, 0.0, *self._entries(counts, one.batch))
        mass = left if last == NONE else float(state.mass[last])
        if last != NONE:
            state.mass[last] = 0.0
        state.mass[k], state.preferred[s] = mass, k
        return mass

    def meet_tangents(
        self, state: WorkingSet, concave: Any, order: np.ndarray, outputs: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Visit samples with a linear term that moves: that of a sample is the tangent of ``concave`` where it is met.

        Two oracle calls for each sample of ``order``. Returns the mean of the weights after each visit, and the outputs
        that the term prefers in the end, of which those before are given.
        """
        problem, outputs, total = self.problem, outputs.copy(), np.zeros_like(state.w)
        for s in order.tolist():
            one, own = problem.samples.slice(s, s + 1), slice(*problem.samples.code_offsets[s : s + 2])
            theta = problem.scorer.score(state.w, one.batch)
            found = concave.rivals(problem.structure, theta, one.truth)
            last = int(state.preferred[s])
            if last == NONE or not np.array_equal(outputs[own], found.codes):
                # The term moves the weights by all of its change, the mass that follows it takes a share of that back.
                share = 1.0 - self._prefer(state, s, one, found.codes, found.factor)
                outputs[own] = found.codes
                for k, sign in ((int(state.preferred[s]), 1.0), (last, -1.0)):
                    at = slice(*state.start[k : k + 2]) if k != NONE else slice(0)
                    state.w[state.index[at]] += sign * share * state.value[at] * self.inverse[state.index[at]]
            self._visit(state, s, 0.0)
            total += state.w
        self.visit(state, np.empty(0, np.int64))
        return total / len(order), outputs

    def visit(self, state: WorkingSet, order: np.ndarray) -> None:
        """Visit the samples of ``order``, and then optimise over all working sets, without the oracle."""
        from palmette._kernels.working_set import optimise

        known = state.gap[np.isfinite(state.gap)]
        enough = WORTH * float(known.mean()) if len(known) else 0.0
        # One oracle call per sample adds its most violated constraint if it is worth it. Then the dual over all
        # constraints is raised without the oracle, until little of the gaps is lacking or SWEEPS are done. Masses stay
        # feasible, so the dual value is a lower bound at any time.
        for s in order:
            self._visit(state, int(s), enough)
        every = np.arange(self.problem.n_samples)
        lacking = float(state.gap[np.isfinite(state.gap)].sum())
        for _ in range(SWEEPS):
            left = optimise(every, *state.constraints(), self.inverse, state.mass, state.w, INNER_STEPS)
            if left <= SHARE * lacking:
                break
        state.drop_idle()
        self._losses(state)

    def _visit(self, state: WorkingSet, s: int, enough: float) -> None:
        from palmette._kernels.working_set import optimise, slack_of

        problem, weight = self.problem, float(self.problem.samples.weight[s])
        value, counts, inputs = problem.sample_loss(s, state.w)
        slack, mean = slack_of(s, *state.constraints(), state.mass, state.w)
        state.gap[s] = max(weight * value - mean, 0.0)
        if weight * value - slack > enough + 1e-12 * (1.0 + abs(slack)):
            self._add(state, s, weight * value, counts, inputs)
        optimise(np.array([s]), *state.constraints(), self.inverse, state.mass, state.w, INNER_STEPS)

    def _add(self, state: WorkingSet, s: int, value: float, counts: Any, inputs: Any) -> None:
        """The cut of the loss of sample ``s`` at the current weights as a constraint."""
        at, entries = self._entries(counts, inputs)
        state.add(s, value - float(entries @ state.w[at]), at, entries)

    def _entries(self, counts: Any, inputs: Any) -> tuple[np.ndarray, np.ndarray]:
        """The gradient in the weights that belongs to counts of one sample: places by rising number, and values."""
        scorer = self.problem.scorer
        scorer.pull_back(counts, inputs, self._scratch)
        at = scorer.touched(inputs)
        at = np.unique(at[self._scratch[at] != 0.0])
        entries = self._scratch[at]
        self._scratch[at] = 0.0
        return at, entries

    def meet(self, state: WorkingSet) -> float:
        """Add the constraint of every sample that is met at the current weights; returns the data term there."""
        total = 0.0
        for s, weight in enumerate(self.problem.samples.weight.tolist()):
            value, counts, inputs = self.problem.sample_loss(s, state.w)
            self._add(state, s, weight * value, counts, inputs)
            total += weight * value
        return total

    def _losses(self, state: WorkingSet) -> None:
        n, weight = state.n_constraints, self.problem.samples.weight
        mean = np.bincount(
            state.sample[:n], state.mass[:n] * state.offset[:n], minlength=self.problem.n_samples
        )
        # np.bincount of nothing counts in integers
        state.loss = np.divide(mean, weight, out=np.zeros(len(mean)), where=weight > 0.0)

    def refresh(self, state: WorkingSet) -> None:
        """Compute weights and losses from the masses: what visits added up has rounding errors."""
        n = state.n_constraints
        n_entries = int(state.start[n])
        mass = np.repeat(state.mass[:n], np.diff(state.start[: n + 1]))
        counts = np.bincount(
            state.index[:n_entries], mass * state.value[:n_entries], minlength=self.problem.n_params
        )
        state.w = -counts * self.inverse
        self._losses(state)

    def value(self, w: np.ndarray) -> tuple[float, float]:
        """The data term at ``w`` by the maxima found, and what they may add to it."""
        value, _, slack = bounded_loss(self.problem, w)
        return value, slack
