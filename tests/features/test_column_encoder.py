"""Compiled templates against strings: the same attributes, in the same rows, for any columns and templates."""

from __future__ import annotations

import copy
import pickle
import re

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from palmette.errors import DataFileError, ModelFileError
from palmette.features import ColumnSentences, Template, encoder_from_state
from palmette.features.column_table import ColumnTable
from palmette.features.columns import ColumnEncoder
from palmette.features.hashed import HashedNamesEncoder
from palmette.features.hashed_columns import HashedColumnEncoder
from palmette.features.names import NamesEncoder
from palmette.registry import stored

macros = st.one_of(
    st.builds("%{}[{},{}]".format, st.sampled_from("xXhH"), st.integers(-2, 2), st.integers(0, 1)),
    st.builds(
        '%{}[{},{},"{}"]'.format,
        st.sampled_from("tTmM"), st.integers(-2, 2), st.integers(0, 1), st.sampled_from(["a", "^.?", "[A-C]+$", "b*"]),
    ),
    st.builds(
        "%{}[{},{},{}]".format,
        st.sampled_from("pPsS"), st.integers(-2, 2), st.integers(0, 1), st.integers(1, 3),
    ),
)  # fmt: skip
lines = st.builds(
    "".join,
    st.tuples(st.sampled_from(["U0:", "U1:", "B0:", "U2="]), st.lists(macros, max_size=4).map("|".join)),
)
templates = st.builds(
    lambda boundary, texts: f"#! boundary = {boundary}\nU\n" + "\n".join(texts),
    st.sampled_from(["pad", "skip"]),
    st.lists(lines.filter(lambda line: "%" in line), unique=True, max_size=5),
).map(Template.parse)
cells = st.text("aAbBC_1", max_size=3)  # never |, so that different values are never spelled alike
sentences = st.lists(st.lists(st.tuples(cells, cells), max_size=4), max_size=5)


def look(word: str, short: bool) -> str:
    """The shape of a word, by regular expressions."""
    word = re.sub("[a-z]", "x", re.sub("[A-Z]", "X", re.sub("[0-9]", "0", word)))
    return re.sub(r"(.)\1+", r"\1", word) if short else word


def value(kind: str, argument, cell: str) -> str:
    """What a macro makes of a cell, from the words of the documentation."""
    letter = kind.lower()
    if letter == "h":
        return look(cell, short=kind == "H")
    if letter in "tm":
        found = re.search(argument.strip('"'), cell)
        cell = str(found is not None).lower() if letter == "t" else found[0] if found else ""
    if letter == "p":
        cell = cell[: int(argument)]
    if letter == "s":
        cell = cell[max(0, len(cell) - int(argument)) :]
    return cell.lower() if kind.isupper() else cell


def attribute(line: str, sentence, t: int, skip: bool) -> str | None:
    """What a line of a template makes of a token; None if that is nothing."""
    outside = False

    def written(match):
        nonlocal outside
        kind, row, column, argument = match.groups()
        at = t + int(row)
        if 0 <= at < len(sentence):
            return value(kind, argument, sentence[at][int(column)])
        outside = True
        return f"_B{at}" if at < 0 else f"_B+{at - len(sentence) + 1}"

    name = re.sub(r'%(\w)\[([-+]?\d+),(\d+)(?:,("[^"]*"|\d+))?\]', written, line)
    return None if skip and outside else name


def by_strings(template: Template, data) -> list[list[list[str]]]:
    """Attributes token by token: a small template language of its own."""
    skip = template.boundary == "skip"
    lines = [line for line in template.text.splitlines() if line and not line.startswith("#")]
    out = []
    for sentence in data:
        tokens = []
        for t in range(len(sentence)):
            found = [attribute(line, sentence, t, skip) for line in lines]
            found += ["__BOS__"] * (skip and t == 0) + ["__EOS__"] * (skip and t == len(sentence) - 1)
            tokens.append([name for name in found if name is not None])
        out.append(tokens)
    return out


def names_in_rows(batch, names) -> list[list[str]]:
    bounds = batch.rows.indptr.tolist()
    return [[names[i] for i in batch.rows.indices[a:b]] for a, b in zip(bounds, bounds[1:])]


def flat(data) -> list:
    return [token for sentence in data for token in sentence]


