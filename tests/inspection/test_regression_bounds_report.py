"""Bounds of SORR and SOSC: numbers from the fitted model, on problems whose risk is known."""

from __future__ import annotations

import numpy as np
import pytest

from palmette import SORR, SORRCV, SOSC, SOSCCV, load
from palmette.bounds import compression_bound, level, pac_bayes_bound, quadratic_bound
from palmette.inspection import BoundsReport
from palmette.inspection.given import Given
from palmette.inspection.regression_bounds import Measured
from palmette.kernels import RBF, Custom, NGram, Nystroem, Polynomial
from palmette.outputs import CandidateOutputs


def problem(m, seed=0, right=0.95):
    """Four inputs that are unit vectors; the output is the input's letter but for 5 of 100."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 4, m)
    y = np.where(rng.uniform(size=m) < right, x, rng.integers(0, 4, m))
    return np.eye(4)[x], ["abcd"[k] for k in y]


X, Y = problem(300)
RNG = np.random.default_rng(1)
WORDS = ["".join(RNG.choice(list("ab"), size=k)) for k in RNG.integers(1, 5, 40)]
POINTS = RNG.normal(size=(40, 3))
MODELS = [
    SORR("dirac", kernel="linear", l2=1.0),
    SORR("dirac", kernel="linear", l2=1.0, fit_intercept=True),
    SORR("hamming", kernel=RBF(1.0), l2=0.5),
    SOSC("dirac", kernel="linear", R=0.5),
    SOSC("hamming", kernel=Polynomial(2, normalize=True), R=0.5, constraint="box", max_iter=50),
    SORR(lambda a, b: float(a == b), kernel="linear", l2=1.0),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda own: repr(own)[:60])
@pytest.mark.parametrize("unequal", [False, True])
@pytest.mark.filterwarnings("ignore:SOSC")
def test_numbers_are_those_of_the_predictor(model, unequal):
    X, y = (POINTS, WORDS) if unequal else (X_few, Y_few)
    model = model.fit(X, y)
    data = Measured(model, (X, y), None, Given())
    coefficients = model.coefficients(X)
    gram = model.space_.gram(y, y)
    expected = (
        np.diag(gram)
        - 2.0 * np.sum(coefficients * gram, axis=1)
        + np.sum((coefficients @ gram) * coefficients, axis=1)
    )
    np.testing.assert_allclose(data.train.residuals, np.maximum(expected, 0.0), atol=1e-8)
    assert data.constant == (2.0 if model.space_.constant_norm else 4.0)
    losses = model.space_.kernel_losses(y, model.predict(X))
    assert np.all(losses <= data.constant * data.train.residuals + 1e-8)
    assert losses.max() <= data.largest + 1e-9 and data.output_bound == np.diag(gram).max()
    report = BoundsReport.from_estimator(model, X, y, X, y, printed=True)
    assert report["Lemma 1"].value == pytest.approx(data.constant * data.train.residuals.mean())
    assert report["Lemma 1"].value >= report["Lemma 1"].held_out and report["Lemma 2"].value >= losses.mean()
    assert all(own.verdict != "FAILS" for own in report if own.applies)


X_few, Y_few = X[:60], Y[:60]


def test_the_norm_of_a_ridge_is_that_of_its_weights():
    """A linear kernel has weights: ``W = dual' X``."""
    for intercept in (False, True):
        model = SORR("dirac", kernel="linear", l2=2.0, fit_intercept=intercept).fit(X, Y)
        data = Measured(model, (X, Y), None, Given())
        expected = np.sum((model.dual_coef_.T @ X) ** 2) + np.sum(model.intercept_**2)
        assert data.squared_norm == pytest.approx(expected)
    few = SORR("dirac", kernel=Nystroem("linear", 4), l2=2.0).fit(X, Y)
    whole = SORR("dirac", kernel="linear", l2=2.0).fit(X, Y)
    norms = [Measured(model, (X, Y), None, Given()).squared_norm for model in (few, whole)]
    assert norms[0] == pytest.approx(norms[1], rel=1e-4)
    assert (
        "Nystroem has coefficients of landmarks"
        in BoundsReport.from_estimator(few, X, Y)["Theorem 5"].why_not
    )


