"""Column files: what is a token, a comment, a column; errors by file and line; writing back unchanged."""

import gzip
import io
import lzma
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palmette.apps.tagging.columns import iter_columns, read_columns
from palmette.errors import DataFileError, DatasetUnavailable

CONLLU_WORDS = "1-2\tdon't\t_\n1\tdo\tAUX\n2\tnot\tPART\n2.1\tgo\t_\n"
CONLLU = f"# newpar\n# text = don't\n{CONLLU_WORDS}\n# sent_id = 2\n1\t#\tSYM\n\n"


def read_text(text, **options):
    return read_columns("-", stream=io.StringIO(text), **options)


def written(text, *predicted):
    out = io.StringIO()
    text.write_with_column(out, *predicted)
    return out.getvalue()


def data_file(*parts):
    path = Path(os.environ["PALMETTE_DATA"], *parts)
    if not path.exists():
        raise DatasetUnavailable(f"PALMETTE_DATA has no {'/'.join(parts)}")
    return path


# --- what is a column, a sentence, a comment


def test_first_token_line_decides_the_separator():
    assert read_text("a b\tX\nc\tY\n").sentences == [[("a b", "X"), ("c", "Y")]]
    assert read_text("a  b X \n c\td Y\n").sentences == [[("a", "b", "X"), ("c", "d", "Y")]]


def test_unusual_spaces_are_parts_of_tokens():
    assert read_text("10\u00a0000 X\n\u3000 Y\n").sentences == [[("10\u00a0000", "X"), ("\u3000", "Y")]]


def test_empty_cells_between_tabs_are_kept():
    assert read_text("a\t\tX\n").sentences == [[("a", "", "X")]]


def test_lines_of_white_space_separate_sentences_however_many():
    text = read_text("\n \na X\n\n\t\n\nb Y")
    assert text.sentences == [[("a", "X")], [("b", "Y")]]
    assert text.location(1) == "<stdin>:7"


def test_hash_is_a_token_unless_a_key_follows_where_a_sentence_may_begin():
    lines = "# id = 1\n# text = the # sign\n# # O\n# id = 2\nx y z\n\n# # O\n"
    with pytest.raises(
        DataFileError, match=r"<stdin>:4: expected 3 columns separated by blanks as in line 3, found 4"
    ):
        read_text(lines)
    text = read_text(lines.replace("# id = 2\n", ""))
    assert text.sentences == [[("#", "#", "O"), ("x", "y", "z")], [("#", "#", "O")]]


def test_hash_with_a_tab_is_a_token_even_if_it_looks_like_a_key():
    assert read_text("a\tb\t=\n\n#\tSYM\t=\n").sentences[1] == [("#", "SYM", "=")]


@pytest.mark.parametrize("name", ["x.conllu", "x.conllu.gz", "x.conllu.xz"])
def test_conllu_is_known_by_its_name(tmp_path, name):
    opener = {"u": open, "z": gzip.open if name.endswith("gz") else lzma.open}[name[-1]]
    with opener(tmp_path / name, "wt", encoding="utf-8") as handle:
        handle.write(CONLLU)
    text = read_columns(tmp_path / name)
    assert text.conllu
    assert [[token[1] for token in s] for s in text.sentences] == [["do", "not"], ["#"]]
    assert text.location(0, 1).endswith(f"{name}:5")


def test_conllu_lines_that_are_no_words_are_written_back():
    text = read_text(CONLLU, conllu=True)
    assert written(text, [["A", "P"], ["S"]]) == (
        "# newpar\n# text = don't\n1-2\tdon't\t_\t_\n1\tdo\tAUX\tA\n2\tnot\tPART\tP\n2.1\tgo\t_\t_\n\n"
        "# sent_id = 2\n1\t#\tSYM\tS\n\n"
    )


def test_compressed_files_and_bytes_of_a_stream(tmp_path):
    content = "é X\r\n\r\nb Y\r\n".encode()
    (tmp_path / "a.txt").write_bytes(content)
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(content))
    (tmp_path / "a.txt.xz").write_bytes(lzma.compress(content))
    expected = [[("é", "X")], [("b", "Y")]]
    for name in ("a.txt", "a.txt.gz", "a.txt.xz"):
        assert read_columns(tmp_path / name).sentences == expected
    stdin = io.TextIOWrapper(io.BytesIO(content), encoding="ascii")  # a locale that knows no UTF-8
    assert read_columns("-", stream=stdin).sentences == expected


def test_byte_order_mark_is_tolerated_and_kept(tmp_path):
    path = tmp_path / "bom.txt"
    path.write_bytes("\ufeffa X\n".encode())
    text = read_columns(path)
    assert text.sentences == [[("a", "X")]]
    assert written(text, [["Z"]]) == "\ufeffa X Z\n"


