"""Learners run unchanged and bitwise equal on threads, on one thread, and in another process."""

from __future__ import annotations

import importlib
import sys
import warnings
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from problems import make_problem
from process_executor import ProcessExecutor

from palmette import (
    CRF,
    CRFCV,
    SSVM,
    SSVMCV,
    UNKNOWN,
    Chain,
    Graph,
    Linked,
    LossOptions,
    Multiclass,
    OneOf,
    Perceptron,
    PlackettLuce,
    Ranking,
    SemiMarkov,
)  # fmt: skip
from palmette.contracts.executor import summed
from palmette.datasets import make_chains, make_tagging
from palmette.errors import ApproximateInferenceWarning, MissingCapability
from palmette.executors import ThreadExecutor, executor_for, use
from palmette.kernels import RBF
from palmette.loops.placed_blocks import PlacedBlocks
from palmette.regularizers import Decomposition
from palmette.solvers import (
    AROW,
    SMO,
    AveragedPerceptron,
    DualAscent,
    FrankWolfe,
    MulticlassDual,
    NSlack,
    Pegasos,
    Stochastic,
)  # fmt: skip
from palmette.structures import GraphInput

ROWS = 16  # of a shard or block: there are several, even of small data
CONSTANTS = ("ROWS_A_SHARD", "ROWS_A_BLOCK")
LOADED_LATE = (
    "palmette.structures.chain.loops.packed_loss",
    "palmette.estimators.blocks",
    "palmette.objectives.risk",
)


def cut_finely(assign=setattr):
    """Make small shards and blocks, in this process."""
    for name in LOADED_LATE:
        importlib.import_module(name)
    for name, module in list(sys.modules.items()):
        for constant in CONSTANTS if name.startswith("palmette.") else ():
            if constant in vars(module):
                assign(module, constant, ROWS)


@pytest.fixture(scope="module")
def elsewhere():
    with ProcessExecutor() as executor:
        executor.call(cut_finely)
        yield executor


@pytest.fixture(autouse=True)
def small_shards(monkeypatch):
    cut_finely(monkeypatch.setattr)


def tagging(seed=0):
    return make_tagging(24, n_words=20, random_state=seed)


def chains():
    return make_chains(20, 3, 4, random_state=1)


def items():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(60, 4))
    return x, (x @ rng.normal(size=(4, 3))).argmax(axis=1)


def graphs(cycle=True):
    rng = np.random.default_rng(3)
    X, Y = [], []
    for n in rng.integers(3, 7, 14):
        edges = [(i, i + 1) for i in range(n - 1)] + ([(0, n - 1)] if cycle and n > 2 else [])
        x = rng.normal(size=(n, 3))
        X.append(GraphInput(x, edges))
        Y.append([str(int(v > 0)) for v in x[:, 0] + 0.3 * rng.normal(size=n)])
    return X, Y


def graphs_with_annotated_edges():
    X, Y = graphs()
    same, other = OneOf(("0", "0"), ("1", "1")), OneOf(("0", "1"), ("1", "0"))
    links = [{(v, u): same if y[u] == y[v] else other for u, v in x.edges} for x, y in zip(X, Y)]
    return X, [Linked([y[0], *[UNKNOWN] * (len(y) - 1)], own) for y, own in zip(Y, links)]


def grids():
    """Graphs whose best labels and sums are approximate, since no junction tree fits."""
    rng, X, Y = np.random.default_rng(6), [], []
    for _ in range(5):
        edges = [(i, j) for i in range(6) for j in range(i)]
        x = rng.normal(size=(6, 2))
        X.append(GraphInput(x, edges))
        Y.append([str(int(v > 0)) for v in x[:, 0]])
    return X, Y


def rankings():
    rng = np.random.default_rng(4)
    X = [rng.normal(size=(n, 3)) for n in rng.integers(3, 8, 14)]
    return X, [(x[:, 0] + 0.5 * rng.normal(size=len(x)) > 0).astype(int).tolist() for x in X]


def segments():
    X, Y = make_tagging(14, n_words=12, random_state=5)
    return X, [[(i, i + 1, tag) for i, tag in enumerate(y)] for y in Y]


# A kernel that was just compiled may differ in the last bit from the same kernel read from the cache.
pytestmark = pytest.mark.warm

