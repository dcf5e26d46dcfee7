"""Files of sequences and alignments: what is written is read again, and what is wrong is named with its place."""

import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palmette.apps.aligning.cigar import CigarError, format_cigar, parse_cigar
from palmette.apps.aligning.fasta import format_aligned_fasta, read_aligned_fasta, read_fasta, read_pairs
from palmette.apps.aligning.files import FORMATS, read_alignments, read_sequences, write_alignments
from palmette.apps.aligning.matrix_files import SubstitutionMatrix, read_matrix, write_matrix
from palmette.apps.aligning.paf import format_paf, read_paf
from palmette.apps.aligning.records import PairRecord, SequenceRecord, aligned_rows, check_same
from palmette.errors import DataFileError


@st.composite
def pairs(draw):
    """An aligned pair of any letters, with some core columns."""
    n, m = draw(st.integers(1, 12)), draw(st.integers(1, 12))
    a, b = (draw(st.text("ACDEFGHIKLMNPQRSTVWY", min_size=k, max_size=k)) for k in (n, m))
    k = draw(st.integers(0, min(n, m)))
    sides = [sorted(draw(st.permutations(range(length)))[:k]) for length in (n, m)]
    core = draw(st.lists(st.booleans(), min_size=k, max_size=k))
    whole = draw(st.booleans()) and all(core)
    return PairRecord(
        SequenceRecord("x", a), SequenceRecord("y", b), np.array(sides).T.reshape(k, 2), np.array(core, bool),
        whole=whole,
    )  # fmt: skip


def same(one, two):
    return (
        one.a.sequence.upper() == two.a.sequence.upper()
        and one.b.sequence.upper() == two.b.sequence.upper()
        and np.array_equal(one.matches, two.matches)
    )


@given(pairs())
@settings(max_examples=25)
def test_aligned_fasta_comes_back(pair):
    text = "".join(format_aligned_fasta([pair, pair]))
    back = list(read_aligned_fasta("-", stream=io.StringIO(text)))
    assert len(back) == 2 and all(same(pair, each) for each in back)
    if pair.core.any():
        assert np.array_equal(back[0].core, pair.core) and back[0].whole >= pair.whole
    assert (back[0].name, back[0].a.name, back[0].b.name) == ("x_y", "x", "y")


@given(pairs())
@settings(max_examples=25)
def test_paf_and_cigar_come_back(pair):
    letters = {"x": pair.a.sequence, "y": pair.b.sequence}
    back = next(read_paf("-", letters, stream=io.StringIO("".join(format_paf([pair])))))
    assert same(pair, back)
    matches, end = parse_cigar(format_cigar(pair.matches, len(pair.a), len(pair.b)))
    assert np.array_equal(matches, pair.matches) and end == (len(pair.a), len(pair.b))


@given(pairs())
@settings(max_examples=25)
def test_rows_are_canonical_and_determine_the_matches(pair):
    above, below = aligned_rows(pair.a.sequence, pair.b.sequence, pair.matches)
    assert "-A" not in "".join("A" if y == "-" else "-" if x == "-" else "m" for x, y in zip(above, below))
    assert same(pair, PairRecord.from_rows(above, below))


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_formats_by_name(tmp_path, name):
    pair = PairRecord.from_rows("MKVLA--C", "M-VLAWWC", ("x", "y"))
    path = tmp_path / f"a{FORMATS[name].suffixes[0]}"
    write_alignments(path, [pair], name)
    back = read_alignments(path, sequences={"x": "MKVLAC", "y": "MVLAWWC"})[0]
    if name == "fasta":
        assert back.matches is None and back.a.sequence == "MKVLAC"
    else:
        assert same(back, pair)


def test_a_fasta_file_is_aligned_if_it_has_gaps(tmp_path):
    path = tmp_path / "a.fa"
    path.write_text(">x\nMK-V\n>y\nMKAV\n")
    assert read_alignments(path)[0].matches.tolist() == [[0, 0], [1, 1], [2, 3]]
    path.write_text(">x\nMKV\n>y\nMKAV\n")
    assert read_alignments(path)[0].matches is None
    assert [each.name for each in read_sequences(path)] == ["x", "y"]


def test_lower_case_says_nothing_if_nothing_is_upper_case():
    for rows in (("mk-v", "mkav"), ("MK-V", "MKAV")):
        pair = PairRecord.from_rows(*rows)
        assert pair.core.all() and pair.whole and pair.marked_rows() == ("MK-V", "MKAV")
    pair = PairRecord.from_rows("MK-V", "MKaV")
    assert pair.core.all() and not pair.whole and pair.marked_rows() == ("MK-V", "MKaV")
    assert PairRecord.from_rows("Mk-v", "Mkav").core.tolist() == [True, False, False]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (">x\nMK-V\n", "1 sequences cannot be aligned two by two"),
        (">x\nMK-V\n>y\nMKV\n", "the rows of 'x' and 'y' have 4 and 3 columns"),
        (">x\nMK1V\n>y\nMKVV\n", r"<stdin>:1: column 3 of 'x' \('1'\) is neither a letter nor a gap"),
        (">x\n----\n>y\nMKVV\n", "x: the sequence is empty"),
        ("MK\n", "stands before the first '>'"),
    ],
)
def test_bad_aligned_fasta(text, message):
    with pytest.raises(DataFileError, match=message):
        list(read_aligned_fasta("-", stream=io.StringIO(text)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (">x\nMK-V\n", r"<stdin>:2: character 3 of the sequence is a gap"),
        (">x\nMK\n>y\n", "<stdin>:3: the sequence is empty"),
        (">x\nMK\nM K\n", r"<stdin>:3: character 2 of the sequence \(' '\) is no letter"),
    ],
)
def test_bad_fasta(text, message):
    with pytest.raises(DataFileError, match=message):
        list(read_fasta("-", stream=io.StringIO(text)))
    with pytest.raises(DataFileError, match="3 sequences cannot"):
        list(read_pairs("-", stream=io.StringIO(">a\nM\n>b\nM\n>c\nM\n")))


