"""How good orders of documents are: NDCG, average precision, precision at k, reciprocal rank.

A query has grades of relevance ``g_d`` (non-negative integers, 0 = not relevant) and scores ``s_d``; documents are
ranked by falling score. Documents with equal scores have no order: by default every measure is its exact mean over
all orders within the tied groups. Their order in the file (``ties="order"``) is often informative, so that a constant
score would look good for no reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from palmette.data.annotation import UNKNOWN
from palmette.metrics.tally import Tally

Ties = Literal["average", "order"]
Convention = Literal["letor", "standard", "linear"]
_CONVENTIONS = ("letor", "standard", "linear")


class Groups(NamedTuple):
    """A ranked query: documents in groups of equal scores, best first.

    ``ends[j]`` documents are in the groups up to j; ``gains`` and ``relevant`` are sums over each group.
    """

    ends: np.ndarray
    gains: np.ndarray
    relevant: np.ndarray

    @property
    def sizes(self) -> np.ndarray:
        """Documents of each group."""
        return np.diff(self.ends, prepend=0)


def ndcg(
    Y_true: Sequence[Any],
    scores: Sequence[Any],
    k: int | Sequence[int] | None = None,
    *,
    convention: Convention = "letor",
    ties: Ties = "average",
    per_query: bool = False,
) -> Any:
    """Normalised discounted cumulative gain, the DCG of an order divided by that of the best order.

    ``DCG@k = sum_{r <= k} gain(g_r) discount(r)`` over ranks r from 1.

    A query without relevant documents scores 0 and stays in the mean. If a query has fewer than k documents, all
    count.

    Parameters
    ----------
    Y_true : list of arrays of int
        Grades of the documents of each query. Those of the grade ``UNKNOWN`` are left out.
    scores : list of arrays of float
        Their scores, higher is better.
    k : int, list of int or None
        Ranks that count; None for all. A list gives one value each.
    convention : {"letor", "standard", "linear"}, default="letor"
        ===========  ============  =======================================
        name         gain          discount of rank r
        ===========  ============  =======================================
        "letor"      2^g - 1       1 at ranks 1 and 2, then 1 / log2(r)
        "standard"   2^g - 1       1 / log2(r + 1)
        "linear"     g             1 / log2(r + 1), as scikit-learn has it
        ===========  ============  =======================================
    ties : {"average", "order"}, default="average"
        Equal scores: the mean over all their orders, or the order in which they are given.
    per_query : bool, default=False
        Return the values of all queries instead of their mean.

    Returns
    -------
    float, or ndarray of shape (n_queries,), (n_k,) or (n_queries, n_k)

    Examples
    --------
    >>> ndcg([[0, 1, 2]], [[0.1, 0.2, 0.3]], k=2)
    1.0
    >>> round(ndcg([[0, 1, 2]], [[0.0, 0.0, 0.0]]), 4)  # any of six orders
    0.877
    >>> ndcg([[0, 1], [0, 0]], [[1.0, 2.0], [1.0, 2.0]], k=[1, 2])
    array([0.5, 0.5])
    """
    if convention not in _CONVENTIONS:
        raise ValueError(
            f"convention must be one of {', '.join(map(repr, _CONVENTIONS))}, got {convention!r}"
        )
    cuts, queries = _checked(Y_true, scores, k, ties, linear=convention == "linear")

    def of_query(grades: np.ndarray, score: np.ndarray) -> list[float]:
        gain = grades if convention == "linear" else np.exp2(grades) - 1.0
        groups = _groups(gain, grades, score, ties)
        below = np.append(0.0, np.cumsum(_discounts(len(grades), convention)))
        best = np.append(0.0, np.cumsum(np.sort(gain)[::-1] * np.diff(below)))
        values = []
        for cut in cuts:
            top = min(cut, len(grades))
            # discounts that a group shares
            spread = np.diff(below[np.minimum(groups.ends, top)], prepend=0.0)
            reached = float((groups.gains / groups.sizes) @ spread)
            values.append(reached / best[top] if best[top] > 0 else 0.0)
        return values

    return _each(of_query, queries, k, per_query)


def mean_average_precision(
    Y_true: Sequence[Any],
    scores: Sequence[Any],
    *,
    relevant: int = 1,
    ties: Ties = "average",
    per_query: bool = False,
) -> Any:
    """Mean over queries of the average precision at the ranks of relevant documents.

    ``AP = 1/R sum_{r: document r relevant} (relevant documents up to rank r) / r``; 0 if a query has none.

    Parameters
    ----------
    Y_true, scores, ties, per_query
        As for `ndcg`.
    relevant : int, default=1
        Lowest grade that counts as relevant.

    Examples
    --------
    >>> round(mean_average_precision([[1, 0, 2]], [[3.0, 2.0, 1.0]]), 4)
    0.8333
    """
    _, queries = _checked(Y_true, scores, None, ties, lowest=relevant)

    def of_query(grades: np.ndarray, score: np.ndarray) -> list[float]:
        groups = _groups(grades, grades >= relevant, score, ties)
        total, before, found = 0.0, 0, 0.0
        for size, hits in zip(groups.sizes.tolist(), groups.relevant.tolist()):
            # A place of the group is relevant with probability hits / size; if so, each of the j earlier places is
            # with probability (hits - 1) / (size - 1).
            earlier = np.arange(size) * ((hits - 1.0) / max(size - 1, 1))
            ranks = before + np.arange(1, size + 1)
            total += hits / size * float(((found + 1.0 + earlier) / ranks).sum())
            before, found = before + size, found + hits
        return [total / found if found else 0.0]

    return _each(of_query, queries, 1, per_query)


def precision_at(
    Y_true: Sequence[Any],
    scores: Sequence[Any],
    k: int | Sequence[int],
    *,
    relevant: int = 1,
    ties: Ties = "average",
    per_query: bool = False,
) -> Any:
    """Share of relevant documents among the first k, ``(relevant documents up to rank k) / k``.

    The divisor is k also for queries with fewer documents, as in LETOR.

    Parameters
    ----------
    Y_true, scores, ties, per_query
        As for `ndcg`.
    k : int or list of int
    relevant : int, default=1
        Lowest grade that counts as relevant.

    Examples
    --------
    >>> precision_at([[1, 0, 2, 0]], [[4.0, 3.0, 2.0, 1.0]], k=[1, 2, 4])
    array([1. , 0.5, 0.5])
    """
    if k is None:
        raise ValueError("precision_at needs k, the number of documents that count")
    cuts, queries = _checked(Y_true, scores, k, ties, lowest=relevant)

    def of_query(grades: np.ndarray, score: np.ndarray) -> list[float]:
        groups = _groups(grades, grades >= relevant, score, ties)
        shares = groups.relevant / groups.sizes
        return [float(shares @ np.diff(np.minimum(groups.ends, cut), prepend=0)) / cut for cut in cuts]

    return _each(of_query, queries, k, per_query)


def reciprocal_rank(
    Y_true: Sequence[Any],
    scores: Sequence[Any],
    *,
    relevant: int = 1,
    ties: Ties = "average",
    per_query: bool = False,
) -> Any:
    """Mean over queries of ``1 / (rank of the first relevant document)``, 0 if there is none.

    Parameters
    ----------
    Y_true, scores, ties, per_query
        As for `ndcg`.
    relevant : int, default=1
        Lowest grade that counts as relevant.

    Examples
    --------
    >>> reciprocal_rank([[0, 1, 0], [0, 2, 1]], [[3.0, 2.0, 1.0], [0.0, 2.0, 1.0]])
    0.75
    """
    _, queries = _checked(Y_true, scores, None, ties, lowest=relevant)

    def of_query(grades: np.ndarray, score: np.ndarray) -> list[float]:
        groups = _groups(grades, grades >= relevant, score, ties)
        if not groups.relevant.any():
            return [0.0]
        first = int(np.flatnonzero(groups.relevant)[0])
        size, hits = int(groups.sizes[first]), int(groups.relevant[first])
        ranks = groups.ends[first] - size + np.arange(1, size + 1)
        # The first j places of the group hold none of its relevant documents with this probability.
        places = np.arange(size)
        none_yet = np.cumprod(np.append(1.0, np.maximum(0.0, 1.0 - hits / (size - places))))
        return [float((-np.diff(none_yet) / ranks).sum())]

    return _each(of_query, queries, 1, per_query)


def tally_queries(name: str, values: Any) -> Tally:
    """A mean over queries as a tally, for `bootstrap_interval` and `compare`: which differences are chance?

    Parameters
    ----------
    name : str
        Of the measure; only equal names are compared.
    values : array of shape (n_queries,)
        Such as ``ndcg(..., k=10, per_query=True)``.

    Examples
    --------
    >>> from palmette.metrics import compare
    >>> rng = np.random.default_rng(0)
    >>> good, bad = rng.normal(0.5, 0.1, 100), rng.normal(0.4, 0.1, 100)
    >>> found = compare(tally_queries("NDCG@10", good), tally_queries("NDCG@10", bad))
    >>> found.p_value < 0.001, 0.01 < found.error < 0.02
    (True, True)
    """
    values = np.asarray(values, np.float64)
    if values.ndim != 1 or not np.isfinite(values).all():
        raise ValueError(
            f"values must be one finite number per query, got an array of shape {values.shape}; use per_query=True"
        )
    return Tally(name, values, np.ones(len(values)))


# -- ranks and groups -------------------------------------------------------------------------------------------------


def _discounts(n: int, convention: str) -> np.ndarray:
    ranks = np.arange(1, n + 1)
    return 1.0 / np.log2(np.maximum(ranks, 2) if convention == "letor" else ranks + 1)


def _groups(gain: np.ndarray, relevant: np.ndarray, score: np.ndarray, ties: str) -> Groups:
    order = np.argsort(-score, kind="stable")
    ends = np.arange(1, len(order) + 1)
    if ties == "average":
        ends = np.append(ends[:-1][np.diff(score[order]) != 0], len(order))
    starts = np.append(0, ends[:-1])
    gains, hits = (np.add.reduceat(part[order].astype(np.float64), starts) for part in (gain, relevant))
    return Groups(ends, gains, hits)


def _each(
    of_query: Callable[[np.ndarray, np.ndarray], list[float]],
    queries: Iterable[tuple[np.ndarray, np.ndarray]],
    k: int | Sequence[int] | None,
    per_query: bool,
) -> Any:
    values = np.array([of_query(*query) for query in queries])
    if k is None or np.ndim(k) == 0:
        values = values[:, 0]
    if per_query:
        return values
    mean = values.mean(axis=0)
    return float(mean) if mean.ndim == 0 else mean


# -- checks -----------------------------------------------------------------------------------------------------------


def _checked(
    Y_true: Sequence[Any],
    scores: Sequence[Any],
    k: int | Sequence[int] | None,
    ties: str,
    *,
    linear: bool = False,
    lowest: int = 1,
) -> tuple[list[int], list[tuple[np.ndarray, np.ndarray]]]:
    """The cuts as a list, and grades and scores of each query as arrays."""
    if ties not in ("average", "order"):
        raise ValueError(f"ties must be 'average' or 'order', got {ties!r}")
    if lowest < 1:
        raise ValueError(f"relevant must be at least 1, since grade 0 means not relevant, got {lowest!r}")
    if len(Y_true) != len(scores):
        raise ValueError(
            f"there are grades of {len(Y_true)} queries but scores of {len(scores)}; give both of each"
        )
    if not len(Y_true):
        raise ValueError("there are no queries, so that there is no mean; give at least one")
    queries = [_query(i, *pair, linear) for i, pair in enumerate(zip(Y_true, scores))]
    if k is None:
        return [max(len(grades) for grades, _ in queries)], queries
    cuts = [int(cut) for cut in np.atleast_1d(k)]
    if not cuts or min(cuts) < 1 or not np.array_equal(cuts, np.atleast_1d(k)):
        raise ValueError(f"k must be a rank of at least 1, or a list of such, got {k!r}")
    return cuts, queries


def has_ungraded(grades: Any) -> bool:
    """Whether a document of a query has the grade UNKNOWN."""
    if isinstance(grades, np.ndarray) and grades.dtype != object:
        return False
    return isinstance(grades, list | tuple | np.ndarray) and any(grade is UNKNOWN for grade in grades)


def _query(i: int, grades: Any, scores: Any, linear: bool) -> tuple[np.ndarray, np.ndarray]:
    scores = np.asarray(scores, np.float64)
    if has_ungraded(grades) and len(grades) == len(scores):  # these documents may stand anywhere
        known = [grade is not UNKNOWN for grade in grades]
        grades, scores = [grade for grade in grades if grade is not UNKNOWN], scores[known]
        if not grades:
            raise ValueError(f"query {i} has no document with a grade; leave it out")
    grades = np.asarray(grades, np.float64)
    if grades.ndim != 1 or grades.shape != scores.shape:
        raise ValueError(
            f"query {i}: grades have shape {grades.shape}, scores {scores.shape}; one number per document is needed"
        )
    if not len(grades):
        raise ValueError(f"query {i} has no documents; leave it out")
    bad = np.flatnonzero(~np.isfinite(scores))
    if len(bad):
        raise ValueError(
            f"query {i}, document {bad[0]}: the score is {scores[bad[0]]}; scores must be finite"
        )
    wrong = ~(np.isfinite(grades) & (grades >= 0))
    if not linear:
        wrong |= (grades != np.floor(grades)) | (grades > 60)
    bad = np.flatnonzero(wrong)
    if len(bad):
        kinds = "a finite number >= 0" if linear else "an integer from 0 to 60"
        raise ValueError(
            f"query {i}, document {bad[0]}: the grade is {grades[bad[0]]:g}, but must be {kinds}"
        )
    return grades, scores
