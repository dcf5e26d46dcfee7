"""Folders: what they fold, constraints, evidence, bad input, files."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from palmette import CRF, Multiclass
from palmette.apps.folding import (
    Folder,
    RNARecord,
    evaluate_folds,
    make_restriction,
    read_evidence,
    shape_scores,
)
from palmette.apps.folding.constraints import read_constraints
from palmette.apps.folding.decoding import families
from palmette.apps.folding.parameter_files import read_parameters
from palmette.errors import DataFileError, InfeasibleError, ModelFileError, TooLarge
from palmette.structures.folding.brackets import parse_brackets
from palmette.structures.folding.encoder import RNA
from palmette.structures.folding.feature_names import feature_names
from palmette.structures.folding.folding import Folding
from palmette.testing.folding_scores import evaluate

WEIGHTS = {
    "base_pair_CG": 1.6, "base_pair_AU": 0.7, "helix_stacking_CCGG": 0.4, "hairpin_length_at_least_3": 0.3,
    "multi_base": -1.0, "external_unpaired": 0.02, "bulge_length_at_least_1": -1.5, "internal_length_at_least_2": -0.8,
}  # fmt: skip
SEQUENCE = "GGGAAAACCCAGCGAAAGC"


@pytest.fixture(scope="module")
def folder():
    return Folder.from_parameters(WEIGHTS, min_hairpin=3)


def test_what_a_folded_sequence_says(folder):
    folded = folder.fold(RNARecord("one", SEQUENCE), decode="viterbi", suboptimal=2.0)
    assert folded.structure.startswith("(((....)))")
    assert folded.name == "one" and folded.score == pytest.approx(
        evaluate(SEQUENCE, folded.structure, WEIGHTS)
    )
    p = folded.probabilities
    assert p.shape == (len(SEQUENCE),) * 2 and np.array_equal(p, p.T) and np.all(p.sum(axis=1) <= 1 + 1e-9)
    assert 0 < folded.probability <= 1
    assert folded.alternatives[0] == (folded.structure, pytest.approx(folded.score))
    scores = [score for _, score in folded.alternatives]
    assert scores == sorted(scores, reverse=True) and scores[-1] >= scores[0] - 2.0
    for structure, score in folded.alternatives:
        assert score == pytest.approx(evaluate(SEQUENCE, structure, WEIGHTS))
    shown = folded.to_dict()
    assert all(i < j and p[i, j] >= 1e-3 for i, j, _ in shown["pair_probabilities"])
    assert folded.record().structure == folded.structure


def test_decoders(folder):
    best = folder.fold(SEQUENCE, decode="viterbi", probabilities=False)
    assert best.probabilities is None and best.probability is None
    for decode in ("mea", "centroid"):
        few, many = (len(folder.fold(SEQUENCE, decode=decode, gamma=g).pairs) for g in (0.1, 50.0))
        assert few <= many
        assert folder.fold(SEQUENCE, decode=decode, gamma=2.0).score <= best.score + 1e-9


def test_many_sequences_in_order(folder):
    many = [RNARecord(str(n), SEQUENCE[:n]) for n in range(1, 12)]
    found = list(folder.fold_all(many, n_jobs=2, probabilities=False))
    assert [folded.name for folded in found] == [record.name for record in many]
    assert [folded.structure for folded in found] == [folder.fold(r.sequence).structure for r in many]


# --------------------------------------------------------------------------------------- constraints


@given(st.data())
def test_constraints_are_met(data):
    folder = Folder.from_parameters(WEIGHTS, min_hairpin=3)
    text = data.draw(
        st.text(".x|<>", min_size=len(SEQUENCE), max_size=len(SEQUENCE)).map(lambda t: "." + t[1:])
    )
    try:
        folded = folder.fold(SEQUENCE, constraint=text, decode="viterbi", suboptimal=0.5, most=20)
    except InfeasibleError as error:
        assert "no structure satisfies the constraint" in str(error)
        return
    for structure in [folded.structure, *(each for each, _ in folded.alternatives)]:
        partner = {i: j for pair in parse_brackets(structure) for i, j in (pair, pair[::-1])}
        for t, letter in enumerate(text):
            assert not (letter == "x" and t in partner)
            assert not (letter == "|" and t not in partner)
            assert not (letter == "<" and not partner.get(t, -1) > t)
            assert not (letter == ">" and not 0 <= partner.get(t, t) < t)
    free = 1.0 - folded.probabilities.sum(axis=1)
    np.testing.assert_allclose(free[[t for t, each in enumerate(text) if each == "x"]], 1.0, atol=1e-6)
    np.testing.assert_allclose(free[[t for t, each in enumerate(text) if each in "|<>"]], 0.0, atol=1e-6)


def test_a_forced_pair(folder):
    text = ".(" + "." * 6 + ")" + "." * 10
    folded = folder.fold(SEQUENCE, constraint=text)
    assert (1, 8) in folded.pairs and folded.probabilities[1, 8] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(...", "constraint has 4 characters, the sequence 8 letters"),
        ("(.......", r"constraint, position 0: '\(' is never closed"),
        ("(...)..)", r"constraint, position 7: '\)' closes nothing"),
        ("..[..]..", r"constraint, position 2: '\[' is none of . x"),
        ("(......)", r"positions 0 and 7 are G and A, which may not pair \(pairs='canonical'\)"),
        (".(..)...", "positions 1 and 4 are closer than min_hairpin=3 allows"),
    ],
)
def test_constraints_that_cannot_be_met(text, message):
    with pytest.raises(ValueError, match=message):
        make_restriction(text, "GGAACCCA", Folding())


def test_constraints_that_leave_no_structure(folder):
    with pytest.raises(
        InfeasibleError, match=r"the sequence: no structure satisfies the constraint '\|xxxx'"
    ):
        folder.fold("GAAAC", constraint="|xxxx")


def test_constraint_files(tmp_path):
    records = [RNARecord("a", "GGAAACC"), RNARecord("b", "GAAAC")]
    path = tmp_path / "c.txt"
    path.write_text(">b\nGAAAC\n(...)\n>a\n..x....\n")
    assert read_constraints(str(path), records) == {"b": "(...)", "a": "..x...."}
    assert read_constraints("x....", records[1:]) == {"b": "x...."}
    with pytest.raises(ValueError, match="constrains one sequence, and there are 2"):
        read_constraints("x....", records)
    with pytest.raises(FileNotFoundError, match=r"none\.txt: there is no such file"):
        read_constraints(str(tmp_path / "none.txt"), records)
    for text, message in ((">c\n...\n", "there is no sequence 'c'"), (">a\n.\n>a\n.\n", "'a' has 1 constraints"),
                          (">a\nGG\n", "'a' has no constraints")):  # fmt: skip
        path.write_text(text)
        with pytest.raises(DataFileError, match=message):
            read_constraints(str(path), records)


# ------------------------------------------------------------------------------------------ evidence


def test_evidence_moves_the_structure(folder):
    plain = folder.fold(SEQUENCE)
    assert (0, 9) in plain.pairs
    scores = np.zeros(len(SEQUENCE))
    scores[:3] = 20.0
    moved = folder.fold(RNA(SEQUENCE, unpaired=scores))
    assert moved.structure[:3] == "..." and np.all(moved.probabilities[:3].sum(axis=1) < 1e-3)


def test_reactivities():
    scores = shape_scores([np.nan, -999.0, -0.2, 0.0, 1.0, 2.0], slope=2.0, intercept=-1.0)
    np.testing.assert_allclose(scores, [0, 0, -1, -1, 2 * np.log(2) - 1, 2 * np.log(3) - 1])


def test_evidence_files(tmp_path):
    path = tmp_path / "e.shape"
    records = [RNARecord("a", "GGTAC"), RNARecord("b", "GA")]
    path.write_text("1 0.5\n2 -999\n# a comment\n3 U NA\n5\t1.5\n")
    (values,) = read_evidence(path, records[:1]).values()
    np.testing.assert_array_equal(values, [0.5, np.nan, np.nan, np.nan, 1.5])
    path.write_text(">b\n1 0.5\n>a\n5 1\n")
    assert list(read_evidence(path, records)) == ["b", "a"]
    for text, message in (
        ("6 1.0\n", r"e\.shape:1: position 6 is outside of 'a', which has 5 letters"),
        ("0 1.0\n", "position 0 is outside"),
        ("1 1.0\n1 2.0\n", r"e\.shape:2: position 1 is there twice"),
        ("1 C 1.0\n", r"e\.shape:1: position 1 is 'C' here, and 'G' in the sequence"),
        ("1 high\n", "'1 high' is not 'position value'"),
        ("1 inf\n", "is not 'position value'"),
        ("1\n", "is not 'position value'"),
    ):
        path.write_text(text)
        with pytest.raises(DataFileError, match=message):
            read_evidence(path, records[:1])
    path.write_text(">c\n1 0.5\n")
    with pytest.raises(DataFileError, match="there is no sequence 'c'"):
        read_evidence(path, records)
    path.write_text(">a\n1 0.5\n>a\n1 0.5\n")
    with pytest.raises(DataFileError, match="a second list of evidence of 'a'"):
        read_evidence(path, records)


def test_evidence_of_another_length(folder):
    with pytest.raises(ValueError, match=r"unpaired has shape \(3,\), expected \(5,\)"):
        folder.fold(RNA("GAAAC", unpaired=[0.0, 0.0, 0.0]))


# ----------------------------------------------------------------------------------------- bad input


def test_short_sequences(folder):
    assert folder.fold("G").structure == "." and folder.fold("G").probabilities.shape == (1, 1)
    assert folder.fold("GC").structure == ".."
    with pytest.raises(ValueError, match="the sequence is empty: give at least one letter"):
        folder.fold("")


def test_letters(folder):
    with pytest.raises(ValueError, match=r"position 2 \(0-based\): 'J' is no letter of the alphabet"):
        folder.fold("GGJAAACC")
    assert folder.fold("gggaaaaccc").structure == folder.fold("GGGAAAACCC").structure
    assert folder.fold("GATTTTTC").structure == folder.fold("GAUUUUUC").structure
    assert folder.fold("NNNAAAANNN").structure == ".........."
    own = Folder.from_parameters(WEIGHTS, min_hairpin=3, alphabet={"7": "G"})
    assert own.fold("777AAAACCC").structure == "(((....)))"


def test_a_sequence_beyond_memory():
    folder = Folder.from_parameters(WEIGHTS, memory_limit=1e4)
    with pytest.raises(TooLarge, match="a sequence of 500 positions takes at least"):
        folder.fold("A" * 500)
    folded = folder.fold(SEQUENCE * 30, beam=100)
    assert folded.beam == 100 and folded.to_dict()["approximate"] and folded.probabilities is None
    assert folded.score == pytest.approx(evaluate(SEQUENCE * 30, folded.structure, WEIGHTS))


def test_a_beam_of_all_spans_finds_the_best_structure(folder):
    exact = folder.fold(SEQUENCE, decode="viterbi")
    found = folder.fold(SEQUENCE, beam=len(SEQUENCE))
    assert (found.structure, found.score) == (exact.structure, pytest.approx(exact.score))
    assert exact.beam is None and not exact.to_dict()["approximate"]
    assert folder.model.structure_.exact, "the folder searches exactly as before"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"decode": "cyk"}, "decode must be one of 'viterbi', 'mea', 'centroid', got 'cyk'"),
        ({"gamma": -1.0}, "gamma must be a number of at least 0"),
        ({"suboptimal": -1.0}, "suboptimal must be at least 0"),
        ({"suboptimal": 1.0, "most": 0}, "most must be a number of structures of at least 1"),
        ({"beam": 0}, "beam must be a whole number of at least 1"),
        ({"beam": 9, "probabilities": True}, "beam=9 searches for one structure"),
        ({"beam": 9, "suboptimal": 1.0}, "beam=9 searches for one structure"),
        ({"beam": 9, "decode": "mea"}, "beam=9 searches for one structure"),
    ],
)
def test_bad_settings(options, message, folder):
    with pytest.raises(ValueError, match=message):
        folder.fold("GAAAC", **options)


# ------------------------------------------------------------------------------------------ training

RECORDS = [
    RNARecord("a", "GGGGAAAACCCC", tuple(parse_brackets("((((....))))"))),
    RNARecord("b", "GCGCUUCGGCGC", tuple(parse_brackets("((((....))))"))),
    RNARecord("c", "AAAAAAGAAAA", ()),
    RNARecord("d", "GGGAAACCAC", tuple(parse_brackets("(((...)).)"))),
]


@pytest.mark.parametrize("algorithm", ["crf", "ssvm", "ramp", "perceptron"])
def test_learners(algorithm, tmp_path):
    own = {} if algorithm == "perceptron" else {"l2": 0.05}
    folder = Folder.train(RECORDS, algorithm=algorithm, **own)
    assert folder.decode == ("mea" if algorithm == "crf" else "viterbi")
    found = [folder.fold(record, decode="viterbi").pairs for record in RECORDS]
    assert evaluate_folds([record.pairs for record in RECORDS], found).f1 == 1.0
    folder.save(tmp_path / "f.palmette", data="toys")
    again = Folder.load(tmp_path / "f.palmette")
    assert again.weights == folder.weights and again.decode == folder.decode
    assert again.model.extra_["about"] == {"data": "toys"}
    assert again.fold(SEQUENCE).structure == folder.fold(SEQUENCE).structure


def test_training_goes_on_from_given_weights(tmp_path):
    start = {name: 0.25 for name in feature_names()}
    with pytest.warns(ConvergenceWarning, match="lbfgs stopped after 1 iteration"):
        untouched = Folder.train(RECORDS, start=start, l2=0.0, max_iter=1)
    assert untouched.weights["base_pair_AA"] == 0.25, "what no structure has stays as it was"
    folder = Folder.from_parameters(start)
    folder.write_parameters(tmp_path / "own.params")
    assert read_parameters(tmp_path / "own.params") == start
    folder.save(tmp_path / "f.palmette")
    assert Folder.load(tmp_path / "f.palmette").weights == start
    assert Folder.from_parameters(tmp_path / "own.params").weights == start


def test_the_penalty_is_chosen_by_f1_as_the_folder_decodes():
    with pytest.warns(UserWarning, match="the held-out score is 1 with each of 6 penalties"):
        model = Folder.train(RECORDS, tune="dev", dev=RECORDS[:2]).model
    assert model.l2_ in model.l2s_ and model.best_score_ == model.cv_scores_.max()
    same = Folder.train(RECORDS, l2=model.l2_)
    found = [same.fold(record).pairs for record in RECORDS[:2]]
    assert evaluate_folds([each.pairs for each in RECORDS[:2]], found).f1 == pytest.approx(model.best_score_)
    named = [replace(record, group=f"family {k % 2}") for k, record in enumerate(RECORDS)]
    assert Folder.train(named, tune=2).model.cv_scores_.shape[1] == 2
    with pytest.raises(ValueError, match="tune=3 needs at least 3 families, and the data has 2"):
        Folder.train(named, tune=3)
    with pytest.raises(ValueError, match="tune=5 needs at least 5 sequences, and the data has 4"):
        Folder.train(RECORDS, tune=5)
    with pytest.raises(ValueError, match="tune chooses l2, and this Perceptron has none"):
        Folder.train(RECORDS, algorithm="perceptron", tune=2)


def test_relatives_are_held_out_together():
    named = [replace(record, group=group) for record, group in zip(RECORDS, ("x", "", "x", ""))]
    numbers = families(named)
    assert numbers[0] == numbers[2] and len(set(numbers.tolist())) == 3
    assert families(RECORDS) is None


def test_bad_trainings():
    with pytest.raises(ValueError, match="'x' has no structure to learn from"):
        Folder.train([RNARecord("x", "GAAAC")])
    with pytest.raises(ValueError, match="there is nothing to learn from"):
        Folder.train([])
    with pytest.raises(ValueError, match="algorithm='svm' is unknown"):
        Folder.train(RECORDS, algorithm="svm")
    with pytest.raises(ValueError, match="the perceptron has no penalty"):
        Folder.train(RECORDS, algorithm="perceptron", l2=1.0)
    with pytest.raises(ValueError, match="missed and false are costs of ssvm and ramp"):
        Folder.train(RECORDS, missed=1.0)
    with pytest.raises(ValueError, match="solver='cccp' does not support crf"):
        Folder.train(RECORDS, solver="cccp")
    with pytest.raises(ValueError, match="there is no weight 'triple'"):
        Folder.from_parameters({"triple": 1.0})
    with pytest.raises(ValueError, match="the weight 'multi_base' is nan"):
        Folder.from_parameters({"multi_base": float("nan")})


def test_models_of_others_are_refused(tmp_path):
    CRF(Multiclass()).fit([[0.0], [1.0]], [0, 1]).save(tmp_path / "m.palmette")
    with pytest.raises(ModelFileError, match="this CRF does not fold RNA"):
        Folder.load(tmp_path / "m.palmette")


# ------------------------------------------------------------------------------------------ measures


def test_measures():
    report = evaluate_folds([[(0, 8), (1, 7)], []], [[(0, 8)], []])
    assert report.sensitivity == 0.75 and report.selectivity == 1.0
    assert report.f1 == pytest.approx((2 / 3 + 1) / 2) and report.pooled["sensitivity"] == 0.5
    assert report.to_dict()["pairs"] == 2 and "sensitivity 0.7500" in report.headline()
    assert "2 sequences, 2 pairs, 1 predicted" in report.format()
    with pytest.raises(ValueError, match="there are 1 references, but 2 predictions"):
        evaluate_folds([[]], [[], []])
    with pytest.raises(ValueError, match="there is nothing to compare"):
        evaluate_folds([], [])


def test_the_folder_of_the_package():
    folder = Folder.pretrained()
    assert folder.model.extra_["about"]["licence"] == "CC0 (Rfam)" and folder.decode == "mea"
    trna = "GCGGAUUUAGCUCAGUUGGGAGAGCGCCAGACUGAAGAUCUGGAGGUCCUGUGUUCGAUCCACAGAAUUCGCACCA"
    known = "(((((((..((((........)))).((((.........)))).....(((((.......))))))))))))...."
    found = folder.fold(trna, decode="viterbi")
    assert evaluate_folds([parse_brackets(known)], [found.pairs]).f1 > 0.8


def test_it_can_be_trained_anew(tmp_path, monkeypatch):
    from sklearn.utils import Bunch

    from palmette.apps.folding import pretrained

    few = Bunch(names=["a", "b"], data=["GGGGAAAACCCC", "AAAAAAAA"], target=["((((....))))", "........"])
    monkeypatch.setattr("palmette.datasets.load_rna", lambda name: few, raising=False)
    folder = pretrained.train_pretrained(str(tmp_path / "own.palmette"))
    assert Folder.load(tmp_path / "own.palmette").weights == folder.weights
