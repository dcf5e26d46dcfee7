"""The dual variables of the log loss on packed chains: marginals of every sample and what follows from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from palmette.contracts.problem import SampledProblem
from palmette.executors.shards import cut
from palmette.loops.table import CompiledLoop, compiled_as
from palmette.memory import check_size
from palmette.structures.chain.loops.packed import PackedChains, packed, packs, packs_plain

if TYPE_CHECKING:
    from palmette.structures.chain.kernels.packed import Weights
    from palmette.structures.chain.kernels.packed_dual import DualRoom

ROWS_AT_ONCE = 4096


class DualState(CompiledLoop):
    r"""Marginals ``mu_i`` of every sample, the weights they imply, and bounds on their entropies.

    With ``psi(y)`` the features of an output, the dual of ``sum_i c_i loss_i(w) + R(w)`` is

        ``D(mu) = sum_i c_i H(mu_i) - R*(z),   z = sum_i c_i (psi(y_i) - E_mu_i psi),   w = soft(z, l1) / l2``.

    Stored are ``residual = mu - truth`` of every row and label, the same for label pairs summed over a sample, and
    ``entropy[i] <= H(mu_i)``: a mean of marginals has at least the mean of their entropies. All start at the truth,
    where ``D = 0``.
    """

    # On CoNLL-2000 chunking, for attributes (x = 1) as l2 falls as well as for numbers beside them as they grow.
    short_steps: ClassVar[float] = 50.0
    few_features: ClassVar[int] = 50_000  # L-BFGS: half a second

    @classmethod
    def why_not(cls, problem: SampledProblem) -> str | None:
        """What it cannot take of a problem, or nothing; None but for the log loss of chains of order 1."""
        reg, edge = problem.regularizer, problem.scorer.blocks["edge"]
        if compiled_as(problem.surrogate) != "log" or not packs(problem):
            return None
        if not packs_plain(problem):
            return "has no room for the marginals of edge features"
        for part in (slice(0, edge.start), edge):
            for strengths in (reg.l2[part], reg.l1[part]):
                if len(strengths) and not np.all(strengths == strengths[0]):
                    return (
                        "needs one l2 and one l1 for features and intercept, and one for transitions; columns of "
                        "arrays have an l2 of their own where none is given (give l2=1.0, say)"
                    )
        return "" if reg.strongly_convex else "needs l2 > 0 on every weight"

    def __init__(self, problem: SampledProblem, dtype: Any) -> None:
        from palmette.structures.chain.kernels.packed import Weights

        self.chains: Any = packed(problem, dtype)
        chains = self.chains
        self.data: Any = chains.view(problem.samples)
        self.weight: Any = problem.samples.weight
        reg, edge = problem.regularizer, problem.scorer.blocks["edge"]
        at_edge = edge.start if edge.stop > edge.start else 0
        (self.l2_node, self.l2_edge), (self.l1_node, self.l1_edge) = (
            (float(part[0]), float(part[at_edge])) for part in (reg.l2, reg.l1)
        )
        n_rows, n_samples = int(chains.offsets[-1]), len(self.weight)
        has_edges = len(chains.edge_weight) > 0
        dtype, edge_size = chains.dtype, chains.n_labels * chains.width
        check_size(
            f"{n_samples:,} samples, {n_rows:,} positions, {chains.n_labels:,} labels: this solver keeps marginals",
            dtype.itemsize * (n_rows * chains.width + n_samples * edge_size * has_edges),
            "solver='lbfgs' or 'stochastic' keeps none",
        )
        self.residual = np.zeros(n_rows * chains.width, dtype)
        self.residual_edge = np.zeros(n_samples * edge_size * has_edges, dtype)
        self.entropy, self.gap = np.zeros(n_samples), np.full(n_samples, np.inf)
        self.gap[self.weight == 0.0] = 0.0
        none = np.zeros(chains.scorer.n_params)
        self.w = chains.pack_weights(none)
        has_l1 = self.l1_node > 0.0 or self.l1_edge > 0.0
        self.z = chains.pack_weights(none) if has_l1 else Weights(*(np.empty(0, dtype) for _ in self.w))

    def bind(self, problem: SampledProblem) -> None:
        """Take up the samples of ``problem``: a state that was pickled or copied has the variables alone."""
        if self.chains is None:
            self.chains = packed(problem, self.w.rows.dtype)
            self.data, self.weight = self.chains.view(problem.samples), problem.samples.weight

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "chains": None, "data": None, "weight": None}

    def visit(self, order: np.ndarray) -> int:
        """An ascent step on each sample of ``order``; returns how many were out of range and left as they are."""
        from palmette.structures.chain.kernels.packed_dual import dual_pass

        chains = self.chains
        return dual_pass(
            self.data, self.w, self.z, chains.mask, chains.edge_mask, self.l2_node, self.l2_edge, self.l1_node,
            self.l1_edge, order, self.residual, self.residual_edge, self.entropy, self.gap, self._room(),
        )  # fmt: skip

    def _room(self) -> DualRoom:
        from palmette.structures.chain.kernels.packed_dual import DualRoom

        chains, dtype = self.chains, self.chains.dtype
        node, theta, alpha, pull = chains.rows_of_longest(4)
        pairs, factor, factor_t = (np.zeros(chains.width**2, dtype) for _ in range(3))
        distinct, local = (np.empty(chains.most, np.int32) for _ in range(2))
        g, mark = np.empty(chains.most * chains.width, dtype), np.full(chains.n_rows, -1)
        every = np.arange(chains.n_labels)
        return DualRoom(node, theta, alpha, pull, pairs, factor, factor_t, g, distinct, local, mark, every)

    def start_from(self, w: np.ndarray) -> None:
        """Move from the truth towards the marginals under ``w``, as far as the dual value grows."""
        from palmette.structures.chain.kernels.packed_dual import marginals_pass

        marginals_pass(
            self.data,
            self.chains.pack_weights(w),
            self.residual,
            self.residual_edge,
            self.entropy,
            self._room(),
        )
        bound = float(self.weight @ self.entropy)
        steep = 2.0 * self._conjugate(self._sums())
        share = min(1.0, bound / steep) if steep > 0.0 else 1.0
        for part in (self.residual, self.residual_edge, self.entropy):
            part *= share
        self.refresh()

    def refresh(self, keep: bool = True) -> tuple[np.ndarray, float]:
        """Recompute the weights from the marginals in double precision, free of what rounding has gathered.

        ``keep`` stores them, rounded again, in place of the present ones.

        Returns
        -------
        w : ndarray of shape (n_params,)
        value : float
            ``D(mu)`` with the bounds on the entropies: never above the optimum of the objective, up to the rounding of
            the marginals (relative errors of about 1e-6 in single precision).
        """
        w = self._sums()
        if keep:
            _store(self.chains, w, self.z)
        value = float(self.weight @ self.entropy) - self._conjugate(w)
        for block, l2, l1 in self._strengths():  # in place: z becomes soft(z, l1) / l2
            if l1:
                z = w[block]
                w[block] = np.sign(z) * np.maximum(np.abs(z) - l1, 0.0)
            w[block] /= l2
        if keep:
            _store(self.chains, w, self.w)
        return w, value

    def value(self, w: np.ndarray) -> float:
        """Not known here: visits and values are loops of their own."""
        return np.nan

    def weights(self) -> np.ndarray:
        """The present weights."""
        return self.chains.unpack(self.w)

    def estimate(self) -> float:
        """The dual value from the stored weights, up to their rounding."""
        chains, w = self.chains, self.w
        parts = w.rows[chains.row_position], w.singles, w.edge[chains.edge_position]
        squares = [float(np.dot(part, part)) for part in parts]
        conjugate = 0.5 * (self.l2_node * (squares[0] + squares[1]) + self.l2_edge * squares[2])
        return float(self.weight @ self.entropy) - conjugate

    def _sums(self) -> np.ndarray:
        """``z`` of the marginals, in double precision."""
        from palmette.structures.chain.kernels.packed import Weights, scatter_rows

        chains = self.chains
        exact = Weights(*(np.zeros(len(part)) for part in self.w))
        row_weight = np.repeat(self.weight, np.diff(chains.offsets))
        pieces = cut(chains.offsets, max(1, len(row_weight) // ROWS_AT_ONCE))
        for first, last in pieces:
            lo, hi = chains.offsets[first], chains.offsets[last]
            node = self.residual[lo * chains.width : hi * chains.width].astype(float)
            node.reshape(-1, chains.width)[:] *= row_weight[lo:hi, None]
            scatter_rows(chains.inputs, lo, hi, chains.width, node, exact.rows, exact.singles)
            if len(self.residual_edge):  # in parts too: a product in double precision copies its factors
                size = len(exact.edge)
                tables = self.residual_edge[first * size : last * size].reshape(last - first, size)
                exact.edge[:] += self.weight[first:last] @ tables
        return -chains.unpack(exact)

    def _strengths(self) -> list[tuple[slice, float, float]]:
        edge = self.chains.scorer.blocks["edge"]
        return [(slice(0, edge.start), self.l2_node, self.l1_node), (edge, self.l2_edge, self.l1_edge)]

    def _conjugate(self, z: np.ndarray) -> float:
        """``R*(z)``."""
        total = 0.0
        for block, l2, l1 in self._strengths():
            excess = np.maximum(np.abs(z[block]) - l1, 0.0) if l1 else z[block]
            total += float(np.dot(excess, excess)) / (2.0 * l2)
        return total


def _store(chains: PackedChains, w: np.ndarray, packed: Weights) -> None:
    """Overwrite packed weights, unless they are empty."""
    if len(packed.rows):
        packed.rows[chains.row_position] = w[chains.row_weight]
        packed.singles[:] = w[chains.single_weight]
        packed.edge[chains.edge_position] = w[chains.edge_weight]
