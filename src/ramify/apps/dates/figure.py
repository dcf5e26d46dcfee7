"""The figure of the demo: dates with their readings, errors, transitions, convergence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ramify.apps.dates.data import SIDE, Dates
from ramify.apps.dates.models import Reading
from ramify.plot import ConvergenceDisplay, TransitionsDisplay

PAPER, INK, FAINT = "#fbf7ec", "#22304a", "#8d8a80"
WRONG = "#d1342f"
COLORS = ("#a9a493", "#7d8796", "#2a7f9e", "#c9822b")  # of the readers
N_COLUMNS, N_ROWS = 3, 3  # of dates
GAP = 3  # pixels between year, month and day
STARTS = np.array([0, 1, 2, 3, 4, 5, 6, 7]) * SIDE + GAP * np.array([0, 0, 0, 0, 1, 1, 2, 2])


def draw(readings: Sequence[Reading], test: Dates) -> Any:
    """Draw the figure.

    The dates shown are the first test dates that some reader gets wrong: nobody's favourites.

    Returns
    -------
    matplotlib.figure.Figure
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    style = {
        "font.family": "DejaVu Sans",
        "text.color": INK,
        "axes.labelcolor": INK,
        "axes.edgecolor": FAINT,
        "xtick.color": INK,
        "ytick.color": INK,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.facecolor": PAPER,
    }
    with rc_context(style):
        figure = Figure(figsize=(14, 11), facecolor=PAPER)
        dates, charts = figure.subfigures(2, 1, height_ratios=(1.55, 1))
        _draw_dates(dates, readings, test)
        errors, transitions, convergence = charts.subplots(1, 3, width_ratios=(1, 0.9, 1.35))
        charts.subplots_adjust(left=0.085, right=0.975, bottom=0.15, top=0.86, wspace=0.3)
        _draw_errors(errors, readings)
        _draw_transitions(transitions, readings)
        _draw_convergence(convergence, readings)
        figure.canvas.draw()  # inside the style
    return figure


def _draw_dates(figure: Any, readings: Sequence[Reading], test: Dates) -> None:
    from matplotlib.colors import LinearSegmentedColormap

    ink = LinearSegmentedColormap.from_list("ink", ["#fffdf6", "#8f97a8", INK])
    figure.suptitle(
        "Handwritten dates, read digit by digit and as a whole", x=0.04, y=0.975, ha="left", size=18
    )
    note = f"The first {N_ROWS * N_COLUMNS} test dates that at least one reader gets wrong. A wrong digit is red."
    figure.text(0.04, 0.905, note, size=10.5, color=FAINT)
    wrong = np.any([reading.wrong.any(axis=1) for reading in readings], axis=0)
    shown = np.flatnonzero(wrong)[: N_ROWS * N_COLUMNS]
    axes = figure.subplots(N_ROWS, N_COLUMNS, squeeze=False)
    figure.subplots_adjust(left=0.04, right=0.985, bottom=0.01, top=0.88, wspace=0.04, hspace=0.08)
    for ax in axes.flat:
        ax.set_axis_off()
    for ax, i in zip(axes.flat, shown):
        _draw_date(ax, test.images[i], [(r.name, r.predicted[i], r.wrong[i]) for r in readings], ink)


def _draw_date(
    ax: Any, images: np.ndarray, rows: list[tuple[str, np.ndarray, np.ndarray]], cmap: Any
) -> None:
    """One date: the strip of images as the readers see it, and a line of digits for each of them."""
    strip = np.zeros((SIDE, STARTS[-1] + SIDE))
    for start, image in zip(STARTS, images):
        strip[:, start : start + SIDE] = image
    width, line = strip.shape[1], 4.6
    ax.imshow(strip, cmap=cmap, vmin=0, vmax=1, interpolation="bicubic", extent=(0, width, SIDE, 0))
    for row, (name, digits, wrong) in enumerate(rows):
        y = SIDE + 3.2 + line * row
        right = not wrong.any()
        ax.text(-1.5, y, name, ha="right", va="center", size=9, color=INK if right else FAINT)
        for start, digit, bad in zip(STARTS, digits, wrong):
            ax.text(
                start + SIDE / 2, y, str(digit), ha="center", va="center", size=12, family="DejaVu Sans Mono",
                color=WRONG if bad else INK, weight="bold" if bad else "normal",
            )  # fmt: skip
        ax.text(
            width + 1, y, "✓" if right else "✗", va="center", size=11, color="#3f8f5b" if right else WRONG
        )
    ax.set(xlim=(-19, width + 5), ylim=(SIDE + 3.2 + line * len(rows), -1), aspect="equal")


def _draw_errors(ax: Any, readings: Sequence[Reading]) -> None:
    y = np.arange(len(readings))
    for kind, shift, alpha in (("date_error", -0.19, 1.0), ("digit_error", 0.19, 0.55)):
        values = [100 * getattr(reading, kind) for reading in readings]
        bars = ax.barh(y + shift, values, height=0.36, color=COLORS, alpha=alpha)
        what = "dates" if kind == "date_error" else "digits"
        ax.bar_label(bars, [f"{value:.1f} % of {what}" for value in values], padding=4, size=9, color=INK)
    ax.set_yticks(y, [reading.name for reading in readings])
    ax.invert_yaxis()
    ax.set_xlim(0, 135 * max(reading.date_error for reading in readings))
    ax.set_xticks([])
    ax.spines["bottom"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    ax.set_title("Wrong on the test dates", loc="left", size=12, pad=14)


def _draw_transitions(ax: Any, readings: Sequence[Reading]) -> None:
    model = next(reading.model for reading in readings if reading.name == "chain CRF")
    display = TransitionsDisplay.from_estimator(model, ax=ax, colorbar=False)
    bar = ax.figure.colorbar(display.im_, ax=ax, shrink=0.75, pad=0.04)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=8)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    ax.set(xlabel="next digit", ylabel="digit")
    ax.set_title("What the chain CRF learnt:\nwhich digit follows which", loc="left", size=12, pad=8)


def _draw_convergence(ax: Any, readings: Sequence[Reading]) -> None:
    for reading, color in zip(readings, COLORS):
        if reading.name.startswith("chain"):
            ConvergenceDisplay.from_estimator(
                reading.model, name=reading.name, ax=ax, against="n_oracle", color=color
            )
    ax.set_xscale("log")
    ax.legend(frameon=False, fontsize=9)
    ax.set_title("Training: the optimum lies in the band", loc="left", size=12, pad=14)
