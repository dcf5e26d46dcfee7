"""The most probable orders of a Plackett-Luce model."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from palmette.structures.ranking.search import by_exchanges, preference


def likely_orders(scores: np.ndarray, k: int) -> Iterator[tuple[np.ndarray, float]]:
    """The k most probable orders of documents with their log-probabilities, the most probable first.

    ``log P(order) = sum_i [s_i - log sum_{j >= i} exp(s_j)]`` over places. To exchange the documents of places i and
    i + 1 changes the sum from i + 1 on, and no other.

    >>> [(order.tolist(), round(p, 3)) for order, p in likely_orders(np.log([1.0, 3.0]), 2)]
    [([1, 0], -0.288), ([0, 1], -1.386)]
    """
    first = preference(scores)
    own = scores[first]

    def lost(order: np.ndarray) -> np.ndarray:
        here = own[order]
        below = np.append(_sums_to_the_end(here)[2:], -np.inf)[: max(len(here) - 1, 0)]
        return np.logaddexp(here[:-1], below) - np.logaddexp(here[1:], below)

    for order, _ in by_exchanges(len(scores), log_probability(own), lost, k):
        yield first[order], log_probability(own[order])  # not the sum of many differences, which would round


def log_probability(scores: np.ndarray) -> float:
    """Log-probability of the order in which the scores stand.

    >>> round(log_probability(np.log([3.0, 1.0])), 3)
    -0.288
    """
    return float(np.sum(scores - _sums_to_the_end(scores)))


def _sums_to_the_end(scores: np.ndarray) -> np.ndarray:
    """``log sum_{j >= i} exp(s_j)`` for every place i."""
    return np.logaddexp.accumulate(scores[::-1])[::-1]
