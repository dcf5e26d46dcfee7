"""Packed chains: the compiled passes against the generic ones."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import pytest
from problems import KINDS, make_problem

from palmette.errors import MissingCapability
from palmette.loops import stochastic_pass as passes
from palmette.loops.stochastic_pass import GenericPass, PassState
from palmette.objectives.risk import Risk
from palmette.regularizers import Decomposition
from palmette.solvers import LBFGS, DualAscent
from palmette.solvers.perceptron import AveragedPerceptron
from palmette.solvers.stochastic import Stochastic
from palmette.structures import Chain, Multiclass
from palmette.structures.chain.loops import packed_loss, packed_pass
from palmette.structures.chain.loops.packed import packed, packs
from palmette.structures.chain.loops.packed_loss import PackedLogLoss
from palmette.structures.chain.loops.packed_pass import PackedPass


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("structure", [Chain(), Multiclass()])
def test_weights_are_packed_and_unpacked(rng, kind, structure):
    with make_problem(rng, kind, structure) as problem:
        chains = packed(problem, np.float64)
        w = rng.normal(size=problem.n_params)
        np.testing.assert_array_equal(chains.unpack(chains.pack(w)), w)
        assert np.unpackbits(chains.mask).sum() == len(chains.row_weight)
        assert packed(problem, np.float64) is chains
        np.testing.assert_allclose(
            packed(problem, np.float32).unpack(packed(problem, np.float32).pack(w)), w, rtol=1e-6
        )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("structure", [Chain(), Multiclass()])
def test_packed_loss_is_the_generic_one(rng, kind, structure):
    with make_problem(rng, kind, structure) as problem:
        for scale in (0.0, 1.0, 30.0):
            w = scale * rng.normal(size=problem.n_params)
            value, gradient = PackedLogLoss(problem).loss(w)
            expected, expected_gradient, _ = problem._generic_loss(w)
            assert value == pytest.approx(expected, rel=1e-10)
            np.testing.assert_allclose(gradient, expected_gradient, atol=1e-9 * max(1.0, scale))


def test_samples_out_of_range_are_summed_in_log_space(rng):
    with make_problem(rng, "names") as problem:
        w = rng.normal(size=problem.n_params)
        w[problem.scorer.blocks["edge"]] *= 3000.0
        value, gradient = PackedLogLoss(problem).loss(w)
        assert any(others is not None for *_, others in PackedLogLoss(problem).passes(w))
        expected, expected_gradient, _ = problem._generic_loss(w)
        assert value == pytest.approx(expected, rel=1e-10)
        np.testing.assert_allclose(gradient, expected_gradient, atol=1e-8)
        state, twin = (PassState.new(problem, w, adaptive=False, rate=0.1) for _ in range(2))
        order = np.arange(problem.n_samples)
        found, wanted = PackedPass(problem).run(state, order), GenericPass(problem).run(twin, order)
        assert found[0] == pytest.approx(wanted[0], rel=1e-10)
        np.testing.assert_allclose(state.w, twin.w, atol=1e-8)


def test_shards_do_not_depend_on_threads(monkeypatch):
    monkeypatch.setattr(packed_loss, "ROWS_A_SHARD", 4)
    found = []
    for threads in (1, 3):
        with make_problem(np.random.default_rng(3), "names", threads=threads) as problem:
            found.append(problem.loss(np.random.default_rng(4).normal(size=problem.n_params)))
    assert found[0][0] == found[1][0] and np.array_equal(found[0][1], found[1][1])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("surrogate", ["log", "perceptron"])
def test_steps_on_pieces_are_the_same_compiled_and_generic(rng, kind, surrogate):
    with make_problem(rng, kind, surrogate=surrogate, l2=0.7 * (surrogate == "log")) as problem:
        problem.decomposition = Decomposition(1.5)
        pieces = problem.pieces(0, 0)
        assert (
            pieces.n_samples > problem.n_samples
            and pieces.samples.batch.n_rows == problem.samples.batch.n_rows
        )
        states = [PassState.new(problem, None, adaptive=False, rate=1.0) for _ in range(2)]
        order = rng.permutation(pieces.n_samples)
        found, wanted = (
            PackedPass(pieces).run(states[0], order),
            GenericPass(pieces).run(states[1], order),
        )
        assert found[0] == pytest.approx(wanted[0], rel=1e-10) and found[1] == wanted[1]
        np.testing.assert_allclose(states[0].w, states[1].w, atol=1e-10)
        np.testing.assert_allclose(states[0].drift, states[1].drift, atol=1e-9)


@pytest.mark.parametrize("most_edges", [1, 3, passes.GATHERED_EDGES])
def test_gathered_transitions_are_the_same_compiled_and_generic(rng, monkeypatch, most_edges):
    """Adaptive steps and sample weights; some pieces have as many edges as a step on transitions waits for."""
    for module in (passes, packed_pass):
        monkeypatch.setattr(module, "GATHERED_EDGES", most_edges)
    for size in (1.5, 2.5):
        with make_problem(rng, "names", surrogate="log", l2=0.7) as problem:
            problem.decomposition = Decomposition(size)
            pieces = problem.pieces(0, 0)
            pieces.samples.weight[:] = rng.uniform(0.5, 2.0, pieces.n_samples)
            order = np.tile(rng.permutation(pieces.n_samples), 4)
            states = [PassState.new(problem, None, adaptive=True, rate=0.1) for _ in range(3)]
            PackedPass(pieces).run(states[0], order)
            GenericPass(pieces).run(states[1], order)
            for name in ("w", "squares", "drift"):
                np.testing.assert_allclose(getattr(states[0], name), getattr(states[1], name), atol=1e-8)
            GenericPass(pieces._with(sample_of_piece=None)).run(states[2], order)
            assert not np.allclose(states[2].w, states[0].w)  # as samples: a step with every piece


def test_transitions_settle_after_the_last_piece_of_a_sample(rng):
    with make_problem(rng, "names", surrogate="log") as problem:
        assert passes.settles(problem).all()
        problem.decomposition = Decomposition(1.5)
        pieces = problem.pieces(0, 0)
        last = pieces.samples.batch.offsets[1:][passes.settles(pieces)]
        assert np.array_equal(last, problem.samples.batch.offsets[1:])
        assert pieces.n_samples > problem.n_samples
    with make_problem(rng, "names", surrogate="perceptron") as problem:
        problem.decomposition = Decomposition(1.5)
        assert passes.settles(problem.pieces(0, 0)).all()


def test_visits_keep_the_pieces_of_a_sample_together(rng):
    with make_problem(rng, "names") as problem:
        problem.decomposition = Decomposition(1.5)
        pieces = problem.cut_anew(0, 3)
        orders = [pieces.visits(np.random.default_rng(seed)) for seed in (0, 0, 1)]
        sample = problem.pieces(0, 3).sample_of_piece[orders[0]]
        assert np.count_nonzero(np.diff(sample)) == len(np.unique(sample)) - 1
        assert np.all(np.diff(orders[0])[np.diff(sample) == 0] == 1)
        assert np.array_equal(np.sort(orders[0]), np.arange(pieces.n_samples))
        assert np.array_equal(orders[0], orders[1]) and not np.array_equal(orders[0], orders[2])


def test_pieces_of_one_position_leave_transitions_alone(rng):
    with make_problem(rng, "names", surrogate="log") as problem:
        problem.decomposition = Decomposition(1.0)
        with pytest.warns(match="stochastic stopped"):
            result = Stochastic(rate=0.1, max_iter=3, tol=0.0).solve(problem)
        assert not result.w[problem.scorer.blocks["edge"]].any() and result.w.any()
        assert np.isnan(result.gap) and np.isnan(result.lower)


def test_decomposed_runs_stop_by_relative_change_and_resume(rng):
    with make_problem(rng, "names", surrogate="log") as problem:
        problem.decomposition = Decomposition(2.5)
        result = Stochastic(tol=0.5).solve(problem)
        assert result.reason == "estimate: relative change over 1 epoch" and result.converged
        last, before = result.history[-1].primal, result.history[-2].primal
        assert abs(last - before) <= 0.5 * last
        with pytest.warns(match="stochastic stopped"):
            four = Stochastic(rate=0.2, max_iter=4, tol=0.0).solve(problem)
            two = Stochastic(rate=0.2, max_iter=2, tol=0.0).solve(problem)
            again = Stochastic(rate=0.2, max_iter=2, tol=0.0).solve(problem, state=two.state)
        assert np.array_equal(four.w, again.w)


@pytest.mark.parametrize("surrogate", ["log", "perceptron"])
def test_sharded_passes_do_not_depend_on_threads(surrogate):
    found = []
    for threads in (1, 2, 4):
        with make_problem(np.random.default_rng(3), "names", surrogate=surrogate, threads=threads) as problem:
            state = PassState.new(problem, None, adaptive=surrogate == "log")
            passes.stochastic_pass(problem, state, np.arange(problem.n_samples), "sharded")
            found.append(state.weights(averaged=True))
    assert np.array_equal(found[0], found[1]) and np.array_equal(found[0], found[2]) and found[0].any()


def test_lock_free_passes_learn(rng):
    with make_problem(rng, "names", threads=2) as problem:
        state = PassState.new(problem, None, adaptive=True, rate=0.1)
        first, _ = passes.stochastic_pass(problem, state, np.arange(problem.n_samples), "lock_free")
        for _ in range(20):
            last, _ = passes.stochastic_pass(problem, state, np.arange(problem.n_samples), "lock_free")
        assert last < 0.8 * first


def test_parallel_modes_are_checked(rng):
    with pytest.raises(ValueError, match="parallel must be one of"):
        Stochastic(parallel="yes")
    with pytest.raises(ValueError, match="precision must be one of"):
        AveragedPerceptron(precision="half")

    class Other(Chain):
        pass

    with make_problem(rng, "names", Other()) as problem:
        with pytest.raises(MissingCapability, match="Other"):
            passes.stochastic_pass(problem, PassState.new(problem, None, adaptive=True), [0], "sharded")


def test_single_precision_is_near(rng):
    with make_problem(rng, "names") as problem:
        states = [
            PassState.new(problem, None, adaptive=True, rate=0.1, dtype=t) for t in (np.float32, np.float64)
        ]
        for state in states:
            passes.stochastic_pass(problem, state, np.arange(problem.n_samples))
        np.testing.assert_allclose(states[0].w, states[1].w, atol=1e-4)


def with_edge_features(problem):
    """The same problem with a weight for every (column, label pair) seen."""
    from palmette.objectives.risk import Risk
    from palmette.regularizers.elastic import ElasticNet
    from palmette.structures.positions.edge_scorer import EdgeScorer
    from palmette.structures.positions.linear_scorer import LinearScorer

    samples, plain = problem.samples, problem.scorer
    assert type(plain) is LinearScorer
    states = "observed" if len(plain.ptr) else "all"
    columns = np.arange(plain.n_columns) % 3 != 1
    scorer = EdgeScorer.extending(
        plain, samples.batch, samples.codes, states=states, transitions="all", order=1, edge_columns=columns
    )
    l2 = 0.7 if problem.regularizer.l2.any() else 0.0
    penalty = ElasticNet(np.full(scorer.n_params, l2), np.full(scorer.n_params, 0.05 * (l2 > 0)))
    return Risk(problem.structure, scorer, problem.surrogate, samples, penalty, problem.executor)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", [1.0, 500.0])
def test_edge_features_have_the_generic_loss(rng, kind, scale):
    with make_problem(rng, kind) as plain:
        problem = with_edge_features(plain)
        assert packs(problem)
        w = scale * rng.normal(size=problem.n_params)
        value, gradient = PackedLogLoss(problem).loss(w)
        expected, expected_gradient, _ = problem._generic_loss(w)
        assert value == pytest.approx(expected, rel=1e-9)
        np.testing.assert_allclose(gradient, expected_gradient, atol=1e-8)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("surrogate", ["log", "hinge", "perceptron"])
@pytest.mark.parametrize("scale", [0.0, 1.0, 500.0])
def test_edge_features_take_the_generic_steps(rng, kind, surrogate, scale):
    with make_problem(rng, kind, surrogate=surrogate, l2=0.7 * (surrogate != "perceptron")) as plain:
        problem = with_edge_features(plain)
        w = scale * rng.normal(size=problem.n_params)
        order = rng.permutation(problem.n_samples)
        states = [PassState.new(problem, w, adaptive=surrogate == "log") for _ in range(2)]
        found, wanted = (
            PackedPass(problem).run(states[0], order),
            GenericPass(problem).run(states[1], order),
        )
        assert found[0] == pytest.approx(wanted[0], rel=1e-9) and found[1] == wanted[1]
        np.testing.assert_allclose(states[0].w, states[1].w, atol=1e-8)
        np.testing.assert_allclose(states[0].drift, states[1].drift, atol=1e-7)


# -- forbidden labels -------------------------------------------------------------------------------------------


@contextmanager
def constrained_problem(rng, kind, **settings):
    with make_problem(rng, kind, Chain(), **settings) as problem:
        samples, codes = problem.samples, problem.samples.codes.copy()
        offsets = samples.batch.offsets
        for lo, hi in zip(offsets[:-1], offsets[1:]):  # outputs that obey
            codes[lo:hi] = 0
            codes[lo + 1 : hi - 1 : 2] = 1
        start, end = np.array([True, False, True]), np.array([True, True, False])
        pair = np.array([[True, True, True], [True, False, True], [False, True, True]])
        structure = Chain(allowed=(start, pair, end)).bind(["a", "b", "c"])
        structure.check_outputs(codes, offsets)
        yield Risk(
            structure, problem.scorer, problem.surrogate, samples._replace(codes=codes), problem.regularizer,
            problem.executor,
        )  # fmt: skip


def allowed_weights(problem, w):
    """The same without weights of forbidden pairs, which the packed form has no room for."""
    w, pairs = w.copy(), np.divmod(problem.scorer.pairs, 3)
    w[problem.scorer.blocks["edge"]] *= problem.structure.rules.transition[pairs]
    return w


@pytest.mark.parametrize("kind", KINDS)
def test_constrained_chains_pack(rng, kind):
    with constrained_problem(rng, kind) as problem:
        assert packs(problem)
        for scale in (0.0, 1.0, 5.0):
            w = allowed_weights(problem, scale * rng.normal(size=problem.n_params))
            value, gradient = PackedLogLoss(problem).loss(w)
            expected, expected_gradient, _ = problem._generic_loss(w)
            assert value == pytest.approx(expected, rel=1e-10)
            np.testing.assert_allclose(gradient, expected_gradient, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("surrogate", "settings"),
    [("log", {"l2": 0.3, "l1": 0.1}), ("hinge", {"l2": 0.3}), ("perceptron", {"l2": 0.0})],
)
@pytest.mark.parametrize("adaptive", [False, True])
def test_steps_on_constrained_chains_are_the_generic_ones(rng, kind, surrogate, settings, adaptive):
    with constrained_problem(rng, kind, surrogate=surrogate, **settings) as problem:
        w = allowed_weights(problem, rng.normal(size=problem.n_params))
        rate = 1.0 if surrogate == "perceptron" else 0.05
        state, twin = (PassState.new(problem, w, adaptive=adaptive, rate=rate) for _ in range(2))
        order = np.arange(problem.n_samples)
        found, wanted = PackedPass(problem).run(state, order), GenericPass(problem).run(twin, order)
        assert found[0] == pytest.approx(wanted[0], rel=1e-9)
        np.testing.assert_allclose(state.w, twin.w, atol=1e-8)


@pytest.mark.parametrize("l1", [0.0, 0.2])
@pytest.mark.parametrize("precision", ["single", "double"])
def test_dual_ascent_solves_constrained_chains(rng, l1, precision):
    with constrained_problem(rng, "names", l1=l1) as problem:
        result = DualAscent(tol=1e-5, precision=precision).solve(problem)
        best = LBFGS(tol=1e-9).solve(problem)
        assert result.reason == "gap"
        assert best.primal - 1e-4 <= result.primal <= best.primal * (1.0 + 2e-5)
