"""Sums of graphs of two labels, eight of a shape at once: against general messages, single graphs and enumeration."""

from __future__ import annotations

import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palmette import CRF, Graph
from palmette.errors import ApproximateInferenceWarning
from palmette.inference import pair_sums, reweighted
from palmette.inference.entropy import Entropy
from palmette.inference.factor_graph import FactorGraph, Topology
from palmette.structures import GraphTables, grid_graph
from palmette.structures.graph import pair_sums as batches
from palmette.structures.graph import sums
from palmette.structures.graph.batch import GraphLayout
from palmette.structures.graph.factor_graphs import factor_graph

pytestmark = pytest.mark.filterwarnings("ignore::palmette.errors.ApproximateInferenceWarning")
SHAPES = [(2, 3)] * 11 + [(3, 3), (1, 4), (2, 2)] + [(3, 3)] * 2 + [(2, 3)]  # a forest among them


def grids(rng, shapes=SHAPES, strength=1.0, shared=False):
    """Potentials of grids of these heights and widths; a table for each edge, or two for all."""
    X = [grid_graph(np.zeros((h, w, 1))) for h, w in shapes]
    offsets = np.cumsum([0, *(len(x) for x in X)])
    layout = GraphLayout(
        offsets, np.cumsum([0, *(x.n_edges for x in X)]), np.concatenate([x.edges for x in X])
    )
    n = layout.n_edges
    return GraphTables(
        rng.normal(size=(offsets[-1], 2)), strength * rng.normal(size=(2 if shared else n, 2, 2)), offsets,
        layout=layout, edge_table=rng.integers(0, 2, n) if shared else np.arange(n),
    )  # fmt: skip


def structure(**options):
    return Graph(memory_limit=1, **{"tol": 1e-11, **options})


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("strength", [0.5, 3.0])
def test_a_batch_has_the_sums_of_general_messages(shared, strength, monkeypatch):
    rng = np.random.default_rng(0)
    tables, weight = grids(rng, strength=strength, shared=shared), rng.uniform(0.5, 2.0, len(SHAPES))
    fast = structure().expectation(tables, weight=weight)
    np.testing.assert_array_equal(structure().log_partition(tables), fast.log_z)
    marginals = structure().marginals(tables)
    monkeypatch.setattr(sums, "add_pair_sums", lambda structure, tables, samples, *given: samples)
    monkeypatch.setattr(reweighted, "_pair_parts", lambda *given: None)
    slow = structure().expectation(tables, weight=weight)
    np.testing.assert_allclose(fast.log_z, slow.log_z, rtol=1e-10)
    np.testing.assert_allclose(fast.counts.node, slow.counts.node, atol=1e-5)
    np.testing.assert_allclose(fast.counts.edge, slow.counts.edge, atol=1e-4)
    np.testing.assert_allclose(marginals.edge, structure().marginals(tables).edge, atol=1e-5)


def test_what_a_graph_gets_does_not_depend_on_the_others():
    tables = grids(np.random.default_rng(1), strength=2.0)
    found = structure(tol=1e-6).expectation(tables)
    for s in range(len(SHAPES)):
        alone = structure(tol=1e-6).expectation(tables.take(np.array([s])))
        assert alone.log_z[0] == found.log_z[s]
        rows = slice(tables.offsets[s], tables.offsets[s + 1])
        edges = slice(tables.edge_offsets[s], tables.edge_offsets[s + 1])
        np.testing.assert_array_equal(alone.counts.node, found.counts.node[rows])
        np.testing.assert_array_equal(alone.counts.edge, found.counts.edge[edges])


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), strength=st.sampled_from([0.1, 1.0, 5.0, 20.0]))
def test_bounds_hold_and_marginals_are_consistent(seed, strength):
    """For any number of sweeps: a bound on the exact sum from above, on its own optimum from below."""
    rng = np.random.default_rng(seed)
    tables = grids(rng, [(3, 3)], strength)
    exact = Graph().log_partition(tables)[0]
    graph = factor_graph(tables, 0)
    last = reweighted.reweighted_parts(graph, tol=1e-9)
    for max_iter in (1, 2, 5, 2000):
        found = reweighted.reweighted_parts(graph, tol=1e-9, max_iter=max_iter)
        scale = 1e-12 * max(1.0, abs(exact))
        assert found.upper.sum() >= exact - scale
        assert found.lower.sum() <= last.upper.sum() + scale
        pairs, ends = found.factor.reshape(-1, 2, 2), found.unary.reshape(-1, 2)[tables.edges]
        np.testing.assert_allclose(pairs.sum(axis=2), ends[:, 0], atol=1e-14)
        np.testing.assert_allclose(pairs.sum(axis=1), ends[:, 1], atol=1e-14)
        assert found.factor.min() >= 0.0
        # the bound from below is what the marginals are worth
        entropy = Entropy.of(graph.topology)
        worth = graph.dot(found.unary, found.factor) + entropy.value(
            graph.topology, found.unary, found.factor
        )
        assert found.lower.sum() == pytest.approx(worth, abs=1e-9 * max(1.0, abs(worth)))


