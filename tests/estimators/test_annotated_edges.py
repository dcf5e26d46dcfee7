"""Learning from allowed labels of edges."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from palmette import (
    CRF,
    CRFCV,
    SSVM,
    UNKNOWN,
    ActiveLearner,
    Chain,
    Decomposition,
    Encoding,
    Graph,
    GraphInput,
    Linked,
    LossOptions,
    Multiclass,
    OneOf,
    Perceptron,
    Ranking,
    SemiMarkov,
)
from palmette.errors import MissingCapability
from palmette.losses import Hamming

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

WEIGHTS = np.random.default_rng(0).normal(size=(3, 3))


def graphs(seed, n, cycle):
    rng = np.random.default_rng(seed)
    X = []
    for length in rng.integers(3, 6, n):
        edges = [(t, t + 1) for t in range(length - 1)] + [(length - 1, 0)] * cycle
        X.append(GraphInput(rng.normal(size=(length, 3)), edges))
    return X, [["abc"[k] for k in (x.nodes @ WEIGHTS).argmax(axis=1)] for x in X]


def doubtful(seed, X, Y):
    """Nothing but edges, each with the true pair or another one."""
    rng, some = np.random.default_rng(seed), []
    for x, y in zip(X, Y):
        pairs = {}
        for u, v in x.edges:
            u, v = (u, v) if rng.random() < 0.5 else (v, u)
            pairs[u, v] = OneOf((y[u], y[v]), tuple("abc"[k] for k in rng.integers(0, 3, 2)))
        some.append(Linked([UNKNOWN] * len(y), pairs))
    return some


LEARNERS = {
    "crf": lambda s: CRF(s, l2=0.1),
    "crf, stochastic": lambda s: CRF(s, l2=0.1, solver="stochastic"),
    "bridge": lambda s: SSVM(s, loss="bridge", l2=0.1),
    "latent": lambda s: SSVM(s, loss="latent", l2=0.1),
    "max": lambda s: SSVM(s, loss="max", l2=0.1),
    "ignoring": lambda s: SSVM(s, loss="bridge", l2=0.1, loss_options=LossOptions(nonnegative="ignore")),
    "perceptron": lambda s: Perceptron(s),
}


@pytest.mark.parametrize("cycle", [False, True])
@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_learns_from_edges_alone(name, cycle):
    X, Y = graphs(1, 25, cycle)
    some, (test, truth) = doubtful(2, X, Y), graphs(3, 60, cycle)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = LEARNERS[name](Graph()).fit(X, some)
    assert model.score(test, truth) > 0.88
    assert model.score(X, some) > 0.95  # of edges, since nothing is known of nodes
    counts = model.annotation_
    assert counts.known == counts.one_of == 0 and counts.unknown == sum(map(len, Y))
    assert counts.pairs == sum(len(x.edges) for x in X) and counts.n_empty == 0


@pytest.mark.parametrize("name", ["crf", "bridge", "perceptron"])
def test_edges_teach_more_than_a_few_labels_alone(name):
    """Neighbours are known to be equal or different, and one label of every tenth graph is known."""
    X, Y = graphs(4, 60, cycle=False)
    test, truth = graphs(5, 100, cycle=False)
    equal = OneOf(*((a, a) for a in "abc"))
    other = OneOf(*((a, b) for a in "abc" for b in "abc" if a != b))
    few = [[y[0] if i % 10 == 0 else UNKNOWN, *[UNKNOWN] * (len(y) - 1)] for i, y in enumerate(Y)]
    linked = [
        Linked(known, {(u, v): equal if y[u] == y[v] else other for u, v in x.edges})
        for x, y, known in zip(X, Y, few)
    ]
    without, with_edges = (
        LEARNERS[name](Graph()).set_params(classes=["a", "b", "c"]).fit(X, y).score(test, truth)
        for y in (few, linked)
    )
    assert with_edges > without + 0.1 and with_edges > 0.8


def test_loopy_graphs_without_exact_inference():
    X, Y = graphs(6, 20, cycle=True)
    some = doubtful(7, X, Y)
    for model in (CRF(Graph(memory_limit=64), l2=0.1), SSVM(Graph(memory_limit=64), loss="bridge", l2=0.1)):
        assert model.fit(X, some).score(X, Y) > 0.8


# -- the same as otherwise ------------------------------------------------------------------------------------------


def test_the_direction_does_not_matter():
    X, Y = graphs(8, 15, cycle=True)
    some = doubtful(9, X, Y)
    turned = [
        Linked(
            y.labels, {(v, u): OneOf(*((b, a) for a, b in said.labels)) for (u, v), said in y.pairs.items()}
        )
        for y in some
    ]
    for name in ("crf", "bridge", "perceptron"):
        a, b = (LEARNERS[name](Graph()).fit(X, y).coef_ for y in (some, turned))
        assert np.array_equal(a, b)


@pytest.mark.parametrize("name", ["crf", "bridge", "max", "perceptron"])
def test_pairs_of_any_labels_of_two_sets_are_two_sets(name):
    """On graphs of one edge; the task loss of both nodes together is that of the edge only if one is wrong."""
    rng = np.random.default_rng(10)
    X = [GraphInput(rng.normal(size=(2, 3)), [(1, 0)]) for _ in range(40)]
    Y = [["abc"[k] for k in (x.nodes @ WEIGHTS).argmax(axis=1)] for x in X]
    sets = [[OneOf(y[0], "a"), UNKNOWN] for y in Y]
    linked = [
        Linked([UNKNOWN] * 2, {(0, 1): OneOf(*((a, b) for a in said[0].labels for b in "abc"))})
        for said in sets
    ]
    a, b = (LEARNERS[name](Graph()).set_params(classes=["a", "b", "c"]).fit(X, y) for y in (sets, linked))
    assert b.objective_ == pytest.approx(a.objective_, rel=1e-6)
    assert b.coef_ == pytest.approx(a.coef_, abs=1e-4)


def test_labels_of_nodes_alone_are_learnt_bit_for_bit():
    X, Y = graphs(11, 15, cycle=True)
    partial = [[label if t % 2 else UNKNOWN for t, label in enumerate(y)] for y in Y]
    true = [{(u, v): OneOf((y[u], y[v])) for u, v in x.edges} for x, y in zip(X, Y)]
    for plain, linked in ((partial, [Linked(y, {}) for y in partial]), (Y, list(map(Linked, Y, true)))):
        for name in ("crf", "bridge", "perceptron"):
            a, b = (LEARNERS[name](Graph()).fit(X, y) for y in (plain, linked))
            assert np.array_equal(a.coef_, b.coef_) and a.annotation_ == b.annotation_


def test_costs_of_labels_leave_edges_at_one():
    X, Y = graphs(12, 10, cycle=False)
    loss = Hamming({"a": 0.0, "b": 0.0, "c": 0.0})
    some = doubtful(13, X, Y)
    assert SSVM(Graph(), loss="bridge", task_loss=loss, l2=0.1).fit(X, some).objective_ > 0.01


# -- which weights exist --------------------------------------------------------------------------------------------


def test_observed_weights_are_those_of_all_pairs_that_are_allowed():
    X = [GraphInput([["x"], ["y"], ["z"]], [(0, 1), (1, 2)], [["near"], ["far"]])]
    y = [Linked(["c", UNKNOWN, UNKNOWN], {(1, 0): OneOf(("a", "c"), ("b", "c"), ("b", "b"))})]
    options = Encoding(states="observed", transitions="observed")
    model = CRF(Graph(), encoding=options, classes=["a", "b", "c"]).fit(X, y)
    scorer, names = model.scorer_, model.encoder_.feature_names
    column, label = scorer.coordinates()
    assert {(names[c], "abc"[k]) for c, k in zip(column, label)} == {("x", "c"), ("y", "a"), ("y", "b")}
    assert {("abc"[k // 3], "abc"[k % 3]) for k in scorer.pairs} == {("c", "a"), ("c", "b")}
    column, first, second = scorer.edge_coordinates()
    assert {("abc"[i], "abc"[j]) for i, j in zip(first, second)} == {("c", "a"), ("c", "b")}
    assert len(set(column)) == 1  # of the edge that is annotated


def test_unknown_nodes_of_types_with_given_labels():
    X = [GraphInput([["x"], ["y"]], [(0, 1)], node_types=["p", "q"])] * 2
    y = [["a", UNKNOWN], Linked([UNKNOWN] * 2, {(0, 1): OneOf(("c", "b"), ("a", "b"))})]
    assert CRF(Graph(labels={"p": ["a", "c"], "q": ["b"]}), l2=0.1).fit(X, y).predict(X)[0][1] == "b"
    with pytest.raises(
        ValueError, match=r"sample 1, node 0: y has the label 'c', but nodes of type 'p' have"
    ):
        CRF(Graph(labels={"p": ["a"], "q": ["b", "c"]})).fit(X, y)


# -- around fit -----------------------------------------------------------------------------------------------------


def test_scores_penalties_and_batches():
    X, Y = graphs(14, 30, cycle=False)
    some = doubtful(15, X, Y)
    assert CRFCV(Graph(), cv=3).fit(X, some).score(X, some) > 0.8
    model = Perceptron(Graph())
    for _ in range(5):
        model.partial_fit(X, some, classes=["a", "b", "c"])
    assert model.score(X, Y) > 0.8
    one = GraphInput(X[0].nodes[:2], [(0, 1)])
    a, b = model.predict([one])[0]
    said = [
        ({(0, 1): OneOf((a, b))}, 1.0),
        ({(1, 0): OneOf((b, a))}, 1.0),
        ({(0, 1): OneOf((a + "?", b))}, 0.5),
    ]
    for pairs, expected in said:
        assert model.score([one], [Linked([a, UNKNOWN], pairs)]) == expected
    with pytest.raises(ValueError, match=r"y\[0\], edge \(0, 3\): there is no such node"):
        model.score([one], [Linked([a, UNKNOWN], {(0, 3): OneOf((a, b))})])


# -- bad input ------------------------------------------------------------------------------------------------------

X = [GraphInput([["x"], ["y"], ["z"]], [(0, 1), (2, 1)]), GraphInput([["y"], ["x"]], [(0, 1)])]
FREE = [UNKNOWN] * 3
PAIR = OneOf(("a", "b"))


@pytest.mark.parametrize(
    ("labels", "pairs", "error", "text"),
    [
        (FREE, {(0, 2): PAIR}, ValueError, r"y\[1\], edge \(0, 2\): no edge joins these nodes: add it"),
        (FREE, {(0, 5): PAIR}, ValueError, r"y\[1\], edge \(0, 5\): there is no such node; .* 0 to 2"),
        (FREE, {(-1, 0): PAIR}, ValueError, r"y\[1\], edge \(-1, 0\): there is no such node"),
        (FREE, {(1, 1): PAIR}, ValueError, r"y\[1\], edge \(1, 1\): no edge joins these nodes"),
        (FREE, {0: PAIR}, TypeError, r"y\[1\], edge 0: an edge is named by the numbers"),
        (FREE, {(0, 1): ("a", "b")}, TypeError, r"y\[1\], edge \(0, 1\): \('a', 'b'\) must be OneOf"),
        (FREE, {(0, 1): OneOf("ab")}, ValueError, r"y\[1\], edge \(0, 1\): 'ab' is not a pair of labels"),
        (FREE, {(0, 1): OneOf(("a", UNKNOWN))}, ValueError, r"\('a', UNKNOWN\) is not a pair of labels"),
        (FREE, {(0, 1): PAIR, (1, 0): PAIR}, ValueError, r"edge \(0, 1\) is annotated in both directions"),
        (FREE, {(0, 1): OneOf(("a", "q"))}, ValueError, r"unknown label 'q' at y\[1\], edge \(0, 1\); known"),
        (FREE, {(0, 1): OneOf(("a", None))}, ValueError, r"the label at y\[1\], edge \(0, 1\) is None"),
        (["b", UNKNOWN, "a"], {(0, 1): PAIR}, ValueError, r"y\[1\], edge \(0, 1\): the labels 'b' and UNKNOWN are"),
        (["a", "a", "b"], {(0, 1): PAIR}, ValueError, r"the labels 'a' and 'a' are not among .*: correct the"),
        (FREE, {(0, 1): PAIR, (2, 1): OneOf(("a", "a"))}, ValueError, r"y contradicts itself .*: sample 1 "),
    ],
)  # fmt: skip
def test_bad_pairs_are_refused(labels, pairs, error, text):
    with pytest.raises(error, match=text):
        CRF(Graph(), classes=["a", "b"]).fit(X[::-1], [["a", "b"], Linked(labels, pairs)])


def test_what_has_no_way_is_refused():
    rows, y = [[["x"], ["y"]], [["y"]]], [["a", "b"], Linked(["a"], {})]
    for structure in (Chain(), SemiMarkov(2), Ranking(), Multiclass()):
        with pytest.raises(MissingCapability, match=r"y\[1\] is Linked, .*single parts: .*use a Graph"):
            Perceptron(structure).fit(np.eye(2) if isinstance(structure, Multiclass) else rows, y)
    model = Perceptron(Chain()).partial_fit(rows, [["a", "b"], ["a"]], classes=["a", "b"])
    with pytest.raises(MissingCapability, match=r"y\[1\] is Linked"):
        model.partial_fit(rows, y)
    some = [Linked(FREE, {(0, 1): PAIR}), ["a", "b"]]
    with pytest.raises(MissingCapability, match="Decomposition drops edges"):
        CRF(Graph(), regularizer=Decomposition(2.0)).fit(X, some)
    with pytest.raises(MissingCapability, match="loss='hinge' needs complete outputs"):
        SSVM(Graph()).fit(X, some)
    with pytest.raises(TypeError, match=r"pairs must be a dict \{\(u, v\): OneOf"):
        Linked(FREE, [PAIR])
    learner = ActiveLearner(CRF(Graph(), classes=["a", "b"]), X)
    asked = learner.query(1)[0]
    with pytest.raises(TypeError, match=r"is Linked\(.*answers are about single parts, give their labels"):
        learner.tell(asked, Linked([UNKNOWN] * len(X[asked.sample]), {(0, 1): PAIR}))
