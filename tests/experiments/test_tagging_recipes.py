"""Recipes of sequence labelling: systems, scores, the protocol of a task, and small runs on real data."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.utils import Bunch

from experiments.harness.tagging import (
    TaggingTask,
    run_task,
    score_accuracy,
    score_chunks,
    score_tags,
    score_words,
)
from experiments.harness.tagging.task import first
from palmette import CRF, Chain, Perceptron
from palmette.apps.tagging.systems import System, train
from palmette.data import convert_spans
from palmette.features import WordClusters
from palmette.metrics import chunk_report, token_accuracy, word_report
from palmette.recipes import Context
from palmette.structures.positions.tables import ChainTables

WORDS = "U0:%x[0,0]\nB"
RICH = "U0:%x[0,0]\nU1:%x[-1,0]/%x[0,0]\nU2:%x[1,0]\nB"


def sentences(n: int, seed: int) -> Bunch:
    """A chunk is an ``a`` after ``yes`` and the ``b`` after it; an ``a`` after ``no`` looks the same by itself."""
    random = np.random.default_rng(seed)
    data, target = [], []
    for _ in range(n):
        words, labels = [], []
        for yes, longer in random.integers(2, size=(5, 2)).tolist():
            words += ["yes" if yes else "no", "a", *["b"] * longer]
            labels += ["O", *(["B-X", *["I-X"] * longer] if yes else ["O"] * (1 + longer))]
        data.append([(word,) for word in words])
        target.append(labels)
    return Bunch(data=data, target=target, target_names=["B-X", "I-X", "O"], DESCR="")


PARTS = {"fit": (60, 0), "dev": (20, 1), "train": (80, 2), "test": (25, 3)}


class Loader:
    """Loads parts and notes which."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, subset: str) -> Bunch:
        self.asked.append(subset)
        return sentences(*PARTS[subset])


class Length(BaseEstimator):
    """A maker of a column, to see when it is fitted."""

    def __init__(self, random_state=0):
        self.random_state = random_state

    def fit(self, X, y):
        self.seen_ = len(X), len(y), self.random_state
        return self

    def transform(self, X):
        return [[(*token, str(len(sentence) % 2)) for token in sentence] for sentence in X]


# ---------------------------------------------------------------------------------------------- systems


def test_labels_go_in_and_out_of_the_encoding_of_the_model():
    data = sentences(40, 0)
    system = System("s", CRF(Chain(), l2=0.1), RICH, encoding="IOBES")
    (trained,) = train(system, data.data, data.target)
    assert set(trained.model.classes_) == {"B-X", "E-X", "S-X", "O"}
    inner = trained.labels_for_model(data.target)
    assert inner == convert_spans(data.target, "IOB2", "IOBES")
    predicted = trained.predict(data.data)
    assert {label for labels in predicted for label in labels} <= {"B-X", "I-X", "O"}
    assert chunk_report(data.target, predicted).overall.f1 > 0.95


def test_settings_are_trained_on_one_encoding_and_equal_a_plain_fit():
    data = sentences(40, 0)
    system = System("s", CRF(Chain(), tol=1e-6), RICH, grid={"l2": [0.1, 10.0]})
    found = list(train(system, data.data, data.target, settings=system.settings()))
    assert [each.setting for each in found] == [{"l2": 0.1}, {"l2": 10.0}]
    assert found[0].model.encoder_ is found[1].model.encoder_
    for each in found:
        alone = CRF(Chain(), tol=1e-6, l2=each.setting["l2"]).fit(system.inputs([], data.data), data.target)
        np.testing.assert_allclose(each.model.objective_, alone.objective_, rtol=1e-5)


