"""Approximate and integer inference on factor graphs against enumeration and against linear programs."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp

from palmette.errors import TooWide
from palmette.inference import choose
from palmette.inference.bounded_max import bounded_max
from palmette.inference.choose import maximise, plan, summarise
from palmette.inference.entropy import Entropy
from palmette.inference.factor_graph import FactorGraph, Topology
from palmette.inference.graph_cut import graph_cut, is_submodular
from palmette.inference.integer_program import integer_program
from palmette.inference.loopy import loopy_max, loopy_sum
from palmette.inference.relaxation import RelaxationState, relax
from palmette.inference.reweighted import n_messages, reweighted_parts, reweighted_sum
from palmette.inference.slots import is_forest


def enumerate_scores(graph):
    assignments = np.array(list(itertools.product(*[range(card) for card in graph.topology.cards])))
    return assignments, np.array([graph.score(codes) for codes in assignments])


def random_graph(seed, shape="loopy", strength=1.0, n=5, forbid=0.0):
    rng = np.random.default_rng(seed)
    cards = rng.integers(1 if shape == "any" else 2, 4, n)
    if shape == "forest":
        scopes = [(int(rng.integers(i)), i) for i in range(1, n) if rng.random() < 0.9]
    elif shape == "loopy":
        scopes = [pair for pair in itertools.combinations(range(n), 2) if rng.random() < 0.7]
    else:
        scopes = [t for t in itertools.combinations(range(n), 3) if rng.random() < 0.3]
        scopes += [pair for pair in itertools.combinations(range(n), 2) if rng.random() < 0.3]
    scopes = [tuple(int(v) for v in rng.permutation(scope)) for scope in scopes]
    tables = [((i,), rng.normal(size=cards[i])) for i in range(n)]
    for scope in scopes:
        table = strength * rng.normal(size=cards[list(scope)])
        table[rng.random(table.shape) < forbid] = -np.inf
        tables.append((scope, table))
    return FactorGraph.from_tables(cards, tables)


def check_locally_consistent(graph, unary, factor, tol=1e-12):
    topology = graph.topology
    for i in range(topology.n_vars):
        mine = unary[topology.unary_ptr[i] : topology.unary_ptr[i + 1]]
        assert mine.min() >= 0 and abs(mine.sum() - 1) <= tol
    for f in range(topology.n_factors):
        table = factor[topology.table_ptr[f] : topology.table_ptr[f + 1]].reshape(topology.shape_of(f))
        assert table.min() >= 0
        for axis, i in enumerate(topology.scope_of(f)):
            mine = unary[topology.unary_ptr[i] : topology.unary_ptr[i + 1]]
            others = tuple(a for a in range(table.ndim) if a != axis)
            np.testing.assert_allclose(table.sum(axis=others), mine, rtol=0, atol=tol)


seeds = st.integers(0, 10**6)
shapes = st.sampled_from(["forest", "loopy", "any"])
strengths = st.sampled_from([0.1, 1.0, 4.0])


# ------------------------------------------------------------------------------------------- reweighted sums


@given(seed=seeds, shape=shapes, strength=strengths)
def test_reweighted_sum_bounds_the_log_partition_and_its_marginals_are_consistent(seed, shape, strength):
    graph = random_graph(seed, shape, strength)
    result = reweighted_sum(graph, max_iter=100_000)
    exact = logsumexp(enumerate_scores(graph)[1])
    assert result.converged
    assert result.log_z >= exact - 1e-9 * max(1, abs(exact))
    if shape == "forest":
        assert is_forest(graph.topology) and result.exact
        assert result.log_z == pytest.approx(exact, rel=1e-9)
    check_locally_consistent(graph, result.unary, result.factor)
    entropy = Entropy.of(graph.topology).value(graph.topology, result.unary, result.factor)
    assert graph.dot(result.unary, result.factor) + entropy == pytest.approx(result.log_z, rel=1e-8, abs=1e-8)


@given(seed=seeds, shape=shapes, strength=st.sampled_from([0.3, 2.0]))
def test_marginals_are_the_gradient_of_the_reweighted_sum(seed, shape, strength):
    graph = random_graph(seed, shape, strength)
    rng = np.random.default_rng(seed)
    towards = replace(
        graph, unary=rng.normal(size=graph.unary.shape), values=rng.normal(size=graph.values.shape)
    )
    middle = reweighted_sum(graph, tol=1e-13)
    step = 1e-4

    def along(t):
        moved = replace(
            graph, unary=graph.unary + t * towards.unary, values=graph.values + t * towards.values
        )
        return reweighted_sum(moved, tol=1e-13).log_z

    slope = (along(step) - along(-step)) / (2 * step)
    assert towards.dot(middle.unary, middle.factor) == pytest.approx(slope, abs=1e-6)


@given(seed=seeds, shape=shapes)
def test_marginals_of_few_sweeps_are_cuts_from_below(seed, shape):
    graph, other = random_graph(seed, shape, 3.0), random_graph(seed, shape, 1.0)
    rough = reweighted_sum(graph, max_iter=1)
    check_locally_consistent(graph, rough.unary, rough.factor)
    entropy = Entropy.of(graph.topology).value(graph.topology, rough.unary, rough.factor)
    cut = other.dot(rough.unary, rough.factor) + entropy
    assert cut <= reweighted_sum(other).log_z + 1e-8
    assert rough.log_z >= reweighted_sum(graph).log_z - 1e-8


def test_weights_of_trees_sum_up_and_cover_every_factor():
    graph = random_graph(3, "any", n=7)
    topology, entropy = graph.topology, Entropy.of(graph.topology)
    assert entropy.rho.min() > 0 and entropy.own.min() >= 0
    as_child = np.repeat(entropy.rho, topology.arity) - entropy.share
    np.testing.assert_allclose(entropy.own + np.bincount(topology.scope, as_child, topology.n_vars), 1.0)


def test_temperature_scales_the_potentials():
    graph = random_graph(1)
    cold = reweighted_sum(graph, temperature=0.2, tol=1e-12)
    scaled = reweighted_sum(replace(graph, unary=graph.unary / 0.2, values=graph.values / 0.2), tol=1e-12)
    assert cold.log_z == pytest.approx(0.2 * scaled.log_z, rel=1e-10)
    np.testing.assert_allclose(cold.unary, scaled.unary, atol=1e-5)


def test_messages_carry_over_and_components_are_apart():
    graph = random_graph(2, n=6)
    messages = np.zeros(n_messages(graph.topology))
    cold = reweighted_parts(graph, messages=messages)
    warm = reweighted_parts(graph, messages=messages)
    assert warm.sweeps.sum() < cold.sweeps.sum()
    assert warm.upper.sum() == pytest.approx(cold.upper.sum(), rel=1e-8)
    twice = Topology(
        np.tile(graph.topology.cards, 2),
        np.concatenate([graph.topology.scope_ptr, graph.topology.scope_ptr[1:] + len(graph.topology.scope)]),
        np.concatenate([graph.topology.scope, graph.topology.scope + graph.n_vars]),
    )
    both = FactorGraph(twice, np.tile(graph.unary, 2), graph.values, np.tile(graph.start, 2))
    parts = reweighted_parts(both)
    np.testing.assert_allclose(parts.upper.reshape(2, -1), np.tile(cold.upper, (2, 1)), rtol=1e-8)
    with pytest.raises(ValueError, match=r"messages has shape \(3,\)"):
        reweighted_sum(graph, messages=np.zeros(3))


@given(seed=seeds)
def test_forbidden_entries_get_no_mass(seed):
    graph = random_graph(seed, "loopy", 1.0, forbid=0.25)
    scores = enumerate_scores(graph)[1]
    result = reweighted_sum(graph, max_iter=500)
    assert result.log_z >= logsumexp(scores) - 1e-8
    if result.converged and result.log_z > -np.inf:
        assert np.all(result.factor[graph.own_values == -np.inf] == 0)


def test_huge_and_tiny_potentials_stay_finite():
    graph = random_graph(5, "loopy", 1.0)
    huge = replace(graph, unary=graph.unary * 1e4, values=graph.values * 1e4)
    result = reweighted_sum(huge, max_iter=50)
    assert np.isfinite(result.log_z) and result.log_z >= enumerate_scores(huge)[1].max() - 1e-6
    check_locally_consistent(huge, result.unary, result.factor)


# ------------------------------------------------------------------------------------------- bounded maxima


@given(seed=seeds, shape=shapes, strength=strengths, forbid=st.sampled_from([0.0, 0.2]))
def test_bounded_max_bounds_the_best_score(seed, shape, strength, forbid):
    graph = random_graph(seed, shape, strength, forbid=forbid)
    best = enumerate_scores(graph)[1].max()
    result = bounded_max(graph)
    assert result.value == graph.score(result.codes)
    assert result.value <= best + 1e-9 and best <= result.bound + 1e-9
    if result.exact:
        assert result.value == pytest.approx(best, abs=1e-7)
    if shape == "forest":
        assert result.exact


def test_any_messages_prove_a_bound(rng):
    graph = random_graph(4, "any", 2.0)
    best = enumerate_scores(graph)[1].max()
    for _ in range(5):
        messages = 3.0 * rng.normal(size=n_messages(graph.topology))
        assert bounded_max(graph, max_iter=1, messages=messages).bound >= best - 1e-9


# ------------------------------------------------------------------------------------------- relaxations


@given(seed=seeds, shape=shapes, strength=strengths)
def test_relaxation_by_messages_encloses_the_linear_program(seed, shape, strength):
    graph = random_graph(seed, shape, strength)
    program, result = relax(graph, exact=True), relax(graph)
    best = enumerate_scores(graph)[1].max()
    check_locally_consistent(graph, result.unary, result.factor)
    check_locally_consistent(graph, program.unary, program.factor, tol=1e-6)
    assert result.value == pytest.approx(graph.dot(result.unary, result.factor), abs=1e-9)
    assert result.value <= program.value + 1e-6 and program.value <= result.bound + 1e-6
    assert best <= result.bound + 1e-9 and best <= program.value + 1e-6
    if result.converged:
        assert result.bound - result.value <= 1e-3 * max(1.0, abs(result.bound))
    if shape == "forest":
        assert program.value == pytest.approx(best, abs=1e-6) and result.converged and result.integral


def test_relaxation_converges_on_frustrated_loops_and_starts_where_it_stopped(rng):
    pairs = [(i, j) for i in range(12) for j in range(i) if rng.random() < 0.5]
    tables = [(pair, rng.normal(size=(3, 3))) for pair in pairs]
    tables += [((i,), 0.3 * rng.normal(size=3)) for i in range(12)]
    graph = FactorGraph.from_tables([3] * 12, tables)
    warm = RelaxationState()
    program, result = relax(graph, exact=True), relax(graph, warm=warm, tol=5e-3)
    assert result.converged and not result.integral
    assert result.value <= program.value + 1e-6 and program.value <= result.bound + 1e-6
    again = relax(graph, warm=warm, tol=5e-3)
    assert again.converged and again.value <= program.value + 1e-6 and program.value <= again.bound + 1e-6


def test_relaxation_without_a_feasible_point_says_so():
    never = np.full((2, 2), -np.inf)
    graph = FactorGraph.from_tables([2, 2], [((0, 1), never)])
    assert relax(graph, exact=True).bound == -np.inf
    assert relax(graph).bound == -np.inf and bounded_max(graph).bound == -np.inf


# ------------------------------------------------------------------------------------------- belief propagation


@given(seed=seeds, shape=shapes, strength=st.sampled_from([0.1, 0.5]))
def test_belief_propagation_is_exact_on_forests_and_near_with_weak_loops(seed, shape, strength):
    graph = random_graph(seed, shape, strength)
    scores = enumerate_scores(graph)[1]
    result = loopy_sum(graph, tol=1e-12)
    if shape == "forest":
        assert result.exact and result.log_z == pytest.approx(logsumexp(scores), rel=1e-9)
        assert loopy_max(graph).value == pytest.approx(scores.max()) and loopy_max(graph).exact
    else:
        assert not result.exact or is_forest(graph.topology)
        assert result.converged and result.log_z == pytest.approx(logsumexp(scores), abs=0.02 + strength)
    best = loopy_max(graph)
    assert best.value == graph.score(best.codes) <= scores.max() + 1e-9 <= best.bound + 2e-9


def test_fixed_points_of_belief_propagation_are_stationary_for_bethe():
    graph = random_graph(11, "loopy", 0.5)
    result = loopy_sum(graph, tol=1e-13)
    check_locally_consistent(graph, result.unary, result.factor)
    step = 1e-5
    for k in range(len(graph.unary)):
        moved = [
            replace(graph, unary=graph.unary + sign * step * np.eye(len(graph.unary))[k]) for sign in (1, -1)
        ]
        slope = (loopy_sum(moved[0], tol=1e-13).log_z - loopy_sum(moved[1], tol=1e-13).log_z) / (2 * step)
        assert result.unary[k] == pytest.approx(slope, abs=1e-6)


def test_belief_propagation_says_when_it_does_not_settle():
    graph = random_graph(2, "loopy", 8.0, n=6)
    assert not loopy_sum(graph, damping=0.0, max_iter=2).converged
    with pytest.raises(ValueError, match="damping is 1"):
        loopy_sum(graph, damping=1.0)


# ------------------------------------------------------------------------------------------- cuts


@given(seed=seeds, forbid=st.booleans())
def test_graph_cut_finds_the_best_assignment(seed, forbid):
    rng = np.random.default_rng(seed)
    n = 7
    cards = np.where(rng.random(n) < 0.9, 2, 1)
    tables = []
    for i in range(n):
        unary = 2 * rng.normal(size=cards[i])
        if forbid and cards[i] == 2 and rng.random() < 0.2:
            unary[rng.integers(2)] = -np.inf
        tables.append(((i,), unary))
    for i, j in itertools.combinations(range(n), 2):
        if rng.random() < 0.5:
            table = rng.normal(size=(2, 2))
            table[0, 0] += max(0.0, table[0, 1] + table[1, 0] - table[0, 0] - table[1, 1])
            if forbid and rng.random() < 0.2:
                table[0, 1] = -np.inf
            tables.append(((i, j), table[: cards[i], : cards[j]]))
    graph = FactorGraph.from_tables(cards, tables)
    assert is_submodular(graph)
    result, best = graph_cut(graph), enumerate_scores(graph)[1].max()
    assert result.value == pytest.approx(best, abs=1e-9) and result.bound == pytest.approx(best, abs=1e-6)
    if best > -np.inf:
        assert result.value == graph.score(result.codes)


@given(seed=seeds)
def test_graph_cut_with_any_forbidden_entries_and_single_states(seed):
    rng = np.random.default_rng(seed)
    cards = rng.integers(1, 3, 5)
    tables = [((i,), rng.normal(size=cards[i])) for i in range(5)]
    for i, j in itertools.combinations(range(5), 2):
        table = 3 * rng.normal(size=(2, 2))
        forbidden = rng.random((2, 2)) < 0.4
        if forbidden[0, 1] or forbidden[1, 0]:  # then the other entries may be anything
            table[forbidden] = -np.inf
        else:
            table[0, 0] += max(0.0, table[0, 1] + table[1, 0] - table[0, 0] - table[1, 1])
        if rng.random() < 0.5:
            tables.append(((i, j), table[: cards[i], : cards[j]]))
    graph = FactorGraph.from_tables(cards, tables)
    assert is_submodular(graph)
    assert graph_cut(graph).value == pytest.approx(enumerate_scores(graph)[1].max(), abs=1e-9)


@pytest.mark.parametrize("pair", [[5.0, 0.0], [0.0, 5.0]])
def test_graph_cut_where_a_neighbour_has_one_state(pair):
    graph = FactorGraph.from_tables([1, 2], [((1,), [2.0, 0.0]), ((0, 1), [pair])])
    assert graph_cut(graph).value == max(2.0 + pair[0], pair[1])


def test_cuts_refuse_what_they_cannot_do(rng):
    repel = FactorGraph.from_tables([2, 2], [((0, 1), [[0.0, 1.0], [1.0, 0.0]])])
    assert not is_submodular(repel) and not is_submodular(random_graph(0, "any", n=6))
    with pytest.raises(ValueError, match="graph_cut needs"):
        graph_cut(repel)


# ------------------------------------------------------------------------------------------- integer programs


@given(seed=seeds, shape=shapes, strength=strengths, forbid=st.sampled_from([0.0, 0.3]))
def test_integer_program_is_exact(seed, shape, strength, forbid):
    graph = random_graph(seed, shape, strength, forbid=forbid)
    best = enumerate_scores(graph)[1].max()
    result = integer_program(graph)
    assert result.exact and result.value == pytest.approx(best, abs=1e-6)


def test_integer_program_keeps_to_its_time(rng):
    n = 40
    tables = [((i, j), rng.normal(size=(4, 4))) for i in range(n) for j in range(i) if rng.random() < 0.5]
    graph = FactorGraph.from_tables([4] * n, tables)
    result = integer_program(graph, time_limit=0.5)
    assert not result.exact and result.value < result.bound < np.inf
    assert result.value == graph.score(result.codes)


# ------------------------------------------------------------------------------------------- the choice


def test_the_choice_follows_the_graph(rng):
    forest = random_graph(0, "forest")
    assert plan(forest, "max").method == "junction_tree" and "forest" in plan(forest, "max").why
    agree = [((i, j), np.eye(2)) for i, j in [(0, 1), (1, 2), (2, 0)]]
    loop = FactorGraph.from_tables([2] * 3, [*agree, ((0,), [0.0, 1.0])])
    assert plan(loop, "max").method == "graph_cut"
    assert plan(loop, "sum") == plan(loop.topology, "sum") and plan(loop, "sum").method == "junction_tree"
    n = 12
    pairs = [((i, j), rng.normal(size=(3, 3))) for i in range(n) for j in range(i)]
    full = FactorGraph.from_tables([3] * n, pairs)
    wide = plan(full, "max", memory_limit=1e5)
    assert wide.method == "bounded" and not wide.exact and "2^" in wide.why
    assert plan(full, "sum", memory_limit=1e5).method == "reweighted"
    rough, sums = maximise(full, memory_limit=1e5), summarise(full, memory_limit=1e5)
    assert not sums.exact and sums.bound >= summarise(full).log_z - 1e-8 and summarise(full).exact
    best = maximise(full)
    assert best.exact and rough.value <= best.value + 1e-9 <= rough.bound + 2e-9
    assert maximise(full, memory_limit=1e5, time_limit=60).value == pytest.approx(best.value)
    for method in ("bounded", "loopy"):
        assert maximise(full, method).value <= best.value + 1e-9
    with pytest.raises(TooWide):
        maximise(full, "junction_tree", memory_limit=1e5)
    with pytest.raises(ValueError, match="method must be one of"):
        maximise(full, "magic")
    with pytest.raises(ValueError, match="method must be one of"):
        summarise(full, "graph_cut")


def test_messages_come_before_slow_trees(rng, monkeypatch):
    monkeypatch.setattr(choose, "_AT_ONCE", 1e-3)
    n = 12
    pairs = [((i, j), 0.05 * rng.normal(size=(3, 3))) for i in range(n) for j in range(i)]
    weak = FactorGraph.from_tables([3] * n, [*pairs, *[((i,), 2 * rng.normal(size=3)) for i in range(n)]])
    assert plan(weak, "max").method == "junction_tree"
    result = maximise(weak)
    assert result.exact and result.method == "bounded"
    assert result.value == pytest.approx(maximise(weak, "junction_tree").value)


@pytest.mark.parametrize(
    "scope, table, message",
    [
        ((0,), [1.0], r"table 1, of \[0\]: its shape is \(1,\), expected \(2,\)"),
        ((5,), [1.0, 2.0], r"table 1 names variable 5, but there are 2"),
        ((-1,), [1.0, 2.0], r"table 1 names variable -1"),
        ((0, 1), [[0.0, np.nan], [0.0, 0.0]], r"table 1, of \[0, 1\]: entry \[0, 1\] is nan"),
        ((0,), [0.0, np.inf], r"table 1, of \[0\]: entry \[1\] is inf; .* -inf for what is forbidden"),
    ],
)
def test_bad_tables_are_refused(scope, table, message):
    with pytest.raises(ValueError, match=message):
        FactorGraph.from_tables([2, 2], [((0, 1), np.zeros((2, 2))), (scope, table)])


def test_potentials_beyond_what_reweighted_sums_can_square_are_refused():
    pairs = [((0, 1), [[1e200, 0.0], [0.0, -np.inf]]), ((1, 2), np.eye(2)), ((2, 0), np.eye(2))]
    graph = FactorGraph.from_tables([2, 2, 2], pairs)
    with pytest.raises(
        ValueError, match=r"a potential is 1e\+200 in size; reweighted sums take up to 1e\+100"
    ):
        reweighted_sum(graph)
    assert summarise(graph).log_z == 1e200
