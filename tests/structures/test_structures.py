"""Every answer of every structure against brute force, and the checker against structures that lie."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from palmette.errors import InfeasibleError, MissingCapability
from palmette.structures import Best, Chain, ChainTables, Multiclass, Restriction
from palmette.testing import CHECKS, ChainReference, Instance, MulticlassReference, Reference, check_structure
from palmette.testing.chain_instances import ITEM_KINDS, KINDS
from palmette.testing.enumeration import arrays


@pytest.mark.parametrize("structure", [Chain(), Multiclass()], ids=["chain", "multiclass"])
def test_every_answer_agrees_with_enumeration(structure):
    report = check_structure(structure, required=CHECKS)
    n_kinds = len(KINDS if type(structure) is Chain else ITEM_KINDS)
    assert report.checked == dict.fromkeys(CHECKS, n_kinds)
    assert report.missing == ()
    assert f"{n_kinds} instances" in str(report)


class OneKind(ChainReference):
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
    lengths=st.lists(st.integers(1, 4), min_size=1, max_size=4),
)
@example(seed=0, kind=0, n_labels=2, lengths=[7])
@settings(max_examples=12)
def test_chains_of_any_shape_agree_with_enumeration(seed, kind, n_labels, lengths):
    check_structure(Chain(), OneKind(kind, n_labels, lengths), random_state=seed)


@given(seed=st.integers(0, 2**32 - 1), n_labels=st.integers(1, 7), n_samples=st.integers(1, 5))
@settings(max_examples=6)
def test_items_of_any_shape_agree_with_enumeration(seed, n_labels, n_samples):
    reference = MulticlassReference(n_labels, (1,) * n_samples)
    check_structure(Multiclass(), reference, n_instances=2, random_state=seed)


# ----------------------------------------------------------------------------- scaled products and logarithms


@pytest.mark.parametrize("spread", [0.0, 1.0, 100.0, 499.0])
@pytest.mark.parametrize("forbidden", [False, True])
def test_products_and_logarithms_agree_below_the_switch(rng, spread, forbidden):
    from palmette._kernels.spread import exponentiate_edges
    from palmette.structures.chain.kernels import sum as chain_sum

    n, n_labels = 6, 4
    unit = (
        spread / 3.0 if not forbidden else spread / (2.0 * n)
    )  # node spread + 2 edge spreads, or sums along n
    node, edge = rng.uniform(0.0, unit, (n, n_labels)), rng.uniform(0.0, unit, (n - 1, n_labels, n_labels))
    if forbidden:
        node[2, 1] = edge[0, 0, 1:] = edge[3, :, 2] = -np.inf
    factor, shift = np.empty_like(edge), np.empty(len(edge))
    widest, any_forbidden = exponentiate_edges(edge, factor, shift)
    assert any_forbidden == forbidden
    if not (forbidden and spread == 499.0):  # the number of labels counts there, too
        assert chain_sum.fits_products(node, 0, n, widest, any_forbidden)
    work, scale = np.empty((4, n, n_labels)), np.empty(n)
    by_products, by_logs = np.empty_like(node), np.empty_like(node)
    pair, pair_by_logs = np.zeros_like(edge), np.zeros_like(edge)
    log_z = chain_sum.marginals_by_products(
        node, factor, shift, 0, 1, 0, n, 2.0, work, scale, by_products, pair
    )
    assert log_z == pytest.approx(
        chain_sum.marginals_by_logs(node, edge, 0, 1, 0, n, 2.0, work, by_logs, pair_by_logs),
        rel=1e-13,
        abs=1e-12,
    )
    np.testing.assert_allclose(by_products, by_logs, rtol=1e-11, atol=1e-300)
    np.testing.assert_allclose(pair * factor, pair_by_logs, rtol=1e-11, atol=1e-300)


def test_products_are_refused_beyond_the_switch():
    from palmette.structures.chain.kernels.sum import fits_products

    node = np.array([[0.0, 200.0], [0.0, 100.0], [0.0, 0.0]])
    assert fits_products(node, 0, 3, 149.0, False)
    assert not fits_products(node, 0, 3, 151.0, False)
    assert not fits_products(node, 0, 3, 0.0, True)
    assert fits_products(node, 2, 3, 0.0, True)


def test_one_thin_path_survives_beside_a_great_many():
    n, n_labels = 300, 20
    theta = ChainTables(np.zeros((n, n_labels)), np.zeros((1, n_labels, n_labels)), np.array([0, n]))
    pairs = np.ones((1, n_labels, n_labels), bool)
    pairs[0, :-1, -1] = False  # the last label follows only itself
    labels = np.ones((n, n_labels), bool)
    labels[-1, :-1] = False  # and must end the sequence
    only = np.full(n, n_labels - 1)
    for within in (Restriction(labels, pairs), Restriction(labels[::-1], pairs.transpose(0, 2, 1))):
        assert Chain().log_partition(theta, within=within) == pytest.approx(0.0, abs=1e-9)
        np.testing.assert_allclose(
            Chain().marginals(theta, within=within).node, np.eye(n_labels)[only], atol=1e-9
        )
        assert Chain().entropy(theta, within=within) == pytest.approx(0.0, abs=1e-9)
        np.testing.assert_array_equal(Chain().sample(theta, within=within)[0], only)


# ------------------------------------------------------------------------ threads, compiling


def chains(rng, n_samples, n_labels):
    lengths = rng.integers(1, 12, n_samples)
    node = rng.normal(size=(lengths.sum(), n_labels))
    return ChainTables(node, rng.normal(size=(1, n_labels, n_labels)), np.cumsum([0, *lengths]))


def test_threads_get_the_same_answers(rng):
    theta = chains(rng, 60, 4)
    codes = rng.integers(0, 4, len(theta.node)).astype(np.int32)
    within = Restriction(contradicts=codes)
    about = {
        "k_best": (5,),
        "best_contradicting": (codes,),
        "score": (codes,),
        "log_proba": (codes,),
        "count": (codes,),
    }

    def answers(_):
        structure, found = Chain(), []
        for name in CHECKS:
            keywords = {"random_state": 7} if name == "sample" else {}
            found.append(getattr(structure, name)(theta, *about.get(name, ()), **keywords))
            if name not in ("count", "best_contradicting"):
                found.append(getattr(structure, name)(theta, *about.get(name, ()), within=within, **keywords))
        return [array.tobytes() for array in arrays(found)]

    alone = answers(None)
    with ThreadPoolExecutor(3) as pool:
        assert all(found == alone for found in pool.map(answers, range(6)))


SIGNATURES = """
from palmette.structures import Chain, Multiclass
from palmette.testing import ChainReference, check_structure
from palmette.testing.kernel_modules import kernels_of_several_types

