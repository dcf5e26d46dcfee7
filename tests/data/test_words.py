"""Word segmentation scores: by hand and as identities."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palmette.data import tag_words
from palmette.metrics import chunk_report, tally_words, word_report


@st.composite
def two_segmentations(draw):
    """The same texts, cut in two ways."""
    texts = draw(st.lists(st.text("ab", min_size=1, max_size=8), min_size=1, max_size=4))

    def cut(text):
        marks = draw(st.lists(st.booleans(), min_size=len(text), max_size=len(text)))
        words, start = [], 0
        for stop, mark in enumerate(marks[1:], 1):
            if mark:
                words.append(text[start:stop])
                start = stop
        return [*words, text[start:]]

    return [cut(text) for text in texts], [cut(text) for text in texts]


def test_by_hand():
    true = [["he", "has", "a", "catfish"], ["no"]]
    predicted = [["he", "has", "ac", "at", "fish"], ["no"]]
    report = word_report(true, predicted, vocabulary=["he", "has", "a"])
    assert (report.gold, report.predicted, report.correct) == (5, 6, 3)
    assert (report.unknown, report.correct_unknown) == (2, 1)  # catfish and no
    assert report.f1 == pytest.approx(6 / 11)
    assert (report.precision, report.recall, report.oov_rate) == pytest.approx((1 / 2, 3 / 5, 2 / 5))
    assert (report.oov_recall, report.iv_recall) == pytest.approx((1 / 2, 2 / 3))
    assert "unknown words: 40.00%; recall of unknown words: 50.00%; of known words: 66.67%" in report.format()
    assert json.loads(json.dumps(report.to_dict())) == report.to_dict()


def test_a_word_is_right_only_at_its_own_place():
    assert word_report([["a", "ab", "b"]], [["aa", "b", "b"]]).correct == 1


def test_without_vocabulary_nothing_is_said_of_unknown_words():
    report = word_report([["ab"]], [["a", "b"]])
    assert report.f1 == 0.0 and report.oov_recall is None and report.iv_recall is None
    assert "unknown" not in report.format()
    assert report.to_dict()["oov_rate"] is None


@given(two_segmentations(), st.sets(st.sampled_from(["a", "b", "ab", "aa"])))
def test_identities(pair, vocabulary):
    true, predicted = pair
    report, mirrored = word_report(true, predicted, vocabulary), word_report(predicted, true)
    assert (report.gold, report.predicted, report.correct) == (
        mirrored.predicted,
        mirrored.gold,
        mirrored.correct,
    )
    spans = chunk_report(tag_words(true), tag_words(predicted)).overall
    assert (report.gold, report.predicted, report.correct) == (spans.gold, spans.predicted, spans.correct)
    assert report.unknown == sum(word not in vocabulary for words in true for word in words)
    perfect = word_report(true, true, vocabulary)
    assert perfect.f1 == 1.0 and perfect.correct_unknown == perfect.unknown
    for score in ("f1", "precision", "recall", "oov_recall", "iv_recall"):
        tally = tally_words(true, predicted, score, vocabulary)
        assert tally.score == pytest.approx(getattr(report, score)) and len(tally) == len(true)


@pytest.mark.parametrize(
    ("true", "predicted", "error", "message"),
    [
        ([["a"]], [["a"], ["b"]], ValueError, "Y_true has 1 sentences, Y_pred has 2"),
        ([["a"], ["ab"]], [["a"], ["ba"]], ValueError, "sentence 1: .* different texts, 'ab' and 'ba'"),
        ([["a"], ["b", ""]], [["a"], ["b"]], ValueError, "sentence 1: word 1 is empty"),
        (["ab"], [["ab"]], TypeError, "sentence 0 is a string"),
    ],
)
def test_bad_input(true, predicted, error, message):
    with pytest.raises(error, match=message):
        word_report(true, predicted)


def test_bad_arguments():
    with pytest.raises(TypeError, match="vocabulary is a string"):
        word_report([["a"]], [["a"]], "abc")
    with pytest.raises(ValueError, match="score='oov_recall' needs vocabulary="):
        tally_words([["a"]], [["a"]], "oov_recall")
    with pytest.raises(ValueError, match="score must be one of 'f1', 'precision', 'recall', got 'F1'"):
        tally_words([["a"]], [["a"]], "F1")
