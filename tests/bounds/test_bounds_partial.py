"""The bound for partial annotations, and the listed form of the ramp: on problems whose risk is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palmette.bounds import convex_bound, partial_annotation_bound, ramp_bound

positive = st.floats(1e-3, 1e3)
GIVEN = {
    "m": 1000,
    "feature_norm": 1.0,
    "largest": 1.0,
    "log_outputs": np.log(2.0),
    "log_annotations": np.log(3.0),
}


@pytest.mark.parametrize("form", ["corrected", "sharp"])
@pytest.mark.parametrize("delta", [0.5, 0.05])
def test_it_holds_at_its_confidence(form, delta):
    """Labels -1 and 1 with ``phi(x, y) = y x / 2``, some of them unknown, and weights from a grid."""
    m, norm, times = 100_000, 1.0, 200
    w = np.linspace(-norm, norm, 101)
    x = np.array([0.5, 2.0])  # |phi| <= 1
    # Probabilities of (x, annotation): wrong, right, unknown, whose loss is 0 since nothing contradicts it.
    pairs = np.array([[0.15, 0.2, 0.15], [0.2, 0.1, 0.2]])
    losses = np.stack([np.maximum(1.0 + x[:, None] * w, 0.0), np.maximum(1.0 - x[:, None] * w, 0.0)], axis=1)
    expected = np.einsum("xy,xyw->w", pairs[:, :2], losses)
    seen = np.random.default_rng(0).multinomial(m, pairs.ravel(), size=times).reshape(times, 2, 3) / m
    chosen = np.einsum("txy,xyw->tw", seen[:, :, :2], losses).argmin(axis=1)
    bound = partial_annotation_bound(norm, **GIVEN | {"m": m}, delta=delta, form=form)
    assert np.mean(expected[chosen] - expected.min() > bound) <= delta
    assert bound < 1.0


def test_the_loss_reaches_what_the_print_leaves_out():
    """``phi(x, 1) = -phi(x, -1)``, both of norm B: the worst weights score the wrong label mu B and the right -mu B."""
    norm, largest = 3.0, 1.0
    phi = {1: np.array([1.0, 0.0]), -1: np.array([-1.0, 0.0])}
    w = np.array([-norm, 0.0])
    loss = w @ phi[-1] + largest - w @ phi[1]
    assert loss == 2.0 * norm + largest > norm + largest
    forms = {form: partial_annotation_bound(norm, **GIVEN, form=form) for form in ("corrected", "printed")}
    root = np.sqrt(2.0 * np.log(2.0 / 0.05) / GIVEN["m"])
    assert forms["corrected"] - forms["printed"] == pytest.approx(norm * root)


@settings(deadline=None)
@given(norm=positive, b=positive, largest=positive, factor=st.floats(1.01, 10.0), delta=st.floats(1e-6, 0.9))
def test_monotone_and_ordered(norm, b, largest, factor, delta):
    given_ = GIVEN | {"feature_norm": b, "largest": largest, "delta": delta}
    printed, corrected, sharp = (
        partial_annotation_bound(norm, **given_, form=form) for form in ("printed", "corrected", "sharp")
    )
    assert printed <= corrected and sharp <= corrected
    for form in ("printed", "corrected", "sharp"):
        at = partial_annotation_bound(norm, **given_, form=form)
        assert partial_annotation_bound(norm * factor, **given_, form=form) > at
        assert partial_annotation_bound(norm, **given_ | {"delta": delta / factor}, form=form) >= at
        assert partial_annotation_bound(norm, **given_ | {"log_outputs": 2.0}, form=form) > at
        assert partial_annotation_bound(norm, **given_ | {"m": 4000}, form=form) == pytest.approx(at / 2)


def test_structures_of_any_size_are_vacuous_not_an_error():
    assert partial_annotation_bound(1.0, **GIVEN | {"log_outputs": 1000.0}) == np.inf


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"norm": 0.0}, "norm must be a finite number > 0"),
        ({"largest": np.inf}, "largest must be a finite number > 0, got inf"),
        ({"log_outputs": -1.0}, "log_outputs must be"),
        ({"delta": 2.0}, "delta must be a probability"),
        ({"form": "best"}, "form must be one of 'corrected', 'printed', 'sharp'"),
    ],
)
def test_bad_arguments(change, message):
    with pytest.raises(ValueError, match=message):
        partial_annotation_bound(**{"norm": 1.0} | GIVEN | change)


# --------------------------------------------------------------------------------------------------- ramp


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["margin", "slack", "root"]))
def test_ramp_lies_between_the_losses(seed, rescaling):
    rng = np.random.default_rng(seed)
    margins, losses = rng.normal(scale=2.0, size=(5, 6)), rng.uniform(0.0, 3.0, size=(5, 6))
    margins[:, 0] = losses[:, 0] = 0.0
    rescaled = {"margin": np.ones_like(losses), "slack": losses, "root": np.sqrt(losses)}[rescaling]
    ramp, convex = ramp_bound(margins, losses, rescaled), convex_bound(margins, losses, rescaled)
    rows = np.arange(5)
    predicted = losses[rows, margins.argmax(axis=1)]
    violator = losses[rows, (rescaled * margins + losses).argmax(axis=1)]
    assert (
        np.all(predicted <= ramp + 1e-9) and np.all(ramp <= violator + 1e-9) and np.all(ramp <= convex + 1e-9)
    )
    # Confident mistakes raise the convex bound without end, the ramp never beyond the largest loss.
    assert np.all(ramp_bound(1e6 * margins, losses, rescaled) <= losses.max(axis=1) + 1e-6)


def test_bad_arguments_of_the_ramp():
    with pytest.raises(ValueError, match="the same shape"):
        ramp_bound([[0.0, 1.0]], [[0.0]])
    with pytest.raises(ValueError, match="needs its true output"):
        convex_bound([[1.0, 1.0]], [[0.0, 1.0]])