# --- errors


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a b X\nc Y\n", r":2: expected 3 columns separated by blanks as in line 1, found 2: 'c Y'"),
        ("\na\tX\nc\tb\tY\n", r":3: expected 2 columns separated by tabs as in line 2, found 3"),
        ("a\n\nc Y\n", r":3: expected 1 column as in line 1, found 2"),
        ("", ":1: there are no tokens"),
        ("\n# key = value\n\n", ":1: there are no tokens"),
    ],
)
def test_bad_lines_are_named(tmp_path, content, message):
    path = tmp_path / "bad.txt"
    path.write_text(content)
    with pytest.raises(DataFileError, match=message) as caught:
        read_columns(path)
    assert str(caught.value).startswith(f"{path}:")


def test_bytes_that_are_not_utf8_are_named(tmp_path):
    path = tmp_path / "latin.txt"
    path.write_bytes(b"a X\ncaf\xe9 Y\n")
    with pytest.raises(
        DataFileError, match=r"latin.txt:2: byte 4 of the line \(0xe9\) is not UTF-8; convert"
    ):
        read_columns(path)


@pytest.mark.parametrize(("suffix", "pack"), [("gz", gzip.compress), ("xz", lzma.compress)])
def test_damaged_archives_are_named(tmp_path, suffix, pack):
    path = tmp_path / f"cut.{suffix}"
    path.write_bytes(pack(os.urandom(3000).hex().encode())[:-20])
    with pytest.raises(DataFileError, match=rf"cut.{suffix}:1: the compressed file is damaged"):
        read_columns(path)
    path.write_bytes(b"a X\n")
    with pytest.raises(DataFileError, match="the compressed file is damaged"):
        read_columns(path)


# --- labels, and files without them


def test_label_column_counts_from_either_end():
    text = read_text("a X 1\nb Y 2\n")
    assert text.labels() == [["1", "2"]]
    assert text.labels(1) == text.labels(-2) == [["X", "Y"]]
    with pytest.raises(DataFileError, match=r"<stdin>:1: there is no column 3 to hold the labels; .* 0 to 2"):
        text.labels(3)


def test_empty_labels_are_named():
    with pytest.raises(DataFileError, match=r"<stdin>:3: the label \(column 1\) is empty"):
        read_text("a\tX\n\nb\t\n").labels()


def test_files_without_labels_align_with_the_model():
    labelled, bare = read_text("a L b\n"), read_text("a b\n")
    assert labelled.aligned(3, 1).sentences() == [[("a", "L", "b")]]
    assert bare.aligned(3, 1).sentences() == [[("a", "", "b")]]
    assert bare.aligned(3, 2).sentences() == [[("a", "b", "")]]
    with pytest.raises(
        DataFileError, match=r"<stdin>:1: expected 4 columns as in training .* or 3 without .* found 2"
    ):
        bare.aligned(4, 3)


# --- writing


def test_several_columns_can_be_added():
    assert written(read_text("a X\nb Y\n"), [["P", "Q"]], [["1", "2"]]) == "a X P 1\nb Y Q 2\n"


def test_predictions_of_wrong_shape_are_refused():
    text = read_text("a X\n\nb Y\nc Z\n")
    with pytest.raises(ValueError, match="predictions for 1 sentences, but there are 2"):
        written(text, [["P"]])
    with pytest.raises(ValueError, match=r"sentence 1 \(<stdin>:3\) has 2 tokens, but 1 predictions"):
        written(text, [["P"], ["Q"]])


# without =, so that no token line is a comment by chance
cells = st.text(st.characters(exclude_categories=["Z", "C"], exclude_characters="="), min_size=1, max_size=4)
gaps = st.sampled_from(["\n", " \n", "\r\n", "\n\n", "\n# key = value\n"])


@st.composite
def column_files(draw):
    """Text with known sentences; every line but the last ends, gaps are of all kinds."""
    separator = draw(st.sampled_from([" ", "\t"]))
    width = draw(st.integers(2, 3))
    sentences = draw(
        st.lists(st.lists(st.tuples(*[cells] * width), min_size=1, max_size=3), min_size=1, max_size=5)
    )
    end = draw(st.sampled_from(["\n", "\r\n"]))
    text = draw(st.sampled_from(["", "\n"])) + "".join(
        "".join(separator.join(token) + end for token in sentence) + draw(gaps) for sentence in sentences
    )
    return text, sentences, separator


