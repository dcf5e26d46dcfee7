"""Stochastic average gradient on packed chains: what is stored of every sample, and where the weights stand."""

from __future__ import annotations

from typing import Any

import numpy as np

from palmette.structures.chain.loops.dual_state import DualState
from palmette.structures.chain.loops.packed import PackedChains


class SagState(DualState):
    """Gradients of every sample at the weights of its last visit, which are dual variables too.

    The gradient of a sample is the adjoint of its marginals minus truth, so these are stored: the memory of
    :class:`DualState`. Marginals met at different weights are a feasible point of the dual, and their entropies are
    known, hence the cut ``loss(w) >= sum_i c_i H(mu_i) - <z, w>`` for all w. ``z`` is always kept; ``w`` goes its own
    way.
    """

    OWN = ("residual", "residual_edge", "entropy", "loss", "lipschitz", "wait", "streak")

    def __init__(self, chains: PackedChains, codes: np.ndarray, weight: np.ndarray, l2: Any, l1: Any) -> None:
        super().__init__(chains, codes, weight, l2, l1)
        n = len(weight)
        self.z = chains.zeros()._replace(edge=np.zeros(len(self.w.edge)))
        self.loss, self.lipschitz = np.full(n, np.nan), np.zeros(n)
        self.wait, self.streak = np.zeros(n, np.int64), np.zeros(n, np.int64)
        self.caution = 1.0  # divides the steps

    def start_from(self, w: np.ndarray) -> None:
        """Put the weights at ``w`` and store the gradients there."""
        self._store_marginals(w)
        self.loss[self.weight > 0.0] = 0.0  # known, if not its value
        self.w = self.chains.pack(w)
        self.cut(keep=True)

    def visit(self, order: np.ndarray) -> int:
        """Visit the samples of ``order`` in turn; returns how many losses were computed for Lipschitz estimates."""
        from palmette.structures.chain.kernels.packed_sag import Table, sag_pass

        chains = self.chains
        table = Table(
            self.residual, self.residual_edge, self.entropy, self.loss, self.lipschitz, self.wait, self.streak
        )
        return sag_pass(
            chains.inputs, self.w, self.z, chains.base, chains.mask, chains.edge_mask, self.l2_node, self.l2_edge,
            self.l1_node, self.l1_edge, chains.offsets, self.codes, self.weight, order, chains.n_labels, chains.width,
            chains.most, table, self.caution,
        )  # fmt: skip

    def cut(self, keep: bool) -> tuple[float, np.ndarray]:
        """``sum_i c_i H(mu_i)`` and ``z``, computed anew in double precision; ``keep`` frees the stored sums of what
        rounding has gathered."""
        z = self._sums()
        if keep:
            for stored, exact in zip(self.z, self.chains.pack(z)):
                stored[:] = exact
        return float(self.weight @ self.entropy), z

    def estimate(self) -> float:
        """The dual value, from the stored sums."""
        conjugate = 0.0
        node, edge = (self.l1_node, self.l2_node), (self.l1_edge, self.l2_edge)
        for part, (l1, l2) in ((self.z.rows, node), (self.z.singles, node), (self.z.edge, edge)):
            excess = np.maximum(np.abs(part) - l1, 0.0) if l1 else part
            conjugate += 0.5 * float(np.dot(excess, excess)) / l2
        return float(self.weight @ self.entropy) - conjugate
