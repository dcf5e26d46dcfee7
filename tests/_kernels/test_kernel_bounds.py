"""No kernel reads or writes outside its arrays: small problems of every kind, with every access checked.

With ``NUMBA_DISABLE_JIT=1`` kernels are plain Python on arrays that refuse indices out of range, those below 0 too, and
what ``np.empty`` returns is poison (``palmette._kernels.guarded``). Compiled kernels check nothing, so that this module
is for that run alone (the second of ``make test``). What is right is tested elsewhere.
"""

from __future__ import annotations

import io
import os
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from palmette import (
    CRF,
    SSVM,
    UNKNOWN,
    Alignment,
    Chain,
    Detections,
    Encoding,
    Folding,
    Graph,
    Hierarchy,
    LossOptions,
    Multiclass,
    OneOf,
    Perceptron,
    PlackettLuce,
    Ranking,
    SemiMarkov,
    Tracking,
    compat,
)
from palmette._kernels import lanes, simd
from palmette._kernels.jit import kernel
from palmette.apps.tagging.columns import read_columns
from palmette.apps.tagging.tagger import Tagger
from palmette.apps.tagging.templates import Template
from palmette.apps.tracking import Tracker
from palmette.errors import InfeasibleError
from palmette.features.text_lists import read_lists
from palmette.features.texts import TextIndex, spans_of
from palmette.inference import FactorGraph, JunctionTree, junction_sums, junction_tree
from palmette.inference.answers import answer
from palmette.inference.graph_cut import graph_cut
from palmette.inference.roof_dual import roof_dual
from palmette.regularizers import Decomposition, GroupLasso
from palmette.solvers import CCCP, LBFGS, Stochastic
from palmette.structures import (
    RNA,
    AlignmentRestriction,
    AlignmentTables,
    ColumnLoss,
    Core,
    FoldingRestriction,
    FoldingTables,
    HierarchyTables,
    MatchCost,
    PairLoss,
    RankingCost,
    RankingTables,
    SegmentTables,
    grid_graph,
    tree_graph,
)
from palmette.structures.folding.layout import MULTI_BASE, TABLE_SIZE
from palmette.structures.positions.tables import ChainTables
from palmette.structures.tracking.cover import best_covers, changed_values
from palmette.structures.tracking.direct import EventScores, explain
from palmette.testing.kernel_modules import kernel_modules
from palmette.warmup.answers import ask_all
from palmette.warmup.graphs import run_graphs

if os.environ.get("NUMBA_DISABLE_JIT") != "1":
    pytest.skip("compiled kernels check nothing: set NUMBA_DISABLE_JIT=1", allow_module_level=True)

from palmette._kernels.guarded import CALLS

pytestmark = [
    pytest.mark.nojit,
    pytest.mark.filterwarnings("ignore"),
]  # two iterations are meant to be too few
LABELS = range(1, 10)
done: set[str] = set()  # the problems that ran


# -- what is caught ---------------------------------------------------------------------------------------------


@kernel()
def read_vector(x, at):
    return simd.total(simd.load(x, at))


@kernel()
def write_vector(x, at):
    simd.store(x, at, simd.splat(x, 0.0))


@kernel()
def read_everywhere(x, at):
    return simd.total(simd.spread(x, at))


@kernel()
def read_number(x, at):
    return x[at]


@kernel()
def write_number(x, at):
    x[at] = 0.0


@kernel()
def read_slice(x, at):
    return x[at : at + 8].sum()


@kernel()
def read_places(x, at):
    return x[np.arange(at, at + 2)].sum()


@kernel()
def read_own(x, at):
    own = np.zeros(len(x))
    return own[at]


@kernel()
def read_inner(x, at):
    return read_number(x[2:10], at)


PLANTED = {
    read_vector: (-1, 5, 12), write_vector: (-1, 5, 12), read_everywhere: (-1, 12), read_number: (-1, 12),
    write_number: (-1, 12), read_slice: (-1, 5), read_places: (-1, 11), read_own: (-1, 12), read_inner: (-1, 8),
}  # fmt: skip


