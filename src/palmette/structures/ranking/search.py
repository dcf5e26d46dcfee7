"""The best rankings of one query, one after the other.

Among equally good rankings those come first in which documents of higher score stand first, then earlier ones: the
documents are taken in this order of preference, and their ranks compared lexicographically.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import numpy as np

from palmette.memory import check_size
from palmette.structures.ranking.tables import out_of_order, possible_ranks


def preference(score: np.ndarray) -> np.ndarray:
    """Documents by falling score, earlier ones first among equals."""
    return np.argsort(-score, kind="stable")


def assignments(gain: np.ndarray, score: np.ndarray, k: int) -> Iterator[tuple[np.ndarray, float]]:
    """The k best allowed rankings with their values, best first, by Murty's partition of what is left.

    A ranking leaves, for each document in order of preference, those that agree with it before this document and differ
    there. The best of each part takes one shortest path from the solution it is cut from.
    """
    from palmette.structures.ranking.kernels.assignment import assign, assign_otherwise

    n = len(score)
    _check_orders(n, k)
    first = preference(score)
    own = gain[first]
    cost = np.ascontiguousarray(-own)
    rows = np.arange(n)
    state = np.empty(n), np.empty(n), np.empty(n, np.int64), np.empty(n, np.int64)
    if not assign(cost, *state):
        return

    def entry(start: int, banned: np.ndarray, state: tuple[Any, ...]) -> tuple[Any, ...]:
        column_of = state[2]
        # The columns decide among equal values; no two entries have the same.
        return -_total(own[rows, column_of]), tuple(column_of.tolist()), start, banned, state

    waiting = [entry(0, np.zeros(n, bool), state)]
    for left in range(k, 0, -1):
        if not waiting:
            return
        if len(waiting) > left:  # the others will never be asked for
            waiting = heapq.nsmallest(left, waiting)
        value, columns, start, banned, state = heapq.heappop(waiting)
        ranks = np.empty(n, np.int64)
        ranks[first] = columns
        yield ranks, -value
        for i in range(start, n):
            forbidden = banned.copy() if i == start else np.zeros(n, bool)
            forbidden[columns[i]] = True
            other = tuple(part.copy() for part in state)
            if assign_otherwise(cost, i, forbidden, *other):
                heapq.heappush(waiting, entry(i, forbidden, other))


def restricted_rankings(
    gain: np.ndarray, score: np.ndarray, agrees: np.ndarray | None, contradicts: np.ndarray | None, k: int
) -> list[tuple[np.ndarray, float]]:
    """The k best allowed rankings of one query that agree with grades, or contradict some (-1: unknown).

    Grades that are all known are restrictions of ranks: agreeing rankings have every document in the block of ranks of
    its grade, contradicting ones are parted by the first document outside its block. With unknown grades rankings are
    looked through, best first.
    """
    n = len(score)
    whole = np.array([0, n])

    def fits(ranks: np.ndarray) -> bool:
        agree = agrees is None or not out_of_order(agrees, ranks, whole)[0]
        return agree and (contradicts is None or bool(out_of_order(contradicts, ranks, whole)[0]))

    if agrees is not None:
        gain = np.where(possible_ranks(agrees), gain, -np.inf)
    if contradicts is None or np.any(contradicts < 0):
        return _first_fitting(gain, score, fits, k)
    block, found = possible_ranks(contradicts), []
    for d in range(n):
        part = gain.copy()
        part[:d][~block[:d]] = -np.inf
        part[d, block[d]] = -np.inf
        found += _first_fitting(part, score, fits, k)
    first = preference(score)
    return sorted(found, key=lambda item: (-item[1], item[0][first].tolist()))[:k]


def merged(score: np.ndarray, grades: np.ndarray, position: np.ndarray) -> tuple[np.ndarray, float]:
    """The best ranking in the order of grades, -1 where a document may stand anywhere, for falling position weights.

    By exchange, graded documents stand by grade and then by score, and the others by score among themselves. How the
    two lists are merged is a shortest path: ``v[i, j] = max(v[i - 1, j] + p[i + j - 1] a[i], v[i, j - 1] + p[i + j - 1]
    b[j])``. O(n m) time and memory. Of two equally good last documents the less preferred one is taken.
    """
    first = preference(score)
    place = np.argsort(first)
    graded = np.array([d for d in np.lexsort((place, -grades)) if grades[d] >= 0], np.int64)
    others = np.array([d for d in first if grades[d] < 0], np.int64)
    n, m = len(graded), len(others)
    value, from_others = np.zeros((n + 1, m + 1)), np.zeros((n + 1, m + 1), bool)
    for i in range(n + 1):
        for j in range(m + 1):
            if i + j == 0:
                continue
            weight = position[i + j - 1]
            a = value[i - 1, j] + weight * score[graded[i - 1]] if i else -np.inf
            b = value[i, j - 1] + weight * score[others[j - 1]] if j else -np.inf
            later = i == 0 or (j > 0 and place[others[j - 1]] > place[graded[i - 1]])
            from_others[i, j], value[i, j] = b > a or (b == a and later), max(a, b)
    ranks, i, j = np.empty(n + m, np.int64), n, m
    while i + j:
        if from_others[i, j]:
            j -= 1
            ranks[others[j]] = i + j
        else:
            i -= 1
            ranks[graded[i]] = i + j
    return ranks, float(value[n, m])


def _first_fitting(
    gain: np.ndarray, score: np.ndarray, fits: Callable[[np.ndarray], bool], k: int
) -> list[tuple[np.ndarray, float]]:
    """The first k of the allowed rankings, best first, that fit."""
    looked_at = k
    while True:
        ranked = list(islice(assignments(gain, score, looked_at), looked_at))
        found = [(ranks, value) for ranks, value in ranked if fits(ranks)]
        if len(found) >= k or len(ranked) < looked_at:
            return found[:k]
        looked_at *= 8


def sorted_rankings(score: np.ndarray, position: np.ndarray, k: int) -> Iterator[tuple[np.ndarray, float]]:
    """The k rankings of highest ``sum_d score[d] position[rank of d]``, best first."""
    n = len(score)
    first = preference(score)
    own = score[first]
    drop = position[: n - 1] - position[1:n]

    def lost(order: np.ndarray) -> np.ndarray:
        return (own[order[:-1]] - own[order[1:]]) * drop

    for order, value in by_exchanges(n, _total(own * position[:n]), lost, k):
        ranks = np.empty(n, np.int64)
        ranks[first[order]] = np.arange(n)
        yield ranks, value


def by_exchanges(
    n: int, value: float, lost: Callable[[np.ndarray], np.ndarray], k: int
) -> Iterator[tuple[np.ndarray, float]]:
    """The k best orders of documents 0..n-1 with their values, where the sorted order is best and has ``value``.

    Every other order has neighbours of which the second comes before the first, and exchanging these must not lower its
    value. So each is found from one that is at least as good, by an exchange of neighbours; of these the k that cost
    least matter.

    Parameters
    ----------
    lost : callable
        What it costs to exchange each document of an order with the next, n - 1 numbers; at least 0 where the next is
        the greater.
    """
    _check_orders(n, k)
    start = tuple(range(n))
    waiting: list[tuple[Any, ...]] = [(-value, start, start)]
    seen = {start}
    for _ in range(k):
        if not waiting:
            return
        negative, _, order = heapq.heappop(waiting)
        now = np.array(order, np.int64)
        yield now, -float(negative)
        rises = np.flatnonzero(now[:-1] < now[1:])
        costs = lost(now)[rises]
        if len(costs) > k:
            few = costs <= np.partition(costs, k - 1)[k - 1]
            rises, costs = rises[few], costs[few]
        for r, less in zip(rises.tolist(), costs.tolist()):
            other = (*order[:r], order[r + 1], order[r], *order[r + 2 :])
            if other not in seen:
                seen.add(other)
                heapq.heappush(waiting, (negative + less, _inverse(other), other))


def _check_orders(n: int, k: int) -> None:
    """Refuse more orders than memory has room for."""
    k = min(k, math.factorial(min(n, 21)))
    check_size(
        f"the {k:,} best orders of {n:,} documents",
        k * (16 * n + 200),
        "ask for fewer of them (k, n, --nbest)",
    )


def _inverse(order: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(np.argsort(order).tolist())


def _total(values: np.ndarray) -> float:
    return float(np.sum(values))
