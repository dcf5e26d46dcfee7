"""Label sequences with dependencies between neighbours (first order)."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator

from ramify.errors import InfeasibleError
from ramify.structures.base import Best, Expectation
from ramify.structures.tables import ChainTables, Restriction, combine, with_contradiction, without_flag


class Chain(BaseEstimator):
    """Linear chains: one label a position, one potential a position and a pair of neighbours.

    The score of a label sequence ``y_1..y_n`` is ``sum_t node[t, y_t] + sum_t edge[t, y_t, y_{t+1}]``.

    Every answer works on a packed batch (:class:`ramify.structures.tables.ChainTables`), takes ``cost=`` (tables
    added to the potentials) and ``within=`` (a :class:`~ramify.structures.tables.Restriction`), and releases the
    GIL. Among equally good outputs the one with the lexicographically lowest codes wins.

    Examples
    --------
    >>> import numpy as np
    >>> from ramify.structures.tables import ChainTables
    >>> theta = ChainTables(np.array([[1., 0.], [0., 0.5]]), np.array([[[2., 0.], [0., 2.]]]), np.array([0, 2]))
    >>> Chain().best(theta).codes, Chain().best(theta).values
    (array([0, 0], dtype=int32), array([3.]))
    """

    layout = "sequences"
    has_edges = True
    # The fused loops of sequential solvers that serve this class. A subclass declares them anew if they serve it too.
    sequential_kernels = "chain"

    # -- best ---------------------------------------------------------------------------------------------------

    def best(self, theta: ChainTables, *, cost=None, within: Restriction | None = None) -> Best:
        """Highest-scoring labels of every sample; values include the cost."""
        return self._extreme(theta, cost, within, sign=1.0)

    def worst(self, theta: ChainTables, *, cost=None, within: Restriction | None = None) -> Best:
        """Lowest-scoring labels of every sample; values include the cost."""
        return self._extreme(theta, cost, within, sign=-1.0)

    def _extreme(self, theta, cost, within, sign) -> Best:
        from ramify._kernels.chain_max import best_paths

        tables, flagged = _prepare(theta, cost, within, sign)
        codes, values = np.empty(len(tables.node), np.int32), np.empty(len(tables))
        if len(tables):
            best_paths(tables.node, tables.edge, tables.edge_step, tables.offsets, codes, values)
        _check_feasible(values)
        return Best(codes // 2 if flagged else codes, sign * values)

    def best_contradicting(self, theta, codes, *, cost=None, within: Restriction | None = None) -> Best:
        """Highest-scoring labels that differ from ``codes`` somewhere (-1 in ``codes`` cannot be contradicted)."""
        within = Restriction() if within is None else within
        if within.contradicts is not None:
            raise ValueError("within.contradicts names a second annotation to contradict; give one, as codes")
        return self.best(theta, cost=cost, within=Restriction(within.node, within.edge, np.asarray(codes)))

    def k_best(self, theta, k: int, *, cost=None, within=None) -> list[list[tuple[np.ndarray, float]]]:
        """The k best distinct outputs of every sample, best first; fewer where fewer exist.

        Returns
        -------
        list of list of (codes, value)
        """
        from ramify._kernels.chain_max import k_best_paths

        if k < 1:
            raise ValueError(f"k must be at least 1, got {k}")
        tables, flagged = _prepare(theta, cost, within)
        if not len(tables):
            return []
        paths = np.empty((k, len(tables.node)), np.int32)
        values = np.empty((len(tables), k))
        k_best_paths(tables.node, tables.edge, tables.edge_step, tables.offsets, k, paths, values)
        _check_feasible(values[:, 0])
        if flagged:
            paths //= 2
        offsets = tables.offsets
        return [
            [
                (paths[r, offsets[s] : offsets[s + 1]].copy(), float(values[s, r]))
                for r in range(k)
                if values[s, r] > -np.inf
            ]
            for s in range(len(tables))
        ]

    def max_marginals(self, theta, *, cost=None, within=None) -> ChainTables:
        """Best value with each part fixed: node (rows, labels), edge (edges, labels, labels); -inf if impossible."""
        from ramify._kernels.chain_max import max_marginals

        tables, flagged = _prepare(theta, cost, within)
        out = _empty_parts(tables)
        if len(tables):
            max_marginals(tables.node, tables.edge, tables.edge_step, tables.offsets, out.node, out.edge)
            _check_feasible(out.node[tables.offsets[:-1]].max(axis=1))
        return without_flag(out, np.max) if flagged else out

    # -- all ----------------------------------------------------------------------------------------------------

    def log_partition(self, theta, *, cost=None, within=None) -> np.ndarray:
        """``log sum_y exp(f(y) + cost(y))`` over the allowed outputs of every sample."""
        from ramify._kernels.chain_sum import log_partitions

        tables, _ = _prepare(theta, cost, within)
        log_z = np.empty(len(tables))
        if len(tables):
            log_partitions(tables.node, tables.edge, tables.edge_step, tables.offsets, log_z)
        _check_feasible(log_z)
        return log_z

    def expectation(self, theta, *, cost=None, within=None, weight=None) -> Expectation:
        """Log-partitions and expected counts in theta's shape; ``weight`` multiplies each sample's counts."""
        return self._expectation(theta, cost, within, weight, per_edge=False)

    def marginals(self, theta, *, cost=None, within=None) -> ChainTables:
        """Probability of every label part: node (rows, labels), edge (edges, labels, labels)."""
        return self._expectation(theta, cost, within, None, per_edge=True).counts

    def _expectation(self, theta, cost, within, weight, per_edge, keep_flag=False) -> Expectation:
        from ramify._kernels.chain_sum import expectations

        tables, flagged = _prepare(theta, cost, within)
        shared = len(theta.edge) == 1 and not per_edge
        if per_edge:
            tables = tables.per_edge()
        log_z = np.empty(len(tables))
        weight = _weights(tables, weight)
        counts = ChainTables(np.empty_like(tables.node), np.zeros_like(tables.edge), tables.offsets)
        if len(tables):
            expectations(
                tables.node,
                tables.edge,
                tables.edge_step,
                tables.offsets,
                weight,
                log_z,
                counts.node,
                counts.edge,
            )
        _check_feasible(log_z)
        if flagged and not keep_flag:
            counts = without_flag(counts)
        if shared and len(counts.edge) != 1:
            counts = ChainTables(counts.node, counts.edge.sum(axis=0, keepdims=True), counts.offsets)
        return Expectation(log_z, counts)

    def entropy(self, theta, *, cost=None, within=None) -> np.ndarray:
        """Entropy (nats) of every sample's distribution ``p(y) ~ exp(f(y) + cost(y))``."""
        from ramify._kernels.chain_given import chain_entropies

        # With the flag of a contradiction: labels alone are then no first-order chain.
        marginals = self._expectation(theta, cost, within, None, per_edge=True, keep_flag=True).counts
        out = np.empty(len(theta))
        chain_entropies(marginals.node, marginals.edge, marginals.offsets, out)
        return np.maximum(out, 0.0)

    def sample(self, theta, n_draws: int = 1, *, random_state=None, cost=None, within=None) -> np.ndarray:
        """Exact samples from ``p(y) ~ exp(f(y) + cost(y))``.

        Returns
        -------
        ndarray of int32, shape (n_draws, n_rows)
        """
        from ramify._kernels.chain_sum import draw_paths

        tables, flagged = _prepare(theta, cost, within)
        if n_draws < 0:
            raise ValueError(f"n_draws must be at least 0, got {n_draws}")
        rng = np.random.default_rng(random_state)
        uniform = rng.random((n_draws, len(tables.node)))
        paths = np.empty(uniform.shape, np.int32)
        if len(tables):
            bad = draw_paths(tables.node, tables.edge, tables.edge_step, tables.offsets, uniform, paths)
            if bad >= 0:
                raise _infeasible(bad)
        return paths // 2 if flagged else paths

    def min_risk(self, theta, risk: np.ndarray | None = None, *, cost=None, within=None) -> Best:
        """Output of least expected loss among the allowed ones; values are the expected losses.

        Parameters
        ----------
        risk : ndarray of shape (n_labels, n_labels), optional
            ``risk[i, j]`` is the loss of answering j where i is true; by default 1 unless i = j (Hamming).
        """
        if risk is None:
            risk = 1.0 - np.eye(theta.n_labels)
        if np.shape(risk) != (theta.n_labels, theta.n_labels):
            raise ValueError(f"risk has shape {np.shape(risk)}, expected {(theta.n_labels, theta.n_labels)}")
        node = self.marginals(theta, cost=cost, within=within).node
        # Summed label by label, since a matrix product may round a row differently in another batch.
        expected = sum(np.multiply.outer(node[:, i], risk[i]) for i in range(theta.n_labels))
        tables = combine(theta, cost, None)
        node = np.where(np.isneginf(tables.node), -np.inf, expected)
        edge = np.where(np.isneginf(tables.edge), -np.inf, 0.0)  # what potentials forbid is no answer either
        return self.worst(ChainTables(node, edge, theta.offsets), within=within)

    # -- given --------------------------------------------------------------------------------------------------

    def score(self, theta, codes, *, cost=None, within=None) -> np.ndarray:
        """Score plus cost of given outputs; -inf for one that the restriction forbids."""
        from ramify._kernels.chain_given import path_scores

        tables = combine(theta, cost, within)
        codes = _codes(theta, codes)
        values = np.empty(len(tables))
        path_scores(tables.node, tables.edge, tables.edge_step, tables.offsets, codes, values)
        if within is not None and within.contradicts is not None:
            contra = (within.contradicts >= 0) & (within.contradicts != codes)
            values[np.add.reduceat(contra.astype(np.int64), theta.offsets[:-1]) == 0] = -np.inf
        return values

    def log_proba(self, theta, codes, *, cost=None, within=None) -> np.ndarray:
        """Log-probability of given outputs."""
        given = self.score(theta, codes, cost=cost, within=within)
        return given - self.log_partition(theta, cost=cost, within=within)

    def count(self, theta, codes, *, weight=None, into: ChainTables | None = None) -> ChainTables:
        """Counts of given outputs in theta's shape, each sample's times its ``weight``; added to ``into`` if given."""
        from ramify._kernels.chain_given import add_counts

        theta.check()
        codes, weight = _codes(theta, codes), _weights(theta, weight)
        if into is None:
            into = ChainTables(np.zeros_like(theta.node), np.zeros_like(theta.edge), theta.offsets)
        elif into.node.shape != theta.node.shape or into.edge.shape != theta.edge.shape:
            raise ValueError(
                f"into has tables of shape {into.node.shape} and {into.edge.shape}, expected {theta.node.shape} and "
                f"{theta.edge.shape}"
            )
        add_counts(theta.offsets, theta.edge_step, codes, weight, into.node, into.edge)
        return into