@given(column_files(), st.integers(1, 4), st.booleans())
def test_blocks_hold_the_file_and_write_it_back(case, size, last_line_ends):
    text, sentences, separator = case
    text = text if last_line_ends else text.rstrip()
    blocks = list(iter_columns("-", stream=io.StringIO(text), sentences_per_block=size))
    assert [s for block in blocks for s in block.sentences] == sentences
    assert "".join(line for block in blocks for line in block.lines) == text
    output = "".join(written(block, [["P"] * len(s) for s in block.sentences]) for block in blocks)
    again = read_text(output)
    assert again.sentences == [[(*token, "P") for token in s] for s in sentences]
    assert (
        output.replace(separator + "P\n", "\n")
        .replace(separator + "P\r\n", "\r\n")
        .removesuffix("" if last_line_ends else separator + "P")
        == text
    )
    first = blocks[0]
    assert all(int(first.location(0, t).split(":")[1]) for t in range(len(first.sentences[0])))


def test_blocks_come_before_the_end_and_empty_input_gives_none():
    def lines():
        yield from ["a X\n", "\n", "b Y\n", "\n"]
        raise AssertionError("read too far")

    blocks = iter_columns("-", stream=lines(), sentences_per_block=1)
    assert [next(blocks).sentences, next(blocks).sentences] == [[[("a", "X")]], [[("b", "Y")]]]
    assert list(iter_columns("-", stream=io.StringIO(""))) == []
    (only,) = iter_columns("-", stream=io.StringIO("# key = value\n"))
    assert only.sentences == [] and written(only, []) == "# key = value\n"


def test_later_blocks_know_their_lines():
    first, second = iter_columns("-", stream=io.StringIO("a X\n\nb Y\nc Z\n"), sentences_per_block=1)
    assert (first.location(), second.location(0, 1)) == ("<stdin>:1", "<stdin>:4")
    with pytest.raises(DataFileError, match="<stdin>:3: expected 2 columns"):
        list(iter_columns("-", stream=io.StringIO("a X\n\nb\n"), sentences_per_block=1))


# --- real files


@pytest.mark.data
@pytest.mark.parametrize(
    ("parts", "n_tokens", "n_sentences"),
    [
        (("conll2000", "train.txt.xz"), 211_727, 8_936),
        (("conll2000", "test.txt"), 47_377, 2_012),
        (("masc", "masc.pos.tsv.xz"), 592_469, 34_530),  # and three comments without a sentence
        (("ud-ewt", "en_ewt-ud-dev.conllu.xz"), 25_147, 2_001),
    ],
)
def test_real_files_have_the_published_sizes(parts, n_tokens, n_sentences):
    text = read_columns(data_file(*parts))
    assert sum(map(len, text.sentences)) == n_tokens
    assert len(text.sentences) == n_sentences


DOCUMENTS = (
    "-DOCSTART- -X- O\n\nthe DT O\ncat NN B\n\n-DOCSTART- -X- O\nit PRP O\n-DOCSTART-\n\n-DOCSTART-x NN O\n"
)


def test_documents_begin_with_a_line_that_is_no_word():
    text = read_text(DOCUMENTS)
    assert [[token[0] for token in sentence] for sentence in text.sentences] == [
        ["the", "cat"],
        ["it"],
        ["-DOCSTART-x"],
    ]
    assert text.labels() == [["O", "B"], ["O"], ["O"]] and text.location(2) == "<stdin>:10"
    out = written(text, [["P", "Q"], ["R"], ["S"]], [["1", "2"], ["3"], ["4"]])
    assert (
        out.startswith("-DOCSTART- -X- O O _\n\nthe DT O P 1\n")
        and "-DOCSTART- O _\n\n-DOCSTART-x NN O S 4" in out
    )
    again = read_text(out)
    assert again.labels(-2) == [["P", "Q"], ["R"], ["S"]]


@pytest.mark.parametrize("size", [1, 2, 3])
def test_documents_in_blocks(size):
    blocks = list(iter_columns("-", stream=io.StringIO(DOCUMENTS), sentences_per_block=size))
    assert "".join(line for block in blocks for line in block.lines) == DOCUMENTS
    assert [s for block in blocks for s in block.sentences] == read_text(DOCUMENTS).sentences
    assert all(0 < len(block.table) <= size for block in blocks)


def test_a_text_of_documents_alone_has_no_tokens():
    with pytest.raises(DataFileError, match="there are no tokens"):
        read_text("-DOCSTART- -X- O\n\n-DOCSTART- -X- O\n")
    (block,) = iter_columns("-", stream=io.StringIO("\ufeff-DOCSTART- -X- O\n\n"))
    assert written(block, []) == "\ufeff-DOCSTART- -X- O\n\n"
    assert read_text("\ufeff-DOCSTART- -X- O\n\nx X O\n").sentences == [[("x", "X", "O")]]
