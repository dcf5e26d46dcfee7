"""Visits in the dual of a kernelised hinge on chains, by the compiled loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from palmette._kernels.constants import padded
from palmette.loops.table import CompiledLoop, compiled_as

if TYPE_CHECKING:
    from palmette.objectives.kernel_dual import KernelProblem, KernelState


class CompiledVisits(CompiledLoop):
    """The loop over chains; transitions, flat and padded, have one penalty."""

    @classmethod
    def accepts(cls, problem: KernelProblem) -> bool:
        """Chains of order 1 whose transitions, all or none, are weights with one penalty, and a table of costs."""
        linear, l2 = problem.linear, problem.l2_linear
        return (
            problem.edges is None
            and problem.structure.order == 1
            and compiled_as(problem.task_loss) == "parts"
            and compiled_as(linear) == "linear"
            and not linear.intercept
            and len(linear.pairs) in (0, linear.n_labels**2)
            and bool(np.all(l2 == l2[:1]))
        )

    def __init__(self, problem: KernelProblem) -> None:
        super().__init__(problem)
        self.width = padded(problem.n_labels)
        # weight of the kernel of transitions relative to that of nodes
        self.edge_weight = problem.l2 / float(problem.l2_linear[0]) if len(problem.l2_linear) else 0.0

    def visit(self, state: KernelState, order: np.ndarray, rounds: int, steps: int) -> int:
        """Visit the samples of ``order`` once each; returns how often no place was free for a new labeling."""
        from palmette.structures.chain.kernels.kernel_visits import kernel_pass

        problem, gram, samples = self.problem, self.problem.gram, self.problem.samples
        edge = self._padded(state.linear)
        crowded = kernel_pass(
            gram.gram, gram.small, gram.value, gram.scale, gram.stride, gram.slot, problem.unique,
            samples.batch.offsets, samples.codes, samples.weight, problem.task_loss.table, order, problem.n_labels,
            self.width, problem.l2, self.edge_weight, state.table.ravel(), edge, state.path, state.mass, state.loss,
            state.gap, rounds, steps,
        )  # fmt: skip
        if len(state.linear):
            k = problem.n_labels
            state.linear = edge.reshape(self.width, self.width)[:k, :k].ravel()
        return int(crowded)

    def hinges(self, state: KernelState) -> np.ndarray:
        """Hinge of every sample, unweighted."""
        from palmette.structures.chain.kernels.kernel_visits import hinge_values

        problem, gram, samples = self.problem, self.problem.gram, self.problem.samples
        out = np.empty(problem.n_samples)
        hinge_values(
            state.table.ravel(), gram.scale, gram.stride, problem.unique, samples.batch.offsets, samples.codes,
            problem.task_loss.table, problem.n_labels, self.width, self._padded(state.linear), out,
        )  # fmt: skip
        return out

    def _padded(self, linear: np.ndarray) -> np.ndarray:
        """Transitions as a flat padded table."""
        out, k = np.zeros((self.width, self.width)), self.problem.n_labels
        if len(linear):
            out[:k, :k] = linear.reshape(k, k)
        return out.ravel()