CASES = {
    "CRF dual": (CRF(Chain(), l2=0.5), tagging, ("predict", "predict_marginals", "score", "log_proba")),
    "CRF dual, segments": (CRF(SemiMarkov(2), l2=0.5, solver="dual"), segments, ("predict", "score")),
    "CRF dual, second order": (CRF(Chain(order=2), l2=0.5, solver="dual"), tagging, ("predict",)),
    "CRF dual, forests": (CRF(Graph(), l2=0.5, solver="dual"), partial(graphs, cycle=False), ("predict",)),
    "CRF lbfgs": (CRF(Chain(), l2=0.5, solver="lbfgs"), tagging, ("predict", "predict_nbest", "score")),
    "CRF lbfgs arrays": (CRF(Chain(), l2=0.5, solver="lbfgs"), chains, ("predict", "predict_score", "score")),
    "CRF stochastic": (CRF(Chain(), l2=0.5, solver="stochastic", max_iter=5), tagging, ("predict",)),
    "CRF proximal": (CRF(Chain(), l2=0.5, l1=0.1, solver="proximal"), tagging, ("predict",)),
    "CRF second order": (CRF(Chain(order=2), l2=0.5), chains, ("predict", "predict_marginals")),
    "CRF pieces": (CRF(Chain(), l2=0.5, regularizer=Decomposition(2), max_iter=8), tagging, ("predict",)),
    "CRF items": (CRF(Multiclass(), l2=0.5), items, ("predict", "predict_proba", "decision_function", "score")),
    "CRF graphs": (CRF(Graph(), l2=0.5, max_iter=20), graphs, ("predict", "predict_marginals", "score")),
    "CRF graph pieces": (
        CRF(Graph(), l2=0.5, regularizer=Decomposition(2), solver="stochastic", max_iter=3), graphs, ("predict",),
    ),
    "CRF segments": (CRF(SemiMarkov(2), l2=0.5, max_iter=10), segments, ("predict", "predict_marginals", "score")),
    "SSVM bundle": (SSVM(Chain(), C=1.0, solver="bundle"), chains, ("predict", "score")),
    "SSVM frank_wolfe": (SSVM(Chain(), C=1.0, solver="frank_wolfe"), tagging, ("predict", "score")),
    "SSVM smo": (SSVM(Chain(), C=1.0, solver="smo", max_iter=30), chains, ("predict",)),
    "SSVM n_slack": (SSVM(Chain(), C=1.0, solver="n_slack", max_iter=10), chains, ("predict",)),
    "SSVM pegasos": (SSVM(Chain(), C=1.0, solver="pegasos", max_iter=5), tagging, ("predict",)),
    "SSVM subgradient": (SSVM(Chain(), C=1.0, solver="subgradient", max_iter=5), chains, ("predict",)),
    "SSVM linear_program": (SSVM(Chain(), l2=0.0, l1=1.0, solver="linear_program"), chains, ("predict",)),
    "SSVM slack": (
        SSVM(Chain(), C=1.0, loss_options=LossOptions(rescaling="slack"), max_iter=10), chains, ("predict",)
    ),
    "SSVM ramp": (SSVM(Chain(), C=1.0, loss="ramp", max_iter=5), chains, ("predict",)),
    "SSVM items": (SSVM(Multiclass(), C=1.0), items, ("predict", "decision_function", "score")),
    "SSVM items dual": (SSVM(Multiclass(), C=1.0, solver="multiclass_dual"), items, ("predict",)),
    "SSVM graphs": (SSVM(Graph(), C=1.0, max_iter=20), graphs, ("predict", "score")),
    "SSVM graphs smo": (SSVM(Graph(), C=1.0, solver="smo", max_iter=10), graphs, ("predict",)),
    "SSVM graphs frank_wolfe": (SSVM(Graph(), C=1.0, solver="frank_wolfe", max_iter=10), graphs, ("predict",)),
    "CRF annotated edges": (CRF(Graph(), l2=1.0), graphs_with_annotated_edges, ("predict", "score")),
    "Perceptron annotated edges": (Perceptron(Graph(), max_iter=3), graphs_with_annotated_edges, ("predict",)),
    "CRF loopy": (CRF(Graph(memory_limit=64), l2=1.0, max_iter=5), grids, ("predict", "predict_marginals")),
    "SSVM loopy": (SSVM(Graph(memory_limit=64), C=1.0, max_iter=5), grids, ("predict",)),
    "SSVM loopy dual": (
        SSVM(Graph(memory_limit=64), C=1.0, solver="frank_wolfe", max_iter=4), grids, ("predict",),
    ),
    "SSVM rankings": (SSVM(Ranking(), C=1.0, max_iter=20), rankings, ("predict", "score")),
    "SSVM segments": (SSVM(SemiMarkov(2), C=1.0, max_iter=10), segments, ("predict", "score")),
    "Perceptron": (Perceptron(Chain()), tagging, ("predict", "score")),
    "Perceptron arrays": (Perceptron(Chain(), max_iter=4), chains, ("predict",)),
    "Perceptron sharded": (Perceptron(Chain(), solver=AveragedPerceptron(parallel="sharded")), tagging, ("predict",)),
    "Perceptron arow": (Perceptron(Chain(), solver=AROW()), tagging, ("predict",)),
    "Perceptron pieces": (Perceptron(Chain(), regularizer=Decomposition(2)), tagging, ("predict",)),
    "Perceptron graphs": (Perceptron(Graph(), max_iter=3), graphs, ("predict",)),
    "Plackett-Luce": (PlackettLuce(l2=0.5), rankings, ("predict", "predict_marginals", "log_proba", "score")),
    "CRFCV": (CRFCV(Chain(), l2s=[0.1, 1.0], cv=2), tagging, ("predict",)),
    "SSVMCV": (SSVMCV(Multiclass(), l2s=[0.1, 1.0], cv=2), items, ("predict",)),
}  # fmt: skip


