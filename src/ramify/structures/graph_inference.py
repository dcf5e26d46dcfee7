"""Every answer on graphs of any shape: forests of a batch in one compiled call, other graphs one by one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from ramify.data.ragged import gather
from ramify.structures.base import Best, Expectation
from ramify.structures.checks import _check_feasible, _codes, _infeasible, _weights
from ramify.structures.graph_copies import best_contradicting, first_contradictions, k_best, per_sample
from ramify.structures.graph_factors import add_answer, factor_graph, labels_of
from ramify.structures.graph_methods import NOT_EXACT, GraphMethods
from ramify.structures.graph_states import states
from ramify.structures.graph_tables import GraphTables, combined
from ramify.structures.tables import Restriction


class Relaxed(NamedTuple):
    """Maxima over labelings, or over locally consistent marginals where the best is not known exactly."""

    values: (
        np.ndarray
    )  # (n_samples,): never below the exact maxima, but for the tolerance of the linear program
    counts: GraphTables  # where they are attained, perhaps fractional, in the shape of the potentials


class GraphInference(BaseEstimator, GraphMethods):
    """The answers of :class:`ramify.Graph` on potentials; see there."""

    def __getstate__(self) -> dict:
        state = dict(super().__getstate__())
        state.pop("_tally_now", None)  # what is being noted in a call that goes on
        return state

    def _contradicts(self, within: Restriction | None) -> np.ndarray | None:
        return None if within is None else within.contradicts

    # -- best ---------------------------------------------------------------------------------------------------

    def best(self, theta: GraphTables, *, cost=None, within: Restriction | None = None) -> Best:
        """Highest-scoring labels of every sample; values include the cost."""
        return self._extreme(theta, cost, within, sign=1.0)

    def worst(self, theta: GraphTables, *, cost=None, within: Restriction | None = None) -> Best:
        """Lowest-scoring labels of every sample; values include the cost."""
        return self._extreme(theta, cost, within, sign=-1.0)

    def _extreme(self, theta, cost, within, sign) -> Best:
        tables, codes = combined(theta, cost, within, sign), self._contradicts(within)
        with self.telling():
            if codes is None:
                found = self._best(tables)
            else:
                found = Best(*best_contradicting(tables, codes, self._best, self._max_marginals(tables).node))
        _check_feasible(found.values, tables, self)
        return Best(found.codes, sign * found.values)

    def _best(self, tables: GraphTables) -> Best:
        from ramify._kernels.forest_max import best_labels

        codes, values = np.zeros(len(tables.node), np.int32), np.empty(len(tables))
        forests, others = self._parted(tables)
        if len(forests):
            layout = tables.layout
            best_labels(tables.node, tables.edge, tables.edge_table, *layout.passing, forests, codes, values)
        for s in others:
            found = self._maximum(factor_graph(tables, s), tables.layout.memory[s])
            values[s] = found.value
            codes[tables.offsets[s] : tables.offsets[s + 1]] = labels_of(tables, s, found.codes)
        return Best(codes, values)

    def bounds(self, theta, *, cost=None, within: Restriction | None = None) -> np.ndarray:
        """Proven upper bounds on the score of the best labels of every sample; equal to it where inference is exact."""
        tables = combined(theta, cost, within)
        if self._contradicts(within) is not None:
            raise ValueError("bounds: within.contradicts is not served; ask best_contradicting")
        with self.telling(quiet=True):
            forests, others = self._parted(tables)
            out = np.empty(len(tables))
            out[forests] = self._best(tables.take(forests)).values
            for s in others:
                out[s] = self._maximum(factor_graph(tables, s), tables.layout.memory[s]).bound
        return out

    def relaxes(self, theta) -> bool:
        """Whether :meth:`relaxed_best` differs from :meth:`best`: some best labels are not known exactly."""
        _, others = self._parted(theta)
        return self.oracle == "relaxed" and any(
            self.best_method(factor_graph(theta, s)) in NOT_EXACT for s in others
        )

    def relaxed_best(self, theta, *, cost=None, within: Restriction | None = None, weight=None) -> Relaxed:
        """Maxima for learning: exact where that is possible, else of the linear program over the local polytope.

        ``values`` are never below the exact maxima and convex in theta, with ``counts`` (times ``weight``) as
        subgradient.
        """
        tables, weight = combined(theta, cost, within), _weights(theta, weight)
        if self._contradicts(within) is not None:
            raise ValueError("relaxed_best: within.contradicts is not served")
        _, others = self._parted(tables)
        relaxed = {
            s: graph for s in others if self.best_method(graph := factor_graph(tables, s)) in NOT_EXACT
        }
        exact = np.array([s for s in range(len(tables)) if s not in relaxed], np.int64)
        values, codes = np.empty(len(tables)), np.zeros(len(tables.node), np.int32)
        own = np.zeros(len(tables))
        own[exact] = weight[exact]
        with self.telling():
            part = tables.take(exact)
            found = self._best(part)
            values[exact] = found.values
            codes[gather(tables.offsets, exact)[0]] = found.codes
            counts = tables.zeros()
            for s, graph in relaxed.items():
                point = self._relaxation(graph, tables.layout.memory[s])
                values[s] = point.value
                add_answer(tables, s, point.unary, point.factor, float(weight[s]), counts)
        _check_feasible(values, tables, self)
        counts = self.count(tables, codes, weight=own, into=counts)
        return Relaxed(values, _summed_like(counts, theta))

    def best_contradicting(self, theta, codes, *, cost=None, within: Restriction | None = None) -> Best:
        """Highest-scoring labels that differ from ``codes`` somewhere (-1 in ``codes`` cannot be contradicted)."""
        within = Restriction() if within is None else within
        if within.contradicts is not None:
            raise ValueError("within.contradicts names a second annotation to contradict; give one, as codes")
        return self.best(theta, cost=cost, within=replace(within, contradicts=np.asarray(codes)))

    def k_best(self, theta, k: int, *, cost=None, within=None) -> list[list[tuple[np.ndarray, float]]]:
        """The k best distinct outputs of every sample, best first; fewer where fewer exist. Exact inference only.

        Returns
        -------
        list of list of (codes, value)
        """
        if k < 1:
            raise ValueError(f"k must be at least 1, got {k}")
        tables, codes = combined(theta, cost, within), self._contradicts(within)
        self._require_exact(tables, "k_best")
        if codes is None:
            ranked = k_best(tables, k, self._best)
        else:
            ranked = [[] for _ in range(len(tables))]
            copies = first_contradictions(tables, codes)
            for s, more in zip(copies.sample.tolist(), k_best(copies.tables, k, self._best)):
                ranked[s] += more
            ranked = [sorted(own, key=lambda item: (-item[1], item[0].tolist()))[:k] for own in ranked]
        _check_feasible(np.array([own[0][1] if own else -np.inf for own in ranked]), tables, self)
        return ranked

    def max_marginals(self, theta, *, cost=None, within=None) -> GraphTables:
        """Best value with each part fixed, one table a part, as in :meth:`marginals`; -inf if impossible."""
        tables, codes = combined(theta, cost, within), self._contradicts(within)
        self._require_exact(tables, "max_marginals")
        if codes is None:
            out = self._max_marginals(tables)
        else:
            copies = first_contradictions(tables, codes)
            own = self._max_marginals(copies.tables)
            out = replace(_per_part(tables, -np.inf), layout=tables.layout)
            _fold(own, copies.sample, out, np.maximum)
        if len(tables):
            _check_feasible(np.maximum.reduceat(out.node.max(axis=1), tables.offsets[:-1]), tables, self)
        return out

    def _max_marginals(self, tables: GraphTables) -> GraphTables:
        from ramify._kernels.forest_max import max_marginals

        out = _per_part(tables, -np.inf)
        forests, others = self._parted(tables)
        layout = tables.layout
        if len(forests):
            max_marginals(
                tables.node, tables.edge, tables.edge_table, *layout.passing, layout.first_child, layout.n_children,
                forests, out.node, out.edge,
            )  # fmt: skip
        for s in others:
            tree = self._exact_tree(tables, s, "max-marginals")
            zero = _per_part(tables.take(np.array([s])), 0.0)
            unary, factor = tree.max_marginals(factor_graph(tables, s))
            add_answer(tables.take(np.array([s])), 0, unary, factor, 1.0, zero, largest=True)
            if zero.allowed is not None:  # labels that the types lack are impossible, not worth 0
                _forbid_lacking(zero)
            _put(zero, out, s)
        return out

    # -- all ----------------------------------------------------------------------------------------------------

    def log_partition(self, theta, *, cost=None, within=None) -> np.ndarray:
        """``log sum_y exp(f(y) + cost(y))`` over the allowed outputs of every sample."""
        tables, codes = combined(theta, cost, within), self._contradicts(within)
        with self.telling():
            if codes is None:
                log_z = self._log_partitions(tables)
            else:
                copies = first_contradictions(tables, codes)
                log_z, _ = per_sample(self._log_partitions(copies.tables), copies.sample, len(tables))
        _check_feasible(log_z, tables, self)
        return log_z

    def _log_partitions(self, tables: GraphTables) -> np.ndarray:
        from ramify._kernels.forest_sum import log_partitions

        log_z = np.empty(len(tables))
        forests, others = self._parted(tables)
        layout = tables.layout
        if len(forests):
            log_partitions(
                tables.node, tables.edge, tables.edge_table, *layout.passing, layout.first_child, layout.n_children,
                forests, log_z,
            )  # fmt: skip
        for s in others:
            log_z[s] = self._log_sum(factor_graph(tables, s), layout.memory[s])
        return log_z

    def expectation(self, theta, *, cost=None, within=None, weight=None) -> Expectation:
        """Log-partitions and expected counts in theta's shape; ``weight`` multiplies each sample's counts."""
        return self._expectation(theta, cost, within, weight, per_part=False)

    def marginals(self, theta, *, cost=None, within=None) -> GraphTables:
        """Probability of every label part: node (rows, labels), edge (edges, labels, labels), a table a clique."""
        return self._expectation(theta, cost, within, None, per_part=True).counts

    def _expectation(self, theta, cost, within, weight, per_part) -> Expectation:
        tables, codes = combined(theta, cost, within), self._contradicts(within)
        weight = _weights(theta, weight)
        with self.telling():
            if codes is None:
                own = tables.per_edge() if per_part else tables
                log_z, counts = self._sums(own, weight)
            else:
                log_z, counts = self._contradicting_sums(tables, codes, weight)
        _check_feasible(log_z, tables, self)
        return Expectation(log_z, counts if per_part else _summed_like(counts, theta))

    def _sums(self, tables: GraphTables, weight: np.ndarray) -> tuple[np.ndarray, GraphTables]:
        from ramify._kernels.forest_sum import expectations

        log_z, counts = np.empty(len(tables)), tables.zeros()
        forests, others = self._parted(tables)
        layout = tables.layout
        if len(forests):
            expectations(
                tables.node, tables.edge, tables.edge_table, *layout.passing, layout.first_child, layout.n_children,
                forests, weight, log_z, counts.node, counts.edge,
            )  # fmt: skip
        for s in others:
            found = self._sum(factor_graph(tables, s), layout.memory[s])
            log_z[s] = found.log_z
            if found.log_z > -np.inf:
                add_answer(tables, s, found.unary, found.factor, float(weight[s]), counts)
        return log_z, counts

    def _contradicting_sums(self, tables: GraphTables, codes, weight) -> tuple[np.ndarray, GraphTables]:
        """Sums over the labelings that contradict, one table a part: a mixture of the sums of the copies."""
        copies = first_contradictions(tables, codes)
        own = copies.tables.per_edge()
        log_z, share = per_sample(self._log_partitions(own), copies.sample, len(tables))
        alive = np.flatnonzero(share > 0)
        part = own.take(alive)
        _, counts = self._sums(part, share[alive] * weight[copies.sample[alive]])
        out = _per_part(tables, 0.0)
        _fold(counts, copies.sample[alive], out, np.add)
        return log_z, out

    def entropy(self, theta, *, cost=None, within=None) -> np.ndarray:
        """Entropy (nats) of every sample's distribution ``p(y) ~ exp(f(y) + cost(y))``.

        Where sums are not exact it is ``log Z - <theta, marginals>``, the entropy of the free energy.
        """
        tables, codes = combined(theta, cost, within), self._contradicts(within)
        with self.telling():
            if codes is None:
                log_z, out = self._entropies(tables.per_edge())
            else:
                copies = first_contradictions(tables, codes)
                own_log_z, own = self._entropies(copies.tables.per_edge())
                log_z, share = per_sample(own_log_z, copies.sample, len(tables))
                out = np.zeros(len(tables))
                terms = np.where(share > 0, share * (own - np.log(np.where(share > 0, share, 1.0))), 0.0)
                np.add.at(out, copies.sample, terms)
        _check_feasible(log_z, tables, self)
        return np.maximum(out, 0.0)

    def _entropies(self, tables: GraphTables) -> tuple[np.ndarray, np.ndarray]:
        """Log-partitions and entropies; of forests from their marginals: pairs minus nodes that they share."""
        log_z, mu = self._sums(tables, np.ones(len(tables)))
        degree = np.bincount(tables.edges.ravel(), minlength=len(tables.node))
        rows = _entropy(mu.node) * (1.0 - degree)
        by_sample = np.repeat(np.arange(len(tables)), np.diff(tables.offsets))
        out = np.bincount(by_sample, rows, minlength=len(tables))
        by_edge = np.repeat(np.arange(len(tables)), np.diff(tables.edge_offsets))
        out += np.bincount(by_edge, _entropy(mu.edge), minlength=len(tables))
        for s in self._parted(tables)[1]:
            if log_z[s] > -np.inf:
                out[s] = self._entropy_by_energy(tables.take(np.array([s])), mu.take(np.array([s])), log_z[s])
        return log_z, out

    def _entropy_by_energy(self, one: GraphTables, mu: GraphTables, log_z: float) -> float:
        """``log Z - <theta, mu>`` of one sample, relative to a likely labeling: large potentials then cancel early."""
        codes = self._best(one).codes
        rows = np.arange(len(codes))
        ends = codes[one.edges]
        node = one.node - one.node[rows, codes][:, None]
        edge = one.edge - one.edge[np.arange(len(ends)), ends[:, 0], ends[:, 1]][:, None, None]
        factors = tuple(
            values - values[_entries(one, k, codes)].reshape(-1, *(1,) * (values.ndim - 1))
            for k, values in enumerate(one.factors)
        )
        energy = replace(one, node=node, edge=edge, factors=factors).dot(mu)
        return float(log_z - self.score(one, codes)[0] - energy)

    def sample(self, theta, n_draws: int = 1, *, random_state=None, cost=None, within=None) -> np.ndarray:
        """Exact samples from ``p(y) ~ exp(f(y) + cost(y))``. Exact inference only.

        Returns
        -------
        ndarray of int32, shape (n_draws, n_rows)
        """
        if n_draws < 0:
            raise ValueError(f"n_draws must be at least 0, got {n_draws}")
        tables, codes = combined(theta, cost, within), self._contradicts(within)
        self._require_exact(tables, "sample")
        rng = np.random.default_rng(random_state)
        uniform = rng.random((n_draws, len(tables.node)))
        if codes is None:
            return self._draws(tables, uniform, np.ones((n_draws, len(tables)), bool), tables, rng)
        copies = first_contradictions(tables, codes)
        log_z, share = per_sample(self._log_partitions(copies.tables), copies.sample, len(tables))
        _check_feasible(log_z, tables, self)
        paths = np.zeros(uniform.shape, np.int32)
        pick = rng.random((n_draws, len(tables)))
        for s in range(len(tables)):
            own = np.flatnonzero((copies.sample == s) & (share > 0))
            rows = slice(tables.offsets[s], tables.offsets[s + 1])
            chosen = own[np.minimum(np.searchsorted(np.cumsum(share[own]), pick[:, s]), len(own) - 1)]
            part = copies.tables.take(own)
            wanted = chosen[:, None] == own
            drawn = self._draws(part, np.tile(uniform[:, rows], (1, len(own))), wanted, tables, rng)
            drawn = drawn.reshape(n_draws, len(own), -1)
            paths[:, rows] = drawn[np.arange(n_draws), np.searchsorted(own, chosen)]
        return paths

    def _draws(
        self, tables: GraphTables, uniform: np.ndarray, wanted: np.ndarray, given: GraphTables, rng: Any
    ) -> np.ndarray:
        from ramify._kernels.forest_sum import draw_labels

        paths = np.zeros(uniform.shape, np.int32)
        forests, others = self._parted(tables)
        if len(forests):
            bad = draw_labels(
                tables.node,
                tables.edge,
                tables.edge_table,
                *tables.layout.passing,
                forests,
                wanted,
                uniform,
                paths,
            )
            if bad >= 0:
                raise _infeasible(int(bad), given, self)
        for s in others:
            rows = slice(tables.offsets[s], tables.offsets[s + 1])
            draws = np.flatnonzero(wanted[:, s])
            graph, tree = factor_graph(tables, s), self._exact_tree(tables, s, "samples")
            if not tree.log_partition(graph) > -np.inf:
                raise _infeasible(s, given, self)
            more = rng.random((len(draws), graph.n_vars - (rows.stop - rows.start)))  # of auxiliary variables
            drawn = tree.sample(graph, np.hstack([uniform[draws, rows], more]))
            for d, codes in zip(draws, drawn):
                paths[d, rows] = labels_of(tables, s, codes)
        return paths

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
        node = self.expectation(theta, cost=cost, within=within).counts.node
        # Summed label by label, since a matrix product may round a row differently in another batch.
        expected = sum(np.multiply.outer(node[:, i], risk[i]) for i in range(theta.n_labels))
        tables = combined(theta, cost, None)
        node, edge, *factors = (  # what potentials forbid is no answer either
            np.where(np.isneginf(values), -np.inf, number)
            for values, number in zip(
                (tables.node, tables.edge, *tables.factors), (expected, 0.0, *(0.0 for _ in tables.factors))
            )
        )
        return self.worst(replace(tables, node=node, edge=edge, factors=tuple(factors)), within=within)

    # -- given --------------------------------------------------------------------------------------------------

    def score(self, theta, codes, *, cost=None, within=None) -> np.ndarray:
        """Score plus cost of given outputs; -inf for one that the restriction forbids."""
        from ramify._kernels.forest_given import labeling_scores

        tables, codes = combined(theta, cost, within), _codes(theta, codes)
        values = np.empty(len(tables))
        labeling_scores(
            tables.node,
            tables.edge,
            tables.edge_table,
            tables.offsets,
            tables.edge_offsets,
            tables.edges,
            codes,
            values,
        )
        for k, (group, own) in enumerate(zip(tables.layout.cliques, tables.factors)):
            if len(group.nodes):
                entry = own[_entries(tables, k, codes)]
                owner = np.repeat(np.arange(len(tables)), np.diff(group.offsets))
                np.add.at(values, owner, entry)
        contradicts = self._contradicts(within)
        if contradicts is not None and len(tables):
            contra = (contradicts >= 0) & (contradicts != codes)
            values[np.add.reduceat(contra.astype(np.int64), theta.offsets[:-1]) == 0] = -np.inf
        return values

    def log_proba(self, theta, codes, *, cost=None, within=None) -> np.ndarray:
        """Log-probability of given outputs."""
        given = self.score(theta, codes, cost=cost, within=within)
        return given - self.log_partition(theta, cost=cost, within=within)

    def count(self, theta, codes, *, weight=None, into: GraphTables | None = None) -> GraphTables:
        """Counts of given outputs in theta's shape, each sample's times its ``weight``; added to ``into`` if given."""
        from ramify._kernels.forest_given import add_counts

        theta.check()
        codes, weight = _codes(theta, codes), _weights(theta, weight)
        if into is None:
            into = theta.zeros()
        elif into.shapes != theta.shapes:
            raise ValueError(f"into has tables of shapes {into.shapes}, expected {theta.shapes}")
        add_counts(
            theta.edge_table,
            theta.offsets,
            theta.edge_offsets,
            theta.edges,
            codes,
            weight,
            into.node,
            into.edge,
        )
        for k, (group, own) in enumerate(zip(theta.layout.cliques, into.factors)):
            if len(group.nodes):
                owner = np.repeat(np.arange(len(theta)), np.diff(group.offsets))
                np.add.at(own, _entries(theta, k, codes), weight[owner])
        return into


def _entries(tables: GraphTables, k: int, codes: np.ndarray) -> tuple:
    """Index of the labels of the cliques of type k in their tables."""
    rows = tables.layout.clique_rows(k)
    which = np.zeros(len(rows), np.int64) if len(tables.factors[k]) == 1 else np.arange(len(rows))
    if tables.layout.cliques[k].kind != "table":
        return (which, states(tables, k, codes))
    return (which, *codes[rows].T)


def _entropy(p: np.ndarray) -> np.ndarray:
    """Entropy of every distribution along the axes after the first."""
    flat = p.reshape(len(p), int(np.prod(p.shape[1:])))
    return -np.sum(np.where(flat > 0, flat * np.log(np.where(flat > 0, flat, 1.0)), 0.0), axis=1)


def _per_part(tables: GraphTables, fill: float) -> GraphTables:
    """Tables filled with a number, one for every part."""
    out = tables.zeros(per_part=True)
    if fill:
        for array in (out.node, out.edge, *out.factors):
            array[:] = fill
    return out


def _summed_like(counts: GraphTables, theta: GraphTables) -> GraphTables:
    """Counts in the shape of ``theta``: tables of parts that share one there are added up."""
    edge, factors = counts.edge, counts.factors
    if counts.edge_table is not theta.edge_table and not (
        edge.shape == theta.edge.shape and np.array_equal(counts.edge_table, theta.edge_table)
    ):
        edge = np.zeros_like(theta.edge)
        np.add.at(edge, theta.edge_table, counts.edge[counts.edge_table])
    factors = tuple(
        own.sum(axis=0, keepdims=True) if len(like) == 1 and len(own) != 1 else own
        for own, like in zip(factors, theta.factors)
    )
    factors = tuple(
        np.zeros_like(like) if own.shape != like.shape and not own.size else own
        for own, like in zip(factors, theta.factors)
    )
    return replace(counts, edge=edge, edge_table=theta.edge_table, factors=factors, layout=theta.layout)


def _fold(own: GraphTables, sample: np.ndarray, out: GraphTables, ufunc: Any) -> None:
    """Combine the numbers of the parts of copies with those of their samples."""
    rows, _ = gather(out.offsets, sample)
    ufunc.at(out.node, rows, own.node)
    edges, _ = gather(out.edge_offsets, sample)
    ufunc.at(out.edge, edges, own.edge)
    for mine, theirs, group in zip(out.factors, own.factors, out.layout.cliques):
        ufunc.at(mine, gather(group.offsets, sample)[0], theirs)


def _put(one: GraphTables, out: GraphTables, s: int) -> None:
    """Write the numbers of a single sample to their places in the batch."""
    out.node[out.offsets[s] : out.offsets[s + 1]] = one.node
    out.edge[out.edge_offsets[s] : out.edge_offsets[s + 1]] = one.edge
    for mine, theirs, group in zip(out.factors, one.factors, out.layout.cliques):
        mine[group.offsets[s] : group.offsets[s + 1]] = theirs


def _forbid_lacking(tables: GraphTables) -> None:
    """-inf at the labels that the types of nodes lack, in the tables of all parts."""
    mask = tables.allowed.rows(tables.layout)  # type: ignore[union-attr]
    tables.node[~mask] = -np.inf
    ends = tables.edges
    tables.edge[~(mask[ends[:, 0]][:, :, None] & mask[ends[:, 1]][:, None, :])] = -np.inf
    for k, values in enumerate(tables.factors):
        if tables.layout.cliques[k].kind != "table":
            continue
        for axis, rows in enumerate(tables.layout.clique_rows(k).T):
            shape = [len(rows)] + [1] * (values.ndim - 1)
            shape[axis + 1] = tables.n_labels
            values[np.broadcast_to(~mask[rows].reshape(shape), values.shape)] = -np.inf
