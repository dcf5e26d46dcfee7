"""Dual ascent on segments, chains of second order and forests: sums, certificate, optimum, and what it refuses."""

from __future__ import annotations

import pickle
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from palmette import CRF, UNKNOWN, Chain, Encoding, Graph, SemiMarkov
from palmette._kernels.dual_rows import PLACE
from palmette.datasets import make_tagging
from palmette.errors import MissingCapability
from palmette.estimators import base
from palmette.estimators.training import encode_training, layout_weights
from palmette.executors.threads import ThreadExecutor
from palmette.loops import find
from palmette.objectives.risk import Risk
from palmette.regularizers.elastic import ElasticNet
from palmette.solvers import LBFGS, DualAscent
from palmette.structures.positions.dual_rows import DualRows
from palmette.surrogates import LogLoss

LABELS = "abc"
STRUCTURES = {
    "segments": SemiMarkov({"a": 4, "b": 2, None: 1}),
    "segments of one row": SemiMarkov(1),
    "long segments": SemiMarkov(12),
    "order 2": Chain(order=2),
    "forests": Graph(),
    "symmetric forests": Graph(symmetric=True),
}
ENCODINGS = {
    "names": {"encoding": Encoding(states="observed", transitions="observed")},
    "arrays": {"fit_intercept": True},
    "sparse": {"fit_intercept": True, "encoding": Encoding(transitions="observed")},
}


def forest(rng, n):
    """A random forest on n nodes: each is joined to an earlier one, or to none; edges point either way."""
    edges = [(int(rng.integers(i)), i) for i in range(1, n) if rng.random() < 0.8]
    return [edge if rng.random() < 0.5 else edge[::-1] for edge in edges]


def draw(rng, name, kind, n=12, columns=5):
    """Inputs and outputs for a structure."""
    structure, X, Y = STRUCTURES[name], [], []
    for _ in range(n):
        length = int(rng.integers(1, 8))
        x = np.round(rng.normal(size=(length, 4)), 1) * (rng.random((length, 4)) < 0.7)
        if kind == "names":
            x = [[f"w{k}" for k in rng.integers(0, columns, rng.integers(0, 4))] for _ in range(length)]
        elif kind == "sparse":
            x = sparse.csr_array(x)
        labels = [LABELS[k] for k in rng.integers(0, 3, length)]
        if isinstance(structure, Graph):
            x = (x, forest(rng, length))
        if isinstance(structure, SemiMarkov):
            longest, labels, t = dict(zip(LABELS, structure.longest(tuple(LABELS)))), [], 0
            while t < length:
                label = LABELS[rng.integers(3)]
                stop = min(length, t + int(rng.integers(1, longest[label] + 1)))
                labels.append((t, stop, label))
                t = stop
        X.append(x)
        Y.append(labels)
    return X, Y


@contextmanager
def problem_of(rng, name, kind="names", l2=0.7, l1=0.0, **own):
    """What a CRF minimises on such data, with weights of samples and a strength of its own for each weight."""
    X, Y = draw(rng, name, kind, **own)
    structure = STRUCTURES[name]
    data = encode_training(X, Y, structure, None, None)
    scorer = layout_weights(CRF(structure, **ENCODINGS[kind]), data)
    samples = data.samples._replace(weight=rng.choice([0.0, 1.0, 2.0, 0.5], len(X)))
    n = scorer.n_params
    penalty = ElasticNet(l2 * rng.choice([1.0, 2.0], n), np.full(n, l1))
    with ThreadExecutor(1) as executor:
        yield Risk(structure.bind(data.codec.classes_), scorer, LogLoss(), samples, penalty, executor)


def placed(problem, w, dtype=float):
    """The variables whose marginals are those under w."""
    state = DualRows(problem, dtype)
    state.ascent.w[:] = state._packed(w)
    n = problem.n_samples
    assert state.sums.run(state.x, state.tables, state.ascent, PLACE, np.arange(n)) == 0
    return state


@pytest.mark.parametrize("kind", ENCODINGS)
@pytest.mark.parametrize("name", STRUCTURES)
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), scale=st.sampled_from([0.0, 0.3, 3.0, 30.0]))
def test_sums_are_those_of_the_structure(name, kind, seed, scale):
    """Values, gradients and entropies, by the answers of the structure, which enumeration has tested."""
    rng = np.random.default_rng(seed)
    with problem_of(rng, name, kind) as problem:
        w = scale * rng.normal(size=problem.n_params)
        value, gradient = problem.loss(w)
        state = placed(problem, w)
        assert state.value(w) == pytest.approx(value, rel=1e-10, abs=1e-9)
        np.testing.assert_allclose(-state._sums(), gradient, atol=1e-8 * (1 + np.abs(gradient).max()))
        theta = problem.scorer.score(w, problem.samples.batch)
        entropy = np.where(problem.samples.weight > 0, problem.structure.entropy(theta), 0.0)
        np.testing.assert_allclose(state.ascent.entropy, entropy, atol=1e-9 * (1 + np.abs(value)))


