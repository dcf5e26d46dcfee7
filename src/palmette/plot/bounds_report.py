"""Plot of all bounds of a model against what they bound on held-out data."""

from __future__ import annotations

from typing import Any

import numpy as np

from palmette.plot.axes import axes_to_draw_on


class BoundsReportDisplay:
    """Bars of the bounds of a report, on a logarithmic axis, with marks at the values on held-out data.

    A bar ends at the bound. Bounds that are vacuous, not below what the quantity can be at most, are pale and say so.
    Bounds that do not apply, and numbers of steps, are left out.

    Parameters
    ----------
    report : BoundsReport

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    bars_ : list of Rectangle
        One for each of ``shown_``.
    shown_ : list of Bound
    marks_ : Line2D or None
        Held-out values.
    limits_ : Line2D or None
        What the quantities can be at most.

    See Also
    --------
    BoundsReportDisplay.from_estimator : Compute and draw.

    Examples
    --------
    >>> from palmette import SSVM, Multiclass
    >>> from palmette.plot import BoundsReportDisplay
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 2))
    >>> y = np.where(X[:, 0] > 0, "a", "b")
    >>> display = BoundsReportDisplay.from_estimator(SSVM(Multiclass(), l2=1.0).fit(X, y), X, y)
    >>> [bound.vacuous for bound in display.shown_][:2]
    [False, False]
    """

    def __init__(self, report: Any) -> None:
        self.report = report

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: Any,
        X_test: Any = None,
        y_test: Any = None,
        *,
        ax: Any = None,
        **given: Any,
    ) -> BoundsReportDisplay:
        """Compute the bounds of a fitted model and draw them; parameters of ``BoundsReport.from_estimator``."""
        from palmette.inspection import BoundsReport

        return cls(BoundsReport.from_estimator(model, X, y, X_test, y_test, **given)).plot(ax)

    def plot(self, ax: Any = None, *, color: Any = "C0", vacuous: Any = "0.8") -> BoundsReportDisplay:
        """Draw the bars.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            New ones by default.
        color, vacuous : matplotlib colors
            Of bounds that say something, and of those that do not.

        Returns
        -------
        self
        """
        ax = axes_to_draw_on(ax)
        self.shown_ = [own for own in self.report if own.applies and np.isfinite(own.worst)]
        places = np.arange(len(self.shown_))[::-1]  # the first one on top
        finite = [own.value for own in self.shown_ if np.isfinite(own.value)]
        far = 10.0 * max([1.0, *finite])  # where bars without an end stop
        lengths = [own.value if np.isfinite(own.value) else far for own in self.shown_]
        colors = [vacuous if own.vacuous else color for own in self.shown_]
        self.bars_ = list(ax.barh(places, lengths, color=colors, height=0.6))
        self.marks_ = self._marks(ax, places, "held_out", "k|", "held out")
        self.limits_ = self._marks(ax, places, "worst", "r:|", "at most possible")
        for place, own, length in zip(places, self.shown_, lengths):
            if own.vacuous:
                ax.annotate(
                    "vacuous", (length, place), xytext=(4, 0), textcoords="offset points", va="center"
                )
        ax.set_yticks(places, [own.name for own in self.shown_])
        ax.set(xscale="log", xlabel=f"bound at confidence {1.0 - self.report.delta:g}")
        if self.marks_ is not None or self.limits_ is not None:
            ax.legend()
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _marks(self, ax: Any, places: np.ndarray, name: str, style: str, label: str) -> Any:
        values = np.array([getattr(own, name) for own in self.shown_])
        there = np.isfinite(values) & (values > 0.0)
        if not there.any():
            return None
        marks = ax.plot(values[there], places[there], style, markersize=18, markeredgewidth=2, label=label)[0]
        marks.set_linestyle("none")
        return marks
