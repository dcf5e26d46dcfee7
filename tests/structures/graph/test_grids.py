"""Two labels on graphs with cycles: cuts of a batch, the roof dual, messages as log odds, orders shared by shape."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest

from palmette import SSVM, Graph
from palmette.errors import ApproximateInferenceWarning
from palmette.inference import FactorGraph, reweighted
from palmette.inference import elimination as orders
from palmette.inference.factor_graph import Topology
from palmette.inference.relaxation import _linear_program
from palmette.inference.roof_dual import roof_dual
from palmette.structures import GraphTables, grid_graph
from palmette.structures.graph.batch import GraphLayout
from palmette.structures.graph.cuts import cut_samples


def batch(rng, sizes, submodular=True, whole=False):
    """Grids of these heights and widths, a table for each edge."""
    grids = [grid_graph(np.zeros((h, w, 1))) for h, w in sizes]
    offsets = np.cumsum([0, *(len(g) for g in grids)])
    edge_offsets = np.cumsum([0, *(g.n_edges for g in grids)])
    layout = GraphLayout(offsets, edge_offsets, np.concatenate([g.edges for g in grids]))
    n = layout.n_edges
    draw = (lambda shape: rng.integers(-2, 3, shape).astype(float)) if whole else rng.normal
    node, edge = (draw(shape) if whole else draw(size=shape) for shape in ((offsets[-1], 2), (n, 2, 2)))
    if submodular:
        lacks = edge[:, 0, 0] + edge[:, 1, 1] < edge[:, 0, 1] + edge[:, 1, 0]
        edge[lacks] = edge[lacks][:, ::-1]
    return GraphTables(node, np.ascontiguousarray(edge), offsets, layout=layout, edge_table=np.arange(n))


def best_by_enumeration(tables, s):
    one = tables.take(np.array([s]))
    every = np.array(list(itertools.product((0, 1), repeat=len(one.node))), np.int32)
    return max(float(Graph().score(one, codes)[0]) for codes in every)


@pytest.mark.parametrize("whole", [False, True])
def test_cuts_of_a_batch_against_enumeration(whole):
    rng = np.random.default_rng(0)
    tables = batch(rng, [(2, 2), (2, 3), (3, 3), (2, 3)], whole=whole)
    structure = Graph(memory_limit=1)
    assert cut_samples(structure, tables, [0, 1, 2, 3]).tolist() == [0, 1, 2, 3]
    codes, values, bounds = structure.bounded_best(tables)
    expected = [best_by_enumeration(tables, s) for s in range(4)]
    np.testing.assert_allclose(values, expected, atol=1e-9)
    np.testing.assert_allclose(bounds, values, atol=1e-9)
    np.testing.assert_allclose(structure.score(tables, codes), values, atol=1e-9)
    alone = np.concatenate([structure.best(tables.take(np.array([s]))).codes for s in range(4)])
    assert np.array_equal(alone, codes)  # what a sample gets does not depend on the others


def test_cuts_serve_only_what_is_finite_and_submodular():
    rng = np.random.default_rng(1)
    tables = batch(rng, [(2, 2), (2, 2), (2, 2)])
    tables.edge[0] = [[0.0, 5.0], [5.0, 0.0]]  # the first sample repels
    tables.node[5, 0] = -np.inf  # the second forbids
    assert cut_samples(Graph(), tables, [0, 1, 2]).tolist() == [2]
    values = Graph().best(tables).values
    np.testing.assert_allclose(values, [best_by_enumeration(tables, s) for s in range(3)], atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_roof_dual_is_the_linear_program(seed):
    rng = np.random.default_rng(seed)
    pairs = [p for p in itertools.combinations(range(6), 2) if rng.random() < 0.6]
    tables = [((i,), 2.0 * rng.normal(size=2)) for i in range(6)]
    graph = FactorGraph.from_tables([2] * 6, tables + [(p, 2.0 * rng.normal(size=(2, 2))) for p in pairs])
    found, exact = roof_dual(graph), _linear_program(graph)
    assert found.value == pytest.approx(exact.value, abs=1e-6)
    assert found.bound == pytest.approx(found.value, abs=1e-9)
    assert graph.dot(found.unary, found.factor) == pytest.approx(found.value, abs=1e-9)
    factor = found.factor.reshape(-1, 2, 2)
    ends = np.array(pairs)
    np.testing.assert_allclose(factor.sum(axis=2), found.unary.reshape(-1, 2)[ends[:, 0]], atol=1e-12)
    np.testing.assert_allclose(factor.sum(axis=1), found.unary.reshape(-1, 2)[ends[:, 1]], atol=1e-12)
    assert factor.min() >= 0.0


@pytest.mark.parametrize(("seed", "strength"), [(0, 0.3), (1, 2.0), (2, 6.0)])
def test_messages_as_log_odds_are_those_of_any_graph(seed, strength, monkeypatch):
    rng = np.random.default_rng(seed)
    pairs = [p[:: rng.choice([1, -1])] for p in itertools.combinations(range(7), 2) if rng.random() < 0.5]
    tables = [((i,), 3.0 * rng.normal(size=2)) for i in range(7)]
    graph = FactorGraph.from_tables(
        [2] * 7, tables + [(p, strength * rng.normal(size=(2, 2))) for p in pairs]
    )
    messages = np.zeros(reweighted.n_messages(graph.topology))
    fast = reweighted.reweighted_parts(graph, temperature=0.5, tol=1e-11, messages=messages)
    again = reweighted.reweighted_parts(graph, temperature=0.5, tol=1e-11, messages=messages)
    assert again.sweeps.sum() <= fast.sweeps.sum()
    monkeypatch.setattr(reweighted, "_pair_parts", lambda *given: None)
    slow = reweighted.reweighted_parts(graph, temperature=0.5, tol=1e-11)
    for name in ("upper", "lower"):
        np.testing.assert_allclose(getattr(fast, name), getattr(slow, name), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(fast.unary, slow.unary, atol=1e-5)
    np.testing.assert_allclose(fast.factor, slow.factor, atol=1e-5)


def test_orders_are_remembered_by_shape_and_equal_fresh_ones(monkeypatch):
    scopes = np.asarray(grid_graph(np.zeros((5, 5, 1))).edges)
    given = np.full(25, 2), np.arange(0, 2 * len(scopes) + 1, 2), scopes.ravel()
    first = Topology.shared(*given)
    assert Topology.shared(*given) is first
    monkeypatch.setattr(orders, "_RECENT", {})
    found = orders.elimination(Topology(*given))
    searched = orders._search
    monkeypatch.setattr(orders, "_search", None)  # a second one would fail
    assert orders.elimination(Topology(*given)) is found
    fresh = searched(Topology(*given), orders.QUICK)
    for name in ("order", "ptr", "rest"):
        np.testing.assert_array_equal(getattr(found, name), getattr(fresh, name))


def test_no_advice_of_memory_that_no_machine_has():
    rng = np.random.default_rng(0)
    tables = batch(rng, [(40, 40)])
    with pytest.warns(ApproximateInferenceWarning) as told:
        Graph().log_partition(tables)
    assert "memory_limit" not in str(told[0].message)
    assert "too wide for exact sums" in Graph().explain(tables) and "memory_limit" not in Graph().explain(
        tables
    )
    with pytest.warns(
        ApproximateInferenceWarning, match="memory_limit=.* makes them exact, by junction trees"
    ):
        Graph(memory_limit=1).log_partition(batch(rng, [(3, 3)]))


def test_hinge_of_binary_grids_is_proven_for_any_number_of_threads():
    rng = np.random.default_rng(0)
    truth = [np.kron(rng.integers(0, 2, (3, 3)), np.ones((4, 4), int)) for _ in range(6)]
    X = [grid_graph(y[:, :, None] + rng.normal(size=(12, 12, 1))) for y in truth]
    Y = [y.ravel().tolist() for y in truth]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ApproximateInferenceWarning)
        one, two = (
            SSVM(Graph(symmetric=True, memory_limit=1), l2=1.0, tol=1e-2, n_jobs=n).fit(X, Y) for n in (1, 2)
        )
    assert one.result_.converged and one.result_.gap <= 1e-2 * one.result_.primal
    assert np.array_equal(one.coef_, two.coef_)
