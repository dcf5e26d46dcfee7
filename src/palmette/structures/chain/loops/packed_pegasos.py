"""Pegasos on packed chains."""

from __future__ import annotations

import numpy as np

from palmette.contracts.problem import SampledProblem
from palmette.loops.pegasos_epoch import Pace, Stretch
from palmette.loops.table import CompiledLoop, compiled_as
from palmette.structures.chain.loops.packed import cost_table, packed, packs_plain


class PackedStretches(CompiledLoop):
    """The compiled loop of Pegasos, for maxima on chains of order 1 without edge features."""

    @classmethod
    def accepts(cls, problem: SampledProblem) -> bool:
        """Hinge, perceptron loss, and the difference of these; the loss is a table of costs."""
        surrogate = problem.surrogate
        if compiled_as(surrogate) == "difference":
            if compiled_as(surrogate.concave_part) != "perceptron":
                return False
            surrogate = surrogate.convex_part
        hinge = compiled_as(surrogate) == "hinge" and compiled_as(surrogate.task_loss) == "parts"
        return (hinge or compiled_as(surrogate) == "perceptron") and packs_plain(problem)

    def __init__(self, problem: SampledProblem) -> None:
        super().__init__(problem)
        self.chains = packed(problem, np.float64)
        self.cost = cost_table(problem, self.chains)
        self.l2 = self.chains.pack(problem.regularizer.l2)
        self.labels = np.zeros((2, len(problem.samples.codes)), np.int64)

    def run(self, w: np.ndarray, order: np.ndarray, begin: int, pace: Pace, gradient: np.ndarray) -> Stretch:
        """Visit the samples ``order[begin:]``, as far as the common scale allows; adds to ``gradient``."""
        from palmette.structures.chain.kernels.packed_pegasos import pegasos_pass

        chains, l2 = self.chains, self.problem.regularizer.l2
        v, drift, found = chains.pack_weights(w), chains.zeros(), chains.zeros()
        end, scale, area, offset = pegasos_pass(
            compiled_as(self.problem.surrogate) == "difference", chains.view(self.problem.samples), v, drift, found,
            self.l2, chains.mask, chains.edge_mask, self.cost, order, begin, pace.batch, pace.n_steps,
            float(np.dot(l2 * w, w)), pace.limit, *self.labels,
        )  # fmt: skip
        chains.unpack(found, gradient)
        flat = chains.unpack(v)
        return Stretch(end, scale * flat, area * flat - chains.unpack(drift), offset)