def test_makers_of_columns_are_fitted_in_order_with_the_seed():
    data = sentences(10, 0)
    made = System("s", Perceptron(Chain()), "U0:%x[0,2]\nB", columns=(Length(), Length(7)))
    (trained,) = train(made, data.data, data.target, seed=5)
    assert [maker.seen_ for maker in trained.columns] == [(10, 10, 5)] * 2
    assert trained.model.random_state == 5 and made.columns[1].random_state == 7
    assert trained.model.encoder_.feature_names is not None
    assert set(trained.model.encoder_.feature_names) <= {"U0:0", "U0:1"}


def test_draws_are_labelled_by_the_sum_of_their_scores():
    data = sentences(30, 0)
    system = System(
        "s", Perceptron(Chain(), max_iter=1), RICH, columns=(Length(),), encoding="IOBES", draws=2
    )
    (trained,) = train(system, data.data, data.target, seed=3)
    draws = [trained, *trained.others]
    assert [draw.model.random_state for draw in draws] == [6, 7]
    assert [draw.columns[0].seen_[2] for draw in draws] == [6, 7]
    tables = [draw.model.scorer_.score(draw.model.coef_, draw.encode(data.data).batch) for draw in draws]
    node, edge = (sum(getattr(table, part) for table in tables) for part in ("node", "edge"))
    best = Chain().best(ChainTables(node, edge, tables[0].offsets)).codes
    labels = [trained.model.classes_[codes].tolist() for codes in np.split(best, tables[0].offsets[1:-1])]
    assert trained.predict(data.data) == convert_spans(labels, "IOBES", "IOB2", "repair")


def test_lines_of_edges_become_edge_features():
    data = sentences(30, 0)
    (trained,) = train(System("s", CRF(Chain()), RICH + "\nB1:%x[0,0]"), data.data, data.target)
    assert trained.model.edge_features == ["B"]
    block = trained.model.scorer_.blocks["edge_features"]
    assert block.stop > block.start


def test_arrays_need_no_template():
    random = np.random.default_rng(0)
    y = [random.integers(2, size=6).tolist() for _ in range(30)]
    X = [np.c_[labels, random.normal(size=6)] for labels in y]
    (trained,) = train(System("arrays", CRF(Chain(), l2=0.1)), X, y)
    assert token_accuracy(y, trained.predict(X)) == 1.0


@pytest.mark.parametrize(
    "options, message",
    [
        ({"seeds": ()}, "'s': seeds is empty"),
        ({"draws": 0}, "'s': draws must be at least 1, got 0"),
        ({"grid": {"c2": [1]}}, "'s': grid cannot have 'c2': CRF has no such parameter"),
        (
            {"grid": {"encoding__min_count": [1, 2]}},
            "'s': grid cannot have 'encoding__min_count': it changes the encoding",
        ),
        ({"template": "U0:%x[0,0]"}, "'s': the template has no label transitions"),
    ],
)
def test_faulty_systems(options, message):
    with pytest.raises(ValueError, match=message):
        System(**{"name": "s", "learner": CRF(Chain()), "template": WORDS, **options})


# ---------------------------------------------------------------------------------------------- scores


def test_scores_agree_with_the_metrics():
    data, random = sentences(30, 0), np.random.default_rng(1)
    labels = [random.permutation(y).tolist() for y in data.target]
    report = chunk_report(data.target, labels)
    found = score_chunks(data, data, labels)
    assert (found["F1 %"].score, found["accuracy %"].score) == (report.overall.f1, report.accuracy)
    assert score_accuracy(data, data, labels)["accuracy %"].score == token_accuracy(data.target, labels)

    known = first(data, 1)
    seen = {token for token in known.data[0]}
    pairs = [
        (a, b)
        for x, t, p in zip(data.data, data.target, labels)
        for token, a, b in zip(x, t, p)
        if token not in seen
    ]
    unknown = score_tags(known, data, labels)["unknown words %"]
    assert unknown.denominator.sum() == len(pairs)
    assert unknown.numerator.sum() == sum(a == b for a, b in pairs)


