"""Sequential minimal optimisation: its steps, its certificate, and the same optimum as other solvers."""

from __future__ import annotations

import numpy as np
import pytest
from problems import KINDS, make_problem

from palmette import SSVM
from palmette.losses import Hamming, ZeroOne
from palmette.solvers.block_ascent import belongs
from palmette.solvers.frank_wolfe import FrankWolfe
from palmette.solvers.smo import SMO
from palmette.structures import Chain, Multiclass, SemiMarkov
from palmette.structures.chain.loops.marginal_blocks import ChainMarginals, Marginals, PackedMarginals


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("structure", [Chain(), Multiclass()])
def test_steps_are_the_same_compiled_and_generic(rng, kind, structure):
    with make_problem(rng, kind, structure, "hinge") as problem:
        one, two = Marginals.at_truth(problem), Marginals.at_truth(problem)
        compiled, generic = PackedMarginals(problem), ChainMarginals(problem)
        compiled.inner = generic.inner = 1
        for _ in range(4):
            # Any weights will do. Those of w = 0 and of an exact step make ties, between which rounding would choose.
            one.w = rng.normal(size=problem.n_params)
            two.w = one.w.copy()
            order = rng.permutation(problem.n_samples)
            compiled.visit(one, order)
            generic.visit(two, order)
            np.testing.assert_allclose(one.gap, two.gap, atol=1e-9)
        for name in ("w", "loss", "node", "pair"):
            np.testing.assert_allclose(getattr(one, name), getattr(two, name), atol=1e-10)
        assert np.sum(one.node > 0) > len(one.node)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("blocks", [ChainMarginals, PackedMarginals])
def test_weights_and_losses_follow_from_the_marginals(rng, kind, blocks):
    with make_problem(rng, kind, surrogate="hinge") as problem:
        state, steps = Marginals.at_truth(problem), blocks(problem)
        for _ in range(4):
            steps.visit(state, rng.permutation(problem.n_samples))
        fresh = state.copy()
        fresh.w[:], fresh.loss[:] = 0.0, 0.0
        steps.refresh(fresh)
        np.testing.assert_allclose(fresh.w, state.w, atol=1e-10)
        np.testing.assert_allclose(fresh.loss, state.loss, atol=1e-10)


def test_marginals_stay_locally_consistent(rng):
    with make_problem(rng, "dense", surrogate="hinge") as problem:
        state, blocks = Marginals.at_truth(problem), PackedMarginals(problem)
        for _ in range(30):
            blocks.visit(state, rng.permutation(problem.n_samples))
        np.testing.assert_allclose(state.node.sum(axis=1), 1.0, atol=1e-10)
        assert state.node.min() >= 0.0 and state.pair.min() >= 0.0
        offsets = problem.samples.batch.offsets
        left = np.setdiff1d(np.arange(offsets[-1]), offsets[1:] - 1)
        np.testing.assert_allclose(state.pair.sum(axis=2), state.node[left], atol=1e-10)
        np.testing.assert_allclose(state.pair.sum(axis=1), state.node[left + 1], atol=1e-10)


@pytest.mark.parametrize("loss", [Hamming(), Hamming({"a": 0.25})])
@pytest.mark.parametrize("structure", [Chain(), Multiclass()])
def test_reaches_its_certified_gap_and_the_optimum_of_frank_wolfe(rng, structure, loss):
    with make_problem(rng, "dense", structure, "hinge", loss=loss) as problem:
        result = SMO(tol=1e-7).solve(problem)
        assert result.converged and result.reason == "gap"
        primal = problem.loss(result.w)[0] + problem.regularizer.value(result.w)
        assert primal == pytest.approx(result.primal, rel=1e-12)
        assert 0 <= result.gap <= 1e-7 * primal * (1 + 1e-9)
        other = FrankWolfe(tol=1e-7).solve(problem)
        assert result.primal == pytest.approx(other.primal, rel=3e-7)


def test_resumes_where_it_stopped(rng):
    with make_problem(rng, "dense", surrogate="hinge") as problem:
        stop_at = {3}

        def stop(step):
            return step.n_iter in stop_at

        first = SMO(tol=1e-12, callbacks=[stop]).solve(problem)
        assert first.reason == "callback" and first.step.n_iter == 3
        stop_at = {9}
        rest = SMO(tol=1e-12, callbacks=[stop]).solve(problem, state=first.state)
        whole = SMO(tol=1e-12, callbacks=[stop]).solve(problem)
        for name in ("w", "node", "pair"):
            assert np.array_equal(getattr(rest.state.active, name), getattr(whole.state.active, name))
        assert len(rest.history) == 9


def test_goes_on_with_another_penalty(rng):
    with make_problem(rng, "dense", surrogate="hinge") as problem:
        loose = SMO(tol=1e-3).solve(problem)
        problem.regularizer = type(problem.regularizer)(2.0 * problem.regularizer.l2, problem.regularizer.l1)
        solver = SMO(tol=1e-6)
        assert belongs(loose.state, solver)
        warm = solver.solve(problem, state=solver.restart(problem, loose.state))
        assert warm.primal == pytest.approx(solver.solve(problem).primal, rel=2e-6)


def test_refusals(rng):
    with make_problem(rng, "dense", surrogate="hinge", loss=ZeroOne()) as problem:
        with pytest.raises(TypeError, match="smo needs a task loss that is a sum over positions here"):
            SMO().solve(problem)
    with make_problem(rng, "dense", surrogate="log") as problem:
        with pytest.raises(TypeError, match="smo solves the dual of the hinge"):
            SMO().solve(problem)
    with make_problem(rng, "dense", surrogate="hinge") as problem:
        with pytest.raises(TypeError, match="smo cannot start from given weights"):
            SMO().solve(problem, w0=np.ones(problem.n_params))
    X, Y = [np.eye(2)[[0, 0, 1]], np.eye(2)[[1, 0]]], [["a", "a", "b"], ["b", "a"]]
    for structure, name in ((Chain(order=2), r"Chain\(order=2\)"), (SemiMarkov(2), "SemiMarkov")):
        with pytest.raises(TypeError, match=f"smo has no dual variables for {name}"):
            SSVM(structure, solver="smo").fit(
                X, [["B-a", "I-a", "O"], ["O", "O"]] if name == "SemiMarkov" else Y
            )
    with pytest.raises(ValueError, match="SMO: max_iter must be"):
        SMO(max_iter=0)


def test_the_estimator_knows_it_by_name():
    X = [np.eye(2)[[0, 0, 1]], np.eye(2)[[1, 0]]]
    Y = [["a", "a", "b"], ["b", "a"]]
    model = SSVM(Chain(), C=10.0, solver="smo").fit(X, Y)
    assert model.predict(X) == Y and model.result_.reason == "gap"
