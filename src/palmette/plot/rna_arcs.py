"""Arc diagram of a folded sequence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from palmette.plot.axes import axes_to_draw_on
from palmette.plot.rna_style import (
    FALSE,
    GREY,
    INK,
    LETTERS,
    MISSED,
    TRUE,
    bare,
    checked_probabilities,
    pairs_of,
    points_per_unit,
)
from palmette.structures.folding.brackets import Pair


class ArcDisplay:
    """The sequence as a line, an arc above it for every pair; below it the pairs of a reference, if there is one.

    Parameters
    ----------
    sequence : str
    structure : dot-bracket string or list of (int, int)
        Pairs may cross.
    reference : dot-bracket string or list of (int, int), optional
        Compared with `structure`: green arcs are in both, orange ones only in the structure, grey ones only in the
        reference.
    probabilities : array of shape (n, n), optional
        What the colours of arcs stand for, where there is no reference.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    arcs_ : LineCollection
        One for each pair of the structure.
    below_ : LineCollection or None
        Those of the reference.

    Examples
    --------
    >>> from palmette.plot import ArcDisplay
    >>> display = ArcDisplay.from_structure("GGGAAACCC", "(((...)))")
    >>> len(display.arcs_.get_segments())
    3
    """

    def __init__(
        self,
        sequence: str,
        structure: str | Sequence[Pair],
        *,
        reference: str | Sequence[Pair] | None = None,
        probabilities: Any = None,
    ) -> None:
        self.sequence = sequence
        self.pairs = pairs_of(structure, len(sequence))
        self.reference = None if reference is None else pairs_of(reference, len(sequence), "reference")
        self.probabilities = checked_probabilities(probabilities, len(sequence))

    @classmethod
    def from_structure(
        cls,
        sequence: str,
        structure: str | Sequence[Pair],
        *,
        reference: Any = None,
        ax: Any = None,
        **options: Any,
    ) -> ArcDisplay:
        """Draw a structure, above a reference if one is given; options are those of :meth:`plot`."""
        return cls(sequence, structure, reference=reference).plot(ax=ax, **options)

    @classmethod
    def from_folded(cls, folded: Any, *, reference: Any = None, ax: Any = None, **options: Any) -> ArcDisplay:
        """Draw a result of :meth:`palmette.apps.folding.Folder.fold`; options are those of :meth:`plot`."""
        own = cls(folded.sequence, folded.structure, reference=reference, probabilities=folded.probabilities)
        return own.plot(ax=ax, **options)

    def plot(
        self,
        ax: Any = None,
        *,
        letters: bool | None = None,
        cmap: Any = "viridis_r",
        colorbar: bool = True,
        title: str | None = None,
    ) -> ArcDisplay:
        """Draw the diagram.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            New ones by default, as large as the sequence needs.
        letters : bool, optional
            Whether to write the letters; by default if there is room.
        cmap : str or Colormap, default="viridis_r"
            Of probabilities.
        colorbar : bool, default=True
        title : str, optional

        Returns
        -------
        self
        """
        n, new = len(self.sequence), ax is None
        ax = axes_to_draw_on(ax)
        from matplotlib.collections import LineCollection

        high = max((j - i for i, j in self.pairs), default=4) / 2 * _FLAT
        low = max((j - i for i, j in self.reference or ()), default=0) / 2 * _FLAT
        room = 0.035 * max(n, 20)
        if new:
            width = float(np.clip(0.11 * n + 1, 5.5, 14))
            ax.figure.set_size_inches(
                width, float(np.clip(width * (high + low + 4 * room) / (n + 2), 1.8, 12))
            )
        ax.set(xlim=(-1.5, n + 0.5), ylim=(-low - (2.6 if low == 0 else 1.6) * room, high + 1.2 * room))
        bare(ax, title)
        line = float(np.clip(120 / max(n, 1), 0.7, 1.8))
        coloured = self.probabilities is not None and self.reference is None
        kinds: dict[str, Any] = {"linewidths": line, "capstyle": "round"}
        arcs = [_arc(i, j, 0.5 * room) for i, j in self.pairs]
        if coloured:
            self.arcs_ = LineCollection(arcs, cmap=cmap, **kinds)
            self.arcs_.set_array(np.array([self.probabilities[i, j] for i, j in self.pairs]))  # type: ignore[index]
            self.arcs_.set_clim(0.0, 1.0)
        else:
            right = set(self.reference or ())
            shades = [
                INK if self.reference is None else TRUE if pair in right else FALSE for pair in self.pairs
            ]
            self.arcs_ = LineCollection(arcs, colors=shades, **kinds)
        ax.add_collection(self.arcs_)
        self.below_ = None
        if self.reference is not None:
            found = set(self.pairs)
            self.below_ = LineCollection(
                [_arc(i, j, 0.5 * room) * [1, -1] for i, j in self.reference],
                colors=[TRUE if pair in found else MISSED for pair in self.reference],
                **kinds,
            )
            ax.add_collection(self.below_)
        self._baseline(ax, room, letters)
        if coloured and colorbar and self.pairs:
            ax.figure.colorbar(self.arcs_, ax=ax, label="probability", shrink=0.7, pad=0.01)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _baseline(self, ax: Any, room: float, letters: bool | None) -> None:
        n = len(self.sequence)
        unit = points_per_unit(ax)
        size = min(0.95 * unit, 11.0)
        if letters if letters is not None else size >= 4.0:
            for t, letter in enumerate(self.sequence):
                box = {
                    "boxstyle": "square,pad=0.18",
                    "fc": LETTERS.get(letter.upper(), "#ffffff"),
                    "ec": "none",
                }
                ax.text(t, 0, letter, ha="center", va="center", fontsize=size, color=INK, family="monospace",
                        bbox=box, zorder=3)  # fmt: skip
        else:
            ax.plot([-0.5, n - 0.5], [0, 0], color=GREY, lw=1.5, solid_capstyle="round")
        below = 0.55 * room if self.reference is None else 0.0
        for t in _ticks(n):
            if self.reference is None:
                ax.text(t, -below, str(t), ha="center", va="top", fontsize=7, color=GREY)
        for x, text, side in ((-0.9, "5′", "right"), (n - 0.1, "3′", "left")):
            ax.text(x, 0, text, ha=side, va="center", fontsize=8, color=GREY)
        if self.reference is not None:
            for y, text, va in ((1.0, "predicted", "top"), (0.0, "reference", "bottom")):
                ax.text(0.005, y, text, transform=ax.transAxes, ha="left", va=va, fontsize=8, color=GREY)


_FLAT = 0.8  # arcs are a little flatter than circles


def _arc(i: int, j: int, above: float) -> np.ndarray:
    angle = np.linspace(np.pi, 0, max(30, min(100, j - i)))
    radius = (j - i) / 2
    return np.stack([(i + j) / 2 + radius * np.cos(angle), above + _FLAT * radius * np.sin(angle)], axis=1)


def _ticks(n: int) -> np.ndarray:
    step = next((each for each in (10, 20, 50, 100, 200, 500, 1000) if n / each <= 14), 2000)
    return np.arange(0, n, step)