@pytest.mark.parametrize(
    ("function", "at"), [(f, at) for f, places in PLANTED.items() for at in places],
    ids=lambda part: getattr(part, "__name__", part),
)  # fmt: skip
def test_a_planted_overrun_is_caught(function, at):
    x = np.ones(12)
    function(x, 1)
    with pytest.raises(IndexError):
        function(x, at)
    assert type(x) is np.ndarray and len(x[-1:]) == 1  # outside kernels arrays are as ever


@pytest.mark.parametrize("n_labels", LABELS)
def test_a_table_without_its_padding_is_caught(n_labels):
    """As features on edges gave it to ``times_table``: one row per label, read four rows at a time."""
    width = -(-n_labels // 8) * 8
    x, out = np.zeros(width), np.zeros(width)
    lanes.times_table(x, 0, np.zeros(width * width), n_labels, width, out, 0)
    if n_labels % 4:
        with pytest.raises(IndexError, match=r"vector at \d+:\d+ of an array of length"):
            lanes.times_table(x, 0, np.zeros(n_labels * width), n_labels, width, out, 0)


@kernel()
def not_written(x, at):
    own = np.empty(len(x), x.dtype)
    own[at] = x[at]
    return own


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64, np.uint32, np.uint8])
def test_memory_that_was_not_written_is_poison(dtype):
    found = not_written(np.ones(3, dtype), 1)
    assert type(found) is np.ndarray and found[1] == 1
    assert np.isnan(found[0]) if found.dtype.kind == "f" else abs(int(found[0])) >= 255


# -- small problems, with as many labels as asked for -----------------------------------------------------------


def chains(k, kind, lengths=(1, 6, 2, 3)):
    """Features and labels; every label occurs if there is room."""
    rng = np.random.default_rng(k)
    flat = np.arange(sum(lengths)) % k
    Y = [part.tolist() for part in np.split(flat, np.cumsum(lengths)[:-1])]
    if kind == "names":
        X = [
            [[f"w{v}", f"y{y}" if v % 2 else "y"] for v, y in zip(rng.integers(0, 5, len(row)), row)]
            for row in Y
        ]
    else:
        X = [np.round(rng.normal(size=(len(row), 3)), 1) for row in Y]
        if kind == "sparse":
            X = [sparse.csr_array(x) for x in X]
    return X, Y


def fit(model, X, Y, k):
    """Fit with all labels known and weights of samples; no poison has reached the weights."""
    model.set_params(classes=list(range(k)), n_jobs=1)
    model.fit(X, Y, sample_weight=1.0 + np.arange(len(Y)) % 2)
    if getattr(model, "coef_", None) is not None:
        assert np.isfinite(model.coef_).all()
    return model


def answers(model, X):
    """Every answer of the structure, plain and with a contradiction, which doubles the labels."""
    if len(model.classes_) > 1:
        ask_all(model, X)
    assert len(model.predict(X)) == len(X)


LEARNERS = {
    "dual": lambda **o: CRF(solver="dual", l2=0.5, tol=1e-4, **o),  # in single precision
    "dual, L1": lambda **o: CRF(solver="dual", l2=0.5, l1=0.1, tol=1e-7, warm_start=True, **o),
    "lbfgs": lambda **o: CRF(solver="lbfgs", **o),
    "preconditioned": lambda **o: CRF(solver=LBFGS(max_iter=1, precondition=1.0), warm_start=True, **o),
    "stochastic": lambda **o: CRF(solver=Stochastic(max_iter=2, rate=0.1), l1=0.01, **o),
    "out of range": lambda **o: CRF(solver=Stochastic(max_iter=2, rate=1e4), l2=1e-9, **o),
    "hinge": lambda **o: SSVM(solver=Stochastic(max_iter=2, rate=0.1, precision="double"), **o),
    "sharded": lambda **o: CRF(solver=Stochastic(max_iter=1, rate=0.1, parallel="sharded"), **o),
    "pieces": lambda **o: CRF(regularizer=Decomposition(1.5), solver=Stochastic(max_iter=1, rate=0.1), **o),
    "groups": lambda **o: CRF(regularizer=GroupLasso(0.1), **o),
    "pegasos": lambda **o: SSVM(solver="pegasos", **o),
    "frank_wolfe": lambda **o: SSVM(solver="frank_wolfe", **o),
    "smo": lambda **o: SSVM(solver="smo", **o),
    "slack": lambda **o: SSVM(loss_options=LossOptions(rescaling="slack"), **o),
    "ramp": lambda **o: SSVM(loss="ramp", solver="pegasos", **o),
    "perceptron": lambda **o: Perceptron(**o),
    "passive_aggressive": lambda **o: Perceptron(solver="passive_aggressive", **o),
    "arow": lambda **o: Perceptron(solver="arow", **o),
    "kernel": lambda **o: SSVM(kernel="rbf", **o),
}
EDGE_FEATURES = ["lbfgs", "stochastic", "out of range", "hinge", "pieces", "perceptron", "arow"]
KINDS = ["dense", "sparse", "names"]
PROBLEMS = {}