def test_scores_of_words():
    train = Bunch(words=[["ab"], ["c"]])
    test = Bunch(data=[[(c,) for c in "abcd"], [(c,) for c in "abc"]], words=[["ab", "cd"], ["abc"]])
    found = score_words(train, test, [["B", "E", "B", "E"], ["B", "E", "S"]])
    report = word_report(test.words, [["ab", "cd"], ["ab", "c"]], {"ab", "c"})
    assert [tally.score for tally in found.values()] == [report.f1, report.oov_recall, report.iv_recall]


# ----------------------------------------------------------------------------------------------- tasks


def task(load, **options) -> TaggingTask:
    given = {
        "scoring": score_chunks,
        "baseline": System("words", CRF(Chain(), tol=1e-2), WORDS),
        "candidates": (
            System("far too stiff", CRF(Chain(), tol=1e-2, l2=1e4), RICH),
            System("neighbours", Perceptron(Chain()), RICH, grid={"max_iter": [1, 8]}, seeds=(0, 1, 2)),
        ),
        "target": 90.0,
        "quick_target": 50.0,
        "published": {"others": 88.8},
    }
    return TaggingTask(load=load, **{**given, **options})


def test_a_task_chooses_on_development_data_and_reads_the_test_part_once():
    load, context, lines = Loader(), Context(), []
    context._log = lines.append
    run_task(context, task(load))
    assert load.asked == ["fit", "dev", "train", "test"]
    development, tested, compared = context.tables
    assert [row[0] for row in development.rows] == ["words", "far too stiff", "neighbours", "neighbours"]
    best = max(development.rows[1:], key=lambda row: row[2])
    assert best[0] == "neighbours"
    assert [row[:3] for row in tested.rows] == [
        ("words", "", 1),
        ("neighbours", best[1], 3),
        ("others (published)", None, None),
    ]
    assert [line.startswith("test: neighbours") for line in lines].count(True) == 3
    assert compared.title == "neighbours against words"
    difference = tested.rows[1][3] - tested.rows[0][3]
    assert compared.rows[0][1] == pytest.approx(difference, abs=0.2)  # seeds pooled against their mean
    assert compared.rows[0][3] < 0.01
    assert context.verdicts[0].value == tested.rows[1][3] and context.verdicts[0].met
    assert context.figures and context.evaluations[0].template == RICH


def test_a_quick_run_is_small():
    load, context = Loader(), Context(quick=True)
    run_task(context, task(load, quick_size=10))
    development, tested, _ = context.tables
    assert [row[1] for row in development.rows] == ["", "", "max_iter=1"]
    assert [row[2] for row in tested.rows][:2] == [1, 1]
    assert len(context.evaluations[0].true) == 10
    assert context.verdicts[0].bound == 50.0


def test_a_task_without_candidates_reports_the_baseline():
    context = Context()
    run_task(context, task(Loader(), candidates=(), target=10.0))
    assert len(context.tables) == 2 and context.verdicts[0].metric == "words: F1 %"


def test_the_same_system_is_no_better_than_itself():
    context, system = Context(), System("same", CRF(Chain(), tol=1e-2), WORDS, seeds=(0, 1))
    run_task(context, task(Loader(), candidates=(system,)))
    (row, *_) = context.tables[2].rows
    assert row[1] == 0.0 and row[3] == 1.0


# ------------------------------------------------------------------------------------------- real data


@pytest.mark.data
def test_clusters_and_iobes_on_chunks():
    from palmette.datasets import load_conll2000

    data, test = first(load_conll2000("fit"), 400), first(load_conll2000("dev"), 100)
    template = "U0:%x[0,0]\nU1:%x[0,1]\nU2:%x[-1,1]/%x[0,1]\nU3:%x[0,2]/%x[1,1]\nB"
    system = System(
        "s", CRF(Chain(), tol=1e-2), template, columns=(WordClusters(16, n_components=10),), encoding="IOBES"
    )
    (trained,) = train(system, data.data, data.target)
    scores = score_chunks(data, test, trained.predict(test.data))
    assert scores["F1 %"].score > 0.8
