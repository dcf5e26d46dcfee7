"""Alignment: every answer against enumeration, what users give and get, and learners on it."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import palmette
from palmette import CRF, SSVM, UNKNOWN, Alignment, OneOf, Perceptron
from palmette.data.samples import Samples
from palmette.errors import InfeasibleError, MissingCapability, TooLarge
from palmette.structures import (
    AlignmentRestriction,
    AlignmentTables,
    ColumnLoss,
    Core,
    MatchCost,
    SequencePair,
)
from palmette.structures.alignment.batch import END
from palmette.structures.alignment.codec import AlignmentCodec
from palmette.structures.alignment.outputs import matches_of
from palmette.structures.alignment.scorer import AlignmentScorer, weights_to_tables
from palmette.testing import CHECKS, check_structure, check_supervision

X = [("ACDEFGHI", "ACDFGHI"), ("KLMNPQ", "KLMNPQ"), ("RSTVWY", "RSTVWYRS"), ("ACKLW", "ACKLW")]
Y = [
    ("ACDEFGHI", "ACD-FGHI"), ("KLMNPQ", "KLMNPQ"), ("RSTVWY--", "RSTVWYRS"), ("ACKLW", "ACKLW"),
]  # fmt: skip
MATCHES = [
    [(0, 0), (1, 1), (2, 2), (4, 3), (5, 4), (6, 5), (7, 6)],
    [(t, t) for t in range(6)],
    [(t, t) for t in range(6)],
    [(t, t) for t in range(5)],
]


def drawn(rng, *lengths, letters=4, kinds=1, cells=False, scale=1.0):
    """Potentials of pairs of random symbols with random scores of everything."""
    pairs = [(rng.integers(0, letters, n), rng.integers(0, letters, m)) for n, m in lengths]
    theta = AlignmentTables.of(pairs, np.zeros((letters, letters)), open=[0.0] * kinds, extend=[0.0] * kinds)
    if cells:
        theta = replace(theta, cells=np.zeros(int(theta.starts[-1])))
    for name in ("substitution", "unit", "open", "extend", "change", "cells"):
        scores = getattr(theta, name)
        if scores is not None:
            scores[...] = rng.normal(scale=scale, size=scores.shape)
    return theta


# -- against enumeration ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("long_gaps", [False, True], ids=["one kind of gaps", "two kinds"])
def test_every_answer_agrees_with_enumeration(long_gaps):
    report = check_structure(Alignment(long_gaps=long_gaps), required=CHECKS, n_instances=5)
    assert report.missing == ()


def test_the_plain_kernels_alone_agree_with_enumeration():
    structure = Alignment()
    structure.fast = False
    answers = ("best", "worst", "best_contradicting", "log_partition", "expectation", "marginals", "entropy")
    check_structure(structure, answers=answers, required=(), n_instances=4)


def test_references_that_do_not_tell_kinds_of_gaps_teach():
    report = check_supervision(Alignment(long_gaps=True), n_instances=4, random_state=1)
    assert {"bridge", "perceptron", "marginal log"} <= set(report.checked)


# -- identities -------------------------------------------------------------------------------------------------


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 40), m=st.integers(1, 40))
@settings(max_examples=10)
def test_both_directions_have_the_same_totals(seed, n, m):
    """Turning both sequences round turns all alignments round, but for the order of gaps between matches."""
    rng = np.random.default_rng(seed)
    theta = drawn(rng, (n, m), cells=True)
    theta.change[:] = 0.0
    for name in (
        "open",
        "extend",
    ):  # runs between matches come in another order, so that places must not matter
        getattr(theta, name)[...] = rng.normal()
    x, y = theta.letters[:n], theta.letters[n:]
    turned = replace(
        theta, letters=np.concatenate([x[::-1], y[::-1]]), cells=theta.cells[::-1].copy(),
        unit=np.concatenate([theta.unit[:, n - 1 :: -1], theta.unit[:, : n - 1 : -1]], axis=1),
    )  # fmt: skip
    structure = Alignment()
    for answer in ("log_partition", "entropy"):
        assert np.isclose(getattr(structure, answer)(theta), getattr(structure, answer)(turned))
    assert np.isclose(structure.best(theta).values, structure.best(turned).values)


@pytest.mark.parametrize("kinds", [1, 2])
def test_expected_counts_are_the_gradient_of_the_log_partition(kinds):
    rng = np.random.default_rng(3)
    theta, structure = drawn(rng, (20, 25), (7, 3), kinds=kinds, cells=True), Alignment()
    counts, step = structure.expectation(theta).counts, 1e-5
    for name in ("substitution", "unit", "open", "extend", "change", "cells"):
        direction = rng.normal(size=getattr(theta, name).shape)
        up, down = (
            structure.log_partition(replace(theta, **{name: getattr(theta, name) + s * direction})).sum()
            for s in (step, -step)
        )
        assert np.isclose((up - down) / (2 * step), np.vdot(getattr(counts, name), direction), rtol=1e-6)


@pytest.mark.parametrize("kinds", [1, 2])
def test_probabilities_sum_to_one_and_are_those_of_samples(kinds):
    theta, structure = drawn(np.random.default_rng(5), (12, 9), (4, 6), kinds=kinds, scale=0.5), Alignment()
    found, draws = structure.marginals(theta), structure.sample(theta, 4000, random_state=0)
    assert np.allclose(found.node.sum(axis=1), 1.0)
    for s, (lo, n) in enumerate(zip(theta.offsets.tolist(), theta.splits.tolist())):
        m = found.of(s).shape[1]
        often = np.stack([(draws[:, lo : lo + n] == j + 1).mean(axis=0) for j in range(m)], axis=1)
        assert np.abs(often - found.of(s)).max() < 0.05


def test_at_zero_the_partition_counts_alignments():
    """There are (n + m choose n) of them: each is a set of matched rows and one of as many columns."""
    from math import comb, log

    theta = drawn(np.random.default_rng(0), (30, 21), (5, 9)).zeros()
    assert np.allclose(Alignment().log_partition(theta), [log(comb(51, 30)), log(comb(14, 5))])


def test_a_best_alignment_is_the_first_of_the_ranked_ones_and_scores_what_it_says():
    theta, structure = drawn(np.random.default_rng(6), (40, 33), kinds=2), Alignment(long_gaps=True)
    ranked, best = structure.k_best(theta, 20)[0], structure.best(theta)
    assert np.isclose(ranked[0][1], best.values[0]) and np.array_equal(ranked[0][0], best.codes)
    values = [value for _, value in ranked]
    assert values == sorted(values, reverse=True)
    assert len({tuple(codes.tolist()) for codes, _ in ranked}) == 20
    for codes, value in ranked:
        assert np.isclose(structure.score(theta, codes)[0], value)
    assert len(structure.suboptimal(theta, values[0] - values[9])[0]) >= 10
    assert len(structure.suboptimal(theta, 1e9, most=7)[0]) == 7


def test_gaps_are_affine_and_ends_may_be_apart():
    """A run of three costs what others call open 11, extend 1: 13."""
    scores = np.full((2, 2), -50.0)
    np.fill_diagonal(scores, 5.0)
    inner = AlignmentTables.of([([0, 1, 1, 1, 0], [0, 0])], scores, open=-11.0, extend=-1.0)
    assert Alignment().best(inner).values.tolist() == [10.0 - 13.0]
    ends = AlignmentTables.of([([0, 1, 1, 1, 0], [1, 1])], scores, end_open=0.0, end_extend=0.0)
    assert Alignment().best(ends).values.tolist() == [10.0]


@pytest.mark.parametrize("kinds", [1, 2])
def test_a_second_kind_of_gaps_is_for_long_ones(kinds):
    scores = np.full((2, 2), -50.0)
    np.fill_diagonal(scores, 5.0)
    theta = AlignmentTables.of(
        [([0] + [1] * 9 + [0], [0, 0])], scores, open=[-3.0, -9.0][:kinds], extend=[-2.0, -0.5][:kinds]
    )
    codes, values = Alignment(long_gaps=kinds == 2).best(theta)
    assert values[0] == 10.0 + (-19.0 if kinds == 1 else -13.0)
    assert codes.tolist() == [1, *([0] * 9 if kinds == 1 else [14] * 9), 2, 1, 11]


# -- weights ----------------------------------------------------------------------------------------------------


def test_weights_are_names_and_their_ties():
    scorer = AlignmentScorer(tracks="HEC", long_gaps=True)
    matrix = weights_to_tables(*scorer._key)
    assert set(np.unique(matrix.data)) == {1.0} and np.all(np.asarray(matrix.sum(axis=0)) > 0)
    w = np.random.default_rng(0).normal(size=scorer.n_params)
    named, (substitution, units, opens, extends, change) = scorer.named(w), scorer.tables(w)
    assert np.allclose(substitution, substitution.T) and substitution.shape == (69, 69)
    assert np.isclose(
        substitution[3 * 1 + 0, 3 * 11 + 2],  # R in a helix with K in a coil
        named["match"] + named["match_KR"] + named["match_HKRHKR"] + named["track_CH"],
    )
    assert np.isclose(
        units[1, 3 * 17 + 1],
        named["insert2"] + named["insert_W"] + named["insert_FWY"] + named["track_insert_E"],
    )
    assert np.isclose(opens[0, 4], named["match_to_insert"] + named["match_to_insert_hydrophilic_count_4"])
    assert np.isclose(
        extends[1, 0], named["insert2_extend"] + named["insert2_to_insert2_hydrophilic_count_0"]
    )
    assert (opens[1, END], change[0]) == (named["end_open2"], named["insert_change"])
    assert np.array_equal(scorer.weights(named), w)
    with pytest.raises(ValueError, match="no weight 'match_A1'"):
        scorer.weights({"match_A1": 1.0})


def test_contralign_names_are_there():
    names = AlignmentScorer(
        long_gaps=True, groups=("substitution", "classes", "insertions", "hydropathy")
    ).names
    # All but match_to_match and insert2_change, which fold into others.
    assert len(names) == 362 - 2


@pytest.mark.parametrize(
    "parameters", [{}, {"long_gaps": True, "tracks": "HE"}, {"free_ends": True}], ids=str
)
def test_pull_back_is_the_adjoint_of_score(parameters):
    rng = np.random.default_rng(2)
    structure = Alignment(**parameters)
    pairs = []
    for n, m in ((5, 7), (6, 3)):
        a, b = ("".join(rng.choice(list("ARNDCQEGHILKX"), size)) for size in (n, m))
        tracks = ("".join(rng.choice(list("HE"), n)), "".join(rng.choice(list("HE"), m)))
        profiles = rng.normal(size=(n, 2)), rng.normal(size=(m, 2))
        pairs.append(
            SequencePair(
                a,
                b,
                tracks if structure.tracks else None,
                profiles,
                rng.normal(size=(n, m, 3)),
                rng.normal(size=(n, m)),
            )
        )
    encoder = structure.make_encoder(pairs)
    batch = encoder.fit_transform(structure.admit(pairs))
    scorer = structure.scorer(encoder.n_profile, encoder.n_cells)
    w, v = rng.normal(size=(2, scorer.n_params))
    nothing = scorer.score(np.zeros(scorer.n_params), batch)
    counts = structure.expectation(scorer.score(v, batch)).counts
    pulled = np.zeros(scorer.n_params)
    scorer.pull_back(counts, batch, pulled)
    assert np.isclose(pulled @ w, scorer.score(w, batch).dot(counts) - nothing.dot(counts))
    parts = [batch.slice(0, 1), batch.slice(1, 2)]
    again = np.zeros(scorer.n_params)
    for part, taken in zip(parts, ([0], [1])):
        theta = scorer.score(v, part)
        assert np.isclose(
            structure.best(theta).values[0], structure.best(scorer.score(v, batch)).values[taken[0]]
        )
        scorer.pull_back(structure.expectation(theta).counts, batch.take(np.array(taken)), again)
    assert np.allclose(again, pulled)


def test_evaluate_is_the_score_and_its_counts():
    rng = np.random.default_rng(7)
    structure = Alignment()
    w = rng.normal(size=structure.scorer().n_params)
    pair = "".join(rng.choice(list("ARNDCQEGH"), 30)), "".join(rng.choice(list("ARNDCQEGH"), 24))
    theta = structure.scorer().score(w, structure.make_encoder([pair]).fit_transform([pair]))
    best = structure.best(theta)
    score, counts = structure.evaluate(pair, matches_of(best.codes), w)
    named = structure.scorer().named(w)
    assert np.isclose(score, best.values[0])
    assert np.isclose(score, sum(n * named[name] for name, n in counts.items()))


def test_hydrophilic_residues_around_a_boundary_are_counted():
    batch = Alignment().make_encoder([]).transform([("WWWDEKWWW", "A")])
    assert batch.contexts.tolist() == [END, 1, 2, 3, 3, 3, 3, 2, 1, END, END, END]


# -- what users give and get ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("y", "expected"),
    [
        (("ACD-E", "A-DFE"), [1, 0, 2, 4, 1, 3, 0, 4]),
        (("acD-E", "a-DfE"), [-1, -1, 2, 4, -1, 3, -1, 4]),
        ([(0, 0), (2, 1), (3, 3)], [1, 0, 2, 4, 1, 3, 0, 4]),
        (np.array([(0, 0), (2, 1), (3, 3)]), [1, 0, 2, 4, 1, 3, 0, 4]),
        (Core([(2, 1)]), [-1, -1, 2, -1, -1, 3, -1, -1]),
        ([0, -1, UNKNOWN, 3, 0, 2, -1, 3], [1, 0, -1, 4, 1, 3, 0, 4]),
        ([], [0] * 8),
    ],
    ids=["rows", "core in upper case", "matches", "array of matches", "Core", "partners", "nothing matches"],
)
def test_alignments_are_read_in_every_form(y, expected):
    structure, pair = Alignment(), ("ACDE", "ADFE")
    batch = structure.make_encoder([pair]).transform([pair])
    codec = structure.make_codec([y], None, batch.lengths)
    assert codec.encode_outputs(structure.admit_outputs([y], batch), batch.lengths).tolist() == expected
    assert AlignmentCodec.from_state(codec.state()).state() == codec.state()


def test_case_may_mean_nothing():
    structure, pair = Alignment(core="all"), ("ACDE", "ADFE")
    batch = structure.make_encoder([pair]).transform([pair])
    given = structure.admit_outputs([("acD-E", "a-DfE")], batch)
    assert AlignmentCodec().encode_outputs(given, batch.lengths).tolist() == [1, 0, 2, 4, 1, 3, 0, 4]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (("ACD-E", "A-DF"), r"y\[0\] has rows of 5 and 4 columns"),
        (("ACD-EK", "A-DFEK"), r"y\[0\] has 10 letters in both rows, but the sequences of X have 8"),
        (("AKD-E", "A-DFE"), r"y\[0\]\[0\] is about another sequence: its letter 1 .* differs from X\[0\]\[0\]\[1\]"),
        (("ACD-E", "A-DFK"), r"y\[0\]\[1\] is about another sequence: its letter 3 "),
        ([(0, 4)], r"y\[0\] matches \(0, 4\), but its sequences have 4 and 4 letters"),
        ([(0, 1), (1, 0)], r"y\[0\] has the matches \(0, 1\) and \(1, 0\): positions of both .* must increase"),
        ([0, -1, 0, -1, 0, -1, -1, -1], r"y\[0\] matches position 2 of the first sequence with 0, which has another"),
        ([5, -1, -1, -1, -1, -1, -1, -1], r"y\[0\] matches position 0 of the first .* the other has 4 positions"),
        ([9, -1, -1, -1, -1, -1, -1, -1], r"y\[0\]\[0\] is 9, expected a position of the other sequence"),
        ([0, -1], r"y\[0\] has 2 partners, but its sequences have 8 letters together"),
        ([3, 1, -1, -1, -1, 1, -1, 0], r"matches positions 0 and 1 of the first sequence with 3 and 1: matches must"),
        ({"a": 1}, r"y\[0\] is \{'a': 1\}, expected two rows with gaps"),
    ],
)  # fmt: skip
def test_wrong_alignments_are_refused_with_their_place(y, message):
    with pytest.raises(ValueError, match=message):
        CRF(Alignment()).fit([("ACDE", "ADFE"), *X], [y, *MATCHES])


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        (("AC1E", "ADE"), r"X\[0\]\[0\], position 2 \(0-based\): '1' is no letter of the sequence; give it a mean"),
        (("ACE", "AD-E"), r"X\[0\]\[1\], position 2 \(0-based\): '-' is no letter .* an input has no gaps"),
        (("", "ADE"), r"X\[0\]\[0\] is an empty sequence"),
        (SequencePair("AC", "A", tracks=("HH", "H")), r"X\[0\] has tracks; name their values"),
        (SequencePair("AC", "A", profiles=([[1.0]], [[1.0]])), r"profiles\[0\] has shape \(1, 1\), expected \(2, 1\)"),
        (SequencePair("AC", "A", scores=[[1.0], [np.nan]]), r"X\[0\].scores\[1, 0\] is nan: features are finite"),
        (SequencePair("AC", "A", cells=np.zeros((1, 1, 2))), r"X\[0\].cells has shape \(1, 1, 2\), expected \(2, 1, 2"),
    ],
)  # fmt: skip
def test_wrong_pairs_are_refused_with_their_place(pair, message):
    with pytest.raises(ValueError, match=message):
        Alignment().make_encoder([pair]).fit_transform([pair])
    with pytest.raises(TypeError, match=r"X\[0\] must be a pair of sequences"):
        Alignment().admit(["ACDE"])


def test_tracks_are_asked_for_and_checked():
    encoder = Alignment(tracks="HEC").make_encoder([])
    batch = encoder.transform([SequencePair("AR", "N", tracks=("HC", "E"))])
    assert batch.letters.tolist() == [0, 5, 7]
    for tracks, message in (
        (None, "has no tracks"),
        (("H", "E"), "has 1 letters"),
        (("HX", "E"), "values of the tr"),
    ):
        with pytest.raises(ValueError, match=message):
            encoder.transform([SequencePair("AR", "N", tracks=tracks)])


def test_letters_of_other_alphabets_are_read():
    assert Alignment("dna").make_encoder([]).transform([("acgtUN", "RA")]).letters.tolist() == [
        0,
        1,
        2,
        3,
        3,
        4,
        4,
        0,
    ]
    own = Alignment("01", letters={"o": "0"}).make_encoder([]).transform([("01o", "1")])
    assert own.letters.tolist() == [0, 1, 0, 1]
    assert Alignment().make_encoder([]).transform([("UOJ*b", "X")]).letters.tolist() == [
        4,
        11,
        10,
        22,
        20,
        22,
    ]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"features": ("letters",)}, "features must be 'all' or some of 'substitution'"),
        ({"core": "upper"}, "core must be 'case' or 'all'"),
        ({"ties": "all"}, "ties must be 'best' or 'given'"),
        ({"long_gaps": 1}, "long_gaps must be True or False"),
        ({"alphabet": "AA"}, "alphabet must be 'protein', 'dna', 'rna' or a string of different letters"),
        ({"letters": {"1": "!"}}, "letters reads '1' as '!'"),
        ({"tracks": "HH"}, "tracks must be a string of different values"),
        ({"precision": "half"}, "precision must be 'double' or 'single'"),
        ({"memory_limit": 0}, "memory_limit must be a number of bytes"),
    ],
)
def test_wrong_parameters_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        CRF(Alignment(**parameters)).fit(X, Y)


def test_a_pair_beyond_memory_is_refused_with_the_remedy():
    theta = drawn(np.random.default_rng(0), (3, 3), (300, 200))
    Alignment().best(theta)  # memory that is kept from one call to the next does not count
    for answer in ("best", "marginals", "max_marginals", "sample"):
        with pytest.raises(
            TooLarge, match=r"sample 1: a pair of 300 and 200 positions takes at least .*: raise mem"
        ):
            getattr(Alignment(memory_limit=1e4), answer)(theta)


@pytest.mark.parametrize(("n", "m"), [(0, 3), (2, 0), (0, 0)])
def test_an_empty_sequence_has_one_alignment(n, m):
    theta, structure = drawn(np.random.default_rng(0), (n, m)), Alignment()
    assert not structure.best(theta).codes.any()
    assert np.isclose(structure.log_partition(theta), structure.best(theta).values)


def test_an_empty_batch_has_no_answers():
    theta, structure = drawn(np.random.default_rng(0)), Alignment()
    best, found = structure.best(theta), structure.expectation(theta)
    assert (best.codes.shape, best.values.shape, found.log_z.shape) == ((0,), (0,), (0,))
    assert len(structure.marginals(theta)) == 0


# -- constraints ------------------------------------------------------------------------------------------------


def test_constraints_as_lists():
    theta, structure = drawn(np.random.default_rng(8), (20, 20)), Alignment()
    limit = AlignmentRestriction.of(
        [(20, 20)], forced=[[(3, 5), (10, 9)]], gaps=[([0], [19])], matched=[([7], [8])]
    )
    codes = structure.best(theta, within=limit).codes
    assert codes[[3, 10, 0, 39]].tolist() == [6, 10, 0, 0] and codes[7] > 0 and codes[28] > 0
    some = matches_of(structure.best(theta).codes)[0]
    without = structure.best(theta, within=AlignmentRestriction.of([(20, 20)], forbidden=[[some]]))
    assert some not in matches_of(without.codes)
    two = AlignmentRestriction.of([(20, 20)], gaps=[([4], [])], n_kinds=2)
    wide = drawn(np.random.default_rng(8), (20, 20), kinds=2)
    assert Alignment(long_gaps=True).best(wide, within=two).codes[4] in (0, 41)


def test_constraints_that_contradict_each_other_are_refused():
    with pytest.raises(
        ValueError, match=r"position 3 \(0-based\) of the first sequence: against a gap and matched with 2"
    ):
        AlignmentRestriction.of([(5, 5)], forced=[[(3, 2)]], gaps=[([3], [])])
    with pytest.raises(ValueError, match=r"the forced matches \(1, 3\) and \(2, 2\) cross"):
        AlignmentRestriction.of([(5, 5)], forced=[[(2, 2), (1, 3)]])
    crossing = AlignmentRestriction(codes=np.array([2, 1, 2, 1], np.int32))
    with pytest.raises(InfeasibleError, match="forced matches must increase in both sequences"):
        Alignment().best(drawn(np.random.default_rng(0), (2, 2)), within=crossing)


# -- losses -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kinds", [1, 2])
@pytest.mark.parametrize(
    "loss", [ColumnLoss(), ColumnLoss(0.5, 2.0), ColumnLoss(1.0, 1.0, relative=False)], ids=str
)
def test_a_loss_is_its_cost_and_its_definition(loss, kinds):
    structure = Alignment(long_gaps=kinds == 2)
    bound, theta = (
        loss.bind(structure, ()),
        drawn(np.random.default_rng(9), (14, 12), (9, 10), (2, 1), kinds=kinds),
    )
    true, other = (structure.sample(theta, random_state=k)[0] for k in (1, 2))
    cost = bound.cost(theta, true)
    assert np.allclose(
        structure.score(theta.zeros(), other, cost=cost), bound.value(structure, theta, true, other)
    )
    assert np.allclose(bound.value(structure, theta, true, true), 0.0)
    for s, (lo, hi) in enumerate(zip(theta.offsets[:-1], theta.offsets[1:])):
        a, b = ({*matches_of(codes[lo:hi])} for codes in (true, other))
        size = max(1, len(a)) if loss.relative else 1
        expected = (loss.missed * len(a - b) + loss.false * len(b - a)) / size
        assert np.isclose(bound.value(structure, theta, true, other)[s], expected)
    augmented = bound.augmented_best(structure, theta, true)
    value = structure.score(theta, augmented.codes) + bound.value(structure, theta, true, augmented.codes)
    assert np.allclose(augmented.values, value)
    assert np.all(bound.value(structure, theta, true, other) <= bound.largest(structure, theta, true) + 1e-12)
    assert np.allclose(structure.best(theta.plus(cost)).values, augmented.values)
    twice = bound.weighted_best(structure, theta, true, 2.0)
    value = structure.score(theta, twice.codes) + 2.0 * bound.value(structure, theta, true, twice.codes)
    assert np.allclose(twice.values, value)


def test_of_core_columns_only_known_matches_count():
    theta, structure = drawn(np.random.default_rng(1), (6, 6)), Alignment()
    true = np.array([-1, 2, -1, -1, 5, -1, -1, 2, -1, -1, 5, -1], np.int32)
    whole = np.array([1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6], np.int32)
    shifted = np.array([0, 1, 2, 3, 4, 5, 2, 3, 4, 5, 6, 0], np.int32)
    recall, both = (own.bind(structure, ()) for own in (ColumnLoss(), ColumnLoss(1.0, 1.0)))
    assert recall.value(structure, theta, true, whole).tolist() == [0.0]
    assert recall.value(structure, theta, true, shifted).tolist() == [1.0]
    # Of five wrong matches four have a position whose partner is known.
    assert both.value(structure, theta, true, shifted).tolist() == [1.0 + 4 / 2]


def test_a_loss_of_labels_is_refused_with_the_remedy():
    with pytest.raises(ValueError, match=r"use ColumnLoss\(\) for 1 - recall"):
        SSVM(Alignment(), task_loss="hamming").fit(X, Y)
    with pytest.raises(MissingCapability, match="ColumnLoss has no augmented maximum on Chain"):
        SSVM(palmette.Chain(), task_loss=ColumnLoss()).fit([[["a"]]], [["b"]])


def test_a_kernel_is_refused():
    for learner in (CRF, SSVM, Perceptron):
        with pytest.raises(MissingCapability, match="its weights belong to columns"):
            learner(Alignment(), kernel="rbf").fit(X, Y)


# -- learners ---------------------------------------------------------------------------------------------------


LEARNERS = [
    CRF(Alignment(), l2=0.01),
    CRF(Alignment(long_gaps=True), l2=0.01),
    SSVM(Alignment(), l2=0.01),
    SSVM(Alignment(), l2=0.01, loss="ramp", task_loss=ColumnLoss(1.0, 0.5)),
    SSVM(Alignment(ties="best"), l2=0.01),
    SSVM(Alignment(), l2=0.01, task_loss="zero_one"),
    Perceptron(Alignment()),
    Perceptron(Alignment(ties="best")),
]
NAMES = [
    "crf",
    "crf, long gaps",
    "hinge",
    "ramp",
    "hinge, ties",
    "zero-one",
    "perceptron",
    "perceptron, ties",
]


@pytest.mark.parametrize("model", LEARNERS, ids=NAMES)
def test_every_learner_learns_gaps(model, tmp_path):
    model.fit(X, Y)
    assert model.score(X, Y) == 1.0
    assert model.predict([("ACDEFGHI", "ACDFGHI"), ("", "")]) == [MATCHES[0], []]
    model.save(tmp_path / "model")
    again = palmette.load(tmp_path / "model")
    assert again.predict(X) == model.predict(X)
    assert again.structure.get_params() == model.structure.get_params()
    assert np.array_equal(again.coef_, model.coef_)


CORES = [
    ("ACDefghi", "ACD-fghi"),
    Core([(t, t) for t in range(6)]),
    Core([(0, 0), (5, 5)]),
    ("acklw", "acklw"),
]
PARTLY = [
    CRF(Alignment(), l2=0.01),
    SSVM(Alignment(ties="best"), l2=0.01),
    SSVM(Alignment(), l2=0.01, loss="bridge"),
    SSVM(Alignment(), l2=0.01, loss="ramp"),
    SSVM(Alignment(long_gaps=True), l2=0.01, loss="ramp", task_loss=ColumnLoss(1.0, 0.5)),
    Perceptron(Alignment()),
]


@pytest.mark.parametrize(
    "model", PARTLY, ids=["crf", "hinge", "bridge", "ramp", "ramp, long gaps", "perceptron"]
)
def test_core_columns_teach_what_they_say(model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, CORES)
    right, known = model.structure.measure(model, X, CORES)
    assert known.tolist() == [3, 6, 2, 0] and right.sum() >= 10  # of 11


def test_the_hinge_of_core_columns_needs_ties():
    with pytest.raises(MissingCapability, match="use loss='bridge'"):
        SSVM(Alignment()).fit(X, CORES)


def test_partners_may_be_one_of_several():
    y = [[0, OneOf(1, -1), UNKNOWN, *[-1] * 5, 0, *[UNKNOWN] * 6], [*range(6), *range(6)]]
    model = CRF(Alignment(), l2=0.01).fit(X[:2], y)
    assert model.predict(X[1:2]) == [[*range(6), *range(6)]]
    assert model.predict_nbest(X[:1], 2)[0][0][0][0] == 0


def test_marginals_of_positions_are_gaps_and_matches():
    model = CRF(Alignment(), l2=0.1).fit(X, Y)
    (found,) = model.predict_marginals(X[:1])
    assert found.shape == (15, 2) and np.allclose(found.sum(axis=1), 1.0)
    assert found[0, 1] > 0.5 > found[3, 1]
    assert model.classes_.tolist() == ["gap", "match"]


def test_weights_of_profiles_and_tracks_are_learnt(tmp_path):
    """Letters say nothing: only the profile column, or the track, tells which positions match."""
    rng = np.random.default_rng(0)
    profiled, tracked, y = [], [], []
    for _ in range(12):
        kinds = rng.integers(0, 2, 8)
        lost = int(rng.integers(0, 8))
        rest = np.delete(kinds, lost)
        own = [np.eye(2)[each] * 2.0 for each in (kinds, rest)]
        profiled.append(SequencePair("A" * 8, "A" * 7, profiles=own))
        tracked.append(
            SequencePair("A" * 8, "A" * 7, tracks=tuple("".join("HE"[k] for k in t) for t in (kinds, rest)))
        )
        left = [t for t in range(8) if t != lost]
        y.append(list(zip(left, range(7))))
    for inputs, structure in (
        (profiled, Alignment(features=())),
        (tracked, Alignment(features=(), tracks="HE")),
    ):
        model = CRF(structure, l2=0.01).fit(inputs, y)
        right, known = structure.measure(model, inputs, y)
        assert right.sum() > 0.75 * known.sum()  # a letter lost from a run of equals has many places
        model.save(tmp_path / "model")
        assert palmette.load(tmp_path / "model").predict(inputs) == model.predict(inputs)
    plain = CRF(Alignment(), l2=1.0).fit(X, Y)
    with pytest.raises(
        ValueError, match=r"X\[0\] has profiles, but the pairs that the model was fitted to had none"
    ):
        plain.predict(profiled)


def test_log_odds_of_known_matches_are_a_start():
    """Before any step the weights align what is alike; letters that never match have negative scores."""
    model = CRF(Alignment(), l2=1.0, max_iter=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, CORES)
    batch, structure = model.encode(X).batch, model.structure
    codes = structure.admit_outputs(MATCHES, batch)
    known = model.codec_.encode_outputs(codes, batch.lengths)
    samples = Samples(batch, known, np.ones(len(batch)))
    w = structure.first_weights(model.scorer_, samples)
    substitution = model.scorer_.tables(w)[0]
    alike = np.diag(substitution)[:20] > 0.0
    assert np.allclose(substitution, substitution.T) and np.flatnonzero(~alike).tolist() == [
        6
    ]  # E has no match
    assert substitution[0, 10] < 0.0
    model.coef_ = w
    assert model.score(X, Y) == 1.0


def test_sums_out_of_the_range_of_fast_kernels_are_found_plainly():
    """Very unequal lengths and large scores: all is 0 in scaled factors, yet there are alignments."""
    theta = drawn(np.random.default_rng(0), (8, 300), (5, 5))
    theta = replace(theta, extend=np.full_like(theta.extend, -40.0), open=np.full_like(theta.open, -90.0))
    fast, plain = Alignment(), Alignment()
    plain.fast = False
    mine, wanted = fast.expectation(theta), plain.expectation(theta)
    assert np.allclose(mine.log_z, wanted.log_z)
    for name in ("substitution", "unit", "open", "extend", "change"):
        assert np.allclose(getattr(mine.counts, name), getattr(wanted.counts, name), atol=1e-7)


def test_counts_in_single_precision_are_finite_where_rows_grow_against_each_other():
    """At zero scores what comes before grows along a row by hundreds of powers of two, and what follows falls."""
    theta, single, double = (
        drawn(np.random.default_rng(0), (251, 217)).zeros(),
        Alignment(precision="single"),
        Alignment(),
    )
    mine, wanted = single.expectation(theta).counts, double.expectation(theta).counts
    for name in ("substitution", "unit", "open", "extend", "change"):
        assert np.allclose(getattr(mine, name), getattr(wanted, name), rtol=1e-3, atol=1e-4)
    assert np.allclose(single.marginals(theta).node.sum(axis=1), 1.0, atol=1e-4)


def test_threads_give_the_same_weights():
    rng = np.random.default_rng(10)
    pairs = [tuple("".join(rng.choice(list("ARNDC"), n)) for n in rng.integers(20, 50, 2)) for _ in range(30)]
    structure = Alignment()
    theta = structure.scorer().score(
        rng.normal(size=structure.scorer().n_params), structure.make_encoder(pairs).fit_transform(pairs)
    )
    codes = structure.best(theta).codes
    y = [matches_of(codes[a:b]) for a, b in zip(theta.offsets, theta.offsets[1:])]
    one, two = (CRF(structure, l2=1.0, max_iter=3, n_jobs=n, tol=1e-9) for n in (1, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one.fit(pairs, y), two.fit(pairs, y)
    assert np.array_equal(one.coef_, two.coef_)


def test_decoding_by_expected_accuracy_has_more_gaps_the_larger_gamma_is():
    theta = drawn(np.random.default_rng(11), (40, 40), scale=0.3)
    counts = [int((Alignment().min_risk(theta, gamma).codes == 0).sum()) for gamma in (0.0, 0.5, 5.0)]
    assert counts == sorted(counts) and counts[0] < counts[-1]
    with pytest.raises(ValueError, match="gamma must be a number of at least 0"):
        Alignment().min_risk(theta, -1.0)


def test_given_probabilities_are_decoded_as_those_of_a_model():
    rng, structure = np.random.default_rng(12), Alignment()
    one, other = (drawn(rng, (9, 7), scale=0.5) for _ in range(2))
    each = [structure.marginals(theta) for theta in (one, other)]
    assert np.array_equal(structure.min_risk_of(one, each[0], 0.5).codes, structure.min_risk(one, 0.5).codes)
    gaps, matches = ((getattr(each[0], kind) + getattr(each[1], kind)) / 2 for kind in ("gaps", "matches"))
    mean = replace(each[0], gaps=gaps, matches=matches)
    found = structure.min_risk_of(one, mean)
    reward = MatchCost.none(one.offsets, dense=2.0 * matches)
    assert structure.score(one.zeros(), found.codes, cost=reward) == pytest.approx(
        2.0 * matches.sum() - found.values
    )
    for codes in structure.sample(one, 200, random_state=0):  # none is expected to have more right matches
        assert structure.score(one.zeros(), codes, cost=reward) <= 2.0 * matches.sum() - found.values + 1e-9
    with pytest.raises(ValueError, match="of other pairs than theta"):
        structure.min_risk_of(drawn(rng, (9, 8)), mean)


def test_wrong_codes_are_refused_with_what_is_wrong():
    theta = drawn(np.random.default_rng(0), (3, 3), kinds=2)
    for codes, message in (
        ([4, 0, 0, 0, 0, 0], "code 4 at position 0 of the first sequence is not in 0..3"),
        ([1, 0, 0, 0, 0, 0], "which is not matched with it"),
        ([2, 1, 0, 2, 1, 0], "matches cross"),
        ([0, 7, 0, 0, 0, 0], "against a gap of another kind"),
    ):
        with pytest.raises(ValueError, match=message):
            Alignment(long_gaps=True).score(theta, np.array(codes))


def test_a_cost_of_another_shape_is_refused():
    theta = drawn(np.random.default_rng(0), (3, 3))
    with pytest.raises(
        ValueError, match=r"cost.gap is float64 of shape \(2, 6\), expected float64 of shape \(1, 6\)"
    ):
        Alignment().best(theta, cost=MatchCost.none(theta.offsets, 2))
    outside = MatchCost.none(theta.offsets, entry_ptr=np.array([0, 1]), entry=np.array([9]), value=np.ones(1))
    with pytest.raises(ValueError, match=r"cost.entry has a match that its sample does not have"):
        Alignment().best(theta, cost=outside)
