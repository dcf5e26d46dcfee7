"""Templates: syntax, meaning against a definition written token by token, bounds, errors, real counts."""

import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palmette.apps.tagging.columns import read_columns
from palmette.apps.tagging.default_template import crfsuite_chunking_template, default_template
from palmette.apps.tagging.templates import Template
from palmette.errors import DataFileError, DatasetUnavailable
from palmette.features.column_table import ColumnTable
from palmette.features.columns import ColumnEncoder
from palmette.features.patterns import compile_pattern

SENTENCE = [("The", "DT", "B"), ("U.S.", "NNP", "I"), ("won", "VBD", "O")]


def attributes(line, sentence=SENTENCE, boundary="pad"):
    """What one template line makes of each token of a sentence."""
    (tokens,) = Template.parse(f"#! boundary = {boundary}\n{line}\n").apply([sentence])
    return tokens


# --- meaning


def test_cells_and_padding():
    assert attributes("U00:%x[0,0]") == [["U00:The"], ["U00:U.S."], ["U00:won"]]
    assert attributes("U1:%x[-2,1]/%x[ +1 , 0 ]") == [["U1:_B-2/U.S."], ["U1:_B-1/won"], ["U1:DT/_B+1"]]
    assert attributes("U:%x[3,0]", SENTENCE[:1]) == [["U:_B+3"]]


def test_capitals_lower_the_result_and_not_the_padding():
    assert attributes("U:%X[-1,0]") == [["U:_B-1"], ["U:the"], ["U:u.s."]]
    assert attributes(r'U:%M[0,0,"^\u."]') == [["U:th"], ["U:u."], ["U:"]]


def test_tests_and_matches():
    assert attributes('U:%t[0,0,"^[A-Z]"]') == [["U:true"], ["U:true"], ["U:false"]]
    assert attributes('U:%t[1,0,"^[A-Z]"]') == [["U:true"], ["U:false"], ["U:_B+1"]]
    assert attributes('U:%m[0,0,"^.?.?"]|%m[0,0,".?.?$"]') == [["U:Th|he"], ["U:U.|S."], ["U:wo|on"]]
    assert attributes(r'U:%t[0,0,"\"|,|\]"]', [('"',), (",",), ("]",), ("x",)]) == [
        ["U:true"], ["U:true"], ["U:true"], ["U:false"]
    ]  # fmt: skip


def test_a_template_without_macros_is_a_bias():
    assert attributes("U09") == [["U09"]] * 3
    template = Template.parse("*\n")
    assert template.transitions
    assert template.apply([SENTENCE]) == [[["*"]] * 3]


def test_skip_drops_what_reaches_outside_and_marks_the_ends():
    assert attributes("U:%x[-1,0]/%x[0,0]", boundary="skip") == [
        ["__BOS__"],
        ["U:The/U.S."],
        ["U:U.S./won", "__EOS__"],
    ]
    assert attributes('U:%t[1,0,"x"]', SENTENCE[:1], boundary="skip") == [["__BOS__", "__EOS__"]]


def test_comments_directives_and_transitions():
    template = Template.parse('# words\n\n  U0:%x[0,0]  # the word\nU1:#%t[0,0,"a #"]\nB # pairs\n', "t")
    assert [feature.text for feature in template.features] == ["U0:%x[0,0]", 'U1:#%t[0,0,"a #"]']
    assert template.transitions and template.boundary == "pad"
    assert not Template.parse("U0:%x[0,0]").transitions
    assert Template.parse("#!boundary=skip\r\nU0:%x[0,0]\r\n").boundary == "skip"


def test_the_same_name_may_stand_for_several_templates():
    assert attributes("U:%x[-1,0]\nU:%x[1,0]")[1] == ["U:The", "U:won"]


def test_text_of_a_template(tmp_path):
    path = tmp_path / "template.txt"
    path.write_text("U0:%x[0,4]\nU1\n", encoding="utf-8")
    template = Template.load(path)
    assert Template.parse(template.text, str(path)) == template


macros = st.builds(
    lambda kind, row, column, pattern: (kind, row, column, pattern if kind in "tTmM" else None),
    st.sampled_from("xXtTmM"),
    st.integers(-2, 2),
    st.integers(0, 1),
    st.sampled_from(["a", "^.?", "[A-C]+$", r"\u", "b*"]),
)
sentences = st.lists(st.lists(st.tuples(*[st.text("aAbBC", max_size=3)] * 2), max_size=4), max_size=4)


