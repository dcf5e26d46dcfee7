"""Segmentations: every answer against enumeration, and identities with chains."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palmette import Chain, SemiMarkov
from palmette.structures import ChainTables, SegmentRestriction, SegmentTables
from palmette.structures.segments.tables import code_costs
from palmette.testing import CHECKS, SegmentReference, check_structure
from palmette.testing.enumeration import arrays
from palmette.testing.segment_instances import KINDS

ABOUT = {"k_best": (4,), "best_contradicting": (), "score": (), "log_proba": (), "count": ()}


def draw(rng, longest, lengths, scale=1.0, shared=True):
    n_rows, n_labels = sum(lengths), len(longest)
    return SegmentTables(
        scale * rng.normal(size=(n_rows, n_labels)),
        scale * rng.normal(size=(1 if shared else n_rows - len(lengths), n_labels, n_labels)),
        np.cumsum([0, *lengths]),
        segment=scale * rng.normal(size=(n_rows, max(longest), n_labels)),
        longest=np.array(longest, np.int64),
    )


def test_every_answer_agrees_with_enumeration():
    report = check_structure(SemiMarkov(3), required=CHECKS)
    assert report.checked == dict.fromkeys(CHECKS, len(KINDS))
    assert report.missing == ()


class OneKind(SegmentReference):
    """Instances of one kind, named by its number, in a given shape."""

    def __init__(self, kind, longest, lengths):
        super().__init__(longest, lengths)
        self.kind = kind

    def instances(self, rng):
        return [list(super().instances(rng))[self.kind]]


@given(
    seed=st.integers(0, 2**32 - 1),
    kind=st.integers(0, len(KINDS) - 1),
    longest=st.lists(st.integers(1, 4), min_size=1, max_size=3),
    lengths=st.lists(st.integers(1, 3), min_size=1, max_size=3),
)
@settings(max_examples=5)
def test_segmentations_of_any_shape_agree_with_enumeration(seed, kind, longest, lengths):
    check_structure(SemiMarkov(3), OneKind(kind, longest, lengths), random_state=seed)


@pytest.mark.nojit
@pytest.mark.parametrize("lengths", [(1,), (2, 1), (1, 3, 2)], ids=str)
def test_small_cases(lengths):
    check_structure(SemiMarkov(2), SegmentReference((2, 1), lengths), n_instances=1, random_state=1)


# ------------------------------------------------------------------------------------------------ identities


@pytest.mark.parametrize("shared", [True, False])
def test_segments_of_one_position_are_a_chain(rng, shared):
    theta = draw(rng, (1, 1, 1), (4, 1, 7, 2), shared=shared)
    plain = ChainTables(theta.node + theta.segment[:, 0], theta.edge, theta.offsets)
    codes = rng.integers(0, 3, len(theta.node)).astype(np.int32)
    given = {name: (codes,) for name in ("best_contradicting", "score", "log_proba", "count")} | {
        "k_best": (4,)
    }
    for name in CHECKS:
        if name == "sample":  # other random numbers
            continue
        ours = getattr(SemiMarkov(1), name)(theta, *given.get(name, ()))
        theirs = getattr(Chain(), name)(plain, *given.get(name, ()))
        if isinstance(theirs, list):
            ours = [codes for ranked in ours for codes, _ in ranked]
            theirs = [codes for ranked in theirs for codes, _ in ranked]
        for a, b in zip(_chain_arrays(ours), _chain_arrays(theirs), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12, err_msg=name)
    np.testing.assert_allclose(SemiMarkov(1).marginals(theta).segment[:, 0], Chain().marginals(plain).node)


def _chain_arrays(answer):
    """The arrays that both structures have."""
    if isinstance(answer, ChainTables):
        return [answer.node, answer.edge]
    if isinstance(answer, tuple):
        return [array for part in answer for array in _chain_arrays(part)]
    return list(arrays(answer))


@pytest.mark.parametrize("shared", [True, False])
def test_segmentations_are_chains_of_labels_and_places(rng, shared):
    """A state says how far a segment has come and how long it is to be; that is a plain, if large, chain."""
    longest, lengths = (3, 1, 4), (17, 1, 6)
    theta = draw(rng, longest, lengths, shared=shared)
    states = [(k, d, at) for k, most in enumerate(longest) for d in range(most) for at in range(d + 1)]
    rows, n = len(theta.node), len(states)
    node, per_edge = np.empty((rows, n)), theta.per_edge().edge
    edge = np.full((theta.n_edges, n, n), -np.inf)
    for s, (k, d, at) in enumerate(states):
        node[:, s] = theta.node[:, k] + (theta.segment[:, d, k] if at == 0 else 0.0)
        for s2, (k2, d2, at2) in enumerate(states):
            if at == d and at2 == 0:
                edge[:, s, s2] = per_edge[:, k, k2]
            elif (k, d, at + 1) == (k2, d2, at2):
                edge[:, s, s2] = 0.0
    starts, ends = theta.offsets[:-1], theta.offsets[1:] - 1
    node[np.ix_(starts, [s for s, state in enumerate(states) if state[2] > 0])] = -np.inf
    node[np.ix_(ends, [s for s, state in enumerate(states) if state[2] < state[1]])] = -np.inf
    large = ChainTables(node, edge, theta.offsets)

    best, large_best = SemiMarkov(4).best(theta), Chain().best(large)
    np.testing.assert_allclose(best.values, large_best.values)
    found = [states[s] for s in large_best.codes]
    np.testing.assert_array_equal(best.codes, [k + (3 if at else 0) for k, _, at in found])
    np.testing.assert_allclose(SemiMarkov(4).log_partition(theta), Chain().log_partition(large))
    np.testing.assert_allclose(SemiMarkov(4).entropy(theta), Chain().entropy(large))
    marginals, of_states = SemiMarkov(4).marginals(theta), Chain().marginals(large).node
    for s, (k, d, at) in enumerate(states):
        if at == 0:
            np.testing.assert_allclose(marginals.segment[:, d, k], of_states[:, s], atol=1e-12)
    for k in range(3):
        own = [s for s, state in enumerate(states) if state[0] == k]
        np.testing.assert_allclose(marginals.node[:, k], of_states[:, own].sum(axis=1), atol=1e-12)


def test_expected_counts_are_the_gradient_of_the_log_partition(rng):
    theta, step = draw(rng, (2, 3), (5, 2)), 1e-5
    counts = SemiMarkov(3).expectation(theta).counts
    for name in ("node", "edge", "segment"):
        direction = rng.normal(size=getattr(theta, name).shape)
        up, down = (
            replace(theta, **{name: getattr(theta, name) + sign * step * direction}) for sign in (1, -1)
        )
        rise = SemiMarkov(3).log_partition(up).sum() - SemiMarkov(3).log_partition(down).sum()
        assert rise / (2 * step) == pytest.approx(
            np.sum(getattr(counts, name) * direction), rel=1e-7, abs=1e-8
        )


def test_long_and_thin_samples_keep_their_digits(rng):
    theta = draw(rng, (5, 1, 3), (3000,), scale=8.0)
    marginals = SemiMarkov(5).marginals(theta)
    np.testing.assert_allclose(marginals.node.sum(axis=1), 1.0, atol=1e-9)
    np.testing.assert_allclose(marginals.segment.sum(axis=(1, 2))[0], 1.0, atol=1e-12)
    forbidden = replace(theta, edge=np.where(np.eye(3), -np.inf, theta.edge))  # takes logarithms throughout
    np.testing.assert_allclose(SemiMarkov(5).marginals(forbidden).node.sum(axis=1), 1.0, atol=1e-9)


# ------------------------------------------------------------------------------------------- costs of positions


def test_a_cost_of_codes_counts_wrong_positions(rng):
    theta = draw(rng, (2, 3), (6, 3))
    true, other = (SemiMarkov(3).sample(theta, 2, random_state=seed) for seed in (0, 1))
    for costs in (1.0 - np.eye(2), np.array([[0.0, 2.0], [0.5, 0.0]])):
        table = code_costs(costs)
        cost = theta.position_cost(table[true[0]])
        for codes in (*true, *other):
            paid = SemiMarkov(3).score(theta, codes, cost=cost) - SemiMarkov(3).score(theta, codes)
            np.testing.assert_allclose(paid, np.add.reduceat(table[true[0], codes], theta.offsets[:-1]))


def test_a_table_of_labels_is_extended_to_boundaries(rng):
    theta = draw(rng, (2, 3), (6, 3))
    costs = rng.random((2, 2)) * (1 - np.eye(2))
    by_labels, by_codes = (SemiMarkov(3).min_risk(theta, risk) for risk in (costs, code_costs(costs)))
    np.testing.assert_array_equal(by_labels.codes, by_codes.codes)
    assert code_costs(np.zeros((1, 1))).tolist() == [[0.0, 1.0], [1.0, 0.0]]


# --------------------------------------------------------------------------------------------- threads, compiling


def test_threads_get_the_same_answers(rng):
    theta = draw(rng, (2, 1, 3), rng.integers(1, 12, 40).tolist())
    codes = SemiMarkov(3).sample(theta, random_state=0)[0]
    about = {name: given or (codes,) for name, given in ABOUT.items()}

    def answers(_):
        structure, found = SemiMarkov(3), []
        for name in CHECKS:
            keywords = {"random_state": 7} if name == "sample" else {}
            found.append(getattr(structure, name)(theta, *about.get(name, ()), **keywords))
        return [array.tobytes() for array in arrays(found)]

    alone = answers(None)
    with ThreadPoolExecutor(3) as pool:
        assert all(found == alone for found in pool.map(answers, range(4)))


SIGNATURES = """
from palmette.testing.kernel_modules import kernels_of_several_types
from palmette import CRF, SSVM, Perceptron, SemiMarkov
from palmette.testing import SegmentReference, check_structure

