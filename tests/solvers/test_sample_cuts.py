"""Cuts of single samples in CCCP, and constraints that the n-slack method keeps from round to round."""

from __future__ import annotations

import numpy as np
import pytest

from palmette import SSVM, UNKNOWN, Chain, Detections, Tracking
from palmette.datasets import make_chains
from palmette.objectives.linearised import Linearised
from palmette.solvers import CCCP, NSlack
from palmette.solvers.cccp import objective
from palmette.solvers.sample_cuts import SampleCuts

pytestmark = pytest.mark.filterwarnings("ignore:cccp stopped after 1 round")


def chains():
    X, Y = make_chains(9, n_classes=3, n_features=2, random_state=0)
    rng = np.random.default_rng(0)
    return Chain(), X, [[label if rng.random() < 0.5 else UNKNOWN for label in y] for y in Y]


def frames():
    rng = np.random.default_rng(1)
    tracking, X, Y = Tracking(max_distance=4.0), [], []
    for _ in range(6):
        p = rng.uniform(0.0, 12.0, (5, 2))
        found = tracking.candidates((Detections(p), Detections(p + rng.normal(size=p.shape))))
        events = [event for event in found.events if event.kind == "move" and event.before == event.after]
        X.append(found)
        Y.append(found.annotated(events[::2]))
    return tracking, X, Y


class Problems(CCCP):
    """Notes the problem that it solves."""

    def solve(self, problem, w0=None, state=None):
        Problems.last = problem
        return super().solve(problem, w0, state)


def solved(data, **how):
    structure, X, Y = data
    model = SSVM(structure, l2=0.5, loss="bridge", solver=Problems(tol=1e-4, **how), n_jobs=1).fit(X, Y)
    return model.result_, Problems.last


@pytest.mark.parametrize("data", [chains, frames])
def test_all_inner_solvers_end_alike_and_sample_cuts_take_fewer_passes_than_cuts_of_the_sum(data):
    cuts, problem = solved(data(), inner="sample_cuts")
    assert cuts.primal == pytest.approx(objective(problem, cuts.w), rel=1e-9)
    values = [cuts.history[k].primal for k in cuts.rounds]
    assert np.all(np.diff(values) <= 1e-12 * abs(values[0]))
    others = {inner: solved(data(), inner=inner)[0] for inner in ("bundle", "n_slack")}
    for other in others.values():
        assert cuts.primal <= 1.02 * other.primal
    assert cuts.step.n_oracle < others["bundle"].step.n_oracle


def test_kept_cuts_of_samples_save_passes():
    """On chains; where a round is solved in two passes, as on six small pairs of frames, there is nothing to save."""
    kept, _ = solved(chains(), inner="sample_cuts")
    forgotten, _ = solved(chains(), inner="sample_cuts", recycle=False, precision="fixed")
    assert kept.primal <= 1.02 * forgotten.primal
    assert kept.step.n_oracle < forgotten.step.n_oracle


def linearised(w):
    _, problem = solved(chains(), inner="bundle", max_iter=1)
    convex = problem.with_surrogate(problem.surrogate.convex_part)
    concave = problem.with_surrogate(problem.surrogate.concave_part)
    return [Linearised(convex, concave.tangent(at)) for at in (np.zeros_like(w), w)]


def test_sample_cuts_certify_the_minimum_of_a_round():
    rng = np.random.default_rng(0)
    _, problem = solved(chains(), inner="bundle", max_iter=1)
    _, second = linearised(rng.normal(size=problem.n_params))
    own, other = SampleCuts(tol=1e-6).solve(second), NSlack(tol=1e-6).solve(second)
    assert own.reason == other.reason == "gap"
    assert own.primal == pytest.approx(other.primal, rel=3e-6)


@pytest.mark.parametrize("kind", [NSlack, SampleCuts])
def test_kept_constraints_bound_the_next_round_before_any_oracle_call(kind):
    _, problem = solved(chains(), inner="bundle", max_iter=1)
    first, second = linearised(0.1 * np.random.default_rng(0).normal(size=problem.n_params))
    solver = kind(tol=1e-4)
    run = solver.restart(second, solver.solve(first).state)
    assert run.active.n_oracle == 0.0 and run.active.n_constraints > 0
    again, anew = solver.solve(second, state=run), solver.solve(second)
    assert again.primal == pytest.approx(anew.primal, rel=3e-4)
    assert again.step.n_oracle < anew.step.n_oracle


def test_a_run_can_begin_with_the_constraints_met_at_given_weights():
    _, problem = solved(chains(), inner="bundle", max_iter=1)
    w = np.random.default_rng(0).normal(size=problem.n_params)
    second = linearised(w)[1]
    run = NSlack().started(second, w)
    assert run.best.primal == pytest.approx(objective(second, w), rel=1e-9)
    assert run.active.n_constraints == second.n_samples


def test_structures_with_costly_maxima_get_sample_cuts():
    assert isinstance(CCCP()._inner(solved(frames(), max_iter=1)[1]).solver, SampleCuts)
    assert not hasattr(CCCP()._inner(solved(chains(), max_iter=1)[1]), "solver")