def answers(learner, X, y, asked):
    """The weights of a fitted copy, what it answers, and the scores of its folds."""
    from sklearn.base import clone

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = clone(learner).fit(X, y)
        found = [
            getattr(model, name)(*((X, y) if name in ("score", "log_proba") else (X,))) for name in asked
        ]
    return [model.coef_, model.objective_, model.n_iter_, getattr(model, "cv_scores_", 0.0), *found]


def assert_same(found, expected):
    if isinstance(expected, list | tuple):
        assert len(found) == len(expected)
        for one, other in zip(found, expected):
            assert_same(one, other)
    else:
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", CASES)
def test_learners_run_anywhere(elsewhere, name):
    learner, data, asked = CASES[name]
    X, y = data()
    expected = answers(learner.set_params(n_jobs=1), X, y, asked)
    assert_same(answers(learner.set_params(n_jobs=2), X, y, asked), expected)
    elsewhere.forget()
    with use(elsewhere):
        assert_same(answers(learner, X, y, asked), expected)
    assert elsewhere.calls["run"] >= expected[2], "every iteration goes there"
    assert not elsewhere.open, "what was placed is released"


def test_what_is_approximate_is_told(elsewhere):
    X, y = grids()
    texts, counts = [], []
    for executor in (ThreadExecutor(1), elsewhere):
        with use(executor), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = CRF(Graph(memory_limit=64, max_sweeps=2), l2=1.0, max_iter=3).fit(X, y)
        texts.append([str(w.message) for w in caught if w.category is ApproximateInferenceWarning])
        counts.append(model.result_.n_unconverged)
    assert texts[0] == texts[1] and "5 graphs" in texts[0][0]
    assert counts[0] == counts[1] > 0


def test_shards_travel_once(elsewhere):
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(20, 30)) for _ in range(40)]
    y = [(x[:, 0] > 0).astype(int).tolist() for x in X]
    elsewhere.forget()
    with use(elsewhere):
        model = CRF(Chain(), l2=1.0, solver="lbfgs").fit(X, y)
    size = sum(x.nbytes for x in X)
    assert elsewhere.calls["run"] >= model.n_iter_ > 5
    assert size < elsewhere.sent["place"] < 1.5 * size
    assert elsewhere.longest["run"] < 0.02 * size


def test_sums_go_from_left_to_right():
    parts = [np.array([1e16]), np.array([1.0]), np.array([-1e16]), np.array([1.0])]
    first = parts[0].copy()
    assert summed(parts)[0] == ((1e16 + 1.0) - 1e16) + 1.0 != sum(reversed(parts))[0]
    np.testing.assert_array_equal(parts[0], first)
    assert summed([(1, 2.0), (3, 4.0)]) == (4, 6.0)


def count_up(shard, state, by):
    state["n"] = state.get("n", shard) + by
    return state["n"]