def test_theorem_4_says_something_and_holds():
    failed = 0
    for seed in range(10):
        X, y = problem(400, seed)
        model = SORR("dirac", kernel="linear", l2=1.0).fit(X, y)
        own = BoundsReport.from_estimator(model, X, y, printed=True, delta=0.2)
        predicted = ["abcd".index(label) for label in model.predict(np.eye(4))]
        risk = np.mean([0.05 * 0.75 if k == x else 1.0 - 0.05 / 4 for x, k in enumerate(predicted)])
        assert own["Theorem 4"].value < 0.6 and not own["Theorem 4"].vacuous
        failed += risk > own["Theorem 4"].value
        assert own["AS PRINTED"].note.startswith("not proven")
    assert failed <= 2


def test_the_formulas_get_the_numbers_of_the_model():
    model = SOSC("dirac", kernel="linear", R=0.01).fit(X, Y)
    report = BoundsReport.from_estimator(
        model, X, Y, delta=0.1, n_tried=5, variances=[0.1], output_dimension=26
    )
    data = Measured(model, (X, Y), None, Given())
    mean = data.train.residuals.mean()
    assert report["Theorem 5"].value == pytest.approx(
        compression_bound(mean, 300**2 * 0.01, m=300, input_bound=1.0, output_bound=1.0, delta=0.02)
    )
    assert report["Theorem 4"].value == pytest.approx(
        pac_bayes_bound(mean, data.squared_norm, m=300, dimension=26, delta=0.1, variance=0.1)
    )
    ridge = BoundsReport.from_estimator(SORR("dirac", kernel="linear", l2=4.0).fit(X, Y), X, Y)
    assert ridge["Theorem 5"].given["k"] == 300**2 / 4.0  # no entry of (K + l2 I)^-1 is above 1 / l2
    assert ridge["Theorem 5"].vacuous


def test_a_scaled_kernel_is_the_same_model():
    small, large = (
        BoundsReport.from_estimator(SORR("dirac", kernel="linear", l2=l2).fit(s * X, Y), s * X, Y)[
            "Theorem 4"
        ]
        for s, l2 in ((1.0, 1.0), (3.0, 9.0))
    )
    assert small.value == pytest.approx(large.value)


def test_what_does_not_apply_says_why():
    ragged = BoundsReport.from_estimator(SORR("dirac", kernel="linear").fit(POINTS, WORDS), POINTS, WORDS)
    assert "K_X(x, x) must be the same for all inputs" in ragged["Theorem 4"].why_not
    few = SORR("dirac", kernel="linear").fit(X[:7], Y[:7])
    assert (
        "m must be at least 8, got 7" in BoundsReport.from_estimator(few, X[:7], Y[:7])["Theorem 5"].why_not
    )
    weighted = SORR("dirac", kernel="linear").fit(X, Y, np.arange(300.0))
    assert "sample_weight" in BoundsReport.from_estimator(weighted, X, Y)["Theorem 5"].why_not
    gram = X @ X.T
    given = BoundsReport.from_estimator(SORR("dirac", kernel="precomputed").fit(gram, Y), gram, Y)
    assert "precomputed" in given["Theorem 4"].why_not
    decoded = SORR("dirac", kernel="linear", task_loss=lambda a, b: float(a != b)).fit(X, Y)
    with pytest.raises(ValueError, match="decodes by task_loss"):
        BoundsReport.from_estimator(decoded, X, Y)
    hidden = SORR("dirac", kernel="linear", fit_intercept=True, decode_intercept=False).fit(X, Y)
    with pytest.raises(ValueError, match="decode_intercept=True"):
        BoundsReport.from_estimator(hidden, X, Y)


def test_a_search_pays_for_what_it_tried(tmp_path):
    """A radius that follows from a multiplier is on no grid: the power of two above it, and one share per kernel."""
    kernels = [RBF(1.0), RBF(2.0)]
    of_multiplier = SOSCCV("dirac", kernels=kernels, multipliers=[1e-8, 1e-2], cv=3).fit(X, Y)
    of_radius = SOSCCV("dirac", kernels=kernels, radii=[1e-4, 1e-2, 1.0], cv=3).fit(X, Y)
    of_grid = SORRCV("dirac", kernels=kernels, l2s=4, cv=3).fit(X, Y)
    of_list = SORRCV("dirac", kernels=kernels, l2s=[1.0, 100.0], cv=3).fit(X, Y)
    expected = {
        of_multiplier: (*level(of_multiplier.R_, 0.05), 2),
        of_radius: (of_radius.R_, 0.05, 6),
        of_grid: (*level(1.0 / of_grid.l2_, 0.05), 2),
        of_list: (1.0 / of_list.l2_, 0.05, 4),
    }
    for model, (entry, delta, n_tried) in expected.items():
        model.save(tmp_path / "m.palmette")
        for own in (model, load(tmp_path / "m.palmette")):
            report = BoundsReport.from_estimator(own, X, Y)
            given = report["Theorem 5"].given
            assert (given["k"], given["delta"], given["n_tried"]) == (300**2 * entry, delta, n_tried)
            assert report["Theorem 5"].value == compression_bound(**given)
            assert report["Theorem 4"].given["delta"] == 0.025
        more = BoundsReport.from_estimator(model, X, Y, n_tried=10)["Theorem 5"].given["n_tried"]
        assert more == 10 * n_tried


