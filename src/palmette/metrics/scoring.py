"""Measures under names, for ``scoring=`` of scikit-learn: tokens, whole outputs, chunks, orders.

scikit-learn keeps its own names in private state, so that others cannot be added. :func:`get_scorer` looks up both:
what it returns goes to ``cross_val_score``, ``GridSearchCV`` and the like, alone or in a dict of several.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

from sklearn.metrics import get_scorer as sklearn_scorer
from sklearn.metrics import make_scorer

from palmette.data.span_encodings import PLACE, split_label
from palmette.metrics.accuracy import check_samples, refuse_partial, sequence_accuracy, token_accuracy
from palmette.metrics.chunks import ChunkCounts, chunk_report
from palmette.metrics.ranking import mean_average_precision, ndcg


def chunk_f1(Y_true: Sequence[Any], Y_pred: Sequence[Any]) -> float:
    """F1 of chunks, ``2 correct / (true + predicted)``; a chunk is correct if type, start and end are.

    Parameters
    ----------
    Y_true, Y_pred : list of list of str, or of list of segments
        Chunk labels (``B-NP``, ``I-NP``, ``O``; any encoding of :func:`~palmette.metrics.chunks`), or segments
        ``(start, stop, label)`` as ``SemiMarkov`` has them.

    Examples
    --------
    >>> chunk_f1([["B-NP", "I-NP", "B-VP"]], [["B-NP", "I-NP", "O"]]) == 2 / 3
    True
    >>> chunk_f1([[(0, 2, "NP"), (2, 3, "VP")]], [[(0, 2, "NP")]]) == 2 / 3
    True
    """
    return _counts(Y_true, Y_pred).f1


def chunk_precision(Y_true: Sequence[Any], Y_pred: Sequence[Any]) -> float:
    """Share of the predicted chunks that are right; arguments as for :func:`chunk_f1`.

    >>> chunk_precision([["B-NP", "B-VP"]], [["B-NP", "O"]])
    1.0
    """
    return _counts(Y_true, Y_pred).precision


def chunk_recall(Y_true: Sequence[Any], Y_pred: Sequence[Any]) -> float:
    """Share of the true chunks that were found; arguments as for :func:`chunk_f1`.

    >>> chunk_recall([["B-NP", "B-VP"]], [["B-NP", "O"]])
    0.5
    """
    return _counts(Y_true, Y_pred).recall


def _counts(Y_true: Sequence[Any], Y_pred: Sequence[Any]) -> ChunkCounts:
    check_samples(Y_true, Y_pred)
    first = next((item for Y in (Y_true, Y_pred) for y in Y for item in y), "O")
    if _is_segment(first):
        refuse_partial(Y_true, "chunks")
        true, predicted = (
            {(i, *segment) for i, y in enumerate(Y) for segment in y} for Y in (Y_true, Y_pred)
        )
        return ChunkCounts(len(true), len(predicted), len(true & predicted))
    labels = {label for y in Y_true for label in y} - {"O"}
    if labels and not any(isinstance(label, str) and split_label(label)[0] in PLACE for label in labels):
        raise ValueError(
            f"no label marks a chunk (B-NP, I-NP, ...), such as {min(labels, key=str)!r}: use 'token_accuracy' or "
            "'sequence_accuracy' for such labels"
        )
    return chunk_report(Y_true, Y_pred).overall


def _is_segment(item: Any) -> bool:
    """Whether an entry of an output is a segment (start, stop, label), not a label."""
    return isinstance(item, tuple) and len(item) == 3 and all(isinstance(each, Integral) for each in item[:2])


def _token_accuracy(Y_true: Sequence[Any], Y_pred: Sequence[Any]) -> float:
    if any(_is_segment(item) for y in Y_true for item in y):
        raise ValueError(
            "token_accuracy compares labels of tokens, and these outputs are segments: leave scoring out, since the "
            "score of a SemiMarkov model is the share of its positions, or use 'chunk_f1'"
        )
    return token_accuracy(Y_true, Y_pred)


def _sequence_accuracy(Y_true: Sequence[Any], Y_pred: Sequence[Any]) -> float:
    if any(_is_segment(item) for y in Y_true for item in y):
        refuse_partial(Y_true, "segments")
    # Segments may be given in any order; labels are told from each other by their places.
    return sequence_accuracy(
        *([sorted(y) if len(y) and _is_segment(y[0]) else y for y in Y] for Y in (Y_true, Y_pred))
    )


@dataclass(frozen=True)
class QueryScorer:
    """A measure of rankings as a scorer: called with a fitted learner, queries and grades.

    Documents are ranked by ``row_scores``, so that equal scores count as the mean over their orders. A search
    (``GridSearchCV``) is asked for its best estimator, a ``Pipeline`` for its last step.

    Parameters
    ----------
    measure : callable
        ``measure(grades, scores)``, lists of arrays.
    k : int, optional
        Ranks that count, as the argument ``k`` of the measure.

    Examples
    --------
    >>> import numpy as np
    >>> from palmette import PlackettLuce
    >>> X, y = [np.array([[0.0], [2.0], [1.0]])], [[0, 2, 1]]
    >>> QueryScorer(ndcg, k=2)(PlackettLuce().fit(X, y), X, y)
    1.0
    """

    measure: Callable[..., float]
    k: int | None = None

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        """The measure of a fitted estimator on queries ``X`` with grades ``y``."""
        while not hasattr(estimator, "row_scores"):
            if hasattr(estimator, "best_estimator_"):
                estimator = estimator.best_estimator_
            elif hasattr(estimator, "steps"):
                X, estimator = estimator[:-1].transform(X), estimator[-1]
            else:
                raise TypeError(
                    f"{type(estimator).__name__} has no row_scores, by which documents are ranked: the scorer is for "
                    "learners of palmette on rankings, alone, in a Pipeline or in a search"
                )
        structure = getattr(estimator, "structure", None)
        if structure is not None and not structure.compares_rows:
            others = ", ".join(name for name, known in SCORERS.items() if not isinstance(known, QueryScorer))
            raise TypeError(
                f"this scorer measures rankings, and {type(estimator).__name__} with "
                f"{type(structure).__name__} ranks nothing: use {others}, or a name of scikit-learn"
            )
        options = {} if self.k is None else {"k": self.k}
        return float(self.measure(y, estimator.row_scores(X), **options))


SCORERS: dict[str, Any] = {
    "token_accuracy": make_scorer(_token_accuracy),
    "sequence_accuracy": make_scorer(_sequence_accuracy),
    "chunk_f1": make_scorer(chunk_f1),
    "chunk_precision": make_scorer(chunk_precision),
    "chunk_recall": make_scorer(chunk_recall),
    "ndcg": QueryScorer(ndcg),
    "ndcg@5": QueryScorer(ndcg, 5),
    "ndcg@10": QueryScorer(ndcg, 10),
    "mean_average_precision": QueryScorer(mean_average_precision),
}
"""The scorers of structured outputs by name: ``scorer(estimator, X, y)``, the higher the better."""


def get_scorer(name: Any) -> Any:
    """The scorer of a name: one of ``SCORERS``, ``"ndcg@k"`` for any k, or a name of scikit-learn.

    Parameters
    ----------
    name : str or callable
        A callable is returned as it is.

    Returns
    -------
    callable
        ``scorer(estimator, X, y)``, for ``scoring=`` of ``cross_val_score``, ``GridSearchCV`` and the like.

    Examples
    --------
    >>> from sklearn.model_selection import cross_val_score
    >>> from palmette import CRF, Chain
    >>> from palmette.datasets import make_tagging
    >>> X, y = make_tagging(30, 3, 12, random_state=0)
    >>> scores = cross_val_score(CRF(Chain()), X, y, cv=3, scoring=get_scorer("sequence_accuracy"))
    >>> scores.shape
    (3,)
    """
    if not isinstance(name, str):
        return sklearn_scorer(name)
    head, _, k = name.partition("@")
    if name not in SCORERS and head == "ndcg" and k.isdecimal() and int(k) > 0:
        return QueryScorer(ndcg, int(k))
    try:
        return SCORERS[name] if name in SCORERS else sklearn_scorer(name)
    except ValueError as error:
        raise ValueError(
            f"scoring={name!r} is unknown; the scorers of structured outputs are {', '.join(SCORERS)} and ndcg@k, "
            "and scikit-learn has others (sklearn.metrics.get_scorer_names())"
        ) from error
