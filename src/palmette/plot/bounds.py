"""Plot of the bounds on the loss, during a fit and against the penalty."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from palmette.plot.axes import axes_to_draw_on

_AXES = {"n_oracle": "passes over the data", "n_iter": "iterations", "seconds": "seconds"}
MEMORY = 2**28  # bytes of weights kept while a model is fitted


class BoundDisplay:
    """Convex bound, ramp bound and task loss along a fit, or against the strength of the L2 penalty.

    The bounds are those of :func:`palmette.inspection.bound_values`: the ramp lies between the loss and the convex
    bound, and how near it is to the loss tells how well it stands for it.

    Parameters
    ----------
    x : array of shape (n_points,)
        Where the bounds were computed: passes, iterations or seconds of a fit, or values of l2.
    convex, ramp, loss : arrays of shape (n_points,)
        Their means or sums over the samples.
    xlabel, ylabel : str
    rounds : array, optional
        Places on the x axis where a loss that is not convex was linearised again.
    log : bool, default=False
        Whether the x axis is logarithmic.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    lines_ : list of Line2D
        Convex bound, ramp bound, loss.
    rounds_ : LineCollection or None
        Marks of the linearisations.

    See Also
    --------
    BoundDisplay.from_estimator : Fit and draw.

    Examples
    --------
    >>> from palmette import SSVM, Chain
    >>> from palmette.datasets import make_chains
    >>> from palmette.plot import BoundDisplay
    >>> X, y = make_chains(20, n_classes=3, random_state=0)
    >>> display = BoundDisplay.from_estimator(SSVM(Chain(), loss="ramp"), X, y)
    >>> [line.get_label() for line in display.lines_]
    ['convex bound', 'ramp bound', 'loss']
    >>> display = BoundDisplay.from_estimator(SSVM(Chain()), X, y, l2=[0.1, 1.0, 10.0])
    >>> bool((display.convex >= display.ramp).all()), bool((display.ramp >= display.loss - 1e-9).all())
    (True, True)
    """

    def __init__(
        self, x: Any, convex: Any, ramp: Any, loss: Any, *, xlabel: str = _AXES["n_oracle"],
        ylabel: str = "loss per sample", rounds: Any = (), log: bool = False,
    ) -> None:  # fmt: skip
        self.x, self.convex, self.ramp, self.loss = (np.asarray(v, float) for v in (x, convex, ramp, loss))
        shapes = {name: getattr(self, name).shape for name in ("x", "convex", "ramp", "loss")}
        if self.x.ndim != 1 or not len(self.x) or len(set(shapes.values())) > 1:
            raise ValueError(f"x, convex, ramp and loss must be as many numbers each, got shapes {shapes}")
        self.rounds = np.asarray(rounds, float)
        self.xlabel, self.ylabel, self.log = xlabel, ylabel, log

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, l2: Any = None, along: str | None = None, against: str = "n_oracle",
        points: int = 50, warm_start: bool = True, average: bool = True, task_loss: Any = None, rescaling: Any = None,
        sample_weight: Any = None, ax: Any = None, **options: Any,
    ) -> BoundDisplay:  # fmt: skip
        """Fit clones of an estimator and draw the bounds on their training data; options are those of :meth:`plot`.

        Parameters
        ----------
        estimator : CRF, SSVM or Perceptron
            Fitted or not; it stays as it is.
        X, y, sample_weight : as for ``fit``
        l2 : sequence of float, optional
            Strengths of the penalty, one fit each.
        along : {"fit", "l2"}, optional
            What the x axis is: the steps of one fit, or the strengths given ("l2", the default if there are some).
        against : {"n_oracle", "n_iter", "seconds"}, default="n_oracle"
            How the steps of a fit are measured.
        points : int, default=50
            Steps of a fit at which the bounds are computed, at most; evenly spaced, the first and last among them. A
            point costs about two passes over the data, after the fit. Its weights are kept until then; there are fewer
            points where they would take more than 256 MB.
        warm_start : bool, default=True
            With ``l2``: fit from the weakest penalty to the strongest, each time from the last weights (but for
            kernels, which have none). Else every fit has its own start.
        average : bool, default=True
            Means over the samples; else sums. Samples count by their weights.
        task_loss, rescaling : optional
            As for :func:`palmette.inspection.bound_values`.
        ax : matplotlib Axes, optional

        Returns
        -------
        BoundDisplay
        """
        from sklearn.base import clone

        along = ("fit" if l2 is None else "l2") if along is None else along
        if along not in ("fit", "l2"):
            raise ValueError(f"along must be 'fit' or 'l2', got {along!r}")
        if (along == "l2") != (l2 is not None):
            raise ValueError(
                f"along={along!r} with l2={l2!r}: strengths belong to along='l2', which needs them"
            )
        if against not in _AXES:
            raise ValueError(f"against must be one of {', '.join(map(repr, _AXES))}, got {against!r}")
        if not isinstance(points, Integral) or points < 2:
            raise ValueError(f"points must be an integer of at least 2, got {points!r}")
        if getattr(estimator, "kernel", None) is None:
            X = clone(estimator).encode(X)  # once for all fits
        data = _Data(X, y, sample_weight, average, {"task_loss": task_loss, "rescaling": rescaling})
        if along == "l2":
            strengths = _checked_strengths(estimator, l2)
            values = _along_strengths(estimator, data, strengths, warm_start)
            made = cls(strengths, *values, xlabel="l2", ylabel=data.label, log=True)
        else:
            steps, values, rounds = _along_fit(estimator, data, int(points))
            places = [[getattr(step, against) for step in each] for each in (steps, rounds)]
            made = cls(places[0], *values, xlabel=_AXES[against], ylabel=data.label, rounds=places[1])
        return made.plot(ax=ax, **options)

    def plot(
        self, ax: Any = None, *, colors: Sequence[Any] | None = None, rounds: bool = True
    ) -> BoundDisplay:
        """Draw the lines.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            New ones by default.
        colors : three matplotlib colors, optional
            Of convex bound, ramp bound and loss.
        rounds : bool, default=True
            Mark the linearisations.

        Returns
        -------
        self
        """
        if colors is not None and len(colors) != 3:
            raise ValueError(f"colors must be three, of convex bound, ramp bound and loss; got {colors!r}")
        ax = axes_to_draw_on(ax)
        marker = "." if len(self.x) <= 20 else None
        self.lines_: list[Any] = []
        for k, (name, style) in enumerate((("convex", "--"), ("ramp", "-"), ("loss", ":"))):
            label = name if name == "loss" else f"{name} bound"
            color = f"C{k}" if colors is None else colors[k]
            self.lines_ += ax.plot(
                self.x, getattr(self, name), style, marker=marker, color=color, label=label
            )
        self.rounds_: Any = None
        if rounds and len(self.rounds):
            self.rounds_ = ax.vlines(
                self.rounds, 0.0, 1.0, transform=ax.get_xaxis_transform(), color="0.8", lw=0.7, zorder=0,
                label="linearised again",
            )  # fmt: skip
        ax.set(xlabel=self.xlabel, ylabel=self.ylabel, xscale="log" if self.log else "linear")
        ax.legend()
        self.ax_, self.figure_ = ax, ax.figure
        return self


class _Data:
    """Training samples, and how the bounds on them are added up."""

    def __init__(self, X: Any, y: Any, weight: Any, average: bool, settings: dict[str, Any]) -> None:
        self.X, self.y, self.weight, self.average, self.settings = X, y, weight, average, settings
        self.label = "loss per sample" if average else "sum of losses"

    def totals(self, models: Sequence[Any]) -> np.ndarray:
        """The three numbers of each model, shape (3, n_models); the models share features and labels."""
        from palmette.inspection.risk_bounds import Measured

        measured = Measured(models[0], self.X, self.y, **self.settings)
        table = np.array([measured(model) for model in models])
        weight = np.ones(table.shape[2]) if self.weight is None else np.asarray(self.weight, float)
        return (table @ weight / (weight.sum() if self.average else 1.0)).T


class _Trail:
    """A callback that keeps the models of evenly spaced steps: of each, of every second, of every fourth, ..."""

    sees_model = True

    def __init__(self, most: int) -> None:
        self.most, self.stride, self.n_seen = most, 1, 0
        self.kept: list[tuple[int, Any]] = []  # place in the history, model

    def __call__(self, step: Any, model: Any) -> None:
        if self.n_seen % self.stride == 0:
            seen = model()
            seen.coef_ = np.array(seen.coef_)
            self.kept.append((self.n_seen, seen))
            most = max(2, min(self.most, MEMORY // max(seen.coef_.nbytes, 1)))
            if len(self.kept) > most:
                self.kept, self.stride = self.kept[::2], 2 * self.stride
        self.n_seen += 1


def _along_fit(estimator: Any, data: _Data, points: int) -> tuple[list[Any], np.ndarray, list[Any]]:
    """Steps of a fit, the bounds there, and the steps after which it linearised again."""
    from sklearn.base import clone

    trail = _Trail(points - 1)
    model = clone(estimator)
    model.callbacks = [*(estimator.callbacks or ()), trail]
    model.fit(data.X, data.y, data.weight)
    history = model.result_.history[-trail.n_seen :]
    kept = [(history[place], seen) for place, seen in trail.kept if place < trail.n_seen - 1]
    kept.append((history[-1], model))
    rounds = [model.result_.history[place] for place in getattr(model.result_, "rounds", ())]
    return [step for step, _ in kept], data.totals([seen for _, seen in kept]), rounds


def _along_strengths(estimator: Any, data: _Data, strengths: np.ndarray, warm_start: bool) -> np.ndarray:
    """The bounds of models with these penalties."""
    from sklearn.base import clone

    model = clone(estimator).set_params(C=None)
    if getattr(model, "kernel", None) is None:  # a kernel has no weights to start from
        model.set_params(warm_start=bool(warm_start))
    out = np.empty((3, len(strengths)))
    # Weak ones first: under a strong one the ramp loss gives up samples that it would not take back later.
    for place in np.argsort(strengths, kind="stable"):
        model.set_params(l2=float(strengths[place])).fit(data.X, data.y, data.weight)
        out[:, place] = data.totals([model])[:, 0]
    return out


def _checked_strengths(estimator: Any, l2: Any) -> np.ndarray:
    if "l2" not in estimator.get_params(deep=False):
        raise ValueError(f"{type(estimator).__name__} has no penalty l2 to vary: use along='fit'")
    values = list(l2) if hasattr(l2, "__iter__") else [l2]
    bad = [v for v in values if not (isinstance(v, Real) and 0.0 < float(v) < np.inf)]
    if not values or bad:
        raise ValueError(f"l2 must be positive numbers, got {bad[0] if bad else l2!r}")
    return np.array(values, float)
