"""Plackett-Luce: maximum likelihood of orders of documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from palmette.contracts.problem import SampledProblem
from palmette.contracts.structure import Structure
from palmette.estimators.kernel_learner import KernelEstimator
from palmette.estimators.strengths import Penalties
from palmette.estimators.tuned import Tuned
from palmette.registry import register
from palmette.regularizers import GroupLasso
from palmette.structures.ranking.likely_orders import likely_orders, log_probability
from palmette.structures.ranking.plackett_luce_loss import PlackettLuceLoss
from palmette.structures.ranking.ranking import Ranking
from palmette.structures.ranking.tables import RankingTables


@register("learner")
@dataclass(eq=False, repr=False, kw_only=True)
class PlackettLuce(KernelEstimator, Penalties):
    r"""Plackett-Luce model of rankings: orders drawn place by place with probabilities ``~ exp(score)``.

    The documents of a query have scores ``s_d = <w, x_d>``, and an order has the probability
    ``P(order) = prod_i exp(s_i) / sum_{j >= i} exp(s_j)``, i and j being places. Minimises

    ``sum_q -log P(documents of q come in the order of their grades) + (l2/2)|w|^2 + l1|w|_1``,

    which is convex for every way to treat ties (``PlackettLuceLoss`` beside it has the formulas), so
    that the optimum is certified. With two documents per query this is logistic regression on the differences of their
    features; with one document above all others it is a conditional logit model.

    Parameters
    ----------
    l2, C : float, optional
        Strength of the L2 penalty, as itself or as ``l2 = 1 / C``; both is an error. Neither means the usual one: 1 for
        named features, and for columns of arrays their number times the geometric mean of their variances within
        queries. ``l2="10x"`` is ten times as much. :class:`PlackettLuceCV` chooses it.
    l1 : float, default=0.0
        Strength of the L1 penalty (sparse weights).
    ties : {"exact", "efron", "breslow"}, default="exact"
        Documents of equal grade: the probability that all of them come before all lower ones, in whatever order, by
        quadrature to rounding; or Efron's or Breslow's bound of it, which are faster. Complete orders are grades that
        all differ, and have no ties.
    top : int, optional
        Only grades that begin among the first ``top`` places count; all by default. For complete orders that is the
        likelihood of the first ``top`` places.
    regularizer : GroupLasso, optional
        Drops whole groups of features (solver "proximal").
    solver : {"auto", "lbfgs", "bundle", "proximal", "stochastic", "subgradient"} or solver object
        "auto" is L-BFGS (OWL-QN with l1), and "proximal" with a group lasso.
    kernel, kernel_options, encoding, tol, max_iter, n_jobs, random_state, verbose, callbacks, warm_start
        As for :class:`~palmette.CRF`; documents are compared by the kernel.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
    result_, objective_, l2_, fit_seconds_
        As for :class:`~palmette.CRF`.

    Notes
    -----
    Queries of one document or of one grade have the probability 1 whatever the weights are: they stay, contribute 0,
    and a warning counts them.

    Examples
    --------
    Queries with features of their documents, and grades of relevance:

    >>> from palmette import PlackettLuce
    >>> X = [np.array([[0.0], [2.0], [1.0]]), np.array([[1.0], [3.0]])]
    >>> y = [[0, 2, 1], [0, 1]]
    >>> model = PlackettLuce(C=1.0).fit(X, y)
    >>> [order.tolist() for order in model.predict(X)]  # the best document first
    [[1, 2, 0], [1, 0]]
    >>> model.predict_top([[[0.0], [1.0]]])[0].round(2)  # probability to be the first
    array([0.28, 0.72])
    >>> model.sample(X, 2, random_state=1)[0]  # orders drawn at random
    array([[2, 1, 0],
           [1, 2, 0]])
    """

    _loss_name = "Plackett-Luce"
    usual_tol = 1e-4
    _takes_groups = True
    usual_share = 1.0
    _marginals = "predict_marginals(X) has the probability of every document at every rank"

    ties: str = "exact"
    top: int | None = None
    regularizer: GroupLasso | None = None

    @property
    def structure(self) -> Ranking:  # type: ignore[override]
        """Always rankings, with ties in any order; the weights of ranks play no part."""
        return Ranking(ties="best")

    def _partial_surrogate(self, classes: tuple[Any, ...]) -> PlackettLuceLoss:
        return self._surrogate(classes)

    def _surrogate(self, classes: tuple[Any, ...] = ()) -> PlackettLuceLoss:
        return PlackettLuceLoss(self.ties, self.top)

    def _check_structure(self) -> None:
        self._surrogate()  # checks its settings before any work
        super()._check_structure()

    def _solver_name(self, problem: SampledProblem) -> Any:
        return "lbfgs" if isinstance(self.solver, str) and self.solver == "auto" else self.solver

    # -- probabilities ------------------------------------------------------------------------------------------

    def log_proba(self, X: Any, y: Any) -> np.ndarray:
        """Log-probability that the documents of each query come in the order of the grades ``y``.

        Ties and ``top`` are treated as in training; with Efron's or Breslow's ties it is a lower bound. An order as
        :meth:`predict` and :meth:`sample` return it has the grades ``len(order) - 1 - np.argsort(order)``.

        Returns
        -------
        ndarray of shape (n_queries,)
            0 for an empty query.
        """
        return self._of_outputs(X, y, _log_likelihood, self._surrogate())

    def predict_top(self, X: Any, k: int = 1) -> list[np.ndarray]:
        """Probability of every document to be among the first k of its query.

        Returns
        -------
        list of ndarray of shape (n_documents,)
            For k = 1 proportional to ``exp(score)``; the sum over a query is k, or its number of documents if it has
            fewer.
        """
        check_count("k", k)
        found, offsets = self._codes(X, _among_first, k)
        return [np.minimum(found[a:b], 1.0) for a, b in zip(offsets[:-1], offsets[1:])]

    def predict_marginals(self, X: Any) -> list[np.ndarray]:
        """Probability of every document at every rank.

        Returns
        -------
        list of ndarray of shape (n_documents, n_documents)
            Rows are documents, columns ranks; both add up to 1.
        """
        return [
            first_ranks(RankingTables(scores, np.array([0, len(scores)])), len(scores))
            for scores in self.row_scores(X)
        ]

    def predict_nbest(self, X: Any, n: int = 10) -> list[list[tuple[Any, float]]]:
        """The n most probable orders of every query with their log-probabilities, the best first."""
        check_count("n", n)
        return [list(likely_orders(scores, int(n))) for scores in self.row_scores(X)]

    def predict_score(self, X: Any) -> np.ndarray:
        """Log-probability of the predicted order of every query, shape (n_queries,); 0 for an empty one."""
        return np.array([log_probability(-np.sort(-scores)) for scores in self.row_scores(X)])

    def sample(self, X: Any, n_draws: int = 1, random_state: Any = None) -> list[np.ndarray]:
        """Orders drawn at random: the documents sorted by ``score + Gumbel noise``, which is exact.

        Returns
        -------
        list of ndarray of int, shape (n_draws, n_documents)
            Each row the documents of the query, the first first, as :meth:`predict` has them.
        """
        check_count("n_draws", n_draws)
        random = check_random_state(random_state)
        return [
            np.argsort(-(scores + random.gumbel(size=(n_draws, len(scores)))), axis=1, kind="stable")
            for scores in self.row_scores(X)
        ]


def first_ranks(theta: RankingTables, k: int) -> np.ndarray:
    """Probability of every document at each of the first k ranks, shape (n_rows, k)."""
    from palmette.structures.ranking.kernels.plackett_luce_ranks import rank_probabilities

    if len(theta.node):
        theta.check()
    out = np.empty((len(theta.node), min(k, max(theta.longest, 1))))
    rank_probabilities(theta.node, theta.offsets, out)
    return out


def check_count(name: str, value: Any) -> None:
    """Refuse anything but a number of things."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} must be an integer of at least 1, got {value!r}")


@register("learner")
class PlackettLuceCV(Tuned, PlackettLuce):
    """Plackett-Luce model of rankings whose L2 penalty is chosen by cross-validation over queries.

    As :class:`CRFCV`, with the parameters of :class:`PlackettLuce` in place of those of :class:`CRF`; scores are NDCG.

    Examples
    --------
    >>> import numpy as np
    >>> from palmette import PlackettLuceCV
    >>> rng = np.random.default_rng(0)
    >>> X = [rng.standard_normal((8, 5)) for _ in range(30)]
    >>> y = [(x[:, 0] + rng.standard_normal(8) > 0.5).astype(int) for x in X]
    >>> model = PlackettLuceCV(l2s=[1.0, 10.0, 100.0]).fit(X, y)
    >>> model.l2_ in model.l2s_, model.cv_scores_.shape
    (True, (3, 3))
    """


def _log_likelihood(structure: Structure, theta: Any, codes: np.ndarray, surrogate: Any) -> np.ndarray:
    return 0.0 - surrogate.evaluate(structure, theta, codes, np.ones(len(theta))).values


def _among_first(structure: Structure, theta: Any, k: int) -> np.ndarray:
    return first_ranks(theta, k).sum(axis=1)
