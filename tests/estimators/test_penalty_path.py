"""Penalties chosen by cross-validation: the same as a plain search finds, on every structure."""

from __future__ import annotations

import io
import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, StratifiedKFold

import palmette
from palmette import (
    CRF,
    CRFCV,
    SSVM,
    SSVMCV,
    Chain,
    Encoding,
    Graph,
    GraphInput,
    Multiclass,
    Perceptron,
    PlackettLuce,
    PlackettLuceCV,
    Ranking,
    SemiMarkov,
)
from palmette.apps.ranking import PairwiseSVM, Ranker
from palmette.apps.tagging.columns import read_columns
from palmette.apps.tagging.tagger import Tagger
from palmette.cli import main
from palmette.data import read_letor
from palmette.datasets import make_chains, make_tagging
from palmette.errors import MissingCapability
from palmette.estimators.folds import Fold, Part
from palmette.estimators.path import MULTIPLES, _walk, penalty_path
from palmette.estimators.path import Path as PenaltyPath
from palmette.metrics import get_scorer, ndcg
from palmette.regularizers import Decomposition

L2S = [30.0, 3.0, 0.3]


def table(n=90, d=5, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    return rng.standard_normal((3, d))[y] + rng.standard_normal((n, d)), y


def chains(n=24):
    return make_chains(n, 3, 4, mean_length=4, random_state=1)


def graphs():
    X, y = chains()
    edges = [
        np.array([[t, t + 1] for t in range(len(x) - 1)] + ([[0, 2]] if len(x) > 2 else [])).reshape(-1, 2)
        for x in X
    ]
    return [GraphInput(x, e) for x, e in zip(X, edges)], y


def segments():
    X, y = make_tagging(24, n_tags=2, n_words=8, mean_length=4, random_state=2)
    return X, [[(t, t + 1, label) for t, label in enumerate(labels)] for labels in y]


def queries(n=24):
    rng = np.random.default_rng(3)
    X = [rng.standard_normal((6, 4)) for _ in range(n)]
    return X, [(x[:, 0] + rng.standard_normal(6) > 0).astype(int) + (np.arange(6) == 0) for x in X]


CASES = {
    "CRF, rows": (CRFCV(Multiclass()), table),
    "SSVM, rows": (SSVMCV(Multiclass()), table),
    "CRF, chains": (CRFCV(Chain()), chains),
    "SSVM, chains": (SSVMCV(Chain()), chains),
    "SSVM, names": (
        SSVMCV(Chain(), solver="frank_wolfe"),
        lambda: make_tagging(24, n_words=20, random_state=0),
    ),
    "CRF, names": (CRFCV(Chain(), solver="dual"), lambda: make_tagging(24, n_words=20, random_state=0)),
    "CRF, graphs": (CRFCV(Graph()), graphs),
    "SSVM, graphs": (SSVMCV(Graph()), graphs),
    "CRF, segments": (CRFCV(SemiMarkov(2)), segments),
    "SSVM, rankings": (SSVMCV(Ranking()), queries),
    "Plackett-Luce": (PlackettLuceCV(), queries),
}


def plain_of(model):
    own = ("l2s", "cv", "scoring", "search_tol")
    return model._learner(**{k: v for k, v in model.get_params(deep=False).items() if k not in own})


@pytest.mark.parametrize("case", CASES)
def test_the_path_is_that_of_a_plain_search(case):
    model, data = CASES[case]
    X, y = data()
    folds = KFold(3, shuffle=True, random_state=0)
    tol = 1e-7 if isinstance(model, CRF | PlackettLuce) else 1e-5
    model = clone(model).set_params(l2s=L2S[::-1], cv=folds, tol=tol, search_tol=tol)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
        search = GridSearchCV(plain_of(model), {"l2": L2S}, cv=folds).fit(X, y)
    assert model.l2s_.tolist() == L2S
    curve = np.column_stack([search.cv_results_[f"split{k}_test_score"] for k in range(3)])
    np.testing.assert_allclose(model.cv_scores_, curve, atol=1e-9)
    assert model.best_params_ == search.best_params_ == {"l2": model.l2_}
    assert model.best_score_ == pytest.approx(search.best_score_)
    best = search.best_estimator_
    assert model.objective_ == pytest.approx(best.objective_, rel=2 * tol)
    assert isinstance(model, model._learner)


@pytest.mark.parametrize(
    "learner", [CRF(Chain()), SSVM(Chain(), solver="frank_wolfe"), SSVM(Chain(), solver="bundle")]
)
def test_a_warm_path_ends_where_cold_fits_do(learner):
    X, y = make_tagging(30, n_words=30, random_state=0)
    encoded, tol = learner.encode(X), 1e-5
    part = Part(encoded, y, None)
    seen = []

    def score(model, X, y):
        seen.append((model.l2, model.objective_, model.result_.lower))
        return -model.l2

    penalty_path(learner, [Fold(part, part)], l2s=L2S, scoring=score, search_tol=tol)
    assert [l2 for l2, *_ in seen] == L2S
    for l2, objective, lower in seen:
        cold = clone(learner).set_params(l2=l2, tol=tol).fit(encoded, y)
        assert lower <= cold.objective_ * (1 + 1e-12) and cold.result_.lower <= objective * (1 + 1e-12)
        assert objective == pytest.approx(cold.objective_, rel=2 * tol)


def test_later_fits_of_a_path_take_fewer_steps():
    X, y = make_tagging(60, n_words=40, random_state=0)
    learner = SSVM(Chain(), solver="frank_wolfe")
    part, steps = Part(learner.encode(X), y, None), []
    penalty_path(
        learner, [Fold(part, part)], l2s=[1.0, 0.9], search_tol=1e-3,
        scoring=lambda model, X, y: steps.append(model.n_iter_) or model.l2,
    )  # fmt: skip
    cold = SSVM(Chain(), solver="frank_wolfe", l2=0.9, tol=1e-3).fit(X, y).n_iter_
    assert steps[1] < cold


def test_groups_are_held_out_together():
    X, y = make_tagging(40, n_words=40, random_state=0)
    groups = np.repeat(np.arange(8), 5)[np.random.default_rng(0).permutation(40)]
    encoded = CRF(Chain()).encode(X)
    lengths = {}

    def score(model, X, y):
        lengths.setdefault(model.l2, []).append(sorted(map(len, y)))
        return model.score(X, y)

    model = CRFCV(Chain(), l2s=[1.0], cv=4, scoring=score).fit(encoded, y, groups=groups)
    expected = [
        sorted(len(y[i]) for i in held)
        for _, held in GroupKFold(4, shuffle=True, random_state=0).split(np.zeros(40), groups=groups)
    ]
    assert sorted(lengths[1.0]) == sorted(expected)
    assert model.cv_scores_.shape == (1, 4)
    with pytest.raises(ValueError, match="one entry per sample, 40 in all"):
        CRFCV(Chain()).fit(X, y, groups=[1, 2])
    with pytest.raises(ValueError, match=r"cv=9 folds need .* groups, which are 8"):
        CRFCV(Chain(), cv=9).fit(X, y, groups=groups)


def test_folds_of_rows_keep_the_shares_of_classes():
    X, y = table()
    found = CRFCV(Multiclass(), l2s=[1.0, 10.0], cv=4, search_tol=1e-7).fit(X, y).cv_scores_
    folds = StratifiedKFold(4, shuffle=True, random_state=0)
    search = GridSearchCV(CRF(Multiclass(), tol=1e-7), {"l2": [10.0, 1.0]}, cv=folds).fit(X, y)
    np.testing.assert_allclose(found.mean(axis=1), search.cv_results_["mean_test_score"], atol=1e-9)


def test_multiples_of_the_usual_penalty():
    X, y = table()
    model = CRFCV(Multiclass(), cv=KFold(3)).fit(X, y)
    usual = CRF(Multiclass()).fit(X, y).l2_
    times = np.round(model.l2s_ / usual, 9)
    assert {10.0, 1.0, 0.1} < set(times) <= set(MULTIPLES) and list(times) == sorted(times, reverse=True)
    again = CRF(Multiclass(), **model.best_params_).fit(X, y)
    assert again.l2_ == model.l2_ and np.array_equal(again.coef_, model.coef_)
    named = clone(model).set_params(l2s=[f"{t:g}x" for t in times[::-1]]).fit(X, y)
    assert named.best_params_ == model.best_params_ and np.array_equal(named.l2s_, model.l2s_)
    exact = clone(model).set_params(l2s=["1.23456789x"]).fit(X, y)
    assert exact.best_params_ == {"l2": "1.23456789x"} and exact.l2_ == 1.23456789 * usual
    search = GridSearchCV(CRF(Multiclass(), tol=1e-7), {"l2": list(model.l2s_)}, cv=KFold(3)).fit(X, y)
    named.set_params(search_tol=1e-7).fit(X, y)
    np.testing.assert_allclose(named.cv_scores_.mean(axis=1), search.cv_results_["mean_test_score"])


def visited(score):
    """The multiples that a walk looks at if the score at a multiple is ``score(multiple)``, in their order."""
    found = []
    _walk(lambda multiple: found.append(multiple) or score(multiple))
    return found


def test_a_walk_looks_around_the_usual_penalty_and_goes_on_where_the_score_gains():
    for best in MULTIPLES[1:-1]:  # a score with one peak
        seen = visited(lambda multiple, best=best: -abs(np.log(multiple / best)))
        assert seen[:3] == [10.0, 1.0, 0.1] and best in seen and len(seen) <= 7
    assert visited(lambda multiple: min(multiple, 1.0)) == [10.0, 1.0, 0.1, 3.0], "a plateau ends the walk"
    assert visited(lambda multiple: max(-multiple, -1.0)) == [10.0, 1.0, 0.1, 0.01, 1e-3, 3e-3]


@pytest.mark.parametrize("floor_ends", MULTIPLES[7:])
def test_a_walk_does_not_end_on_the_floor(floor_ends):
    """Strong penalties all predict the most frequent output."""
    seen = visited(lambda multiple: 0.9 + 0.1 * (multiple <= floor_ends))
    assert min(seen) <= floor_ends


@pytest.mark.parametrize("kind", [CRFCV, SSVMCV])
def test_rare_labels_are_found(kind):
    y = ["a"] * 54 + ["b"] * 6
    X = [{"bias": 1.0, f"f={i % 3 if label == 'a' else 5}": 1.0} for i, label in enumerate(y)]
    model = kind(Multiclass()).fit(X, y)
    assert model.best_score_ == model.score(X, y) == 1.0
    rng = np.random.default_rng(0)
    entity = [rng.random(8) < 0.08 for _ in range(40)]
    X = [[{"w": f"{'n' if is_name else 'w'}{rng.integers(8)}"} for is_name in each] for each in entity]
    y = [["B-P" if is_name else "O" for is_name in each] for each in entity]
    assert kind(Chain(), scoring="chunk_f1").fit(X, y).best_score_ > 0.7


def test_scores_that_are_all_the_same_choose_the_usual_penalty():
    X, y = table()
    with pytest.warns(UserWarning, match=r"score is 0.5 with each of 6 penalties .* l2=1x is taken"):
        model = CRFCV(Multiclass(), scoring=lambda *_: 0.5).fit(X, y)
    assert model.best_params_ == {"l2": "1x"} and model.l2_ == CRF(Multiclass()).fit(X, y).l2_
    with pytest.warns(UserWarning, match=r"with each of 2 penalties .* l2=30.0 is taken"):
        CRFCV(Multiclass(), l2s=[3.0, 30.0], scoring=lambda *_: 0.5).fit(X, y)
    thirds = np.array([[0.1, 0.2, 0.3], [0.3, 0.2, 0.1]])
    assert np.ptp(thirds.mean(axis=1)) > 0.0 and PenaltyPath(np.array([3.0, 1.0]), thirds, True).is_flat, (
        "rounding"
    )


def test_a_path_that_is_best_at_its_start_goes_on_to_stronger_penalties():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 40)), rng.integers(2, size=60)
    X[:, 0] += 0.6 * y
    part = Part(CRF(Multiclass()).encode(X), y.tolist(), None)
    path = penalty_path(
        CRF(Multiclass()), [Fold(part, part)], scoring=lambda model, X, y: -abs(np.log(model.l2_))
    )
    usual = CRF(Multiclass()).fit(X, y).l2_
    stronger = penalty_path(
        CRF(Multiclass()),
        [Fold(part, part)],
        scoring=lambda model, X, y: -abs(np.log(model.l2_ / (300 * usual))),
    )
    assert path.best < len(path.values) - 1
    assert stronger.values[stronger.best] == 300.0 and stronger.values[0] == 1000.0


