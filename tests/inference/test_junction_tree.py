"""Exact inference on factor graphs against enumeration."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palmette.errors import TooWide
from palmette.inference import FactorGraph, Topology
from palmette.inference.elimination import elimination
from palmette.inference.factor_graph import entries
from palmette.inference.junction_tree import JunctionTree
from palmette.inference.reduction import reduced


@st.composite
def graphs(draw):
    """Small factor graphs: any shape, some states and entries forbidden, some tables shared."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    cards = draw(st.lists(st.integers(1, 4), min_size=1, max_size=6))
    while math.prod(cards) > 600:
        cards.pop()
    arities = draw(st.lists(st.integers(1, 4), max_size=9))
    forbidden = draw(st.sampled_from([0.0, 0.1, 0.5]))
    tables = []
    for arity in arities:
        scope = tuple(rng.permutation(len(cards))[:arity].tolist())
        table = 3 * rng.normal(size=[cards[i] for i in scope])
        tables.append((scope, np.where(rng.random(table.shape) < forbidden, -np.inf, table)))
    graph = FactorGraph.from_tables(cards, tables)
    return shared(graph) if draw(st.booleans()) else graph


def shared(graph):
    """The same scopes, where tables of the same size are one table (that of the first)."""
    sizes = graph.topology.table_sizes
    first = {int(size): int(graph.start[f]) for f, size in reversed(list(enumerate(sizes)))}
    start = np.array([first[int(size)] for size in sizes], np.int64)
    return FactorGraph(graph.topology, graph.unary, graph.values, start)


def enumerated(graph):
    """All assignments and their scores, from the definition."""
    topology = graph.topology
    outputs = np.array(list(itertools.product(*map(range, topology.cards))))
    scores = []
    for y in outputs:
        score = sum(graph.unary[topology.unary_ptr[i] + k] for i, k in enumerate(y))
        for f in range(topology.n_factors):
            score += graph.table(f)[tuple(y[topology.scope_of(f)])]
        scores.append(score)
    return outputs, np.array(scores)


def indicators(graph, outputs):
    """For each assignment which states of variables and entries of factors it has, as two boolean matrices."""
    topology = graph.topology
    unary = np.zeros((len(outputs), topology.unary_ptr[-1]), bool)
    factor = np.zeros((len(outputs), topology.table_ptr[-1]), bool)
    for row, y in enumerate(outputs):
        unary[row, topology.unary_ptr[:-1] + y] = True
        factor[row, topology.table_ptr[:-1] + entries(topology, y)] = True
    return unary, factor


def highest(has, scores):
    return np.where(has, scores[:, None], -np.inf).max(axis=0)


@given(graphs())
def test_maxima_agree_with_enumeration(graph):
    outputs, scores = enumerated(graph)
    tree = JunctionTree.of(graph.topology)
    best = tree.best(graph)
    assert best.exact and best.bound == best.value
    if scores.max() == -np.inf:
        assert best.value == -np.inf
    else:
        assert best.value == pytest.approx(scores.max())
        assert graph.score(best.codes) == best.value
    for found, has in zip(tree.max_marginals(graph), indicators(graph, outputs)):
        np.testing.assert_allclose(found, highest(has, scores), atol=1e-12)


@given(graphs())
def test_sums_agree_with_enumeration(graph):
    outputs, scores = enumerated(graph)
    tree = JunctionTree.of(graph.topology)
    found = tree.sum(graph)
    assert found.exact and found.bound == found.log_z == tree.log_partition(graph)
    with np.errstate(divide="ignore"):
        log_z = np.logaddexp.reduce(scores)
    if log_z == -np.inf:
        assert found.log_z == -np.inf and not found.unary.any() and not found.factor.any()
        with pytest.raises(ValueError, match="nothing to draw"):
            tree.sample(graph, np.zeros((1, graph.n_vars)))
        return
    assert found.log_z == pytest.approx(log_z, abs=1e-11)
    for marginals, has in zip((found.unary, found.factor), indicators(graph, outputs)):
        np.testing.assert_allclose(marginals, np.exp(scores - log_z) @ has, atol=1e-12)


@given(graphs())
def test_reduced_graphs_have_the_same_answers(graph):
    _, scores = enumerated(graph)
    small = reduced(graph)
    if not small.feasible:
        assert scores.max() == -np.inf
        return
    tree = JunctionTree.of(small.graph.topology)
    best, total = tree.best(small.graph), tree.sum(small.graph)
    assert small.constant + best.value == pytest.approx(scores.max())
    whole = JunctionTree.of(graph.topology).sum(graph)
    assert small.constant + total.log_z == pytest.approx(whole.log_z)
    if whole.log_z > -np.inf:
        assert graph.score(small.codes(best.codes)) == pytest.approx(scores.max())
        np.testing.assert_allclose(small.unary(total.unary), whole.unary, atol=1e-12)


def test_reduction_removes_what_evidence_decides(rng):
    copy = np.where(np.eye(3), 0.0, -np.inf)
    tables = [((i, i + 1), copy) for i in range(3)] + [((3, 4), rng.normal(size=(3, 3)))]
    graph = FactorGraph.from_tables([3] * 5, tables)
    small = reduced(graph.conditioned({0: 2}))
    assert small.variables.tolist() == [4] and small.graph.topology.n_factors == 0
    np.testing.assert_allclose(small.graph.unary, tables[-1][1][2])
    assert not reduced(graph.conditioned({0: 2, 2: 1})).feasible


