"""Drawing of a folded sequence in the plane, or on a circle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from palmette.plot.axes import axes_to_draw_on
from palmette.plot.rna_layout import circle_layout, planar_layout
from palmette.plot.rna_style import (
    GREY,
    INK,
    LETTERS,
    LIGHT,
    bare,
    certainty,
    checked_probabilities,
    pairs_of,
    points_per_unit,
)
from palmette.structures.folding.brackets import Pair, nested

LAYOUTS = ("planar", "circle")


class FoldDisplay:
    """A folded sequence: stems as ladders and loops as polygons, or a circle with chords.

    Parameters
    ----------
    sequence : str
    structure : dot-bracket string or list of (int, int)
        Pairs that cross others are drawn as broken lines.
    probabilities : array of shape (n, n), optional
        Of the pairs. Positions are then coloured by how probable what they do is, else by their letters.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    xy_ : ndarray of shape (n, 2)
        Where the positions lie.
    circles_ : EllipseCollection
        The positions.
    pairs_ : LineCollection

    Examples
    --------
    >>> from palmette.plot import FoldDisplay
    >>> display = FoldDisplay.from_structure("GGGAAACCC", "(((...)))")
    >>> display.xy_.shape
    (9, 2)
    """

    def __init__(self, sequence: str, structure: str | Sequence[Pair], *, probabilities: Any = None) -> None:
        if not sequence:
            raise ValueError("the sequence is empty: there is nothing to draw")
        self.sequence = sequence
        self.pairs = pairs_of(structure, len(sequence))
        self.probabilities = checked_probabilities(probabilities, len(sequence))

    @classmethod
    def from_structure(
        cls, sequence: str, structure: str | Sequence[Pair], *, ax: Any = None, **options: Any
    ) -> FoldDisplay:
        """Draw a structure; options are those of :meth:`plot`."""
        return cls(sequence, structure).plot(ax=ax, **options)

    @classmethod
    def from_folded(cls, folded: Any, *, ax: Any = None, **options: Any) -> FoldDisplay:
        """Draw a result of :meth:`palmette.apps.folding.Folder.fold`; options are those of :meth:`plot`."""
        return cls(folded.sequence, folded.structure, probabilities=folded.probabilities).plot(
            ax=ax, **options
        )

    def plot(
        self,
        ax: Any = None,
        *,
        layout: str = "planar",
        letters: bool | None = None,
        cmap: Any = "YlGnBu",
        colorbar: bool = True,
        title: str | None = None,
    ) -> FoldDisplay:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            New ones by default, as large as the drawing needs.
        layout : {"planar", "circle"}
        letters : bool, optional
            Whether to write the letters; by default if there is room.
        cmap : str or Colormap, default="YlGnBu"
            Of probabilities.
        colorbar : bool, default=True
        title : str, optional

        Returns
        -------
        self
        """
        if layout not in LAYOUTS:
            raise ValueError(f"layout must be one of {', '.join(map(repr, LAYOUTS))}, got {layout!r}")
        new, n = ax is None, len(self.sequence)
        ax = axes_to_draw_on(ax)
        kept, crossing = nested(self.pairs)
        circle = layout == "circle"
        self.xy_ = circle_layout(n) * max(n / (2 * np.pi), 1.0) if circle else planar_layout(kept, n)
        (x0, y0), (x1, y1) = self.xy_.min(axis=0) - 2.2, self.xy_.max(axis=0) + 2.2
        if new:
            scale = float(np.clip(26 / max(x1 - x0, y1 - y0), 0.05, 0.32))
            ax.figure.set_size_inches(max((x1 - x0) * scale, 2.5), max((y1 - y0) * scale, 1.5))
        ax.set(xlim=(x0, x1), ylim=(y0, y1))
        bare(ax, title)
        ax.plot(*self.xy_.T, color=GREY, lw=1.0, zorder=1, solid_capstyle="round")
        self._draw_pairs(ax, kept, crossing, circle)
        self._draw_positions(ax, letters, cmap, colorbar)
        self._draw_numbers(ax, circle)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw_pairs(self, ax: Any, kept: list[Pair], crossing: list[Pair], circle: bool) -> None:
        from matplotlib.collections import LineCollection

        def shape(pair: Pair) -> np.ndarray:
            ends = self.xy_[list(pair)]
            if not circle:
                return ends
            return _across(*ends)

        width = float(np.clip(0.25 * points_per_unit(ax), 0.6, 2.2))
        self.pairs_ = LineCollection([shape(pair) for pair in kept], colors=INK, linewidths=width, zorder=0,
                                     alpha=0.45 if circle else 0.8)  # fmt: skip
        ax.add_collection(self.pairs_)
        if crossing:
            ax.add_collection(
                LineCollection(
                    [shape(pair) for pair in crossing],
                    colors="#c0392b",
                    linewidths=0.7 * width,
                    linestyles="--",
                    zorder=0,
                )
            )

    def _draw_positions(self, ax: Any, letters: bool | None, cmap: Any, colorbar: bool) -> None:
        from matplotlib.collections import EllipseCollection

        n, unit = len(self.sequence), points_per_unit(ax)
        size = np.full(n, 0.86)
        shared: dict[str, Any] = {
            "units": "xy", "offsets": self.xy_, "offset_transform": ax.transData, "zorder": 2,
            "linewidths": float(np.clip(0.06 * unit, 0.2, 0.9)), "edgecolors": "#ffffff" if unit < 5 else INK,
        }  # fmt: skip
        if self.probabilities is None:
            fills = [LETTERS.get(letter.upper(), LIGHT) for letter in self.sequence]
            self.circles_ = EllipseCollection(size, size, np.zeros(n), facecolors=fills, **shared)
        else:
            self.circles_ = EllipseCollection(size, size, np.zeros(n), cmap=cmap, **shared)
            self.circles_.set_array(certainty(self.pairs, self.probabilities))
            self.circles_.set_clim(0.0, 1.0)
        ax.add_collection(self.circles_)
        if letters if letters is not None else unit >= 6.5:
            dark = np.zeros(n, bool)
            if self.probabilities is not None:
                dark = certainty(self.pairs, self.probabilities) > 0.6
            for (x, y), letter, on_dark in zip(self.xy_, self.sequence, dark):
                ax.text(x, y, letter, ha="center", va="center_baseline", fontsize=min(0.52 * unit, 12),
                        color="white" if on_dark else INK, zorder=3)  # fmt: skip
        if self.probabilities is not None and colorbar:
            ax.figure.colorbar(self.circles_, ax=ax, label="probability", shrink=0.6, pad=0.01, aspect=25)

    def _draw_numbers(self, ax: Any, circle: bool) -> None:
        """Numbers of some positions, and the two ends, on the outer side."""
        n = len(self.sequence)
        step = 10 if n <= 120 else 20 if n <= 300 else 50 if n <= 1000 else 200
        named = (
            {t: str(t) for t in range(step, n - step // 3, step)}
            | {0: "5′"}
            | ({n - 1: "3′"} if n > 1 else {})
        )
        size = float(np.clip(0.5 * points_per_unit(ax), 7.0, 9.0))
        for t, text in named.items():
            at = self.xy_[t] * (1.0 + 1.35 / np.hypot(*self.xy_[t])) if circle else self._free_place(t)
            ax.text(*at, text, ha="center", va="center", fontsize=size, color=GREY)

    def _free_place(self, t: int) -> np.ndarray:
        """Beside a position, as far as possible from all others."""
        angle = np.linspace(0, 2 * np.pi, 36, endpoint=False)
        places = self.xy_[t] + 1.3 * np.stack([np.cos(angle), np.sin(angle)], axis=1)
        others = np.delete(self.xy_, t, axis=0)
        if not len(others):
            return places[0]
        apart = np.hypot(*(places[:, None, :] - others).transpose(2, 0, 1))
        return places[
            np.argmax(np.minimum(apart, 3.0).min(axis=1) + 1e-3 * np.minimum(apart, 6.0).mean(axis=1))
        ]


def _across(first: np.ndarray, last: np.ndarray) -> np.ndarray:
    """The arc between two points of a circle around 0 that meets the circle at right angles."""
    a, b = np.arctan2(first[1], first[0]), np.arctan2(last[1], last[0])
    half = abs((a - b + np.pi) % (2 * np.pi) - np.pi) / 2
    if half > 0.49 * np.pi:
        return np.stack([first, last])
    middle = (first + last) / np.hypot(*(first + last))
    centre = middle * np.hypot(*first) / np.cos(half)
    start, end = (np.arctan2(*(point - centre)[::-1]) for point in (first, last))
    angle = start + np.linspace(0, 1, 40) * ((end - start + np.pi) % (2 * np.pi) - np.pi)
    return centre + np.hypot(*(first - centre)) * np.stack([np.cos(angle), np.sin(angle)], axis=1)