def problem(function):
    """A function of the number of labels; each runs for 1 to 9 of them."""
    PROBLEMS[function.__name__] = function
    return function


def learn(name, structure, kind, k, **options):
    X, Y = chains(k, kind)
    model = fit(LEARNERS[name](structure=structure, max_iter=2, **options), X, Y, k)
    return (fit(model, X, Y, k) if model.warm_start else model), X


for name in LEARNERS:
    for kind in {"kernel": KINDS[:2], "preconditioned": KINDS[1:]}.get(name, KINDS):
        PROBLEMS[f"chain, {name}, {kind}"] = lambda k, name=name, kind=kind: learn(name, Chain(), kind, k)
        if name in EDGE_FEATURES:
            PROBLEMS[f"edge features, {name}, {kind}"] = lambda k, name=name, kind=kind: learn(
                name, Chain(), kind, k, edge_features="all"
            )


@problem
def answers_on_chains(k):
    for options in ({}, {"edge_features": "all"}):
        answers(*learn("lbfgs", Chain(), "names", k, **options))


@problem
def many_rows(k):
    """As if more rows followed, which are scored from padded rows of weights."""
    model, X = learn("lbfgs", Chain(), "names", k)
    batch = model.encoder_.transform(X)
    many = model.scorer_.for_many_rows(model.coef_, 10_000).score(model.coef_, batch)
    np.testing.assert_array_equal(many.node, model.scorer_.score(model.coef_, batch).node)


@problem
def lists_of_strings(k):
    """Texts of all lengths, objects that come again, more of them than there is room for."""
    row = ["", "é" * k, "x" * (8 * k + k % 8), "y" * 40 * k]
    X = [[row, tuple(row), row] * k, [[] for _ in range(k)], [[""] * k] * 50]
    index = TextIndex()
    read = read_lists(X)
    assert index.add(read.spans)[read.texts].max() == 3 and read.lengths.tolist() == [3 * k, k, 50]
    assert (index.find(spans_of(row)) >= 0).all()


@problem
def second_order(k):
    k = min(k, 5)
    for options in ({}, {"edge_features": "all"}):
        answers(*learn("lbfgs", Chain(order=2), "names", k, **options))
    learn("slack", Chain(order=2), "dense", k)


@problem
def dual_ascent_on_rows(k):
    """Segments, chains of second order and forests; with values out of range of segments, and in logarithms."""
    for name, kind in (("dual", "dense"), ("dual", "sparse"), ("dual, L1", "names")):
        learn(name, Chain(order=2), kind, min(k, 4))
        X, Y = chains(k, kind)
        for longest in (1, 3):
            pieces = [range(0, len(row), min(longest, 2)) for row in Y]
            segments = [
                [(t, min(t + own.step, len(row)), row[t]) for t in own] for own, row in zip(pieces, Y)
            ]
            fit(LEARNERS[name](structure=SemiMarkov(longest, outside=None), max_iter=2), X, segments, k)
        trees = [(x, [(t - 1, t) for t in range(1, len(row), 2)]) for x, row in zip(X, Y)]
        fit(LEARNERS[name](structure=Graph(), max_iter=2), trees, Y, k)
    for structure, data in (
        (Chain(order=2), X),
        (Graph(), trees),
    ):  # scores for which only logarithms have room
        fit(LEARNERS["dual"](structure=structure, max_iter=1).set_params(l2=1e-9), data, Y, k)


