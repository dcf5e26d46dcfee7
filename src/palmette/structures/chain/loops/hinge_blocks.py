"""Visits of samples in the dual of the structured hinge: compiled for chains, generic for all else."""

from __future__ import annotations

from typing import Any

import numpy as np

from palmette.solvers.active_set import FREE, ActiveSet, block_losses, dual_weights
from palmette.solvers.stochastic_pass import has_even_penalties, is_fused, loss_table
from palmette.structures.positions.linear_scorer import LinearScorer

TIE = 1e-10  # values closer than this are equal, as in the kernel
INNER_STEPS = 5  # pairwise steps a visit, where each scores the sample anew
INNER_GRAM = (
    4  # with inner products of rows: fewer, since the search for the best labeling costs as much as steps
)
INNER_GENERIC = 2  # where each asks a structure for the score of every active labeling
GRAM_BYTES = 256e6  # the most that inner products of rows may take


def is_compiled(problem: Any) -> bool:
    """Whether the compiled loops over packed chains serve a problem; they know no edge features."""
    return is_fused(problem) and type(problem.scorer) is LinearScorer


class PackedBlocks:
    """Visits by the compiled loops over packed chains.

    Parameters
    ----------
    gram : bool, optional
        Whether inner products of the rows of each sample are kept (see ``gram_pass``); by default where every column
        has all labels and they take little memory.
    """

    def __init__(self, problem: Any, gram: bool | None = None) -> None:
        self.problem = problem
        self.chains = problem.pack(np.float64)
        chains = self.chains
        self.cost = np.zeros((chains.n_labels, chains.width))
        self.cost[:, : chains.n_labels] = loss_table(problem)
        self.cost = self.cost.ravel()
        self.inverse = chains.pack(1.0 / problem.regularizer.l2)
        self.scratch = chains.zeros()
        lengths = np.diff(chains.offsets)
        can = not len(problem.scorer.ptr) and has_even_penalties(problem)
        self._gram: tuple | None = None
        if can if gram is None else gram:
            starts = np.concatenate([[0], np.cumsum(lengths**2)])
            if 8 * starts[-1] <= GRAM_BYTES:
                self._gram = self._products(starts)
        self.inner = INNER_STEPS if self._gram is None else INNER_GRAM

    def _products(self, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        from palmette.structures.chain.kernels.frank_wolfe import row_products

        chains = self.chains
        gram = np.empty(starts[-1])
        strengths = chains.per_row(1.0 / self.problem.regularizer.l2).rows
        row_products(chains.inputs, strengths, chains.offsets, starts, gram)
        return gram, starts

    def visit(self, active: ActiveSet, order: np.ndarray) -> None:
        """Visit the samples of ``order``."""
        from palmette.structures.chain.kernels.frank_wolfe import frank_wolfe_pass, gram_pass

        chains, samples = self.chains, self.problem.samples
        w = chains.pack_weights(active.w)
        arguments = (
            chains.inputs, w, self.inverse, chains.base, self.cost, chains.offsets, samples.codes, samples.weight,
            np.asarray(order, np.int64), chains.n_labels, chains.width, active.path, active.mass, active.loss,
            active.gap, self.scratch, self.inner,
        )  # fmt: skip
        crowded = frank_wolfe_pass(*arguments) if self._gram is None else gram_pass(*arguments, *self._gram)
        active.w = chains.unpack(w)
        if crowded:
            active.grow()

    def refresh(self, active: ActiveSet) -> None:
        """Compute weights and losses from the masses: what visits added up has rounding errors."""
        from palmette.structures.chain.kernels.frank_wolfe import dual_counts

        chains, samples = self.chains, self.problem.samples
        counts = chains.zeros()
        dual_counts(
            chains.inputs, chains.offsets, samples.codes, samples.weight, chains.n_labels, chains.width, active.path,
            active.mass, self.cost, counts, active.loss,
        )  # fmt: skip
        active.w = -chains.unpack(counts) / self.problem.regularizer.l2

    def value(self, w: np.ndarray) -> tuple[float, float]:
        """The data term at ``w``, by exact maxima."""
        from palmette.structures.chain.kernels.frank_wolfe import hinge_value

        chains, samples = self.chains, self.problem.samples
        total = hinge_value(
            chains.inputs, chains.pack_weights(w), chains.base, self.cost, chains.offsets, samples.codes,
            samples.weight, chains.n_labels, chains.width,
        )  # fmt: skip
        return float(total), 0.0


class GenericBlocks:
    """The same visits through one-sample shards, for structures or losses without a compiled loop."""

    def __init__(self, problem: Any, inner: int = INNER_GENERIC) -> None:
        self.problem, self.inner = problem, inner

    def visit(self, active: ActiveSet, order: np.ndarray) -> None:
        """Visit the samples of ``order``."""
        if sum(self._visit(active, int(s)) for s in order):
            active.grow()

    def refresh(self, active: ActiveSet) -> None:
        """Compute weights and losses from the masses."""
        active.w, active.loss = dual_weights(self.problem, active), block_losses(self.problem, active)

    def value(self, w: np.ndarray) -> tuple[float, float]:
        """The data term at ``w``, by exact maxima."""
        return self.problem.value(w), 0.0

    def _visit(self, active: ActiveSet, s: int) -> bool:
        problem = self.problem
        structure, scorer, task_loss = problem.structure, problem.scorer, problem.surrogate.task_loss
        one = problem.samples.slice(s, s + 1)
        rows = slice(problem.samples.batch.offsets[s], problem.samples.batch.offsets[s + 1])
        weight, l2 = float(one.weight[0]), problem.regularizer.l2
        mass, path = active.mass[s], active.path[:, rows]
        full = False
        for visit in range(self.inner):
            theta = scorer.score(active.w, one.batch)
            n = int(np.sum(mass != FREE))
            losses = [task_loss.value(structure, theta, one.codes, path[m])[0] for m in range(n)]
            values = [structure.score(theta, path[m])[0] + losses[m] for m in range(n)]
            if visit == 0:
                rival, (top,) = task_loss.augmented_best(structure, theta, one.codes)
                active.gap[s] = weight * max(top - float(mass[:n] @ values), 0.0)
                if top > values[first_best(values)] + TIE * (1.0 + abs(top)):
                    full = n == len(mass)
                    if not full:
                        path[n], mass[n] = rival, 0.0
                        values.append(top)
                        losses.append(task_loss.value(structure, theta, one.codes, path[n])[0])
            best, worst = first_best(values), first_best([-v for v in values])
            rise = weight * (values[best] - values[worst])
            if best == worst or rise <= weight * TIE * (1.0 + abs(values[best])):
                break
            counts = structure.count(theta, path[best], weight=one.weight)
            counts = structure.count(theta, path[worst], weight=-one.weight, into=counts)
            direction = np.zeros(problem.n_params)
            scorer.pull_back(counts, one.batch, direction)
            curvature = float(np.sum(direction * direction / l2))
            step = min(mass[worst], rise / curvature) if curvature > 0 else mass[worst]
            active.w -= step * direction / l2
            active.loss[s] += step * (losses[best] - losses[worst])
            mass[best] += step
            mass[worst] -= step
            if mass[worst] <= 0.0:  # the last active labeling takes its place
                last = int(np.sum(mass != FREE)) - 1
                path[worst], mass[worst], mass[last] = path[last], mass[last], FREE
        mass[mass == 0.0] = FREE
        return full


def first_best(values: list[float]) -> int:
    """Position of the maximum, the first of those that are equal up to rounding."""
    best = 0
    for m, value in enumerate(values):
        if value > values[best] + TIE * (1.0 + abs(value)):
            best = m
    return best
