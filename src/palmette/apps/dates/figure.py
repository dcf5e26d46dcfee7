"""The figure of the demo: dates with their readings, errors, transitions, convergence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from palmette.apps.dates.data import SIDE, Dates
from palmette.apps.dates.models import Reading
from palmette.plot import ConvergenceDisplay, TransitionsDisplay

PAPER, CARD, INK, FAINT = "#f6f1e4", "#fffdf7", "#22304a", "#918c7e"
RIGHT, WRONG = "#3f8f5b", "#d1342f"
COLORS = ("#b5ae9a", "#7d8796", "#2a7f9e", "#c9822b")  # of the readers
STYLE: Any = {
    "font.family": "DejaVu Sans",
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": FAINT,
    "axes.facecolor": PAPER,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": INK,
    "ytick.color": INK,
}

N_COLUMNS, N_ROWS = 3, 3  # of cards
LINE = 5.2  # height of a line of text on a card, in pixels of the images
STARTS = SIDE * np.arange(8) + 3 * np.array([0, 0, 0, 0, 1, 1, 2, 2])  # year, month and day stand apart


def draw(readings: Sequence[Reading], test: Dates) -> Any:
    """Draw the figure; the dates shown are the first ones on which the readers disagree.

    Returns
    -------
    matplotlib.figure.Figure
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(STYLE):
        figure = Figure(figsize=(14, 11), facecolor=PAPER)
        parts: Any = figure.subfigures(2, 1, height_ratios=(1.62, 1))
        top, bottom = parts
        _draw_cards(top, readings, test)
        errors, transitions, convergence = bottom.subplots(1, 3, width_ratios=(1.0, 0.95, 1.3))
        bottom.subplots_adjust(left=0.09, right=0.97, bottom=0.14, top=0.83, wspace=0.32)
        _draw_errors(errors, readings)
        _draw_transitions(transitions, readings)
        _draw_convergence(convergence, readings)
    return figure


class _Line(NamedTuple):
    """One reading of one date."""

    name: str
    digits: np.ndarray
    wrong: np.ndarray


def _draw_cards(figure: Any, readings: Sequence[Reading], test: Dates) -> None:
    figure.text(0.03, 0.945, "Handwritten dates, read digit by digit and as a whole", size=19, weight="bold")
    note = "The first test dates on which the readers disagree. Wrong digits are red."
    figure.text(0.03, 0.9, note, size=11, color=FAINT)
    disagree = np.any([r.predicted != readings[0].predicted for r in readings[1:]], axis=(0, 2))
    axes = figure.subplots(N_ROWS, N_COLUMNS)
    figure.subplots_adjust(left=0.03, right=0.97, bottom=0.02, top=0.875, wspace=0.04, hspace=0.07)
    for ax in axes.flat:
        ax.set_axis_off()
    for ax, i in zip(axes.flat, np.flatnonzero(disagree)):
        truth = _Line("truth", test.digits[i], np.zeros(8, bool))
        _draw_card(ax, test.images[i], truth, [_Line(r.name, r.predicted[i], r.wrong[i]) for r in readings])


def _draw_card(ax: Any, images: np.ndarray, truth: _Line, lines: list[_Line]) -> None:
    """The images of a date as the readers get them, and what each makes of them."""
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.patches import FancyBboxPatch

    width = STARTS[-1] + SIDE
    bottom = SIDE + LINE * (len(lines) + 1.9)
    frame = FancyBboxPatch((-24, -3), width + 33, bottom + 3, boxstyle="round,pad=0,rounding_size=2.5")
    frame.set(facecolor=CARD, edgecolor="#e3dcc8", linewidth=1.2, zorder=-1)
    ax.add_patch(frame)
    strip = np.zeros((SIDE, width))
    for start, image in zip(STARTS, images):
        strip[:, start : start + SIDE] = image
    ink = LinearSegmentedColormap.from_list("ink", [CARD, "#939bad", INK])
    ax.imshow(strip, cmap=ink, vmin=0, vmax=1, interpolation="bicubic", extent=(0, width, SIDE, 0))
    for row, line in enumerate([truth, *lines]):
        y = SIDE + LINE * (row + 0.85)
        color = FAINT if line is truth else INK
        ax.text(-2.5, y, line.name, ha="right", va="center", size=9.5, color=color)
        for start, digit, wrong in zip(STARTS, line.digits, line.wrong):
            look = {"color": WRONG, "weight": "bold"} if wrong else {"color": color}
            ax.text(start + SIDE / 2, y, str(digit), ha="center", va="center", size=12.5, **look)
        if line is not truth:
            sign, color = ("✗", WRONG) if line.wrong.any() else ("✓", RIGHT)
            ax.text(width + 2, y, sign, va="center", size=11, color=color)
    ax.set(xlim=(-24.5, width + 9.5), ylim=(bottom + 0.5, -3.5), aspect="equal")


def _draw_errors(ax: Any, readings: Sequence[Reading]) -> None:
    places = np.arange(len(readings))
    for kind, shift, alpha in (("date", -0.19, 1.0), ("digit", 0.19, 0.55)):
        values = [100 * getattr(reading, f"{kind}_error") for reading in readings]
        bars = ax.barh(places + shift, values, height=0.36, color=COLORS, alpha=alpha)
        ax.bar_label(bars, [f"{value:.1f} % of {kind}s" for value in values], padding=4, size=9.5, color=INK)
    ax.set_yticks(places, [reading.name for reading in readings])
    ax.invert_yaxis()
    ax.set(xlim=(0, 145 * max(reading.date_error for reading in readings)), xticks=[])
    ax.spines["bottom"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    _title(ax, "Misread in the test")


def _draw_transitions(ax: Any, readings: Sequence[Reading]) -> None:
    model = next(reading.model for reading in readings if reading.name == "chain CRF")
    display = TransitionsDisplay.from_estimator(model, ax=ax, colorbar=False)
    bar = ax.figure.colorbar(display.im_, ax=ax, shrink=0.8, pad=0.05, anchor=(0.0, 1.0))
    ax.set_anchor("N")
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=8, length=0)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    ax.set(xlabel="next digit", ylabel="digit")
    _title(ax, "Learnt: what follows what")


def _draw_convergence(ax: Any, readings: Sequence[Reading]) -> None:
    for reading, color in zip(readings, COLORS):
        if reading.name.startswith("chain"):
            ConvergenceDisplay.from_estimator(
                reading.model, name=reading.name, ax=ax, against="n_oracle", color=color
            )
    final = min(line.get_ydata()[-1] for line in ax.lines)
    ax.set(xscale="log", ylim=(final / 200, None))
    ax.legend(frameon=False, fontsize=9.5, loc="upper right")
    _title(ax, "Training: the optimum lies in the bands")


def _title(ax: Any, text: str) -> None:
    ax.set_title(text, loc="left", size=12.5, weight="bold", pad=12)
