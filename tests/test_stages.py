"""Stages of long work: who hears them, and that nothing depends on it."""

from __future__ import annotations

import os
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest

from palmette import CRF, Chain
from palmette.apps.tuning import fit_tuned
from palmette.cli import progress as display
from palmette.contracts.solver import Step
from palmette.estimators.folds import Part
from palmette.features import WordClusters
from palmette.stages import heard_by, stage, step_callbacks

X = [[["the"], ["dog"]], [["a"], ["cat"]], [["the"], ["cat"]], [["a"], ["dog"]]]
Y = [["D", "N"]] * 4


class Heard:
    """All that was told, steps as numbers."""

    def __init__(self):
        self.parts, self.steps = [], 0

    def part(self, text):
        self.parts.append(text)

    def __call__(self, step):
        self.steps += 1


def tuned():
    learner = CRF(Chain(), random_state=0)
    encoded = learner.encode(X)
    return fit_tuned(learner, Part(encoded, Y, None), n_folds=2)


@pytest.mark.filterwarnings("ignore:.*held-out score is")
def test_a_search_tells_penalties_folds_and_steps_and_finds_the_same():
    heard = Heard()
    with heard_by(heard):
        loud = tuned()
    assert "encoding the inputs" in heard.parts and heard.parts[-1] == "" and heard.steps
    assert "l2=10x: fold 2 of 2" in heard.parts
    assert any(part.startswith("l2=1x (best: 10x, 1.0000): fold 1") for part in heard.parts)
    assert any(part.endswith("on all training data") for part in heard.parts)
    assert list(loud.fit_seconds_) == ["tune", "encode", "solve"]
    np.testing.assert_array_equal(loud.coef_, tuned().coef_)


def test_nobody_need_listen():
    with stage("alone"):
        assert step_callbacks() == []


def test_a_stage_that_fails_is_over():
    heard = Heard()
    with pytest.raises(ZeroDivisionError), heard_by(heard), stage("outer"), stage("inner"):
        _ = 1 / 0
    assert heard.parts == ["outer", "outer: inner", "outer", ""] and step_callbacks() == []


def test_clusters_tell_what_they_do():
    heard = Heard()
    with heard_by(heard):
        WordClusters((2, 3), n_components=2, min_count=1).fit([["a", "b", "c", "d"], ["b", "a", "a"]])
    assert [part for part in heard.parts if part] == [
        "vectors of words",
        "2 word clusters",
        "3 word clusters",
    ]


def test_lines_tell_stages_at_once_and_parts_that_last(capsys, monkeypatch):
    monkeypatch.setattr(display, "PATIENCE", 0.05)
    with display.progress() as shown:
        shown.stage("reading")
        with stage("short"):
            pass
        with stage("long"):
            time.sleep(0.5)
    out, err = capsys.readouterr()
    assert out == "" and err.splitlines() == ["reading", "long"]


@pytest.mark.filterwarnings("ignore:.*held-out score is")
def test_an_interrupted_search_leaves_a_model_with_the_best_penalty_so_far():
    learner, scored = CRF(Chain(), random_state=0), []

    def score(model, X, y):
        scored.append(model.l2)
        if len(scored) == 5:  # of the third penalty
            raise KeyboardInterrupt
        return {"10x": 0.3, "1x": 0.7}[model.l2]

    part = Part(learner.encode(X), Y, None)
    with (
        pytest.raises(KeyboardInterrupt),
        pytest.warns(UserWarning, match="after 2 penalties: .* l2=1x; interrupt again"),
    ):
        fit_tuned(learner, part, n_folds=2, score=score)
    assert learner.best_params_ == {"l2": "1x"} and learner.best_score_ == 0.7
    np.testing.assert_array_equal(learner.coef_, CRF(Chain(), l2="1x", random_state=0).fit(X, Y).coef_)


def test_an_interrupt_before_the_first_penalty_leaves_nothing():
    learner = CRF(Chain())

    def score(model, X, y):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit_tuned(learner, Part(learner.encode(X), Y, None), n_folds=2, score=score)
    assert not hasattr(learner, "coef_")


@pytest.mark.filterwarnings("ignore:.*held-out score is")
def test_an_interrupt_at_the_very_end_of_the_last_fit_keeps_its_weights(monkeypatch):
    learner = CRF(Chain(), random_state=0)
    part = Part(learner.encode(X), Y, None)
    plain = CRF.fit

    def fit(self, *data):
        plain(self, *data)
        if self is learner:
            del self.fit_seconds_  # which are noted after the weights
            raise KeyboardInterrupt
        return self

    monkeypatch.setattr(CRF, "fit", fit)
    with pytest.raises(KeyboardInterrupt):
        fit_tuned(learner, part, n_folds=2)
    assert list(learner.fit_seconds_) == ["tune"] and learner.coef_.any() and len(learner.cv_scores_)


def test_the_held_out_score_is_shown_in_parts_until_the_next_one():
    lines = []
    shown, step = display.Progress(lambda text, kind: lines.append(text)), Step(1, 1.0, 0.1, 2.0, np.nan)
    shown.stage("learning")
    shown.part("perceptron 1 of 2")
    shown.held_out(step, 0.5)
    shown(step)
    shown.part("perceptron 2 of 2")
    shown(step)
    assert lines[2] == "perceptron 1 of 2: iteration 1: objective 2, held-out accuracy 50.00%"
    assert lines[4] == "perceptron 2 of 2: iteration 1: objective 2"


@pytest.mark.parametrize(
    ("data", "results", "typed", "to_file", "shows"),
    [
        ("x.txt", True, False, True, True),
        ("x.txt", True, False, False, False),  # palmette predict x.txt | head
        ("x.txt", False, True, False, True),
        ("-", False, False, False, True),
        ("-", False, True, False, False),
        ("-", True, True, True, False),
    ],
)
def test_a_bar_does_not_run_through_what_else_is_on_the_screen(
    monkeypatch, data, results, typed, to_file, shows
):
    monkeypatch.setattr(display, "_is_file", lambda descriptor: to_file)
    monkeypatch.setattr(display, "progress", lambda: "progress")
    for name, on_screen in (("stdin", typed), ("stderr", True)):
        monkeypatch.setattr(sys, name, SimpleNamespace(isatty=lambda yes=on_screen: yes))
    assert (display.progress_beside(data, results=results) == "progress") is shows


def test_what_is_a_file(tmp_path):
    with open(tmp_path / "out", "w") as file:
        assert display._is_file(file.fileno())
    read, write = os.pipe()
    assert not display._is_file(write)
    os.close(read)
    os.close(write)
    assert not display._is_file(write)
