"""Aligners: what they align, constraints, posteriors, bad input, learning, files."""

from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palmette import CRF, Multiclass
from palmette.apps.aligning import (
    Aligner,
    Constraint,
    PairRecord,
    SequenceRecord,
    evaluate_alignments,
    read_matrix,
)
from palmette.apps.aligning.learners import make_learner
from palmette.apps.aligning.matrix_files import SubstitutionMatrix
from palmette.apps.aligning.parameter_files import (
    contralign_names,
    from_contralign,
    read_parameters,
    write_parameters,
)
from palmette.errors import DataFileError, InfeasibleError, ModelFileError, TooLarge
from palmette.structures.alignment.alignment import Alignment
from palmette.structures.alignment.encoder import SequencePair

A, B = "MKVLAWFGKRDE", "MKVAWFGRDEE"
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
PROTEIN = st.text("ARNDCQEGHILKMFPSTWYV", min_size=1, max_size=12)


@pytest.fixture(scope="module")
def aligner():
    return Aligner.from_matrix("BLOSUM62", open=-11, extend=-1)


def gotoh(a, b, matrix, open, extend, free=False):
    """The highest score of a global alignment, from the definition: gaps in either order between matches."""
    n, m = len(a), len(b)
    low = -1e9
    best = np.full((3, n + 1, m + 1), low)
    best[0, 0, 0] = 0.0
    for i in range(n + 1):
        for j in range(m + 1):
            if i and j:
                best[0, i, j] = best[:, i - 1, j - 1].max() + matrix[a[i - 1], b[j - 1]]
            at_end_b, at_end_a = free and j in (0, m), free and i in (0, n)
            if i:
                first, further = (0.0, 0.0) if at_end_b else (open, extend)
                best[1, i, j] = max(best[[0, 2], i - 1, j].max() + first, best[1, i - 1, j] + further)
            if j:
                first, further = (0.0, 0.0) if at_end_a else (open, extend)
                best[2, i, j] = max(best[[0, 1], i, j - 1].max() + first, best[2, i, j - 1] + further)
    return best[:, n, m].max()


@given(PROTEIN, PROTEIN, st.booleans())
@settings(max_examples=25)
def test_the_score_is_that_of_the_matrix(a, b, free):
    aligner = Aligner.from_matrix(open=-7, extend=-2, free_ends=free)
    aligned = aligner.align(a, b, posteriors=False)
    assert aligned.score == pytest.approx(gotoh(a, b, read_matrix("BLOSUM62"), -7, -2, free))
    assert np.all(np.diff(aligned.matches, axis=0) > 0)


def test_biopython_has_the_same_score(aligner):
    align = pytest.importorskip("Bio.Align")
    other = align.PairwiseAligner(open_gap_score=-11, extend_gap_score=-1)
    other.substitution_matrix = align.substitution_matrices.load("BLOSUM62")
    assert aligner.align(A, B).score == other.score(A, B)


def test_what_an_aligned_pair_says(aligner):
    aligned = aligner.align(SequenceRecord("x", A), SequenceRecord("y", B), best=4)
    assert aligned.name == "x_y" and aligned.names == ("x", "y")
    assert aligned.rows[0].replace("-", "") == A and aligned.rows[1].replace("-", "") == B
    p = aligned.posteriors
    assert p.shape == (len(A), len(B))
    np.testing.assert_allclose(p.sum(axis=1) + aligned.gaps_a, 1.0, atol=1e-6)
    np.testing.assert_allclose(p.sum(axis=0) + aligned.gaps_b, 1.0, atol=1e-6)
    assert 0 < aligned.probability <= 1 and len(aligned.confidence) == len(aligned.rows[0])
    scores = [aligned.score, *(score for _, score in aligned.alternatives)]
    assert len(scores) == 4 and scores == sorted(scores, reverse=True)
    shown = aligned.to_dict()
    assert shown["cigar"] == aligned.cigar and shown["alternatives"][0]["score"] == scores[1]
    assert aligned.record().matches.tolist() == aligned.matches.tolist()
    bare = aligner.align(A, B, posteriors=False)
    assert bare.confidence is None and bare.probability is None and "confidence" not in bare.to_dict()


def test_the_unit_is_the_temperature(aligner):
    cold, hot = (replace(aligner, unit=unit).align(A, B) for unit in (5.0, 0.01))
    assert cold.probability > 0.99 > hot.probability
    assert cold.score == hot.score


def test_decoders(aligner):
    mea = [aligner.align(A, B, decode="mea", gamma=gamma) for gamma in (0.0, 1.0, 50.0)]
    assert [len(each.matches) for each in mea] == sorted((len(each.matches) for each in mea), reverse=True)
    best = mea[0].posteriors
    viterbi = aligner.align(A, B).matches
    assert best[tuple(mea[0].matches.T)].sum() >= best[tuple(viterbi.T)].sum() - 1e-9


