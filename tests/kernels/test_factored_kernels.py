"""Kernels with every loss: an exact factor of the Gram matrix, linear learners on it, coefficients back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.linalg import solve_triangular
from sklearn.datasets import load_iris, load_wine

import palmette
from palmette import CRF, SSVM, Chain, Decomposition, KernelOptions, LossOptions, Multiclass, Perceptron
from palmette.datasets import make_chains
from palmette.errors import MissingCapability
from palmette.kernels import RBF, Linear, Nystroem, Polynomial
from palmette.kernels.definite import NotPositiveSemidefinite
from palmette.kernels.exact_factor import factorise
from palmette.losses import Hamming

LEARNERS = [
    CRF(Multiclass(), l2=0.5, tol=1e-6),
    SSVM(Multiclass(), l2=0.5, loss="ramp", tol=1e-5),
    SSVM(Multiclass(), l2=0.5, loss="soft_hinge", tol=1e-6),
    SSVM(Multiclass(), l2=0.5, loss_options=LossOptions(rescaling="slack"), tol=1e-4),
]


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X[::2], y[::2], X[1::2], y[1::2]


@given(st.integers(1, 12), st.integers(0, 12), st.integers(0, 10**6))
def test_factor_is_exact_whatever_the_rank(n, rank, seed):
    rng = np.random.default_rng(seed)
    half = rng.normal(size=(n, rank)) * 10.0 ** rng.integers(-2, 3)
    gram = half @ half.T
    factor = factorise(gram.copy())
    top = max(np.abs(gram).max(initial=0.0), 1e-300)
    assert factor.features.shape[1] <= min(n, rank)
    np.testing.assert_allclose(factor.features @ factor.features.T, gram, atol=1e-8 * top)
    weights = rng.normal(size=(factor.features.shape[1], 3))
    wanted = factor.features @ weights
    found = gram[:, factor.pivots] @ solve_triangular(factor.corner, weights, trans="T", lower=True)
    np.testing.assert_allclose(found, wanted, atol=1e-5 * max(np.abs(wanted).max(initial=0.0), 1e-300))


@pytest.mark.parametrize("n", [2, 30, 300, 1100])
def test_a_matrix_without_a_factor_is_refused_however_large(n, rng):
    rows = rng.normal(size=(n, 2))
    gram = np.exp(-((rows[:, None] - rows) ** 2).sum(axis=2) / 2)
    single = gram.astype(np.float32).astype(float)  # its rounding is let pass
    assert len(factorise(single).features) == n
    gram[:2, :2] *= -1.0
    with pytest.raises(ValueError, match=f"Gram matrix of the {n} distinct .* not positive semi-definite"):
        factorise(gram)


@pytest.mark.parametrize("model", LEARNERS, ids=lambda m: f"{type(m).__name__} {getattr(m, 'loss', '')}")
def test_a_linear_kernel_is_the_linear_model(model, wine):
    X, y, other, _ = wine
    ramp = getattr(model, "loss", "") == "ramp"
    kind = type(model)
    options = model.get_params(deep=False) | {"fit_intercept": False}
    plain = kind(**options).fit(X, y)
    kernel = kind(**options | {"kernel": Linear(), "fit_intercept": "auto"}).fit(X, y)
    assert kernel.objective_ == pytest.approx(plain.objective_, rel=0.05 if ramp else 2e-4)
    if not ramp:  # whose minima depend on the way
        np.testing.assert_allclose(kernel.decision_function(other), plain.decision_function(other), atol=0.03)
    # the penalty is that of the coefficients
    scores = X @ kernel.support_.T @ kernel.dual_coef_
    np.testing.assert_array_equal(kernel.classes_[scores.argmax(axis=1)], kernel.predict(X))
    assert kernel.dual_coef_.shape == (kernel.n_support_, 3) and kernel.n_support_ <= X.shape[1]


def test_log_loss_with_a_kernel_is_at_its_optimum(wine):
    X, y, other, labels = wine
    model = CRF(Multiclass(), l2=0.3, kernel=RBF(0.05), tol=1e-9).fit(X, y)
    # at the optimum l2 coef = [y] - p on every row
    p, truth = model.predict_proba(X), np.eye(3)[y]
    assert model.n_support_ == len(X)
    order = [int(np.argmin(np.sum((X - row) ** 2, axis=1))) for row in model.support_]
    np.testing.assert_allclose(0.3 * model.dual_coef_, (truth - p)[order], atol=1e-4)
    assert model.score(other, labels) > 0.93
    assert model.result_.gap <= 1e-6 * model.objective_


def test_ramp_with_a_kernel_beats_the_hinge_on_noisy_labels():
    X, y = load_iris(return_X_y=True)
    rng = np.random.default_rng(0)
    noisy = np.where(rng.random(len(y)) < 0.25, rng.integers(0, 3, len(y)), y)
    hinge = SSVM(Multiclass(), C=10.0, kernel=RBF(0.5)).fit(X, noisy)
    ramp = SSVM(Multiclass(), C=10.0, kernel=RBF(0.5), loss="ramp").fit(X, noisy)
    assert ramp.score(X, y) >= hinge.score(X, y)
    assert ramp.score(X, y) > 0.93


def test_chains_files_and_precomputed_kernels(tmp_path):
    X, Y = make_chains(25, n_classes=3, n_features=4, random_state=0)
    model = CRF(Chain(), l2=0.5, kernel=Polynomial(2, normalize=True)).fit(X, Y)
    assert model.transitions_.shape == (3, 3) and np.any(model.transitions_)
    model.save(tmp_path / "m.palmette")
    again = palmette.load(tmp_path / "m.palmette")
    assert again.predict(X) == model.predict(X)
    np.testing.assert_array_equal(again.dual_coef_, model.dual_coef_)
    rows = np.concatenate(X)
    offsets = np.cumsum([0, *map(len, X)])
    gram = Polynomial(2, normalize=True)(rows)
    given = [gram[a:b] for a, b in zip(offsets[:-1], offsets[1:])]
    same = CRF(Chain(), l2=0.5, kernel="precomputed").fit(given, Y)
    assert same.objective_ == pytest.approx(model.objective_, rel=1e-3)
    assert same.predict(given) == model.predict(X)


def test_sparse_rows_and_rows_that_come_twice(wine):
    X, y, _, _ = wine
    X = np.where(np.abs(X) > 0.7, X, 0.0)
    options = {"l2": 0.5, "kernel": Polynomial(2), "tol": 1e-7}
    dense = CRF(Multiclass(), **options).fit(X, y)
    thin = CRF(Multiclass(), **options).fit(sparse.csr_array(X), y)
    assert thin.objective_ == pytest.approx(dense.objective_, rel=1e-6)
    twice = CRF(Multiclass(), **options).fit(np.concatenate([X, X]), np.concatenate([y, y]))
    double = CRF(Multiclass(), **options).fit(X, y, sample_weight=np.full(len(y), 2.0))
    assert twice.objective_ == pytest.approx(double.objective_, rel=1e-6)
    assert twice.n_support_ <= len(X)


def test_nystroem_serves_the_log_loss(wine):
    X, y, other, labels = wine
    model = CRF(Multiclass(), l2=0.3, kernel=Nystroem(RBF(0.05), n_components=30)).fit(X, y)
    assert model.score(other, labels) > 0.9
    with pytest.raises(AttributeError, match="not support rows"):
        _ = model.support_


def test_what_cannot_be_done_is_named(wine):
    X, y, _, _ = wine
    for options, message in (
        ({"kernel_options": KernelOptions(cache_size=0.05)}, r"needs 0.13 MB for 89 distinct rows.*Nystroem"),
        ({"l1": 0.1}, "l1=0.1 needs weights of features"),
        ({"warm_start": True}, "warm_start=True needs weights.*or use kernel=None$"),
    ):
        with pytest.raises(MissingCapability, match=message):
            CRF(Multiclass(), kernel="rbf", **options).fit(X, y)
    with pytest.raises(
        MissingCapability, match=r"^warm_start does not go with kernel=Nystroem\(\).*leave warm_start out$"
    ):
        CRF(Multiclass(), kernel=Nystroem(), warm_start=True).fit(X, y)
    with pytest.raises(MissingCapability, match=r"edge_kernel=.* goes with loss='hinge'"):
        SSVM(Chain(), loss="ramp", kernel="rbf", kernel_options=KernelOptions(edge_kernel="rbf")).fit(
            [X], [y.tolist()]
        )
    with pytest.raises(NotPositiveSemidefinite):
        CRF(Multiclass(), kernel=lambda a, b: -(a @ b.T)).fit(X, y)
    with pytest.raises(ValueError, match="cache_size must be a positive number"):
        CRF(Multiclass(), kernel_options=KernelOptions(cache_size=-1)).fit(X, y)


def test_costs_go_with_kernels(wine):
    X, y, _, _ = wine
    dear = Hamming({(0, 1): 5.0})
    model = SSVM(Multiclass(), l2=0.5, loss="ramp", kernel=RBF(0.05), task_loss=dear).fit(X, y)
    assert model.score(X, y) > 0.95


def test_callbacks_see_a_model_of_the_rows_as_given(rng):
    X = rng.normal(size=(40, 3))
    y = (X[:, 0] > 0).astype(int)
    seen = []

    def look(step, model):
        seen.append(model().score(X, y))

    look.sees_model = True
    fitted = SSVM(Multiclass(), kernel="rbf", loss="ramp", callbacks=[look]).fit(X, y)
    assert len(seen) == len(fitted.result_.history) and 0.5 <= max(seen) <= 1.0


def test_a_size_of_pieces_is_chosen_on_rows_that_are_mapped_once():
    X, y = make_chains(12, n_features=3, random_state=0)
    model = Perceptron(Chain(), kernel=Nystroem(RBF(gamma=0.5), 5), regularizer=Decomposition("auto")).fit(
        X, y
    )
    assert set(model.decomposition_scores_) == set(Decomposition.SIZES)
