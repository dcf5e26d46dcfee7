"""Sums over the labelings of graphs of any shape: forests of a batch in one compiled call, graphs of one shape
in others, where they are exact or have two labels, the rest one by one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from palmette.contracts.structure import Best, Expectation
from palmette.structures.graph.best import best_labels_of
from palmette.structures.graph.factor_graphs import add_answer, factor_graph, labels_of
from palmette.structures.graph.given import contradicted
from palmette.structures.graph.pair_sums import add_pair_sums
from palmette.structures.graph.part_tables import entries, entropy_of, fold, per_part, summed_like
from palmette.structures.graph.restricted_copies import first_contradictions, per_sample
from palmette.structures.graph.tables import GraphTables, combined
from palmette.structures.graph.tree_sums import add_tree_sums
from palmette.structures.positions.checks import _check_feasible, _expected_losses, _infeasible, _weights

if TYPE_CHECKING:
    from palmette.structures.graph.graph import Graph


def log_partition(structure: Graph, theta: Any, *, cost: Any = None, within: Any = None) -> np.ndarray:
    """``log sum_y exp(f(y) + cost(y))`` over the allowed outputs of every sample."""
    tables, codes = combined(theta, cost, within), contradicted(within)
    with structure.telling():
        if codes is None:
            log_z = _log_partitions(structure, tables)
        else:
            copies = first_contradictions(tables, codes)
            log_z, _ = per_sample(_log_partitions(structure, copies.tables), copies.sample, len(tables))
    _check_feasible(log_z, tables, structure)
    return log_z


def _log_partitions(structure: Graph, tables: GraphTables) -> np.ndarray:
    from palmette.structures.graph.kernels.forest_sum import log_partitions

    log_z = np.empty(len(tables))
    forests, others = structure.parted(tables)
    layout = tables.layout
    if len(forests):
        log_partitions(*tables.arguments, forests, log_z)
    if len(others):
        others = add_pair_sums(structure, tables, others, np.ones(len(tables)), log_z, tables.zeros())
    for s in others:
        log_z[s] = structure.log_sum_of(factor_graph(tables, s), layout.memory[s])
    return log_z


def expectation(
    structure: Graph, theta: Any, *, cost: Any = None, within: Any = None, weight: Any = None
) -> Expectation:
    """Log-partitions and expected counts in theta's shape; ``weight`` multiplies each sample's counts."""
    return _expectation(structure, theta, cost, within, weight, per_part=False)


def marginals(structure: Graph, theta: Any, *, cost: Any = None, within: Any = None) -> GraphTables:
    """Probability of every label part: node (rows, labels), edge (edges, labels, labels), a table per clique."""
    return _expectation(structure, theta, cost, within, None, per_part=True).counts


def _expectation(
    structure: Graph, theta: Any, cost: Any, within: Any, weight: Any, per_part: Any
) -> Expectation:
    tables, codes = combined(theta, cost, within), contradicted(within)
    weight = _weights(theta, weight)
    with structure.telling():
        if codes is None:
            own = tables.per_edge() if per_part else tables
            log_z, counts = _sums(structure, own, weight)
        else:
            log_z, counts = _contradicting_sums(structure, tables, codes, weight)
    _check_feasible(log_z, tables, structure)
    return Expectation(log_z, counts if per_part else summed_like(counts, theta))


def _sums(structure: Graph, tables: GraphTables, weight: np.ndarray) -> tuple[np.ndarray, GraphTables]:
    from palmette.structures.graph.kernels.forest_sum import expectations

    log_z, counts = np.empty(len(tables)), tables.zeros()
    forests, others = structure.parted(tables)
    layout = tables.layout
    if len(forests):
        expectations(*tables.arguments, forests, weight, log_z, counts.node, counts.edge)
    others = add_pair_sums(structure, tables, others, weight, log_z, counts)
    for s in add_tree_sums(structure, tables, others, weight, log_z, counts):
        found = structure.sum_of(factor_graph(tables, s), layout.memory[s])
        log_z[s] = found.log_z
        if found.log_z > -np.inf:
            add_answer(tables, s, found.unary, found.factor, float(weight[s]), counts)
    return log_z, counts


def _contradicting_sums(
    structure: Graph, tables: GraphTables, codes: Any, weight: Any
) -> tuple[np.ndarray, GraphTables]:
    """Sums over the labelings that contradict, one table per part: a mixture of the sums of the copies."""
    copies = first_contradictions(tables, codes)
    own = copies.tables.per_edge()
    log_z, share = per_sample(_log_partitions(structure, own), copies.sample, len(tables))
    alive = np.flatnonzero(share > 0)
    part = own.take(alive)
    _, counts = _sums(structure, part, share[alive] * weight[copies.sample[alive]])
    out = per_part(tables, 0.0)
    fold(counts, copies.sample[alive], out, np.add)
    return log_z, out


def entropy(structure: Graph, theta: Any, *, cost: Any = None, within: Any = None) -> np.ndarray:
    """Entropy (nats) of every sample's distribution ``p(y) ~ exp(f(y) + cost(y))``.

    Where sums are not exact it is ``log Z - <theta, marginals>``, the entropy of the free energy.
    """
    tables, codes = combined(theta, cost, within), contradicted(within)
    with structure.telling():
        if codes is None:
            log_z, out = _entropies(structure, tables.per_edge())
        else:
            copies = first_contradictions(tables, codes)
            own_log_z, own = _entropies(structure, copies.tables.per_edge())
            log_z, share = per_sample(own_log_z, copies.sample, len(tables))
            out = np.zeros(len(tables))
            terms = np.where(share > 0, share * (own - np.log(np.where(share > 0, share, 1.0))), 0.0)
            np.add.at(out, copies.sample, terms)
    _check_feasible(log_z, tables, structure)
    return np.maximum(out, 0.0)


def _entropies(structure: Graph, tables: GraphTables) -> tuple[np.ndarray, np.ndarray]:
    """Log-partitions and entropies; of forests from their marginals: pairs minus nodes that they share."""
    log_z, mu = _sums(structure, tables, np.ones(len(tables)))
    degree = np.bincount(tables.edges.ravel(), minlength=len(tables.node))
    rows = entropy_of(mu.node) * (1.0 - degree)
    by_sample = np.repeat(np.arange(len(tables)), np.diff(tables.offsets))
    out = np.bincount(by_sample, rows, minlength=len(tables))
    by_edge = np.repeat(np.arange(len(tables)), np.diff(tables.edge_offsets))
    out += np.bincount(by_edge, entropy_of(mu.edge), minlength=len(tables))
    for s in structure.parted(tables)[1]:
        if log_z[s] > -np.inf:
            out[s] = _entropy_by_energy(
                structure, tables.take(np.array([s])), mu.take(np.array([s])), log_z[s]
            )
    return log_z, out


def _entropy_by_energy(structure: Graph, one: GraphTables, mu: GraphTables, log_z: float) -> float:
    """``log Z - <theta, mu>`` of one sample, relative to a likely labeling: large potentials then cancel early."""
    codes = best_labels_of(structure, one).codes
    rows = np.arange(len(codes))
    ends = codes[one.edges]
    node = one.node - one.node[rows, codes][:, None]
    edge = one.edge - one.edge[np.arange(len(ends)), ends[:, 0], ends[:, 1]][:, None, None]
    factors = tuple(
        values - values[entries(one, k, codes)].reshape(-1, *(1,) * (values.ndim - 1))
        for k, values in enumerate(one.factors)
    )
    energy = replace(one, node=node, edge=edge, factors=factors).dot(mu)
    return float(log_z - structure.score(one, codes)[0] - energy)


def sample(
    structure: Graph,
    theta: Any,
    n_draws: int = 1,
    *,
    random_state: Any = None,
    cost: Any = None,
    within: Any = None,
) -> np.ndarray:
    """Exact samples from ``p(y) ~ exp(f(y) + cost(y))``. Exact inference only.

    Returns
    -------
    ndarray of int32, shape (n_draws, n_rows)
    """
    if n_draws < 0:
        raise ValueError(f"n_draws must be at least 0, got {n_draws}")
    tables, codes = combined(theta, cost, within), contradicted(within)
    structure.require_exact(tables, "sample")
    rng = np.random.default_rng(random_state)
    uniform = rng.random((n_draws, len(tables.node)))
    if codes is None:
        return _draws(structure, tables, uniform, np.ones((n_draws, len(tables)), bool), tables, rng)
    copies = first_contradictions(tables, codes)
    log_z, share = per_sample(_log_partitions(structure, copies.tables), copies.sample, len(tables))
    _check_feasible(log_z, tables, structure)
    paths = np.zeros(uniform.shape, np.int32)
    pick = rng.random((n_draws, len(tables)))
    for s in range(len(tables)):
        own = np.flatnonzero((copies.sample == s) & (share > 0))
        rows = slice(tables.offsets[s], tables.offsets[s + 1])
        chosen = own[np.minimum(np.searchsorted(np.cumsum(share[own]), pick[:, s]), len(own) - 1)]
        part = copies.tables.take(own)
        wanted = chosen[:, None] == own
        drawn = _draws(structure, part, np.tile(uniform[:, rows], (1, len(own))), wanted, tables, rng)
        drawn = drawn.reshape(n_draws, len(own), -1)
        paths[:, rows] = drawn[np.arange(n_draws), np.searchsorted(own, chosen)]
    return paths


def _draws(
    structure: Graph,
    tables: GraphTables,
    uniform: np.ndarray,
    wanted: np.ndarray,
    given: GraphTables,
    rng: Any,
) -> np.ndarray:
    from palmette.structures.graph.kernels.forest_sum import draw_labels

    paths = np.zeros(uniform.shape, np.int32)
    forests, others = structure.parted(tables)
    if len(forests):
        bad = draw_labels(*tables.arguments, forests, wanted, uniform, paths)
        if bad >= 0:
            raise _infeasible(int(bad), given, structure)
    for s in others:
        rows = slice(tables.offsets[s], tables.offsets[s + 1])
        draws = np.flatnonzero(wanted[:, s])
        graph, tree = factor_graph(tables, s), structure.exact_tree(tables, s, "samples")
        if not tree.log_partition(graph) > -np.inf:
            raise _infeasible(s, given, structure)
        more = rng.random((len(draws), graph.n_vars - (rows.stop - rows.start)))  # of auxiliary variables
        drawn = tree.sample(graph, np.hstack([uniform[draws, rows], more]))
        for d, codes in zip(draws, drawn):
            paths[d, rows] = labels_of(tables, s, codes)
    return paths


def min_risk(
    structure: Graph, theta: Any, risk: np.ndarray | None = None, *, cost: Any = None, within: Any = None
) -> Best:
    """Output of least expected loss among the allowed ones; values are the expected losses.

    Parameters
    ----------
    risk : ndarray of shape (n_labels, n_labels), optional
        ``risk[i, j]`` is the loss of answering j where i is true; by default 1 unless i = j (Hamming).
    """
    expected: Any = _expected_losses(structure.expectation(theta, cost=cost, within=within).counts.node, risk)
    tables = combined(theta, cost, None)
    node, edge, *factors = (  # what potentials forbid is not an answer either
        np.where(np.isneginf(values), -np.inf, number)
        for values, number in zip(
            (tables.node, tables.edge, *tables.factors), (expected, 0.0, *(0.0 for _ in tables.factors))
        )
    )
    return structure.worst(replace(tables, node=node, edge=edge, factors=tuple(factors)), within=within)
