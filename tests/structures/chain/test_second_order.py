"""Chains of second order: every answer, identities with first order, products and logarithms, learners."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palmette import CRF, SSVM, Chain, Encoding, Multiclass, Perceptron
from palmette.structures import ChainTables, Restriction
from palmette.testing import CHECKS, check_structure, reference_for
from palmette.testing.chain2_reference import SecondOrderReference
from palmette.testing.chain_instances import KINDS
from palmette.testing.enumeration import arrays


def test_every_answer_agrees_with_enumeration():
    assert type(reference_for(Chain(order=2))) is SecondOrderReference
    report = check_structure(Chain(order=2), required=CHECKS, n_instances=4)
    assert report.checked == dict.fromkeys(CHECKS, 4) and report.missing == ()


class OneKind(SecondOrderReference):
    """Instances of one kind, named by its number, in a given shape."""

    def __init__(self, kind, n_labels, lengths):
        super().__init__(n_labels, lengths)
        self.kind = kind

    def instances(self, rng):
        return [list(super().instances(rng))[self.kind]]


@given(
    seed=st.integers(0, 2**32 - 1),
    kind=st.integers(0, len(KINDS) - 1),
    n_labels=st.integers(1, 3),
    lengths=st.lists(st.integers(1, 4), min_size=1, max_size=3),
)
@settings(max_examples=5)
def test_chains_of_any_shape_agree_with_enumeration(seed, kind, n_labels, lengths):
    check_structure(Chain(order=2), OneKind(kind, n_labels, lengths), random_state=seed)


# -------------------------------------------------------------------------------------------------- identities


def draw(rng, lengths=(7, 1, 2, 5), n_labels=3, per_part=False):
    n_rows, n_edges = sum(lengths), sum(lengths) - len(lengths)
    n_triples = sum(max(n - 2, 0) for n in lengths)
    return ChainTables(
        rng.normal(size=(n_rows, n_labels)),
        rng.normal(size=(n_edges if per_part else 1, n_labels, n_labels)),
        np.cumsum([0, *lengths]),
        rng.normal(size=(n_triples if per_part else 1, *(n_labels,) * 3)),
    )


@pytest.mark.parametrize("per_part", [False, True])
def test_zero_triples_are_first_order(rng, per_part):
    second = draw(rng, per_part=per_part)
    second = replace(second, triple=np.zeros_like(second.triple))
    first = replace(second, triple=None)
    codes = rng.integers(0, 3, len(first.node)).astype(np.int32)
    about = {name: (codes,) for name in ("best_contradicting", "score", "log_proba", "count")} | {
        "k_best": (4,)
    }
    for name in CHECKS:
        keywords = {"random_state": 3, "n_draws": 5} if name == "sample" else {}
        one, two = (
            getattr(Chain(), name)(theta, *about.get(name, ()), **keywords) for theta in (first, second)
        )
        if isinstance(two, ChainTables):
            two = replace(two, triple=None)
        elif name == "expectation":
            two = two._replace(counts=replace(two.counts, triple=None))
        for a, b in zip(arrays(one), arrays(two), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12, err_msg=name)


def test_it_is_a_first_order_chain_of_label_pairs(rng):
    """State (i, j) at row t stands for the labels of rows t - 1 and t; the first row has states (0, j)."""
    theta, n = draw(rng, lengths=(6,)), 3
    node = np.full((6, n * n), -np.inf)
    node[0, :n] = theta.node[0]
    node[1:] = (theta.edge[0][None] + theta.node[1:, None, :]).reshape(5, n * n)
    edge = np.full((5, n, n, n, n), -np.inf)
    for j in range(n):
        edge[0, 0, j, j, :] = 0.0
        edge[1:, :, j, j, :] = theta.triple[0, :, j, :]
    pairs = ChainTables(node, edge.reshape(5, n * n, n * n), theta.offsets)
    np.testing.assert_allclose(Chain().log_partition(pairs), Chain().log_partition(theta), rtol=1e-12)
    np.testing.assert_array_equal(Chain().best(pairs).codes % n, Chain().best(theta).codes)
    np.testing.assert_allclose(Chain().entropy(pairs), Chain().entropy(theta), rtol=1e-9)
    by_pairs = Chain().marginals(pairs).node[1:].reshape(5, n, n)
    np.testing.assert_allclose(by_pairs, Chain().marginals(theta).edge, atol=1e-12)


def test_marginals_are_consistent(rng):
    theta = draw(rng, lengths=(9,), n_labels=4)
    found = Chain().marginals(theta)
    np.testing.assert_allclose(found.triple.sum(axis=3), found.edge[:-1], atol=1e-12)
    np.testing.assert_allclose(found.triple.sum(axis=1), found.edge[1:], atol=1e-12)
    np.testing.assert_allclose(found.edge.sum(axis=2), found.node[:-1], atol=1e-12)
    np.testing.assert_allclose(found.node.sum(axis=1), 1.0, atol=1e-12)
    counts = Chain().expectation(theta, weight=np.array([2.0])).counts
    np.testing.assert_allclose(counts.triple[0], 2.0 * found.triple.sum(axis=0), atol=1e-12)


def test_triples_may_be_forbidden_in_first_order_too(rng):
    theta = replace(draw(rng, lengths=(5, 2)), triple=None)
    never = np.ones((1, 3, 3, 3), bool)
    never[0, np.arange(3), np.arange(3), np.arange(3)] = False  # no label three times in a row
    within = Restriction(triple=never)
    for codes in Chain().sample(theta, 200, random_state=0, within=within)[:, :5]:
        assert not any(a == b == c for a, b, c in zip(codes, codes[1:], codes[2:]))
    found = Chain().expectation(theta, within=within)
    assert found.counts.triple is None and found.counts.edge.shape == theta.edge.shape
    total = [y for ranked in Chain().k_best(theta, 300, within=within)[:1] for y in ranked]
    np.testing.assert_allclose(found.log_z[0], np.logaddexp.reduce([value for _, value in total]), rtol=1e-12)


@pytest.mark.parametrize("forbidden", ["nothing", "pairs", "triples"])
@pytest.mark.parametrize("spread", [1.0, 40.0, 120.0])
def test_products_and_logarithms_agree(rng, spread, forbidden):
    """A cost far below all others in a row sends a sample to log space; forbidding it there does not."""
    theta = draw(rng, lengths=(12,))
    scale = spread / 12.0
    theta = ChainTables(scale * theta.node, scale * theta.edge, theta.offsets, scale * theta.triple)
    if forbidden == "pairs":
        theta.edge[0, 0, 1:] = theta.edge[0, 2, 0] = -np.inf
    elif forbidden == "triples":
        theta.triple[0, 1, 2] = theta.triple[0, 0, 0, 1] = -np.inf
    cost = ChainTables(np.zeros_like(theta.node), np.empty((0, 3, 3)), theta.offsets)
    cost.node[5, 1] = -1e5
    allowed = np.ones(theta.node.shape, bool)
    allowed[5, 1] = False
    by_logs = Chain().expectation(theta, cost=cost)
    either = Chain().expectation(theta, within=Restriction(node=allowed))
    np.testing.assert_allclose(by_logs.log_z, either.log_z, rtol=1e-12)
    for name in ("node", "edge", "triple"):
        np.testing.assert_allclose(getattr(by_logs.counts, name), getattr(either.counts, name), atol=1e-9)


SIGNATURES = """
from palmette.testing.kernel_modules import kernels_of_several_types
from palmette.structures import Chain
from palmette.testing import check_structure
from palmette.testing.chain2_reference import SecondOrderReference