@problem
def huge_potentials(k):
    """Sums in logarithms, of chains of both orders, segments and graphs."""
    rng = np.random.default_rng(k)
    k, n = min(k, 4), 4

    def draw(*shape):
        return rng.normal(scale=1e4, size=shape)

    ends = np.array([0, 1, n])
    node, edge = draw(n, k), draw(1, k, k)
    theta = ChainTables(node, edge, ends)
    Chain().expectation(theta)
    Chain(order=2).expectation(replace(theta, triple=draw(1, k, k, k)))
    SemiMarkov(2).expectation(SegmentTables(node, edge, ends, segment=draw(n, 2, k), longest=np.full(k, 2)))
    for X in ([tree_graph(rng.normal(size=(4, 2)), [-1, 0, 0, 1])], [grid_graph(rng.normal(size=(2, 3, 2)))]):
        Y = [(np.arange(len(X[0])) % k).tolist()]
        model = fit(CRF(Graph(memory_limit=1), max_iter=1), X, Y, k)
        theta = model.scorer_.score(1e5 * (model.coef_ + 1.0), model.encoder_.transform(X))
        model.structure.expectation(theta)


@problem
def allowed_transitions(k):
    X, Y = chains(k, "dense")
    allowed = [(a, b) for a in range(k) for b in range(k) if b == (a + 1) % k or a == b]
    for name in ("dual", "stochastic", "frank_wolfe", "perceptron"):
        fit(LEARNERS[name](structure=Chain(allowed=allowed), max_iter=1), X, Y, k).predict(X)


@problem
def drop_in(k):
    """The algorithms of CRFsuite."""
    X, Y = chains(k, "names")
    for algorithm in ("lbfgs", "l2sgd", "ap", "pa", "arow"):
        compat.CRF(algorithm, max_iterations=2).fit(X, [[str(label) for label in row] for row in Y]).predict(
            X
        )


@problem
def rare_names(k):
    X, Y = chains(k, "names")
    fit(CRF(Chain(), max_iter=1, encoding=Encoding(min_count=2)), X, Y, k).predict([[["unknown", "w1"]]])


@problem
def partial_annotation(k):
    X, Y = chains(k, "names")
    some = [[UNKNOWN if t % 2 else OneOf(label, Y[0][0]) for t, label in enumerate(row)] for row in Y]
    most = [[label if t else UNKNOWN for t, label in enumerate(row)] for row in Y]
    for outputs in (some, most):  # many labels are allowed, and few
        fit(CRF(Chain(), max_iter=2), X, outputs, k).predict(X)
    for features in (None, "all"):
        fit(Perceptron(Chain(), max_iter=1, edge_features=features), X, some, k).predict(X)
    for inner in ("frank_wolfe", "smo"):
        solver = CCCP(max_iter=2, inner=inner, inner_iter=2)
        for inputs in (X, chains(k, "dense")[0]):
            fit(SSVM(Chain(), loss="bridge", solver=solver), inputs, some, k).predict(inputs)


@problem
def multiclass(k):
    X, Y = chains(k, "dense")
    items, labels = np.concatenate(X), np.concatenate(Y)
    for rows in (items, sparse.csr_array(items), sparse.csr_array((items > 0).astype(float))):
        for solver in ("multiclass_dual", "frank_wolfe", "n_slack"):
            fit(SSVM(Multiclass(), solver=solver, max_iter=2), rows, labels, k).predict(rows)
    fit(SSVM(Multiclass(), loss="ramp", max_iter=2), items, labels, k)
    answers(fit(CRF(Multiclass(), max_iter=2), items, labels, k), items)


@problem
def segments(k):
    X, Y = chains(k, "names")
    spans = [[(t, min(t + 2, len(row)), row[t]) for t in range(0, len(row), 2)] for row in Y]
    for learner in (CRF, SSVM, Perceptron):
        answers(fit(learner(SemiMarkov(3), max_iter=2), X, spans, k), X)
    fit(SSVM(SemiMarkov(3), loss_options=LossOptions(rescaling="slack"), max_iter=1), X, spans, k)


@problem
def graphs(k):
    rng = np.random.default_rng(k)
    trees = [
        tree_graph(rng.normal(size=(4, 2)), [-1, 0, 0, 1]),
        tree_graph(rng.normal(size=(3, 2)), [2, 2, -1]),
    ]
    grids = [grid_graph(rng.normal(size=(2, 3, 2)))]
    for X in (trees, grids):
        Y = [(np.arange(len(graph)) % k).tolist() for graph in X]
        for learner in (CRF, SSVM, Perceptron):
            model = fit(learner(Graph(), max_iter=1), X, Y, k)
        answers(model, X)
    for structure in (Graph(memory_limit=1), Graph(memory_limit=1, sums="bethe", inference="loopy")):
        fit(CRF(structure, max_iter=1), grids, Y, k).predict(grids)
        fit(SSVM(structure, max_iter=1), grids, Y, k)


