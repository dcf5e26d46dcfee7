"""Conditional random fields: maximum likelihood on any structure that has sums."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import log_softmax
from sklearn.utils.metaestimators import available_if

from palmette.contracts.problem import SampledProblem
from palmette.data.batch import SparseRows
from palmette.estimators.blocks import node_scores
from palmette.estimators.kernel_learner import LabelEstimator
from palmette.estimators.prediction import one_label
from palmette.estimators.strengths import BlockPenalties, wanted_tol
from palmette.loops import find
from palmette.registry import register
from palmette.solvers.dual import has_long_steps, why_not
from palmette.solvers.scaling import in_scale
from palmette.surrogates.log import LogLoss
from palmette.surrogates.partial import MarginalLogLoss

# Dual ascent converges linearly, L-BFGS superlinearly near the end: below this tol the latter is faster. With few
# weights it is as fast, and ends nearer to the optimum.
DUAL_FROM, FEW_WEIGHTS = 1e-6, 2000


@register("learner")
@dataclass(eq=False, repr=False, kw_only=True)
class CRF(LabelEstimator, BlockPenalties):
    r"""Conditional random field.

    Minimises ``sum_i [log Z(x_i) - f(x_i, y_i)] + (l2/2)|w|^2 + l1|w|_1`` with ``f(x, y) = <w, phi(x, y)>``.
    On ``Multiclass()``: multinomial logistic regression. Parts of ``y`` may be :data:`~palmette.UNKNOWN` or ``OneOf``.

    Parameters
    ----------
    structure : structure object
        What an output is: ``Chain()``, ``Multiclass()``, ``SemiMarkov(max_length)``, ``Graph()``.
    l2, C : float or str, optional
        L2 penalty, as itself or as ``l2 = 1 / C``. By default the usual one: 1, and for columns of arrays a tenth of
        their number times the geometric mean of their variances. ``l2="10x"`` is ten times that. :class:`CRFCV` chooses
        it. (CRFsuite's ``c2`` is ``l2 / 2``.)
    l1, l2_node, l2_edge, l2_bias : float, default=0.0; float or str, optional
        L1 penalty, which makes weights exactly 0; L2 of feature, transition and intercept weights, ``l2`` by default.
    regularizer : Decomposition, GroupLasso or list of both, optional
        Trains on random pieces of the samples; drops whole groups of features.
    kernel : kernel of ``palmette.kernels``, name, function of two tables, or None
        Scores labels at positions by a kernel of their rows instead of weights of features, for up to a few thousand
        distinct rows; ``Nystroem(...)`` maps the rows to features instead.
    solver : {"auto", "dual", "lbfgs", "stochastic", "bundle", "proximal", ...} or solver object
        "auto": dual ascent for chains, segments and forests with many sparse features, unless ``tol`` is below 1e-6 or
        values are large; "stochastic" with a decomposition, "proximal" with a group lasso; else L-BFGS.
    tol, max_iter : float, default=1e-4; int, optional
        Relative suboptimality to reach (``result_.reason`` says what was reached); iterations or epochs at most.
    encoding, kernel_options : Encoding, KernelOptions, optional
        Rare features, hashing and which weights exist; memory for kernels.
    edge_features : None, "all", list of str, callable, or list of int, default=None
        Features with a weight for each label pair, at the edge into the position that has the feature: all, those whose
        name begins with one of some prefixes (and which then stand **only** on edges), or for which
        ``edge_features(name)`` is true; columns of arrays by number. ``l2_edge`` is their penalty.
    fit_intercept : {"auto", True, False}
        A bias per label. "auto": for arrays only.
    classes : sequence, optional
        All labels, if ``y`` may lack some; their order decides between equally good outputs (``Multiclass``: sorted).
    class_weight : {"balanced"} or dict, optional
        ``Multiclass`` only: factor of the weights of samples, by label; "balanced" gives all labels the same weight.
    n_jobs, random_state : int, default=-1; int, RandomState or None, default=0
        Threads, whose number does not change results; seed of stochastic solvers.
    verbose, callbacks, warm_start : int, default=0; sequence of callables, optional; bool, default=False
        Progress; functions of every :class:`palmette.solvers.Step` (and, if their attribute ``sees_model`` is true, of
        a function that returns the model at that step), which stop the run by a true result; start from the weights of
        the last fit, matched by feature name and label.

    Attributes
    ----------
    classes_, coef_, objective_, l2_, fit_seconds_
        Labels, all weights (``transitions_`` and ``intercept_`` are blocks of them), value reached, L2 of features.
    result_, annotation_, support_, n_support_, dual_coef_
        Certificate (:class:`palmette.solvers.Result`); with a kernel: rows with a coefficient, number, coefficients.

    Examples
    --------
    >>> from palmette import CRF, Chain
    >>> X = [[{"w": "the"}, {"w": "dog"}, {"w": "barks"}], [{"w": "the"}, {"w": "cat"}]]
    >>> Y = [["D", "N", "V"], ["D", "N"]]
    >>> model = CRF(Chain(), l2=0.1).fit(X, Y)
    >>> model.predict([[{"w": "the"}, {"w": "cat"}, {"w": "barks"}]])
    [['D', 'N', 'V']]
    """

    _loss_name = "log"
    usual_tol = 1e-4
    _takes_groups = True

    def _surrogate(self, classes: tuple[Any, ...]) -> LogLoss:
        return LogLoss()

    def _partial_surrogate(self, classes: tuple[Any, ...]) -> MarginalLogLoss:
        return MarginalLogLoss()

    def _solver_name(self, problem: SampledProblem) -> Any:
        if not (isinstance(self.solver, str) and self.solver == "auto"):
            return self.solver
        rows = problem.samples.batch.rows
        large = isinstance(rows, SparseRows) and problem.n_params > FEW_WEIGHTS
        if not large or wanted_tol(self) < DUAL_FROM or why_not(problem):
            return "lbfgs"
        loop = find("dual", problem)
        if len(rows.indices) <= loop.few_features:
            return "lbfgs"
        # Short steps are left to L-BFGS during the run, unless it has to scale the columns.
        return "dual" if has_long_steps(problem) or in_scale(problem) is problem else "lbfgs"

    @available_if(one_label)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities, shape (n_samples, n_classes); for ``Multiclass`` only."""
        return self.predict_marginals(X)

    @available_if(one_label)
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of the class probabilities, shape (n_samples, n_classes); for ``Multiclass`` only."""
        scores, _ = self._by_row(X, node_scores)
        return log_softmax(scores, axis=1)