def test_scoring_weights_and_refusals():
    X, y = table()
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    weight[:10] = 0.0
    named = CRFCV(Multiclass(), l2s=L2S, scoring="balanced_accuracy").fit(X, y)
    made = CRFCV(Multiclass(), l2s=L2S, scoring=make_scorer(accuracy_score)).fit(X, y)
    own = CRFCV(Multiclass(), l2s=L2S).fit(X, y)
    np.testing.assert_allclose(made.cv_scores_, own.cv_scores_)
    assert not np.allclose(named.cv_scores_, own.cv_scores_)
    weighted = CRFCV(Multiclass(), l2s=L2S, cv=KFold(3)).fit(X, y, sample_weight=weight)
    train, held = next(KFold(3).split(X))
    once = CRF(Multiclass(), l2=L2S[0], tol=0.03).fit(X[train], y[train], weight[train])
    assert weighted.cv_scores_[0, 0] == pytest.approx(once.score(X[held], y[held], weight[held]))
    with pytest.raises(ValueError, match="l2s is empty"):
        CRFCV(Multiclass(), l2s=[]).fit(X, y)
    with pytest.raises(ValueError, match="l2s must be a finite number"):
        CRFCV(Multiclass(), l2s=[-1.0]).fit(X, y)
    with pytest.raises(ValueError, match=r"score of fold 0 is nan at l2=30"):
        CRFCV(Multiclass(), l2s=L2S, scoring=lambda *_: np.nan).fit(X, y)
    with pytest.raises(ValueError, match="mixes numbers and multiples of the usual penalty such as '3x'"):
        CRFCV(Multiclass(), l2s=[1.0, "3x"]).fit(X, y)
    for text in ("1.2.3x", ".x", "3", "-1x", "0x"):
        with pytest.raises(ValueError, match="l2s must be a number >= 0, or a multiple of the usual penalty"):
            CRFCV(Multiclass(), l2s=["1x", text]).fit(X, y)
        with pytest.raises(ValueError, match="l2 must be a number >= 0, or a multiple of the usual penalty"):
            CRF(Multiclass(), l2=text).fit(X, y)
    halves = [(np.arange(10), np.arange(10, 90)), (np.arange(10, 90), np.arange(10))]
    with pytest.raises(
        ValueError, match="the training samples of fold 0 have only samples of weight 0, 10 in all"
    ):
        CRFCV(Multiclass(), cv=halves).fit(X, y, sample_weight=weight)
    with pytest.raises(ValueError, match="the held-out samples of fold 0 have only samples of weight 0"):
        CRFCV(Multiclass(), cv=halves[1:]).fit(X, y, sample_weight=weight)
    with pytest.raises(
        TypeError, match=r"CRF with Multiclass ranks nothing: use token_accuracy, .*scikit-learn"
    ):
        CRFCV(Multiclass(), scoring="ndcg").fit(X, np.array(list("abc"))[y])
    tables, grades = queries()
    svm = PairwiseSVM().fit(tables, grades)  # which has no structure
    assert get_scorer("ndcg")(svm, tables, grades) == ndcg(grades, svm.row_scores(tables))
    with pytest.raises(MissingCapability, match="cannot cut a Gram matrix"):
        SSVMCV(Multiclass(), kernel="precomputed").fit(X @ X.T, y)


