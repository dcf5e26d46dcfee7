"""Displays: what they draw, what they refuse, and that matplotlib waits until one is drawn."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from palmette import CRF, SSVM, Chain, Multiclass, Perceptron
from palmette.contracts.solver import Step
from palmette.datasets import make_chains
from palmette.plot import ConvergenceDisplay, MarginalsDisplay, TransitionsDisplay

X, Y = make_chains(20, n_classes=3, n_features=4, random_state=0)


@pytest.fixture
def ax():
    from matplotlib.figure import Figure

    return Figure().subplots()


@pytest.fixture(scope="module")
def crf():
    return CRF(Chain()).fit(X, Y)


def test_importing_displays_needs_no_matplotlib():
    code = "import sys, palmette.plot; print('matplotlib' in sys.modules)"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"
    )


@pytest.mark.parametrize("display", [ConvergenceDisplay, TransitionsDisplay])
def test_unfitted_estimator(display, ax):
    with pytest.raises(NotFittedError):
        display.from_estimator(CRF(Chain()), ax=ax)


def test_without_matplotlib(monkeypatch, crf):
    monkeypatch.setattr("palmette.plot.axes.has_matplotlib", lambda: False)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'palmette\[plot\]'"):
        TransitionsDisplay.from_estimator(crf)


def test_new_axes_are_made():
    import matplotlib.pyplot as plt

    display = TransitionsDisplay(np.eye(2)).plot()
    assert display.figure_ is display.ax_.figure
    plt.close(display.figure_)


# --------------------------------------------------------------------------------------- convergence


@pytest.mark.parametrize("against", ["seconds", "n_oracle", "n_iter"])
def test_convergence_draws_both_bounds(crf, ax, against):
    display = ConvergenceDisplay.from_estimator(crf, ax=ax, against=against)
    primal, lower = display.lines_
    history = crf.result_.history
    assert primal.get_xdata().tolist() == [getattr(step, against) for step in history]
    assert primal.get_ydata().tolist() == [step.primal for step in history]
    assert lower.get_ydata().tolist() == [step.lower for step in history if np.isfinite(step.lower)]
    assert lower.get_ydata()[-1] <= primal.get_ydata()[-1]
    assert display.band_ is not None and primal.get_label() == "CRF: primal"


def test_relative_gap(ax):
    steps = [Step(1, 1, 0.1, 10.0, -np.inf), Step(2, 2, 0.2, 8.0, 4.0), Step(3, 3, 0.3, 5.0, 4.5)]
    display = ConvergenceDisplay(steps, name="run").plot(ax=ax, kind="gap", against="n_iter")
    np.testing.assert_allclose(display.relative_gaps, [np.nan, 0.5, 0.1])
    assert display.lines_[0].get_xdata().tolist() == [2, 3]
    assert ax.get_yscale() == "log"


def test_two_runs_share_axes(crf, ax):
    ConvergenceDisplay.from_estimator(crf, ax=ax, kind="gap")
    ConvergenceDisplay.from_estimator(SSVM(Chain(), tol=1e-2).fit(X, Y), ax=ax, kind="gap")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["CRF", "SSVM"]


def test_a_run_without_bound(ax):
    model = Perceptron(Chain(), max_iter=3).fit(X, Y)
    display = ConvergenceDisplay.from_estimator(model, ax=ax)
    assert len(display.lines_) == 1 and display.band_ is None
    with pytest.raises(ValueError, match="Perceptron has no bound on its gap; kind='objective'"):
        ConvergenceDisplay.from_estimator(model, ax=ax, kind="gap")


@pytest.mark.parametrize(
    "steps, options, message",
    [
        ([Step(1, 1, 0.1, 1.0, 0.5)], {"against": "hours"}, "against must be one of 'seconds'.*got 'hours'"),
        ([Step(1, 1, 0.1, 1.0, 0.5)], {"kind": "both"}, "kind must be 'objective' or 'gap', got 'both'"),
        ([], {}, "the history is empty"),
    ],
)
def test_convergence_refuses(ax, steps, options, message):
    with pytest.raises(ValueError, match=message):
        ConvergenceDisplay(steps).plot(ax=ax, **options)


# --------------------------------------------------------------------------------------- transitions


def test_transitions_of_an_estimator(crf, ax):
    display = TransitionsDisplay.from_estimator(crf, ax=ax, values=True)
    np.testing.assert_array_equal(display.im_.get_array(), crf.transitions_)
    low, high = display.im_.get_clim()
    assert low == -high == -np.abs(crf.transitions_).max()
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["0", "1", "2"]
    assert [text.get_text() for text in display.text_] == [f"{w:.1f}" for w in crf.transitions_.ravel()]


def test_transitions_of_zero_weights(ax):
    assert TransitionsDisplay(np.zeros((2, 2))).plot(ax=ax).im_.get_clim() == (-1.0, 1.0)


def test_many_labels_stay_readable(ax):
    TransitionsDisplay(np.eye(150)).plot(ax=ax)
    assert len(ax.get_xticks()) == 50


def test_multiclass_has_no_transitions(ax):
    model = CRF(Multiclass()).fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(AttributeError, match="Multiclass has no transitions"):
        TransitionsDisplay.from_estimator(model, ax=ax)


@pytest.mark.parametrize(
    "table, labels, message",
    [
        (np.zeros((2, 3)), None, r"square table, got shape \(2, 3\)"),
        (np.eye(2), ["a"], "1 labels for 2 rows"),
    ],
)
def test_transitions_refuse(table, labels, message):
    with pytest.raises(ValueError, match=message):
        TransitionsDisplay(table, labels)


# ----------------------------------------------------------------------------------------- marginals


def test_marginals_of_an_estimator(crf, ax):
    display = MarginalsDisplay.from_estimator(crf, X[0], Y[0], ax=ax)
    np.testing.assert_array_equal(display.im_.get_array(), crf.predict_marginals(X[:1])[0].T)
    np.testing.assert_array_equal(display.true_.get_offsets(), list(enumerate(Y[0])))


def test_marginals_name_the_tokens_and_skip_unknown_labels(ax):
    strip = np.array([[0.9, 0.1], [0.2, 0.8]])
    display = MarginalsDisplay.from_predictions(
        strip, ["D", "N"], tokens=["the", "owl"], y_true=["D", "X"], ax=ax
    )
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["the", "owl"]
    assert display.true_.get_offsets().tolist() == [[0.0, 0.0]]
    assert MarginalsDisplay.from_predictions(strip, ["D", "N"], ax=ax, colorbar=False).true_ is None


@pytest.mark.parametrize(
    "options, message",
    [
        ({"labels": ["a"]}, r"1 columns, one per label; got shape \(2, 2\)"),
        ({"tokens": ["x"]}, "tokens has 1 entries for 2 positions"),
        ({"y_true": ["a", "b", "a"]}, "y_true has 3 entries for 2 positions"),
    ],
)
def test_marginals_refuse(options, message):
    with pytest.raises(ValueError, match=message):
        MarginalsDisplay(np.full((2, 2), 0.5), **({"labels": ["a", "b"]} | options))


def test_marginals_need_sequences(ax):
    model = CRF(Multiclass()).fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="Multiclass has no sequences to draw"):
        MarginalsDisplay.from_estimator(model, [0.0], ax=ax)