@pytest.mark.parametrize("kind", ENCODINGS)
@pytest.mark.parametrize("name", STRUCTURES)
@pytest.mark.parametrize(("l2", "l1", "tol"), [(0.7, 0.0, 1e-7), (0.7, 0.0, 1e-5), (5.0, 0.3, 1e-7)])
def test_reaches_the_optimum_of_lbfgs_with_a_proof(rng, name, kind, l2, l1, tol):
    with problem_of(rng, name, kind, l2, l1) as problem:
        best = LBFGS(tol=1e-10, max_iter=5000).solve(problem)
        result = DualAscent(tol=tol, max_iter=20000).solve(problem)
        assert result.converged and result.reason == "gap"
        primal = problem.loss(result.w)[0] + problem.regularizer.value(result.w)
        assert primal == pytest.approx(result.primal, rel=1e-10)
        assert 0.0 <= result.gap <= tol * primal
        assert result.lower <= best.primal * (1 + 1e-9 + 1e-6 * (tol > 1e-6))
        assert best.lower <= result.primal * (1 + 1e-9)
        np.testing.assert_allclose(result.w, best.w, atol=10 * np.sqrt(tol))


@pytest.mark.parametrize("name", STRUCTURES)
def test_visits_never_lower_the_dual_and_gaps_are_no_less_than_zero(rng, name):
    with problem_of(rng, name) as problem:
        state, values = DualRows(problem, float), [0.0]
        assert state.refresh()[1] == 0.0
        for _ in range(20):
            assert state.visit(rng.permutation(problem.n_samples)[:7]) == 0
            values.append(state.refresh()[1])
            assert state.estimate() == pytest.approx(values[-1], rel=1e-9)
            met = np.isfinite(state.gap)
            assert np.all(state.gap[met] >= -1e-9)
        assert np.all(np.diff(values) >= -1e-9) and values[-1] > 0.0
        w = state.weights()
        for _ in range(20):
            u = w + 0.1 * rng.normal(size=len(w))
            assert problem.loss(u)[0] + problem.regularizer.value(u) >= values[-1]


@pytest.mark.parametrize("name", STRUCTURES)
def test_a_weight_of_two_is_a_sample_twice(rng, name):
    X, Y = draw(rng, name, "names")
    weight = rng.integers(1, 3, len(X))
    solver = DualAscent(tol=1e-8, max_iter=20000)
    whole = CRF(STRUCTURES[name], l2=1.0, solver=solver).fit(X, Y, sample_weight=weight)
    twice = [i for i, times in enumerate(weight) for _ in range(times)]
    doubled = CRF(STRUCTURES[name], l2=1.0, solver=solver).fit([X[i] for i in twice], [Y[i] for i in twice])
    assert whole.objective_ == pytest.approx(doubled.objective_, rel=2e-8)
    np.testing.assert_allclose(whole.coef_, doubled.coef_, atol=1e-3)


def test_segments_of_one_row_and_forests_of_neighbours_are_chains(rng):
    X, Y = make_tagging(30, n_words=15, random_state=0)
    solver = DualAscent(tol=1e-7, max_iter=5000)
    best = CRF(Chain(), l2=1.0, solver=solver).fit(X, Y).objective_
    graphs = [(x, [(t, t + 1) for t in range(len(x) - 1)]) for x in X]
    assert CRF(Graph(), l2=1.0, solver=solver).fit(graphs, Y).objective_ == pytest.approx(best, rel=2e-7)
    ones = [[(t, t + 1, label) for t, label in enumerate(y)] for y in Y]
    short = CRF(SemiMarkov(1, outside=None), l2=1.0, solver=solver).fit(X, ones)
    assert short.objective_ == pytest.approx(best, rel=2e-7)


@pytest.mark.parametrize("name", STRUCTURES)
def test_a_start_is_used_and_never_worse_than_the_truth(rng, name):
    with problem_of(rng, name) as problem:
        solver = DualAscent(tol=1e-6, max_iter=20000)
        cold = solver.solve(problem)
        warm = solver.solve(problem, w0=cold.w)
        assert warm.converged and warm.step.n_iter < cold.step.n_iter
        state = DualRows(problem, float)
        state.start_from(5.0 * rng.normal(size=problem.n_params))
        assert state.refresh()[1] >= 0.0