def test_a_kernel_begins_anew_with_every_penalty():
    X, y = table(60)
    model = SSVMCV(Multiclass(), kernel="rbf", l2s=[1.0, 0.1], cv=KFold(2), search_tol=1e-3, tol=1e-3).fit(
        X, y
    )
    search = GridSearchCV(SSVM(Multiclass(), kernel="rbf", tol=1e-3), {"l2": [1.0, 0.1]}, cv=KFold(2)).fit(
        X, y
    )
    np.testing.assert_allclose(model.cv_scores_.mean(axis=1), search.cv_results_["mean_test_score"])
    assert model.n_support_ == search.best_estimator_.n_support_


@pytest.mark.parametrize("case", ["CRF, names", "SSVM, rows", "Plackett-Luce"])
def test_what_plain_learners_can_these_can(case):
    model, data = CASES[case]
    X, y = data()
    model = clone(model).set_params(l2s=L2S, cv=KFold(3), scoring=lambda m, X, y: m.score(X, y)).fit(X, y)
    file = io.BytesIO()
    model.save(file)
    loaded = palmette.load(file)
    assert type(loaded) is type(model) and loaded.cv == 3 and loaded.scoring is None
    for name in ("l2_", "best_params_", "best_score_"):
        assert getattr(loaded, name) == getattr(model, name)
    assert np.array_equal(loaded.l2s_, model.l2s_) and np.array_equal(loaded.cv_scores_, model.cv_scores_)
    before, after = (np.concatenate(m.row_scores(X)) for m in (model, loaded))
    assert np.array_equal(before, after)
    assert "l2s=" in repr(model) and "l2=" not in repr(clone(model)).replace("l2s=", "")
    outer = GridSearchCV(clone(model).set_params(cv=2), {"l2s": [[1.0], [1000.0]]}, cv=2).fit(X, y)
    assert outer.best_params_["l2s"] in ([1.0], [1000.0])
    with pytest.raises(TypeError, match="l2"):
        type(model)(*([Chain()] if case != "Plackett-Luce" else []), l2=1.0)


