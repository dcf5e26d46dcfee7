"""Folding: every answer against enumeration, what users give and get, and learners on it."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import palmette
from palmette import CRF, SSVM, UNKNOWN, Folding, LossOptions, OneOf, Perceptron
from palmette.errors import InfeasibleError, TooLarge
from palmette.structures import RNA, FoldingRestriction, FoldingTables, PairCost, PairLoss
from palmette.structures.folding.codec import FoldingCodec
from palmette.structures.folding.feature_names import feature_names
from palmette.structures.folding.folding import OutsideModelWarning
from palmette.structures.folding.layout import TABLE_SIZE
from palmette.structures.folding.scorer import FoldingScorer, weights_to_tables
from palmette.testing import CHECKS, FoldingReference, check_structure

X = ["GGGAAAACCC", "GGCGAAAGCCAA", "AAAAAAAAAA", "GCGCAAAAGCGC"]
Y = ["(((....)))", "(((....)))..", "..........", "((((....))))"]


def drawn(rng, *lengths, letters="ACGU"):
    return ["".join(rng.choice(list(letters), n)) for n in lengths]


def scored(sequences, seed=0, scale=1.0):
    tables = np.random.default_rng(seed).normal(scale=scale, size=TABLE_SIZE)
    return FoldingTables.of(sequences, tables)


# -- against enumeration ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "structure",
    [Folding(), Folding(min_hairpin=0, pairs="all", max_interior=2), Folding(1, ("CG", "AU"), 0)],
    ids=["default", "no hairpin, all pairs", "stacks only"],
)
def test_every_answer_agrees_with_enumeration(structure):
    report = check_structure(structure, required=CHECKS, n_instances=4)
    assert report.missing == ()


class Untied(FoldingReference):
    """The fast kernels find one of equally good structures, not that with the lowest codes."""

    def instances(self, rng):
        return (replace(instance, exact=False) for instance in super().instances(rng))


@pytest.mark.parametrize("structure", [Folding(), Folding(0, "all", 3)], ids=["default", "all pairs"])
def test_fast_kernels_agree_with_enumeration(structure):
    structure.fast_from = 1
    answers = ("best", "worst", "best_contradicting", "log_partition", "expectation", "marginals")
    check_structure(structure, Untied(structure), answers=answers, required=(), n_instances=5)


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=4)
def test_constraints_suboptimal_samples_and_evidence_together(seed):
    """The combinations in which other folders are said to crash."""
    rng = np.random.default_rng(seed)
    reference, structure = FoldingReference(), Folding()
    theta = next(i.theta for i in reference.instances(rng) if i.theta.pair_scores is not None)
    for limit in reference.draw_limits(rng, theta):
        for s in range(len(theta)):
            alone = theta.take(np.array([s]))
            within = limit.given.take(np.array([s]), theta.offsets)
            values = {
                y: reference.score(theta, s, y) for y in reference.outputs(theta, s) if limit.allows(s, y)
            }
            if not values:
                with pytest.raises(InfeasibleError, match="sample 0"):
                    structure.suboptimal(alone, 1.0, within=within)
                continue
            best = max(values.values())
            found = structure.suboptimal(alone, 2.0, within=within)[0]
            wanted = {y for y, value in values.items() if value >= best - 2.0 + 1e-9}
            assert wanted <= {tuple(codes.tolist()) for codes, _ in found}
            assert all(value >= best - 2.0 - 1e-9 for _, value in found)
            assert len(found) == len({tuple(codes.tolist()) for codes, _ in found})
            draws = structure.sample(alone, 5, random_state=seed % 1000, within=within)
            assert {tuple(draw) for draw in draws.tolist()} <= set(values)


# -- identities on longer sequences -----------------------------------------------------------------------------


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 70))
@settings(max_examples=10)
def test_fast_and_plain_kernels_agree(seed, n):
    rng = np.random.default_rng(seed)
    theta = scored(drawn(rng, n, letters="ACGUN"), seed)
    theta = replace(theta, unpaired=rng.normal(size=n), pair_scores=rng.normal(size=n * n))
    entry = np.unique(rng.integers(0, n, 3) * n + rng.integers(0, n, 3))
    entry = entry[entry // n < entry % n]
    cost = PairCost.none(
        theta.offsets, uniform=rng.normal(size=1), unpaired=rng.normal(size=n), entry=entry,
        entry_ptr=np.array([0, len(entry)]), value=rng.normal(size=len(entry)),
    )  # fmt: skip
    within = FoldingRestriction(unpaired=rng.random(n) < 0.97, pairs=rng.random(n * n) < 0.9)
    fast, plain, single = Folding(), Folding(), Folding(precision="single")
    fast.fast_from = single.fast_from = 1
    plain.fast_from = 10**9
    for limit in (None, within):
        try:
            expected = plain.best(theta, cost=cost, within=limit)
        except InfeasibleError:
            for other in (fast, single):
                with pytest.raises(InfeasibleError):
                    other.best(theta, cost=cost, within=limit)
                with pytest.raises(InfeasibleError):
                    other.log_partition(theta, cost=cost, within=limit)
            continue
        sums = plain.expectation(theta, cost=cost, within=limit)
        for other, digits in ((fast, 1e-9), (single, 1e-3)):
            found = other.best(theta, cost=cost, within=limit)
            assert np.isclose(found.values, expected.values, rtol=digits, atol=digits)
            exact = other.score(theta, found.codes, cost=cost, within=limit)
            assert np.isclose(exact, expected.values, rtol=digits, atol=digits)
            mine = other.expectation(theta, cost=cost, within=limit)
            assert np.isclose(mine.log_z, sums.log_z, rtol=digits, atol=digits)
            for name in ("tables", "unpaired", "pair_scores"):
                own, wanted = getattr(mine.counts, name), getattr(sums.counts, name)
                assert np.allclose(own, wanted, rtol=digits, atol=digits)


def test_expected_counts_are_the_gradient_of_the_log_partition():
    theta = scored(drawn(np.random.default_rng(3), 40))
    counts = Folding().expectation(theta).counts
    direction = np.random.default_rng(4).normal(size=TABLE_SIZE)
    step = 1e-5
    up, down = (
        Folding().log_partition(replace(theta, tables=theta.tables + s * direction))[0] for s in (step, -step)
    )
    assert np.isclose((up - down) / (2 * step), counts.tables @ direction, rtol=1e-7)


def test_probabilities_are_symmetric_and_those_of_samples():
    theta = scored(drawn(np.random.default_rng(5), 30, 12), scale=0.5)
    found = Folding().marginals(theta)
    draws = Folding().sample(theta, 4000, random_state=0)
    for s, (lo, hi) in enumerate(zip(theta.offsets[:-1], theta.offsets[1:])):
        square = found.of(s)
        assert np.array_equal(square, square.T)
        assert np.allclose(found.unpaired[lo:hi] + square.sum(axis=1), 1.0)
        often = np.stack([(draws[:, lo:hi] == j + 1).mean(axis=0) for j in range(hi - lo)], axis=1)
        assert np.abs(often - square).max() < 0.05


def test_a_best_structure_is_the_first_of_the_ranked_ones_and_scores_what_it_says():
    theta = scored(drawn(np.random.default_rng(6), 45))
    ranked = Folding().k_best(theta, 20)[0]
    best = Folding().best(theta)
    assert np.isclose(ranked[0][1], best.values[0]) and np.array_equal(ranked[0][0], best.codes)
    values = [value for _, value in ranked]
    assert values == sorted(values, reverse=True)
    for codes, value in ranked:
        assert np.isclose(Folding().score(theta, codes)[0], value)
    assert len(Folding().suboptimal(theta, values[0] - values[9])[0]) >= 10
    assert len(Folding().suboptimal(theta, 1e9, most=7)[0]) == 7


# -- weights ----------------------------------------------------------------------------------------------------


def test_weights_are_708_names_and_their_ties():
    scorer, matrix = FoldingScorer(), weights_to_tables()
    assert matrix.shape == (TABLE_SIZE, 708) and set(np.unique(matrix.data)) == {1.0}
    assert np.all(np.asarray(matrix.sum(axis=0)) > 0)  # every weight counts somewhere
    w = np.random.default_rng(0).normal(size=708)
    tables = FoldingTables(scorer.tables(w), *_nothing())
    stack = tables.section("helix_stacking").reshape(5, 5, 5, 5)
    assert np.array_equal(stack, stack.transpose(3, 2, 1, 0))
    for name in ("base_pair", "internal_1x1"):
        square = tables.section(name).reshape(5, 5)
        assert np.array_equal(square, square.T) and not square[4].any()
    interior, named = tables.section("interior").reshape(31, 31), scorer.named(w)
    assert np.allclose(interior, interior.T)
    assert np.isclose(interior[0, 2], named["bulge_length_at_least_1"] + named["bulge_length_at_least_2"])
    wanted = ["internal_explicit_1_3", "internal_asymmetry_at_least_1", "internal_asymmetry_at_least_2"]
    wanted += [f"internal_length_at_least_{k}" for k in (2, 3, 4)]
    assert np.isclose(interior[1, 3], sum(named[name] for name in wanted))
    assert np.array_equal(scorer.weights(named), w)
    with pytest.raises(ValueError, match="no weight 'base_pair_XY'"):
        scorer.weights({"base_pair_XY": 1.0})


def _nothing():
    return np.empty(0, np.int8), np.zeros(1, np.int64), np.empty(0)


def test_evaluate_is_the_score_and_its_counts():
    rng = np.random.default_rng(7)
    w, (sequence,) = rng.normal(size=708), drawn(rng, 40)
    theta = FoldingTables.of([sequence], FoldingScorer().tables(w))
    best = Folding().best(theta)
    text = FoldingCodec().decode(best.codes)
    score, counts = Folding().evaluate(sequence, text, w)
    assert np.isclose(score, best.values[0])
    assert np.isclose(score, sum(n * w[feature_names().index(name)] for name, n in counts.items()))


# -- what users give and get ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("y", "expected"),
    [
        (["((...))"], "((...))"),
        ([[(0, 6), (1, 5)]], [(0, 6), (1, 5)]),
        ([np.array([[0, 6], [1, 5]])], [(0, 6), (1, 5)]),
        ([[6, 5, -1, -1, -1, 1, 0]], [6, 5, -1, -1, -1, 1, 0]),
    ],
    ids=["dot-bracket", "pairs", "array of pairs", "partners"],
)
def test_structures_are_returned_in_the_form_they_were_given(y, expected):
    codec = FoldingCodec.from_outputs(y)
    codes = codec.encode_outputs(y, [7])
    assert codes.tolist() == [7, 6, 0, 0, 0, 2, 1]
    assert codec.decode(codes) == expected
    assert FoldingCodec.from_state(codec.state()).form == codec.form


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ("((....)", r"y\[0\]: position 0: '\(' is never closed"),
        ("(...)))", r"y\[0\]: position 5: '\)' closes nothing"),
        ("(...)", r"y\[0\] has 5 characters, but its sequence has 7 letters"),
        ([(0, 9)], r"y\[0\]: pair \(0, 9\) is outside of 0 to 6"),
        ([(0, 6), (0, 5)], r"position 0 is paired twice"),
        ([6, -1, -1, -1, -1, -1, 1], r"pairs position 0 with 6, but y\[0\]\[6\] says 1"),
        ([0, -1, -1, -1, -1, -1, -1], r"y\[0\]\[0\] is 0, expected another position"),
        ([-1, -1], r"y\[0\] has 2 partners, but its sequence has 7 letters"),
    ],
)
def test_wrong_structures_are_refused_with_their_place(y, message):
    with pytest.raises(ValueError, match=message):
        FoldingCodec().encode_outputs([y], [7])


@pytest.mark.parametrize(
    ("sequence", "message"),
    [
        ("GGJAAACC", r"X\[0\], position 2 \(0-based\): 'J' is no letter of the alphabet"),
        (RNA("GGAAAACC", unpaired=[0.0] * 7), r"X\[0\].unpaired has shape \(7,\), expected \(8,\)"),
        (RNA("GGAAAACC", pairs={(0, 8): 1.0}), r"X\[0\].pairs names \(0, 8\), expected 0 <= i < j < 8"),
        (RNA("GGAAAACC", unpaired=[np.nan] * 8), r"X\[0\].unpaired\[0\] is nan: evidence is finite"),
    ],
)
def test_wrong_sequences_are_refused_with_their_place(sequence, message):
    with pytest.raises(ValueError, match=message):
        Folding().make_encoder([sequence]).transform([sequence])


def test_letters_of_dna_small_ones_and_those_of_users_are_read():
    encoder = Folding(alphabet={"Q": "G", "-": "N"}).make_encoder([])
    batch = encoder.transform(["acguTtNRQ-"])
    assert batch.letters.tolist() == [0, 1, 2, 3, 3, 3, 4, 4, 2, 4]
    with pytest.raises(ValueError, match="reads 'Q' as 'Z'"):
        Folding(alphabet={"Q": "Z"}).bind(())


def test_an_unknown_letter_pairs_with_nothing():
    theta = scored(["GNGAAACNC"])
    assert Folding().best(theta).codes[[1, 7]].tolist() == [0, 0]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"min_hairpin": -1}, "min_hairpin must be a whole number of at least 0"),
        ({"max_interior": 31}, "max_interior must be a whole number of at least 0 and at most 30"),
        ({"pairs": "AU"}, "pairs must be 'canonical', 'all' or a list"),
        ({"pairs": ("AX",)}, "pairs has 'AX'"),
        ({"outside": "keep"}, "outside must be 'project' or 'error'"),
        ({"precision": "half"}, "precision must be 'double' or 'single'"),
        ({"memory_limit": 0}, "memory_limit must be a number of bytes"),
    ],
)
def test_wrong_parameters_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        CRF(Folding(**parameters)).fit(X, Y)


def test_a_sequence_beyond_memory_is_refused_with_the_remedy():
    with pytest.raises(TooLarge, match=r"a sequence of 300 positions takes at least .*\(beam="):
        Folding(memory_limit=1e5).best(scored(["A" * 300]))


@pytest.mark.parametrize("n", [1, 2, 5])
def test_short_sequences_have_one_structure(n):
    theta = scored(["G" * n])
    assert not Folding().best(theta).codes.any()
    assert np.isclose(Folding().entropy(theta)[0], 0.0)
    assert np.isclose(Folding().log_partition(theta), Folding().best(theta).values)


# -- constraints ------------------------------------------------------------------------------------------------


def test_constraints_as_text_and_as_lists():
    theta = scored(drawn(np.random.default_rng(8), 24))
    text = "....|......x.....<....>."
    codes = Folding().best(theta, within=FoldingRestriction.from_text([text])).codes
    assert codes[4] > 0 and codes[11] == 0 and codes[17] > 18 and 0 < codes[22] <= 22
    some = next((i, c - 1) for i, c in enumerate(codes.tolist()) if c - 1 > i)
    without = Folding().best(theta, within=FoldingRestriction.of([24], forbidden=[[some]])).codes
    assert without[some[0]] != some[1] + 1
    forced = Folding().best(theta, within=FoldingRestriction.of([24], forced=[[some]])).codes
    assert forced[some[0]] == some[1] + 1


def test_constraints_that_contradict_each_other_are_refused():
    with pytest.raises(
        ValueError, match=r"contradict each other at position 3 .*: unpaired and paired with 9"
    ):
        FoldingRestriction.of([12], forced=[[(3, 9)]], unpaired=[[3]])
    with pytest.raises(ValueError, match=r"constraint 0, position 4 \(0-based\): '\)' closes no '\('"):
        FoldingRestriction.from_text(["....)"])
    crossing = FoldingRestriction.of([12], forced=[[(0, 6), (3, 9)]])
    with pytest.raises(InfeasibleError, match="forced pairs must nest"):
        Folding().best(scored(["GGGGGGCCCCCC"]), within=crossing)
    close = FoldingRestriction.of([12], forced=[[(5, 6)]])
    with pytest.raises(InfeasibleError, match="leave room for hairpins"):
        Folding().log_partition(scored(["GGGGGGCCCCCC"]), within=close)


def test_soft_evidence_moves_the_structure():
    model = CRF(Folding(), l2=0.1).fit(X, Y)
    (plain,) = model.predict(["GGGAAAACCC"])
    assert plain == "(((....)))"
    (open_,) = model.predict([RNA("GGGAAAACCC", unpaired=[9.0] * 10)])
    assert open_ == ".........."
    (paired,) = model.predict([RNA("AAAAAAAAAU", pairs={(0, 9): 50.0})])
    assert paired == "(........)"


# -- references outside of the model ----------------------------------------------------------------------------


def test_references_outside_are_projected_for_training_and_count_in_scores():
    sequence = "GGAGAAAACUCC"
    outside = ["(((((..)))))", "((([....)))]"]  # A with A and A with C; a pair that crosses two others
    with pytest.warns(OutsideModelWarning, match="2 of 6 references have pairs outside of the model, 3 of "):
        model = CRF(Folding(), l2=0.01).fit([*X, sequence, sequence], [*Y, *outside])
    report = Folding().projected([sequence] * 2, outside)
    assert (report.letters, report.close, report.others, report.dropped) == (2, 0, 1, 3)
    (predicted,) = model.predict([sequence])
    _, total = model.structure.measure(model, [sequence], outside[:1])
    n_pairs = predicted.count("(")
    assert total.tolist() == [n_pairs + 5]
    with pytest.raises(ValueError, match=r"y\[4\] is no structure of the model, and so are 1 others"):
        CRF(Folding(outside="error")).fit([*X, sequence, sequence], [*Y, *outside])


def test_too_long_interior_loops_lose_as_few_pairs_as_possible():
    inner = "((....))"
    sequence = "GGG" + "A" * 32 + "CCAAAAGG" + "CCC"
    y = "(((" + "." * 32 + inner + ")))"
    report = Folding().projected([sequence], [y])
    assert report.others == 2  # of two and three pairs on both sides of the loop the two go
    assert Folding(max_interior=30).projected([sequence[:6] + sequence[9:]], [y[:6] + y[9:]]).dropped == 0


def test_partly_known_references_are_projected_too():
    sequence = "GGAGAAAACUCC"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OutsideModelWarning)
        model = CRF(Folding(), l2=0.1).fit([*X, sequence], [*Y, "??(?(...)?)?"])
    assert model.score(X, Y) == 1.0


# -- losses -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "loss",
    [PairLoss(), PairLoss(0.5, 2.0), PairLoss(1.0, 1.0, relative=False)],
    ids=["recall", "both", "hamming"],
)
def test_a_loss_is_its_cost_and_its_definition(loss):
    rng = np.random.default_rng(9)
    structure, bound = Folding(), loss.bind(Folding(), ())
    theta = scored(drawn(rng, 30, 25, 12))
    true, other = (structure.sample(theta, random_state=k)[0] for k in (1, 2))
    none = replace(theta, tables=np.zeros(TABLE_SIZE))
    cost = bound.cost(theta, true)
    assert np.allclose(structure.score(none, other, cost=cost), bound.value(structure, theta, true, other))
    assert np.allclose(bound.value(structure, theta, true, true), 0.0)
    for s, (lo, hi) in enumerate(zip(theta.offsets[:-1], theta.offsets[1:])):
        a, b = (
            {(i, c - 1) for i, c in enumerate(codes[lo:hi].tolist()) if c - 1 > i} for codes in (true, other)
        )
        size = max(1, len(a)) if loss.relative else 1
        expected = (loss.missed * len(a - b) + loss.false * len(b - a)) / size
        assert np.isclose(bound.value(structure, theta, true, other)[s], expected)
    augmented = bound.augmented_best(structure, theta, true)
    value = structure.score(theta, augmented.codes) + bound.value(structure, theta, true, augmented.codes)
    assert np.allclose(augmented.values, value)
    assert np.all(bound.value(structure, theta, true, other) <= bound.largest(structure, theta, true) + 1e-12)
    plus = structure.best(theta.plus(cost))
    assert np.allclose(plus.values, augmented.values)


def test_a_loss_of_labels_is_refused_with_the_remedy():
    with pytest.raises(ValueError, match=r"use PairLoss\(1, 1, relative=False\)"):
        SSVM(Folding(), task_loss="hamming").fit(X, Y)
    with pytest.raises(palmette.errors.MissingCapability, match="PairLoss has no augmented maximum on Chain"):
        SSVM(palmette.Chain(), task_loss=PairLoss()).fit([[["a"]]], [["b"]])


def test_a_kernel_is_refused():
    for learner in (CRF, SSVM, Perceptron):
        with pytest.raises(palmette.errors.MissingCapability, match="its weights belong to loops"):
            learner(Folding(), kernel="rbf").fit(X, Y)


# -- learners ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        CRF(Folding(), l2=0.01),
        CRF(Folding(precision="single"), l2=0.1, tol=1e-2),
        SSVM(Folding(), l2=0.01),
        SSVM(Folding(), l2=0.01, loss="ramp", task_loss=PairLoss(1.0, 0.5)),
        SSVM(Folding(), l2=0.01, task_loss="zero_one"),
        SSVM(Folding(), l2=0.05, loss_options=LossOptions(rescaling="slack")),
        Perceptron(Folding()),
    ],
    ids=["crf", "crf, single", "hinge", "ramp", "zero-one", "slack", "perceptron"],
)
def test_every_learner_learns_hairpins(model, tmp_path):
    model.fit(X, Y)
    assert model.score(X, Y) == 1.0
    assert model.predict(["AGGGAAAACCCA", ""]) == [".(((....))).", ""]
    model.save(tmp_path / "model")
    again = palmette.load(tmp_path / "model")
    assert again.predict(X) == Y and again.structure.get_params() == model.structure.get_params()
    assert np.array_equal(again.coef_, model.coef_)


def test_threads_give_the_same_weights():
    rng = np.random.default_rng(10)
    sequences = drawn(rng, *rng.integers(20, 60, 30))
    structure = Folding()
    y = [FoldingCodec().decode(structure.best(scored([x], scale=2.0)).codes) for x in sequences]
    one, two = (CRF(structure, l2=1.0, max_iter=3, n_jobs=n, tol=1e-9) for n in (1, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one.fit(sequences, y), two.fit(sequences, y)
    assert np.array_equal(one.coef_, two.coef_)


def test_partial_structures_teach_what_they_say():
    known = ["(((????)))", "(((????)))??", "??????????", "((((....))))"]
    model = CRF(Folding(), l2=0.01).fit(X, known)
    assert model.predict(X[:1]) == ["(((....)))"]
    assert model.annotation_.unknown == 4 + 6 + 10


def test_partners_may_be_one_of_several():
    y = [[9, OneOf(8, 7), UNKNOWN, -1, -1, -1, -1, UNKNOWN, UNKNOWN, 0], [-1] * 10]
    model = CRF(Folding(), l2=0.01).fit([X[0], X[2]], y)
    assert model.predict(X[:1])[0][0] == 9
    assert set(model.predict_nbest(X[:1], 2)[0][0][0]) <= {-1, *range(10)}


def test_marginals_of_positions_are_unpaired_and_paired():
    model = CRF(Folding(), l2=0.1).fit(X, Y)
    (found,) = model.predict_marginals(X[:1])
    assert found.shape == (10, 2) and np.allclose(found.sum(axis=1), 1.0)
    assert found[0, 1] > 0.5 > found[4, 1]
    assert model.classes_.tolist() == ["unpaired", "paired"]


def test_published_weights_are_a_start():
    model = CRF(Folding(), l2=0.1, warm_start=True).fit(X, Y)
    before = model.coef_.copy()
    model.coef_ = FoldingScorer().weights({"base_pair_CG": 5.0, "hairpin_length_at_least_4": -1.0})
    model.fit(X, Y)
    assert np.allclose(model.coef_, before, atol=0.05)


def test_decoding_by_expected_accuracy_pairs_more_the_larger_gamma_is():
    theta = scored(drawn(np.random.default_rng(11), 60), scale=0.3)
    counts = [int((Folding().min_risk(theta, gamma).codes > 0).sum()) for gamma in (0.1, 1.0, 20.0)]
    assert counts == sorted(counts) and counts[0] < counts[-1]
    few = Folding().min_risk(theta, 0.01, kind="centroid")
    assert not few.codes.any()
    with pytest.raises(ValueError, match="kind must be 'mea' or 'centroid'"):
        Folding().min_risk(theta, kind="best")


@pytest.mark.parametrize("kind", ["mea", "centroid"])
def test_decoding_of_given_probabilities(kind):
    rng = np.random.default_rng(3)
    folding, sequences = Folding(), ["GGGAAAACCCAGC", "GCGCUUCGGCGCAA"]
    one, other = (FoldingTables.of(sequences, rng.normal(size=TABLE_SIZE)) for _ in range(2))
    parts = folding.marginals(one)
    assert np.array_equal(
        folding.min_risk_of(one, parts, 2.0, kind=kind).codes, folding.min_risk(one, 2.0, kind=kind).codes
    )
    again = folding.marginals(other)
    mean = replace(
        parts, unpaired=(parts.unpaired + again.unpaired) / 2, pairs=(parts.pairs + again.pairs) / 2
    )
    found = folding.min_risk_of(one, mean, 2.0, kind=kind)
    assert np.array_equal(found.codes, folding.min_risk_of(other, mean, 2.0, kind=kind).codes)
    with pytest.raises(ValueError, match="probabilities are of other sequences than theta"):
        folding.min_risk_of(FoldingTables.of(sequences[:1], one.tables), mean)


def test_wrong_codes_are_refused_with_what_is_wrong():
    theta = FoldingTables.of(["GGGAAAACCCA"])
    for codes, message in (
        ([11, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], "G with A, which may not pair"),
        ([99, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], "neither 0 nor a position"),
        ([10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], "which is not paired with it"),
        ([9, 10, 0, 0, 0, 0, 0, 0, 1, 2, 0], "crosses another one"),
    ):
        with pytest.raises(ValueError, match=message):
            Folding().score(theta, np.array(codes))
    with pytest.raises(ValueError, match="fewer than min_hairpin=7"):
        Folding(min_hairpin=7).score(theta, np.array([0, 0, 8, 0, 0, 0, 0, 3, 0, 0, 0]))
