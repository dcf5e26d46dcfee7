"""The figure of bounds: along a fit and against the penalty, on any learner, at a bounded cost."""

from __future__ import annotations

import numpy as np
import pytest

from palmette import CRF, SSVM, Chain, Folding, LossOptions, Multiclass, Perceptron
from palmette.datasets import make_chains
from palmette.inspection import bound_values
from palmette.kernels import RBF, Nystroem
from palmette.plot import BoundDisplay
from palmette.plot import bounds as plot_bounds
from palmette.solvers import CCCP
from palmette.structures.folding.folding import OutsideModelWarning

X, Y = make_chains(20, n_classes=3, n_features=4, random_state=0)
ROWS, LABELS = np.concatenate(X), np.concatenate(Y)


@pytest.fixture
def ax():
    from matplotlib.figure import Figure

    return Figure().subplots()


def in_order(display):
    return np.all(display.convex >= display.ramp - 1e-9) and np.all(display.ramp >= display.loss - 1e-9)


@pytest.mark.parametrize("against", ["n_oracle", "n_iter", "seconds"])
def test_along_the_fit_of_a_ramp_model(ax, against):
    estimator = SSVM(Chain(), loss="ramp", solver=CCCP())
    display = BoundDisplay.from_estimator(estimator, X, Y, against=against, ax=ax)
    model = SSVM(Chain(), loss="ramp", tol=CCCP().tol).fit(X, Y)
    assert not hasattr(estimator, "coef_") and estimator.callbacks is None
    assert in_order(display) and np.all(np.diff(display.x) >= 0)
    last = bound_values(model, X, Y)
    assert [display.convex[-1], display.ramp[-1], display.loss[-1]] == pytest.approx([v.mean() for v in last])
    assert display.convex[0] == display.ramp[0]  # at zero all scores are equal
    history = model.result_.history
    if against != "seconds":
        assert display.rounds.tolist() == [getattr(history[k], against) for k in model.result_.rounds]
        assert display.x[-1] == getattr(history[-1], against)
    for line, name in zip(display.lines_, ("convex", "ramp", "loss")):
        np.testing.assert_array_equal(line.get_data(), [display.x, getattr(display, name)])
    assert len(display.rounds_.get_segments()) == len(model.result_.rounds)
    assert display.ax_ is ax and display.figure_ is ax.figure


def test_points_are_few_and_evenly_spaced(monkeypatch, ax):
    estimator = SSVM(Chain(), l2=0.1, tol=1e-4)
    steps = SSVM(Chain(), l2=0.1, tol=1e-4).fit(X, Y).result_.history
    assert len(steps) > 60
    display = BoundDisplay.from_estimator(estimator, X, Y, points=20, ax=ax)
    assert (
        10 <= len(display.x) <= 20
        and display.x[0] == steps[0].n_oracle
        and display.x[-1] == steps[-1].n_oracle
    )
    assert len(set(np.diff(display.x[:-1]))) == 1
    monkeypatch.setattr(plot_bounds, "MEMORY", 5 * 8 * SSVM(Chain()).fit(X, Y).coef_.size)
    assert len(BoundDisplay.from_estimator(estimator, X, Y, ax=ax).x) <= 6


@pytest.mark.parametrize(
    "estimator",
    [
        CRF(Chain()),
        Perceptron(Chain()),
        SSVM(Chain(), loss="ramp", loss_options=LossOptions(rescaling="slack"), tol=1e-2),
        SSVM(Chain(), task_loss="zero_one"),
        SSVM(Chain(), kernel=RBF(), tol=0.1),
        SSVM(Chain(), kernel=Nystroem(RBF(), 10), tol=0.1),
    ],
    ids=repr,
)
def test_any_learner(estimator, ax):
    display = BoundDisplay.from_estimator(estimator, X, Y, ax=ax, points=5)
    assert len(display.x) >= 2 and in_order(display)
    if isinstance(estimator, SSVM):
        assert display.rounds_ is None or estimator.loss == "ramp"
        path = BoundDisplay.from_estimator(estimator, X, Y, l2=[10.0, 0.3], ax=ax)
        assert in_order(path) and path.ramp[0] >= path.ramp[1]


def test_a_fitted_model_stays_as_it_is(ax):
    model = SSVM(Multiclass(), loss="ramp", C=2.0).fit(ROWS, LABELS)
    before = model.coef_.copy()
    path = BoundDisplay.from_estimator(model, ROWS, LABELS, l2=[0.5, 5.0], ax=ax)
    assert np.array_equal(model.coef_, before) and model.C == 2.0
    # C = 2 is the weakest of the penalties, where the path starts, as this model did.
    assert path.ramp[0] == pytest.approx(bound_values(model, ROWS, LABELS).ramp.mean())
    assert path.x.tolist() == [0.5, 5.0] and ax.get_xscale() == "log" and ax.get_xlabel() == "l2"


