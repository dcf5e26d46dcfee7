"""All bounds of a fitted model side by side, against its risk on held-out data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from palmette.contracts.structure import can
from palmette.errors import MissingCapability
from palmette.inspection import regression_bounds, weight_bounds
from palmette.inspection.bound import Bound, DoesNotApplyError
from palmette.inspection.given import Given


@dataclass(frozen=True)
class BoundsReport:
    """What the papers' theorems say of a fitted model.

    Attributes
    ----------
    model : str
        The learner.
    bounds : tuple of Bound
        Those that apply, and those that do not with the reason.
    delta : float
        Each bound on a risk holds with probability ``1 - delta`` over training sets, on its own.

    See Also
    --------
    BoundsReport.from_estimator : Compute it.

    Examples
    --------
    >>> from palmette import SSVM, Multiclass
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 3))
    >>> y = np.where(X[:, 0] > 0, "a", "b")
    >>> model = SSVM(Multiclass(), l2=10.0).fit(X[:100], y[:100])
    >>> report = BoundsReport.from_estimator(model, X[:100], y[:100], X[100:], y[100:])
    >>> ramp = report["ramp"]
    >>> ramp.value >= ramp.held_out
    True
    >>> report["Theorem 6.1"].verdict  # a hundred samples are not enough
    'vacuous'
    """

    model: str
    bounds: tuple[Bound, ...]
    delta: float

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: Any, X_test: Any = None, y_test: Any = None, *, delta: float = 0.05,
        gamma: float | None = None, norm: float | None = None, feature_norm: float | None = None,
        l2: float | None = None, rho: float | None = None, tau: float = 1.0, log_annotations: float | None = None,
        eps: float = 0.01, variances: Sequence[float] = (), output_dimension: int | None = None, n_tried: int = 1,
        printed: bool = False,
    ) -> BoundsReport:  # fmt: skip
        """Compute all bounds of a fitted model.

        Parameters
        ----------
        model : fitted learner
        X, y
            The data that it was trained on. Bounds are about these; with other data they mean nothing.
        X_test, y_test : optional
            Held-out data.
        delta : float, default=0.05
        gamma : float, optional
            Margin of Theorem 6.1; by default the best of four, each with its share of ``delta``.
        norm : float, optional
            Bound on ``|w|`` that was fixed before the data was seen. By default the power of two above the norm of the
            weights, which costs a share of ``delta`` (:func:`palmette.bounds.level`).
        feature_norm : float, optional
            Bound on ``|phi(x, y)|`` for all inputs. By default the largest of the inputs given: then inputs are
            assumed to be never larger.
        l2 : float, optional
            The smallest L2 penalty of a weight, where the settings of the model do not say it.
        rho, tau : float
            Admissibility and Lipschitz constant of Theorem 14, which asks for ``rho``.
        log_annotations : float, optional
            ``ln |Yp|`` of Theorem 1.1, of all annotations that can occur; by default all are complete.
        eps : float, default=0.01
            Accuracy of Proposition 5, of the objective per sample.
        variances : sequence of float
            Of Theorem 4; by default a grid from 0.001 to 1, each with its share of ``delta``.
        output_dimension : int, optional
            ``N_Y`` of Theorem 4; by default that of the training outputs.
        n_tried : int, default=1
            Values of R or l2 among which the model's was chosen on the same data (Theorem 5). What SORRCV and SOSCCV
            tried is counted without it.
        printed : bool, default=False
            Show the formulas as they are printed, too, where they differ and are not proven.

        Returns
        -------
        BoundsReport
        """
        if (X_test is None) != (y_test is None):
            raise ValueError("X_test and y_test go together: give both or none")
        given = Given(
            delta, gamma, norm, feature_norm, l2, rho, tau, log_annotations, eps, tuple(variances), output_dimension,
            n_tried, printed,
        )  # fmt: skip
        own = _bounds_of(model)
        data = own.Measured(model, (X, y), None if X_test is None else (X_test, y_test), given)
        functions = own.BOUNDS | (own.PRINTED if printed else {})
        computed = tuple(_computed(name, function, data) for name, function in functions.items())
        return cls(repr(model), computed, delta)

    def __getitem__(self, name: str) -> Bound:
        """The first bound whose name has this text."""
        for bound in self.bounds:
            if name in bound.name:
                return bound
        raise KeyError(
            f"no bound has {name!r} in its name; there are: {', '.join(b.name for b in self.bounds)}"
        )

    def __iter__(self) -> Iterator[Bound]:
        return iter(self.bounds)

    def __len__(self) -> int:
        return len(self.bounds)

    def to_dict(self) -> dict[str, Any]:
        """All of it for JSON."""
        return {
            "model": self.model,
            "delta": self.delta,
            "bounds": [bound.to_dict() for bound in self.bounds],
        }

    def plot(self, ax: Any = None, **options: Any) -> Any:
        """Draw the bounds against the held-out values: a :class:`palmette.plot.BoundsReportDisplay`."""
        from palmette.plot.bounds_report import BoundsReportDisplay

        return BoundsReportDisplay(self).plot(ax, **options)

    def __str__(self) -> str:
        rows = [["bound", "of", "training", "bound", "held out", ""]]
        for bound in filter(lambda own: own.applies, self.bounds):
            numbers = (bound.training, bound.value, bound.held_out)
            rows.append([bound.name, bound.quantity, *map(_shown, numbers), bound.verdict])
        widths = [max(map(len, column)) for column in zip(*rows)]
        lines = [f"bounds at confidence {1.0 - self.delta:g}"]
        for row in rows:
            cells = [
                cell.rjust(width) if k in (2, 3, 4) else cell.ljust(width)
                for k, (cell, width) in enumerate(zip(row, widths))
            ]
            lines.append("  ".join(cells).rstrip())
        missing = [bound for bound in self.bounds if not bound.applies]
        if missing:
            lines += ["", "do not apply", *(f"{bound.name}: {bound.why_not}" for bound in missing)]
        return "\n".join(lines)


def _bounds_of(model: Any) -> Any:
    """The module of the bounds that a learner has."""
    for asked, own in (("_with_outputs", weight_bounds), ("votes", regression_bounds)):
        if can(model, asked):
            check_is_fitted(model)
            return own
    raise TypeError(
        f"{type(model).__name__} has no bounds: give a fitted CRF, SSVM, Perceptron, SORR or SOSC"
    )


def _computed(name: str, function: Callable[[Any], Bound], data: Any) -> Bound:
    try:
        return replace(function(data), name=name)
    except (DoesNotApplyError, MissingCapability) as reason:
        return Bound("", why_not=str(reason), name=name)


def _shown(value: float) -> str:
    return "-" if np.isnan(value) else "inf" if np.isinf(value) else f"{value:.4g}"