@problem
def sums_of_pairs(k):
    """More graphs of a shape than lanes: a triangle, a pair and nodes without edges."""
    rng = np.random.default_rng(k)
    X = [(rng.normal(size=(k + 4, 2)), [(0, 1), (3, 4), (2, 1), (0, 2)]) for _ in range(9)]
    Y = [(np.arange(k + 4) % 2).tolist() for _ in X]
    fit(CRF(Graph(memory_limit=1), max_iter=1), X, Y, 2).predict_marginals(X)


@problem
def graphs_of_all_kinds(k):
    if k == 1:  # once is enough
        run_graphs()


@problem
def hierarchies(k):
    """Trees of so many nodes, each below an earlier one; every answer, with a cost and restrictions."""
    rng = np.random.default_rng(k)
    nodes = [(0,)]
    for v in range(1, k + 1):
        nodes.append((*nodes[rng.integers(len(nodes))][: rng.integers(3)], v))
    for inner_ends, multi_label in ((False, False), (True, False), (False, True), (True, True)):
        structure = Hierarchy(nodes, inner_ends=inner_ends, multi_label=multi_label)
        theta = HierarchyTables.of(rng.normal(size=(2, len(structure.nodes))))
        cost = theta.position_cost(rng.normal(size=(theta.node.size, 2)))
        best = structure.best(theta, cost=cost)
        assert np.allclose(structure.score(theta, best.codes, cost=cost), best.values)
        assert np.allclose(structure.k_best(theta, 3, cost=cost)[1][0][1], best.values[1])
        within = structure.agreeing(theta, best.codes)
        assert np.allclose(structure.log_partition(theta, cost=cost, within=within), best.values)
        structure.expectation(theta, cost=cost), structure.max_marginals(theta, within=within)
        assert structure.sample(theta, 3, random_state=k).shape == (3, theta.node.size)
        if k > 1:
            contrary = structure.contradicting(
                theta, np.where(rng.random(len(best.codes)) < 0.5, best.codes, -1)
            )
            with suppress(InfeasibleError):
                (
                    structure.best(theta, within=contrary),
                    structure.sample(theta, within=contrary, random_state=k),
                )
                structure.k_best(theta, 2, within=contrary), structure.max_marginals(theta, within=contrary)
                structure.log_partition(theta, within=contrary), structure.expectation(theta, within=contrary)


@problem
def rankings(k):
    """So many documents, and grades from 0 to 2."""
    rng = np.random.default_rng(k)
    X, y = [rng.normal(size=(n, 2)) for n in (k, 1, k + 3)], None
    y = [(np.arange(len(x)) % 3).tolist() for x in X]
    for loss in ("ndcg", "map", "precision", "pairwise"):
        SSVM(Ranking(), task_loss=loss, max_iter=1, n_jobs=1).fit(X, y).predict(X)
    SSVM(Ranking(), loss="ramp", max_iter=1, n_jobs=1).fit(X, y)
    theta = RankingTables(rng.normal(size=k), np.array([0, k]))
    Ranking().k_best(theta, 3, cost=RankingCost(table=rng.normal(size=(k, k))))
    for ties in ("exact", "breslow", "efron"):
        model = PlackettLuce(ties=ties, max_iter=1, n_jobs=1).fit(X, y)
        assert np.isfinite(model.coef_).all()
    model.predict_top(X, 2), model.predict_nbest(X, 3), model.sample(X, 2)
    model.predict_marginals(X[:2])