def test_states_are_collected_and_restored(elsewhere):
    here = ThreadExecutor(2)
    placed = here.place([10, 20, 30])
    assert here.run(count_up, placed, 1) == [11, 21, 31]
    states = here.collect(placed)
    assert here.run(count_up, placed, 1) == [12, 22, 32], "what was collected is a copy"
    there = elsewhere.place([10, 20, 30])
    elsewhere.restore(there, states)
    assert elsewhere.run(count_up, there, 1) == [12, 22, 32]
    here.restore(placed, elsewhere.collect(there))
    assert here.fold(count_up, placed, 1) == 13 + 23 + 33
    elsewhere.release(there)


SOLVERS = {
    "dual": (DualAscent(tol=1e-9), "log", Chain()),
    "frank_wolfe": (FrankWolfe(tol=1e-9), "hinge", Chain()),
    "smo": (SMO(tol=1e-9), "hinge", Chain()),
    "n_slack": (NSlack(tol=1e-9), "hinge", Chain()),
    "multiclass_dual": (MulticlassDual(tol=1e-9), "hinge", Multiclass()),
    "stochastic": (Stochastic(rate=0.1, tol=0.0), "log", Chain()),
    "pegasos": (Pegasos(tol=0.0), "hinge", Chain()),
}


def at(problem, executor):
    """The same problem on another executor."""
    return problem._with(executor=executor, placed={}, memory={})


@pytest.mark.parametrize("name", SOLVERS)
def test_runs_go_on_elsewhere(elsewhere, name):
    solver, surrogate, structure = SOLVERS[name]
    with (
        make_problem(np.random.default_rng(0), "sparse", structure, surrogate) as problem,
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        problem.regularizer.l2[:] = 0.7  # as dual ascent and the multiclass dual want it
        whole = replace(solver, max_iter=9).solve(problem)
        there = at(problem, elsewhere)
        for first, second in ((problem, there), (there, problem)):
            begun = replace(solver, max_iter=4).solve(first)
            ended = replace(solver, max_iter=5).solve(second, state=begun.state)
            np.testing.assert_array_equal(ended.w, whole.w)
            assert ended.primal == whole.primal and ended.step.n_iter == whole.step.n_iter == 9
        there.close()


@pytest.mark.parametrize("solver", [FrankWolfe(), SMO(), NSlack()])
def test_states_move_to_another_place(elsewhere, solver):
    """Epochs at one place, the state collected there and restored at another one, and more epochs."""
    with make_problem(np.random.default_rng(0), "sparse", surrogate="hinge") as problem:
        orders = [np.random.default_rng(k).permutation(problem.n_samples) for k in range(4)]
        ends = []
        for way in ((problem, problem), (problem, at(problem, elsewhere)), (at(problem, elsewhere), problem)):
            old, new = (PlacedBlocks(each, solver.blocks_of) for each in way)
            active = old.begin()
            assert not active.kept() or all(not len(own) for own in active.kept().values())
            for order in orders[:2]:
                old.visit(active, order)
            states = way[0].executor.collect(way[0].placed["whole"])
            way[1].executor.restore(way[1].placed["whole"], states)
            for order in orders[2:]:
                new.visit(active, order)
            ends.append(new.collect(active))
            way[1].close()
            way[0].close()
        for end in ends[1:]:
            assert_same(
                [end.w, end.gap, *end.kept().values()], [ends[0].w, ends[0].gap, *ends[0].kept().values()]
            )
        assert ends[0].w.any()


def test_which_executor_serves():
    with executor_for(3) as executor:
        assert isinstance(executor, ThreadExecutor) and executor.threads == 3
    own = ThreadExecutor(2)
    with use(own), executor_for(1) as executor:
        assert executor is own
        with executor_for(1, whole_fits=True) as inner:
            assert inner is not own and inner.threads == 1
    with pytest.raises(ValueError, match="n_jobs"), use(own), executor_for(0):
        pass


@pytest.mark.parametrize(
    ("learner", "remedy"),
    [
        (Perceptron(Chain(), solver=AveragedPerceptron(parallel="lock_free")), "parallel='sharded'"),
        (CRF(Chain(), solver=Stochastic(parallel="lock_free")), "parallel='sharded'"),
        (SSVM(Chain(), kernel=RBF(1.0)), "Nystroem"),
    ],
)
def test_shared_memory_is_asked_for(elsewhere, learner, remedy):
    X, y = chains()
    with use(elsewhere), pytest.raises(MissingCapability, match=f"ProcessExecutor.*{remedy}"):
        learner.fit(X, y)
