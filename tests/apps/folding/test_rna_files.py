"""Files of sequences and structures: round trips, other readers as oracles, and errors that say where."""

from __future__ import annotations

import gzip
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palmette.apps.folding.fasta import format_dot_bracket, format_fasta, read_dot_bracket, read_fasta
from palmette.apps.folding.files import FORMATS, read_records, write_records
from palmette.apps.folding.pair_tables import format_bpseq, format_ct, read_bpseq, read_ct
from palmette.apps.folding.records import RNARecord
from palmette.apps.folding.stockholm import (
    Alignment,
    as_alignments,
    format_stockholm,
    read_alignments,
    read_stockholm,
)
from palmette.errors import DataFileError
from palmette.structures.folding.brackets import (
    check_pairs,
    crossing,
    format_brackets,
    nested,
    parse_brackets,
)


def pairs_of(order: list[int], n_pairs: int) -> list[tuple[int, int]]:
    return sorted(tuple(sorted(order[2 * k : 2 * k + 2])) for k in range(n_pairs))


@st.composite
def pair_sets(draw, most=14):
    """A length and pairs that may cross."""
    length = draw(st.integers(1, most))
    order = draw(st.permutations(range(length)))
    return length, pairs_of(list(order), draw(st.integers(0, length // 2)))


@st.composite
def records(draw, crossing_too=True):
    length, pairs = draw(pair_sets())
    if not crossing_too:
        pairs = nested(pairs)[0]
    letters = draw(st.text("ACGUN", min_size=length, max_size=length))
    name = draw(st.text("abcXYZ019_|/.", min_size=1, max_size=8))
    return RNARecord(name, letters, tuple(pairs))


def facts(record):
    return record.name, record.sequence, record.pairs


# ----------------------------------------------------------------------------------------- brackets


@given(pair_sets())
def test_brackets_round_trip(given_pairs):
    length, pairs = given_pairs
    text = format_brackets(pairs, length)
    assert len(text) == length and parse_brackets(text) == pairs
    assert set(text) <= set("().") or crossing(pairs) is not None


def crosses(a, b):
    return a[0] < b[0] < a[1] < b[1] or b[0] < a[0] < b[1] < a[1]


@given(pair_sets(12))
def test_nested_is_the_largest_set_without_crossing(given_pairs):
    _, pairs = given_pairs
    kept, dropped = nested(pairs)
    assert sorted(kept + dropped) == pairs and crossing(kept) is None
    largest = 0
    for mask in range(2 ** len(pairs)):
        chosen = [pair for k, pair in enumerate(pairs) if mask >> k & 1]
        if not any(crosses(a, b) for a in chosen for b in chosen):
            largest = max(largest, len(chosen))
    assert len(kept) == largest
    free = [pair for pair in pairs if not any(crosses(pair, other) for other in pairs)]
    assert set(free) <= set(kept)
    assert (crossing(pairs) is None) == (not dropped)


@given(pair_sets())
def test_brackets_agree_with_vienna(given_pairs):
    RNA = pytest.importorskip("RNA")
    length, pairs = given_pairs
    pairs = nested(pairs)[0]
    table = RNA.ptable(format_brackets(pairs, length))
    assert [(i - 1, j - 1) for i, j in enumerate(table[1:], 1) if j > i] == pairs


@pytest.mark.parametrize(
    ("text", "message", "position"),
    [
        ("..)", r"position 2: '\)' closes nothing", 2),
        ("((.)", r"position 0: '\(' is never closed", 0),
        ("(].)", r"position 1: '\]' closes nothing; every one needs a '\['", 1),
        ("..?", r"position 2: '\?' is neither", 2),
    ],
)
def test_bad_brackets_name_the_position(text, message, position):
    with pytest.raises(ValueError, match=message) as caught:
        parse_brackets(text)
    assert caught.value.position == position


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([(0, 5)], r"pair \(0, 5\) is outside of 0 to 4"),
        ([(2, 2)], r"pair \(2, 2\) pairs a position with itself"),
        ([(0, 3), (3, 4)], "position 3 is paired twice, with 0 and 4"),
        ([(-1, 3)], r"pair \(-1, 3\) is outside"),
    ],
)
def test_bad_pairs(pairs, message):
    with pytest.raises(ValueError, match=message):
        check_pairs(pairs, 5)


# ------------------------------------------------------------------------------------------- formats


@given(st.lists(records(), min_size=1, max_size=4))
def test_every_format_round_trips(some):
    for form, read in (
        (format_dot_bracket, read_dot_bracket),
        (format_ct, read_ct),
        (format_bpseq, read_bpseq),
    ):
        text = "".join(form(some))
        again = list(read("-", pseudoknots="keep", stream=io.StringIO(text)))
        assert list(map(facts, again)) == list(map(facts, some)), read.__name__
    again = read_fasta("-", stream=io.StringIO("".join(format_fasta(some))))
    assert [(r.name, r.sequence) for r in again] == [(r.name, r.sequence) for r in some]
    text = "".join(format_stockholm(as_alignments(some)))
    again = list(read_stockholm("-", pseudoknots="keep", stream=io.StringIO(text)))
    assert list(map(facts, again)) == list(map(facts, some))


@given(st.lists(records(), min_size=1, max_size=4), st.integers(1, 9))
def test_fasta_agrees_with_biopython(some, width):
    from Bio import SeqIO

    text = "".join(
        f">{r.name} what it is\n" + "".join(f"{r.sequence[a : a + width]}\n" for a in range(0, len(r), width))
        for r in some
    )
    ours = [(r.name, r.sequence) for r in read_fasta("-", stream=io.StringIO(text))]
    assert ours == [(r.id, str(r.seq)) for r in SeqIO.parse(io.StringIO(text), "fasta")]
    written = "".join(format_fasta(some))
    assert [str(r.seq) for r in SeqIO.parse(io.StringIO(written), "fasta")] == [r.sequence for r in some]


BLOCKS = """# STOCKHOLM 1.0
#=GF ID   hammer
#=GF AC   RF00008
#=GF DE   Hammerhead
#=GS a/1-9 OS Somebody

a/1-9       GGA-AA
#=GR a/1-9 SS ((....
b.2         GCAUA-
#=GC SS_cons <<__A-
#=GC RF     GGaxAx

a/1-9       ACC
#=GR a/1-9 SS ..))
b.2         AGC
#=GC SS_cons a>>
#=GC RF     ACC
//
""".replace("..))", ".))")


def test_stockholm_agrees_with_biopython():
    from Bio import AlignIO

    (ours,) = read_alignments("-", stream=io.StringIO(BLOCKS))
    theirs = AlignIO.read(io.StringIO(BLOCKS), "stockholm")
    assert ours.name == "RF00008" and ours.notes["DE"] == ["Hammerhead"]
    assert dict(ours.rows) == {r.id: str(r.seq) for r in theirs}
    assert ours.consensus == theirs.column_annotations["secondary_structure"]
    assert ours.columns["RF"] == theirs.column_annotations["reference_annotation"]
    assert ours.structures["a/1-9"] == theirs[0].letter_annotations["secondary_structure"]
    again = AlignIO.read(io.StringIO("".join(format_stockholm([ours]))), "stockholm")
    assert [(r.id, str(r.seq)) for r in again] == [(r.id, str(r.seq)) for r in theirs]
    assert again.column_annotations["secondary_structure"] == ours.consensus


def test_consensus_is_projected_on_each_sequence():
    knot = BLOCKS.replace("<<__A-", "<A__--").replace("a>>", "_>a")
    with pytest.raises(DataFileError, match=r"<stdin>:1 \(a/1-9\): the pairs 1-7 and 2-8 cross"):
        list(read_stockholm("-", stream=io.StringIO(knot)))
    a, b = read_stockholm("-", stream=io.StringIO(BLOCKS))
    assert (a.sequence, a.structure, a.lost, a.group) == ("GGAAAACC", "((.(.)))", 0, "RF00008")
    assert (b.sequence, b.structure) == ("GCAUAAGC", "((..()))")
    rows = {"a": "GGAA-CC", "b": "-GAAAC-"}
    (_, short) = Alignment(rows, "((...))").records()
    assert (short.sequence, short.structure, short.lost) == ("GAAAC", "(...)", 1)
    alone = Alignment(rows, None, structures={"a": "((...))"})
    assert [r.structure for r in alone.records()] == ["((..))", None]


@given(records(), st.data())
def test_projection_keeps_the_pairs_between_letters(record, data):
    gaps = data.draw(st.lists(st.booleans(), min_size=len(record), max_size=len(record)))
    if all(gaps):
        gaps[0] = False
    row = "".join("-" if gap else letter for gap, letter in zip(gaps, record.sequence))
    (out,) = Alignment({"a": row}, record.structure).records("keep")
    place = [i for i, gap in enumerate(gaps) if not gap]
    assert out.sequence == row.replace("-", "")
    assert [(place[i], place[j]) for i, j in out.pairs] == [
        (i, j) for i, j in record.pairs if not gaps[i] and not gaps[j]
    ]
    assert out.lost == len(record.pairs) - len(out.pairs)


def test_files_by_name_and_by_content(tmp_path):
    record = RNARecord("one", "GGAAACC", ((0, 6), (1, 5)))
    for name, form in FORMATS.items():
        path = tmp_path / f"x{form.suffixes[0]}"
        write_records(path, [record])
        (read,) = read_records(path)
        assert read.pairs == (None if name == "fasta" else record.pairs)
        assert read.source.startswith(f"{path}:{2 if name == 'bpseq' else 1}")
        unnamed = tmp_path / f"unnamed-{name}"
        unnamed.write_bytes(path.read_bytes())
        assert facts(read_records(unnamed)[0])[1:] == facts(read)[1:]
        packed = tmp_path / f"{path.name}.gz"
        packed.write_bytes(gzip.compress(path.read_bytes()))
        assert facts(read_records(packed)[0]) == facts(read)
    with pytest.raises(DataFileError, match="this is none of fasta, dot-bracket"):
        (tmp_path / "what").write_text("two words\n")
        read_records(tmp_path / "what")
    with pytest.raises(ValueError, match="format must be one of 'fasta'"):
        read_records(tmp_path / "x.ct", "connect")


def test_a_file_that_cannot_be_written_leaves_the_old_one(tmp_path):
    path = tmp_path / "a.ct"
    write_records(path, [RNARecord("a", "GAAAC", ((0, 4),))])
    before = path.read_bytes()
    with pytest.raises(ValueError, match="'b' has no structure"):
        write_records(path, [RNARecord("a", "GAAAC", ()), RNARecord("b", "A")])
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


def test_headers_may_be_missing_and_energies_are_left_out():
    (record,) = read_dot_bracket("-", stream=io.StringIO("GGAAACC\n((...)) (-1.20)\n"))
    assert facts(record) == ("sequence", "GGAAACC", ((0, 6), (1, 5)))
    (record,) = read_dot_bracket("-", stream=io.StringIO(">x\nGGAA\nACC\n((..\n.))\n"))
    assert facts(record) == ("x", "GGAAACC", ((0, 6), (1, 5)))
    (record,) = read_ct("-", stream=io.StringIO("1 ENERGY = -2.0 tiny rna\n1 G 0 0 0 1\n"))
    assert facts(record) == ("tiny", "G", ())


# ----------------------------------------------------------------------------------------- bad input

KNOT = ">a\nGGGAAACCCUUU\n(([[..)).]].\n"


def test_pseudoknots_are_reported_dropped_or_kept():
    with pytest.raises(
        DataFileError, match=r"<stdin>:3: the pairs 2-7 and 3-11 cross \(a pseudoknot\), and 2 pairs"
    ):
        list(read_dot_bracket("-", stream=io.StringIO(KNOT)))
    (dropped,) = read_dot_bracket("-", pseudoknots="drop", stream=io.StringIO(KNOT))
    assert dropped.structure == "((....))...." and dropped.dropped == ((2, 10), (3, 9))
    (kept,) = read_dot_bracket("-", pseudoknots="keep", stream=io.StringIO(KNOT))
    assert kept.structure == "(([[..)).]]." and kept.dropped == ()
    with pytest.raises(ValueError, match="pseudoknots must be one of 'error', 'drop', 'keep', got 'yes'"):
        list(read_dot_bracket("-", pseudoknots="yes", stream=io.StringIO(KNOT)))


@pytest.mark.parametrize(
    ("read", "text", "message"),
    [
        (read_fasta, "", r"<stdin>:1: there is no sequence"),
        (read_fasta, "GGA\n", r"<stdin>:1: 'GGA' stands before the first '>'"),
        (read_fasta, ">a\n\n>b\nGG\n", r"<stdin>:1: the sequence is empty"),
        (read_fasta, ">\nGG\n", r"<stdin>:1: the entry has no name"),
        (read_fasta, ">a\nGG\nA-G\n", r"<stdin>:3: character 2 of the sequence is a gap \('-'\)"),
        (read_fasta, ">a\nGG&A\n", r"<stdin>:2: character 3 of the sequence is '&'"),
        (read_fasta, ">a\nGG 12\n", r"<stdin>:2: character 3 of the sequence \(' '\) is no letter"),
        (
            read_dot_bracket,
            ">a\nGGAC\n(..\n",
            r"<stdin>:3: the structure of 'a' has 3 characters, the sequence 4",
        ),
        (read_dot_bracket, ">a\nGGAC\n(..)\n...)\n", r"<stdin>:4: a second structure of 'a'"),
        (
            read_dot_bracket,
            ">a\nGGAC\n(...\n",
            r"<stdin>:3: character 1 of the structure: '\(' is never closed",
        ),
        (
            read_dot_bracket,
            ">a\nGGAC\n...)\n",
            r"<stdin>:3: character 4 of the structure: '\)' closes nothing",
        ),
        (read_dot_bracket, ">a\nGGAC\n.?..\n", r"<stdin>:3: character 2 of the structure: '\?' is neither"),
        (read_ct, "", r"<stdin>:1: there is no structure"),
        (read_ct, "two a\n", r"<stdin>:1: the number of positions 'two' is not a whole number"),
        (read_ct, "0 a\n", r"<stdin>:1: a structure of 0 positions"),
        (read_ct, "2 a\n1 G 0 2 0 1\n", r"<stdin>:2: the file ends here, 1 positions too early"),
        (read_ct, "2 a\n1 G 0 2\n", r"<stdin>:2: 4 columns; a line is"),
        (read_ct, "2 a\n2 G 0 2 0 1\n", r"<stdin>:2: position 2 stands where 1 is expected"),
        (read_bpseq, "1 G 3\n2 A 0\n", r"<stdin>:1: position 1 is paired with 3, and there are 2"),
        (read_bpseq, "1 G 1\n", r"<stdin>:1: position 1 cannot be paired with 1"),
        (read_bpseq, "1 G 3\n2 A 0\n3 C 2\n", r"<stdin>:1: position 1 is paired with 3, but 3 with 2"),
        (read_bpseq, "1 G 2\n2 A 0\n", r"<stdin>:1: position 1 is paired with 2, but 2 with nothing"),
        (read_bpseq, "1 GG 0\n", r"<stdin>:1: 'GG' is not one letter"),
        (read_bpseq, "1 G\n", r"<stdin>:1: 2 columns; a line is 'i letter partner'"),
        (read_bpseq, "1 G x\n", r"<stdin>:1: the partner 'x' is not a whole number"),
        (read_bpseq, "1 G 3\n2 G 4\n3 C 1\n4 C 2\n", r"<stdin>:1: the pairs 1-3 and 2-4 cross"),
        (read_stockholm, "", r"<stdin>:1: there is no alignment"),
        (read_stockholm, "a GG\n", r"<stdin>:1: 'a GG' stands where '# STOCKHOLM 1.0'"),
        (read_stockholm, "# STOCKHOLM 1.0\na GG\n", r"<stdin>:2: the file ends inside the alignment"),
        (read_stockholm, "# STOCKHOLM 1.0\na\n//\n", r"<stdin>:2: 1 columns where 2 are expected"),
        (read_stockholm, "# STOCKHOLM 1.0\n//\n", r"<stdin>:1: the alignment has no sequences"),
        (
            read_stockholm,
            "# STOCKHOLM 1.0\na GG\nb GGA\n//\n",
            r"<stdin>:1: the row 'b' has 3 columns, the first 2",
        ),
        (
            read_stockholm,
            "# STOCKHOLM 1.0\na GGA\n#=GC SS_cons (..\n//\n",
            r"<stdin>:1 \(SS_cons\): character 1 of the structure: '\(' is never closed",
        ),
        (read_stockholm, "# STOCKHOLM 1.0\na ---\n//\n", r"<stdin>:1 \(a\): the sequence is empty"),
    ],
)
def test_errors_name_file_line_and_position(read, text, message):
    with pytest.raises(DataFileError, match=message):
        list(read("-", stream=io.StringIO(text)))


@given(st.text("GAC>.()[]{}<>aA01 \n#=/-&", max_size=60))
def test_no_text_makes_a_reader_fail_otherwise(text):
    for read in (read_fasta, read_dot_bracket, read_ct, read_bpseq, read_stockholm):
        try:
            for record in read("-", stream=io.StringIO(text)):
                assert len(record) > 0
        except DataFileError as error:
            assert str(error).startswith("<stdin>:")