def test_fitting_again_forgets_what_was_learnt():
    X, y = table()
    model = CRFCV(Multiclass(), l2s=L2S).fit(X, y)
    model.set_params(l2s=[1.0]).fit(X[:, :3], y)
    assert model.n_features_in_ == 3 and model.cv_scores_.shape == (1, 3) and model.l2_ == 1.0
    fresh = CRFCV(Multiclass(), l2s=[1.0]).fit(X[:, :3], y)
    assert np.array_equal(model.coef_, fresh.coef_)


class Counter:
    """A callback that cannot be copied."""

    n = 0

    def __call__(self, step):
        self.n += 1

    def __deepcopy__(self, memo):
        raise TypeError("cannot be copied")


@pytest.mark.parametrize("case", ["CRF, rows", "SSVM, rows", "Plackett-Luce"])
def test_callbacks_are_not_copied_and_see_the_last_fit_only(case):
    model, data = CASES[case]
    searching, alone = Counter(), Counter()
    tuned = clone(model).set_params(l2s=[10.0], callbacks=[searching]).fit(*data())
    plain_of(tuned).set_params(callbacks=[alone], l2=tuned.l2_).fit(*data())
    assert searching.n == alone.n > 0
    model = CRF(Chain(), regularizer=Decomposition("auto"), max_iter=2, callbacks=[alone])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(*chains())


