"""Kernels: their values, what is refused, and the Gram matrix within a budget."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.kernel_approximation import RBFSampler
from sklearn.metrics import pairwise
from sklearn.svm import SVC

from palmette.executors.threads import ThreadExecutor
from palmette.kernels import (
    RBF,
    Blurred,
    Custom,
    Directions,
    Linear,
    NotPositiveSemidefinite,
    Nystroem,
    Polynomial,
    Precomputed,
    Transformed,
    resolve_kernel,
)
from palmette.kernels.definite import check_definite
from palmette.kernels.gram import Gram
from palmette.kernels.rows import as_rows, distinct

CASES = [
    (Linear(), pairwise.linear_kernel, {}),
    (Polynomial(3, gamma=0.3), pairwise.polynomial_kernel, {"degree": 3, "gamma": 0.3, "coef0": 1.0}),
    (
        Polynomial(5, gamma=0.1, coef0=0.5),
        pairwise.polynomial_kernel,
        {"degree": 5, "gamma": 0.1, "coef0": 0.5},
    ),
    (RBF(gamma=0.2), pairwise.rbf_kernel, {"gamma": 0.2}),
]


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, sparse.csr_matrix])
@pytest.mark.parametrize("kernel, reference, options", CASES, ids=lambda case: repr(case)[:20])
def test_values_are_those_of_scikit_learn(kernel, reference, options, kind, rng):
    X, Y = rng.normal(size=(7, 4)), rng.normal(size=(5, 4))
    X[rng.random(X.shape) < 0.3] = 0.0
    expected = reference(X, Y, **options)
    np.testing.assert_allclose(kernel(kind(X), kind(Y)), expected, rtol=1e-12, atol=1e-13)
    assert (
        kernel(kind(X)).dtype
        == (kernel + 2.0 * kernel)(kind(X)).dtype
        == kernel(X[0], Y[0]).dtype
        == np.float64
    )
    itself = clone(kernel).set_params(normalize=True)(kind(X))
    root = np.sqrt(np.diag(reference(X, **options)))
    np.testing.assert_allclose(itself, reference(X, **options) / np.outer(root, root), rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(np.diag(itself), 1.0, rtol=1e-12)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_gamma_scale_is_that_of_svc(kind, rng):
    X = rng.normal(size=(30, 3)) * 2.0 + 1.0
    gamma = SVC(gamma="scale").fit(X, np.arange(30) % 2)._gamma
    for kernel in (RBF(), Polynomial()):
        assert kernel.bind(as_rows(kind(X))).gamma == pytest.approx(gamma)
    assert RBF().bind(np.ones((3, 2))).gamma == 1.0


def test_large_norms_do_not_spoil_a_gaussian(rng):
    X = 1e4 + rng.normal(size=(6, 3))
    np.testing.assert_allclose(RBF(gamma=1.0)(X), pairwise.rbf_kernel(X, gamma=1.0), atol=1e-6)


def test_rows_that_are_zero_in_feature_space_stay_zero():
    values = Linear(normalize=True)(np.array([[0.0, 0.0], [3.0, 4.0]]))
    np.testing.assert_allclose(values, [[0.0, 0.0], [0.0, 1.0]], atol=1e-6)


def test_transformed_rows_and_functions(rng):
    X, Y = rng.random((4, 3)), rng.random((5, 3))
    np.testing.assert_allclose(Transformed(np.sqrt, RBF(gamma=0.5))(X, Y), RBF(0.5)(np.sqrt(X), np.sqrt(Y)))
    np.testing.assert_allclose(Transformed(np.sqrt, "rbf")(X), RBF()(np.sqrt(X)), rtol=1e-6)
    np.testing.assert_allclose(Custom(pairwise.laplacian_kernel)(X, Y), pairwise.laplacian_kernel(X, Y))
    normal = Custom(lambda a, b: 4.0 * a @ b.T, normalize=True)(X, Y)
    np.testing.assert_allclose(normal, pairwise.cosine_similarity(X, Y))


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: Polynomial(0).check(), "degree must be an integer of at least 1, got 0"),
        (lambda: Polynomial(2.5).check(), "degree must be"),
        (lambda: RBF(gamma=-1.0).check(), "gamma must be 'scale' or a positive number, got -1.0"),
        (lambda: RBF(gamma="auto").check(), "got 'auto'"),
        (lambda: Polynomial(coef0=np.nan).check(), "coef0 must be a finite number"),
        (lambda: Linear(normalize=2).check(), "normalize must be True or False, got 2"),
        (lambda: Precomputed(normalize=True).check(), "normalize the values yourself"),
        (lambda: resolve_kernel("cubic"), "kernel='cubic' is unknown"),
        (lambda: Nystroem(n_components=0).check(), "n_components must be an integer of at least 1"),
        (lambda: Linear()(np.ones((2, 3)), np.ones((2, 4))), "X has 3 columns, Y has 4"),
        (
            lambda: Linear()(np.ones(3)),
            r"X is single numbers, .* the rows of tables: np.reshape",
        ),
        (lambda: Custom(lambda a, b: a)(np.ones((2, 3))), r"returned an array of shape \(2, 3\)"),
        (lambda: Transformed(lambda a: a[:1], "rbf")(np.ones((2, 3))), "made 1 rows of 2"),
        (lambda: Blurred(3)(np.ones((2, 3))), r"shape must be \(height, width\), got 3"),
        (
            lambda: Directions((1, 3), smooth="a")(np.ones((2, 3))),
            "smooth must be a number from 0 to 1000.0, got 'a'",
        ),
    ],
)
def test_bad_settings_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_bad_kinds_are_refused():
    for bad, message in (
        (RBF, r"write RBF\(\)"),
        (3, "kernel must be a name, an object of palmette.kernels, or a function of two tables, got 3"),
        (Custom(3), "must be callable"),
        (Transformed(np.abs, "precomputed"), "kernel of rows to apply after the function, got 'precomputed'"),
        (Transformed(np.abs, Nystroem()), "kernel of rows to apply after the function, got Nystroem"),
    ):
        with pytest.raises(TypeError, match=message):
            resolve_kernel(bad).check()


# -- positive semi-definite -------------------------------------------------------------------------------------------


def test_a_negative_eigenvalue_is_named(rng):
    X = rng.normal(size=(20, 3))
    tanh = Custom(lambda a, b: np.tanh(2.0 * a @ b.T - 1.0))
    least = np.linalg.eigvalsh(tanh(X))[0]
    with pytest.raises(NotPositiveSemidefinite, match=r"most negative eigenvalue .* is -\d") as caught:
        check_definite(tanh, X)
    assert caught.value.eigenvalue == pytest.approx(least)
    assert f"is {least:.6g} " in str(caught.value)
    with pytest.raises(NotPositiveSemidefinite):
        check_definite(Polynomial(2, gamma=1.0, coef0=-3.0), X)
    check_definite(Custom(pairwise.laplacian_kernel), X)


def test_of_many_rows_a_part_and_lanczos_steps_are_looked_at(monkeypatch):
    monkeypatch.setattr("palmette.kernels.definite.EXACT", 100)
    n = 150
    X = np.arange(n, dtype=float)[:, None]
    minus = Custom(lambda a, b: -np.exp(-np.abs(a - b.T)))
    with pytest.raises(NotPositiveSemidefinite, match="100 of the 150 training rows"):
        check_definite(minus, X)
    # What no part shows, the whole may.
    gram = np.eye(n)
    gram[:75, 75:] = gram[75:, :75] = -2.0 * np.eye(75)
    block = Custom(lambda a, b: np.equal(a, b.T).astype(float))
    check_definite(block, X)
    with pytest.raises(NotPositiveSemidefinite, match="Gram matrix of the training rows") as caught:
        check_definite(block, X, multiply=lambda v: gram @ v)
    assert caught.value.eigenvalue == pytest.approx(-1.0, abs=1e-6)


def test_a_matrix_that_is_there_is_looked_at_wholly(rng, monkeypatch):
    """What neither a part nor Lanczos steps see: one eigenvalue just below 0 beside hundreds just above."""
    monkeypatch.setattr("palmette.kernels.definite.EXACT", 100)
    basis = np.linalg.qr(rng.normal(size=(300, 300)))[0]
    X, given = np.arange(300.0)[:, None], Custom(lambda a, b: np.equal(a, b.T).astype(float))
    for least in (-0.05, -1e-12):
        gram = basis * np.append(least, 1000.0 * np.linspace(0.0, 1.0, 299) ** 2) @ basis.T
        gram = (gram + gram.T) / 2.0
        check_definite(given, X, multiply=gram.__matmul__)
        if least < -1e-6:
            with pytest.raises(NotPositiveSemidefinite, match=r"is -0\.05 ") as caught:
                check_definite(given, X, gram=gram)
            assert caught.value.eigenvalue == pytest.approx(least)
        else:
            check_definite(given, X, gram=gram)
    gram[7, 250] += 1.0
    with pytest.raises(ValueError, match="for training row 7 and training row 250"):
        check_definite(given, X, gram=gram)


def test_asymmetry_and_infinities_are_named():
    X = np.arange(3.0)[:, None]
    with pytest.raises(
        ValueError, match="not symmetric: -1 for training row 0 and training row 1, but 1 the other way"
    ):
        check_definite(Custom(lambda a, b: np.sign(a - b.T) * (np.abs(a - b.T) == 1)), X)
    with pytest.raises(ValueError, match="of training row 0 and training row 0 is inf"):
        check_definite(Custom(lambda a, b: a @ b.T + np.inf), X)


# -- feature maps -----------------------------------------------------------------------------------------------------


def test_all_landmarks_make_the_map_exact(rng):
    X, Y = rng.normal(size=(12, 3)), rng.normal(size=(4, 3))
    mapped = Nystroem(RBF(gamma=0.3), 100).fit(X)
    np.testing.assert_allclose(mapped.transform(X) @ mapped.transform(X).T, RBF(gamma=0.3)(X), atol=1e-4)
    one, two = mapped.transform([X, Y])
    np.testing.assert_allclose(one, mapped.transform(X))
    np.testing.assert_allclose(two, mapped.transform(Y))
    assert mapped.transform(sparse.csr_array(Y)) == pytest.approx(two, abs=1e-5)
    assert Nystroem(RBF(), 5).fit([X, X]).landmarks_.shape == (5, 3)  # distinct rows


def test_transformers_of_scikit_learn_serve_as_maps(rng):
    X = rng.normal(size=(6, 3))
    sampler = RBFSampler(gamma=0.1, n_components=7, random_state=0)
    np.testing.assert_allclose(Nystroem(sampler).fit_transform(X), clone(sampler).fit_transform(X))
    assert isinstance(resolve_kernel(sampler), Nystroem)


# -- the Gram matrix --------------------------------------------------------------------------------------------------


@given(st.integers(1, 40), st.integers(0, 2**32 - 1), st.booleans())
def test_distinct_rows(n, seed, is_sparse):
    X = np.random.default_rng(seed).integers(0, 2, (n, 3)).astype(float)
    first, number = distinct(sparse.csr_array(X) if is_sparse else X)
    np.testing.assert_array_equal(X[first][number], X)
    assert len(np.unique(X, axis=0)) == len(first)
    assert list(first) == sorted(first)


@pytest.mark.parametrize(
    "kernel", [Linear(), Polynomial(3, coef0=0.0, normalize=True), Polynomial(2), RBF(), RBF(0.05)], ids=repr
)
def test_ways_to_hold_the_matrix_agree(kernel, rng):
    X = (rng.random((70, 12)) < 0.4).astype(float)
    bound = kernel.bind(X)
    rows, coef = bound.prepare(X), rng.normal(size=(70, 3))
    expected = bound.cross(rows, rows) @ coef
    with ThreadExecutor(2) as executor:
        ways = {size: Gram(bound, rows, size, executor, least=4) for size in (1e6, 70 * 72 * 2, 70 * 72)}
        few = Gram(bound, rows + 0.5, 20 * 72 * 4, executor, least=4)
        assert [gram.way for gram in ways.values()] + [few.way] == ["full", "bytes", "bytes", "rows"]
        for gram in ways.values():
            np.testing.assert_allclose(gram.times(coef), expected, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(
            few.times(coef), bound.cross(rows + 0.5, rows + 0.5) @ coef, rtol=1e-4, atol=1e-3
        )


def test_images_near_each_other_are_alike():
    dot = np.zeros((3, 16, 8))
    dot[0, 8, 4] = dot[1, 8, 5] = dot[2, 2, 4] = 1.0
    rows = dot.reshape(3, -1)
    for made in (Blurred((16, 8), 1.0), Directions((16, 8), 1.0)):
        sharp, near = (
            RBF(gamma=1.0)(f(rows)) for f in (made.set_params(sigma=0.0), clone(made).set_params(sigma=1.0))
        )
        assert near[0, 1] > sharp[0, 1] and near[0, 1] > near[0, 2]
    np.testing.assert_allclose(Blurred((16, 8), 1.0)(rows).sum(axis=1), 1.0, atol=1e-2)
    # A quarter turn of a square image turns the channels by a quarter of their number.
    square = np.random.default_rng(0).random((1, 7, 7))
    turned = np.rot90(square, axes=(1, 2)).reshape(1, -1)
    channels = [
        Directions((7, 7), n_directions=4)(x).reshape(4, 7, 7) for x in (square.reshape(1, -1), turned)
    ]
    np.testing.assert_allclose(
        channels[1], np.roll(np.rot90(channels[0], axes=(1, 2)), -1, axis=0), atol=1e-12
    )
    with pytest.raises(ValueError, match=r"rows have 128 columns, images of \(4, 4\) 16"):
        Blurred((4, 4))(rows)
    with pytest.raises(ValueError, match=r"sigma must be a number from 0 to 1000.0, got -1"):
        Blurred((16, 8), -1)(rows)
    with pytest.raises(ValueError, match="n_directions must be"):
        Directions((16, 8), n_directions=0)(rows)


def test_rows_of_the_matrix_are_at_hand_in_runs(rng):
    X = rng.normal(size=(40, 3))
    offsets, unique = np.arange(0, 41, 4), rng.permutation(40)
    order = rng.permutation(10)
    with ThreadExecutor(1) as executor:
        gram = Gram(Linear(), X, 12 * 40 * 4, executor, least=4)
        assert gram.way == "rows"
        visited = []
        for run in gram.runs(order, offsets, unique):
            for s in run:
                for u in unique[offsets[s] : offsets[s + 1]]:
                    row = gram.gram[gram.slot[u] * gram.stride :][:40]
                    np.testing.assert_allclose(row, X[u] @ X.T, rtol=1e-5, atol=1e-6)
            visited += list(run)
        assert visited == list(order)
        with pytest.raises(
            ValueError, match=r"holds 1 rows of the Gram matrix, but the longest sample needs 4"
        ):
            Gram(Linear(), X, 200, executor, least=4)


@pytest.mark.parametrize("budget", [1e6, 40.0], ids=["full", "rows"])
def test_values_beyond_single_precision_are_refused(budget):
    with ThreadExecutor(1) as executor:
        with pytest.raises(ValueError, match="normalize=True"):
            gram = Gram(Polynomial(9, gamma=1.0), np.full((2, 1), 1e4, np.float32), budget, executor)
            next(gram.runs(np.array([0]), np.array([0, 1]), np.array([0, 1])))
        with pytest.raises(ValueError, match=r"scale the features$"):
            Gram(Polynomial(40, normalize=True, gamma=1.0), np.full((2, 1), 1e4, np.float32), 1e6, executor)
