"""Visits of samples in the dual of the structured hinge, through one-sample shards."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from palmette._kernels.constants import FREE, TIE
from palmette.loops.active_set import ActiveSet, block_losses, dual_weights
from palmette.loops.block_state import SampleBlocks


class GenericBlocks(SampleBlocks):
    """The same visits through one-sample shards, for structures or losses without a compiled loop."""

    variables = ActiveSet
    inner = 2  # pairwise steps per visit, each of which asks for the score of every active labeling

    def visit(self, active: ActiveSet, order: np.ndarray) -> None:
        """Visit the samples of ``order``."""
        if sum(self._visit(active, int(s)) for s in order):
            active.grow()

    def refresh(self, active: ActiveSet) -> None:
        """Compute weights and losses from the masses."""
        active.w, active.loss = dual_weights(self.problem, active), block_losses(self.problem, active)

    def follow(self, active: ActiveSet, before: np.ndarray, after: np.ndarray, factor: np.ndarray) -> None:
        """Give the outputs ``after`` the mass of the outputs ``before``."""
        active.follow(self.problem.samples.code_offsets, before, after)

    def _visit(self, active: ActiveSet, s: int) -> bool:
        problem = self.problem
        structure, scorer, task_loss = problem.structure, problem.scorer, problem.surrogate.task_loss
        one = problem.samples.slice(s, s + 1)
        rows = slice(*problem.samples.code_offsets[s : s + 2])
        weight = float(one.weight[0])
        mass, path = active.mass[s], active.path[:, rows]
        full = False
        for visit in range(self.inner):
            theta = scorer.score(active.w, one.batch)
            n = int(np.sum(mass != FREE))
            losses = [task_loss.value(structure, theta, one.known, path[m])[0] for m in range(n)]
            values = [structure.score(theta, path[m])[0] + losses[m] for m in range(n)]
            if visit == 0:
                rival, (top,) = task_loss.augmented_best(structure, theta, one.known)
                active.gap[s] = weight * max(top - float(mass[:n] @ values), 0.0)
                if top > values[first_best(values)] + TIE * (1.0 + abs(top)):
                    full = n == len(mass)
                    if not full:
                        path[n], mass[n] = rival, 0.0
                        values.append(top)
                        losses.append(task_loss.value(structure, theta, one.known, path[n])[0])
            best, worst = first_best(values), first_best([-v for v in values])
            rise = weight * (values[best] - values[worst])
            if best == worst or rise <= weight * TIE * (1.0 + abs(values[best])):
                break
            counts = structure.count(theta, path[best], weight=one.weight)
            counts = structure.count(theta, path[worst], weight=-one.weight, into=counts)
            direction = np.zeros(problem.n_params)
            scorer.pull_back(counts, one.batch, direction)
            step = self._step(active, direction, rise, mass[worst])
            active.loss[s] += step * (losses[best] - losses[worst])
            mass[best] += step
            mass[worst] -= step
            if mass[worst] <= 0.0:  # the last active labeling takes its place
                last = int(np.sum(mass != FREE)) - 1
                path[worst], mass[worst], mass[last] = path[last], mass[last], FREE
        mass[mass == 0.0] = FREE
        return full


def first_best(values: Sequence[float] | np.ndarray, tie: float = TIE) -> int:
    """Position of the maximum, the first of those that are equal up to rounding."""
    best = 0
    for m, value in enumerate(values):
        if value > values[best] and value > values[best] + tie * (1.0 + abs(value)):
            best = m
    return best