check_structure(Chain(), n_instances=2)
for lengths in ([1, 1], [1, 2, 1], [1]):
    check_structure(Chain(), ChainReference(lengths=lengths), n_instances=1)
check_structure(Multiclass(), n_instances=2)
print(*kernels_of_several_types(), sep="\\n", end="")
"""


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")
def test_each_kernel_is_compiled_once():
    result = subprocess.run([sys.executable, "-c", SIGNATURES], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert result.stdout == "", "these kernels met several types; bring their inputs to one type first"


# ------------------------------------------------------------------------------------------------- bad input

TWO = ChainTables(np.zeros((3, 2)), np.zeros((1, 2, 2)), np.array([0, 2, 3]))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda c: c.best(ChainTables(TWO.node, TWO.edge, np.array([0, 3, 3]))), "sample 1 has no positions"),
        (
            lambda c: c.best(ChainTables(TWO.node, TWO.edge[:0], TWO.offsets)),
            r"edge tables have shape \(0, 2, 2\)",
        ),
        (lambda c: c.k_best(TWO, 0), "k must be at least 1, got 0"),
        (lambda c: c.score(TWO, [0, 1]), r"codes have shape \(2,\), expected one per row, \(3,\)"),
        (lambda c: c.score(TWO, [0, -1, 0]), r"codes\[1\] = -1 is not a label; expected 0..1"),
        (lambda c: c.count(TWO, [0, 1, 2]), r"codes\[2\] = 2 is not a label; expected 0..1"),
        (
            lambda c: c.count(TWO, [0, 1, 1], weight=[1.0]),
            r"weight has shape \(1,\), expected one per sample, \(2,\)",
        ),
        (lambda c: c.expectation(TWO, weight=np.ones(3)), r"weight has shape \(3,\)"),
        (
            lambda c: c.best(TWO, within=Restriction(node=np.ones((2, 2), bool))),
            r"within.node has shape \(2, 2\)",
        ),
        (lambda c: c.best(TWO, within=Restriction(edge=np.ones((2, 2, 2), bool))), r"within.edge has shape"),
        (
            lambda c: c.best(TWO, within=Restriction(contradicts=np.zeros(2, int))),
            r"within.contradicts has shape",
        ),
        (
            lambda c: c.best_contradicting(TWO, [0, 0, 0], within=Restriction(contradicts=np.zeros(3, int))),
            "second annotation to contradict",
        ),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call(Chain())


# ------------------------------------------------------------------------------------- a structure of a user


@dataclass(frozen=True)
class Items:
    """Scores of four items a sample."""

    score: np.ndarray

    def __len__(self):
        return len(self.score)

    def dot(self, other):
        return float(np.sum(self.score * other.score))


class TwoOfFour:
    """Choose two of four items; an output is packed as a row of two item numbers."""

    layout = "items"

    def best(self, theta, *, cost=None, within=None):
        pairs = [
            max(combinations(range(4), 2), key=lambda pair: row[list(pair)].sum()) for row in theta.score
        ]
        codes = np.array(pairs, int).reshape(-1, 2)
        return Best(codes, self.score(theta, codes))

    def score(self, theta, codes, *, cost=None, within=None):
        return np.take_along_axis(theta.score, codes, axis=1).sum(axis=1)

    def count(self, theta, codes, *, weight=None, into=None):
        into = Items(np.zeros_like(theta.score)) if into is None else into
        weight = np.ones(len(theta)) if weight is None else weight
        np.add.at(into.score, (np.arange(len(theta))[:, None], codes), weight[:, None])
        return into


class TwoOfFourReference(Reference):
    def instances(self, rng):
        yield Instance("ties", Items(rng.integers(0, 3, (6, 4)).astype(float)), exact=True)
        yield Instance("normal", Items(rng.normal(size=(4, 4))))

    def outputs(self, theta, s):
        return [(i, j) for i in range(4) for j in range(i + 1, 4)]

    def score(self, theta, s, y):
        return float(theta.score[s, y[0]] + theta.score[s, y[1]])

    def counts(self, theta, weights):
        out = np.zeros(theta.score.shape)
        for s, weighted in enumerate(weights):
            for y, weight in weighted.items():
                for i in y:
                    out[s, i] += weight
        return Items(out)

    def pack(self, theta, outputs):
        return np.array(outputs, int).reshape(-1, 2)

    def unpack(self, theta, codes):
        return [tuple(row) for row in codes.tolist()]

    def select(self, theta, samples):
        return Items(theta.score[list(samples)])


def test_a_minimal_structure_of_a_user():
    report = check_structure(TwoOfFour(), TwoOfFourReference(), n_instances=6)
    assert report.checked == {"best": 6, "score": 6, "count": 6}
    assert "worst" in report.missing and "- not there" in str(report)


def test_what_is_not_there_is_named():
    with pytest.raises(
        MissingCapability, match=r"TwoOfFour has no log_partition\(\), k_best\(\), which is required"
    ):
        check_structure(TwoOfFour(), TwoOfFourReference(), required=("log_partition", "best", "k_best"))
    with pytest.raises(
        MissingCapability,
        match=r"no reference is known for TwoOfFour \(known: Alignment, Chain, Folding, Graph, Hierarchy, Multiclass, "
        r"Ranking, SemiMarkov, Tracking\)",
    ):
        check_structure(TwoOfFour())
    with pytest.raises(ValueError, match=r"answers names 'bets'; known answers: best, worst"):
        check_structure(Chain(), answers=["bets"])

    class WithMarginals(TwoOfFour):
        def marginals(self, theta, *, cost=None, within=None):
            return theta

    with pytest.raises(
        MissingCapability, match=r"TwoOfFourReference cannot check marginals.*implement read_parts"
    ):
        check_structure(WithMarginals(), TwoOfFourReference())


# ------------------------------------------------------------------------ structures that lie


class LastOfTies(Chain):
    def best(self, theta, **keywords):
        mirrored = ChainTables(theta.node[:, ::-1].copy(), theta.edge[:, ::-1, ::-1].copy(), theta.offsets)
        found = super().best(mirrored)
        return Best(theta.n_labels - 1 - found.codes, found.values)


class ForgetsCost(Chain):
    def log_partition(self, theta, *, cost=None, within=None):
        return super().log_partition(theta, within=within)


class ForgetsToSaySo(Chain):
    def best(self, theta, *, cost=None, within=None):
        try:
            return super().best(theta, cost=cost, within=within)
        except InfeasibleError:
            return super().best(theta, cost=cost)


class NamesNoSample(Chain):
    def worst(self, theta, **keywords):
        try:
            return super().worst(theta, **keywords)
        except InfeasibleError:
            raise InfeasibleError("nothing is allowed somewhere") from None


class WritesOnInputs(Chain):
    def score(self, theta, codes, **keywords):
        found = super().score(theta, codes, **keywords)
        theta.node[...] += 1.0
        return found


class DependsOnTheBatch(Chain):
    def entropy(self, theta, **keywords):
        return super().entropy(theta, **keywords) * (1.0 + len(theta) * 1e-13)


class RepeatsItself(Chain):
    def k_best(self, theta, k, **keywords):
        return [[*found[:1], *found][:k] for found in super().k_best(theta, k, **keywords)]


class IgnoresTheSeed(Chain):
    def sample(self, theta, n_draws=1, *, random_state=None, **keywords):
        return super().sample(theta, n_draws, random_state=0, **keywords)


class DrawsUniformly(Chain):
    def sample(self, theta, n_draws=1, **keywords):
        return super().sample(ChainReference().zeros(theta), n_draws, **keywords)


class CountsOneTooMany(Chain):
    def count(self, theta, codes, **keywords):
        found = super().count(theta, codes, **keywords)
        found.edge[...] += 1.0
        return found


class Crashes(Chain):
    def marginals(self, theta, **keywords):
        return theta.no_such_thing


@pytest.mark.parametrize(
    ("liar", "message"),
    [
        (LastOfTies, r"^best: instance 'ties', sample 0: expected \(\(.*\), .*\), found \(\("),
        (ForgetsCost, r"^log_partition: instance 'ties', cost .*, sample \d: expected"),
        (ForgetsToSaySo, r"^best: .*, within nothing allowed, sample \d: expected InfeasibleError"),
        (NamesNoSample, r"^worst: .* expected an error naming a sample of \[\d\], found Infeasible"),
        (WritesOnInputs, r"^score: instance 'ties': expected inputs left as they are"),
        (DependsOnTheBatch, r"^entropy: instance 'ties', sample 0: expected .* \(asked alone\), found"),
        (RepeatsItself, r"^k_best: instance 'ties', sample 0: expected distinct outputs"),
        (IgnoresTheSeed, r"^sample: instance 'ties': expected other draws for another seed"),
        (DrawsUniformly, r"^sample: instance 'ties', sample \d: expected about"),
        (CountsOneTooMany, r"^count: instance 'ties': expected counts"),
        (Crashes, r"^marginals: instance 'ties': raised AttributeError"),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "",
)
def test_lies_are_found(liar, message):
    answer = message.split(":")[0].lstrip("^")
    with pytest.raises(AssertionError, match=message):
        check_structure(liar(), n_instances=1, answers=[answer])