LINE = "x\t4\t0\t4\t+\ty\t5\t1\t5\t4\t4\t255\tcg:Z:4M"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (LINE.replace("\t+", "\t-"), "strand '-'"),
        (LINE.replace("cg:Z:4M", "cg:Z:3M"), "ends at 3 and 4, the line says 4 and 5"),
        (LINE.replace("\tcg:Z:4M", ""), r"no CIGAR string \(cg:Z:\)"),
        (LINE.replace("cg:Z:4M", "cg:Z:4Q"), "'Q' is none of"),
        (LINE.replace("cg:Z:4M", "cg:Z:M4"), "character 1 of the CIGAR"),
        (LINE.replace("x\t4", "x\t7"), "'x' has 7 letters here, but 4"),
        (LINE.replace("x\t4", "z\t4"), "there is no sequence 'z'"),
        ("x\t4", "2 columns; PAF has at least 12"),
        (
            LINE.replace("\t255", "\tmany").replace("x\t4\t0", "x\t4\tq"),
            "the query start 'q' is no whole number",
        ),
    ],
)
def test_bad_paf(line, message):
    with pytest.raises(DataFileError, match="<stdin>:1: .*" + message):
        list(read_paf("-", {"x": "MKVL", "y": "AMKAL"}, stream=io.StringIO(line)))


def test_an_alignment_beyond_its_sequences_is_refused():
    beyond = LINE.replace("\t1\t5\t4\t4", "\t3\t7\t4\t4")
    with pytest.raises(
        DataFileError, match=r"the match \(2, 5\) is outside: the second sequence has positions 0 to 4"
    ):
        list(read_paf("-", {"x": "MKVL", "y": "AMKAL"}, stream=io.StringIO(beyond)))
    with pytest.raises(CigarError, match="no run"):
        parse_cigar("12")


def test_references_of_other_sequences_are_refused():
    pair = PairRecord.from_rows("MK-V", "MKAV", ("x", "y"), name="p", source="ref.afa:1")
    assert check_same(pair, "mkv", "MKAV") is pair
    with pytest.raises(
        DataFileError, match=r"ref\.afa:1: p: position 2 of 'x' is V in the reference, but W in the input"
    ):
        check_same(pair, "MKW", "MKAV")
    with pytest.raises(DataFileError, match="p: 'y' has 4 letters in the reference, but 5 in the input"):
        check_same(pair, "MKV", "MKAVV")


def test_matches_must_ascend():
    with pytest.raises(ValueError, match=r"the matches \(0, 1\) and \(1, 1\) cross"):
        PairRecord(SequenceRecord("x", "MK"), SequenceRecord("y", "MK"), [(0, 1), (1, 1)])


def test_blosum62_equals_biopython():
    matrices = pytest.importorskip("Bio.Align.substitution_matrices")
    theirs, ours = matrices.load("BLOSUM62"), read_matrix("BLOSUM62")
    assert "".join(theirs.alphabet) == ours.letters
    assert np.array_equal(np.array(theirs), ours.scores)


def test_matrices_come_back(tmp_path):
    matrix = SubstitutionMatrix("ACG", np.array([[2.5, -1, 0], [-1, 3, -11], [0, -11, 4.0]]))
    write_matrix(tmp_path / "my.txt", matrix)
    back = read_matrix(tmp_path / "my.txt")
    assert back.letters == "ACG" and back.name == "my" and np.array_equal(back.scores, matrix.scores)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("  A A\nA 1 1\n", ":1: 'A' is not one letter, or there twice"),
        ("  A C\nA 1 1\n", ":2: C has no line"),
        ("  A C\nA 1\n", ":2: A has 1 scores for 2 letters"),
        ("  A C\nA 1 x\n", ":2: the score 'x' is not a number"),
        ("  A C\nA 1 inf\n", ":2: the score inf is not finite"),
        ("  A C\nA 1 2\nC 3 1\n", "AC scores 2, but CA 3; a matrix is symmetric"),
        ("  A C\nG 1 2\n", ":2: 'G' is no letter of the first line"),
        ("# nothing\n", ":1: there is no matrix"),
    ],
)
def test_bad_matrices(text, message):
    with pytest.raises(DataFileError, match=message):
        read_matrix("-", stream=io.StringIO(text))
