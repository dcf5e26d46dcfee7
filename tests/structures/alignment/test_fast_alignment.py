"""The fast kernels of alignment against the plain ones on longer pairs, and against other aligners."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palmette import Alignment
from palmette.errors import InfeasibleError
from palmette.structures import AlignmentRestriction, AlignmentTables, MatchCost
from palmette.structures.alignment.kernels.fast_short import fits_short
from palmette.structures.alignment.question import ask

LETTERS = "ARNDCQEGHILKMFPSTWYV"


def plain(**options):
    """A structure that uses the plain kernels."""
    structure = Alignment(**options)
    structure.fast = False
    return structure


def drawn(rng, *lengths, symbols=5, whole=False):
    """Random potentials; in integers without anything at positions if ``whole``."""
    pairs = [(rng.integers(0, symbols, n), rng.integers(0, symbols, m)) for n, m in lengths]
    if whole:
        table = rng.integers(-4, 9, (symbols, symbols))
        ends = {} if rng.random() < 0.5 else {"end_open": 0.0, "end_extend": -1.0}
        return AlignmentTables.of(pairs, table, open=-int(rng.integers(1, 12)), extend=-1.0, **ends)
    theta = AlignmentTables.of(pairs, rng.normal(scale=2.0, size=(symbols, symbols)))
    return replace(
        theta,
        unit=rng.normal(scale=0.3, size=theta.unit.shape),
        open=-3.0 * rng.random(theta.open.shape),
        extend=-rng.random(theta.open.shape),
        change=rng.normal(size=1) if rng.random() < 0.5 else np.zeros(1),
    )


def asked(rng, theta, kind):
    """Potentials, a cost and a restriction."""
    rooms, n = int(theta.starts[-1]), len(theta.letters)
    if kind == "cells":
        return replace(theta, cells=rng.normal(size=rooms)), None, None
    if kind == "cost":
        each = np.diff(theta.starts)
        entry = np.concatenate([rng.choice(k, min(9, k), replace=False) for k in each])
        ends = np.concatenate([[0], np.cumsum(np.minimum(each, 9))])
        return theta, MatchCost.none(
            theta.offsets, uniform=rng.normal(size=len(theta)), entry_ptr=ends, entry=entry, gap=rng.normal(size=(1,
            n)), value=rng.normal(scale=3.0, size=len(entry)), constant=rng.normal(size=len(theta)),
        ), None  # fmt: skip
    if kind == "allowed":
        return theta, None, AlignmentRestriction(matches=rng.random(rooms) < 0.7)
    if kind == "known":
        codes = plain().best(theta).codes
        known = np.where(rng.random(n) < 0.15, codes, -1).astype(np.int32)
        return (
            theta,
            MatchCost.none(theta.offsets, dense=rng.normal(size=rooms)),
            AlignmentRestriction(codes=known),
        )
    return theta, None, None


@pytest.mark.parametrize("kind", ["plain", "cells", "cost", "allowed", "known"])
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=5, deadline=None)
def test_fast_and_plain_kernels_agree(kind, seed):
    rng = np.random.default_rng(seed)
    theta = drawn(rng, *rng.integers(1, 80, (3, 2)).tolist())
    theta, cost, within = asked(rng, theta, kind)
    expected = plain().best(theta, cost=cost, within=within)
    found = Alignment().best(theta, cost=cost, within=within)
    np.testing.assert_array_equal(found.codes, expected.codes)
    np.testing.assert_allclose(found.values, expected.values, rtol=1e-11, atol=1e-10)
    single = Alignment(precision="single").best(theta, cost=cost, within=within)
    np.testing.assert_allclose(single.values, expected.values, rtol=1e-5, atol=1e-3)
    weight = np.array([1.0, 0.5, 2.0])
    log_z, counts = plain().expectation(theta, cost=cost, within=within, weight=weight)
    parts = plain().marginals(theta, cost=cost, within=within)
    for precision, near in (("double", 1e-9), ("single", 2e-4)):
        own = Alignment(precision=precision)
        got = own.expectation(theta, cost=cost, within=within, weight=weight)
        np.testing.assert_allclose(got.log_z, log_z, rtol=near, atol=near)
        np.testing.assert_allclose(
            own.log_partition(theta, cost=cost, within=within), log_z, rtol=near, atol=near
        )
        for name in ("substitution", "unit", "open", "extend", "change"):
            np.testing.assert_allclose(getattr(got.counts, name), getattr(counts, name), rtol=near, atol=near)
        found = own.marginals(theta, cost=cost, within=within)
        np.testing.assert_allclose(found.matches, parts.matches, atol=near)
        np.testing.assert_allclose(found.gaps, parts.gaps, atol=near)


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None)
def test_integers_are_exact(seed):
    """In 16 bits, ends apart or not; ties go to the lowest codes as the plain kernels have it."""
    rng = np.random.default_rng(seed)
    theta = drawn(
        rng, *rng.integers(1, 140, (4, 2)).tolist(), symbols=int(rng.choice([2, 20, 40])), whole=True
    )
    assert short(theta)
    expected, found = plain().best(theta), Alignment().best(theta)
    np.testing.assert_array_equal(found.values, expected.values)
    np.testing.assert_array_equal(found.codes, expected.codes)


def short(theta):
    """Whether 16 bits do."""
    q = ask(theta, None, None)
    gaps = q.unit[0], q.open[0], q.extend[0]
    return fits_short(
        q.substitution, q.offsets, q.splits, *gaps, q.change, q.uniform, q.entry, q.dense, q.mask, q.codes
    )


def test_sixteen_bits_are_left_before_they_overflow():
    pair = (np.zeros(300, int), np.zeros(300, int))
    for score, fits in ((100.0, True), (110.0, False), (1.5, False), (9000.0, False)):
        theta = AlignmentTables.of([pair], np.full((1, 1), score))
        assert short(theta) == fits
        assert Alignment().best(theta).values[0] == 300 * score
    for gap, fits in ((-11.0, True), (-60.0, False)):
        theta = AlignmentTables.of([pair], np.full((1, 1), -2.0 + gap), open=gap, extend=gap)
        assert short(theta) == fits
        assert Alignment().best(theta).values[0] == 300 * (gap - 2.0)
    theta = AlignmentTables.of([pair], np.ones((1, 1)), open=2.0)  # a gap that pays
    assert not short(theta)
    np.testing.assert_array_equal(Alignment().best(theta).codes, plain().best(theta).codes)


@pytest.mark.parametrize("precision", ["double", "single"])
def test_sums_that_leave_the_range_are_summed_otherwise(rng, precision):
    """Unequal lengths and steep scores: probabilities span more than the numbers of the fast kernels do."""
    own = Alignment(precision=precision)
    for scale, lengths in ((8.0, (60, 60)), (8.0, (5, 300)), (100.0, (40, 50)), (1000.0, (20, 20))):
        theta = drawn(rng, lengths, (7, 9))
        theta = replace(theta, substitution=scale * theta.substitution, open=scale * theta.open)
        expected, found = plain().expectation(theta), own.expectation(theta)
        np.testing.assert_allclose(found.log_z, expected.log_z, rtol=1e-5)
        np.testing.assert_allclose(found.counts.substitution, expected.counts.substitution, atol=2e-3)
        np.testing.assert_allclose(found.counts.open, expected.counts.open, atol=2e-3)


def test_known_matches_that_cross_leave_nothing(rng):
    theta = drawn(rng, (30, 40))
    codes = np.full(70, -1, np.int32)
    codes[[3, 9]] = 20, 12
    for structure in (plain(), Alignment()):
        for answer in (structure.best, structure.log_partition):
            with pytest.raises(InfeasibleError, match="sample 0"):
                answer(theta, within=AlignmentRestriction(codes=codes))
    codes = np.full(70, -1, np.int32)
    codes[3], codes[30 + 19] = 20, 0  # position 19 is matched, and against a gap
    for structure in (plain(), Alignment()):
        with pytest.raises(InfeasibleError, match="sample 0"):
            structure.best(theta, within=AlignmentRestriction(codes=codes))


def related(rng, n):
    """A protein and a relative of it."""
    a = rng.integers(0, 20, n)
    b = np.where(rng.random(n) < 0.5, rng.integers(0, 20, n), a)
    b = b[rng.random(n) < 0.95]
    return a, b if len(b) else a


def test_scores_are_those_of_other_aligners(rng):
    """1,000 random pairs, BLOSUM62; parasail and Biopython allow gaps in any order, which never pays here."""
    align = pytest.importorskip("Bio.Align")
    parasail = pytest.importorskip("parasail")
    blosum = align.substitution_matrices.load("BLOSUM62")
    table = np.array([[blosum[x][y] for y in LETTERS] for x in LETTERS])
    pairs = [related(rng, int(n)) for n in rng.integers(1, 120, 1000)]
    for opening, extending in ((-11.0, -1.0), (-5.0, -2.0), (-3.0, -3.0)):
        theta = AlignmentTables.of(pairs, table, open=opening, extend=extending)
        values = Alignment().best(theta).values
        other = align.PairwiseAligner(
            substitution_matrix=blosum, open_gap_score=opening, extend_gap_score=extending
        )
        for (a, b), value in zip(pairs, values):
            x, y = ("".join(LETTERS[k] for k in each) for each in (a, b))
            assert parasail.nw_scan_16(x, y, int(-opening), int(-extending), parasail.blosum62).score == value
            assert other.score(x, y) == value
