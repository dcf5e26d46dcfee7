"""Classification with wrong labels: the noise, the folds, the paths and the choice of C."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_wine

from experiments.harness.noisy_labels import (
    LEARNERS,
    Folds,
    NestedResult,
    nested_fold,
    path,
    ramp_from,
    shuffled,
    some_rows,
    standardised,
)
from experiments.harness.store import RunStore


@given(st.lists(st.integers(0, 4), min_size=1, max_size=80), st.floats(0, 1), st.integers(0, 99))
def test_noise_permutes_the_same_share_of_each_class(labels, share, seed):
    y = np.array(labels)
    noisy = shuffled(y, share, seed)
    assert sorted(noisy) == sorted(y)  # labels are permuted
    for label in np.unique(y):  # at most the share of a class changes
        assert np.sum(noisy[y == label] != label) <= round(share * np.sum(y == label))
    np.testing.assert_array_equal(noisy, shuffled(y, share, seed))
    assert share > 0.0 or np.array_equal(noisy, y)


def test_noise_is_there():
    y = np.repeat(np.arange(4), 100)
    wrong = np.mean(shuffled(y, 0.2, 0) != y)
    assert 0.1 < wrong <= 0.2
    with pytest.raises(ValueError, match="share must be between 0 and 1"):
        shuffled(y, 1.5, 0)


@given(
    st.lists(st.integers(0, 6), min_size=4, max_size=60).filter(lambda y: len(y) > len(set(y))),
    st.integers(2, 6),
    st.integers(0, 99),
)
def test_folds_are_stratified_and_never_lose_a_class(labels, n_folds, seed):
    y = np.array(labels)
    folds = Folds.cut(y, n_folds, seed)
    tested = np.zeros(len(y), int)
    for train, test in folds:
        assert not set(train) & set(test) and len(train) + len(test) == len(y)
        assert set(y[test]) <= set(y[train])  # whatever is asked has been seen
        tested[test] += 1
    counts = {label: int(np.sum(y == label)) for label in set(labels)}
    assert sorted(folds.lonely) == sorted(label for label, n in counts.items() if n == 1)
    np.testing.assert_array_equal(tested, [counts[label] > 1 for label in labels])
    for label in counts:
        sizes = [int(np.sum(y[test] == label)) for _, test in folds]
        assert max(sizes) - min(sizes) <= 1


def test_folds_that_cannot_be():
    with pytest.raises(ValueError, match="at least 2 folds"):
        Folds.cut(np.array([0, 0, 1]), 1, 0)
    with pytest.raises(ValueError, match="every class has one row only"):
        Folds.cut(np.array([0, 1, 2]), 3, 0)


def test_rows_for_the_choice_keep_every_class(rng):
    y = np.repeat([0, 1, 2], [900, 99, 1])
    rows = some_rows(y, 100, 0)
    assert np.bincount(y[rows]).tolist() == [90, 10, 1]
    np.testing.assert_array_equal(some_rows(y, 1000, 0), np.arange(1000))


def test_columns_are_standardised_by_the_training_part(rng):
    X = np.column_stack([rng.normal(3.0, 2.0, 50), np.full(50, 7.0)])
    train, test = standardised(X[:40], X[40:])
    np.testing.assert_allclose(train.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(train.std(axis=0), [1.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(test[:, 0], (X[40:, 0] - X[:40, 0].mean()) / X[:40, 0].std())


def test_a_path_is_what_single_fits_are():
    X, y = load_wine(return_X_y=True)
    (X,) = standardised(X)
    noisy = shuffled(y, 0.2, 0)
    found = {}
    for learner, C, model in path(X, noisy, (1.0, 0.1), tol=1e-3):
        found[learner, C] = model.objective_
    assert list(dict.fromkeys(C for _, C in found)) == [0.1, 1.0]
    assert {name for name, _ in found} == set(LEARNERS)
    from palmette import CRF, SSVM, Multiclass

    for name, kind in (("logistic", CRF), ("convex", SSVM)):
        single = kind(Multiclass(), C=1.0, tol=1e-3).fit(X, noisy)
        assert found[name, 1.0] == pytest.approx(single.objective_, rel=2e-3)
    # the ramp loss starts at the weights of another model and ends below them
    start = SSVM(Multiclass(), C=1.0, tol=1e-3).fit(X, noisy)
    ramp = ramp_from(start, 1.0, 1e-3).fit(X, noisy)
    assert ramp.objective_ < start.objective_ and ramp.loss == "ramp"


def test_one_outer_fold_with_a_class_of_one_row():
    X, y = load_wine(return_X_y=True)
    clean = np.append(y[:-1], 3)
    noisy = shuffled(clean, 0.2, 0)
    folds = Folds.cut(noisy, 3, 0)
    assert folds.lonely == [3]
    train, test = next(iter(folds))
    result = nested_fold(X, noisy, clean, train, test, (0.01, 1.0), n_inner=2, seed=0)
    assert result.n_test == len(test) and set(result.noisy) == {*LEARNERS, "ramp"}
    assert result.clean["ramp"] / len(test) > 0.85
    assert result.C["ramp"] in (0.01, 1.0) and result.validated["ramp"] == max(
        result.validated["ramp from convex"], result.validated["ramp from logistic"]
    )


def test_the_recipe_goes_on_where_it_was_stopped_but_not_with_other_settings(tmp_path, monkeypatch):
    from experiments.recipes import noisy_multiclass as recipe

    calls = []

    def outcome(*data, n_inner, **settings):
        calls.append(n_inner)
        counts = dict.fromkeys(recipe.SHOWN, 1)
        return NestedResult(2, counts, counts, {}, {}, 0.0)

    monkeypatch.setattr(recipe, "nested_fold", outcome)
    context, store = SimpleNamespace(log=lambda text: None), RunStore(tmp_path / "runs.jsonl")
    key, data = ("wine", 0.2, 0, 1), (None,) * 5
    first = recipe.fold(context, store, key, data, 3)
    assert recipe.fold(context, store, key, data, 3) == first and calls == [3]
    recipe.fold(context, store, key, data, 10)
    monkeypatch.setitem(recipe.STRENGTHS, "wine", (0.5,))
    recipe.fold(context, store, key, data, 3)
    assert calls == [3, 10, 3]
