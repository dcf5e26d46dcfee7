"""Plot of the label probabilities along one sequence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from palmette.plot.axes import axes_to_draw_on, label_ticks


class MarginalsDisplay:
    """Heat strip of the label probabilities of one sequence: a column per position, a row per label.

    Parameters
    ----------
    marginals : ndarray of shape (n_positions, n_classes)
        What ``predict_marginals`` returns for one sequence.
    labels : sequence
        Names of the classes.
    tokens : sequence, optional
        Names of the positions; numbers by default.
    y_true : sequence of labels, optional
        The right labels, marked by rings.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    im_ : AxesImage
    true_ : PathCollection or None
        The rings.

    See Also
    --------
    MarginalsDisplay.from_estimator : Draw from a fitted estimator.
    MarginalsDisplay.from_predictions : Draw from probabilities.

    Examples
    --------
    >>> from palmette import CRF, Chain
    >>> from palmette.plot import MarginalsDisplay
    >>> X, Y = [[["w=the"], ["w=dog"]], [["w=a"], ["w=dog"]]], [["D", "N"], ["D", "N"]]
    >>> model = CRF(Chain()).fit(X, Y)
    >>> display = MarginalsDisplay.from_estimator(model, X[0], Y[0], tokens=["the", "dog"])
    >>> display.im_.get_array().shape
    (2, 2)
    """

    def __init__(
        self,
        marginals: Any,
        labels: Sequence[Any],
        *,
        tokens: Sequence[Any] | None = None,
        y_true: Sequence[Any] | None = None,
    ) -> None:
        self.marginals = np.asarray(marginals, float)
        self.labels = list(labels)
        if self.marginals.ndim != 2 or self.marginals.shape[1] != len(self.labels):
            raise ValueError(
                f"marginals must have one row per position and {len(self.labels)} columns, one per label; "
                f"got shape {self.marginals.shape}"
            )
        n = len(self.marginals)
        self.tokens = list(range(n)) if tokens is None else list(tokens)
        self.y_true = None if y_true is None else list(y_true)
        for name, values in (("tokens", self.tokens), ("y_true", self.y_true)):
            if values is not None and len(values) != n:
                raise ValueError(f"{name} has {len(values)} entries for {n} positions: give one per position")

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        x: Any,
        y_true: Sequence[Any] | None = None,
        *,
        tokens: Sequence[Any] | None = None,
        ax: Any = None,
        **options: Any,
    ) -> MarginalsDisplay:
        """Draw the marginals that a fitted estimator gives to one sequence.

        Parameters
        ----------
        estimator : fitted estimator of sequences
        x : one sequence, as it stands in the X of ``fit``
        y_true, tokens : sequence, optional
            As for the class; string features are no tokens, so name the positions if that helps.
        ax : matplotlib Axes, optional
        **options
            Of :meth:`plot`.

        Returns
        -------
        MarginalsDisplay
        """
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(estimator)
        if estimator.structure.layout != "sequences":
            name = type(estimator.structure).__name__
            raise ValueError(f"the structure {name} has no sequences to draw; one with sequences is Chain()")
        (marginals,) = estimator.predict_marginals([x])
        return cls.from_predictions(
            marginals, estimator.classes_.tolist(), tokens=tokens, y_true=y_true, ax=ax, **options
        )

    @classmethod
    def from_predictions(
        cls,
        marginals: Any,
        labels: Sequence[Any],
        *,
        tokens: Sequence[Any] | None = None,
        y_true: Sequence[Any] | None = None,
        ax: Any = None,
        **options: Any,
    ) -> MarginalsDisplay:
        """Draw given marginals; parameters as for the class, options are those of :meth:`plot`."""
        return cls(marginals, labels, tokens=tokens, y_true=y_true).plot(ax=ax, **options)

    def plot(self, ax: Any = None, *, cmap: Any = "Blues", colorbar: bool = True) -> MarginalsDisplay:
        """Draw the strip.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            New ones by default.
        cmap : str or Colormap, default="Blues"
        colorbar : bool, default=True

        Returns
        -------
        self
        """
        ax = axes_to_draw_on(ax)
        self.im_ = ax.imshow(self.marginals.T, cmap=cmap, vmin=0, vmax=1, aspect="auto")
        label_ticks(ax.xaxis, self.tokens, rotation=90 if max(len(str(t)) for t in self.tokens) > 2 else 0)
        label_ticks(ax.yaxis, self.labels)
        ax.set(xlabel="position", ylabel="label")
        self.true_ = None if self.y_true is None else self._rings(ax, self.y_true)
        if colorbar:
            ax.figure.colorbar(self.im_, ax=ax, label="probability")
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _rings(self, ax: Any, y_true: Sequence[Any]) -> Any:
        row = {label: i for i, label in enumerate(self.labels)}
        known = [t for t, label in enumerate(y_true) if label in row]  # a label may be new to the model
        rings = {"s": 60, "facecolors": "none", "edgecolors": "crimson", "linewidths": 1.5}
        return ax.scatter(known, [row[y_true[t]] for t in known], label="true label", **rings)
