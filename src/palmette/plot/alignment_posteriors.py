"""Posterior probabilities of matches as an image, with the way of an alignment through it."""

from __future__ import annotations

from typing import Any

import numpy as np

from palmette.plot.alignment_columns import GREY, TRUE, Columns
from palmette.plot.axes import axes_to_draw_on


class MatchDisplay:
    """Which positions of two sequences are matched, and how probable other matches are.

    Parameters
    ----------
    posteriors : array of shape (n, m)
        Probabilities of matches (i, j).
    matches : array of shape (k, 2), optional
        Of an alignment, drawn as a line.
    reference : array of shape (r, 2), optional
        Matches that are known to be right, drawn as dots.
    names : (str, str)

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    image_ : AxesImage
    line_, dots_ : Line2D or None

    Examples
    --------
    >>> from palmette.plot import MatchDisplay
    >>> display = MatchDisplay([[0.9, 0.1], [0.0, 0.8]], [(0, 0), (1, 1)]).plot()
    >>> display.line_.get_xydata().tolist()
    [[0.0, 0.0], [1.0, 1.0]]
    """

    def __init__(
        self, posteriors: Any, matches: Any = None, *, reference: Any = None, names: Any = ("a", "b")
    ) -> None:
        self.posteriors = np.asarray(posteriors, float)
        if self.posteriors.ndim != 2 or not np.all((self.posteriors > -1e-6) & (self.posteriors < 1 + 1e-6)):
            raise ValueError(
                f"posteriors must be a table of probabilities; this one has shape {self.posteriors.shape} or values "
                "outside of 0 to 1"
            )
        n, m = self.posteriors.shape
        self.matches, self.reference = (
            None if given is None else Columns.of("x" * n, "x" * m, given).positions
            for given in (matches, reference)
        )
        self.names = (str(names[0]), str(names[1]))

    @classmethod
    def from_aligned(
        cls, aligned: Any, *, reference: Any = None, ax: Any = None, **options: Any
    ) -> MatchDisplay:
        """Draw a result of :meth:`palmette.apps.aligning.Aligner.align` with posteriors; options as of :meth:`plot`."""
        if aligned.posteriors is None:
            raise ValueError("this result has no posteriors: align with posteriors=True")
        own = cls(aligned.posteriors, aligned.matches, reference=reference, names=aligned.names)
        return own.plot(ax=ax, **options)

    def plot(
        self, ax: Any = None, *, cmap: Any = "Blues", colorbar: bool = True, title: str | None = None
    ) -> MatchDisplay:
        """Draw the image; a runs down, b to the right.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            New ones by default.
        cmap : str or Colormap, default="Blues"
        colorbar : bool, default=True
        title : str, optional

        Returns
        -------
        self
        """
        ax = axes_to_draw_on(ax)
        self.image_ = ax.imshow(self.posteriors, cmap=cmap, vmin=0.0, vmax=1.0, interpolation="nearest")
        self.line_ = self.dots_ = None
        if self.reference is not None:
            i, j = self.reference[np.all(self.reference >= 0, axis=1)].T
            self.dots_ = ax.plot(j, i, ".", color=TRUE, ms=3, label="reference")[0]
        if self.matches is not None:
            i, j = self.matches[np.all(self.matches >= 0, axis=1)].T
            self.line_ = ax.plot(j, i, color="#e07a3f", lw=0.9, label="alignment")[0]
        ax.set_xlabel(self.names[1])
        ax.set_ylabel(self.names[0])
        if self.reference is not None and self.matches is not None:
            ax.legend(fontsize=8, frameon=False)
        if title:
            ax.set_title(title, fontsize=11, loc="left")
        if colorbar:
            ax.figure.colorbar(self.image_, ax=ax, label="posterior probability", shrink=0.7, pad=0.01)
        for spine in ax.spines.values():
            spine.set_color(GREY)
        self.ax_, self.figure_ = ax, ax.figure
        return self
