"""Chains with forbidden transitions: every answer, sums over valid outputs only, learners, refusals."""

from __future__ import annotations

import io
import itertools

import numpy as np
import pytest

import palmette
from palmette import CRF, SSVM, Chain, Perceptron
from palmette.data import Transitions, allowed_transitions
from palmette.errors import InfeasibleError
from palmette.structures import ChainTables
from palmette.structures.chain.constrained import ConstrainedChain, resolve
from palmette.testing import CHECKS, check_structure

IOB2 = ["B-X", "I-X", "B-Y", "I-Y", "O"]
TURNS = [("a", "b"), ("b", "a"), ("b", "b"), ("a", None)]  # never aa, a at the end


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize(
    ("allowed", "classes"), [(TURNS, "ab"), ("IOB2", ["B", "I", "O"]), ("iobes", ["B", "E", "I", "O", "S"])]
)
def test_every_answer_agrees_with_enumeration(order, allowed, classes):
    bound = Chain(order, allowed).bind(classes)
    n_instances = 2 if len(classes) < 4 else 1
    report = check_structure(bound, required=CHECKS, n_instances=n_instances, random_state=order)
    assert set(report.checked.values()) == {n_instances}


def test_a_reference_sees_a_chain_that_forgets_its_rules():
    from palmette.testing import reference_for

    bound = Chain(allowed="IOB2").bind(["B", "I", "O"])
    with pytest.raises(AssertionError, match="log_partition"):
        check_structure(Chain(), reference_for(bound), n_instances=1, answers=["log_partition"])


