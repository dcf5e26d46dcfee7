"""The diagonal guess of L-BFGS: its variances, its algebra, the same optima, and runs that go on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import make_problem
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from toy_problems import BinaryLogistic, make

from palmette.errors import MissingCapability
from palmette.loops import find
from palmette.regularizers.elastic import ElasticNet
from palmette.solvers.lbfgs import LBFGS
from palmette.solvers.quasi_newton import InverseHessian
from palmette.structures import Chain, Multiclass
from palmette.structures.chain.loops.packed_diagonal import PackedDiagonal

SPARSE = ["sparse", "names"]


def test_variances_of_independent_outputs_are_the_diagonal_of_the_hessian(rng):
    with make_problem(rng, "sparse", Multiclass()) as problem:
        w, step = rng.normal(size=problem.n_params), 1e-5
        columns = np.eye(problem.n_params)
        second = [
            (problem.loss(w + step * e)[1] - problem.loss(w - step * e)[1]) @ e / (2 * step) for e in columns
        ]
        np.testing.assert_allclose(PackedDiagonal(problem)(w), second, atol=1e-7)


@pytest.mark.parametrize("kind", SPARSE)
def test_variances_of_chains_are_those_of_their_marginals(rng, kind):
    with make_problem(rng, kind, Chain()) as problem:
        w, scorer, samples = rng.normal(size=problem.n_params), problem.scorer, problem.samples
        theta = scorer.score(w, samples.batch)
        theta = replace(theta, edge=np.repeat(theta.edge, theta.n_edges, axis=0))  # marginals of every edge
        marginals = problem.structure.expectation(theta)[1]
        lengths = np.diff(theta.offsets)
        node = np.repeat(samples.weight, lengths)[:, None] * marginals.node * (1 - marginals.node)
        edge = np.repeat(samples.weight, lengths - 1)[:, None, None] * marginals.edge * (1 - marginals.edge)
        rows = samples.batch.rows
        values = rows.values if len(rows.values) else np.ones(len(rows.indices))
        square = (
            sparse.csr_array((values**2, rows.indices, rows.indptr), (len(node), scorer.n_columns)).T @ node
        )
        expected = np.zeros(problem.n_params)
        column, label = scorer.coordinates()
        expected[: len(column)] = square[column, label]
        expected[scorer.blocks["bias"]] = node.sum(0) if scorer.intercept else 0.0
        expected[scorer.blocks["edge"]] = edge.sum(0).ravel()[scorer.pairs]
        np.testing.assert_allclose(PackedDiagonal(problem)(w), expected, atol=1e-12)


@given(st.integers(0, 2**32 - 1))
def test_a_guess_is_the_first_matrix_of_the_recursion(seed):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(8, 8))
    A = A @ A.T + np.eye(8)
    estimate, pairs, zero, guess = InverseHessian(8, memory=4), [], np.zeros(8), np.ones(8)
    for _ in range(rng.integers(1, 10)):
        if rng.random() < 0.4:  # at any time, and more than once
            guess = rng.uniform(0.1, 10.0, 8)
            estimate.rescale(guess)
        s = rng.normal(size=8)
        assert estimate.update(s, zero, A @ s, zero)
        pairs = [*pairs, (s, A @ s)][-4:]
    if rng.random() < 0.5:
        guess = rng.uniform(0.1, 10.0, 8)
        estimate.rescale(guess)
    g = rng.normal(size=8)
    q, shares = g.copy(), []
    for s, y in reversed(pairs):
        shares.append(s @ q / (s @ y))
        q -= shares[-1] * y
    s, y = pairs[-1]
    q *= guess * (s @ y) / (y @ (guess * y))
    for (s, y), share in zip(pairs, reversed(shares)):
        q += (share - y @ q / (s @ y)) * s
    np.testing.assert_allclose(estimate.times(g), q, rtol=1e-6, atol=1e-8)
    estimate.clear()
    np.testing.assert_allclose(estimate.times(g), guess * g)


@pytest.mark.parametrize("kind", SPARSE)
@pytest.mark.parametrize(("l2", "l1"), [(0.05, 0.0), (0.02, 0.3), (0.0, 0.3)])
@pytest.mark.parametrize("damping", [0.1, 20.0])
def test_the_optimum_does_not_depend_on_the_guess(rng, kind, l2, l1, damping):
    with make_problem(rng, kind) as problem:
        problem.regularizer = ElasticNet(np.full(problem.n_params, l2), np.full(problem.n_params, l1))
        plain = LBFGS(tol=0.0, max_iter=5000, precondition=None).solve(problem)
        start = plain.w + rng.normal(size=problem.n_params)
        for w0 in (None, start):
            result = LBFGS(tol=0.0, max_iter=5000, precondition=damping).solve(problem, w0=w0)
            assert result.converged and result.primal == pytest.approx(plain.primal, rel=1e-7)
            np.testing.assert_array_equal(result.w == 0.0, plain.w == 0.0)


@pytest.mark.parametrize("l1", [0.0, 0.1])
@pytest.mark.parametrize("start", [0.0, 0.5])
def test_a_run_goes_on_as_if_it_had_never_stopped(rng, l1, start):
    with make_problem(rng, "names") as problem:
        problem.regularizer = ElasticNet(np.full(problem.n_params, 1e-3), np.full(problem.n_params, l1))
        w0 = np.full(problem.n_params, start)

        def solver(n):
            return LBFGS(tol=0.0, max_iter=n, precondition=2.0)

        with pytest.warns(ConvergenceWarning):
            whole, first = solver(16).solve(problem, w0=w0), solver(10).solve(problem, w0=w0)
            rest = solver(6).solve(problem, state=first.state)
        np.testing.assert_array_equal(rest.w, whole.w)
        assert rest.step.n_oracle == whole.step.n_oracle


def test_a_pass_for_the_variances_counts(rng):
    with make_problem(rng, "names") as problem:
        steps = [
            LBFGS(precondition=damping, callbacks=[lambda step: True])
            .solve(problem, w0=np.ones(problem.n_params))
            .step
            for damping in (None, "auto", 1.0)
        ]
        assert steps[1].n_oracle == steps[0].n_oracle  # few weights: not worth it
        assert steps[2].n_oracle >= 3


def test_bad_dampings_and_problems(rng):
    for damping in (0.0, -1.0, "yes", np.nan):
        with pytest.raises(ValueError, match="precondition must be 'auto', None or a damping > 0"):
            LBFGS(precondition=damping)
    with pytest.raises(
        MissingCapability, match=r"precondition=5\.0 needs the log loss.*BinaryLogistic.*None"
    ):
        LBFGS(precondition=5.0).solve(make(BinaryLogistic, rng))
    with make_problem(rng, "dense") as problem:
        assert find("diagonal", problem) is None
    with make_problem(rng, "names", surrogate="hinge") as problem:
        assert find("diagonal", problem) is None
