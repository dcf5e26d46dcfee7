"""Objectives and gaps that hold where maxima are found to a tolerance: against a quadratic program."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from m3n_reference import dual_optimum, problem_of
from sklearn.exceptions import ConvergenceWarning
from toy_problems import MulticlassHinge

from palmette import SSVM, Graph
from palmette.errors import ApproximateInferenceWarning
from palmette.objectives.problem import bounded_loss, refine
from palmette.structures.graph.tally import FINEST

pytestmark = pytest.mark.filterwarnings("ignore::palmette.errors.ApproximateInferenceWarning")


def full_graphs(seed, n=3, n_nodes=5, n_labels=2):
    """Graphs in which every node has every other for a neighbour, and labels that neighbours do not share."""
    rng = np.random.default_rng(seed)
    edges = list(itertools.combinations(range(n_nodes), 2))
    X = [(rng.normal(size=(n_nodes, 2)), edges) for _ in range(n)]
    return X, [rng.permutation(np.arange(n_nodes) % n_labels).tolist() for _ in range(n)]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "solver, max_iter",
    [
        ("bundle", 100),
        ("one_slack", 100),
        ("n_slack", 50),
        ("subgradient", 30),
        ("pegasos", 20),
        ("stochastic", 20),
    ],
)
@pytest.mark.parametrize("seed, n, n_labels", [(1, 3, 2), (2, 2, 3)])
def test_objectives_of_relaxed_maxima_enclose_the_optimum(solver, max_iter, seed, n, n_labels):
    """With two labels a cut finds the best ones at w = 0, where edges are submodular, but not at the weights found."""
    X, Y = full_graphs(seed, n, n_labels=n_labels)
    optimum = dual_optimum(problem_of(SSVM(Graph(memory_limit=0), l2=0.1), X, Y), "local")
    model = SSVM(Graph(memory_limit=0), l2=0.1, tol=1e-5, solver=solver, max_iter=max_iter)
    result = model.fit(X, Y).result_
    rounding = 1e-8 * optimum
    for step in result.history:
        assert not step.primal < optimum - rounding and not step.lower > optimum + rounding
    assert result.primal >= optimum - rounding
    assert result.reason != "gap" or result.gap <= 1e-5 * result.primal
    if solver in ("bundle", "one_slack"):  # the others take longer than they may here
        assert result.reason == "gap" and result.converged


def test_frank_wolfe_keeps_the_objective_that_it_proved():
    X, Y = full_graphs(2, n=2, n_labels=3)
    optimum = dual_optimum(problem_of(SSVM(Graph(memory_limit=0)), X, Y), "local")
    model = SSVM(Graph(memory_limit=0), tol=1e-4, solver="frank_wolfe", max_iter=200).fit(X, Y)
    result = model.result_
    assert result.reason == "gap" and result.gap <= 1e-4 * result.primal
    assert result.primal >= optimum * (1.0 - 1e-8) and result.lower <= optimum * (1.0 + 1e-8)


def test_maxima_are_refined_within_a_fit_and_not_after_it():
    X, Y = full_graphs(1, n_labels=3)  # with two labels a cut is exact from the start
    problem = problem_of(SSVM(Graph(memory_limit=0), l2=0.3), X, Y)
    w = 3.0 * np.random.default_rng(1).normal(size=problem.n_params)
    structure = problem.structure
    assert not refine(problem)  # nobody would set it back
    with structure.telling(quiet=True):
        value, _, slack = bounded_loss(problem, w)
        assert refine(problem)
        better, _, less = bounded_loss(problem, w)
        assert slack > 1e-5 * value and 0.0 <= less < 1e-6 * better
        assert value <= better + less and better <= value + slack
        n = 0
        while refine(problem):
            n += 1
        assert n < 10 and structure.accuracy <= FINEST
    assert structure.accuracy > 100 * FINEST and not refine(
        MulticlassHinge(np.ones((2, 1)), np.array([0, 1]))
    )


@pytest.mark.parametrize("solver", ["bundle", "n_slack", "subgradient"])
def test_a_gap_that_only_better_maxima_would_close_is_said(solver):
    """What labels that a search finds may have missed stays in the objective, and there is no convergence."""
    X, Y = full_graphs(0, n_nodes=6, n_labels=3)
    structure = Graph(inference="loopy", oracle="undergenerating")
    exact = SSVM(Graph(), l2=0.1, tol=1e-2).fit(X, Y).result_
    with pytest.warns(ConvergenceWarning, match=r"stopped after \d+ .* the maxima of the loss are not known"):
        result = SSVM(structure, l2=0.1, tol=1e-2, solver=solver, max_iter=100).fit(X, Y).result_
    assert result.reason == "inexact maxima" and not result.converged
    assert result.gap > 1e-2 * result.primal and result.primal >= exact.lower
    assert result.lower <= exact.primal


@pytest.mark.filterwarnings("error::sklearn.exceptions.ConvergenceWarning")
def test_rounds_of_cccp_say_nothing_of_their_maxima():
    X, Y = full_graphs(2)
    with pytest.warns(ApproximateInferenceWarning):
        model = SSVM(Graph(memory_limit=0), l2=0.3, tol=1e-3, loss="ramp").fit(X, Y)
    assert model.result_.converged and np.isnan(model.result_.gap)
