"""Algorithm 1.1 of structured learning from partial annotation, written out, against the solver."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from toy_problems import clarabel_minimum

from palmette import SSVM, UNKNOWN, Chain, GraphInput, Ranking
from palmette.datasets import make_chains
from palmette.solvers import CCCP
from palmette.solvers.cccp import objective
from palmette.structures import Graph

L2 = 0.5


@dataclass(frozen=True)
class Caught(CCCP):
    """Notes the problem that it solves."""

    problems: list = field(default_factory=list)

    def solve(self, problem, w0=None, state=None):
        self.problems.append(problem)
        return super().solve(problem, w0, state)


def half(Y, seed):
    rng = np.random.default_rng(seed)
    return [[label if rng.random() < 0.5 else UNKNOWN for label in y] for y in Y]


def chains():
    X, Y = make_chains(7, n_classes=3, n_features=2, random_state=0)
    return Chain(), X, half(Y, 0)


def graphs():
    _, X, Y = chains()
    return Graph(), [GraphInput(x, [(t, t + 1) for t in range(len(x) - 1)]) for x in X], Y


def rankings():
    rng = np.random.default_rng(1)
    X = [rng.normal(size=(5, 3)) for _ in range(8)]
    return Ranking(), X, [np.clip(np.round(x @ [1.0, -1.0, 0.3] + 1.0), 0, 2).astype(int) for x in X]


def solved(data, **settings):
    structure, X, Y = data
    solver = Caught(tol=1e-4, inner="bundle", start="zero", **settings)
    model = SSVM(structure, l2=L2, loss="bridge", solver=solver, n_jobs=1).fit(X, Y)
    return model, solver.problems[0]


def dual(A, b, v):
    """(1.7): ``max -(1/2l) a'A'Aa + (b - A'v/l)'a`` over the simplex, and the weights ``-(v + Aa)/l``."""
    n = len(b)
    rows = np.vstack([np.ones(n), -np.eye(n)])
    a, value = clarabel_minimum(
        A.T @ A / L2, A.T @ v / L2 - b, rows, np.array([1.0, *np.zeros(n)]), n_equal=1
    )
    return -(v + A @ a) / L2, -value - v @ v / (2 * L2)


def algorithm(problem, w, first_gap=0.1, shrink=0.5, tol=1e-4):
    """The weights after the rounds of Algorithm 1.1 from ``w`` on."""
    convex = problem.with_surrogate(problem.surrogate.convex_part)
    concave = problem.with_surrogate(problem.surrogate.concave_part)
    cuts, before, gap = [], np.inf, first_gap
    while (now := objective(problem, w)) < before - tol * abs(now):
        before, best, value = now, w, np.inf
        v = -concave.tangent(w).slope
        while True:
            loss, a = convex.loss(w)
            cuts.append((a.copy(), loss - a @ w))
            primal = loss + v @ w + L2 / 2 * w @ w
            best, value = (w.copy(), primal) if primal < value else (best, value)
            w, lower = dual(np.array([a for a, _ in cuts]).T, np.array([b for _, b in cuts]), v)
            model = max(a @ w + b for a, b in cuts) + v @ w + L2 / 2 * w @ w
            assert lower == pytest.approx(model, rel=1e-5)  # (1.6) and (1.7) have no gap
            assert lower <= value + 1e-5 * abs(value)
            if value - lower <= gap * abs(value):
                break
        w, gap = best, max(gap * shrink, tol)
    return w


@pytest.mark.parametrize("data", [chains, graphs, rankings])
def test_the_solver_ends_no_higher_than_the_algorithm_as_printed(data):
    """Both end in stationary points of one objective, from one start; they may be different ones."""
    printed = None
    for settings in ({}, {"precision": "geometric"}, {"recycle": False}):
        model, problem = solved(data(), **settings)
        if printed is None:
            printed = objective(problem, algorithm(problem, np.zeros(problem.n_params)))
        assert objective(problem, model.coef_) == pytest.approx(model.objective_, rel=1e-9)
        assert model.objective_ <= 1.02 * printed, settings


@pytest.mark.parametrize("data", [chains, graphs, rankings])
def test_recycled_cuts_with_adaptive_precision_need_fewer_passes(data):
    both, _ = solved(data())
    neither, _ = solved(data(), recycle=False, precision="fixed")
    assert both.objective_ <= neither.objective_ * 1.01
    assert both.result_.step.n_oracle < neither.result_.step.n_oracle


def test_a_given_start_is_taken():
    model, _ = solved(chains())
    again = SSVM(Chain(), l2=L2, loss="bridge", solver=CCCP(tol=1e-4, inner="bundle", start=model.coef_))
    again.fit(*chains()[1:])
    assert again.objective_ <= model.objective_ * (1 + 1e-9)
    assert again.result_.step.n_oracle < model.result_.step.n_oracle