for lengths in ([1, 1], [1, 2, 1], [1]):
    check_structure(SemiMarkov(2), SegmentReference((2, 1), lengths), n_instances=2)
X, Y = [[["a"], ["b"], ["c"]], [["a"]]], [[(0, 2, "x")], []]
for learner in (CRF, SSVM, Perceptron):
    learner(SemiMarkov(2, lambda x, start, stop: {"n": stop - start}), max_iter=1).fit(X, Y).predict(X)
print(*kernels_of_several_types("palmette.structures.segments"), sep="\\n", end="")
"""


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")
def test_each_kernel_is_compiled_once():
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SIGNATURES], capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout == "", "these kernels met several types; bring their inputs to one type first"


# ------------------------------------------------------------------------------------------------- bad input

TWO = SegmentTables(
    np.zeros((3, 2)),
    np.zeros((1, 2, 2)),
    np.array([0, 2, 3]),
    segment=np.zeros((3, 2, 2)),
    longest=np.array([2, 1]),
)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: s.best(replace(TWO, offsets=np.array([0, 3, 3]))), "sample 1 has no positions"),
        (
            lambda s: s.best(replace(TWO, segment=TWO.segment[:2].copy())),
            r"segment tables have shape \(2, 2, 2\)",
        ),
        (
            lambda s: s.best(replace(TWO, segment=TWO.segment[:, :0].copy())),
            r"segment tables have shape \(3, 0, 2\)",
        ),
        (lambda s: s.best(replace(TWO, longest=np.array([3, 1]))), r"longest must be in 1..2"),
        (lambda s: s.best(replace(TWO, longest=np.array([1]))), r"longest must be int64 of shape \(2,\)"),
        (lambda s: s.best(replace(TWO, triple=np.zeros((1, 2, 2, 2)))), "not for triples|triple"),
        (lambda s: s.k_best(TWO, 0), "k must be at least 1, got 0"),
        (lambda s: s.sample(TWO, -1), "n_draws must be at least 0, got -1"),
        (lambda s: s.score(TWO, [0, 1]), r"codes have shape \(2,\), expected one per row, \(3,\)"),
        (lambda s: s.score(TWO, [0, -1, 0]), r"codes\[1\] = -1, after 0 is not part of a segmentation"),
        (lambda s: s.count(TWO, [0, 4, 0]), r"codes\[1\] = 4"),
        (lambda s: s.count(TWO, [2, 0, 0]), r"codes\[0\] = 2 is not part"),  # nothing to go on with
        (lambda s: s.count(TWO, [0, 3, 0]), r"codes\[1\] = 3, after 0"),  # another label goes on
        (lambda s: s.count(TWO, [0, 2, 2]), r"codes\[2\] = 2, after 2"),  # goes on beyond its sample
        (lambda s: s.score(TWO, [1, 3, 0]), r"at most \[2, 1\] rows"),  # longer than its label allows
        (
            lambda s: s.count(TWO, [0, 2, 1], weight=[1.0]),
            r"weight has shape \(1,\), expected one per sample",
        ),
        (
            lambda s: s.count(TWO, [0, 2, 1], into=replace(TWO, node=np.zeros((1, 2)))),
            "into has tables of shapes",
        ),
        (lambda s: s.min_risk(TWO, np.zeros((3, 3))), r"risk has shape \(3, 3\)"),
        (
            lambda s: s.best(TWO, within=SegmentRestriction(segment=np.ones((3, 1, 2), bool))),
            r"within.segment has shape \(3, 1, 2\), expected \(3, 2, 2\)",
        ),
        (lambda s: s.best(TWO, cost=replace(TWO, segment=np.zeros((3, 3, 2)))), "cost.segment has shape"),
        (
            lambda s: s.best_contradicting(
                TWO, [0, 0, 0], within=SegmentRestriction(contradicts=np.zeros(3, int))
            ),
            "second annotation to contradict",
        ),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call(SemiMarkov(2))


def test_potentials_of_a_chain_are_refused():
    with pytest.raises(TypeError, match="SegmentTables, got ChainTables"):
        SemiMarkov(2).best(ChainTables(TWO.node, TWO.edge, TWO.offsets))
