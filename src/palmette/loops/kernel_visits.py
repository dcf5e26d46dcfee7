"""Visits of samples in the dual of a kernelised hinge: by a compiled loop where there is one, else generic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from palmette._kernels.constants import FREE, TIE_SINGLE
from palmette.loops.hinge_blocks import first_best
from palmette.loops.table import Loop, find

if TYPE_CHECKING:
    from palmette.objectives.kernel_dual import KernelProblem, KernelState


class Visits(Protocol):
    """A loop of the table for the dual of a kernelised hinge."""

    def visit(self, state: KernelState, order: np.ndarray, rounds: int, steps: int) -> int:
        """Visit the samples of ``order`` once each; returns how often no place was free for a new labeling."""

    def hinges(self, state: KernelState) -> np.ndarray:
        """Hinge of every sample, unweighted; from above where maxima are not found for certain."""


def visits_of(problem: KernelProblem) -> Visits:
    """The fastest visits that serve a problem."""
    return (find("kernel_frank_wolfe", problem) or GenericVisits)(problem)


def visit_all(problem: KernelProblem, state: KernelState, order: np.ndarray, rounds: int, steps: int) -> int:
    """Visit the samples of ``order`` once each; returns how often no place was free for a new labeling."""
    visits = visits_of(problem)
    runs = problem.gram.runs(order, problem.samples.batch.offsets, problem.unique)
    return sum(visits.visit(state, run, rounds, steps) for run in runs)


class GenericVisits(Loop):
    """Visits through potentials of one sample, for any structure and loss."""

    def visit(self, state: KernelState, order: np.ndarray, rounds: int, steps: int) -> int:
        """Visit the samples of ``order`` once each; returns how often no place was free for a new labeling."""
        return sum(_Visit(self.problem, state, int(s)).run(rounds, steps) for s in order)

    def hinges(self, state: KernelState) -> np.ndarray:
        """Hinge of every sample, by the surrogate: where the best labels are not known exactly, of a relaxation."""
        samples = self.problem.samples
        found = self.problem.surrogate.evaluate(
            self.problem.structure, self.problem.theta(state), samples.codes, samples.weight
        )
        return np.maximum(found.values + found.slack, 0.0)


class _Visit:
    """One sample while it is visited: its labelings as counts, and the kernels between them."""

    def __init__(self, problem: KernelProblem, state: KernelState, s: int) -> None:
        offsets = problem.samples.batch.offsets
        self.problem, self.state, self.s = problem, state, s
        self.rows = slice(int(offsets[s]), int(offsets[s + 1]))
        self.one = problem.bare.slice(s, s + 1)
        self.true = problem.samples.codes[self.rows]
        self.factor = float(problem.samples.weight[s]) / problem.l2
        self.unique = problem.unique[self.rows]
        self.own = own_gram(problem.gram, self.unique)
        self.theta = problem.theta(state, s)
        self.mass = state.mass[s]
        n_places = len(self.mass)
        self.part = np.zeros((n_places, len(state.linear)))  # counts of a labeling in the linear part
        self.lost, self.inner = np.zeros(n_places), np.zeros((n_places, n_places))
        self.change = np.zeros((len(self.true), problem.n_labels))
        edges = problem.edges
        if edges is not None:
            self.edges = edges.of_sample(s)
            self.edge_unique = edges.unique[self.edges]
            self.edge_own = own_gram(edges.gram, self.edge_unique)
            self.edge_change = np.zeros((len(self.edge_unique), problem.n_labels**2))
        for m in np.flatnonzero(self.mass != FREE):
            self._enter(m)

    def _path(self, m: Any) -> np.ndarray:
        return self.state.path[m, self.rows]

    def _pairs(self, m: Any) -> np.ndarray:
        return self.problem.edges.pairs(self._path(m), self.edges, self.rows.start)  # type: ignore[union-attr]

    def _enter(self, m: Any) -> None:
        """Loss, counts and kernels of the labeling in place m."""
        problem, path = self.problem, self._path(m)
        self.lost[m] = problem.task_loss.value(problem.structure, self.theta, self.true, path)[0]
        self.part[m] = 0.0
        if self.part.shape[1]:
            problem.linear.pull_back(problem.structure.count(self.theta, path), self.one, self.part[m])
        for b in np.flatnonzero(self.mass != FREE):
            same = path[:, None] == self._path(b)[None, :]
            value = float(self.own[same].sum())
            value += problem.l2 * float(np.sum(self.part[m] * self.part[b] / problem.l2_linear))
            if problem.edges is not None:
                same = self._pairs(m)[:, None] == self._pairs(b)[None, :]
                value += problem.l2 / problem.edges.l2 * float(self.edge_own[same].sum())
            self.inner[m, b] = self.inner[b, m] = value

    def run(self, rounds: int, steps: int) -> int:
        """Take the steps; returns how often no place was free for a new labeling."""
        problem, state, mass, crowded = self.problem, self.state, self.mass, 0
        for turn in range(rounds):
            rival, (top,) = problem.task_loss.augmented_best(problem.structure, self.theta, self.true)
            used = np.flatnonzero(mass != FREE)
            score = np.full(len(mass), -np.inf)
            for m in used:
                score[m] = problem.structure.score(self.theta, self._path(m))[0] + self.lost[m]
            mean = float(mass[used] @ score[used])
            if turn == 0:
                state.gap[self.s] = problem.samples.weight[self.s] * max(top - mean, 0.0)
            if not any(np.array_equal(self._path(m), rival) for m in used):
                free = np.flatnonzero(mass == FREE)
                if not len(free):
                    crowded += 1
                elif top > score[used].max():
                    new = int(free[0])
                    state.path[new, self.rows], mass[new], score[new] = rival, 0.0, top
                    self._enter(new)
            elif turn > 0 and top - mean <= TIE_SINGLE * (1.0 + abs(top)):
                break
            self._apply(self._steps(score, steps))
        mass[mass == 0.0] = FREE
        self._spread()
        return crowded

    def _steps(self, score: np.ndarray, steps: int) -> np.ndarray:
        """Move mass from the worst active labeling to the best one, at most ``steps`` times."""
        mass, inner, moved = self.mass, self.inner, np.zeros(len(self.mass))
        for _ in range(steps):
            best = first_best(score, TIE_SINGLE)
            worst = first_best(np.where(mass > 0.0, -score, -np.inf), TIE_SINGLE)
            rise = score[best] - score[worst]
            if best == worst or rise <= TIE_SINGLE * (1.0 + abs(score[best])):
                break
            curvature = self.factor * (inner[best, best] + inner[worst, worst] - 2.0 * inner[best, worst])
            step = min(mass[worst], rise / curvature) if curvature > 0.0 else mass[worst]
            mass[best] += step
            mass[worst] = mass[worst] - step if step < mass[worst] else 0.0
            moved[best] += step
            moved[worst] -= step
            score -= self.factor * step * (inner[:, best] - inner[:, worst])
        return moved

    def _apply(self, moved: np.ndarray) -> None:
        """The potentials of this sample, and the weights, follow."""
        problem, state = self.problem, self.state
        state.loss[self.s] += float(moved @ self.lost)
        change, at = np.zeros_like(self.change), np.arange(len(self.true))
        for m in np.flatnonzero(moved):
            change[at, self._path(m)] += self.factor * moved[m]
        self.change += change
        state.linear -= problem.l2 * self.factor * (moved @ self.part) / problem.l2_linear
        edges = problem.edges
        if edges is not None:
            at = np.arange(len(self.edge_unique))
            for m in np.flatnonzero(moved):
                np.add.at(
                    self.edge_change, (at, self._pairs(m)), problem.l2 / edges.l2 * self.factor * moved[m]
                )
        self.theta = problem.theta(state, self.s)
        self.theta.node[:] -= self.own @ self.change
        if edges is not None:
            self.theta.edge[:] -= (self.edge_own @ self.edge_change).reshape(self.theta.edge.shape)

    def _spread(self) -> None:
        """The scores of all rows follow."""
        _add_rows(self.problem.gram, self.unique, self.change, self.state.table)
        if self.problem.edges is not None:
            _add_rows(self.problem.edges.gram, self.edge_unique, self.edge_change, self.state.edge_table)


def _add_rows(gram: Any, unique: np.ndarray, change: np.ndarray, table: np.ndarray) -> None:
    """Multiples of Gram rows to the scores of all rows."""
    for t, k in np.argwhere(change):
        u = unique[t]
        table[k] -= np.float32(change[t, k] * gram.scale[u]) * gram_row(gram, int(u))


def gram_row(gram: Any, u: int) -> np.ndarray:
    """Row u as the table of scores takes it: without the factor ``gram.scale`` of either side, padded."""
    at = slice(int(gram.slot[u]) * gram.stride, (int(gram.slot[u]) + 1) * gram.stride)
    return gram.value[gram.small[at]] if len(gram.small) else gram.gram[at]


def own_gram(gram: Any, unique: np.ndarray) -> np.ndarray:
    """Kernel values between the rows of one sample."""
    scale = gram.scale[unique].astype(float)
    rows = np.array([gram_row(gram, int(u))[unique] for u in unique], float).reshape(len(unique), len(unique))
    return scale[:, None] * rows * scale
