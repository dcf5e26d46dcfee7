"""Makers of columns that recipes use: lexicon, kinds of characters, biology, tags of another tagger, neighbours."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.utils import Bunch

from experiments.harness.tagging import (
    TaggingTask,
    run_task,
    score_accuracy,
    score_words,
    word_segmentation,
)
from experiments.harness.tagging.task import first
from palmette import CRF, Chain, Perceptron
from palmette.apps.tagging.systems import Neighbours, System, TagColumn, biology_systems, train
from palmette.data import tag_words
from palmette.features.sets.bio_columns import BioColumns, signs, stem
from palmette.features.sets.segmentation_columns import CharacterColumns, LexiconColumns, kind
from palmette.recipes import Context

WORDS = st.lists(st.text("abc", min_size=1, max_size=7), min_size=1, max_size=6)
LINES = st.lists(WORDS, min_size=1, max_size=12)


def characters(lines) -> list[list[tuple[str]]]:
    return [[(c,) for c in "".join(words)] for words in lines]


# --------------------------------------------------------------------------------------------- lexicon


def lengths(text: str, lexicon: set[str]) -> list[tuple[str, str, str]]:
    """Lengths of the longest words around each place, from all pairs of bounds."""
    found = [(a, b) for a in range(len(text)) for b in range(a + 2, len(text) + 1) if text[a:b] in lexicon]
    rows = []
    for t in range(len(text)):
        begin = [b - a for a, b in found if a == t]
        end = [b - a for a, b in found if b == t + 1]
        around = [b - a for a, b in found if a < t < b - 1]
        longest = max(begin, default=1), max(end, default=1), max(around, default=0)
        rows.append(tuple(str(min(length, 6)) for length in longest))
    return rows


@given(LINES, st.text("abc", min_size=1, max_size=12), st.integers(1, 3))
def test_the_longest_words_are_found(lines, text, min_count):
    maker = LexiconColumns(min_count).fit(characters(lines), tag_words(lines))
    words = [word for line in lines for word in line]
    lexicon = {word for word in words if words.count(word) >= min_count}
    ((*made,),) = maker.transform(characters([[text]]))
    assert made == [(c, *cells) for c, cells in zip(text, lengths(text, lexicon))]


@given(LINES, st.integers(1, 4))
def test_training_lines_are_read_with_the_words_of_others(lines, n_folds):
    X, y = characters(lines), tag_words(lines, "BMES6")
    maker = LexiconColumns(n_folds=n_folds)
    made = maker.fit_transform(X, y)
    assert maker.counts_ == LexiconColumns().fit(X, y).counts_
    bounds = [len(X) * k // n_folds for k in range(n_folds + 1)]
    for a, b in zip(bounds, bounds[1:]):
        others = LexiconColumns().fit(X[:a] + X[b:], y[:a] + y[b:])
        assert made[a:b] == others.transform(X[a:b])


def test_words_that_are_too_long_are_no_words():
    X, y = characters([["abcd"]]), tag_words([["abcd"]])
    assert LexiconColumns(longest=3).fit(X, y).transform(X)[0][0] == ("a", "1", "1", "0")


# -------------------------------------------------------------------------------------- other columns


def test_kinds_and_repetition_of_characters():
    assert "".join(map(kind, "０9Zz一月、 天é")) == "CDLLNTPPCC"
    (line,) = CharacterColumns().transform(characters(["aaba"]))
    assert [cells[2] for cells in line] == ["00", "10", "00", "01"]
    (line,) = CharacterColumns().transform(characters(["aaa"]))
    assert [cells[2] for cells in line] == ["00", "10", "11"]


@given(st.text(st.characters(codec="ascii", exclude_categories=["C", "Z"]), min_size=1))
def test_biology_columns_have_no_empty_signs(word):
    ((cells,),) = BioColumns().transform([[(word, "kept")]])
    assert len(cells) == 6 and cells[:2] == (word, "kept")
    assert cells[2] == stem(word) and not any(c in "123456789" for c in cells[2])
    assert cells[5] == signs(word) != ""
    if "-" not in word:
        assert cells[2] == cells[3] == cells[4]


def test_stems():
    assert [stem(word) for word in ("Cells", "IL-2s", "AIDS", "analysis", "gas", "class")] == [
        "cell", "il-0", "aid", "analysis", "gas", "class",
    ]  # fmt: skip
    assert BioColumns().fit([]).transform([[("-a-b-",)]]) == [[("-a-b-", "-a-b-", "", "", "-")]]


def test_tags_come_from_the_other_corpus():
    asked = []
    corpus = Bunch(data=[[("the",), ("cats",)], [("a",), ("dog",)]], target=[["DT", "NNS"], ["DT", "NN"]])
    maker = TagColumn(lambda subset: asked.append(subset) or corpus, random_state=3).fit([], [])
    assert asked == ["train"] and maker.tagger_.model.random_state == 3
    made = maker.transform([[("the", "1"), ("cats", "2")], [("dog", "3")]])
    assert made == [[("the", "1", "DT"), ("cats", "2", "NNS")], [("dog", "3", "NN")]]


@given(st.integers(1, 6), st.integers(0, 4))
def test_neighbours_are_padded_with_the_ends(length, reach):
    table = np.random.default_rng(0).normal(size=(length, 2))
    (made,) = Neighbours(reach).transform([table])
    padded = np.pad(table, ((reach, reach), (0, 0)), mode="edge")
    np.testing.assert_array_equal(made, np.hstack([padded[i : i + length] for i in range(2 * reach + 1)]))


def test_training_sentences_come_from_fit_transform():
    """A lexicon that knew every training word would say that all words are known."""
    lines = [["ab", "c"], ["ab", "c"], ["ba", "c"], ["ba", "c"]] * 5
    system = System("s", Perceptron(Chain()), "U0:%x[0,1]/%x[0,2]\nB", (LexiconColumns(n_folds=20),))
    lines.append(["cccc"])  # unknown to the other lines
    (trained,) = train(system, characters(lines), tag_words(lines))
    assert "U0:4/1" not in trained.model.encoder_.feature_names
    assert trained.columns[0].transform(characters(lines))[-1][0] == ("c", "4", "1", "0")


# ----------------------------------------------------------------------------------------------- tasks


def test_all_candidates_are_tested_if_asked():
    def load(subset: str) -> Bunch:
        words = [["ab", "c"], ["c", "ab"]] * 10
        labels = tag_words(words)
        return Bunch(
            data=characters(words), target=labels, words=words, target_names=["B", "E", "S"], DESCR=""
        )

    template, context = "U0:%x[0,0]\nB", Context()
    good = System("good", CRF(Chain(), l2=0.1), template)
    bad = System("bad", CRF(Chain(), l2=1e5), "U0\nB")
    run_task(
        context,
        TaggingTask(load, score_words, bad, (good, bad), target=99.0, quick_target=99.0, test_all=True),
    )
    tested, *compared = context.tables[1:]
    assert [row[0] for row in tested.rows] == ["bad", "bad", "good"]
    assert [table.title for table in compared] == ["bad against bad", "good against bad"]
    assert context.verdicts[0].met and "good" in context.verdicts[0].metric


# ------------------------------------------------------------------------------------------- real data


def scored(task: TaggingTask, system: System, n_train: int, n_test: int) -> float:
    data, test = first(task.load("fit"), n_train), first(task.load("dev"), n_test)
    (trained,) = train(system, data.data, data.target, settings=system.settings()[:1])
    return next(iter(task.scoring(data, test, trained.predict(test.data)).values())).score


@pytest.mark.data
def test_a_lexicon_helps_to_find_words():
    from palmette.datasets import load_cws_udc

    task = word_segmentation(load_cws_udc, target=0.0, quick_target=0.0)
    baseline, lexicon = (scored(task, system, 800, 200) for system in (task.baseline, task.candidates[0]))
    assert 0.8 < baseline < lexicon - 0.01


@pytest.mark.data
def test_names_in_abstracts():
    from palmette.datasets import load_jnlpba, load_ud_ewt

    data, test = first(load_jnlpba("fit"), 300), first(load_jnlpba("dev"), 100)
    tags = TagColumn(lambda subset: first(load_ud_ewt(subset), 300))
    system = biology_systems(tags)[-1]
    assert system.features is not None
    features = clone(system.features).set_params(clusters=(60, 64, 100))
    system = replace(system, features=features, draws=1)
    (trained,) = train(system, data.data, data.target)
    assert score_accuracy(data, test, trained.predict(test.data))["accuracy %"].score > 0.8