@pytest.mark.parametrize("learner", [CRF, PlackettLuce, Perceptron, CRFCV, PlackettLuceCV, SSVMCV])
def test_no_tol_is_the_usual_one(learner):
    ranks = issubclass(learner, PlackettLuce)
    X, y = queries() if ranks else chains()
    model = learner() if ranks else learner(Chain())
    model.set_params(**({"l2s": [1.0]} if hasattr(model, "l2s") else {}))
    expected = model.fit(X, y).coef_
    assert np.array_equal(clone(model).set_params(tol=None).fit(X, y).coef_, expected)
    big = make_tagging(40, n_words=600, random_state=0)
    if learner is CRF:  # named features: "auto" looks at tol
        assert CRF(Chain(), encoding=Encoding(states="all"), tol=None).fit(*big).coef_.size > 2000


# ---------------------------------------------------------------------------------------------- the command line


def columns(path, X, y):
    lines = ["\n".join(f"{token['w']} {label}" for token, label in zip(*pair)) for pair in zip(X, y)]
    path.write_text("\n\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


def test_the_command_line_tunes_taggers(tmp_path, capsys):
    X, y = make_tagging(60, n_words=30, random_state=0)
    train, dev = columns(tmp_path / "train", X[:40], y[:40]), columns(tmp_path / "dev", X[40:], y[40:])
    model, page = str(tmp_path / "model.palmette"), str(tmp_path / "page.html")

    def run(*arguments):
        assert main([*arguments, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    for options, n_folds in (
        (["--dev", dev], 1),
        (["--folds", "4"], 4),
        ([], 3),
        (["--folds", "2", "--dev", dev], 2),
    ):
        record = run("train", train, "--model", model, "--tune", *options)
        tuning = record["tuning"]
        scores = [each["score"] for each in tuning["curve"]]
        assert tuning["score"] == max(scores) and all(
            len(each["folds"]) == n_folds for each in tuning["curve"]
        )
        assert record["l2"] == tuning["l2"] == tuning["curve"][scores.index(max(scores))]["l2"]
        loaded = palmette.load(model)
        assert loaded.l2_ == record["l2"] and loaded.cv_scores_.shape == (len(scores), n_folds)
    run("train", train, "--model", model, "--tune", "--dev", dev)
    by_dev = palmette.load(model)
    assert main(["train", train, "--model", model, "--l2", str(by_dev.l2_), "--dev", dev]) == 0
    assert np.array_equal(palmette.load(model).coef_, by_dev.coef_), (
        "the model is learnt from the training file alone"
    )
    assert "tuned" not in capsys.readouterr().out
    assert main(["train", train, "--model", model, "--tune", "--folds", "2"]) == 0
    assert "tuned" in capsys.readouterr().out
    assert main(["evaluate", dev, "--model", model, "--report", page]) == 0
    assert "Choice of the penalty" in Path(page).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--tune", "--l2", "1"], "--l2 1 and --tune exclude each other"),
        (["--folds", "3"], "give --tune too"),
        (["--tune", "--folds", "1"], "--folds must be at least 2"),
        (["--tune", "--algorithm", "perceptron"], "this Perceptron has none"),
        (["--tune", "--task", "ranking", "--algorithm", "ramp"], "use crf, ssvm or plackett-luce"),
    ],
)
def test_the_command_line_refuses_before_it_reads(tmp_path, capsys, arguments, message):
    path = tmp_path / "train"
    path.write_text("1 qid:1 1:2\n" if "ranking" in arguments else "a A\n", encoding="utf-8")
    assert main(["train", str(path), "--model", str(tmp_path / "m"), *arguments]) != 0
    assert message in capsys.readouterr().err


def test_the_command_line_tunes_rankers(tmp_path, capsys):
    files = []
    for name, (X, y) in {"train": queries(20), "dev": queries(9)}.items():
        lines = [
            f"{grade} qid:{q} " + " ".join(f"{j}:{value}" for j, value in enumerate(row, 1))
            for q, (x, grades) in enumerate(zip(X, y))
            for grade, row in zip(grades, x)
        ]
        files.append(tmp_path / name)
        files[-1].write_text("\n".join(lines) + "\n", encoding="utf-8")
    train, dev = map(str, files)
    common = ["--task", "ranking", "--model", str(tmp_path / "m"), "--tune", "--json"]
    for options, n_folds in ((["--dev", dev], 1), ([], 3)):
        assert main(["train", train, *common, *options]) == 0
        record = json.loads(capsys.readouterr().out)
        assert all(len(each["folds"]) == n_folds for each in record["tuning"]["curve"])
        assert palmette.load(tmp_path / "m").l2_ == record["l2"] == record["tuning"]["l2"]
    learnt, held = read_letor(train), read_letor(dev)
    for way in ({"tune": 3}, {"tune": "dev", "dev": held}):
        assert Ranker.train(learnt, **way).model.cv_scores_.size
        with pytest.raises(ValueError, match=r"l2=2.0 and tune exclude each other"):
            Ranker.train(learnt, **way, l2=2.0)
    assert Ranker.train(learnt).model.l2_ == 10.0, "without a choice the default stays"


def test_too_few_samples_for_the_folds(tmp_path, capsys):
    sentence, query = tmp_path / "sentence", tmp_path / "query"
    sentence.write_text("a A\nb B\n", encoding="utf-8")
    query.write_text("1 qid:1 1:2\n0 qid:1 1:1\n", encoding="utf-8")
    for path, what, options in ((sentence, "sentences", []), (query, "queries", ["--task", "ranking"])):
        assert main(["train", str(path), "--model", str(tmp_path / "m"), "--tune", *options]) != 0
        assert f"--folds 3 needs at least 3 {what}, and the data has 1: " in capsys.readouterr().err
    with pytest.raises(ValueError, match="tune=2 needs at least 2 queries, and the data has 1"):
        Ranker.train(read_letor(str(query)), tune=2)
    with pytest.raises(ValueError, match="tune=2 needs at least 2 sentences, and the data has 1"):
        Tagger.train(read_columns(str(sentence)), tune=2)
