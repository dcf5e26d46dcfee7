"""The fast kernels of folding against the plain ones on longer sequences, and the beam search against the exact one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palmette import Folding
from palmette.errors import InfeasibleError
from palmette.structures import FoldingRestriction, FoldingTables, PairCost
from palmette.structures.folding.layout import MULTI_BASE, MULTI_PAIRED, TABLE_SIZE
from palmette.structures.folding.room import room


def plain(**options):
    """A structure that uses the plain kernels at any length."""
    structure = Folding(**options)
    structure.fast_from = 10**9
    return structure


def scored(rng, *lengths, scale=0.5, letters=4):
    """Random scores that favour structures with multiloops."""
    tables = rng.normal(scale=scale, size=TABLE_SIZE)
    tables[MULTI_BASE] += 2.0
    tables[MULTI_PAIRED] += 1.0
    drawn = rng.integers(0, letters, sum(lengths)).astype(np.int8)
    return FoldingTables(tables, drawn, np.cumsum([0, *lengths]), np.zeros(sum(lengths)))


def asked(rng, theta, kind):
    """A cost and a restriction."""
    n = len(theta.letters)
    codes = Folding().best(theta).codes
    if kind == "plain":
        return None, None
    if kind == "cost":
        cost = PairCost.none(
            theta.offsets, unpaired=rng.normal(size=n), dense=rng.normal(size=theta.squares[-1])
        )
        return cost, None
    if kind == "known":  # some pairs, and some positions that stay unpaired
        return None, FoldingRestriction(partner=np.where(rng.random(n) < 0.3, codes, -1).astype(np.int32))
    cost = PairCost.none(theta.offsets, unpaired=rng.normal(size=n))
    paired = (codes > 0) & (rng.random(n) < 0.5)
    return cost, FoldingRestriction(unpaired=~paired)


KINDS = ("plain", "cost", "known", "must pair")


@pytest.mark.parametrize("kind", KINDS)
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=4, deadline=None)
def test_fast_and_plain_kernels_agree(kind, seed):
    rng = np.random.default_rng(seed)
    options = {"min_hairpin": int(rng.integers(0, 4)), "max_interior": int(rng.choice([0, 1, 2, 11, 30]))}
    theta = scored(rng, *rng.integers(24, 90, 2).tolist(), letters=5)
    own, reference = Folding(**options), plain(**options)
    cost, within = asked(rng, theta, kind)
    try:
        expected = reference.best(theta, cost=cost, within=within)
    except InfeasibleError:  # what was known does not fit these rules
        with pytest.raises(InfeasibleError):
            own.best(theta, cost=cost, within=within)
        with pytest.raises(InfeasibleError):
            own.expectation(theta, cost=cost, within=within)
        return
    found = own.best(theta, cost=cost, within=within)
    np.testing.assert_allclose(found.values, expected.values, rtol=1e-10)
    np.testing.assert_allclose(
        own.score(theta, found.codes, cost=cost, within=within), found.values, rtol=1e-10
    )
    sums = reference.expectation(theta, cost=cost, within=within, weight=[1.0, 0.5])
    for precision, near in (("double", 1e-9), ("single", 2e-4)):
        structure = Folding(**options, precision=precision)
        got = structure.expectation(theta, cost=cost, within=within, weight=[1.0, 0.5])
        np.testing.assert_allclose(got.log_z, sums.log_z, rtol=near)
        np.testing.assert_allclose(got.counts.tables, sums.counts.tables, atol=near * 10)
        np.testing.assert_allclose(got.counts.unpaired, sums.counts.unpaired, atol=near)
        pairs = structure.marginals(theta, cost=cost, within=within).pairs
        np.testing.assert_allclose(
            pairs, reference.marginals(theta, cost=cost, within=within).pairs, atol=near
        )


@pytest.mark.parametrize("kind", KINDS)
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=5, deadline=None)
def test_a_beam_of_all_spans_is_exact(kind, seed):
    """But for more than 30 unpaired positions before the first branch of a multiloop: sequences are shorter."""
    rng = np.random.default_rng(seed)
    options = {"min_hairpin": int(rng.integers(0, 4)), "max_interior": int(rng.choice([0, 1, 2, 30]))}
    theta = scored(rng, *rng.integers(1, 32, 3).tolist())
    cost, within = asked(rng, theta, kind)
    try:
        expected = plain(**options).best(theta, cost=cost, within=within)
    except InfeasibleError:
        with pytest.raises(InfeasibleError):
            Folding(**options, beam=32).best(theta, cost=cost, within=within)
        return
    found = Folding(**options, beam=32).best(theta, cost=cost, within=within)
    np.testing.assert_allclose(found.values, expected.values, rtol=1e-10)
    for beam in (1, 4):
        try:
            less = Folding(**options, beam=beam).best(theta, cost=cost, within=within)
        except InfeasibleError:  # a narrow beam may lose all structures that a restriction allows
            assert within is not None
            continue
        assert (less.values <= expected.values + 1e-9).all()
        np.testing.assert_allclose(
            Folding(**options).score(theta, less.codes, cost=cost, within=within), less.values, rtol=1e-10
        )


def test_sums_of_any_size_are_found(rng):
    """A rate that is far off, parts of very unequal sums, and sums beyond both precisions."""
    theta = scored(rng, 80, 60, scale=0.3)
    for scale, shift in ((1.0, 8.0), (1.0, -8.0), (8.0, 0.0), (60.0, 0.0), (1e4, 0.0)):
        own = FoldingTables(scale * theta.tables, theta.letters, theta.offsets, np.full(140, shift))
        own.unpaired[40:80] -= shift
        expected = plain().expectation(own)
        for precision, near in (("double", 1e-8), ("single", 1e-3)):
            got = Folding(precision=precision).expectation(own)
            np.testing.assert_allclose(got.log_z, expected.log_z, rtol=near)
            np.testing.assert_allclose(got.counts.unpaired, expected.counts.unpaired, atol=near)


def test_room_is_kept_and_grows():
    like = np.empty(0, np.float32)
    first = room(50, 2, like)
    assert room(40, 2, like).base is first.base and room(40, 2, like).dtype == np.float32
    assert len(room(60, 4, like)) > len(first)