# --------------------------------------------------------------------------------- products beside forbidden pairs


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize(("encoding", "steps"), [("IOB2", 2), ("IOBES", 3), ("IOB1", 2)])
def test_long_chains_by_products_equal_those_by_logarithms(rng, order, encoding, steps):
    from palmette._kernels.spread import fits_mixing, mixing_steps

    letters = {"IOB2": "BI", "IOB1": "BI", "IOBES": "BIES"}[encoding]
    classes = ["O", *(f"{letter}-{kind}" for letter in letters for kind in "XYZ")]
    bound = Chain(order, encoding).bind(classes)
    n, n_labels = 300, len(classes)
    node, edge = rng.uniform(0, 12, (n, n_labels)), rng.uniform(0, 6, (1, n_labels, n_labels))
    triple = rng.uniform(0, 4, (1, *(n_labels,) * 3)) if order == 2 else None
    theta = ChainTables(node, edge, np.array([0, n]), triple)
    tables = bound._combine(theta, None, None)
    assert mixing_steps(tables.edge) == steps
    assert fits_mixing(tables.node, 0, n, 6.0, float(steps))
    found = bound.expectation(theta)
    # far from all others in one row, which rules products out and changes nothing else
    cost = np.zeros_like(node)
    cost[n // 2, 0] = -1e4
    row = np.ones((n, n_labels), bool)
    row[n // 2, 0] = False
    by_logs = bound.expectation(
        theta, cost=ChainTables(cost, np.empty((0, n_labels, n_labels)), theta.offsets)
    )
    by_products = bound.expectation(theta, within=palmette.structures.Restriction(node=row))
    np.testing.assert_allclose(by_logs.log_z, by_products.log_z, rtol=1e-13)
    np.testing.assert_allclose(by_logs.counts.node, by_products.counts.node, atol=1e-10)
    np.testing.assert_allclose(by_logs.counts.edge, by_products.counts.edge, atol=1e-9)
    assert np.all(found.counts.node[0][~bound.rules.start] == 0)
    assert np.all(found.counts.edge[0][~bound.rules.transition] == 0)
    assert found.counts.edge.sum() == pytest.approx(n - 1, rel=1e-12)


def test_labels_that_never_mix_are_left_to_logarithms():
    from palmette._kernels.spread import MOST_STEPS, fits_mixing, mixing_steps

    turns = np.where(np.eye(2, dtype=bool), -np.inf, 0.0)[None]
    assert mixing_steps(turns) == MOST_STEPS + 1
    assert not fits_mixing(np.zeros((3, 2)), 0, 3, 0.0, MOST_STEPS + 1.0)
    two = np.concatenate([turns, np.where(np.tri(2, dtype=bool), 0.0, -np.inf)[None]])
    assert mixing_steps(two) == MOST_STEPS + 1  # each edge forbids something else


# ---------------------------------------------------------------------------------------------------- learners


def spans(rng, n=30):
    X, Y = [], []
    for _ in range(n):
        y = []
        while len(y) < 6:
            kind = rng.choice(["X", "Y", "O"])
            y += ["O"] if kind == "O" else [f"B-{kind}"] + [f"I-{kind}"] * int(rng.integers(0, 3))
        X.append(
            [[f"w{rng.integers(8)}", f"like:{label[-1]}" if rng.random() < 0.5 else "noise"] for label in y]
        )
        Y.append(y)
    return X, Y


def is_valid(labels, encoding="IOB2"):
    tables = allowed_transitions(IOB2, encoding)
    codes = [IOB2.index(label) for label in labels]
    pairs = all(tables.transition[pair] for pair in zip(codes, codes[1:]))
    return pairs and tables.start[codes[0]] and tables.end[codes[-1]]


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize(
    "learner",
    [
        CRF(None, l2=0.1),
        CRF(None, l2=0.1, solver="stochastic", tol=0.5),
        SSVM(None, C=1.0, tol=1e-2),
        SSVM(None, C=1.0, tol=0.1, solver="frank_wolfe"),
        SSVM(None, C=1.0, task_loss="zero_one", tol=0.2),
        Perceptron(None, max_iter=3),
        CRF(None, l2=0.1, edge_features="all"),
    ],
)
def test_learners_obey(rng, learner, order):
    X, Y = spans(rng)
    X_test, Y_test = spans(np.random.default_rng(1), 20)
    model = learner.set_params(structure=Chain(order, "IOB2")).fit(X, Y)
    assert type(model.structure_) is ConstrainedChain and model.structure.allowed == "IOB2"
    assert all(is_valid(y) for y in model.predict(X_test))
    assert all(is_valid(y) for ranked in model.predict_nbest(X_test, 5) for y, _ in ranked)
    assert np.all(
        np.array([m[0] for m in model.predict_marginals(X_test)])[:, [2, 3]] == 0
    )  # no I at the start
    assert np.isneginf(model.log_proba([X_test[0][:2]], [["O", "I-X"]])[0])
    assert np.all(np.isfinite(model.coef_)) and np.all(np.isfinite(model.log_proba(X_test, Y_test)))
    file = io.BytesIO()
    model.save(file)
    again = palmette.load(file)
    assert again.predict(X_test) == model.predict(X_test) and again.structure.order == order


def test_probabilities_are_over_valid_outputs(rng):
    X, Y = spans(rng, 12)
    model = CRF(Chain(allowed="IOB2"), l2=0.5).fit(X, Y)
    short = [X[0][:3]]
    outputs = [list(y) for y in itertools.product(model.classes_.tolist(), repeat=3)]
    chances = np.exp([model.log_proba(short, [y])[0] for y in outputs])
    assert chances.sum() == pytest.approx(1.0, abs=1e-12)
    assert all((p > 0) == is_valid(y) for p, y in zip(chances, outputs))
    free = CRF(Chain(), l2=0.5).fit(X, Y)
    assert len(model.coef_) == len(free.coef_) - 6  # forbidden pairs have no weight
    assert model.objective_ < free.objective_  # what cannot happen need not be learnt


def test_partial_fit_and_warm_start(rng):
    X, Y = spans(rng, 20)
    online = Perceptron(Chain(allowed="IOB2"))
    for start in range(0, 20, 5):
        online.partial_fit(X[start : start + 5], Y[start : start + 5], classes=IOB2)
    assert all(is_valid(y) for y in online.predict(X))
    with pytest.raises(ValueError, match=r"y\[0\]\[0\]: 'I-X' at the start"):
        online.partial_fit(X[:1], [["I-X"] * len(X[0])])
    model = CRF(Chain(allowed="IOB2"), warm_start=True).fit(X, Y)
    cold = model.n_iter_
    assert model.fit(X, Y).n_iter_ < cold


def test_zero_one_loss_where_some_samples_have_one_output_only():
    X = [[["p"], ["q"]], [["p"]]]
    model = SSVM(Chain(allowed=[("a", "b"), ("a", "c"), (None, "a"), ("b", None), ("c", None), ("a", None)]),
                 task_loss="zero_one", C=10.0, classes=["a", "b", "c"])  # fmt: skip
    model.fit(X, [["a", "b"], ["a"]])  # the second sample can only be a, the first has a rival: a c
    best, rival = model.predict_nbest(X[:1], 2)[0]
    assert best[0] == ["a", "b"] and best[1] - rival[1] > 0.9


# --------------------------------------------------------------------------------------------- rules, bad input


def test_what_allowed_may_be():
    tables = resolve([("a", "b"), [None, "a"]], ("a", "b"))
    assert tables.start.tolist() == [True, False] and tables.end.tolist() == [True, True]
    assert tables.transition.tolist() == [[False, True], [False, False]]
    array = np.array([[True, False], [True, True]])
    assert np.array_equal(resolve(array, ("a", "b")).transition, array)
    given = Transitions(np.array([True, False]), array, np.array([False, True]))
    assert all(np.array_equal(x, y) for x, y in zip(resolve(given, ("a", "b")), given))
    assert np.array_equal(resolve([[("p", 1), ("q", 2)]], (("p", 1), ("q", 2))).transition[0], [False, True])
    assert np.array_equal(
        resolve("iob2", tuple(IOB2)).transition, allowed_transitions(IOB2, "IOB2").transition
    )


@pytest.mark.parametrize("allowed", [[("p", "q")], np.array([[False, True], [False, False]])])
def test_files_keep_rules(allowed):
    model = CRF(Chain(allowed=allowed)).fit([[["u"], ["v"]]], [["p", "q"]])
    file = io.BytesIO()
    model.save(file)
    again = palmette.load(file)
    assert again.predict([[["v"], ["u"]]]) == [["p", "q"]]


@pytest.mark.parametrize(
    ("allowed", "message"),
    [
        ("IOB3", "allowed='IOB3' is not a span encoding; known: IOB2"),
        ([("a", "x")], "allowed names 'x', which is not a label; known labels: .*Declare labels"),
        ([("a", "b", "c")], r"pairs of labels, found \('a', 'b', 'c'\)"),
        (["ab"], "pairs of labels, found 'ab'"),
        (
            np.ones((3, 3), bool),
            r"transition must be bool of shape \(2, 2\) for 2 classes, got bool of shape \(3, 3\)",
        ),
        (np.ones((2, 2)), r"must be bool of shape \(2, 2\) for 2 classes, got float64"),
        (7, "must be the name of a span encoding, a list of label pairs, or tables, got 7"),
        ("IOB2", r"labels\[0\]: 'a' is not a label of the encoding IOB2"),
    ],
)
def test_bad_rules_are_refused(allowed, message):
    with pytest.raises((TypeError, ValueError), match=message):
        CRF(Chain(allowed=allowed)).fit([[["u"], ["v"]]], [["a", "b"]])


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (
            ["O", "I-X"],
            r"y\[1\]\[1\]: 'I-X' after 'O' is not allowed by .*allowed='IOB2' \(1 such .*convert_spans",
        ),
        (["I-X", "O"], r"y\[1\]\[0\]: 'I-X' at the start of a sequence"),
    ],
)
def test_training_data_that_breaks_the_rules_is_refused(labels, message):
    X, Y = [[["u"], ["v"]]] * 2, [["B-X", "I-X"], labels]
    for learner in (CRF, SSVM, Perceptron):
        with pytest.raises(ValueError, match=message):
            learner(Chain(allowed="IOB2")).fit(X, Y)
    ended = [("a", "a"), ("a", "b"), ("b", "a"), ("a", None)]
    with pytest.raises(ValueError, match=r"y\[0\]\[1\]: 'b' at the end .*correct the labels, or allow it"):
        CRF(Chain(allowed=ended)).fit([[["u"], ["v"]]], [["a", "b"]])