def test_sums_and_weights(ax):
    weight = np.arange(len(Y), dtype=float)
    options = {"l2": [1.0], "sample_weight": weight, "warm_start": False, "ax": ax}
    mean, total = (
        BoundDisplay.from_estimator(SSVM(Chain()), X, Y, average=a, **options) for a in (True, False)
    )
    model = SSVM(Chain(), l2=1.0).fit(X, Y, weight)
    values = bound_values(model, X, Y)
    for name in ("convex", "ramp", "loss"):
        assert getattr(total, name)[0] == pytest.approx(getattr(values, name) @ weight, rel=1e-6)
        assert getattr(mean, name)[0] == pytest.approx(getattr(total, name)[0] / weight.sum())
    assert (mean.ylabel, total.ylabel) == ("loss per sample", "sum of losses")


def test_another_loss_and_rescaling(ax):
    display = BoundDisplay.from_estimator(
        CRF(Chain()),
        X,
        Y,
        task_loss="zero_one",
        rescaling=np.sqrt,
        ax=ax,
        colors=["k", "r", "b"],
        rounds=False,
    )
    assert in_order(display) and display.loss.max() <= 1.0
    assert [line.get_color() for line in display.lines_] == ["k", "r", "b"]


def test_callbacks_of_the_user_are_told(ax):
    seen = []
    estimator = CRF(Chain(), callbacks=[lambda step: seen.append(step) or step.n_iter == 3])
    display = BoundDisplay.from_estimator(estimator, X, Y, ax=ax, against="n_iter")
    assert display.x.tolist() == [1, 2, 3] and len(seen) == 3
    assert len(estimator.callbacks) == 1


@pytest.mark.parametrize(
    "estimator, options, message",
    [
        (SSVM(Chain()), {"along": "time"}, "along must be 'fit' or 'l2', got 'time'"),
        (SSVM(Chain()), {"along": "l2"}, "along='l2' with l2=None: strengths belong to along='l2'"),
        (SSVM(Chain()), {"along": "fit", "l2": [1.0]}, "strengths belong to along='l2'"),
        (SSVM(Chain()), {"against": "hours"}, "against must be one of .*got 'hours'"),
        (SSVM(Chain()), {"points": 1}, "points must be an integer of at least 2, got 1"),
        (SSVM(Chain()), {"l2": []}, "l2 must be positive numbers"),
        (SSVM(Chain()), {"l2": [1.0, 0.0]}, "l2 must be positive numbers, got 0.0"),
        (Perceptron(Chain()), {"l2": [1.0]}, "Perceptron has no penalty l2 to vary: use along='fit'"),
        (SSVM(Chain()), {"colors": ["k"]}, "colors must be three"),
    ],
)
def test_refusals(estimator, options, message, ax):
    with pytest.raises(ValueError, match=message):
        BoundDisplay.from_estimator(estimator, X, Y, ax=ax, **options)


def test_numbers_of_ones_own(ax):
    display = BoundDisplay([1.0, 2.0], [3.0, 2.0], [2.0, 1.5], [1.0, 1.0], xlabel="epochs").plot(ax)
    assert ax.get_xlabel() == "epochs" and display.rounds_ is None
    with pytest.raises(ValueError, match="as many numbers each"):
        BoundDisplay([1.0, 2.0], [3.0], [2.0, 1.5], [1.0, 1.0])
    with pytest.raises(ValueError, match="as many numbers each"):
        BoundDisplay([], [], [], [])


def test_references_outside_of_the_model_are_those_of_training(ax):
    sequences, full = (
        ["GGGAAAACCCA", "GCGCAAAAGCGC", "GGAGAAAACACC"],
        ["(((....))).", "((((....))))", "((((....))))"],
    )
    inside = [*full[:2], "((.(....).))"]  # A and A do not pair
    estimator = SSVM(Folding(), l2=0.1)
    with pytest.warns(OutsideModelWarning, match="1 of 3 references"):
        display = BoundDisplay.from_estimator(estimator, sequences, full, ax=ax)
        model = estimator.fit(sequences, full)
        values = bound_values(model, sequences, full)
    assert in_order(display) and np.all(values.convex < 10.0)
    assert np.array_equal(values, bound_values(model, sequences, inside))
