"""The most probable orders of a Plackett-Luce model."""

from __future__ import annotations

import heapq
from collections.abc import Iterator

import numpy as np


def likely_orders(scores: np.ndarray) -> Iterator[tuple[np.ndarray, float]]:
    """All orders of documents with their log-probabilities, the most probable first.

    ``log P(order) = sum_i [s_i - log sum_{j >= i} exp(s_j)]`` over places. Exchanging neighbours of which the second
    has the higher score does not lower it, so each order but the sorted one is found from one at least as probable.

    >>> [(order.tolist(), round(p, 3)) for order, p in likely_orders(np.log([1.0, 3.0]))]
    [([1, 0], -0.288), ([0, 1], -1.386)]
    """
    first = np.argsort(-scores, kind="stable")
    own = scores[first]
    start = tuple(range(len(scores)))  # the documents at the places, numbered by falling score
    waiting, seen = [(-log_probability(own), start)], {start}
    while waiting:
        value, order = heapq.heappop(waiting)
        yield first[list(order)], -value
        for i in range(len(order) - 1):
            if order[i] < order[i + 1]:
                other = (*order[:i], order[i + 1], order[i], *order[i + 2 :])
                if other not in seen:
                    seen.add(other)
                    heapq.heappush(waiting, (-log_probability(own[list(other)]), other))


def log_probability(scores: np.ndarray) -> float:
    """Log-probability of the order in which the scores stand.

    >>> round(log_probability(np.log([3.0, 1.0])), 3)
    -0.288
    """
    return float(np.sum(scores - np.logaddexp.accumulate(scores[::-1])[::-1]))