def test_weights_that_are_not_1_bound_other_coefficients():
    """Of samples that count four times each the constraint lets coefficients grow."""
    model = SOSC("dirac", kernel="linear", R=0.01).fit(X, Y, np.full(300, 4.0))
    report = BoundsReport.from_estimator(model, X, Y)
    assert "samples that count once, and sample_weight is 4" in report["Theorem 5"].why_not
    assert report["Theorem 4"].applies


def test_lemmas_are_shown_for_the_samples_that_are_held_out():
    X_test, y_test = problem(200, seed=9, right=0.5)
    model = SORR("dirac", kernel="linear", l2=1.0).fit(X, Y)
    report, alone = (
        BoundsReport.from_estimator(model, X, Y, X_test, y_test),
        BoundsReport.from_estimator(model, X, Y),
    )
    y_vectors = (np.array(y_test)[:, None] == np.array(model.space_.outputs_)).astype(float)
    residuals = np.sum((y_vectors - model.votes(X_test)) ** 2, axis=1)
    lemma = report["Lemma 1"]
    assert lemma.quantity == "loss of the held-out samples"
    assert lemma.value == pytest.approx(quadratic_bound(residuals, 2.0).mean())
    assert lemma.held_out == pytest.approx(1.0 - model.score(X_test, y_test)) and lemma.held_out > 0.3
    assert lemma.training == alone["Lemma 1"].value and np.isnan(alone["Lemma 1"].held_out)
    assert str(alone).splitlines()[2].endswith(" -")


def test_lemmas_ask_for_outputs_that_can_be_predicted():
    strange = BoundsReport.from_estimator(SORR("dirac", kernel="linear").fit(X, Y), X, Y, X[:2], ["a", "new"])
    assert "outputs[1] = 'new' has something that no training output has" in strange["Lemma 1"].why_not
    assert strange["Theorem 4"].applies
    space = CandidateOutputs("dirac", candidates=["a", "b"])
    few = SORR(space, kernel="linear", l2=0.1).fit(X, Y)
    assert "is nearer to the vector predicted" in BoundsReport.from_estimator(few, X, Y)["Lemma 1"].why_not
    assert "is nearer to the vector predicted" in BoundsReport.from_estimator(few, X, Y)["Theorem 5"].why_not


@pytest.mark.parametrize(
    "kernel",
    ["linear", RBF(1.0) + Polynomial(2), Custom(lambda a, b: float(a @ b), of="pairs"), NGram(1)],
    ids=["linear", "a sum", "a function", "n-grams"],
)
def test_inputs_are_those_of_the_training(kernel):
    words = isinstance(kernel, NGram)
    inputs = WORDS if words else list(POINTS) if kernel != "linear" and kernel.objects else POINTS
    moved = [*inputs[:7], inputs[8], inputs[7], *inputs[9:]]
    model = SORR("dirac", kernel=kernel).fit(inputs, ["a", "b"] * 20)
    BoundsReport.from_estimator(model, inputs, ["a", "b"] * 20)
    with pytest.raises(ValueError, match=r"X\[7\] was another input in training: X and y are the data that"):
        BoundsReport.from_estimator(model, moved, ["a", "b"] * 20)


def test_a_loaded_model_has_the_same_bounds(tmp_path):
    model = SORR("dirac", kernel=RBF(1.0)).fit(X, Y)
    model.save(tmp_path / "m.palmette")
    found = [BoundsReport.from_estimator(own, X, Y) for own in (model, load(tmp_path / "m.palmette"))]
    assert [own.value for own in found[0]] == pytest.approx([own.value for own in found[1]])
