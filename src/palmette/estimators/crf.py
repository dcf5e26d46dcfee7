"""Conditional random fields: maximum likelihood on any structure that has sums."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import log_softmax
from sklearn.utils.metaestimators import available_if

from palmette.data.batch import SparseRows
from palmette.estimators.blocks import node_scores
from palmette.estimators.kernel_fit import check_kernel_settings, fit_kernel
from palmette.estimators.kernel_learner import KernelEstimator
from palmette.estimators.prediction import one_label
from palmette.estimators.strengths import wanted_tol
from palmette.registry import register
from palmette.solvers.dual import why_not
from palmette.surrogates.log import LogLoss

# Dual ascent converges linearly, L-BFGS superlinearly near the end: below this tol the latter is faster. With few
# weights it is as fast, and ends nearer to the optimum.
DUAL_FROM, FEW_WEIGHTS = 1e-6, 2000
# Dual steps shorten with x^2 / l2. On CoNLL-2000 chunking dual ascent and L-BFGS break even about here, for attributes
# (x = 1) as l2 falls as well as for numbers beside them as they grow.
SHORT_STEPS = 50.0


@register("learner")
class CRF(KernelEstimator):
    r"""Conditional random field.

    Minimises ``sum_i [log Z(x_i) - f(x_i, y_i)] + (l2/2)|w|^2 + l1|w|_1`` with ``f(x, y) = <w, phi(x, y)>``.
    On ``Multiclass()`` this is multinomial logistic regression.

    Parameters
    ----------
    structure : structure object
        What an output is: ``Chain()``, ``Multiclass()``, ``SemiMarkov(max_length)``.
    l2, C : float, optional
        Strength of the L2 penalty, as itself or as ``l2 = 1 / C``; both is an error. (CRFsuite's ``c2`` is
        ``l2 / 2``.) Neither means the usual one: 1 for named features, label pairs and intercepts, which are there or
        not, and for columns of arrays a tenth of the number of columns times the geometric mean of their variances, so
        that predictions do not depend on the unit of the columns. ``l2="10x"`` is ten times as much of each.
        :class:`CRFCV` chooses it.
    l1 : float, default=0.0
        Strength of the L1 penalty (sparse weights).
    l2_node, l2_edge, l2_bias : float, optional
        L2 of feature, transition and intercept weights; ``l2`` by default.
    regularizer : Decomposition, GroupLasso or list of both, optional
        :class:`~palmette.regularizers.Decomposition` trains on random pieces of the samples (structure regularisation;
        solver "stochastic"), :class:`~palmette.regularizers.GroupLasso` drops whole groups of features (solver
        "proximal").
    kernel : kernel of ``palmette.kernels``, name, function of two tables, or None
        Scores labels at positions by a kernel of their rows (kernel logistic regression on ``Multiclass``); transitions
        keep their weights. Weights of an exact factor of the Gram matrix are learnt, so that this takes up to a few
        thousand distinct rows; ``Nystroem(...)`` maps the rows to features instead. ``l1``, ``regularizer``,
        ``edge_features`` and ``warm_start``, which speak of weights, are refused.
    cache_size : float, default=2000
        Megabytes for the Gram matrix and its factor, 16 bytes for each pair of distinct rows.
    solver : {"auto", "dual", "lbfgs", "stochastic", "bundle"} or solver object
        "auto": dual ascent for chains of order 1 with sparse features (none of them on edges), more than 2,000
        weights and L2 (and L1), down to ``tol=1e-6``, unless a feature value is large, ``x^2 > 50 l2``; "stochastic"
        with a decomposition, "proximal" with a group lasso; otherwise L-BFGS (OWL-QN with l1). The other solvers of
        convex losses serve too ("subgradient", "pegasos", "one_slack", "n_slack"), but take longer.
    tol : float, default=1e-4
        Relative suboptimality to reach, None for the default; ``result_.reason`` says what was reached.
    max_iter : int, optional
        Iterations (or epochs) at most; the solver's default if None.
    states, transitions : {"auto", "observed", "all"}
        Which (feature, label) and (label, label) weights exist: those seen in training or all. "auto": observed
        states for named features, all for arrays; all transitions.
    edge_features : None, "all", list of str, callable, or list of int, default=None
        Features that stand on edges: a weight for each label pair, at the edge into the position that has the feature.
        Named features: ``"all"`` or those for which ``edge_features(name)`` is true, which then have weights on
        positions too; or a list of prefixes of names, and what has such a prefix stands **only** on edges. Arrays:
        ``"all"`` or column numbers, on positions too. ``states`` says which pairs; ``l2_edge`` is their penalty.
    fit_intercept : {"auto", True, False}
        A bias per label. "auto": for arrays only.
    min_count : int, default=1
        Named features that occur fewer times in the training data get no weights.
    n_hash : int, optional
        Hash the names of features to so many columns instead of keeping a vocabulary: the memory does not grow with
        the number of features, some features share their weights, and the names are lost.
    classes : sequence, optional
        All labels, if some may be missing in the training data. Of ``Multiclass`` they are sorted, as scikit-learn
        expects of ``classes_``. Elsewhere their order is kept: it is that of codes, which decide between equally good
        outputs.
    class_weight : {"balanced"} or dict, optional
        ``Multiclass`` only: a weight for every label, by which the weights of its samples are multiplied; labels that
        the dict lacks have 1. "balanced": ``W / (K W_k)``, with the weights ``W_k`` of the samples of label k, ``W`` of
        all and K labels. Other structures refuse it: what a wrong label costs there is ``task_loss`` of
        :class:`~palmette.SSVM`.
    n_jobs : int, default=-1
        Threads; results do not depend on their number.
    random_state : int, RandomState or None, default=0
    verbose : int, default=0
        Progress bar on a terminal, log lines otherwise.
    callbacks : sequence of callables, optional
        Each is called with every :class:`palmette.solvers.Step`; a true result stops the run. One that has a true
        attribute ``sees_model`` is called with the step and a function that returns the model as it is then, to score
        held-out data, say.
    warm_start : bool, default=False
        Start from the weights of the last fit, matched by feature name and label.

    Attributes
    ----------
    classes_ : ndarray
    coef_ : ndarray
        All weights; ``transitions_`` and ``intercept_`` are copies of its blocks.
    result_ : palmette.solvers.Result
        Certificate: ``primal``, ``lower``, ``gap``, ``history``, ``reason``.
    objective_ : float
    l2_ : float
        L2 penalty of the weights of features, as given or the usual one.
    fit_seconds_ : dict
    support_, n_support_, dual_coef_
        With a kernel: the training rows that have a coefficient, their number, and the coefficients.

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
        regularizer=None,
        kernel=None,
        cache_size=2000,
        solver="auto",
        tol=1e-4,
        max_iter=None,
        states="auto",
        transitions="auto",
        edge_features=None,
        fit_intercept="auto",
        min_count=1,
        n_hash=None,
        classes=None,
        class_weight=None,
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
        self.regularizer = regularizer
        self.kernel = kernel
        self.cache_size = cache_size
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.states = states
        self.transitions = transitions
        self.edge_features = edge_features
        self.fit_intercept = fit_intercept
        self.min_count = min_count
        self.n_hash = n_hash
        self.classes = classes
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callbacks = callbacks
        self.warm_start = warm_start

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Learn from inputs ``X`` and outputs ``y``; see :class:`~palmette.estimators.base.StructuredEstimator`.

        Returns
        -------
        self
        """
        check_kernel_settings(self)
        if self.kernel is None:
            return super().fit(X, y, sample_weight)
        return fit_kernel(self, X, y, sample_weight)

    def _surrogate(self, classes: tuple) -> LogLoss:
        return LogLoss()

    def _solver_name(self, problem: Any) -> Any:
        if not (isinstance(self.solver, str) and self.solver == "auto"):
            return self.solver
        rows = problem.samples.batch.rows
        large = isinstance(rows, SparseRows) and problem.n_params > FEW_WEIGHTS
        if not large or wanted_tol(self) < DUAL_FROM or why_not(problem):
            return "lbfgs"
        largest = np.abs(rows.values).max(initial=1.0)
        return "dual" if largest * largest <= SHORT_STEPS * problem.regularizer.l2.min() else "lbfgs"

    @available_if(one_label)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities, shape (n_samples, n_classes); for ``Multiclass`` only."""
        return self.predict_marginals(X)

    @available_if(one_label)
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of the class probabilities, shape (n_samples, n_classes); for ``Multiclass`` only."""
        scores, _ = self._codes(X, node_scores)
        return log_softmax(scores, axis=1)
