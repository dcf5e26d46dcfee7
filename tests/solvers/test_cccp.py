"""CCCP: the objective falls from round to round, cuts serve in all of them, and bad inner solvers do no harm."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import make_problem
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning

import palmette
from palmette import SSVM, Chain, Graph, LossOptions, Multiclass, Ranking
from palmette.contracts.solver import Result
from palmette.contracts.structure import Best
from palmette.datasets import make_chains
from palmette.errors import MissingCapability
from palmette.inspection import bound_values
from palmette.losses import PrecisionAt
from palmette.objectives import risk
from palmette.objectives.linearised import Linearised
from palmette.regularizers import ElasticNet
from palmette.solvers import CCCP, Bundle, MulticlassDual, Pegasos, Stochastic, Subgradient
from palmette.solvers.cccp import MovedTargets, RecycledCuts, Restarted, objective
from palmette.solvers.driver import Recorder
from palmette.solvers.registry import make_solver
from palmette.surrogates import Difference, PerceptronLoss

seeds = st.integers(0, 2**32 - 1)


@contextmanager
def ramp_problem(rng, even=False, **options):
    """A random problem with a ramp loss, and with one strength of the penalty for all weights if ``even``."""
    with make_problem(rng, surrogate="hinge", **options) as problem:
        if even:
            n = problem.n_params
            problem.regularizer = ElasticNet(np.full(n, options.get("l2", 0.7)), np.zeros(n))
        yield problem.with_surrogate(Difference(problem.surrogate, PerceptronLoss()))


def noisy_points(rng, n=300, share=0.3):
    """Three classes in the plane, of which a share of the labels is drawn anew; the last third of labels is clean."""
    y = rng.integers(0, 3, n)
    X = 2.0 * np.array([[1.0, 0.0], [-0.5, 0.9], [-0.5, -0.9]])[y] + rng.normal(size=(n, 2))
    noisy = np.where(rng.random(n) < share, rng.integers(0, 3, n), y)
    return X, noisy, y


def objectives_of_rounds(result):
    return [result.history[place].primal for place in result.rounds]


@dataclass(frozen=True)
class Wanderer:
    """A solver that goes anywhere and says honestly what it found."""

    random_state: int = 0
    callbacks: tuple = field(default=())

    def solve(self, problem, w0=None, state=None):
        w = np.random.default_rng(self.random_state).normal(size=problem.n_params)
        recorder = Recorder(self.callbacks)
        recorder.record(1, 1, objective(problem, w), -np.inf, lambda: w)
        return Result(w, recorder.history[-1], tuple(recorder.history), False, "max_iter")


INNER = {
    "bundle": "bundle",
    "dual": "dual",
    "subgradient": Subgradient(max_iter=30, tol=0.0),
    "wanderer": Wanderer(),
}


# --------------------------------------------------------------------------------------------- the descent


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("inner", INNER)
@settings(max_examples=10)
@given(seed=seeds, start=st.sampled_from(["convex", "zero", "given"]), recycle=st.booleans())
def test_the_objective_never_rises(inner, seed, start, recycle):
    rng = np.random.default_rng(seed)
    structure = Multiclass() if inner == "dual" or seed % 2 else Chain()
    with ramp_problem(rng, structure=structure, l2=rng.choice([0.1, 1.0]), even=inner == "dual") as problem:
        solver = CCCP(inner=INNER[inner], recycle=recycle, start="auto" if start == "given" else start)
        w0 = rng.normal(size=problem.n_params) if start == "given" else None
        result = solver.solve(problem, w0=w0)
        values = objectives_of_rounds(result)
        assert values == sorted(values, reverse=True)
        assert result.primal == values[-1] == pytest.approx(objective(problem, result.w), rel=1e-9)
        assert np.isnan(result.lower) and np.isnan(result.gap)
        if start != "convex":
            first = np.zeros(problem.n_params) if w0 is None else w0
            assert values[0] <= objective(problem, first) * (1 + 1e-12)
        if inner == "wanderer":
            assert result.converged and len(values) <= 3


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("inner", INNER)
@pytest.mark.parametrize("iterations", [1, 3, 200])
def test_an_inner_solve_is_never_worse_than_its_start(inner, iterations, rng):
    dual = inner == "dual"
    with ramp_problem(rng, structure=Multiclass() if dual else Chain(), even=dual) as problem:
        convex = problem.with_surrogate(problem.surrogate.convex_part)
        concave = problem.with_surrogate(problem.surrogate.concave_part)
        solver = {
            "bundle": RecycledCuts(Bundle(iterations, 1e-4)),
            "dual": MovedTargets(MulticlassDual(iterations, 1e-4)),
        }.get(inner) or Restarted(INNER[inner])
        for _ in range(4):
            w = rng.normal(size=problem.n_params)
            round_ = Linearised(convex, concave.tangent(w))
            value = objective(round_, w)
            for known in (value, None):
                result = solver.solve(round_, w, known, lambda *_: False)
                assert result.primal <= value * (1 + 1e-12)
                assert result.primal == pytest.approx(objective(round_, result.w), rel=1e-9)


class Greedy(Chain):
    """Chains whose best output is searched position by position, without the transitions."""

    def best(self, theta, *, cost=None, within=None):
        if cost is not None:
            return super().best(theta, cost=cost, within=within)
        codes = theta.node.argmax(axis=1).astype(np.int32)
        return Best(codes, self.score(theta, codes))


def test_maxima_that_are_not_found_do_not_make_it_worse():
    """Tangents are none then, so that a round may lead uphill: the better point is kept, and the run ends."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        with ramp_problem(rng, structure=Greedy(), l2=0.1) as problem:
            result = CCCP().solve(problem)
            values = objectives_of_rounds(result)
            assert values == sorted(values, reverse=True)
            assert result.primal == pytest.approx(objective(problem, result.w), rel=1e-9)