@problem
def tracks(k):
    """So many detections before, moves, divisions and merges between all; parts that are small, wide, and hard."""
    rng = np.random.default_rng(k)
    tracking = Tracking(("move", "divide", "merge", "appear", "disappear"), max_distance=5.0)
    for n_axes in (3, 2):
        pair = [
            Detections(
                position := rng.random((n, n_axes)),
                {name: rng.random(n) + 0.1 for name in ("area", "intensity", "ecc", "orient")[: k % 5]},
                boxes=np.concatenate([position - 0.1, position + 0.1], axis=1) if k % 2 else None,
                frame=frame,
            )
            for frame, n in enumerate((k, 3))
        ]
        candidates = tracking.candidates(pair)
    score = rng.normal(size=len(candidates))
    values = set()
    for limit in (0, 4, 1000):
        chosen, missing = best_covers(score, candidates.layout, limit)
        assert missing is None
        values.add(round(float(score[chosen].sum()), 9))
    assert len(values) == 1
    y = candidates.codes(candidates.events_of(chosen.astype(int))).tolist()
    model = SSVM(tracking, max_iter=1, n_jobs=1).fit([candidates], [y])
    assert len(model.predict_nbest([candidates], 2)[0]) == 2
    for limit in (4, 1000):  # the other answer for every event, with an event of a set and of none
        changed = changed_values(score, candidates.layout, (), chosen, chosen, limit)
        wanted = changed_values(score, candidates.layout, (~chosen,), chosen, chosen, limit)
        assert np.all(wanted <= changed + 1e-9) and np.all(changed <= score[chosen].sum() + 1e-9)
    taken = np.arange(int(candidates.layout.n_cells[0])) < 1
    for mask in (taken, ~taken):  # one cell, and all but one
        assert explain(EventScores(model)(candidates), candidates.layout, mask) is not None
    tracker = Tracker(model, (*pair[0].features, *(["boxes"] if k % 2 else [])))
    assert len(tracker.track(pair).lineage) == k + 3


@problem
def folds(k):
    """Sequences to fold: short and long enough for the fast kernels, every answer, costs and restrictions."""
    rng = np.random.default_rng(k)
    X = ["".join(rng.choice(list("ACGU"), n)) for n in (k, 7, 9 + k)]
    folding = Folding(min_hairpin=k % 4, max_interior=3 * k)
    folding.fast_from = 8
    y = [[] for _ in X]
    model = CRF(folding, max_iter=1, n_jobs=1).fit(X, y)
    SSVM(folding, max_iter=1, n_jobs=1, task_loss=PairLoss(1.0, 0.5)).fit(X, y)
    evidence = RNA(X[2], unpaired=rng.normal(size=len(X[2])), pairs={(0, len(X[2]) - 1): 1.0})
    theta = model.scorer_.score(rng.normal(size=708), model.encoder_.transform([*X[:2], evidence]))
    codes = folding.best(theta).codes
    limit = FoldingRestriction(partner=np.where(rng.random(len(codes)) < 0.3, codes, -1).astype(np.int32))
    for within in (None, limit):
        folding.worst(theta, within=within), folding.k_best(theta, 2, within=within)
        folding.max_marginals(theta, within=within), folding.entropy(theta, within=within)
        folding.sample(theta, 2, random_state=0, within=within), folding.min_risk(theta, within=within)
        folding.log_proba(theta, codes, within=within)
    for precision in ("single", "double"):
        folding.precision = precision
        assert np.isfinite(folding.expectation(theta).log_z).all()
    for within in (None, limit):
        folding.beam = 30
        folding.best(theta, within=within)
        folding.beam = k
        folding.best(theta)


@problem
def longer_folds(k):
    """Rows of four vectors and more; once is enough."""
    if k != 1:
        return
    rng = np.random.default_rng(k)
    theta = FoldingTables.of(["".join(rng.choice(list("ACGU"), 76))], rng.normal(scale=0.3, size=TABLE_SIZE))
    for precision in ("single", "double"):
        folding = Folding(precision=precision)
        codes = folding.best(theta).codes
        paired = FoldingRestriction(unpaired=(codes == 0) | (np.arange(76) % 3 > 0))
        assert folding.best(theta, within=paired).values == pytest.approx(
            folding.best(theta).values, rel=1e-5
        )
        assert folding.expectation(theta, within=paired).log_z <= folding.log_partition(theta) + 1e-3
    folding = Folding(beam=20)
    folding.best(theta), folding.best(theta, within=paired)
    scores = np.zeros(TABLE_SIZE)
    scores[MULTI_BASE] = 9.0  # a loop with two branches; short sequences are traced back by the plain kernels
    branched = Folding(min_hairpin=0).best(FoldingTables.of(["GGCGCC"], scores)).codes
    assert branched.tolist() == [6, 3, 2, 5, 4, 1]