@pytest.mark.parametrize("l1", [0.0, 0.2])
@pytest.mark.parametrize("name", STRUCTURES)
def test_resumes_bitwise_from_a_file_too(rng, name, l1):
    with problem_of(rng, name, l1=l1) as problem:

        def at(n):
            return DualAscent(tol=1e-12, callbacks=[lambda step: step.n_iter == n])

        whole, first = at(9).solve(problem), at(4).solve(problem)
        for state in (first.state, pickle.loads(pickle.dumps(first.state))):
            rest = at(9).solve(problem, state=state)
            np.testing.assert_array_equal(rest.w, whole.w)
            assert rest.step._replace(seconds=0.0) == whole.step._replace(seconds=0.0)


@pytest.mark.parametrize("name", STRUCTURES)
def test_a_state_of_other_samples_is_refused(rng, name):
    """Kernels would read beyond its arrays, or prove a bound that is none."""
    with problem_of(rng, name) as problem:
        state = DualAscent(callbacks=[lambda step: step.n_iter == 3]).solve(problem).state
    for other in (problem_of(rng, name), problem_of(np.random.default_rng(5), name, l2=7.0)):
        with other as problem, pytest.raises(ValueError, match=r"penalties, or to other samples; start from"):
            DualAscent().solve(problem, state=state)


def test_out_of_range_is_told_and_left_as_it_is(rng):
    with problem_of(rng, "segments", "arrays") as problem:
        state = DualRows(problem, float)
        state.ascent.w[:] = 1e4
        order = np.flatnonzero(problem.samples.weight)
        assert state.visit(order) > 0 and not state.ascent.residual_table.any()
        assert np.isnan(state.value(np.full(problem.n_params, 1e4)))
        result = DualAscent().solve(
            problem, w0=np.full(problem.n_params, 1e4)
        )  # which goes on from the truth
        assert result.converged


def whole(sequence, start, stop):
    return [f"of {stop - start}"]


X, Y = [[["a"], ["b"]], [["b"]]], [["x", "y"], ["y"]]
CYCLE = [([["a"], ["b"], ["b"]], [(0, 1), (1, 2), (2, 0)])]


@pytest.mark.parametrize(
    ("model", "data", "message"),
    [
        (CRF(SemiMarkov(2, whole), solver="dual"), (X, [[(0, 2, "x")], []]), "features of whole segments"),
        (CRF(SemiMarkov(2), edge_features="all", solver="dual"), (X, [[(0, 2, "x")], []]), "edge features"),
        (CRF(Chain(order=2), edge_features="all", solver="dual"), (X, Y), "marginals of edge features"),
        (CRF(Graph(), solver="dual"), (CYCLE, [["x", "y", "y"]]), "without cycles"),
        (CRF(Chain(order=2), l2_edge=0.0, solver="dual"), (X, Y), "l2 > 0 on every weight"),
        (CRF(Chain(order=2), solver="dual"), (X, [["x", UNKNOWN], ["y"]]), "convex"),
    ],
)
def test_refuses_what_it_has_no_room_for(model, data, message):
    with pytest.raises(MissingCapability, match=message):
        model.fit(*data)


@pytest.mark.parametrize("name", STRUCTURES)
def test_auto_takes_it_for_many_names(monkeypatch, rng, name):
    asked = []

    def spy(solver, **own):
        asked.append(solver)
        return make(solver, **own)

    make = base.make_solver
    monkeypatch.setattr(base, "make_solver", spy)
    monkeypatch.setattr("palmette.estimators.crf.FEW_WEIGHTS", 0)
    data = draw(rng, name, "names")
    model = CRF(STRUCTURES[name], l2=1.0).fit(*data)
    exact = CRF(STRUCTURES[name], l2=1.0, tol=1e-9).fit(*data)
    assert asked == ["dual", "lbfgs"] and model.result_.converged
    assert model.objective_ <= exact.objective_ * (1 + 1e-4)


def test_a_loop_of_a_subclass_is_not_taken_for_granted(rng):
    class Own(SemiMarkov):
        pass

    with problem_of(rng, "segments") as problem:
        assert find("dual", problem) is DualRows
        problem.structure = Own(2)
        assert find("dual", problem) is None
        problem.structure, problem.scorer = STRUCTURES["segments"], replace(problem.scorer)
        assert find("dual", problem) is DualRows