def by_definition(template_macros, sentence, t, boundary):
    """One attribute, from the words of the documentation; None where it does not exist."""
    parts = []
    for kind, row, column, pattern in template_macros:
        at = t + row
        if not 0 <= at < len(sentence):
            parts.append(f"_B{at}" if at < 0 else f"_B+{at - len(sentence) + 1}")
            if boundary == "skip":
                return None
            continue
        cell = sentence[at][column]
        if pattern is not None:
            found = re.search(pattern.replace(r"\u", "[A-Z]"), cell)
            cell = str(found is not None).lower() if kind in "tT" else found[0] if found else ""
        parts.append(cell.lower() if kind.isupper() else cell)
    return "|".join(parts)


@given(
    st.lists(st.lists(macros, min_size=1, max_size=3), min_size=1, max_size=4),
    sentences,
    st.sampled_from(["pad", "skip"]),
)
def test_apply_agrees_with_the_definition(lines, data, boundary):
    def written(kind, row, column, pattern):
        return f"%{kind}[{row},{column}]" if pattern is None else f'%{kind}[{row},{column},"{pattern}"]'

    text = "".join(f"U{i}:{'|'.join(written(*m) for m in line)}\n" for i, line in enumerate(lines))
    expanded = Template.parse(f"#! boundary = {boundary}\n{text}").apply(data)
    assert [len(tokens) for tokens in expanded] == [len(sentence) for sentence in data]
    for sentence, tokens in zip(data, expanded):
        for t, found in enumerate(tokens):
            values = [by_definition(line, sentence, t, boundary) for line in lines]
            expected = [f"U{i}:{value}" for i, value in enumerate(values) if value is not None]
            ends = [("__BOS__", t == 0), ("__EOS__", t == len(sentence) - 1)]
            expected += [name for name, here in ends if here and boundary == "skip"]
            assert found == expected


def test_equal_attributes_are_one_object_across_blocks():
    tokens = Template.parse("U:%x[0,0]/%x[0,0]").apply([[("a",)]] * 5000)
    assert len({id(sentence[0][0]) for sentence in tokens}) == 1


# --- regular expressions


def test_letter_classes_of_any_script():
    assert all(compile_pattern(r"^\u\l\a\p$").search(word) for word in ("Éte!", "Жук.", "Ab字—"))
    assert compile_pattern(r"^\U\L\A\P$").search("aB1x")
    assert compile_pattern(r"^[]\u.-]*$").search("A.-]É") and not compile_pattern(r"^[]\u]*$").search("a")
    assert compile_pattern(r"^[^\u]$").search("a") and not compile_pattern(r"^[^\u]$").search("A")


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("a(", "cannot compile the regular expression 'a\\('"),
        ("[[:alpha:]]", "Possible nested set"),
        (r"[\U]", r"\\U cannot stand inside \[...\]; use \[\^\\u\]"),
    ],
)
def test_bad_patterns_are_refused(pattern, message):
    with pytest.raises(ValueError, match=message):
        compile_pattern(pattern)
    with pytest.raises(DataFileError, match=f"my.tpl:2: .*{message}"):
        Template.parse(f'U0\nU1:%t[0,0,"{pattern}"]', "my.tpl")


# --- errors of templates


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("X0:%x[0,0]", "cannot read 'X0:%x\\[0,0\\]'; a line begins with U"),
        ("U1:%x[0]", "cannot read a macro at '%x\\[0\\]'"),
        ("U1:100%", "cannot read a macro at '%'"),
        ("U1:%y[0,0]", "cannot read a macro"),
        ("U1:%x[0,-1]", "cannot read a macro"),
        ("U1:%x[@1,0]", "absolute and indirect rows"),
        ('U1:%x[0,0,"a"]', "%x takes a row and a column only"),
        ("U1:%H[0,0,2]", "%H takes a row and a column only"),
        ("U1:%m[0,0]", "%m needs a regular expression"),
        ("U1:%m[0,0,2]", "%m needs a regular expression"),
        ('U1:%p[0,0,"a"]', "%p needs a number of characters, at least 1"),
        ("U1:%S[0,0,0]", "%S needs a number of characters, at least 1"),
        ("U0:%x[0,0]", "'U0:%x\\[0,0\\]' repeats line 1"),
        ("#! boundary = wrap", "cannot read '#! boundary = wrap'; what may follow #! is 'boundary = pad'"),
        ("#! order = 2", "what may follow #! is"),
    ],
)
def test_bad_lines_are_named(line, message):
    with pytest.raises(DataFileError, match=f"my.tpl:3: {message}|my.tpl:3: .*{message}"):
        Template.parse(f"U0:%x[0,0]\n\n{line}\n", "my.tpl")