def test_samples_have_the_frequencies_of_the_marginals(rng):
    scopes = [(0, 1), (1, 2), (2, 0), (2, 3, 4)]
    cards = [2, 3, 2, 2, 3]
    graph = FactorGraph.from_tables(cards, [(s, rng.normal(size=[cards[i] for i in s])) for s in scopes])
    tree = JunctionTree.of(graph.topology)
    draws = tree.sample(graph, rng.random((20_000, 5)))
    has_state, has_entry = indicators(graph, draws)
    found = tree.sum(graph)
    np.testing.assert_allclose(has_state.mean(axis=0), found.unary, atol=0.02)
    np.testing.assert_allclose(has_entry.mean(axis=0), found.factor, atol=0.02)


def test_many_blocks_agree_with_few(rng, monkeypatch):
    from palmette.inference import junction_tree

    scopes = [(i, j) for i in range(7) for j in range(i)]
    cards = [2, 3, 2, 4, 2, 3, 2]
    graph = FactorGraph.from_tables(cards, [(s, rng.normal(size=[cards[i] for i in s])) for s in scopes])
    whole = JunctionTree.of(graph.topology)
    monkeypatch.setattr(junction_tree, "_MAX_BLOCK", 1)
    monkeypatch.setattr(junction_tree, "_MAX_RESIDUAL", 1)
    apart = junction_tree._build(graph.topology)
    assert apart.tree.n_outer.max() == 6 and whole.tree.n_outer.max() < 6
    np.testing.assert_allclose(apart.sum(graph).factor, whole.sum(graph).factor, atol=1e-13)
    np.testing.assert_allclose(apart.max_marginals(graph)[1], whole.max_marginals(graph)[1])
    assert apart.best(graph).codes.tolist() == whole.best(graph).codes.tolist()


def test_large_potentials_neither_overflow_nor_vanish():
    chain = [((i, i + 1), 2000 * np.eye(2)) for i in range(50)]
    graph = FactorGraph.from_tables([2] * 51, [*chain, ((0,), [0.0, 1.0])])
    found = JunctionTree.of(graph.topology).sum(graph)
    assert found.log_z == pytest.approx(50 * 2000 + np.log1p(np.e), rel=1e-14)
    np.testing.assert_allclose(found.unary[1::2], np.e / (1 + np.e))


def test_a_tree_is_built_once_and_serves_its_topology_only(rng):
    graph = FactorGraph.from_tables([2, 2], [((0, 1), rng.normal(size=(2, 2)))])
    tree = JunctionTree.of(graph.topology)
    assert JunctionTree.of(graph.topology) is tree
    other = FactorGraph.from_tables([2, 2], [((0, 1), rng.normal(size=(2, 2)))])
    with pytest.raises(ValueError, match="another topology"):
        tree.best(other)


# ------------------------------------------------------------------------------------------------- orders


def grid(n_rows, n_columns):
    at = np.arange(n_rows * n_columns).reshape(n_rows, n_columns)
    pairs = [*zip(at[:, :-1].ravel(), at[:, 1:].ravel()), *zip(at[:-1].ravel(), at[1:].ravel())]
    return Topology.from_scopes([2] * at.size, pairs)


@settings(max_examples=25)
@given(graphs())
def test_orders_eliminate_every_variable_with_its_neighbours_by_then(graph):
    topology = graph.topology
    found = elimination(topology)
    assert sorted(found.order) == list(range(topology.n_vars))
    near = [set() for _ in range(topology.n_vars)]
    for f in range(topology.n_factors):
        for i in topology.scope_of(f):
            near[i] |= set(topology.scope_of(f)) - {i}
    for place, v in enumerate(found.order):
        assert set(found.rest[found.ptr[place] : found.ptr[place + 1]]) == near[v]
        missing = {u: sum(w not in near[u] for w in near[v]) - 1 for u in near[v]}
        least = min(fill(near, u) for u in set(found.order[place:]))
        assert (
            sum(missing.values()) == 2 * fill(near, v) == 2 * least
        )  # min-fill, on graphs as small as these
        for u in near[v]:
            near[u] = (near[u] | near[v]) - {u, v}


def fill(near, v):
    return sum(w not in near[u] for u, w in itertools.combinations(near[v], 2))


@pytest.mark.parametrize("shape, width", [((1, 30), 1), ((3, 30), 3), ((12, 12), 12)], ids=str)
def test_widths_of_grids(shape, width):
    assert elimination(grid(*shape)).width == width


def test_too_wide_graphs_are_refused_before_any_work():
    topology = grid(25, 25)
    with pytest.raises(
        TooWide, match=r"2\^\d+.* joint states, which takes .* GB.*integer_program"
    ) as refusal:
        JunctionTree.of(topology, memory_limit=1e6)
    assert refusal.value.n_bytes > 1e6 and refusal.value.log2_size >= 20
    hopeless = Topology.from_scopes([100] * 20, list(itertools.combinations(range(20), 2)))
    with pytest.raises(TooWide, match="at least"):
        JunctionTree.of(hopeless)
    with pytest.raises(TooWide):  # a tree that is there is not used beyond a later limit
        JunctionTree.of(JunctionTree.of(grid(5, 5)).topology, memory_limit=10)
