"""Real vectors under the linear kernel: SORR is ridge regression, and predictions are means."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge

import palmette
from palmette import SORR, SORRCV, SOSC
from palmette.inspection import BoundsReport
from palmette.kernels import RBF, Linear
from palmette.outputs import CandidateOutputs, VectorOutputs, output_space


@pytest.fixture
def data(rng):
    X = rng.normal(size=(20, 3))
    return X, X @ rng.normal(size=(3, 2)) + 3.0 + 0.1 * rng.normal(size=(20, 2)), rng.normal(size=(5, 3))


@pytest.mark.parametrize("l2", [0.01, 2.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_sorr_is_ridge_regression(l2, weighted, data, rng):
    X, y, new = data
    weight = rng.integers(0, 4, 20).astype(float) if weighted else None
    for intercept in (False, True):
        model = SORR("linear", kernel="linear", l2=l2, fit_intercept=intercept).fit(
            X, y, sample_weight=weight
        )
        peer = Ridge(alpha=l2, fit_intercept=intercept).fit(X, y, sample_weight=weight)
        np.testing.assert_allclose(model.predict(new), peer.predict(new), atol=1e-9)
        residuals = model.predict(X) - y
        assert model.score(X, y) == pytest.approx(1.0 - (residuals**2).sum(axis=1).mean())
    model = SORR("linear", kernel=RBF(0.3), l2=l2).fit(X, y, sample_weight=weight)
    peer = KernelRidge(alpha=l2, kernel="rbf", gamma=0.3).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(model.predict(new), peer.predict(new), atol=1e-9)


def test_the_objective_is_that_of_ridge_regression(data):
    X, y, _ = data
    model = SORR("linear", kernel="linear", l2=2.0).fit(X, y)
    peer = Ridge(alpha=2.0, fit_intercept=False).fit(X, y)
    halved = ((peer.predict(X) - y) ** 2).sum() / 2.0 + (peer.coef_**2).sum()
    assert model.objective_ == pytest.approx(halved)


def test_predictions_of_sosc_are_means(data):
    X, y, new = data
    model = SOSC("linear", kernel="linear", R=0.3, fit_intercept=True).fit(X, y)
    np.testing.assert_allclose(model.predict(new), model.coefficients(new) @ y, atol=1e-10)


def test_no_vector_is_better_than_the_prediction(rng):
    y = rng.normal(size=(6, 3))
    space = VectorOutputs().fit(y)
    votes = rng.normal(size=(4, 6)) @ space.rows.toarray()
    found = space.pre_images(votes)
    others = [*found.outputs, *y.tolist(), *rng.normal(size=(50, 3)).tolist()]
    each = space.values(votes, others)
    np.testing.assert_allclose(each[np.arange(4), np.arange(4)], found.values)
    assert np.all(found.values[:, None] <= each + 1e-12) and found.exact.all()
    known = CandidateOutputs(Linear()).fit(y)
    np.testing.assert_allclose(known.gram(y, y), space.gram(y, y))
    np.testing.assert_allclose(known.kernel_losses(y, y[::-1]), space.kernel_losses(y, y[::-1]))
    np.testing.assert_allclose(known.norms(y), space.norms(y))
    np.testing.assert_allclose(known.pairs(y, y[::-1]), space.pairs(y, y[::-1]))


def test_predictions_have_the_form_of_the_outputs(data, tmp_path):
    X, y, new = data
    expected = SORR("linear", kernel="linear").fit(X, y).predict(new)
    assert isinstance(expected, np.ndarray) and expected.shape == (5, 2)
    for given, kind in ((y.tolist(), list), (list(map(tuple, y)), tuple), (list(y), np.ndarray)):
        model = SORR("linear", kernel="linear").fit(X, given)
        model.save(tmp_path / "m.palmette")
        for own in (model, palmette.load(tmp_path / "m.palmette")):
            found = own.predict(new)
            assert isinstance(found, list) and set(map(type, found)) == {kind}
            np.testing.assert_allclose(found, expected)
    search = SORRCV("linear", kernels=["linear", RBF(0.1)], l2s=3, cv=4, fit_intercept=True).fit(X, y)
    assert search.best_params_["kernel"] == Linear() or repr(search.best_params_["kernel"]) == "Linear()"


def test_vectors_that_are_none_are_refused(data):
    X, y, _ = data
    model = SORR("linear", kernel="linear").fit(X, y)
    with pytest.raises(ValueError, match=r"y\[0\] has 1 numbers, training outputs have 2"):
        model.score(X, y[:, :1])
    y[3, 1] = np.inf
    with pytest.raises(ValueError, match=r"y\[3\]\[1\] is inf: give it a finite value"):
        model.fit(X, y)
    assert isinstance(output_space(Linear(normalize=True)), CandidateOutputs)


def test_bounds_that_need_a_largest_loss_do_not_apply(data):
    X, y, _ = data
    report = BoundsReport.from_estimator(SORR("linear", kernel="linear").fit(X, y), X, y)
    assert report["Lemma 1"].applies
    for name in ("Lemma 2", "Theorem 4", "Theorem 5"):
        assert "vectors of any length" in report[name].why_not