@given(templates, sentences)
def test_compiled_attributes_are_those_of_the_strings(template, data):
    expected = by_strings(template, data)
    assert template.apply(data) == expected
    assume(data)
    table = ColumnTable.from_sentences(data)
    encoder = ColumnEncoder(template)
    if not flat(data):
        with pytest.raises(ValueError, match="X has no features"):
            encoder.fit_transform(table, allow_empty=True)
        return
    batch = encoder.fit_transform(table, allow_empty=True)
    names = encoder.feature_names
    assert encoder.n_columns == batch.n_columns == len(names) == len(set(names))
    assert names_in_rows(batch, names) == flat(expected)
    assert batch.lengths.tolist() == [len(sentence) for sentence in data]
    assert (batch.rows.indices.dtype, batch.rows.indptr.dtype) == (np.int32, np.int64)
    again = encoder.transform(table)
    np.testing.assert_array_equal(again.rows.indices, batch.rows.indices)
    np.testing.assert_array_equal(encoder.transform(expected).rows.indices, batch.rows.indices)


@given(templates, sentences.filter(flat), sentences)
def test_new_sentences_have_the_attributes_that_strings_would_have(template, data, new):
    table, new_table = ColumnTable.from_sentences(data), ColumnTable.from_sentences(new)
    encoder = ColumnEncoder(template)
    encoder.fit_transform(table, allow_empty=True)
    strings = NamesEncoder("sequences")
    strings.fit_transform(by_strings(template, data), allow_empty=True)
    expected = names_in_rows(strings.transform(by_strings(template, new)), strings.feature_names)
    for _ in range(2):  # the second time what the macros make of cells is remembered
        assert names_in_rows(encoder.transform(new_table), encoder.feature_names) == expected
    larger = encoder.extended(new_table)
    assert larger.feature_names[: encoder.n_columns] == encoder.feature_names
    assert names_in_rows(larger.transform(new_table), larger.feature_names) == flat(by_strings(template, new))


@given(templates, sentences.filter(flat), sentences, st.integers(1, 3))
def test_rare_attributes_have_no_column(template, data, new, min_count):
    counts: dict[str, int] = {}
    for token in flat(by_strings(template, data)):
        for name in token:
            counts[name] = counts.get(name, 0) + 1
    frequent = {name for name, count in counts.items() if count >= min_count}
    encoder = ColumnEncoder(template, min_count=min_count)
    table = ColumnTable.from_sentences(data)
    if not frequent:
        with pytest.raises(ValueError, match=f"min_count={min_count}"):
            encoder.fit_transform(table, allow_empty=True)
        return
    batch = encoder.fit_transform(table, allow_empty=True)
    assert set(encoder.feature_names) == frequent
    kept = [[name for name in token if name in frequent] for token in flat(by_strings(template, data))]
    assert names_in_rows(batch, encoder.feature_names) == kept
    kept = [[name for name in token if name in frequent] for token in flat(by_strings(template, new))]
    assert names_in_rows(encoder.transform(ColumnTable.from_sentences(new)), encoder.feature_names) == kept


@given(templates, sentences.filter(flat), sentences, st.data())
def test_columns_can_be_dropped_and_encoders_stored(template, data, new, drawn):
    encoder = ColumnEncoder(template)
    encoder.fit_transform(ColumnTable.from_sentences(data), allow_empty=True)
    keep = np.array(
        drawn.draw(st.lists(st.booleans(), min_size=encoder.n_columns, max_size=encoder.n_columns)), bool
    )
    keep[0] = True
    less = encoder.restricted(keep)
    names = [name for name, stays in zip(encoder.feature_names, keep) if stays]
    assert less.feature_names == names
    expected = [[name for name in token if name in names] for token in flat(by_strings(template, new))]
    table = ColumnTable.from_sentences(new)
    for some in (
        less,
        encoder_from_state(*stored(less)),
        pickle.loads(pickle.dumps(less)),
        copy.deepcopy(less),
    ):
        assert some.feature_names == names
        assert names_in_rows(some.transform(table), names) == expected


