"""Structured output ridge regression."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from palmette.estimators.output_regression import OutputRegression, ballots_of
from palmette.estimators.regression_data import Inputs, Landmarks, Outputs
from palmette.estimators.strengths import strength
from palmette.registry import register
from palmette.regression import Weighted, conjugate_ridge
from palmette.regression.ridge import ridge_result, shifted_inverse


@register("learner")
class SORR(OutputRegression):
    r"""Structured output ridge regression: outputs as vectors of an output kernel, regressed on inputs by a kernel.

    With the features ``psi(y)`` of the output kernel it minimises ``sum_i w_i |psi(y_i) - W phi(x_i)|^2 / 2 +
    (l2 / 2) |W|^2``, and predicts ``argmin_y |psi(y) - W phi(x)|^2``. The solution is a closed form: ``W phi(x) = sum_i
    a_i(x) psi(y_i)`` with ``a(x) = (K + l2 I)^-1 k(x)``.

    Parameters
    ----------
    output : name, kernel, function of two outputs, structure or OutputSpace, default="dirac"
        What makes outputs similar. "dirac" is the 0/1 loss, "hamming" counts wrong symbols, "path" wrong levels.
    kernel : kernel, name or function, default="rbf"
        Of inputs. ``Nystroem(kernel, n)`` is for many samples: it is trained by conjugate gradients on n landmarks.
    l2 : float, default=1.0
        Above 0; the kernel has the same scale.
    C : float, optional
        ``l2 = 1 / C``.
    fit_intercept : bool, default=False
        Add a constant to ``W phi(x)``: centring, without a penalty.
    decode_intercept : bool, default=True
        Whether pre-images see the constant. Without it frequent outputs have no head start.
    task_loss : callable, optional
        ``task_loss(true, predicted)``: predict ``argmin_y sum_i a_i(x) task_loss(y_i, y)``, which is consistent for any
        loss, and score by it.
    tol : float, default=1e-8
        Residual of conjugate gradients (``Nystroem`` only), relative to the right-hand side.
    max_iter : int, default=200
        Of conjugate gradients.
    verbose : int, default=0

    Attributes
    ----------
    dual_coef_ : ndarray of shape (m, p)
        Coefficients of the training inputs, or of landmarks: votes are ``K(x, support) dual_coef_ + intercept_``.
    intercept_ : ndarray of shape (p,)
    space_ : OutputSpace
        The training outputs as vectors, and the search for pre-images.
    l2_ : float
    result_ : RegressionResult
        Objective, what is left of the optimality conditions, iterations.
    n_features_in_ : int
        Of tables.

    Examples
    --------
    >>> from palmette import SORR
    >>> X, y = [[0.0], [0.2], [1.0], [1.2]], ["cold", "cold", "warm", "warm"]
    >>> model = SORR("dirac", kernel="rbf", l2=0.1).fit(X, y)
    >>> model.predict([[0.1], [1.1]]), model.coefficients([[0.1]]).shape
    (['cold', 'warm'], (1, 4))
    """

    def __init__(
        self,
        output: Any = "dirac",
        *,
        kernel: Any = "rbf",
        l2: float | None = None,
        C: float | None = None,
        fit_intercept: bool = False,
        decode_intercept: bool = True,
        task_loss: Any = None,
        tol: float = 1e-8,
        max_iter: int = 200,
        verbose: int = 0,
    ) -> None:
        self.output = output
        self.kernel = kernel
        self.l2 = l2
        self.C = C
        self.fit_intercept = fit_intercept
        self.decode_intercept = decode_intercept
        self.task_loss = task_loss
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose

    def check(self) -> None:
        """Refuse settings that make no sense."""
        super().check()
        penalty_of(self)

    def _penalty(self) -> float:
        return penalty_of(self)

    def _learn(self, inputs: Inputs, gram: np.ndarray, outputs: Outputs) -> None:
        self.l2_ = self._penalty()
        plain, rows = Weighted.of(gram, outputs.weight, bool(self.fit_intercept)), outputs.rows
        inverse = shifted_inverse(plain.gram, self.l2_)
        own = plain.outputs(rows)
        found = inverse(own)
        result = ridge_result(plain.gram, own, found, self.l2_, outputs.space.metric)
        ballots = ballots_of(outputs, rows)
        if ballots is not rows:
            found = inverse(plain.outputs(ballots))
        self._keep(inputs, outputs, plain.votes_of(found, ballots), result)

    def _learn_many(self, landmarks: Landmarks, outputs: Outputs) -> None:
        self.l2_ = self._penalty()
        ballots = outputs.ballots  # whose coefficients are linear in them, as are those of the rows
        dual, intercept, result = conjugate_ridge(
            landmarks.blocks,
            landmarks.normalization,
            ballots,
            self.l2_,
            outputs.weight,
            bool(self.fit_intercept),
            outputs.space.metric if outputs.space.ballots is outputs.space.rows else None,
            self.tol,
            self.max_iter,
            watch=lambda n, worst: self._say("iteration %d, residual %.2g", n, worst),
        )
        self._keep(landmarks.inputs, outputs, (dual, intercept), result)

    def _plain_coefficients(self, plain: Weighted, inputs: np.ndarray) -> np.ndarray:
        return shifted_inverse(plain.gram, self.l2_)(inputs.T).T


def penalty_of(estimator: Any) -> float:
    """``l2``, or ``1 / C``; above 0."""
    for name in ("l2", "C"):
        value: Any = getattr(estimator, name)
        number = isinstance(value, Real) and not isinstance(value, bool)
        if value is not None and not (number and 0.0 < float(value) < np.inf):
            small = name == "l2" and number and value == 0
            why = (
                ": a kernel matrix may be singular; give a small number, relative to K(x, x)" if small else ""
            )
            raise ValueError(f"{name} must be a finite number above 0, got {value!r}{why}")
    return strength(estimator.l2, estimator.C)[0]
