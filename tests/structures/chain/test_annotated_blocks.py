"""Frank-Wolfe and SMO on chains that are annotated in part: compiled visits, linear terms, moved dual variables."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import pytest
from problems import CLASSES, KINDS, make_problem

from palmette import SSVM, UNKNOWN, OneOf
from palmette._kernels.constants import FREE
from palmette.data.annotation import Annotation
from palmette.datasets import make_chains
from palmette.loops import find
from palmette.loops.active_set import ActiveSet
from palmette.loops.hinge_blocks import GenericBlocks
from palmette.losses import Hamming, resolve_loss
from palmette.objectives.linearised import Linearised
from palmette.objectives.risk import Tangent
from palmette.solvers import CCCP, SMO, Bundle, FrankWolfe
from palmette.solvers import cccp as rounds
from palmette.structures import Chain, Multiclass
from palmette.structures.chain.loops.hinge_blocks import PackedBlocks
from palmette.structures.chain.loops.marginal_blocks import ChainMarginals, Marginals, PackedMarginals
from palmette.surrogates import AgreeingMaximum, AnnotatedHinge, bridge_loss

SETS = np.array([[True, True, False], [False, True, True]])


@contextmanager
def annotated(rng, kind="dense", structure=None, loss=None, sets=True):
    """A problem whose positions have one label, one of two, or nothing; its codes agree with that."""
    with make_problem(rng, kind, structure, "hinge") as problem:
        codes, known = problem.samples.codes, problem.samples.codes.copy()
        known[rng.random(len(codes)) < 0.4] = -1
        if sets:
            two = rng.integers(0, 2, len(codes))
            fits = SETS[two, codes] & (rng.random(len(codes)) < 0.4)
            known[fits] = 3 + two[fits]
        annotation = Annotation(known, SETS if sets else SETS[:0])
        problem.samples = problem.samples._replace(annotation=annotation)
        problem.surrogate = AnnotatedHinge(resolve_loss(loss or Hamming(), problem.structure, CLASSES))
        yield problem


def linearised(problem, w):
    """The problem less the tangent at ``w`` of the best outputs that agree."""
    return Linearised(problem, problem.with_surrogate(AgreeingMaximum()).tangent(w))


def seen_pairs(problem):
    """The structure that allows the label pairs of the codes only."""
    words = np.split(problem.samples.codes, problem.samples.batch.offsets[1:-1])
    pairs = {(CLASSES[i], CLASSES[j]) for word in words for i, j in zip(word, word[1:])}
    assert len(pairs) < 9
    return Chain(allowed=sorted(pairs)).bind(CLASSES)


COSTS = Hamming({"a": 0.25, ("b", "c"): 2.0})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("structure", [Chain(), "seen pairs only", Multiclass()])
@pytest.mark.parametrize("gram", [False, True])
@pytest.mark.parametrize("sets", [False, True])
def test_visits_are_the_same_compiled_and_generic(rng, kind, structure, gram, sets):
    if gram and kind == "names":
        pytest.skip("inner products of rows serve where every column has all labels")
    seen_only = isinstance(structure, str)
    with annotated(rng, kind, Chain() if seen_only else structure, COSTS, sets) as problem:
        if seen_only:
            problem.structure = seen_pairs(problem)
        assert find("frank_wolfe", problem) is PackedBlocks
        one, two = ActiveSet.at_truth(problem, 2), ActiveSet.at_truth(problem, 2)
        compiled, generic = PackedBlocks(problem, gram), GenericBlocks(problem)
        generic.inner = compiled.inner
        for _ in range(3):
            # Weights of a linear term; those of w = 0 make ties, between which rounding would choose.
            change, chains = 0.3 * rng.normal(size=problem.n_params), compiled.chains
            one.w = one.w + chains.unpack(chains.pack(change))  # pairs that are forbidden have none
            two.w = one.w.copy()
            order = rng.permutation(problem.n_samples)
            compiled.visit(one, order)
            generic.visit(two, order)
            np.testing.assert_allclose(one.gap, two.gap, atol=1e-9)
        for name in ("w", "mass", "loss"):
            np.testing.assert_allclose(getattr(one, name), getattr(two, name), atol=1e-10)
        assert one.loss.any() and np.sum(one.mass > 0.0) > problem.n_samples
        fresh, again = one.copy(), one.copy()
        fresh.loss[:], again.loss[:] = -1.0, -1.0
        compiled.refresh(fresh)
        generic.refresh(again)
        np.testing.assert_allclose(fresh.w, again.w, atol=1e-10)
        for own in (fresh, again):
            np.testing.assert_allclose(own.loss, one.loss, atol=1e-10)
        w = rng.normal(size=problem.n_params)
        assert compiled.value(w) == pytest.approx((problem.loss(w)[0], 0.0), rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_steps_on_marginals_are_the_same_compiled_and_generic(rng, kind):
    with annotated(rng, kind, loss=COSTS) as problem:
        one, two = Marginals.at_truth(problem), Marginals.at_truth(problem)
        compiled, generic = PackedMarginals(problem), ChainMarginals(problem)
        compiled.inner = generic.inner = 1
        for _ in range(4):
            one.w = rng.normal(size=problem.n_params)
            two.w = one.w.copy()
            order = rng.permutation(problem.n_samples)
            compiled.visit(one, order)
            generic.visit(two, order)
            np.testing.assert_allclose(one.gap, two.gap, atol=1e-9)
        for name in ("w", "loss", "node", "pair"):
            np.testing.assert_allclose(getattr(one, name), getattr(two, name), atol=1e-10)
        fresh = one.copy()
        compiled.refresh(fresh)
        np.testing.assert_allclose(fresh.loss, one.loss, atol=1e-10)


@pytest.mark.parametrize("kind", ["dense", "names"])
@pytest.mark.parametrize("solver", [FrankWolfe(tol=1e-6), SMO(tol=1e-6)], ids=["frank_wolfe", "smo"])
def test_a_linear_term_leaves_the_certificate_exact(rng, kind, solver):
    """The bound is below the optimum that the bundle method finds, the gap as small as it says."""
    with annotated(rng, kind, loss=COSTS) as problem:
        for w in 0.5 * rng.normal(size=(3, problem.n_params)):
            round_ = linearised(problem, w)
            best, result = Bundle(tol=1e-8).solve(round_), solver.solve(round_)
            assert result.reason == "gap" and result.gap <= 1e-6 * result.primal
            assert result.primal == pytest.approx(rounds.objective(round_, result.w), rel=1e-10)
            assert result.lower <= best.primal * (1 + 1e-9) and best.lower <= result.primal * (1 + 1e-9)
            for _ in range(5):
                near = result.w + 0.1 * rng.normal(size=problem.n_params)
                assert rounds.objective(round_, near) >= result.lower


def test_a_first_round_begins_at_zero(rng):
    """All mass is on the outputs that the linear term prefers, which cost nothing: both cancel out."""
    with annotated(rng) as problem:
        round_ = linearised(problem, rng.normal(size=problem.n_params))
        assert round_.slope.any()
        solver = FrankWolfe()
        run = solver.begin(solver.prepare(round_), None)
        np.testing.assert_allclose(run.active.w, 0.0, atol=1e-12)
        assert not run.active.loss.any()


@pytest.mark.parametrize("rules", [False, True])
def test_dual_variables_move_with_the_linear_term(rng, rules):
    """They stay distributions over outputs that are allowed, and a bound follows from them at once."""
    with annotated(rng) as problem:
        if rules:
            problem.structure = seen_pairs(problem)
        first, second = (linearised(problem, w) for w in rng.normal(size=(2, problem.n_params)))
        assert np.any(first.targets != second.targets)
        solver = FrankWolfe(tol=1e-3)
        state = solver.solve(first).state
        moved = solver.restart(second, state, first.targets).active
        np.testing.assert_allclose(np.where(moved.mass == FREE, 0.0, moved.mass).sum(axis=1), 1.0, rtol=1e-12)
        optimum = Bundle(tol=1e-8).solve(second)
        bounds = []
        for targets in (None, first.targets):
            active = solver.restart(second, state, targets).active
            bounds.append(problem.samples.weight @ active.loss - problem.regularizer.l2_value(active.w))
        assert bounds[0] < bounds[1] <= optimum.primal
        again = solver.solve(second, state=solver.restart(second, state, first.targets))
        assert again.gap <= 1e-3 * again.primal and again.lower <= optimum.primal * (1 + 1e-9)


def test_no_labeling_breaks_the_rules_when_it_moves(rng):
    with annotated(rng, "names") as problem:
        problem.structure = seen_pairs(problem)
        allowed, offsets = problem.structure.rules.transition, problem.samples.batch.offsets
        inner = np.setdiff1d(np.arange(1, offsets[-1]), offsets)
        solver, old = FrankWolfe(max_iter=6, tol=0.0), linearised(problem, rng.normal(size=problem.n_params))
        with pytest.warns(match="frank_wolfe stopped"):
            state = solver.solve(old).state
        for w in rng.normal(size=(20, problem.n_params)):
            moved = solver.restart(linearised(problem, w), state, old.targets).active
            for path, mass in zip(moved.path, moved.mass.T):
                used = np.repeat(mass != FREE, np.diff(offsets))[inner]
                assert np.all(allowed[path[inner - 1], path[inner]][used])


def test_masses_go_to_the_new_outputs():
    active = ActiveSet(
        path=np.array([[0, 0, 1], [0, 1, 2], [1, 1, 0]], np.int32),
        mass=np.array([[0.5, 0.3, 0.2], [0.6, 0.4, FREE]]),
        w=np.zeros(1), loss=np.zeros(2), gap=np.zeros(2), trail=np.zeros(1),
    )  # fmt: skip
    active.follow(np.array([0, 2, 3]), np.array([0, 0, 1]), np.array([0, 1, 0]))
    np.testing.assert_allclose(active.mass, [[0.2, 0.8, FREE], [0.6, 0.4, FREE]])  # joined, and renamed
    assert active.path[:2].tolist() == [[1, 1, 0], [0, 1, 2]]
    before = active.copy()
    active.follow(np.array([0, 2, 3]), np.array([0, 0, 1]), np.array([1, 0, 1]))  # outputs that have no mass
    assert np.array_equal(active.path, before.path) and np.array_equal(active.mass, before.mass)


# -------------------------------------------------------------------------------------------- whole procedures


def text(n=60, seed=0):
    """Chains with many named features, of which half the labels are known or one of two."""
    rng = np.random.default_rng(seed)
    X, Y = make_chains(n, n_classes=3, random_state=seed)
    X = [[[f"f{np.round(v, 1)}{k}" for k, v in enumerate(row)] for row in np.asarray(x)] for x in X]
    labels = sorted({label for y in Y for label in y})
    some = [UNKNOWN, None, None, OneOf(*labels[:2])]
    return X, [
        [label if (shown := some[rng.integers(4)]) is None or label == labels[2] else shown for label in y]
        for y in Y
    ]


class Told(CCCP):
    """Notes what solves its rounds."""

    def _inner(self, convex):
        inner = super()._inner(convex)
        Told.inner_name = getattr(inner, "solver", getattr(inner, "bundle", None)).name
        return inner


def test_the_inner_solver_of_chains_with_many_weights_is_frank_wolfe():
    X, Y = text()
    full = [[next(iter(y.labels)) if isinstance(y, OneOf) else y for y in row] for row in Y]
    full = [[full[0][0] if y is UNKNOWN else y for y in row] for row in full]
    few = [np.random.default_rng(0).normal(size=(len(x), 2)) for x in X]
    for inputs, outputs, options, wanted in (
        (X, Y, {}, "frank_wolfe"),
        (few, Y, {}, "bundle"),
        (X, Y, {"l1": 0.1}, "bundle"),
        (X, Y, {"structure": Chain(order=2)}, "bundle"),
        (X, full, {"loss": "ramp"}, "bundle"),
    ):
        settings = {"structure": Chain(), "loss": "bridge", "l2": 1.0, **options}
        model = SSVM(**settings, solver=Told(tol=1e-2)).fit(inputs, outputs)
        assert Told.inner_name == wanted, options
        assert model.result_.converged


def test_frank_wolfe_ends_where_the_bundle_method_does_with_fewer_passes():
    X, Y = text()
    found = {
        inner: SSVM(Chain(), loss="bridge", l2=1.0, solver=CCCP(tol=1e-4, inner=inner)).fit(X, Y)
        for inner in ("auto", "bundle")
    }
    new, old = found["auto"].result_, found["bundle"].result_
    assert new.converged and old.converged
    assert new.primal == pytest.approx(
        old.primal, rel=1e-2
    )  # not convex: the two may end in different points
    assert new.step.n_oracle < 0.5 * old.step.n_oracle
    ends = [new.history[k].primal for k in new.rounds]
    assert ends == sorted(ends, reverse=True)
    # From one end the other way finds nothing more: both are stationary.
    for start, inner in ((found["auto"].coef_, "bundle"), (found["bundle"].coef_, "auto")):
        solver = CCCP(tol=1e-4, inner=inner, start=start, precision="fixed")
        again = SSVM(Chain(), loss="bridge", l2=1.0, solver=solver).fit(X, Y).result_
        assert again.primal >= (1 - 5e-3) * min(new.primal, old.primal)


def test_moved_dual_variables_save_passes(monkeypatch):
    X, Y = text()

    def passes():
        return SSVM(Chain(), loss="bridge", l2=1.0, solver=CCCP(tol=1e-3)).fit(X, Y).result_.step.n_oracle

    with_it = passes()
    monkeypatch.setattr(PackedBlocks, "follow", lambda *_: None)
    assert with_it < passes()


def test_the_scale_of_a_start_is_found_by_bisection(rng):
    with annotated(rng) as problem:
        bridge = problem.with_surrogate(bridge_loss(problem.surrogate.task_loss))
        for size in 10.0 ** np.arange(-4, 4):
            w = size * rng.normal(size=problem.n_params)
            whole, few = rounds.best_scale(bridge, w), rounds.best_scale_of_difference(bridge, w)
            np.testing.assert_array_equal(whole, few)


def test_rows_of_costs_follow_the_annotation(rng):
    from palmette.structures.chain.loops.packed import packed, told_costs

    with annotated(rng, loss=COSTS) as problem:
        chains = packed(problem, float)
        table, rows = told_costs(problem, chains)
        theta = problem.scorer.score(np.zeros(problem.n_params), problem.samples.batch)
        wanted = problem.surrogate.task_loss.cost(theta, problem.samples.known).node
        np.testing.assert_array_equal(table.reshape(-1, chains.width)[rows, :3], wanted)
        assert rows.dtype == problem.samples.codes.dtype


def test_a_linear_term_without_targets_of_its_own_changes_nothing(rng):
    """With the codes as targets it is zero, and the run is that of the problem itself."""
    with annotated(rng) as problem:
        samples = problem.samples
        none = Tangent(0.0, np.zeros(problem.n_params), samples.codes, np.ones(len(samples.weight)))
        one, two = (FrankWolfe(tol=1e-4).solve(p) for p in (problem, Linearised(problem, none)))
        assert np.array_equal(one.w, two.w) and one.lower == two.lower