@given(seed=seeds)
def test_cuts_of_earlier_rounds_lie_below_the_loss(seed):
    """Each is moved by the change of the tangent; cuts that were merged into a mean are, too."""
    rng = np.random.default_rng(seed)
    with ramp_problem(rng, structure=Multiclass()) as problem:
        convex = problem.with_surrogate(problem.surrogate.convex_part)
        concave = problem.with_surrogate(problem.surrogate.concave_part)
        inner = RecycledCuts(Bundle(5, 0.0, max_cuts=int(rng.choice([4, 50]))))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            for _ in range(4):
                w = rng.normal(size=problem.n_params)
                round_ = Linearised(convex, concave.tangent(w))
                result = inner.solve(round_, w, objective(round_, w), lambda *_: False)
        pool = result.state.pool
        for w in (*rng.normal(size=(5, problem.n_params)), result.w):
            cuts = pool._offsets + pool._gradients[: len(pool)] @ w
            assert cuts.max() <= round_.loss(w)[0] + 1e-9
        assert pool.best <= result.primal + 1e-9


def test_a_tangent_is_above_the_concave_part(rng):
    with ramp_problem(rng) as problem:
        concave = problem.with_surrogate(problem.surrogate.concave_part)
        for w in rng.normal(size=(5, problem.n_params)):
            value, slope = concave.loss(w)
            assert value == pytest.approx(slope @ w)
            for u in rng.normal(size=(5, problem.n_params)):
                assert concave.loss(u)[0] >= slope @ u - 1e-9


def test_recycled_cuts_save_passes(rng):
    X, y, _ = noisy_points(rng)
    kept, forgotten = (
        SSVM(Multiclass(), loss="ramp", C=10.0, solver=CCCP(inner="bundle", recycle=recycle)).fit(X, y)
        for recycle in (True, False)
    )
    assert kept.objective_ == pytest.approx(forgotten.objective_, rel=0.02)
    assert kept.result_.step.n_oracle < 0.6 * forgotten.result_.step.n_oracle


