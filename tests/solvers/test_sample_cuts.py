"""Cuts of single samples in CCCP, and constraints that the n-slack method keeps from round to round."""

from __future__ import annotations

import numpy as np
import pytest

from palmette import SSVM, UNKNOWN, Chain, Detections, Tracking
from palmette.datasets import make_chains
from palmette.errors import MissingCapability
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


def visited(data, seed=0):
    """The convex problem of rounds, and a run that begins with visits of its samples."""
    _, problem = solved(data(), inner="bundle", max_iter=1)
    convex, concave = (
        problem.with_surrogate(part)
        for part in (problem.surrogate.convex_part, problem.surrogate.concave_part)
    )
    order = np.random.default_rng(seed).permutation(problem.n_samples)
    return convex, concave, SampleCuts().visited(convex, concave.surrogate, order)


def slope_of(problem, outputs):
    """Of the linear term that prefers these outputs."""
    samples, slope = problem.samples, np.zeros(problem.n_params)
    theta = problem.scorer.score(slope, samples.batch)
    counts = problem.structure.count(theta, outputs, weight=samples.weight)
    counts = problem.structure.count(theta, samples.codes, weight=-samples.weight, into=counts)
    problem.scorer.pull_back(counts, samples.batch, slope)
    return slope


@pytest.mark.parametrize("data", [chains, frames])
def test_visits_keep_weights_and_masses_together_and_find_constraints_below_the_losses(data):
    convex, _, (run, outputs) = visited(data)
    state = run.active
    counts = [np.zeros(convex.n_params) for _ in range(state.n_constraints)]
    for k, own in enumerate(counts):
        at = slice(*state.start[k : k + 2])
        own[state.index[at]] = state.value[at]
    implied = slope_of(convex, outputs) - sum(m * own for m, own in zip(state.mass, counts))
    np.testing.assert_allclose(state.w, implied / convex.regularizer.l2, atol=1e-10)
    mass = np.bincount(state.sample[: len(counts)], state.mass[: len(counts)])
    assert np.all(state.mass >= 0.0) and np.all(mass <= 1.0 + 1e-12)
    rng = np.random.default_rng(2)
    for w in rng.normal(size=(5, convex.n_params)):
        for k, own in enumerate(counts):
            s = int(state.sample[k])
            assert state.offset[k] + own @ w <= convex.samples.weight[s] * convex.sample_loss(s, w)[0] + 1e-9


@pytest.mark.parametrize("data", [chains, frames])
def test_the_next_round_keeps_the_weights_as_far_as_the_mass_of_the_preferred_outputs_goes(data):
    convex, concave, (run, outputs) = visited(data)
    solver = SampleCuts()
    work = solver.prepare(Linearised(convex, concave.tangent(run.best.w)))
    state = work.blocks.place(run.active.copy())
    work.follow(state, outputs)
    state = work.blocks.collect(state)
    own = [int(k) for k in state.preferred]
    assert [int(state.sample[k]) for k in own] == list(range(convex.n_samples))
    before = run.active.mass[run.active.preferred]
    np.testing.assert_array_equal(
        state.mass[own], before
    )  # moved where the output is another one, else as it was
    assert state.mass[: state.n_constraints].sum() == pytest.approx(run.active.mass.sum())


@pytest.mark.parametrize("data", [chains, frames])
def test_a_start_by_visits_ends_as_low_as_one_by_perceptrons_and_counts_its_passes(data):
    by_visits, _ = solved(data(), inner="sample_cuts")
    other, _ = solved(data(), inner="sample_cuts", start="perceptron")
    assert by_visits.primal <= 1.02 * other.primal
    stopped, _ = solved(data(), inner="sample_cuts", callbacks=(lambda step: True,))
    assert stopped.history[0].n_oracle == 2 + 1 + 1 + 1  # visits, two tangents and the pass between them
    again, _ = solved(data(), inner="sample_cuts")
    np.testing.assert_array_equal(again.w, by_visits.w)


def test_visits_need_cuts_of_samples():
    with pytest.raises(MissingCapability, match=r"start='visits'.*inner='sample_cuts'"):
        solved(chains(), inner="bundle", start="visits")
    with pytest.raises(MissingCapability, match="recycle=True"):
        solved(chains(), inner="sample_cuts", start="visits", recycle=False)


def test_structures_with_costly_maxima_get_sample_cuts():
    assert isinstance(CCCP()._inner(solved(frames(), max_iter=1)[1]).solver, SampleCuts)
    assert not hasattr(CCCP()._inner(solved(chains(), max_iter=1)[1]), "solver")
