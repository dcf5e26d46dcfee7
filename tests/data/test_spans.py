"""Span encodings: round trips, validity against an independent definition, errors that say where."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palmette.data import (
    ENCODINGS,
    allowed_transitions,
    check_spans,
    convert_spans,
    detect_encoding,
    find_spans,
    join_words,
    tag_words,
)
from palmette.errors import SpanError
from palmette.metrics import chunks

names = st.sampled_from(sorted(ENCODINGS))
kinds = st.sampled_from(["X", "Y", "cell-line"])
# a sentence as pieces from left to right: a type (None is outside) and a length
pieces = st.lists(st.tuples(st.none() | kinds, st.integers(1, 6)), max_size=5)
any_label = st.sampled_from(
    ["O", *(f"{a}-{k}" for a in ("B", "I", "E", "S", "M", "L", "U", "B2") for k in "XY")]
)

# A span of each length, written out by hand: this is what the encodings mean.
BY_HAND = {
    "IOB2": ["B", "BI", "BII", "BIII", "BIIII", "BIIIII"],
    "IOBES": ["S", "BE", "BIE", "BIIE", "BIIIE", "BIIIIE"],
    "BILOU": ["U", "BL", "BIL", "BIIL", "BIIIL", "BIIIIL"],
    "BMES": ["S", "BE", "BME", "BMME", "BMMME", "BMMMME"],
    "BMES6": ["S", "BE", "B2E", "B23E", "B23ME", "B23MME"],
    "IOB1": ["I", "II", "III", "IIII", "IIIII", "IIIIII"],
}
LETTER = {"2": "B2", "3": "B3"}


def written(sentence, encoding):
    """Labels of pieces by the table above."""
    labels, before = [], None
    for kind, length in sentence:
        if kind is None:
            labels += ["O"] * length
        else:
            letters = [LETTER.get(a, a) for a in BY_HAND[encoding][length - 1]]
            if encoding == "IOB1" and before == kind:
                letters[0] = "B"
            labels += [f"{a}-{kind}" for a in letters]
        before = kind
    return labels


def spans_of(sentence):
    ends = np.cumsum([length for _, length in sentence])
    return [(kind, end - length, end) for (kind, length), end in zip(sentence, ends) if kind]


def as_tuples(labels):
    return [tuple(chunk) for chunk in chunks(labels)]


@given(st.lists(pieces, max_size=4), names, names)
def test_every_encoding_converts_to_every_other(sentences, source, target):
    before = [written(sentence, source) for sentence in sentences]
    after = [written(sentence, target) for sentence in sentences]
    assert convert_spans(before, source, target) == after
    assert convert_spans(before, source, target, invalid="repair") == after


@given(st.lists(pieces, max_size=4), names)
def test_valid_labels_pass_and_are_found(sentences, encoding):
    labels = [written(sentence, encoding) for sentence in sentences]
    check_spans(labels, encoding)
    assert [as_tuples(each) for each in labels] == [spans_of(sentence) for sentence in sentences]


@given(st.lists(st.lists(any_label, max_size=8), max_size=4))
def test_spans_of_all_sentences_at_once_are_the_chunks_of_each(Y):
    spans = find_spans(Y)
    bounds = np.cumsum([0, *map(len, Y)])
    found = [
        (int(i), spans.names[k], int(a - bounds[i]), int(b - bounds[i]))
        for a, b, k, i in zip(spans.starts, spans.stops, spans.kinds, spans.sequences)
    ]
    assert found == [(i, *chunk) for i, labels in enumerate(Y) for chunk in chunks(labels)]


@given(st.lists(st.lists(st.sampled_from(["O", "B-X", "I-X", "B-Y", "I-Y"]), max_size=8), max_size=3), names)
def test_repair_keeps_the_spans_that_conlleval_counts(Y, target):
    repaired = convert_spans(Y, "IOB2", target, invalid="repair")
    check_spans(repaired, target)
    assert [as_tuples(labels) for labels in repaired] == [as_tuples(labels) for labels in Y]


@pytest.mark.parametrize(
    ("encoding", "types", "length"),
    [*((name, "XY", 4) for name in BY_HAND if name != "BMES6"), ("BMES6", "X", 6)],
)
def test_allowed_sequences_are_those_that_spans_can_be_written_as(encoding, types, length):
    """All sequences of a length: allowed by the tables exactly if some spans are written so."""
    letters = sorted(ENCODINGS[encoding].letters)
    labels = ["O", *(f"{letter}-{kind}" for kind in types for letter in letters)]
    parts = [(kind, n) for kind in (None, *types) for n in range(1, length + 1)]
    valid = {
        tuple(written(sentence, encoding))
        for k in range(1, length + 1)
        for sentence in itertools.product(parts, repeat=k)
        if sum(n for _, n in sentence) == length
    }
    start, step, end = allowed_transitions(labels, encoding)
    codes = range(len(labels))
    allowed = {
        tuple(labels[c] for c in path)
        for path in itertools.product(codes, repeat=length)
        if start[path[0]] and end[path[-1]] and all(step[a, b] for a, b in itertools.pairwise(path))
    }
    assert allowed == valid


def test_tables_have_the_order_of_the_labels():
    tables = allowed_transitions(["O", "S-X", "E-X", "B-X", "I-X"], "IOBES")
    assert tables.start.tolist() == [True, True, False, True, False]
    assert tables.end.tolist() == [True, True, True, False, False]
    assert tables.transition[3].tolist() == [False, False, True, False, True]
    assert allowed_transitions([], "IOB2").transition.shape == (0, 0)


@given(st.lists(pieces.filter(bool), min_size=1, max_size=4), names)
def test_detection_finds_an_encoding_in_which_the_labels_are_valid(sentences, encoding):
    labels = [written(sentence, encoding) for sentence in sentences]
    found = detect_encoding(labels)
    check_spans(labels, found)
    assert convert_spans(labels, "auto", "IOB2") == convert_spans(labels, found, "IOB2")


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["B-X", "I-X", "O"], "IOB2"),
        (["I-X", "I-X", "B-X", "O"], "IOB1"),
        (["O", "O"], "IOB2"),
        (["B-X", "E-X", "O"], "IOBES"),
        (["U-X", "O"], "BILOU"),
        (["B", "M", "E", "S"], "BMES"),
        (["B", "B2", "E"], "BMES6"),
        (
            ["B-X", "I-X", "I-X", "O", "I-X", "B-Y", "I-Y"],
            "IOB2",
        ),  # one violation; as IOB1 there would be two
    ],
)
def test_detection_by_hand(labels, expected):
    assert detect_encoding([labels]) == expected


@pytest.mark.parametrize("labels", [["NN", "DT"], ["B-X", "M-X", "L-X"], ["B-X", None]])
def test_what_is_no_encoding(labels):
    with pytest.raises(SpanError, match="in no span encoding"):
        detect_encoding([labels])


@pytest.mark.parametrize(
    ("encoding", "Y", "message", "where"),
    [
        (
            "IOB2",
            [["O"], ["B-X", "I-Y"]],
            "sentence 1, position 1: 'I-Y' after 'B-X' is not valid in IOB2",
            (1, 1),
        ),
        ("IOB2", [["I-X"]], "sentence 0, position 0: 'I-X' at the start of a sentence", (0, 0)),
        ("IOB1", [["O", "B-X"]], "sentence 0, position 1: 'B-X' after 'O'", (0, 1)),
        (
            "IOBES",
            [["S-X"], [], ["O", "B-X"]],
            "sentence 2, position 1: 'B-X' at the end of a sentence",
            (2, 1),
        ),
        ("IOBES", [["B-X", "O", "I-X"]], r"position 1: 'O' after 'B-X' .* \(3 in all\)", (0, 1)),
        ("IOB2", [["O", "NN"]], "sentence 0, position 1: 'NN' is not a label of the encoding IOB2", (0, 1)),
        ("BMES6", [["B", "M", "E"]], "position 1: 'M' after 'B'", (0, 1)),
    ],
)
def test_errors_name_sentence_position_and_labels(encoding, Y, message, where):
    with pytest.raises(SpanError, match=message) as caught:
        convert_spans(Y, encoding, "IOB2")
    assert (caught.value.sentence, caught.value.position) == where
    with pytest.raises(SpanError, match=message):
        check_spans(Y, encoding)


def test_foreign_labels_are_refused_even_by_repair():
    with pytest.raises(SpanError, match="'E-X' is not a label of the encoding IOB2"):
        convert_spans([["B-X", "E-X"]], "IOB2", "IOBES", invalid="repair")


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([["O"]], "IOB3", "IOB2"), ValueError, "unknown span encoding 'IOB3'; known: IOB2, IOB1"),
        (([["O"]], "IOB2", None), ValueError, "unknown span encoding None"),
        (([["O"]], "IOB2", "IOB2", "drop"), ValueError, 'invalid must be "raise" or "repair"'),
        ((["O", "O"], "IOB2", "IOB2"), TypeError, "list of sequences"),
    ],
)
def test_bad_arguments(arguments, error, message):
    with pytest.raises(error, match=message):
        convert_spans(*arguments)


def test_unknown_label_of_a_table():
    with pytest.raises(ValueError, match=r"labels\[1\]: 'X-B' is not a label"):
        allowed_transitions(["O", "X-B"], "IOB2")


# --- words

words = st.lists(st.lists(st.text("abc", min_size=1, max_size=7), max_size=6), max_size=4)


@given(words, names)
def test_words_come_back_from_their_labels(sentences, encoding):
    labels = tag_words(sentences, encoding)
    assert join_words(["".join(sentence) for sentence in sentences], labels) == sentences
    check_spans(labels, encoding)


@given(st.lists(st.sampled_from("BMES"), max_size=10))
def test_any_labels_make_words_of_the_same_text(labels):
    text = "abcdefghij"[: len(labels)]
    (found,) = join_words([text], [labels])
    assert "".join(found) == text
    boundaries = re.sub(r"(?<=[BM])(?=[ME])", "+", "".join(labels)).count("+")  # the places that are joined
    assert len(found) == len(labels) - boundaries


def test_words_with_something_outside():
    with pytest.raises(SpanError, match="sentence 1, position 1: the label 'O' is outside of words"):
        join_words(["a", "ab"], [["S"], ["S", "O"]])
    with pytest.raises(ValueError, match="sentence 0 has 2 characters but 1 labels"):
        join_words(["ab"], [["S"]])
    with pytest.raises(ValueError, match="1 sentences but labels of 2"):
        join_words(["ab"], [["S"], []])
    with pytest.raises(ValueError, match=r"sentences\[1\]\[1\] is an empty word"):
        tag_words([["a"], ["b", ""]])
