"""Solvers of the dual of max-margin Markov networks against the quadratic programs of the paper."""

from __future__ import annotations

import numpy as np
import pytest
from m3n_reference import dual_optimum, problem_of
from problems import make_problem

from palmette import SSVM, UNKNOWN, Clique, Graph, GraphInput, Linked, OneOf
from palmette.errors import MissingCapability
from palmette.loops import find
from palmette.loops.hinge_blocks import GenericBlocks
from palmette.losses import Hamming
from palmette.solvers import CCCP, Bundle
from palmette.solvers.block_ascent import belongs
from palmette.solvers.frank_wolfe import FrankWolfe
from palmette.solvers.smo import SMO
from palmette.structures import Chain, Multiclass, Parity
from palmette.structures.graph.loops.clique_blocks import CliqueSet
from palmette.structures.graph.loops.relaxed_blocks import RelaxedSet

SOLVERS = [FrankWolfe(tol=1e-7, max_iter=20000), SMO(tol=1e-7, max_iter=20000)]
TREE = [(0, 1), (2, 1), (1, 3)]
SQUARE = [(0, 1), (1, 2), (2, 3), (3, 0)]
CHORD = [*SQUARE, (0, 2)]

both_solvers = pytest.mark.parametrize("solver", SOLVERS, ids=["frank_wolfe", "smo"])


def graphs(rng, edges, n_labels=3, n=4, edge_features=True):
    """Small graphs whose labels follow from features, with noise."""
    X, Y = [], []
    for _ in range(n):
        nodes = np.round(rng.normal(size=(4, 2)), 1)
        own = np.round(rng.normal(size=(len(edges), 1)), 1) if edge_features else None
        X.append(GraphInput(nodes, np.array(edges), own))
        Y.append(["abc"[k] for k in rng.integers(0, n_labels, 4)])
    Y[0] = list("abca"[:4]) if n_labels == 3 else list("abab")
    return X, Y


def check_against(reference, result, rel=1e-6):
    assert result.converged
    assert result.lower == pytest.approx(reference, rel=rel)
    assert result.primal == pytest.approx(reference, rel=rel)


@both_solvers
@pytest.mark.parametrize("structure", [Chain(), Multiclass()])
@pytest.mark.parametrize("loss", [Hamming(), Hamming({("a", "b"): 0.5})])
def test_chains_reach_the_interior_point_solution(rng, solver, structure, loss):
    with make_problem(rng, "dense", structure, "hinge", loss=loss) as problem:
        factored, exact = dual_optimum(problem, "local"), dual_optimum(problem, "labelings")
        assert factored == pytest.approx(exact, rel=1e-7)  # Theorem 4.1: chains are forests
        check_against(factored, solver.solve(problem))


@both_solvers
@pytest.mark.parametrize("edge_features", [False, True])
def test_forests_reach_the_interior_point_solution(rng, solver, edge_features):
    problem = problem_of(SSVM(Graph(), l2=1.0), *graphs(rng, TREE, edge_features=edge_features))
    factored = dual_optimum(problem, "local")
    assert factored == pytest.approx(dual_optimum(problem, "labelings"), rel=1e-7)
    check_against(factored, solver.solve(problem))


@both_solvers
@pytest.mark.parametrize("edges", [SQUARE, CHORD], ids=["square", "chord"])
def test_loops_reach_the_exact_solution_of_their_cliques(rng, solver, edges):
    problem = problem_of(SSVM(Graph(), l2=1.0), *graphs(rng, edges, n_labels=2))
    exact = dual_optimum(problem, "labelings")
    assert dual_optimum(problem, "cliques") == pytest.approx(exact, rel=1e-7)
    result = solver.solve(problem)
    check_against(exact, result)
    if isinstance(solver, SMO):
        assert isinstance(result.state.active, CliqueSet)