def test_codes_have_no_names():
    theta = ChainTables(np.zeros((2, 3)), np.zeros((1, 3, 3)), np.array([0, 2]))
    with pytest.raises(ValueError, match=r"Chain\(allowed='IOB2'\) speaks of labels.*bind\(classes\)"):
        Chain(allowed="IOB2").best(theta)
    with pytest.raises(ValueError, match="bound to 2 labels, the potentials have 3"):
        Chain(allowed=TURNS).bind("ab").best(theta)
    with pytest.raises(ValueError, match="None is a label here"):
        Chain(allowed=TURNS).bind(["a", "b", None])
    dead = Chain(allowed=[("a", "b")]).bind("ab")
    with pytest.raises(InfeasibleError, match="sample 0"):
        dead.best(ChainTables(np.zeros((3, 2)), np.zeros((1, 2, 2)), np.array([0, 3])))


def test_a_length_for_which_no_labels_are_known():
    model = CRF(Chain(allowed="IOBES")).fit([[["u"], ["v"]]], [["B-X", "E-X"]])
    message = (
        r"sample 1 \(length 1\): no output satisfies allowed='IOBES' with the labels 'B-X', 'E-X' .*classes="
    )
    for answer in (model.predict, model.predict_marginals, model.predict_nbest, model.predict_score):
        with pytest.raises(InfeasibleError, match=message):
            answer([[["u"], ["v"]], [["u"]]])
