"""Averaged perceptrons as one tagger."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest

from palmette import CombinedDecoder
from palmette.apps.interrupted import TrainingInterrupted
from palmette.apps.tagging.columns import read_columns
from palmette.apps.tagging.tagger import Tagger
from palmette.stages import heard_by


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Sentences whose labels depend on chance, so that orders matter."""
    folder, rng = tmp_path_factory.mktemp("averaging"), np.random.default_rng(0)
    for name in ("train.txt", "test.txt"):
        sentences = [[f"w{rng.integers(9)} {rng.choice(list('XYZ'))}" for _ in range(5)] for _ in range(30)]
        (folder / name).write_text("\n\n".join(map("\n".join, sentences)) + "\n")
    return folder


@pytest.fixture(scope="module")
def texts(folder):
    return read_columns(folder / "train.txt"), read_columns(folder / "test.txt")


def perceptron(text, **options):
    return Tagger.train(text, algorithm="perceptron", max_iter=3, **options)


def test_weights_are_the_mean_and_labels_those_of_the_sum_of_scores(texts, tmp_path):
    train, test = texts
    several = perceptron(train, models=3, random_state=2)
    alone = [perceptron(train, random_state=seed) for seed in (6, 7, 8)]
    assert not np.array_equal(alone[0].model.coef_, alone[1].model.coef_)
    np.testing.assert_allclose(several.model.coef_, np.mean([each.model.coef_ for each in alone], axis=0))
    models = [each.model for each in alone]
    together = CombinedDecoder(models, combine="scores").predict(
        [m.encode(alone[0].columns(test)) for m in models]
    )
    assert several.predict(test) == together
    several.save(tmp_path / "model")
    assert Tagger.load(tmp_path / "model").predict(test) == together


def test_one_model_is_a_plain_perceptron(texts):
    np.testing.assert_array_equal(
        perceptron(texts[0], models=1, random_state=3).model.coef_,
        perceptron(texts[0], random_state=3).model.coef_,
    )


def test_each_is_told():
    class Heard(list):
        part = list.append

        def __call__(self, step):
            self.append("step")

    heard = Heard()
    text = read_columns("-", stream=io.StringIO("a X\nb Y\n"))
    with heard_by(heard):
        perceptron(text, models=2)
    assert "perceptron 1 of 2" in heard and "step" in heard[heard.index("perceptron 2 of 2") :]


def test_an_interrupt_leaves_the_mean_of_those_that_are_finished(texts):
    class Stops:
        def part(self, text):
            if text == "perceptron 3 of 3":
                raise KeyboardInterrupt

        def __call__(self, step):
            pass

    with heard_by(Stops()), pytest.raises(TrainingInterrupted) as stopped:
        perceptron(texts[0], models=3, random_state=2)
    alone = [perceptron(texts[0], random_state=seed).model.coef_ for seed in (6, 7)]
    np.testing.assert_allclose(stopped.value.application.model.coef_, np.mean(alone, axis=0))


def test_on_the_command_line(run, folder):
    train = ["train", "train.txt", "--model", "m", "--models", 2, "--max-iter", 3]
    code, out, _ = run(*train, "--algorithm", "perceptron")
    assert code == 0 and "mean of     2 perceptrons" in out and "objective" not in out
    record = json.loads(run(*train, "--algorithm", "perceptron", "--json")[1])
    assert record["models"] == 2 and record["objective"] is None and record["gap"] is None
    facts = run("inspect", "m")[1].split("\n\n")[0]
    assert "iterations  3" in facts and "objective" not in facts and "nan" not in facts
    code, _, err = run(*train)
    assert code == 2 and "crf has one optimum: leave it out, or use --algorithm perceptron" in err
    code, _, err = run("train", "train.txt", "--model", "m", "--algorithm", "perceptron", "--models", 0)
    assert code == 2 and "at least 1" in err and "reading" not in err


@pytest.mark.parametrize("models", [0, -1, 1.5, True, "2"])
def test_numbers_of_models_that_are_none(texts, models):
    with pytest.raises(ValueError, match=r"models \(--models\) must be at least 1"):
        perceptron(texts[0], models=models)