def test_frank_wolfe_with_fractional_vertices_reaches_the_relaxed_dual():
    X, Y = graphs(np.random.default_rng(0), CHORD, n_labels=2, n=3)
    problem = problem_of(SSVM(Graph(inference="bounded"), l2=1.0), X, Y)
    relaxed, exact = dual_optimum(problem, "local"), dual_optimum(problem, "labelings")
    assert relaxed > 1.1 * exact
    result = FrankWolfe(tol=1e-6).solve(problem)
    check_against(relaxed, result)
    state = result.state.active
    assert isinstance(state, RelaxedSet)
    parts = np.concatenate([vertex for own in state.vertices for vertex in own])
    assert np.any(np.abs(parts - np.round(parts)) > 0.1)  # some vertices are no labelings


def test_the_relaxed_dual_is_never_below_the_exact_one(rng):
    for _ in range(4):
        problem = problem_of(SSVM(Graph(), l2=rng.uniform(0.05, 2.0)), *graphs(rng, SQUARE, n_labels=2))
        assert dual_optimum(problem, "local") >= dual_optimum(problem, "labelings") * (1 - 1e-9)


@pytest.mark.parametrize("relaxed", [False, True])
def test_graphs_with_cliques_and_structured_factors(rng, relaxed):
    """Variables that structured factors bring along, and weights of cliques, belong to the dual as well."""
    X, Y = graphs(rng, TREE, n_labels=2)
    more = (Clique([0, 1, 2]), Parity([[0, 2, 3]], label="a"))
    X = [GraphInput(x.nodes, x.edges, x.edge_features, factors=more) for x in X]
    exact = FrankWolfe(tol=1e-7).solve(problem_of(SSVM(Graph(), l2=1.0), X, Y))
    if relaxed:
        result = FrankWolfe(tol=1e-6).solve(problem_of(SSVM(Graph(inference="bounded"), l2=1.0), X, Y))
        assert isinstance(result.state.active, RelaxedSet)
        assert result.lower >= exact.lower * (1 - 1e-6)
    else:
        result = SMO(tol=1e-7).solve(problem_of(SSVM(Graph(), l2=1.0), X, Y))
        assert isinstance(result.state.active, CliqueSet)
        assert result.primal == pytest.approx(exact.primal, rel=1e-6)


def test_relaxed_frank_wolfe_resumes_and_refreshes(rng):
    problem = problem_of(SSVM(Graph(inference="bounded"), l2=0.1), *graphs(rng, SQUARE, n_labels=2))
    stop_at = {2}

    def stop(step):
        return step.n_iter in stop_at

    solver = FrankWolfe(tol=1e-12, callbacks=[stop])
    first = solver.solve(problem)
    stop_at = {5}
    rest, whole = solver.solve(problem, state=first.state), solver.solve(problem)
    assert np.array_equal(rest.state.active.w, whole.state.active.w)
    assert belongs(rest.state, solver)
    again = solver.restart(problem, rest.state).active
    np.testing.assert_allclose(again.w, rest.state.active.w, atol=1e-12)


def paths(rng, n=8):
    X, Y = [], []
    for _ in range(n):
        m = int(rng.integers(1, 5))
        X.append(np.round(rng.normal(size=(m, 3)), 1))
        Y.append(["abc"[k] for k in rng.integers(0, 3, m)])
    return X, Y


def as_graph(x):
    return GraphInput(x, np.array([(t, t + 1) for t in range(len(x) - 1)]).reshape(-1, 2))


@pytest.mark.parametrize("solver", ["auto", "frank_wolfe", "smo", "bundle"])
def test_graphs_that_are_chains_have_the_weights_of_chains(rng, solver):
    X, Y = paths(rng)
    options = {"l2": 0.5, "solver": solver, "tol": 1e-7, "max_iter": 5000}
    chain = SSVM(Chain(), **options).fit(X, Y)
    graph = SSVM(Graph(), **options).fit([as_graph(x) for x in X], Y)
    assert graph.objective_ == pytest.approx(chain.objective_, rel=3e-7)
    np.testing.assert_allclose(graph.coef_, chain.coef_, atol=2e-3)
    if solver in ("frank_wolfe", "smo"):
        assert np.array_equal(graph.coef_, chain.coef_)  # the same steps