def test_history_counts_all_passes(rng):
    with ramp_problem(rng) as problem:
        calls = 0

        class Counting(type(problem)):
            def bounded_loss(self, w):
                nonlocal calls
                calls += 1
                return super().bounded_loss(w)

            def tangent(self, w):
                nonlocal calls
                calls += 1
                return super().tangent(w)

        problem.__class__ = Counting
        result = CCCP().solve(problem)
    assert result.step.n_oracle == calls
    steps = [(step.n_iter, step.n_oracle, step.seconds) for step in result.history]
    assert steps == sorted(steps) and [s.n_iter for s in result.history] == list(range(1, len(steps) + 1))


# ------------------------------------------------------------------------------------------------ starts


def test_separable_data_have_the_convex_solution():
    """Where the convex solution makes no mistake, the tangent is zero, and nothing changes but the gap."""
    X, y = make_chains(20, n_classes=3, noise=0.1, random_state=0)
    hinge = SSVM(Chain(), l2=0.1, tol=1e-6).fit(X, y)
    ramp = SSVM(Chain(), l2=0.1, tol=1e-6, loss="ramp").fit(X, y)
    assert hinge.predict(X) == y == ramp.predict(X)
    assert ramp.objective_ == pytest.approx(hinge.objective_, rel=1e-4)


def test_starts(rng):
    X, y, _ = noisy_points(rng)
    convex = SSVM(Multiclass(), loss="ramp", solver=CCCP(start="convex")).fit(X, y)
    assert SSVM(Multiclass(), loss="ramp", tol=CCCP().tol).fit(X, y).objective_ == convex.objective_
    with pytest.raises(MissingCapability, match="start='structure': Multiclass provides no first weights"):
        SSVM(Multiclass(), loss="ramp", solver=CCCP(start="structure")).fit(X, y)