def _prepare(theta, cost, within, sign=1.0) -> tuple[ChainTables, bool]:
    """Potentials with cost and restriction inside, and whether labels carry the contradiction flag."""
    tables = combine(theta, cost, within, sign)
    if within is not None and within.contradicts is not None:
        return with_contradiction(tables, within.contradicts), True
    return tables, False


def _codes(theta: ChainTables, codes) -> np.ndarray:
    """Given outputs as kernels read them: one known label a row."""
    codes = np.ascontiguousarray(codes, np.int32)
    if codes.shape != (len(theta.node),):
        raise ValueError(f"codes have shape {codes.shape}, expected one a row, {(len(theta.node),)}")
    wrong = np.flatnonzero((codes < 0) | (codes >= theta.n_labels))
    if len(wrong):
        row = int(wrong[0])
        raise ValueError(f"codes[{row}] = {codes[row]} is no label; expected 0..{theta.n_labels - 1}")
    return codes


def _weights(theta: ChainTables, weight) -> np.ndarray:
    """One weight a sample; 1 by default."""
    if weight is None:
        return np.ones(len(theta))
    weight = np.ascontiguousarray(weight, float)
    if weight.shape != (len(theta),):
        raise ValueError(f"weight has shape {weight.shape}, expected one a sample, {(len(theta),)}")
    return weight


def _empty_parts(tables: ChainTables) -> ChainTables:
    labels = tables.n_labels
    return ChainTables(np.empty_like(tables.node), np.empty((tables.n_edges, labels, labels)), tables.offsets)


def _check_feasible(values: np.ndarray) -> None:
    bad = np.flatnonzero(np.isneginf(values))
    if len(bad):
        raise _infeasible(int(bad[0]))


def _infeasible(sample: int) -> InfeasibleError:
    return InfeasibleError(
        f"sample {sample}: no output satisfies the restriction; allow more labels or label pairs there"
    )
