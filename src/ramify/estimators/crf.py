"""Conditional random fields: maximum likelihood on any structure that has sums."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from ramify.estimators.base import StructuredEstimator
from ramify.surrogates.log import LogLoss


def _one_label(estimator: Any) -> bool:
    return estimator.structure.layout == "items"


class CRF(StructuredEstimator):
    r"""Conditional random field.

    Minimises ``sum_i [log Z(x_i) - f(x_i, y_i)] + (l2/2)|w|^2 + l1|w|_1`` with ``f(x, y) = <w, phi(x, y)>``.
    On ``Multiclass()`` this is multinomial logistic regression.

    Parameters
    ----------
    structure : structure object
        What an output is: ``Chain()``, ``Multiclass()``.
    l2, C : float, optional
        Strength of the L2 penalty, as itself or as ``l2 = 1 / C``. Neither means ``l2 = 1``; both is an error.
        (CRFsuite's ``c2`` is ``l2 / 2``.)
    l1 : float, default=0.0
        Strength of the L1 penalty (sparse weights).
    l2_node, l2_edge, l2_bias : float, optional
        L2 of feature, transition and intercept weights; ``l2`` by default.
    solver : {"auto", "lbfgs", "stochastic", "bundle"} or solver object
        "auto" is L-BFGS (OWL-QN with l1).
    tol : float, default=1e-4
        Relative suboptimality wanted; ``result_.reason`` says what was reached.
    max_iter : int, optional
        Iterations (or epochs) at most; the solver's default if None.
    states, transitions : {"auto", "observed", "all"}
        Which (feature, label) and (label, label) weights exist: those seen in training or all. "auto": observed
        states for named features, all for arrays; all transitions.
    fit_intercept : {"auto", True, False}
        A bias per label. "auto": for arrays only.
    classes : sequence, optional
        All labels, if some may be missing in the training data.
    n_jobs : int, default=-1
        Threads; results do not depend on their number.
    random_state : int, RandomState or None, default=0
    verbose : int, default=0
        Progress bar on a terminal, log lines otherwise.
    callbacks : sequence of callables, optional
        Each is called with every :class:`ramify.solvers.Step`; a true result stops the run. One that has a true
        attribute ``sees_model`` is called with the step and a function that returns the model as it is then, to score
        held-out data, say.
    warm_start : bool, default=False
        Start from the weights of the last fit, matched by feature name and label.

    Attributes
    ----------
    classes_ : ndarray
    coef_ : ndarray
        All weights; ``transitions_`` and ``intercept_`` are copies of its blocks.
    result_ : ramify.solvers.Result
        Certificate: ``primal``, ``lower``, ``gap``, ``history``, ``reason``.
    objective_ : float
    fit_seconds_ : dict

    Examples
    --------
    >>> from ramify import CRF, Chain
    >>> X = [[{"w": "the"}, {"w": "dog"}, {"w": "barks"}], [{"w": "the"}, {"w": "cat"}]]
    >>> Y = [["D", "N", "V"], ["D", "N"]]
    >>> model = CRF(Chain(), l2=0.1).fit(X, Y)
    >>> model.predict([[{"w": "the"}, {"w": "cat"}, {"w": "barks"}]])
    [['D', 'N', 'V']]
    """

    def __init__(
        self,
        structure,
        *,
        l2=None,
        C=None,
        l1=0.0,
        l2_node=None,
        l2_edge=None,
        l2_bias=None,
        solver="auto",
        tol=1e-4,
        max_iter=None,
        states="auto",
        transitions="auto",
        fit_intercept="auto",
        classes=None,
        n_jobs=-1,
        random_state=0,
        verbose=0,
        callbacks=None,
        warm_start=False,
    ):
        self.structure = structure
        self.l2 = l2
        self.C = C
        self.l1 = l1
        self.l2_node = l2_node
        self.l2_edge = l2_edge
        self.l2_bias = l2_bias
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.states = states
        self.transitions = transitions
        self.fit_intercept = fit_intercept
        self.classes = classes
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callbacks = callbacks
        self.warm_start = warm_start

    def _surrogate(self, classes: tuple) -> LogLoss:
        return LogLoss()

    def _solver_name(self, regularizer: Any) -> Any:
        return "lbfgs" if isinstance(self.solver, str) and self.solver == "auto" else self.solver

    @available_if(_one_label)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities, shape (n_samples, n_classes); for ``Multiclass`` only."""
        return self.predict_marginals(X)