check_structure(Chain(order=2), n_instances=1)
reference = SecondOrderReference(lengths=[1, 2, 4])
check_structure(Chain(order=2), reference, n_instances=2, answers=["best", "expectation", "entropy", "log_partition"])
bound = Chain(order=2, allowed="IOB2").bind(["B", "I", "O"])
check_structure(bound, n_instances=1, answers=["best", "expectation"])
print(*kernels_of_several_types("palmette.structures.chain"), sep="\\n", end="")
"""


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")
def test_each_kernel_is_compiled_once():
    result = subprocess.run([sys.executable, "-c", SIGNATURES], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert result.stdout == "", "these kernels met several types; bring their inputs to one type first"


# ---------------------------------------------------------------------------------------------------- learners


def every_third(rng, n=40):
    """Each label depends on the two before it: a b c a b c ... forwards or backwards, from unclear features."""
    X, Y = [], []
    for _ in range(n):
        start, step = int(rng.integers(3)), int(rng.choice([1, 2]))
        codes = [(start + step * t) % 3 for t in range(7)]
        known = rng.choice(7, 2, replace=False)
        X.append([[f"is:{'abc'[k]}" if t in known else "?"] for t, k in enumerate(codes)])
        Y.append(["abc"[k] for k in codes])
    return X, Y


@pytest.mark.parametrize(
    "learner",
    [
        CRF(Chain(order=2), l2=0.1),
        SSVM(Chain(order=2), C=10.0, tol=1e-2),
        Perceptron(Chain(order=2), max_iter=20),
    ],
)
def test_learners_use_triples(rng, learner):
    X, Y = every_third(rng)
    X_test, Y_test = every_third(np.random.default_rng(1))
    assert learner.fit(X, Y).score(X_test, Y_test) > 0.85
    assert learner.set_params(structure__order=1).fit(X, Y).score(X_test, Y_test) < 0.8
    assert set(learner.scorer_.blocks) == {"node", "bias", "edge"}


def test_which_triples_have_weights(rng):
    X, Y = every_third(rng)
    seen = CRF(Chain(order=2), encoding=Encoding(transitions="observed")).fit(X, Y)
    full = CRF(Chain(order=2), encoding=Encoding(transitions="all")).fit(X, Y)
    assert len(seen.scorer_.triples) == 6 and len(full.scorer_.triples) == 27
    assert len(CRF(Chain(order=2)).fit(X, Y).coef_) == len(full.coef_)
    assert np.isfinite(
        seen.log_proba(X[:1], [["a"] * 7])[0]
    )  # an unseen triple scores 0 and is not forbidden


def test_short_sequences_have_no_triples():
    X, Y = [[["u"], ["v"]], [["v"]]], [["a", "b"], ["b"]]
    two = CRF(Chain(order=2), encoding=Encoding(transitions="observed"), tol=1e-10).fit(X, Y)
    one = CRF(Chain(), encoding=Encoding(transitions="observed"), tol=1e-10).fit(X, Y)
    assert not len(two.scorer_.triples)
    np.testing.assert_allclose(two.coef_, one.coef_, atol=1e-6)


def test_bad_orders_are_refused():
    for order in (0, 3, "2"):
        with pytest.raises(ValueError, match=f"order must be 1 or 2, got {order!r}"):
            CRF(Chain(order=order)).fit([[["u"]]], [["a"]])
    assert Multiclass().get_params() == {}
    assert repr(Chain()) == "Chain()" and repr(Chain(order=2)) == "Chain(order=2)"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"triple": np.zeros((2, 3, 3, 3))},
            r"triple tables have shape \(2, 3, 3, 3\), expected \(1 or 8, 3, 3, 3\)",
        ),
        ({"triple": np.zeros((1, 3, 3, 2))}, "triple tables have shape"),
        (
            {"triple": np.zeros((1, 3, 3, 3), np.float32)},
            "triple tables must be C-contiguous arrays of float64",
        ),
    ],
)
def test_bad_tables_are_refused(rng, change, message):
    theta = draw(rng)
    with pytest.raises((TypeError, ValueError), match=message):
        Chain(order=2).best(replace(theta, **change))
    zero = ChainTables(np.zeros_like(theta.node), theta.edge, theta.offsets, np.zeros((4, 3, 3, 3)))
    with pytest.raises(ValueError, match=r"cost\.triple has shape"):
        Chain(order=2).best(theta, cost=zero)
    with pytest.raises(ValueError, match=r"within\.triple has shape"):
        Chain(order=2).best(theta, within=Restriction(triple=np.ones((1, 2, 2, 2), bool)))
    with pytest.raises(ValueError, match="into has tables of shapes"):
        Chain().count(theta, np.zeros(len(theta.node), int), into=replace(theta, triple=None))