@problem
def alignments(k):
    """Pairs to align: every answer, one and two kinds of gaps, costs and restrictions."""
    rng = np.random.default_rng(k)
    X = [tuple("".join(rng.choice(list("ARND"), n)) for n in pair) for pair in ((k, 4), (5, 1), (3, k))]
    y = [[], [(1, 0)], [(0, 0)]]
    for long_gaps in (False, True):
        aligner = Alignment(long_gaps=long_gaps)
        model = CRF(aligner, max_iter=1, n_jobs=1).fit(X, y)
        loss = ColumnLoss(1.0, 0.5)
        SSVM(aligner, loss="ramp", max_iter=1, n_jobs=1, task_loss=loss).fit(X, [Core(each) for each in y])
        theta = model.scorer_.score(rng.normal(size=model.scorer_.n_params), model.encoder_.transform(X))
        theta = replace(theta, cells=rng.normal(size=int(theta.starts[-1])))
        codes = aligner.best(theta).codes
        limit = AlignmentRestriction(
            matches=rng.random(int(theta.starts[-1])) < 2.0,
            codes=np.where(rng.random(len(codes)) < 0.3, codes, -1).astype(np.int32),
        )
        for within in (None, limit, aligner.contradicting(theta, codes)):
            aligner.worst(theta, within=within), aligner.k_best(theta, 2, within=within)
            aligner.max_marginals(theta, within=within), aligner.entropy(theta, within=within)
            aligner.sample(theta, 2, random_state=0, within=within), aligner.min_risk(theta, within=within)
            assert np.isfinite(aligner.expectation(theta, within=within).log_z).all()
        aligner.log_proba(theta, codes)
        with pytest.raises(ValueError, match="sample 0"):
            aligner.score(theta, np.full_like(codes, 99))


@problem
def longer_alignments(k):
    """Several vectors in a row: short integers, floats, doubles, known matches, costs, sums."""
    rng, n = np.random.default_rng(k), (1, 7, 8, 15, 16, 17, 24, 31, 33)[k - 1]
    pairs = [(rng.integers(0, 3, n), rng.integers(0, 3, n + 2 * k % 5))]
    theta = AlignmentTables.of(pairs, rng.integers(-3, 5, (3, 3)), open=-4.0)
    Alignment().best(replace(theta, substitution=rng.integers(-3, 5, (40, 40)).astype(float)))
    rooms, codes = int(theta.starts[-1]), Alignment().best(theta).codes
    known = np.where(rng.random(len(codes)) < 0.1, codes, -1).astype(np.int32)
    cost = MatchCost.none(
        theta.offsets, entry_ptr=np.array([0, 1]), entry=np.array([rooms - 1]), value=np.ones(1)
    )
    uneven = replace(theta, unit=rng.normal(size=theta.unit.shape), change=rng.normal(size=1))
    for precision in ("double", "single"):
        aligner = Alignment(precision=precision)
        for given, price, within in (
            (theta, cost, None),
            (uneven, None, AlignmentRestriction(codes=known)),
            (uneven, cost, AlignmentRestriction(matches=rng.random(rooms) < 0.9)),
            (replace(theta, cells=rng.normal(size=rooms)), None, None),
        ):
            (
                aligner.best(given, cost=price, within=within),
                aligner.marginals(given, cost=price, within=within),
            )
            assert np.isfinite(aligner.expectation(given, cost=price, within=within).log_z).all()


@problem
def columns(k):
    """Column files and their templates, cells of k bytes and windows of k cells."""
    lines = ["\t".join(["ä" * (t % 3) + "x" * k, f"p{t % 2}", f"L{t % 3}"]) for t in range(7)]
    text = "\n".join(lines[:4] + [""] + lines[4:]) + "\n"
    for boundary in ("pad", "skip"):
        rules = f"#! boundary = {boundary}\nU0:%x[-{k},0]/%x[{k},1]/%x[0,0]\nU1:%X[0,1]\nB"
        for more, options in (("\nB1:%x[-1,1]", {}), ("", {"n_hash": 16 * k, "min_count": 1})):
            read = read_columns("-", stream=io.StringIO(text))
            tagger = Tagger.train(read, template=Template.parse(rules + more), max_iter=1, **options)
            tagger.predict_nbest(read, 2)
    nodes = "".join(f"{i}\tw{i}\tX\n" for i in ("1-2", "1", "1.1", "2", "3" * k))
    assert len(read_columns("-", stream=io.StringIO(nodes), conllu=True).sentences[0]) == 3