def test_a_template_without_features_is_refused():
    with pytest.raises(DataFileError, match=r"my\.tpl:1: the template has no features"):
        Template.parse("# nothing\nB\n", "my.tpl")


def test_files_that_are_not_utf8_are_named(tmp_path):
    path = tmp_path / "latin.tpl"
    path.write_bytes(b"U0:%x[0,0]\nU1:caf\xe9\n")
    with pytest.raises(DataFileError, match=r"latin\.tpl:2: .* is not UTF-8"):
        Template.load(path)


def test_columns_that_are_missing_or_hold_the_label_are_refused():
    template = Template.parse("U0:%x[0,0]\nU1:%x[0,0]/%x[-1,2]\n", "my.tpl")
    template.check(4, label_column=3)
    with pytest.raises(
        DataFileError, match=r"my.tpl:2: .*reads column 2, but the data has 2 columns, 0 to 1"
    ):
        template.check(2)
    with pytest.raises(DataFileError, match=r"my.tpl:2: .*reads column 2, which holds the label to predict"):
        template.check(3, label_column=2)
    with pytest.raises(DataFileError, match="reads column 2, but the data has 1 columns"):
        template.apply([[], [("a",)]])


# --- the templates that come with the package


@pytest.mark.parametrize(
    ("n_columns", "label", "conllu", "columns"),
    [
        (2, -1, False, {0}),
        (3, -1, False, {0, 1}),
        (3, 0, False, {1, 2}),
        (5, 1, False, {0, 2, 3, 4}),
        (10, 3, True, {1}),
    ],
)
def test_default_templates_read_all_columns_but_the_label(n_columns, label, conllu, columns):
    template = Template.parse(default_template(n_columns, label, conllu=conllu))
    template.check(n_columns, label % n_columns)
    assert {macro.column for feature in template.features for macro in feature.macros} == columns
    assert template.transitions


def test_default_templates_need_words_and_a_label():
    with pytest.raises(ValueError, match="n_columns=1: a template needs a column of words beside the label"):
        default_template(1)
    with pytest.raises(ValueError, match="label_column=3: the columns are 0 to 2"):
        default_template(3, 3)


@pytest.mark.data
def test_crfsuite_template_has_the_pairs_of_crfsuite():
    path = Path(os.environ["PALMETTE_DATA"], "conll2000", "train.txt.xz")
    if not path.exists():
        raise DatasetUnavailable("PALMETTE_DATA has no conll2000")
    text = read_columns(path)
    template = Template.parse(crfsuite_chunking_template())
    assert len(template.features) == 19
    labels = text.labels()
    pairs = {
        (attribute, label)
        for sentence, sentence_labels in zip(template.apply(text.sentences), labels)
        for token, label in zip(sentence, sentence_labels)
        for attribute in token
    }
    assert len(pairs) == 452_610
    assert len({label for sentence in labels for label in sentence}) == 22


def test_people_read_what_attributes_read():
    lines = [
        "U0:%x[0,0]",
        "U1:%x[-1,1]/%x[0,1]",
        'U2:%t[-1,0,"^c"]/%t[-1,0,"t$"]',
        "U3:a%x[0,0]b",
        "U:%x[0,0]",
        "U:%x[1,0]",
    ]
    text = "\n".join(["#! columns = word, tag", *lines, "U7", "B"])
    encoder = ColumnEncoder(Template.parse(text))
    encoder.fit_transform(ColumnTable.from_sentences([[("cat", "NN"), ("sat", "VB")]]))
    named = dict(zip(encoder.feature_names, encoder.readable_names))
    assert named == {
        "U0:cat": "word[0]=cat", "U0:sat": "word[0]=sat",
        "U1:_B-1/NN": "tag[-1]|tag[0]=<start>|NN", "U1:NN/VB": "tag[-1]|tag[0]=NN|VB",
        "U2:_B-1/_B-1": "word[-1]=<start>", "U2:true/true": "word[-1]~^c|word[-1]~t$",
        "U3:acatb": "U3:acatb", "U3:asatb": "U3:asatb", "U7": "U7",  # its own text says more
        "U:cat": "U:cat", "U:sat": "U:sat", "U:_B+1": "U:_B+1",  # of two lines with one name
    }  # fmt: skip
    again = ColumnEncoder.from_state(*encoder.state())
    assert again.readable_names == encoder.readable_names