@given(templates, sentences, st.sampled_from([1, 7, 1000]))
def test_hashed_columns_are_those_of_hashed_names(template, data, n_hash):
    encoder, strings = HashedColumnEncoder(template, n_hash), HashedNamesEncoder("sequences", n_hash)
    found, expected = (
        encoder.transform(ColumnTable.from_sentences(data)),
        strings.transform(by_strings(template, data)),
    )
    np.testing.assert_array_equal(found.rows.indices, expected.rows.indices)
    np.testing.assert_array_equal(found.rows.indptr, expected.rows.indptr)
    keep = np.arange(n_hash) % 2 == 0
    for some, other in ((encoder, strings), (encoder.restricted(keep), strings.restricted(keep))):
        again = encoder_from_state(*stored(some))
        assert again.n_columns == some.n_columns == other.n_columns
        rows = again.transform(ColumnTable.from_sentences(data)).rows
        np.testing.assert_array_equal(rows.indices, other.transform(by_strings(template, data)).rows.indices)


def test_many_tokens_go_through_several_blocks(rng):
    words = [[(f"w{i}", f"t{i % 7}") for i in rng.integers(0, 300, n)] for n in rng.integers(1, 40, 2500)]
    template = Template.parse("U0:%x[0,0]\nU1:%x[-1,1]/%x[0,1]/%x[1,1]\nU2:%x[-1,0]/%x[0,0]")
    table = ColumnTable.from_sentences(words)
    assert table.n_tokens > 40_000
    encoder = ColumnEncoder(template)
    batch = encoder.fit_transform(table)
    assert names_in_rows(batch, encoder.feature_names) == flat(by_strings(template, words))


def test_attributes_are_told_apart_by_values_not_by_spelling():
    template, data = Template.parse("U:%x[0,0]/%x[0,1]"), [[("a/b", "c"), ("a", "b/c")]]
    encoder = ColumnEncoder(template)
    encoder.fit_transform(ColumnTable.from_sentences(data))
    assert encoder.feature_names == ["U:a/b/c", "U:a/b/c"]
    assert encoder.transform([[["U:a/b/c"]]]).rows.indices.tolist() == [0]


def test_lines_of_one_text_share_their_attributes():
    encoder = ColumnEncoder(Template.parse("U:%x[-1,0]\nU:%X[1,1]"))
    encoder.fit_transform(ColumnTable.from_sentences([[("a", "A"), ("b", "A")]]))
    assert sorted(encoder.feature_names) == ["U:_B+1", "U:_B-1", "U:a"]


def test_features_of_label_pairs_are_named_with_b():
    template = Template.parse("U0:%x[0,0]\nb1:%x[0,0]\n*2:%x[0,0]\n*\nB")
    assert template.transitions and template.has_edge_features
    assert template.apply([[("a",)]]) == [[["U0:a", "B1:a", "*2:a", "B*2:a", "*"]]]


# ------------------------------------------------------------------------------------------------- tables


@given(st.lists(sentences, min_size=1, max_size=3))
def test_tables_can_be_joined_and_given_back(parts):
    parts = [part for part in parts if flat(part)] or [[[("a", "b")]]]
    tables = [ColumnTable.from_sentences(part) for part in parts]
    whole = ColumnTable.concatenated(tables)
    assert whole.sentences() == [sentence for part in parts for sentence in part]
    assert whole.column(1) == [[token[1] for token in sentence] for part in parts for sentence in part]
    runs = list(whole.blocks(3))
    assert [a for a, _ in runs[1:]] == [b for _, b in runs[:-1]]
    assert (runs[0][0], runs[-1][1]) == (0, len(whole))


def test_tables_with_further_columns():
    table = ColumnTable.from_sentences([[("a", "x"), ("b", "y"), ("a", "y")]])
    assert table.with_empty(1).sentences() == [[("a", "", "x"), ("b", "", "y"), ("a", "", "y")]]
    longer = table.with_column(0, [cell.upper() for cell in table.cells[0].strings()])
    assert longer.sentences() == [[("a", "x", "A"), ("b", "y", "B"), ("a", "y", "A")]]


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        ([[("a", "b")], [("a",)]], ValueError, r"sentence 1, token 0: expected 2 columns .* found \('a',\)"),
        (
            [["ab", "cd"]],
            TypeError,
            "sentence 0, token 0: expected a tuple of strings, one per column; found str 'ab'",
        ),
        ([[("a", "b"), ("a", 3)]], TypeError, r"sentence 0, token 1: expected a tuple of strings"),
    ],
)
def test_tokens_that_are_no_tuples_of_strings(data, error, message):
    with pytest.raises(error, match=message):
        ColumnTable.from_sentences(data)


# --------------------------------------------------------------------------------------------- bad input