def compiled(problem):
    """Whether a compiled loop serves Frank-Wolfe."""
    loop = find("frank_wolfe", problem)
    return loop is not None and loop.compiled


def test_only_paths_in_order_are_taken_for_chains(rng):
    X, Y = paths(rng)
    inputs = [as_graph(x) for x in X]
    assert compiled(problem_of(SSVM(Graph()), inputs, Y))
    assert not compiled(problem_of(SSVM(Graph(symmetric=True)), inputs, Y))
    k = next(i for i, x in enumerate(X) if len(x) > 1)
    turned = GraphInput(X[k], inputs[k].edges[:, ::-1])
    assert not compiled(problem_of(SSVM(Graph()), [*inputs[:k], turned, *inputs[k + 1 :]], Y))
    open_ended = GraphInput(X[k], inputs[k].edges[1:])
    assert not compiled(problem_of(SSVM(Graph()), [*inputs[:k], open_ended, *inputs[k + 1 :]], Y))


def test_generic_visits_serve_forests_as_compiled_ones_do(rng):
    X, Y = paths(rng)
    problem = problem_of(SSVM(Graph(), l2=0.5), [as_graph(x) for x in X], Y)
    value, slack = GenericBlocks(problem).value(np.ones(problem.n_params))
    assert value == pytest.approx(problem.loss(np.ones(problem.n_params))[0]) and slack == 0.0


def test_refusals(rng):
    wide = [(i, j) for i in range(4) for j in range(i)]
    X, Y = graphs(rng, wide)
    with pytest.raises(TypeError, match=r"smo keeps the marginals of the cliques.*sample 0 is too wide"):
        SSVM(Graph(memory_limit=10), solver="smo").fit(X, Y)
    with pytest.raises(TypeError, match="frank_wolfe proves its gap by maxima that are exact or relaxed"):
        SSVM(Graph(inference="loopy", oracle="undergenerating"), solver="frank_wolfe").fit(X, Y)
    with pytest.raises(TypeError, match="frank_wolfe needs a task loss that is a sum over positions here"):
        SSVM(Graph(inference="bounded"), solver="frank_wolfe", task_loss="zero_one").fit(X, Y)


# ------------------------------------------------------------------------------------------- partial annotation


@both_solvers
@pytest.mark.parametrize("inference", ["auto", "bounded"])
def test_losses_count_annotated_nodes_only(rng, solver, inference):
    """The optimum of the convex part of the bridge loss is that of the bundle method."""
    if isinstance(solver, SMO) and inference == "bounded":
        pytest.skip("needs exact maxima")
    X, Y = graphs(rng, SQUARE)
    some = [[UNKNOWN, y[1], OneOf(y[2], "a"), y[3]] for y in Y]
    problem = problem_of(SSVM(Graph(inference=inference), loss="bridge", l2=1.0), X, some)
    convex = problem.with_surrogate(problem.surrogate.convex_part)
    best = Bundle(tol=1e-7).solve(convex)
    result = solver.solve(convex)
    assert result.primal == pytest.approx(best.primal, rel=1e-5)
    assert result.lower <= best.primal * (1 + 1e-9) and best.lower <= result.primal * (1 + 1e-9)


def test_allowed_labels_of_edges_are_left_to_bundles(rng):
    X, Y = graphs(rng, SQUARE)
    linked = [Linked([UNKNOWN, *y[1:]], {(0, 1): OneOf(("a", y[1]))}) for y in Y]
    with pytest.raises(MissingCapability, match=r"says what edges may be.*use inner='bundle'"):
        SSVM(Graph(), loss="bridge", l2=1.0, solver=CCCP(inner="smo")).fit(X, linked)