@problem
def cells_between_blanks(k):
    lines = [f"a{t}  {'b' * k} \u3000\u00a0c\t" for t in range(k)]
    text = read_columns("-", stream=io.StringIO("\n".join([*lines, " \u00a0\u2003 ", *lines])))
    assert len(text.sentences) == 2
    documents = "\n".join(["-DOCSTART-", *lines, "-DOCSTART- x", *lines])
    assert len(read_columns("-", stream=io.StringIO(documents)).sentences) == 2


@problem
def networks(k):
    """Factors of one to three variables, evidence, and every method, against enumeration."""
    rng = np.random.default_rng(k)
    cards = [k, 2, 3, 2, 2]
    scopes = [(0,), (1, 3), (0, 1, 2), (2, 4), (3, 4), (1, 2)]
    tables = [(scope, rng.normal(size=[cards[v] for v in scope])) for scope in scopes]
    tables[1][1][0, 0] = -np.inf
    graph = FactorGraph.from_tables(cards, tables)
    scores = sum(
        table.reshape([c if v in scope else 1 for v, c in enumerate(cards)]) for scope, table in tables
    )
    for method in ("junction_tree", "bounded", "loopy", "integer_program"):
        found = answer(graph, "map", method=method)
        assert not found.exact or np.isclose(found.value, scores.max())
    assert np.isclose(answer(graph, "pr").value, np.logaddexp.reduce(scores.ravel()))
    for method in ("junction_tree", "reweighted", "bethe"):
        assert np.isfinite(answer(graph, "mar", method=method).marginals).all()
    answer(graph.conditioned({2: 1}), "mar")
    agree = [((i, i + 1), [[1.0, 0.0], [0.0, 1.0]]) for i in range(k)] + [((0, k), [[0.7, 0.0], [0.0, 0.3]])]
    unary = [((i,), rng.normal(size=2)) for i in range(k + 1)]
    network = FactorGraph.from_tables([2] * (k + 1), unary + agree)
    assert np.isclose(graph_cut(network).value, answer(network, "map", method="junction_tree").value)
    repel = [(scope, -np.array(table)) for scope, table in agree]
    assert roof_dual(FactorGraph.from_tables([2] * (k + 1), unary + repel)).converged


@problem
def junction_trees_in_blocks(k):
    """Cliques that are worked through in more than one block."""
    rng = np.random.default_rng(k)
    table = rng.normal(size=(k, 3, 2, 3))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(junction_tree, "_MAX_BLOCK", 4)
        patch.setattr(junction_tree, "_SMALL_BLOCK", 4)
        graph = FactorGraph.from_tables([k, 3, 2, 3], [((0, 1, 2, 3), table), ((1, 3), np.zeros((3, 3)))])
        patch.setattr(junction_sums, "_MAX_BLOCK", 4)
        tree = JunctionTree.of(graph.topology)
        (found,) = junction_sums.exact_sums(tree, [graph])
    assert np.isclose(found.log_z, np.logaddexp.reduce(table.ravel()))
    assert np.isclose(tree.sum(graph).log_z, np.logaddexp.reduce(table.ravel()))
    assert np.isclose(tree.best(graph).value, table.max())
    tree.max_marginals(graph), tree.sample(graph, rng.random((3, 4)))


@problem
def pieces_of_graphs(k):
    edges = np.array([[i, i + 1] for i in range(k)]).reshape(-1, 2)
    Decomposition(2).keep_edges(k + 1, edges, seed=0, epoch=0)


@pytest.mark.parametrize("name", PROBLEMS)
def test_small_problems_stay_inside_their_arrays(name):
    for k in LABELS:
        PROBLEMS[name](k)
    done.add(name)


def test_every_kernel_was_among_them():
    if done != PROBLEMS.keys():
        pytest.skip("needs all problems above in one process")
    kernel_modules()
    assert [name for name, n in CALLS.items() if n == 0 and name.startswith("palmette.")] == []