def test_columns_that_the_template_does_not_find():
    encoder = ColumnEncoder(Template.parse("U0:%x[0,0]\nU1:%x[0,2]", "my.tpl"))
    with pytest.raises(DataFileError, match=r"my.tpl:2: 'U1:%x\[0,2\]' reads column 2, but the data has 2"):
        encoder.fit_transform(ColumnTable.from_sentences([[("a", "b")]]))


def test_another_template_than_the_one_of_the_model():
    one, other = Template.parse("U0:%x[0,0]", "a.tpl"), Template.parse("U1:%x[0,0]", "b.tpl")
    encoder = ColumnEncoder(one)
    encoder.fit_transform(ColumnSentences([[("a",)]], one))
    with pytest.raises(
        ValueError,
        match=r"by another template \(a.tpl\) than X \(b.tpl\): line 1 is 'U0:%x\[0,0\]' in the model and 'U1:",
    ):
        encoder.transform(ColumnSentences([[("a",)]], other))
    encoder.transform(
        ColumnSentences([[("a",)]], Template.parse("U0:%x[0,0]\n"))
    )  # a line end is not a difference
    with pytest.raises(ValueError, match=r"line 2 is '' in the model and 'B' in X"):
        encoder.transform(ColumnSentences([[("a",)]], Template.parse("U0:%x[0,0]\nB")))


def test_nothing_to_learn_from():
    encoder = ColumnEncoder(Template.parse("#! boundary = skip\nU0:%x[0,0]"))
    with pytest.raises(ValueError, match="X is empty"):
        encoder.fit_transform(ColumnTable.from_sentences([]))
    with pytest.raises(ValueError, match=r"X\[1\] is an empty sequence"):
        encoder.fit_transform(ColumnTable.from_sentences([[("a",)], []]))
    with pytest.raises(TypeError, match="the model reads columns: give ColumnSentences"):
        encoder.fit_transform([[("a",)]])


@pytest.mark.parametrize(
    "change",
    [
        {"tuples": None},
        {"tuples": np.zeros(5, np.int64)},
        {"columns": np.zeros(5, np.int32)},
        {"columns": np.arange(5)},
        {"tuples": np.array([0, 1, 2, 99, 1 << 32 | 2])},
        {"tuples_offsets": np.array([0, 9, 5])},
        {"tuples_offsets": np.array([0, 5])},
        {"values_offsets": np.array([0, 1])},
    ],
)
def test_damaged_state_is_refused(change):
    encoder = ColumnEncoder(Template.parse("U0:%x[0,0]\nU1:%x[-1,0]/%x[0,0]"))
    encoder.fit_transform(ColumnTable.from_sentences([[("a",), ("b",)], [("a",)]]))
    header, arrays = stored(encoder)
    assert encoder_from_state(header, arrays).feature_names == encoder.feature_names
    damaged = {name: array for name, array in (arrays | change).items() if array is not None}
    with pytest.raises(ModelFileError, match="damaged"):
        encoder_from_state(header, damaged)
    with pytest.raises(ModelFileError, match="damaged"):
        encoder_from_state(header | {"template": "?"}, arrays)


@pytest.mark.parametrize(
    "change", [{"n_hash": 0}, {"n_hash": 9}, {"n_columns": 9}, {"columns": np.arange(11, dtype=np.int32)}]
)
def test_damaged_hashes_are_refused(change):
    header, arrays = HashedColumnEncoder(Template.parse("U0:%x[0,0]"), 10).state()
    fields = {k: v for k, v in change.items() if k != "columns"}
    damaged = {k: v for k, v in change.items() if k == "columns"}
    with pytest.raises(ModelFileError, match="damaged"):
        encoder_from_state(header | fields, arrays | damaged)


@pytest.mark.data
def test_conll2000_has_the_attributes_of_the_strings():
    from palmette.apps.tagging.default_template import crfsuite_chunking_template, default_template
    from palmette.datasets import load_conll2000

    data = load_conll2000("train").data[:1500]
    for text in (crfsuite_chunking_template(), default_template(3)):
        template = Template.parse(text)
        encoder = ColumnEncoder(template)
        batch = encoder.fit_transform(ColumnTable.from_sentences(data))
        expected = flat(template.apply(data))
        strings = NamesEncoder("items")
        reference = strings.fit_transform(expected)
        assert encoder.n_columns == reference.n_columns
        assert len(batch.rows.indices) == len(reference.rows.indices)
        assert set(encoder.feature_names) == set(strings.feature_names)
