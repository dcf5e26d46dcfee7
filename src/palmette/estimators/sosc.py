"""Structured output regression with a constraint on its coefficients."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from palmette.errors import MissingCapability
from palmette.estimators.output_regression import OutputRegression, ballots_of
from palmette.estimators.regression_data import FEWER, Inputs, Landmarks, Outputs
from palmette.registry import register
from palmette.regression import BallPath, Weighted, box_constrained, moments_ball


@register("learner")
class SOSC(OutputRegression):
    r"""Structured output regression whose coefficients are bounded, as its risk bound by sample compression needs it.

    With predictions ``W phi(x) = sum_ij psi(y_i) A_ij K(x_j, x)`` it minimises the mean of ``|psi(y_i) - W
    phi(x_i)|^2`` over all ``A`` with ``|A|_F <= R`` (or, ``constraint="box"``, ``|A_ij| <= R``). The ball has a
    closed form up to one number, the multiplier ``b`` of the constraint, which Newton's method finds in a few steps.

    Parameters
    ----------
    output, kernel, fit_intercept, decode_intercept, task_loss, verbose
        As for :class:`~palmette.SORR`; the intercept centres inputs and outputs in their feature spaces.
    R : float, default=1.0
        Above 0. Coefficients have the scale of ``1 / K``.
    constraint : {"l2", "box"}, default="l2"
        "box" takes some hundreds of iterations of m^2 r operations, r the rank of the output kernel, and holds some 50
        matrices of m x m numbers: for some hundreds of samples.
    tol : float, default=1e-8
        Of the optimality conditions with "box".
    max_iter : int, default=3000
        With "box": of ADMM and of the conjugate gradients of its Newton steps together.

    Attributes
    ----------
    result_ : RegressionResult
        Objective (the mean squared residual), what is left of the optimality conditions, Newton steps or iterations,
        the multiplier ``b`` and the norm ``radius`` that is reached.
    others
        As for :class:`~palmette.SORR`.

    Notes
    -----
    A sample of weight 2 counts as two equal samples: with ``S = diag(sqrt(w))`` the ball bounds ``|S^-1 A S^-1|_F``,
    and the box ``|A_ij|`` by ``w_i w_j R``. Settings of kernels that follow from the inputs (``gamma="scale"``, the
    default of RBF and Polynomial, and ``idf``) take all rows alike, those of weight 0 included.

    Examples
    --------
    >>> from palmette import SOSC
    >>> X, y = [[0.0], [0.2], [1.0], [1.2]], ["cold", "cold", "warm", "warm"]
    >>> model = SOSC("dirac", kernel="rbf", R=0.8).fit(X, y)
    >>> model.predict([[0.1], [1.1]]), round(model.result_.radius, 12), model.result_.multiplier > 0
    (['cold', 'warm'], 0.8, True)
    """

    @property
    def copies(self) -> int:  # type: ignore[override]
        """Matrices of m x m numbers that a fit holds."""
        return 5 if self.constraint == "l2" else 46

    @property
    def remedy(self) -> str:  # type: ignore[override]
        """Where they do not fit into memory."""
        return FEWER if self.constraint == "l2" else "use constraint='l2', or fewer samples"

    def __init__(
        self,
        output: Any = "dirac",
        *,
        kernel: Any = "rbf",
        R: float = 1.0,
        constraint: str = "l2",
        fit_intercept: bool = False,
        decode_intercept: bool = True,
        task_loss: Any = None,
        tol: float = 1e-8,
        max_iter: int = 3000,
        verbose: int = 0,
    ) -> None:
        self.output = output
        self.kernel = kernel
        self.R = R
        self.constraint = constraint
        self.fit_intercept = fit_intercept
        self.decode_intercept = decode_intercept
        self.task_loss = task_loss
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose

    def check(self) -> None:
        """Refuse settings that make no sense."""
        super().check()
        if not isinstance(self.R, Real) or isinstance(self.R, bool) or not 0.0 < float(self.R) < np.inf:
            raise ValueError(
                f"R must be a finite number above 0, the radius of the constraint, got {self.R!r}"
            )
        if self.constraint not in ("l2", "box"):
            raise ValueError(f"constraint must be 'l2' or 'box', got {self.constraint!r}")

    def _learn(self, inputs: Inputs, gram: np.ndarray, outputs: Outputs) -> None:
        plain, rows = Weighted.of(gram, outputs.weight, bool(self.fit_intercept)), outputs.rows
        ballots, metric = ballots_of(outputs, rows), outputs.space.metric
        own, table = plain.outputs(rows), plain.outputs(ballots)
        if self.constraint == "l2":
            path = BallPath(plain.gram, own, metric, plain.total)
            result = self._at(path)
            found = path.solution(result.multiplier, table)
        else:
            self.A_, result = box_constrained(
                plain.gram, own, float(self.R) * np.outer(plain.root, plain.root), metric, plain.total, self.tol,
                self.max_iter, lambda n, kkt: self._say("iteration %d, optimality %.2g", n, kkt),
            )  # fmt: skip
            found = self.A_.T @ table
        self._keep(inputs, outputs, plain.votes_of(found, ballots), result)

    def _at(self, path: BallPath) -> Any:
        """The certificate of the point of the path that is wanted."""
        return path.at_radius(float(self.R))

    def _learn_many(self, landmarks: Landmarks, outputs: Outputs) -> None:
        if self.constraint != "l2":
            raise MissingCapability(
                "constraint='box' bounds the coefficients of samples, and Nystroem has none"
            )
        dual, intercept, result = moments_ball(
            landmarks.blocks, landmarks.normalization, outputs.rows, float(self.R), outputs.weight,
            bool(self.fit_intercept), outputs.space.metric, outputs.ballots,
        )  # fmt: skip
        self._keep(landmarks.inputs, outputs, (dual, intercept), result)

    def _plain_coefficients(self, plain: Weighted, inputs: np.ndarray) -> np.ndarray:
        if self.constraint == "box":
            return inputs @ self.A_.T
        rows = plain.outputs(np.asarray(self.space_.rows.toarray(), float))
        path = BallPath(plain.gram, rows, self.space_.metric, plain.total)
        return path.coefficients(self.result_.multiplier, inputs)