def test_sums_do_not_depend_on_which_object_tells_a_shape(monkeypatch):
    """Threads that meet a shape at once, or another process, may have objects of their own."""
    shapes = [(2, 3), (3, 3), (4, 3)] * 9
    tables = grids(np.random.default_rng(7), shapes, shared=True)
    known = structure().expectation(tables)
    tables = grids(np.random.default_rng(7), shapes, shared=True)
    monkeypatch.setattr(Topology, "shared", Topology)
    other = structure().expectation(tables)
    assert np.array_equal(known.log_z, other.log_z)
    assert np.array_equal(known.counts.edge, other.counts.edge)


def test_threads_that_meet_a_shape_at_once_share_it():
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(2) as pool:
            for n in range(2, 400):
                given = np.full(n, 2), np.array([0, 2]), np.array([0, 1])
                one, two = pool.map(lambda _, given=given: Topology.shared(*given), range(2))
                assert one is two
    finally:
        sys.setswitchinterval(interval)


def test_marginals_are_the_gradient():
    rng = np.random.default_rng(2)
    tables, model = grids(rng, [(3, 4)] * 3, strength=1.5), structure(tol=1e-13)
    counts = model.expectation(tables).counts
    way = grids(rng, [(3, 4)] * 3)

    def value(step):
        moved = GraphTables(
            tables.node + step * way.node, tables.edge + step * way.edge, tables.offsets, layout=tables.layout,
            edge_table=tables.edge_table,
        )  # fmt: skip
        return float(model.log_partition(moved).sum())

    eps = 1e-3
    slope = (value(-2 * eps) - 8 * value(-eps) + 8 * value(eps) - value(2 * eps)) / (12 * eps)
    assert slope == pytest.approx(counts.dot(way), abs=1e-7)


def test_only_finite_tables_that_vary_little_are_served():
    tables = grids(np.random.default_rng(3), [(2, 3)] * 5)
    tables.node[0, 1] = -np.inf
    tables.edge[7, 0, 0] = -np.inf
    tables.edge[14] = [[0.0, 90.0], [0.0, 0.0]]  # over rho, above SPREAD
    log_z = np.full(5, np.nan)
    left = batches.add_pair_sums(structure(), tables, [0, 1, 2, 3, 4], np.ones(5), log_z, tables.zeros())
    assert left == [0, 1, 2] and np.isfinite(log_z).tolist() == [False, False, False, True, True]
    exact, found = Graph().log_partition(tables), structure().log_partition(tables)
    assert np.all(found >= exact - 1e-9) and np.all(np.isfinite(found))


def test_components_stop_on_their_own():
    """Two grids and a lone variable as one graph: the parts are those of the grids alone."""
    tables = grids(np.random.default_rng(4), [(2, 3), (3, 3)], strength=3.0)
    parts = [factor_graph(tables, s) for s in (0, 1)]
    scope = np.concatenate([parts[0].topology.scope, parts[1].topology.scope + 6])
    topology = Topology(np.full(16, 2), np.arange(0, len(scope) + 1, 2), scope)
    graph = FactorGraph(
        topology, np.concatenate([parts[0].unary, parts[1].unary, [1.0, 2.0]]),
        np.concatenate([part.own_values for part in parts]), topology.table_ptr[:-1].copy(),
    )  # fmt: skip
    found = reweighted.reweighted_parts(graph, tol=1e-9)
    alone = [reweighted.reweighted_parts(part, tol=1e-9) for part in parts]
    np.testing.assert_allclose(found.upper[:2], [run.upper[0] for run in alone], rtol=1e-14)
    assert found.sweeps[:2].tolist() == [run.sweeps[0] for run in alone]
    assert found.upper[2] == pytest.approx(np.logaddexp(1.0, 2.0), abs=1e-12)


def test_a_crf_is_the_same_for_any_number_of_threads_and_starts_warm(monkeypatch):
    rng = np.random.default_rng(5)
    truth = [np.kron(rng.integers(0, 2, (3, 3)), np.ones((4, 4), int)) for _ in range(70)]
    X = [grid_graph(y[:, :, None] + rng.normal(size=(12, 12, 1))) for y in truth]
    Y = [y.ravel().tolist() for y in truth]
    runs, solve = [], pair_sums.solve

    def told(*given):
        runs.append(solve(*given))
        return runs[-1]

    def fit(n_jobs):
        return CRF(Graph(symmetric=True, memory_limit=1), l2=1.0, max_iter=6, n_jobs=n_jobs).fit(X, Y)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        two = fit(2)
        monkeypatch.setattr(pair_sums, "solve", told)
        one = fit(1)
        warm = int(runs[-1].sweeps.sum())
        n_own = len(runs[-1].upper)
        runs.clear()
        one.structure_.expectation(one.scorer_.score(one.coef_, one.encode(X[-n_own:]).batch))
    assert np.array_equal(one.coef_, two.coef_) and one.objective_ == two.objective_
    assert warm < int(runs[-1].sweeps.sum())


def test_approximate_sums_are_announced_once():
    tables = grids(np.random.default_rng(6), [(3, 3)] * 9)
    with pytest.warns(ApproximateInferenceWarning, match="sums of 9 graphs are by reweighted") as told:
        structure().log_partition(tables)
    assert len(told) == 1
    with pytest.warns(ApproximateInferenceWarning, match="messages of 9 graphs did not converge"):
        structure(max_sweeps=1).log_partition(tables)
