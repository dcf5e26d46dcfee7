"""Metrics: chunks by hand, against other definitions, and as identities."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palmette import UNKNOWN, OneOf
from palmette.metrics import (
    chunk_f1,
    chunk_report,
    chunks,
    format_chunk_table,
    looks_like_chunks,
    sequence_accuracy,
    tally_accuracy,
    tally_chunks,
    token_accuracy,
)

label = st.sampled_from(["O", "B-X", "I-X", "E-X", "S-X", "B-Y", "I-Y", "E-Y", "S-Y"])
iob2_label = st.sampled_from(["O", "B-X", "I-X", "B-Y", "I-Y"])
pairs = st.lists(st.lists(st.tuples(label, label), min_size=1, max_size=8), min_size=1, max_size=5)


def spans(labels):
    return [tuple(chunk) for chunk in chunks(labels)]


def split(data):
    """Lists of pairs as two lists of lists."""
    return [[a for a, _ in s] for s in data], [[b for _, b in s] for s in data]


# --- chunks


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ("", []),
        ("O O", []),
        ("B-X I-X O B-Y", [("X", 0, 2), ("Y", 3, 4)]),  # IOB2
        ("I-X I-X B-X O I-Y", [("X", 0, 2), ("X", 2, 3), ("Y", 4, 5)]),  # IOB1
        ("I-X E-X E-X I-Y O", [("X", 0, 2), ("X", 2, 3), ("Y", 3, 4)]),  # IOE
        ("S-X B-X I-X E-X B-Y E-Y S-X", [("X", 0, 1), ("X", 1, 4), ("Y", 4, 6), ("X", 6, 7)]),  # IOBES
        ("U-X B-X I-X L-X", [("X", 0, 1), ("X", 1, 4)]),  # BILOU
        ("B M E S B E", [("", 0, 3), ("", 3, 4), ("", 4, 6)]),  # word segmentation
        ("B-X I-Y E-X", [("X", 0, 1), ("Y", 1, 2), ("X", 2, 3)]),  # a change of type ends a chunk
        ("B-X-1 I-X-1 NN -LRB-", [("X-1", 0, 2)]),  # hyphens in types; other labels are outside
    ],
)
def test_chunks_by_hand(labels, expected):
    assert spans(labels.split()) == expected


@given(st.lists(iob2_label, max_size=10))
def test_iob2_chunks_are_what_a_pattern_finds(labels):
    """A label is a letter: capitals begin a chunk, small ones continue it; a stray small one begins too."""
    letters = {"O": "-", "B-X": "X", "I-X": "x", "B-Y": "Y", "I-Y": "y"}
    text = "".join(letters[each] for each in labels)
    found = re.finditer("Xx*|x+|Yy*|y+", text)
    assert spans(labels) == [(match[0][0].upper(), match.start(), match.end()) for match in found]


@given(st.lists(label, max_size=10))
def test_chunks_cover_all_but_outside_once(labels):
    covered = [t for chunk in chunks(labels) for t in range(chunk.start, chunk.stop)]
    assert covered == [t for t, each in enumerate(labels) if each != "O"]
    assert all(
        labels[t].endswith(chunk.type) for chunk in chunks(labels) for t in range(chunk.start, chunk.stop)
    )


@given(st.lists(st.tuples(st.sampled_from("XY"), st.integers(1, 3), st.booleans()), max_size=5))
def test_all_schemes_say_the_same(plan):
    """Write the same spans in IOB2 and IOBES."""
    iob2, iobes, expected = [], [], []
    for kind, length, gap in plan:
        iob2 += ["O"] * gap
        iobes += ["O"] * gap
        expected.append((kind, len(iob2), len(iob2) + length))
        iob2 += [f"B-{kind}"] + [f"I-{kind}"] * (length - 1)
        iobes += (
            [f"S-{kind}"] if length == 1 else [f"B-{kind}"] + [f"I-{kind}"] * (length - 2) + [f"E-{kind}"]
        )
    assert spans(iob2) == spans(iobes) == expected


# --- reports


def test_report_by_hand():
    true = [["B-NP", "I-NP", "O", "B-VP"], ["B-NP", "B-NP"]]
    predicted = [["B-NP", "I-NP", "B-PP", "B-NP"], ["B-NP", "I-NP"]]
    report = chunk_report(true, predicted)
    assert (report.tokens, report.correct_tokens) == (6, 3)
    assert (report.overall.gold, report.overall.predicted, report.overall.correct) == (4, 4, 1)
    assert {k: (c.gold, c.predicted, c.correct) for k, c in report.by_type.items()} == {
        "NP": (3, 3, 1), "PP": (0, 1, 0), "VP": (1, 0, 0)
    }  # fmt: skip
    assert report.overall.precision == report.overall.recall == report.overall.f1 == 0.25
    assert report.by_type["VP"].precision == report.by_type["PP"].recall == report.by_type["PP"].f1 == 0.0
    assert format_chunk_table(report).splitlines() == [
        "processed 6 tokens with 4 phrases; found: 4 phrases; correct: 1.",
        "accuracy:  50.00%; precision:  25.00%; recall:  25.00%; FB1:  25.00",
        "               NP: precision:  33.33%; recall:  33.33%; FB1:  33.33  3",
        "               PP: precision:   0.00%; recall:   0.00%; FB1:   0.00  1",
        "               VP: precision:   0.00%; recall:   0.00%; FB1:   0.00  0",
    ]


def test_labels_that_training_never_had_are_merely_wrong():
    report = chunk_report([["I-LST", "O"]], [["O", "O"]])
    assert (report.overall.gold, report.overall.predicted, report.accuracy) == (1, 0, 0.5)


def test_chunks_do_not_cross_samples():
    assert chunk_report([["B-X"], ["I-X"]], [["B-X"], ["I-X"]]).overall.correct == 2


def test_table_of_bare_places_has_no_line_for_the_missing_type():
    assert format_chunk_table(chunk_report([["B", "E"]], [["B", "E"]])).count("\n") == 1


@given(pairs)
def test_counts_add_up_and_are_symmetric(data):
    true, predicted = split(data)
    report, mirrored = chunk_report(true, predicted), chunk_report(predicted, true)
    for name in ("gold", "predicted", "correct"):
        assert getattr(report.overall, name) == sum(getattr(c, name) for c in report.by_type.values())
    assert report.overall.correct <= min(report.overall.gold, report.overall.predicted)
    assert (report.overall.precision, report.overall.f1) == (mirrored.overall.recall, mirrored.overall.f1)
    p, r = report.overall.precision, report.overall.recall
    assert report.overall.f1 == pytest.approx(2 * p * r / (p + r) if p + r else 0.0)
    assert report.accuracy == token_accuracy(true, predicted)


@given(pairs)
def test_perfect_predictions_score_one(data):
    true, _ = split(data)
    report = chunk_report(true, true)
    assert report.accuracy == 1.0
    assert all(counts.f1 == 1.0 for counts in report.by_type.values())
    assert report.overall.f1 == (1.0 if report.by_type else 0.0)


@given(pairs)
def test_dictionaries_survive_json(data):
    report = chunk_report(*split(data))
    record = json.loads(json.dumps(report.to_dict()))
    assert record == report.to_dict()
    assert record["overall"]["f1"] == report.overall.f1
    assert set(record) == {"tokens", "correct_tokens", "accuracy", "overall", "by_type"}
    assert set(record["overall"]) == {"gold", "predicted", "correct", "precision", "recall", "f1"}


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["B-NP", "I-NP", "O"], True),
        (["S-PER", "O"], True),
        (["B", "I", "O"], True),
        ("BMES", True),
        (["O"], False),
        ([], False),
        (["B"], False),
        (["NN", "DT", "O"], False),
        (["B-NP", "NN"], False),
        (["B-NP", "B"], False),
        (["-LRB-", "-RRB-"], False),
    ],
)
def test_chunk_labels_are_recognised(labels, expected):
    assert looks_like_chunks(labels) is expected


# --- accuracy


def test_accuracy_by_hand():
    assert token_accuracy([[1, 2], [3]], [[1, 0], [3]]) == pytest.approx(2 / 3)


@pytest.mark.parametrize("metric", [token_accuracy, chunk_report])
def test_different_lengths_are_named(metric):
    with pytest.raises(ValueError, match="Y_true has 1 samples, Y_pred has 2"):
        metric([["O"]], [["O"], ["O"]])
    with pytest.raises(ValueError, match="sample 1: Y_true has 2 labels, Y_pred has 1"):
        metric([["O"], ["O", "O"]], [["O"], ["O"]])


def test_accuracy_of_nothing_is_refused():
    with pytest.raises(ValueError, match="at least one token"):
        token_accuracy([[]], [[]])


# -- true labels that are not all known -----------------------------------------------------------------------------

PARTIAL = [["B-NP", UNKNOWN, "O"], [OneOf("B-NP", "O"), "I-NP"], [UNKNOWN]]
PREDICTED = [["B-NP", "I-NP", "B-NP"], ["O", "I-NP"], ["O"]]


def test_accuracy_leaves_unknown_labels_out():
    assert token_accuracy(PARTIAL, PREDICTED) == 3 / 4
    assert tally_accuracy(PARTIAL, PREDICTED).denominator.tolist() == [2, 2, 0]
    assert sequence_accuracy(PARTIAL, PREDICTED) == 1 / 2
    for accuracy in (token_accuracy, sequence_accuracy):
        with pytest.raises(ValueError, match="with a label; Y_true has none"):
            accuracy([[UNKNOWN]], [["O"]])


@pytest.mark.parametrize("metric", [chunk_report, tally_chunks, chunk_f1])
def test_chunks_that_are_not_all_known_are_refused(metric):
    with pytest.raises(
        ValueError, match=r"Y_true\[0\]\[1\] is UNKNOWN, and chunks need complete .* token_accuracy"
    ):
        metric(PARTIAL, PREDICTED)


def test_segments_that_are_not_all_known_are_refused():
    true, predicted = [[(0, 1, "a")], [(0, 2, OneOf("a", "b"))]], [[(0, 1, "a")], [(0, 2, "a")]]
    with pytest.raises(ValueError, match=r"Y_true\[1\]\[0\] is \(0, 2, OneOf"):
        chunk_f1(true, predicted)