def test_constraints_are_met(aligner):
    aligned = aligner.align(A, B, constraint="1=2 a4- b1- 12!11")
    assert [0, 1] in aligned.matches.tolist() and 3 not in aligned.matches[:, 0]
    assert [11, 10] not in aligned.matches.tolist() and aligned.posteriors[0, 1] == pytest.approx(1.0)
    same = aligner.align(A, B, constraint=Constraint(((0, 1),), ((11, 10),), ((3,), (0,))))
    assert same.matches.tolist() == aligned.matches.tolist()


def test_features_beside_the_letters(aligner):
    scores = np.zeros((len(A), len(B)))
    scores[0, 10] = 1000.0
    assert [0, 10] in aligner.align(SequencePair(A, B, scores=scores)).matches.tolist()


def test_many_pairs_in_their_order(aligner):
    pairs = [("MKV", "MV"), ("WWW", "WW"), PairRecord.from_rows("ACD", "ACD", name="p")]
    found = list(aligner.align_all(pairs, n_jobs=2, posteriors=False))
    assert [each.a for each in found] == ["MKV", "WWW", "ACD"] and found[2].name == "p"


@pytest.mark.parametrize(
    ("a", "b", "options", "error", "message"),
    [
        ("MK1", "MK", {}, ValueError, r"the pair: the pair\[0\], position 2 \(0-based\): '1' is no letter"),
        ("MK", "M-K", {}, ValueError, r"the pair\[1\], position 1 .*: '-' is no letter"),
        ("", "MK", {}, ValueError, r"the pair\[0\] is an empty sequence"),
        ("MK", "MK", {"decode": "best"}, ValueError, "decode must be one of 'viterbi', 'mea', got 'best'"),
        ("MK", "MK", {"gamma": -1.0}, ValueError, "gamma must be a number of at least 0, got -1.0"),
        ("MK", "MK", {"best": 0}, ValueError, "best must be a number of alignments of at least 1"),
        ("MK", "MK", {"constraint": "1=2 2=1"}, ValueError, "the pair: constraint: the matches 0=1 and 1=0 .* cross"),
        ("MK", "MK", {"constraint": "3=1"}, ValueError, "position 2 .from 0. is outside: the first sequence has 2"),
        ("MK", "MK", {"constraint": "1=1 a2+ b2-"}, InfeasibleError, "no alignment satisfies the constraint; relax it"),
        ("MK", None, {}, TypeError, "give two sequences"),
        ("MK", 3, {}, TypeError, "b must be a string or SequenceRecord, got int"),
    ],
)  # fmt: skip
def test_bad_input(aligner, a, b, options, error, message):
    with pytest.raises(error, match=message):
        aligner.align(a, b, **options)


def test_a_profile_of_another_length_is_refused():
    profiles = [(np.ones((3, 2)), np.ones((2, 2)))] * 2
    pairs = [SequencePair("ACD", "AD", profiles=each) for each in profiles]
    model = CRF(Alignment(), max_iter=1).fit(pairs, [[(0, 0), (2, 1)]] * 2)
    with pytest.raises(ValueError, match=r"profiles\[1\] has shape \(2, 2\), expected \(3, 2\)"):
        Aligner(model).align(SequencePair("ACD", "ADE", profiles=profiles[0]))


def test_a_pair_beyond_memory_is_refused(aligner):
    small = Aligner.from_matrix(memory_limit=1000.0)
    with pytest.raises(TooLarge, match="memory_limit"):
        small.align("M" * 300, "M" * 300)


def test_matrices_of_other_alphabets():
    matrix = SubstitutionMatrix("ACGT", 3.0 * np.eye(4) - 1.0)
    aligner = Aligner.from_matrix(matrix, open=-2, extend=-1, alphabet="dna")
    assert aligner.align("ACGTN", "AGTN", posteriors=False).score == 2 + 2 + 2 - 2 - 1
    with pytest.raises(ValueError, match="leave features and long_gaps out"):
        Aligner.from_matrix(long_gaps=True)
    with pytest.raises(ValueError, match="open must be a finite number"):
        Aligner.from_matrix(open=np.inf)


def random_references(n, seed=0):
    """Pairs whose alignments are copies with some letters left out and some changed."""
    rng = np.random.default_rng(seed)
    letters, found = np.array(list("ARNDCQEGHILKMFPSTWYV")), []
    for k in range(n):
        a = rng.choice(letters, 25)
        kept = rng.random(25) < 0.85
        b = np.where(rng.random(25) < 0.2, rng.choice(letters, 25), a)
        row = "".join(np.where(kept, b, "-"))
        found.append(PairRecord.from_rows("".join(a), row, name=f"p{k}"))
    return found


