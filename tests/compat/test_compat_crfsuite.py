"""``palmette.compat.CRF`` beside ``sklearn_crfsuite.CRF``: same data, same settings, same model."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from palmette.compat import CRF, metrics, utils
from palmette.compat.crfsuite_file import read_crfsuite_model
from palmette.compat.training import sequence
from palmette.datasets import load_conll2000
from palmette.errors import ModelFileError

pycrfsuite = pytest.importorskip("pycrfsuite")
sklearn_crfsuite = pytest.importorskip("sklearn_crfsuite")


def make_data(seed, n, n_words=40, n_labels=4):
    """Sentences with every kind of feature value, zeros and negative numbers included."""
    rng = np.random.default_rng(seed)
    X, Y = [], []
    for length in rng.integers(1, 9, n):
        words = rng.integers(0, n_words, length)
        noise = rng.integers(0, n_labels, length)
        labels = np.where(rng.random(length) < 0.15, noise, words % n_labels)
        X.append(
            [
                {
                    "w": f"w{word}",
                    "odd": bool(word % 2),
                    "size": float(word) / n_words,
                    "drift": float(rng.normal()),
                    "next": {"w": f"w{words[t + 1]}", "odd": bool(words[t + 1] % 2)}
                    if t + 1 < length
                    else {},
                    "parts": {f"p{word % 3}", f"q{word % 5}"},
                    "first": t == 0,
                }
                for t, word in enumerate(words)
            ]
        )
        Y.append(["ABCD"[label] for label in labels])
    return X, Y


@pytest.fixture(scope="module")
def data():
    X, Y = make_data(0, 220)
    return X[:120], Y[:120], X[120:], Y[120:]


def weights(crf):
    return crf.state_features_ | crf.transition_features_


def distance(ours, theirs):
    a, b = weights(ours), weights(theirs)
    return max((abs(a.get(key, 0.0) - b.get(key, 0.0)) for key in a.keys() | b.keys()), default=0.0)


def both(settings, *data):
    return CRF(**settings).fit(*data), sklearn_crfsuite.CRF(**settings).fit(*data)


def test_the_constructor_is_the_same():
    ours, theirs = inspect.signature(CRF), inspect.signature(sklearn_crfsuite.CRF)
    assert {n: p.default for n, p in ours.parameters.items()} == {
        n: p.default for n, p in theirs.parameters.items()
    }


@pytest.mark.parametrize("algorithm", ["lbfgs", "l2sgd", "ap", "pa", "arow"])
def test_defaults_are_the_same(algorithm):
    from palmette.compat.parameters import DEFAULTS, FEATURES

    names = {
        "min_freq": "feature.minfreq",
        "all_possible_states": "feature.possible_states",
        "pa_type": "type",
    }
    names["all_possible_transitions"] = "feature.possible_transitions"
    theirs = pycrfsuite.Trainer(algorithm, verbose=False).get_params()
    ours = FEATURES | DEFAULTS[algorithm]
    assert len(ours) == len(theirs)
    for name, value in ours.items():
        other = theirs[names.get(name, name.replace("calibration_", "calibration."))]
        assert value == other or (value is None and other == 2**31 - 1)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"c1": 0.1, "c2": 0.1, "max_iterations": 100, "all_possible_transitions": True},
        {"c1": 1.0, "c2": 1e-3, "max_iterations": 50},
        {"c2": 1e-3, "max_iterations": 25},
        {"c2": 0.01, "num_memories": 3, "max_iterations": 40},
        {"c2": 0.01, "linesearch": "Backtracking", "max_iterations": 40},
        {"c2": 0.01, "linesearch": "StrongBacktracking", "max_iterations": 40},
        {"c2": 0.5, "epsilon": 1e-9, "delta": 1e-12},
        {"c1": 0.5, "c2": 0.05, "epsilon": 1e-6, "delta": 1e-9},
        {"c1": 0.2, "c2": 0.0, "max_iterations": 60},
        {"c2": 0.1, "period": 3, "delta": 1e-2},
        {"c2": 0.1, "epsilon": 1e-2},
        {"min_freq": 2.0},
        {"min_freq": 0.7, "max_iterations": 20},
        {"min_freq": -1.0, "max_iterations": 20},
        {"all_possible_states": True, "max_iterations": 20},
        {
            "all_possible_states": True,
            "all_possible_transitions": True,
            "min_freq": 0.5,
            "max_iterations": 20,
        },
    ],
)
def test_lbfgs_gives_the_same_weights_in_the_same_iterations(data, settings):
    X, Y, X_test, Y_test = data
    ours, theirs = both(settings, X, Y)
    a, b = ours.training_log_, theirs.training_log_
    assert a.featgen_num_features == b.featgen_num_features
    assert len(a.iterations) == len(b.iterations)
    for mine, other in zip(a.iterations, b.iterations):
        assert mine["loss"] == pytest.approx(other["loss"], rel=1e-4)
        assert mine["feature_norm"] == pytest.approx(other["feature_norm"], rel=1e-3)
    for mine, other in zip(a.iterations[:20], b.iterations):  # later ones feel the rounding
        assert mine["linesearch_trials"] == other["linesearch_trials"]
        assert mine["linesearch_step"] == pytest.approx(other["linesearch_step"], rel=1e-3)
        assert mine["error_norm"] == pytest.approx(other["error_norm"], rel=1e-2, abs=1e-4)
    assert distance(ours, theirs) < 1e-3
    assert ours.classes_ == theirs.classes_
    assert ours.num_attributes_ == pytest.approx(theirs.num_attributes_, abs=2)  # weights near 0, with c1
    assert ours.predict(X_test).tolist() == [list(labels) for labels in theirs.predict(X_test)]
    assert ours.score(X_test, Y_test) == theirs.score(X_test, Y_test)


def test_marginals_and_probabilities_are_the_same(data):
    X, Y, X_test, Y_test = data
    ours, theirs = both({"c2": 0.05}, X, Y)
    for x, y in zip(X_test[:10], Y_test):
        for p, q in zip(ours.predict_marginals_single(x), theirs.predict_marginals_single(x)):
            assert p == pytest.approx(q, abs=1e-4)
        for crf in (ours, theirs):
            crf.tagger_.set(x)
        assert ours.tagger_.probability(y) == pytest.approx(theirs.tagger_.probability(y), rel=1e-3)
        assert ours.tagger_.marginal("A", 0) == pytest.approx(theirs.tagger_.marginal("A", 0), abs=1e-4)


def test_item_sequences_are_read(data):
    X, Y, X_test, _ = data
    items = [pycrfsuite.ItemSequence(x) for x in X]
    assert sequence(items[0]) == items[0].items()
    ours = CRF(max_iterations=20).fit(items, Y)
    assert distance(ours, sklearn_crfsuite.CRF(max_iterations=20).fit(items, Y)) < 1e-4
    predicted = ours.predict([pycrfsuite.ItemSequence(x) for x in X_test])
    assert predicted.tolist() == ours.predict(X_test).tolist()


def test_development_scores_are_the_same(data):
    ours, theirs = both({"c2": 0.1, "max_iterations": 8}, *data)
    for mine, other in zip(ours.training_log_.iterations, theirs.training_log_.iterations):
        for name in ("item_accuracy", "instance_accuracy"):
            assert mine[name] == other[name]
        for name in ("avg_precision", "avg_recall", "avg_f1"):
            assert mine[name] == pytest.approx(other[name], abs=1e-5)
        for label, score in other["scores"].items():
            assert mine["scores"][label] == pytest.approx(score, abs=1e-4)


@pytest.mark.parametrize("algorithm", ["lbfgs", "l2sgd", "ap"])
def test_the_text_of_the_log_is_read_by_their_parser(data, algorithm):
    ours, theirs = both({"algorithm": algorithm, "max_iterations": 3}, *data)
    log, parser = ours.training_log_, pycrfsuite._logparser.TrainLogParser()
    for line in log.log:
        parser.feed(line)
    assert parser.events == log.events and parser.last_log == log.last_log
    assert parser.featgen_num_features == log.featgen_num_features
    for mine, other, theirs_too in zip(log.iterations, parser.iterations, theirs.training_log_.iterations):
        assert other.keys() == theirs_too.keys()
        for name in set(other) - {"scores", "time"}:
            assert other[name] == pytest.approx(mine[name], abs=1e-6)
        for label, score in mine["scores"].items():
            assert other["scores"][label] == pytest.approx(score, abs=1e-4)
    named = [event for event in theirs.training_log_.events if event[0] != "featgen_progress"]
    assert [name for name, *_ in named] == [name for name, *_ in log.events]


def test_small_parts_of_the_interface(data, tmp_path):
    for module, other in ((metrics, sklearn_crfsuite.metrics), (utils, sklearn_crfsuite.utils)):
        assert module.flatten(data[1]) == other.flatten(data[1])
    path = str(tmp_path / "m")
    ours, theirs = both({"max_iterations": 1, "model_filename": path}, *data[:2])
    assert ours.modelfile.name == theirs.modelfile.name == path
    assert CRF().modelfile.name is None
    assert theirs.tagger_.info().header.keys() - ours.tagger_.info().header.keys() == {
        "off_features", "off_labels", "off_attrs", "off_labelrefs", "off_attrrefs",
    }  # fmt: skip


def test_what_min_freq_counts():
    """Sums of values, per attribute and label and per pair of labels; 0 counts as an occurrence."""
    X = [
        [{"a": 1, "b": 2.5, "n": -1.0, "z": 0}, {"a": 1, "z": 0}, {"c": 0.5, "z": 1}],
        [{"c": 0.5}, {"a": 1}],
    ]
    Y = [["B", "A", "B"], ["B", "A"]]
    for min_freq in (-2, -1, 0, 0.4, 0.5, 1, 1.5, 2, 2.4, 2.5, 3):
        for everything in (False, True):
            settings = {"min_freq": min_freq, "all_possible_states": everything}
            ours, theirs = both(settings | {"all_possible_transitions": everything}, X, Y)
            log, other = ours.training_log_, theirs.training_log_
            assert log.featgen_num_features <= other.featgen_num_features  # less those that are always 0
            assert weights(ours).keys() == weights(theirs).keys()
            assert distance(ours, theirs) < 1e-4


@pytest.mark.parametrize(
    "settings",
    [
        {"algorithm": "ap"},
        {"algorithm": "ap", "epsilon": 0.3},
        {"algorithm": "pa"},
        {"algorithm": "pa", "pa_type": 0, "error_sensitive": False},
        {"algorithm": "pa", "c": 0.02, "averaging": False},
        {"algorithm": "pa", "pa_type": 2, "c": 0.1, "epsilon": 1.0},
        {"algorithm": "arow", "max_iterations": 20},
        {"algorithm": "arow", "variance": 0.3, "gamma": 2.5},
        {"algorithm": "arow", "epsilon": 2.1},
    ],
)
@pytest.mark.parametrize("seed", range(4))
def test_online_learners_take_the_same_steps_on_one_sequence(settings, seed):
    """Where there is one sequence, no random order can make a difference."""
    rng = np.random.default_rng(seed)
    X = [[{f"f{k}": float(rng.uniform(0.1, 2.0)) for k in rng.choice(6, 3, False)} for _ in range(7)]]
    Y = [["ABC"[k] for k in rng.integers(0, 3, 7)]]
    ours, theirs = both({"max_iterations": 12} | settings, X, Y)
    assert distance(ours, theirs) < 2e-6
    losses = [entry["loss"] for entry in theirs.training_log_.iterations]
    found = [entry["loss"] for entry in ours.training_log_.iterations]
    np.testing.assert_allclose(found, losses[: len(found)], atol=1e-5)
    np.testing.assert_array_equal(losses[len(found) :], 0.0)  # idle epochs are skipped


@pytest.mark.parametrize("algorithm", ["ap", "pa", "arow", "l2sgd"])
def test_other_algorithms_are_as_accurate(algorithm):
    X, Y = make_data(1, 700)
    scores = []
    for seed in range(4 if algorithm == "arow" else 1):  # AROW does not average: the order matters most to it
        order = np.random.default_rng(seed).permutation(400)
        models = both(
            {"algorithm": algorithm, "max_iterations": 15}, [X[i] for i in order], [Y[i] for i in order]
        )
        scores.append([crf.score(X[400:], Y[400:]) for crf in models])
    ours, theirs = np.mean(scores, axis=0)
    assert ours == pytest.approx(theirs, abs=0.04 if algorithm == "arow" else 0.02) and ours > 0.75


def test_mistakes_in_settings_are_mistakes_in_both(data):
    for settings in (
        {"algorithm": "ap", "c2": 1.0},
        {"algorithm": "nonsense"},
        {"algorithm": "pa", "c1": 0.1},
    ):
        for kind in (CRF, sklearn_crfsuite.CRF):
            with pytest.raises(ValueError):
                kind(**settings).fit(*data[:2])


def test_metrics_are_the_same(data):
    from sklearn_crfsuite import metrics as theirs

    Y = data[3]
    predicted = [np.roll(labels, 1).tolist() for labels in Y]
    for name in set(metrics.__all__) - {"flatten"}:
        options = {"average": "macro"} if name.split("_")[1] in ("precision", "recall", "f1", "fbeta") else {}
        if "fbeta" in name:
            options["beta"] = 2.0
        assert getattr(metrics, name)(Y, predicted, **options) == getattr(theirs, name)(
            Y, predicted, **options
        )


# -- CRFsuite's own model files -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model_file(data, tmp_path_factory):
    path = tmp_path_factory.mktemp("crfsuite") / "model.crfsuite"
    return path, sklearn_crfsuite.CRF(c1=0.1, model_filename=str(path)).fit(*data[:2])


def test_models_of_crfsuite_are_read_and_converted(data, model_file, tmp_path):
    path, theirs = model_file
    ours = CRF(model_filename=path)
    assert distance(ours, theirs) < 1e-6
    assert (ours.classes_, ours.attributes_) == (theirs.classes_, theirs.attributes_)
    X = data[2]
    assert ours.predict(X).tolist() == [list(labels) for labels in theirs.predict(X)]
    ours.model_.save(tmp_path / "model.palmette")
    converted = CRF(model_filename=tmp_path / "model.palmette")
    assert converted.predict(X).tolist() == ours.predict(X).tolist() and np.isnan(converted.model_.objective_)


def test_damaged_models_of_crfsuite_are_refused_or_harmless(model_file, tmp_path, rng):
    content = model_file[0].read_bytes()
    path = tmp_path / "damaged"
    for _ in range(150):
        damaged = bytearray(content[: rng.integers(4, len(content) + 1)])
        for at in rng.integers(4, len(damaged), 3) if len(damaged) > 4 else ():
            damaged[at] = rng.integers(256)
        path.write_bytes(damaged)
        try:
            model = read_crfsuite_model(path)
        except ModelFileError as error:
            assert "damaged" in str(error)
        else:
            model.scorer_.check()
            model.predict([[["w:w1"]] * 3])


# -- real data ------------------------------------------------------------------------------------------------------


def chunk_features(sentence, i):
    word, tag = sentence[i]
    features = {
        "bias": 1.0, "w": word.lower(), "suffix": word[-3:], "upper": word.isupper(), "digit": word.isdigit(), "p": tag,
    }  # fmt: skip
    for offset in (-1, 1):
        if 0 <= i + offset < len(sentence):
            word, tag = sentence[i + offset]
            features |= {
                f"{offset:+}:w": word.lower(),
                f"{offset:+}:title": word.istitle(),
                f"{offset:+}:p": tag,
            }
        else:
            features["start" if offset < 0 else "end"] = True
    return features


@pytest.mark.data
@pytest.mark.parametrize(
    "settings",
    [
        {"c2": 1.0, "epsilon": 1e-8, "delta": 1e-11},
        {"c1": 0.1, "c2": 0.1, "max_iterations": 100, "all_possible_transitions": True},
        {"c1": 0.5, "c2": 0.5, "epsilon": 1e-5, "delta": 1e-7},
    ],
)
def test_chunking_models_are_the_same(settings):
    sentences, Y = load_conll2000("train", return_X_y=True)
    X = [[chunk_features(sentence, i) for i in range(len(sentence))] for sentence in sentences[:200]]
    ours, theirs = both(settings, X, Y[:200])
    assert len(ours.training_log_.iterations) == pytest.approx(len(theirs.training_log_.iterations), rel=0.1)
    assert distance(ours, theirs) < 1e-2
