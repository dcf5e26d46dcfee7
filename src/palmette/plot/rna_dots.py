"""Dot plot of the probabilities of base pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from palmette.plot.axes import axes_to_draw_on, label_ticks
from palmette.plot.rna_style import GREY, INK, LIGHT, checked_probabilities, pairs_of
from palmette.structures.folding.brackets import Pair

LEAST = 1e-3


class DotPlotDisplay:
    """A square for every pair: above the diagonal as large as the pair is probable, below it those of a structure.

    Parameters
    ----------
    sequence : str
    probabilities : array of shape (n, n)
        Symmetric; the area of a square is the probability, and those below 0.001 are left out.
    structure : dot-bracket string or list of (int, int), optional
        Drawn below the diagonal.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    dots_, structure_ : PolyCollection
        Above and below the diagonal; the second is None without a structure.

    Examples
    --------
    >>> import numpy as np
    >>> from palmette.plot import DotPlotDisplay
    >>> table = np.zeros((9, 9))
    >>> table[0, 8] = table[8, 0] = 0.9
    >>> len(DotPlotDisplay("GGGAAACCC", table).plot().dots_.get_paths())
    1
    """

    def __init__(
        self, sequence: str, probabilities: Any, structure: str | Sequence[Pair] | None = None
    ) -> None:
        table = checked_probabilities(probabilities, len(sequence))
        if table is None:
            raise ValueError("a dot plot shows probabilities of pairs: give them")
        self.sequence, self.probabilities = sequence, table
        self.pairs = None if structure is None else pairs_of(structure, len(sequence))

    @classmethod
    def from_folded(cls, folded: Any, *, ax: Any = None, **options: Any) -> DotPlotDisplay:
        """Draw a result of :meth:`palmette.apps.folding.Folder.fold`; options are those of :meth:`plot`."""
        return cls(folded.sequence, folded.probabilities, folded.structure).plot(ax=ax, **options)

    def plot(
        self, ax: Any = None, *, cmap: Any = "viridis_r", colorbar: bool = True, title: str | None = None
    ) -> DotPlotDisplay:
        """Draw the plot.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        cmap : str or Colormap, default="viridis_r"
        colorbar : bool, default=True
        title : str, optional

        Returns
        -------
        self
        """
        new, n = ax is None, len(self.sequence)
        ax = axes_to_draw_on(ax)
        from matplotlib.collections import PolyCollection

        if new:
            side = float(np.clip(0.07 * n + 2.5, 4.0, 9.0))
            ax.figure.set_size_inches(side * (1.13 if colorbar else 1.0), side)
        rows, columns = np.nonzero(np.triu(self.probabilities, 1) >= LEAST)
        p = self.probabilities[rows, columns]
        self.dots_ = PolyCollection(_squares(columns, rows, np.sqrt(p)), cmap=cmap, linewidths=0)
        self.dots_.set_array(p)
        self.dots_.set_clim(0.0, 1.0)
        ax.add_collection(self.dots_)
        self.structure_ = None
        if self.pairs is not None:
            i, j = np.array(self.pairs, int).reshape(-1, 2).T
            self.structure_ = PolyCollection(_squares(i, j, np.ones(len(i))), facecolors=INK, linewidths=0)
            ax.add_collection(self.structure_)
        ax.plot([-0.5, n - 0.5], [-0.5, n - 0.5], color=GREY, lw=0.8)
        ax.set(xlim=(-0.5, n - 0.5), ylim=(n - 0.5, -0.5), aspect="equal")
        ax.set_axisbelow(True)
        if n <= 60:
            label_ticks(ax.xaxis, self.sequence, fontsize=7)
            label_ticks(ax.yaxis, self.sequence, fontsize=7)
            ax.tick_params(length=0)
        else:
            ax.grid(color=LIGHT, lw=0.6)
        for side in ax.spines.values():
            side.set_color(GREY)
        ax.tick_params(colors=INK)
        if title:
            ax.set_title(title, color=INK, fontsize=11, loc="left")
        below = "" if self.pairs is None else "; below the diagonal the structure"
        ax.set_xlabel(f"position{below}", color=INK)
        if colorbar:
            ax.figure.colorbar(self.dots_, ax=ax, label="probability", shrink=0.6, aspect=25)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _squares(x: np.ndarray, y: np.ndarray, side: np.ndarray) -> list[np.ndarray]:
    corners = np.array([(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)])
    return list(np.stack([x, y], axis=1)[:, None, :] + side[:, None, None] * corners)
