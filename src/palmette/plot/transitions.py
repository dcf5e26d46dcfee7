"""Plot of the transition weights between labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from palmette.plot.axes import axes_to_draw_on, label_ticks, write_in_cells


class TransitionsDisplay:
    """Heat map of transition weights: rows are followed by columns.

    Parameters
    ----------
    transitions : ndarray of shape (n_classes, n_classes)
    labels : sequence, optional
        Names of rows and columns; numbers by default.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    im_ : AxesImage
    text_ : list of Text
        Weights written into the cells, if asked for.

    See Also
    --------
    TransitionsDisplay.from_estimator : Draw from a fitted estimator.

    Examples
    --------
    >>> from palmette.plot import TransitionsDisplay
    >>> display = TransitionsDisplay([[1.0, -2.0], [0.0, 0.5]], labels=["B", "I"]).plot(values=True)
    >>> display.im_.get_clim(), display.text_[1].get_text()
    ((-2.0, 2.0), '-2.0')
    """

    def __init__(self, transitions: Any, labels: Sequence[Any] | None = None) -> None:
        self.transitions = np.asarray(transitions, float)
        if self.transitions.ndim != 2 or len(set(self.transitions.shape)) != 1:
            raise ValueError(f"transitions must be a square table, got shape {self.transitions.shape}")
        self.labels = list(range(len(self.transitions))) if labels is None else list(labels)
        if len(self.labels) != len(self.transitions):
            raise ValueError(f"{len(self.labels)} labels for {len(self.transitions)} rows: give one per row")

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **options: Any) -> TransitionsDisplay:
        """Draw ``transitions_`` of a fitted estimator; options are those of :meth:`plot`."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(estimator)
        return cls(estimator.transitions_, estimator.classes_.tolist()).plot(ax=ax, **options)

    def plot(
        self, ax: Any = None, *, cmap: Any = "RdBu_r", values: bool = False, colorbar: bool = True
    ) -> TransitionsDisplay:
        """Draw the table; zero has the middle colour.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            New ones by default.
        cmap : str or Colormap, default="RdBu_r"
        values : bool, default=False
            Write the weights into the cells.
        colorbar : bool, default=True

        Returns
        -------
        self
        """
        ax = axes_to_draw_on(ax)
        extreme = np.abs(self.transitions).max() or 1.0
        self.im_ = ax.imshow(self.transitions, cmap=cmap, vmin=-extreme, vmax=extreme)
        label_ticks(
            ax.xaxis, self.labels, rotation=90 if max(len(str(label)) for label in self.labels) > 2 else 0
        )
        label_ticks(ax.yaxis, self.labels)
        ax.set(xlabel="next label", ylabel="label")
        texts = np.array([[f"{w:.1f}" for w in row] for row in self.transitions])
        self.text_ = write_in_cells(ax, self.im_, texts, fontsize="small") if values else []
        if colorbar:
            ax.figure.colorbar(self.im_, ax=ax, label="weight")
        self.ax_, self.figure_ = ax, ax.figure
        return self