@pytest.mark.parametrize("algorithm", ["crf", "ssvm", "soft_hinge", "ramp", "perceptron"])
@pytest.mark.parametrize("core", [False, True])
def test_learners(algorithm, core):
    pairs = random_references(12)
    if core:
        pairs = [
            PairRecord.from_rows(a[:5].lower() + a[5:], b[:5].lower() + b[5:])
            for a, b in (p.rows for p in pairs)
        ]
        assert not pairs[0].whole
    options = {} if algorithm == "perceptron" else {"l2": 0.1}
    aligner = Aligner.train(pairs, algorithm=algorithm, max_iter=5, **options)
    assert aligner.decode == ("mea" if algorithm in ("crf", "soft_hinge") else "viterbi")
    report = evaluate_alignments(pairs, [each.matches for each in aligner.align_all(pairs)])
    assert report.recall > 0.9


def test_training_refuses_bad_settings():
    pairs = random_references(2)
    with pytest.raises(ValueError, match="nothing to learn from"):
        Aligner.train([])
    with pytest.raises(ValueError, match="references must be one of 'core', 'all'"):
        Aligner.train(pairs, references="some")
    with pytest.raises(ValueError, match="'p0' has no alignment to learn from"):
        Aligner.train([PairRecord(pairs[0].a, pairs[0].b, name="p0")])
    with pytest.raises(ValueError, match="algorithm='svm' is unknown"):
        make_learner("svm", Alignment())
    with pytest.raises(ValueError, match="the perceptron has no penalty"):
        make_learner("perceptron", Alignment(), l2=1.0)
    with pytest.raises(ValueError, match="missed and false are costs of ssvm, soft_hinge and ramp"):
        make_learner("crf", Alignment(), missed=1.0)


def test_files(tmp_path, aligner):
    path = tmp_path / "a.palmette"
    replace(aligner, decode="mea", gamma=0.5).save(path, data="none")
    back = Aligner.load(path)
    assert (back.decode, back.gamma, back.unit) == ("mea", 0.5, aligner.unit)
    assert back.align(A, B).matches.tolist() == aligner.align(A, B, decode="mea", gamma=0.5).matches.tolist()
    CRF(Multiclass(), max_iter=1).fit([[0.0], [1.0]], [0, 1]).save(path)
    with pytest.raises(ModelFileError, match="this CRF does not align pairs"):
        Aligner.load(path)


def test_parameter_files_come_back(tmp_path, aligner):
    path = tmp_path / "own.params"
    aligner.write_parameters(path)
    back = Aligner.from_parameters(path, long_gaps=False, features=("substitution",), decode="viterbi")
    assert back.weights == aligner.weights
    assert back.align(A, B).score == aligner.align(A, B).score


def test_a_file_of_contralign_is_translated(tmp_path):
    rng = np.random.default_rng(0)
    raw = dict(zip(contralign_names(), rng.normal(size=362).tolist()))
    write_parameters(tmp_path / "c.params", raw)
    assert read_parameters(tmp_path / "c.params") == from_contralign(raw)
    assert Aligner.from_parameters(raw).weights == Aligner.from_parameters(tmp_path / "c.params").weights


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("match_AA 1 2\n", ":1: 3 columns; a line is 'name value'"),
        ("match_AA x\n", ":1: the value 'x' of 'match_AA' is not a number"),
        ("match_AA nan\n", ":1: the value of 'match_AA' is nan; it must be finite"),
        ("match_AA 1\nmatch_AA 1\n", ":2: 'match_AA' is there twice"),
        ("match?AA 1\n", ":1: 'match.AA' is no name of a weight"),
        ("match_to_match 1\n", "361 of 362 weights of CONTRAlign are missing, the first is 'match'"),
        ("match_to_match 1\nend_open 1\n", "'end_open' is no weight of CONTRAlign's files"),
        ("# nothing\n", ":1: there are no weights in the file"),
    ],
)
def test_bad_parameter_files(text, message):
    with pytest.raises(DataFileError, match=message):
        read_parameters("-", stream=io.StringIO(text))


def test_unknown_weights_are_refused():
    with pytest.raises(ValueError, match="there is no weight 'match_11'"):
        Aligner.from_parameters({"match_11": 1.0})
    with pytest.raises(ValueError, match="the weight 'match' is inf; it must be finite"):
        Aligner.from_parameters({"match": np.inf})


@pytest.mark.data
def test_published_parameters_align_well():
    """CONTRAlign's weights find more core columns than BLOSUM62, on every 20th pair of PREFAB."""
    from palmette.datasets import load_alignment_parameters, load_alignments

    data = load_alignments("prefab")
    pairs = [PairRecord.from_rows(*rows) for rows in data.target[::20]]

    def recall(aligner):
        return evaluate_alignments(
            pairs, [x.matches for x in aligner.align_all(pairs, posteriors=False)]
        ).recall

    matrix = recall(Aligner.from_matrix(free_ends=True))
    assert recall(Aligner.from_parameters(load_alignment_parameters())) > matrix + 0.03 and matrix > 0.45