def test_rankings_start_at_weights_that_the_structure_knows(rng, monkeypatch):
    found, own = [], Ranking.first_weights
    monkeypatch.setattr(Ranking, "first_weights", lambda *given: found.append(own(*given)) or found[-1])
    X = [rng.normal(size=(6, 3)) for _ in range(20)]
    y = [(np.argsort(np.argsort(x[:, 0] + 0.3 * rng.normal(size=6))) // 2).tolist() for x in X]
    ramp = SSVM(Ranking(), loss="ramp", C=1.0).fit(X, y)
    assert len(found) == 1 and found[0][0] > 3 * np.abs(found[0][1:]).max()
    assert ramp.score(X, y) > 0.9
    SSVM(Ranking(), loss="ramp", C=1.0, solver=CCCP(start="convex")).fit(X, y)
    assert len(found) == 1


def test_warm_start_goes_on(rng):
    X, y, _ = noisy_points(rng)
    model = SSVM(Multiclass(), loss="ramp", C=10.0, warm_start=True).fit(X, y)
    first, passes = model.objective_, model.result_.step.n_oracle
    assert model.fit(X, y).objective_ <= first * (1 + 1e-12)
    assert model.result_.step.n_oracle < 0.5 * passes
    stronger = model.set_params(C=5.0).fit(X, y).objective_
    cold = SSVM(Multiclass(), loss="ramp", C=5.0).fit(X, y).objective_
    assert stronger == pytest.approx(cold, rel=0.05)


# --------------------------------------------------------------------------------- what it is good for, identities


def test_noisy_labels_do_less_harm(rng):
    digits, y = load_digits(return_X_y=True)
    X, train, test = digits / 16.0, slice(0, 600), slice(600, None)
    noisy = np.where(rng.random(600) < 0.3, rng.integers(0, 10, 600), y[train])
    hinge, ramp = (
        SSVM(Multiclass(), C=0.3, loss=loss, tol=1e-2).fit(X[train], noisy) for loss in ("hinge", "ramp")
    )
    assert ramp.score(X[test], y[test]) > hinge.score(X[test], y[test]) + 0.02
    assert bound_values(ramp, X[train], noisy).ramp.sum() < bound_values(hinge, X[train], noisy).ramp.sum()


def test_a_weight_of_two_is_a_sample_given_twice(rng):
    X, y, _ = noisy_points(rng, 100)
    weight = rng.integers(1, 3, len(y)).astype(float)
    twice = np.repeat(np.arange(len(y)), weight.astype(int))
    solver = CCCP(inner="bundle")  # the dual goes sample by sample, and may end in another minimum
    weighted = SSVM(Multiclass(), loss="ramp", l2=1.0, solver=solver).fit(X, y, sample_weight=weight)
    repeated = SSVM(Multiclass(), loss="ramp", l2=1.0, solver=solver).fit(X[twice], y[twice])
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-3)
    values = bound_values(weighted, X, y).ramp @ weight
    assert values == pytest.approx(bound_values(weighted, X[twice], y[twice]).ramp.sum(), rel=1e-9)
    assert weighted.objective_ == pytest.approx(values + 0.5 * weighted.coef_ @ weighted.coef_, rel=1e-9)


def test_threads_do_not_matter(monkeypatch):
    monkeypatch.setattr(risk, "ROWS_A_SHARD", 16)
    X, y = make_chains(20, n_classes=3, random_state=0)
    one, many = (SSVM(Chain(), loss="ramp", tol=1e-3, n_jobs=jobs).fit(X, y) for jobs in (1, 3))
    assert np.array_equal(one.coef_, many.coef_) and one.objective_ == many.objective_


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
def test_a_model_is_saved_with_its_loss(rescaling, tmp_path):
    X, y = make_chains(8, n_classes=3, random_state=0)
    model = SSVM(
        Chain(), loss="ramp", loss_options=LossOptions(rescaling=rescaling), solver=CCCP(tol=1e-2)
    ).fit(X, y)
    model.save(tmp_path / "m.palmette")
    again = palmette.load(tmp_path / "m.palmette")
    assert again.get_params()["loss"] == "ramp" and again.loss_options.rescaling == rescaling
    assert again.predict(X) == model.predict(X)


# -------------------------------------------------------------------------------------------- direct descent


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("solver", [Stochastic(max_iter=20), Subgradient(max_iter=300), Pegasos(max_iter=40)])
def test_direct_descent_on_the_ramp(solver, rng):
    X, y, _ = noisy_points(rng, 100)
    hinge = SSVM(Multiclass(), l2=1.0).fit(X, y)
    at_convex = bound_values(hinge, X, y).ramp.sum() + 0.5 * hinge.coef_ @ hinge.coef_
    reference = SSVM(Multiclass(), l2=1.0, loss="ramp").fit(X, y)
    model = SSVM(Multiclass(), l2=1.0, loss="ramp", solver=solver).fit(X, y)
    assert np.isnan(model.result_.lower) and model.result_.rounds == ()
    assert model.objective_ < at_convex
    assert model.objective_ == pytest.approx(reference.objective_, rel=0.1)
    values = bound_values(model, X, y).ramp.sum() + 0.5 * model.coef_ @ model.coef_
    assert model.objective_ == pytest.approx(values, rel=1e-6)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_l1_beside_l2_has_exact_zeros_and_descends(rng):
    X, y, _ = noisy_points(rng, 60)
    model = SSVM(Multiclass(), loss="ramp", l2=1.0, l1=3.0).fit(X, y)
    steps = SSVM(Multiclass(), loss="ramp", l2=1.0, l1=3.0, solver="stochastic").fit(X, y)
    assert model.result_.rounds and 0 < np.count_nonzero(model.coef_ == 0.0) < len(model.coef_)
    assert model.objective_ <= 1.05 * steps.objective_
    w = model.coef_
    values = bound_values(model, X, y).ramp.sum() + 0.5 * w @ w + 3.0 * np.abs(w).sum()
    assert model.objective_ == pytest.approx(values, rel=1e-9)
    ends = [model.result_.history[k].primal for k in model.result_.rounds]
    assert np.all(np.diff(ends) <= 1e-12 * ends[0])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_l1_alone_is_left_to_stochastic_steps(rng):
    X, y, _ = noisy_points(rng, 60)
    model = SSVM(Multiclass(), loss="ramp", l2=0.0, l1=1.0, max_iter=5).fit(X, y)
    named = SSVM(Multiclass(), loss="ramp", l2=0.0, l1=1.0, max_iter=5, solver="stochastic").fit(X, y)
    assert np.array_equal(model.coef_, named.coef_) and np.isnan(model.result_.lower)
    with pytest.raises(MissingCapability, match=r"needs l2 > 0 on every weight.*use solver='stochastic'"):
        SSVM(Multiclass(), loss="ramp", l2=0.0, l1=1.0, solver="cccp").fit(X, y)


# --------------------------------------------------------------------------------------------- inner solvers

EXACT = ("one_slack", "n_slack", "frank_wolfe", "smo")
ROUGH = ("subgradient", "pegasos", "stochastic")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", ["chain", "dense chain", "multiclass", "graph"])
@pytest.mark.parametrize("inner", [*EXACT, *ROUGH, "multiclass_dual"])
def test_every_solver_of_convex_problems_may_be_the_inner_one(inner, kind, rng):
    """Rounds that are solved to a small gap lead where those of the bundle method lead, and never up."""
    if kind == "multiclass":
        X, y, _ = noisy_points(rng, n=40)
    elif kind == "graph":
        X = [(rng.normal(size=(4, 2)), [(0, 1), (1, 2), (2, 3), (3, 0)]) for _ in range(8)]
        y = [rng.integers(0, 2, 4).tolist() for _ in X]
    else:
        X, y = make_chains(8, random_state=0)
        if kind == "dense chain":
            X, y = [rng.normal(size=(len(s), 3)) for s in y], y
    if inner == "multiclass_dual" and kind != "multiclass":
        pytest.skip("is for single labels")
    structure = {"multiclass": Multiclass(), "graph": Graph()}.get(kind, Chain())
    tol = 3e-2 if inner in ROUGH else 1e-4

    def fitted(inner, recycle):
        settings = CCCP(inner=inner, tol=tol, recycle=recycle, start="zero", max_iter=60, inner_iter=3000)
        return SSVM(structure, loss="ramp", l2=2.0, solver=settings).fit(X, y).result_

    bundle = fitted("bundle", recycle=False)
    for recycle in (False, True):
        result = fitted(inner, recycle)
        values = objectives_of_rounds(result)
        assert len(values) >= 2 and values == sorted(values, reverse=True)
        assert result.converged and result.reason == "estimate: relative decrease over 1 round"
        if kind != "chain":  # where ties at zero lead to other local optima
            assert result.primal <= bundle.primal * (1 + 3 * tol)
        if kind != "chain" and not recycle:
            assert result.primal == pytest.approx(bundle.primal, rel=3 * tol)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("inner", [*EXACT, *ROUGH])
@pytest.mark.parametrize("layout", ["names", "dense"])
def test_a_round_has_one_optimum(inner, layout, rng):
    """Whatever solves it, from the dual variables of another round or from none."""
    tol, allowed = (1e-2, 5e-2) if inner in ROUGH else (1e-4, 1.01e-4)
    with ramp_problem(rng, kind=layout) as problem:
        convex = problem.with_surrogate(problem.surrogate.convex_part)
        concave = problem.with_surrogate(problem.surrogate.concave_part)
        solver = Restarted(make_solver(inner, tol=tol, max_iter=3000, random_state=0, callbacks=()))
        for w in 0.3 * rng.normal(size=(3, problem.n_params)):
            round_ = Linearised(convex, concave.tangent(w))
            reference = Bundle(tol=1e-6).solve(round_)
            result = solver.solve(round_, w, None, lambda *_: False)
            assert result.primal == pytest.approx(objective(round_, result.w), rel=1e-9)
            assert reference.lower * (1 - 1e-9) <= result.primal <= reference.primal * (1 + allowed)
            assert result.lower <= reference.primal * (1 + 1e-9)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("rescaling", ["margin", "slack"])
@pytest.mark.parametrize("inner", ["n_slack", "pegasos"])
def test_losses_of_single_samples_add_up_to_a_round(inner, rescaling, rng):
    """Their linear terms are those of the whole, whatever the rescaling."""
    X, y, _ = noisy_points(rng, n=30)
    options = LossOptions(rescaling=rescaling)
    model = SSVM(Multiclass(), loss="ramp", loss_options=options, l2=1.0, solver=CCCP(inner=inner, tol=1e-2))
    model.fit(X, y)
    bundle = SSVM(
        Multiclass(), loss="ramp", loss_options=options, l2=1.0, solver=CCCP(inner="bundle", tol=1e-2)
    )
    assert model.objective_ == pytest.approx(bundle.fit(X, y).objective_, rel=5e-2)
    with ramp_problem(rng) as problem:
        convex, concave = (
            problem.with_surrogate(part)
            for part in (problem.surrogate.convex_part, problem.surrogate.concave_part)
        )
        for w, v in rng.normal(size=(3, 2, problem.n_params)):
            round_ = Linearised(convex, concave.tangent(w))
            value, gradient = round_.loss(v)
            total, slope = 0.0, np.zeros_like(v)
            for i in range(problem.n_samples):
                own, counts, inputs = round_.sample_loss(i, v)
                assert own >= -1e-12
                total += problem.samples.weight[i] * own
                problem.scorer.pull_back(counts, inputs, slope)
            assert total == pytest.approx(value)
            np.testing.assert_allclose(slope, gradient, atol=1e-9)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_linear_programs_solve_rounds_with_l1_alone(rng):
    X, y, _ = noisy_points(rng, n=40)
    model = SSVM(Multiclass(), loss="ramp", l2=0.0, l1=1.0, solver=CCCP(inner="linear_program", tol=1e-3))
    values = objectives_of_rounds(model.fit(X, y).result_)
    assert values == sorted(values, reverse=True) and model.result_.converged
    steps = SSVM(Multiclass(), loss="ramp", l2=0.0, l1=1.0, solver="stochastic", max_iter=50).fit(X, y)
    assert model.objective_ <= 1.05 * steps.objective_


# ---------------------------------------------------------------------------------------- settings, refusals


@pytest.mark.parametrize("solver", ["bundle", "frank_wolfe", "smo", "lbfgs", "proximal", "dual"])
def test_solvers_of_convex_losses_refuse(solver):
    X, y = make_chains(3, random_state=0)
    with pytest.raises(MissingCapability, match=f"{solver} needs a convex loss.*use solver='cccp'"):
        SSVM(Chain(), loss="ramp", solver=solver).fit(X, y)


def test_cccp_refuses_convex_losses():
    X, y = make_chains(3, random_state=0)
    with pytest.raises(MissingCapability, match="such as loss='ramp', and Hinge is none"):
        SSVM(Chain(), solver="cccp").fit(X, y)
    with pytest.raises(ValueError, match="loss='log' is unknown; the surrogates of SSVM are"):
        SSVM(Chain(), loss="log").fit(X, y)


@pytest.mark.parametrize(
    "settings, error, message",
    [
        ({"max_iter": 0}, ValueError, "max_iter must be a number > 0"),
        ({"tol": -1.0}, ValueError, "tol must be a number >= 0"),
        ({"tol": "small"}, ValueError, "tol must be a number >= 0, got 'small'"),
        (
            {"start": "random"},
            ValueError,
            "start must be one of auto, convex, perceptron, structure, visits, zero, got",
        ),
        ({"inner": "magic"}, ValueError, "solver='magic' is unknown"),
        ({"inner": Bundle}, TypeError, "solver must be .* or an object with solve"),
        ({"inner": 3}, TypeError, "solver must be .* or an object with solve"),
        ({"inner": "lbfgs"}, MissingCapability, "lbfgs needs a smooth loss, and Hinge is not"),
        ({"inner": "perceptron"}, MissingCapability, "perceptron loss only, not Hinge"),
    ],
)
def test_settings_are_checked(settings, error, message):
    X, y = make_chains(3, random_state=0)
    with pytest.raises(error, match=message):
        SSVM(Chain(), loss="ramp", solver=CCCP(**settings)).fit(X, y)


def test_errors_of_inner_solvers_are_their_own(rng):
    @dataclass(frozen=True)
    class Broken:
        callbacks: tuple = ()

        def solve(self, problem, w0=None, state=None):
            return self.no_such_thing

    with ramp_problem(rng) as problem, pytest.raises(AttributeError, match="no_such_thing"):
        CCCP(inner=Broken()).solve(problem)


@pytest.mark.parametrize("stop_at", [1, 4, 30])
def test_callbacks_stop_the_run(stop_at):
    X, y = make_chains(10, n_classes=3, random_state=0)
    model = SSVM(Chain(), l2=1.0, tol=1e-4, loss="ramp", callbacks=[lambda step: step.n_iter == stop_at])
    model.fit(X, y)
    assert model.result_.reason == "callback" and not model.result_.converged
    assert len(model.result_.history) == stop_at
    values = bound_values(model, X, y).ramp.sum() + 0.5 * model.coef_ @ model.coef_
    assert model.objective_ == pytest.approx(values, rel=1e-9)


def test_an_objective_that_tends_to_zero_ends_the_run(rng):
    """The loss is 0 for every order, and each round shortens the first weights of a ranking by a part of themselves."""
    X = [rng.normal(size=(4, 2)) for _ in range(5)]
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model = SSVM(
            Ranking(),
            loss="ramp",
            loss_options=LossOptions(rescaling="slack"),
            task_loss=PrecisionAt(4),
            tol=1e-3,
        )
        result = model.fit(X, [[0, 1, 2, 1]] * 5).result_
    assert result.reason == "estimate: relative decrease over 1 round" and 0.0 <= result.primal < 1e-6


def test_too_few_rounds_warn(rng):
    X, y, _ = noisy_points(rng)
    with pytest.warns(ConvergenceWarning, match="cccp stopped after 1 round .* at objective"):
        model = SSVM(Multiclass(), loss="ramp", C=10.0, max_iter=1).fit(X, y)
    assert model.result_.reason == "max_iter" and len(model.result_.rounds) == 2


def test_a_round_that_is_far_from_solved_is_no_convergence(rng):
    """It gains little because of its solver, whose own bound says that there is more to gain."""
    X, y, _ = noisy_points(rng, n=40)
    unsolved = CCCP(inner="pegasos", tol=1e-5, start="zero", inner_iter=3)
    with pytest.warns(
        ConvergenceWarning, match=r"\(inner solver\).*Increase inner_iter or tol, or use inner='bundle'"
    ):
        result = SSVM(Multiclass(), loss="ramp", l2=1.0, solver=unsolved).fit(X, y).result_
    assert not result.converged and result.reason == "inner solver"
    solved = SSVM(Multiclass(), loss="ramp", l2=1.0, solver=CCCP(inner="bundle", tol=1e-5, start="zero")).fit(
        X, y
    )
    assert solved.result_.converged
