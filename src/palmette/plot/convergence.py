"""Plot of the objective and its proven bound during a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from palmette.plot.axes import axes_to_draw_on

_AXES = {"seconds": "seconds", "n_oracle": "passes over the data", "n_iter": "iterations"}
_KINDS = ("objective", "gap")


class ConvergenceDisplay:
    """Primal objective and proven lower bound of a solver's steps, or the relative gap between them.

    The optimum lies in the band between the two lines. The relative gap of a step is
    ``(primal - lower) / |primal|``, which ``tol`` is compared with; steps without a lower bound have none.

    Parameters
    ----------
    steps : sequence of palmette.solvers.Step
        ``result_.history`` of an estimator.
    name : str, optional
        Name of the run, for the legend.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    lines_ : list of Line2D
        Primal and lower bound (if there is one), or the gap.
    band_ : PolyCollection or None
        The area between primal and lower bound.

    See Also
    --------
    ConvergenceDisplay.from_estimator : Draw from a fitted estimator.

    Examples
    --------
    >>> from palmette import CRF, Chain
    >>> from palmette.datasets import make_chains
    >>> from palmette.plot import ConvergenceDisplay
    >>> X, Y = make_chains(20, random_state=0)
    >>> display = ConvergenceDisplay.from_estimator(CRF(Chain()).fit(X, Y), against="n_oracle")
    >>> display.ax_.get_xlabel()
    'passes over the data'
    """

    def __init__(self, steps: Sequence[Any], *, name: str | None = None) -> None:
        self.steps = tuple(steps)
        self.name = name

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, name: str | None = None, ax: Any = None, **options: Any
    ) -> Any:
        """Draw the training of a fitted estimator; options are those of :meth:`plot`.

        Parameters
        ----------
        estimator : fitted CRF, SSVM or Perceptron
        name : str, optional
            The name of the class by default.
        ax : matplotlib Axes, optional

        Returns
        -------
        ConvergenceDisplay
        """
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(estimator)
        name = type(estimator).__name__ if name is None else name
        return cls(estimator.result_.history, name=name).plot(ax=ax, **options)

    @property
    def relative_gaps(self) -> np.ndarray:
        """Relative gap of every step, NaN where there is no bound, shape (n_steps,)."""
        primal, lower = self._values("primal"), self._values("lower")
        return (primal - lower) / np.abs(primal)

    def plot(
        self, ax: Any = None, *, against: str = "seconds", kind: str = "objective", color: Any = None
    ) -> ConvergenceDisplay:
        """Draw the steps.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            New ones by default.
        against : {"seconds", "n_oracle", "n_iter"}, default="seconds"
        kind : {"objective", "gap"}, default="objective"
            Both bounds, or their relative distance (which puts several runs on one scale).
        color : matplotlib color, optional

        Returns
        -------
        self
        """
        if against not in _AXES:
            raise ValueError(f"against must be one of {', '.join(map(repr, _AXES))}, got {against!r}")
        if kind not in _KINDS:
            raise ValueError(f"kind must be 'objective' or 'gap', got {kind!r}")
        if not self.steps:
            raise ValueError("there are no steps to draw: the history is empty")
        ax = axes_to_draw_on(ax)
        self.lines_: list[Any]
        self.band_: Any
        draw = self._plot_objective if kind == "objective" else self._plot_gap
        self.lines_, self.band_ = draw(ax, self._values(against), color)
        ax.set_xlabel(_AXES[against])
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _plot_objective(self, ax: Any, x: np.ndarray, color: Any) -> tuple[list[Any], Any]:
        prefix = f"{self.name}: " if self.name else ""
        primal, lower = self._values("primal"), self._values("lower")
        lines = ax.plot(x, primal, color=color, label=f"{prefix}primal")
        bounded = np.isfinite(lower)
        band = None
        if bounded.any():
            color = lines[0].get_color()
            lines += ax.plot(x[bounded], lower[bounded], "--", color=color, label=f"{prefix}lower bound")
            band = ax.fill_between(x[bounded], lower[bounded], primal[bounded], color=color, alpha=0.12, lw=0)
        ax.set(ylabel="objective", yscale="log" if (primal > 0).all() else "linear")
        ax.legend()
        return lines, band

    def _plot_gap(self, ax: Any, x: np.ndarray, color: Any) -> tuple[list[Any], None]:
        gaps = self.relative_gaps
        known = np.isfinite(gaps) & (gaps > 0)
        if not known.any():
            raise ValueError(
                f"{self.name or 'this run'} has no bound on its gap; kind='objective' shows the primal alone"
            )
        lines = ax.plot(x[known], gaps[known], color=color, label=self.name)
        ax.set(ylabel="relative gap", yscale="log")
        if self.name:
            ax.legend()
        return lines, None

    def _values(self, field: str) -> np.ndarray:
        values = np.array([getattr(step, field) for step in self.steps], float)
        return np.where(np.isfinite(values), values, np.nan)
