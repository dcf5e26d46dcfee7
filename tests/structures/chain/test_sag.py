"""SAG: lazy steps against eager ones, its optimum, its certificate, and what it refuses."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from problems import KINDS, make_problem

from palmette import CRF
from palmette.errors import MissingCapability
from palmette.objectives.sag_state import SagState
from palmette.regularizers.elastic import ElasticNet
from palmette.solvers.lbfgs import LBFGS
from palmette.solvers.sag import SAG
from palmette.structures import Chain, Multiclass


def penalised(problem, l2=0.7, l1=0.0, edge=1.0):
    """One strength for features and intercept, another for transitions."""
    shares = np.ones(problem.n_params)
    shares[problem.scorer.blocks["edge"]] = edge
    problem.regularizer = ElasticNet(l2 * shares, l1 * shares)
    return problem


def objective(problem, w):
    return problem.loss(w)[0] + problem.regularizer.value(w)


def soft(v, cut):
    return np.sign(v) * np.maximum(np.abs(v) - cut, 0.0)


class Eager:
    """The method as its formulas say: dense gradients, every weight moves at every step."""

    def __init__(self, problem, caution=1.0):
        self.problem, self.caution = problem, caution
        self.w = np.zeros(problem.n_params)
        self.gradients, self.lipschitz, self.wait, self.streak = {}, {}, {}, {}

    def sample(self, i, w):
        value, counts, batch = self.problem.sample_loss(i, w)
        gradient = np.zeros(len(w))
        self.problem.scorer.pull_back(counts, batch, gradient)
        return value, gradient / self.problem.samples.weight[i]

    def estimate(self, i, value, gradient):
        weight, square = self.problem.samples.weight, float(gradient @ gradient)
        if square <= 1e-8:
            return
        mean = np.mean([weight[j] * x for j, x in self.lipschitz.items()]) if self.lipschitz else weight[i]
        old = self.lipschitz.get(i, mean / weight[i])
        fresh = old / 2
        while self.sample(i, self.w - gradient / fresh)[0] > value - square / (2 * fresh):
            fresh *= 2
        self.lipschitz[i] = fresh
        streak = self.streak.get(i, 0)
        self.wait[i], self.streak[i] = (2**streak, streak + 1) if fresh <= old else (0, 0)

    def visit(self, i):
        reg, weight = self.problem.regularizer, self.problem.samples.weight
        value, gradient = self.sample(i, self.w)
        if self.wait.get(i, 0):
            self.wait[i] -= 1
        else:
            self.estimate(i, value, gradient)
        self.gradients[i] = weight[i] * gradient
        curvatures = [weight[j] * x for j, x in self.lipschitz.items()]
        m, l2 = self.caution * len(self.gradients), reg.l2.max()
        step = 0.5 / (m * max(curvatures) + l2) + 0.5 / (m * np.mean(curvatures) + l2)
        self.w = soft((1 - step * reg.l2) * self.w - step * sum(self.gradients.values()), step * reg.l1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("l2", "l1"), [(0.7, 0.0), (30.0, 0.0), (0.5, 0.3), (0.2, 2.0)])
def test_lazy_steps_are_eager_steps(rng, kind, l2, l1):
    with make_problem(rng, kind) as problem:
        penalised(problem, l2, l1, edge=2.0)
        samples = problem.samples
        table = SagState(problem.pack(float), samples.codes, samples.weight, (l2, 2 * l2), (l1, 2 * l1))
        table.caution = 1.5
        eager = Eager(problem, table.caution)
        for order in (rng.permutation(8), rng.integers(0, 8, 60), np.array([3]), rng.integers(0, 8, 200)):
            n_trials = table.visit(order)
            for i in order:
                eager.visit(i)
            np.testing.assert_allclose(table.chains.unpack(table.w), eager.w, atol=1e-9)
            assert n_trials >= 0
        np.testing.assert_allclose(table.lipschitz, [eager.lipschitz[i] for i in range(8)], rtol=1e-9)
        entropy, z = table.cut(keep=False)
        np.testing.assert_allclose(z, -sum(eager.gradients.values()), atol=1e-9)
        np.testing.assert_allclose(table.chains.unpack(table.z), z, atol=1e-9)
        # the cut of the stored marginals lies below the loss everywhere
        for _ in range(10):
            w = eager.w + rng.normal(size=len(z))
            assert problem.loss(w)[0] >= entropy - z @ w - 1e-9


@pytest.mark.parametrize("l1", [0.0, 0.4])
def test_a_chain_of_steps_may_be_cut_anywhere(rng, l1):
    """Catching up at the end of every call, or not: the same."""
    with make_problem(rng, "names") as problem:
        penalised(problem, 50.0, l1)  # strong: the scale of the weights shrinks by 1e-12 and is renewed
        samples = problem.samples
        order = rng.integers(0, 8, 400)
        ends = []
        for pieces in (1, 40):
            table = SagState(problem.pack(float), samples.codes, samples.weight, (50.0, 50.0), (l1, l1))
            for piece in np.split(order, pieces):
                table.visit(piece)
            ends.append(table.chains.unpack(table.w))
        np.testing.assert_allclose(ends[0], ends[1], atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("structure", [Chain(), Multiclass()])
@pytest.mark.parametrize(("l2", "l1"), [(0.7, 0.0), (20.0, 0.0), (0.5, 0.3)])
def test_reaches_the_optimum_of_lbfgs_with_a_proof(rng, kind, structure, l2, l1):
    with make_problem(rng, kind, structure) as problem:
        penalised(problem, l2, l1)
        best = LBFGS(tol=1e-10, max_iter=5000).solve(problem)
        result = SAG(tol=1e-7, max_iter=5000).solve(problem)
        assert result.converged and result.reason == "gap"
        assert objective(problem, result.w) == pytest.approx(result.primal, rel=1e-12)
        assert 0.0 <= result.gap <= 1e-7 * result.primal
        assert result.lower <= best.primal * (1 + 1e-9) and result.primal <= best.primal * (1 + 2e-7)
        np.testing.assert_allclose(result.w, best.w, atol=2e-3)


@pytest.mark.parametrize("precision", ["single", "double"])
def test_the_bound_always_holds(rng, precision):
    with make_problem(rng, "names") as problem:
        penalised(problem)
        best = LBFGS(tol=1e-10).solve(problem)
        result = SAG(precision=precision, tol=1e-5, max_iter=5000).solve(problem)
        lower = np.array([step.lower for step in result.history])
        assert result.converged and np.all(np.diff(lower[np.isfinite(lower)]) >= 0.0)
        assert np.all(lower <= best.primal * (1 + 1e-6))


def test_sample_weights_count_as_repetitions(rng):
    with make_problem(rng, "names") as problem:
        penalised(problem)
        problem.samples = problem.samples._replace(weight=rng.integers(0, 3, problem.n_samples).astype(float))
        best = LBFGS(tol=1e-10).solve(problem)
        result = SAG(tol=1e-7, max_iter=5000).solve(problem)
        assert result.converged and result.primal == pytest.approx(best.primal, rel=1e-6)


def test_a_start_is_used(rng):
    with make_problem(rng, "names") as problem:
        penalised(problem)
        cold = SAG(tol=1e-6, max_iter=5000).solve(problem)
        warm = SAG(tol=1e-6, max_iter=5000).solve(problem, w0=cold.w)
        assert warm.converged and warm.step.n_iter < cold.step.n_iter
        anywhere = SAG(tol=1e-6, max_iter=5000).solve(problem, w0=rng.normal(size=problem.n_params))
        assert anywhere.converged and anywhere.primal == pytest.approx(cold.primal, rel=2e-6)


def test_steps_that_are_too_long_are_shortened(rng):
    with make_problem(rng, "names") as problem:
        penalised(problem, 0.01)
        solver = SAG(tol=1e-6, max_iter=5000)
        careless = copy.deepcopy(SAG(callbacks=[lambda step: True]).solve(problem).state)
        careless["run"].table.caution = 1e-3
        result = solver.solve(problem, state=careless)
        assert result.converged and result.state["run"].table.caution > 0.01


@pytest.mark.parametrize("n", [1, 2])
def test_one_label_leaves_nothing_to_learn(n):
    model = CRF(Chain(), solver="sag").fit([[["a"], ["b"]][:n]], [["x", "x"][:n]])
    assert model.result_.reason == "gap" and model.objective_ == 0.0
    assert not model.coef_.any()


@pytest.mark.parametrize(("l2", "edge"), [(1e20, 1.0), (50.0, 4.0), (1.0, 100.0)])
def test_strong_penalties(rng, l2, edge):
    """Also where that of transitions is much stronger than that of features."""
    with make_problem(rng, "names") as problem:
        penalised(problem, l2, edge=edge)
        best = LBFGS(tol=1e-10).solve(problem)
        result = SAG(max_iter=1000).solve(problem)
        assert result.converged and result.primal == pytest.approx(best.primal, rel=2e-4)


@pytest.mark.parametrize("l1", [0.0, 0.2])
def test_resumes_bitwise(rng, l1):
    with make_problem(rng, "names") as problem:
        penalised(problem, l1=l1)

        def at(n):
            return SAG(tol=1e-12, callbacks=[lambda step: step.n_iter == n])

        whole, first = at(29).solve(problem), at(13).solve(problem)
        rest = at(29).solve(problem, state=first.state)
        again = at(29).solve(problem, state=first.state)
        with pytest.warns(match="after 13 epochs"):
            limited = SAG(tol=1e-12, max_iter=13).solve(problem)
        after_limit = at(29).solve(problem, state=limited.state)
        assert first.reason == whole.reason == "callback" and rest.step.n_iter == 29
        for result in (rest, again, after_limit):
            np.testing.assert_array_equal(result.w, whole.w)
            assert result.step._replace(seconds=0.0) == whole.step._replace(seconds=0.0)
            assert len(result.history) == len(whole.history)


def test_the_draws_follow_the_seed(rng):
    with make_problem(rng, "names") as problem:
        penalised(problem)
        runs = [SAG(random_state=seed, tol=1e-3).solve(problem).w for seed in (0, 0, 1)]
        np.testing.assert_array_equal(runs[0], runs[1])
        assert np.any(runs[0] != runs[2])


def test_refuses_what_it_cannot_do(rng):
    with make_problem(rng, "names", surrogate="hinge") as problem:
        with pytest.raises(MissingCapability, match=r"sag serves.*Hinge on Chain.*use solver='bundle'"):
            SAG().solve(penalised(problem))
    with make_problem(rng, "names") as problem:
        with pytest.raises(MissingCapability, match="l2 > 0"):
            SAG().solve(penalised(problem, l2=0.0, l1=1.0))
        strengths = np.ones(problem.n_params)
        strengths[0] = 2.0
        problem.regularizer = ElasticNet(strengths, np.zeros(problem.n_params))
        with pytest.raises(MissingCapability, match="one l2 and one l1"):
            SAG().solve(problem)
        with pytest.raises(ValueError, match="w0 has shape"):
            SAG().solve(penalised(problem), w0=np.zeros(3))
    with pytest.raises(ValueError, match="precision must be"):
        SAG(precision="half")
    with pytest.raises(ValueError, match="max_iter must be a number > 0"):
        SAG(max_iter=0)


def test_warns_when_it_runs_out_of_epochs(rng):
    with make_problem(rng, "names") as problem, pytest.warns(match="sag stopped after 2 epochs"):
        result = SAG(tol=1e-9, max_iter=2).solve(penalised(problem))
    assert not result.converged and np.isfinite(result.gap)


@pytest.mark.data
@pytest.mark.parametrize("l2", [0.2, 2.0, 20.0])
def test_chunking_converges_whatever_the_penalty(l2):
    from palmette.apps.tagging.default_template import crfsuite_chunking_template
    from palmette.datasets import load_conll2000
    from palmette.features.templates import Template

    train = load_conll2000("train")
    X, y = Template.parse(crfsuite_chunking_template()).apply(train.data[:300]), train.target[:300]
    result = CRF(Chain(), l2=l2, solver="sag", tol=1e-3).fit(X, y).result_
    best = CRF(Chain(), l2=l2, solver="dual", tol=1e-4).fit(X, y).result_
    assert result.reason == "gap" and result.primal <= best.primal * (1 + 1.1e-3)
    assert result.lower <= best.primal
    primal = np.array([step.primal for step in result.history])
    assert np.all(primal[5:] <= 1.05 * np.minimum.accumulate(primal)[4:-1])
