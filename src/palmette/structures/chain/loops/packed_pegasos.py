"""Pegasos on packed chains."""

from __future__ import annotations

from typing import Any

import numpy as np

from palmette.loops.pegasos_epoch import Stretch
from palmette.loops.table import kind_of
from palmette.structures.chain.loops.packed import cost_table, packed, packs_plain


class PackedStretches:
    """The compiled loop of Pegasos, for maxima on chains of order 1 without edge features."""

    compiled = True

    @staticmethod
    def accepts(problem: Any) -> bool:
        """Hinge, perceptron loss, and the difference of these; the loss is a table of costs."""
        surrogate = problem.surrogate
        if kind_of(surrogate) == "difference":
            if kind_of(surrogate.concave_part) != "perceptron":
                return False
            surrogate = surrogate.convex_part
        hinge = kind_of(surrogate) == "hinge" and kind_of(surrogate.task_loss) == "parts"
        return (hinge or kind_of(surrogate) == "perceptron") and packs_plain(problem)

    def __init__(self, problem: Any) -> None:
        self.problem = problem
        self.chains = packed(problem, np.float64)
        self.cost = cost_table(problem, self.chains)
        self.l2 = self.chains.pack(problem.regularizer.l2)
        self.labels = np.zeros((2, len(problem.samples.codes)), np.int64)

    def run(
        self,
        w: np.ndarray,
        order: np.ndarray,
        begin: int,
        batch: int,
        n_steps: int,
        limit: float,
        gradient: np.ndarray,
    ) -> Stretch:
        """Visit the samples ``order[begin:]``, as far as the common scale allows; adds to ``gradient``."""
        from palmette.structures.chain.kernels.packed_pegasos import pegasos_pass

        chains, samples, l2 = self.chains, self.problem.samples, self.problem.regularizer.l2
        v, drift, found = chains.pack_weights(w), chains.zeros(), chains.zeros()
        end, scale, area, offset = pegasos_pass(
            kind_of(self.problem.surrogate) == "difference", chains.inputs, v, drift, found, self.l2, chains.base,
            chains.mask, chains.edge_mask, chains.offsets, samples.codes, samples.weight, self.cost, order, begin,
            batch, chains.n_labels, chains.width, n_steps, float(np.dot(l2 * w, w)), limit, *self.labels,
        )  # fmt: skip
        chains.unpack(found, gradient)
        flat = chains.unpack(v)
        return Stretch(end, scale * flat, area * flat - chains.unpack(drift), offset)
