"""Structures from the best on, one after the other: best-first derivation with exact bounds.

A state is a structure derived from left to right up to some position, with what is left to derive. Its bound is what
it has scored plus the best of what is left (the tables of :mod:`palmette.structures.folding.kernels.best`), so it is
attained, and a state that is complete when it comes first is the next best structure. Equally good ones come in the
order of their codes, since states with equal bounds come in the order of the codes that they know.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from itertools import count
from typing import Any

import numpy as np

from palmette.structures.folding.layout import (
    EXTERNAL_PAIRED,
    EXTERNAL_UNPAIRED,
    MULTI_PAIRED,
    MULTI_UNPAIRED,
)
from palmette.structures.folding.question import Question

Item = tuple[Any, ...]  # what is left to derive, by its name and its ends


class Derivations:
    """Everything about one sample that the search asks for."""

    def __init__(self, question: Question) -> None:
        from palmette.structures.folding.kernels.best import best_inside
        from palmette.structures.folding.kernels.parts import free_runs, pair_scores, sums_before

        fields = question._asdict()
        fields.pop("unpaired"), fields.pop("max_interior")
        self.tables, self.max_interior = question.tables, question.max_interior
        self.min_hairpin, self.free = question.min_hairpin, question.unpaired
        self.x = question.letters.astype(np.int64)
        self.n = len(self.x)
        self.pair = pair_scores(*fields.values(), 0)
        self.before = sums_before(self.free)
        self.ahead, self.back = free_runs(self.free)
        self.C, self.B, self.S, self.M, self.M2, self.F = best_inside(
            self.tables, self.x, self.free, self.pair, self.min_hairpin, self.max_interior
        )

    def best(self, item: Item) -> float:
        """The best that can be derived from an item."""
        kind, *ends = item
        if kind == "external":
            return float(self.F[ends[0]])
        table = {"inside": self.C, "some": self.M, "two": self.M2}.get(kind)
        return 0.0 if table is None else float(table[ends[0], ends[1]])

    def options(self, item: Item) -> Iterator[tuple[float, tuple[Item, ...]]]:
        """What an item may become: a score, and items from left to right."""
        kind, *ends = item
        if kind == "external":
            yield from self._external(*ends)
        elif kind == "inside":
            yield from self._inside(*ends)
        else:
            yield from self._branches(kind, *ends)

    def _external(self, i: int) -> Iterator[tuple[float, tuple[Item, ...]]]:
        if i == self.n:
            yield 0.0, ()
            return
        yield float(self.tables[EXTERNAL_UNPAIRED] + self.free[i]), (("zeros", i, i + 1), ("external", i + 1))
        for j in np.flatnonzero(self.C[i] > -np.inf).tolist():
            score = self._branch(i, j) + self.tables[EXTERNAL_PAIRED]
            yield float(score), (*_pair(i, j), ("external", j + 1))

    def _inside(self, i: int, j: int) -> Iterator[tuple[float, tuple[Item, ...]]]:
        from palmette.structures.folding.kernels.loops import closing, hairpin, interior

        tables, x, before, own = self.tables, self.x, self.before, self.pair[i, j]
        if self.ahead[i + 1] >= j - i - 1:
            yield float(own + hairpin(tables, x, i, j) + before[j] - before[i + 1]), (("zeros", i + 1, j),)
        most = min(i + 1 + min(self.max_interior, int(self.ahead[i + 1])), j - 2 - self.min_hairpin)
        for p in range(i + 1, most + 1):
            rest = min(self.max_interior - (p - i - 1), int(self.back[j]))
            first = max(j - 1 - rest, p + 1 + self.min_hairpin)
            for q in (first + np.flatnonzero(self.C[p, first:j] > -np.inf)).tolist():
                free = (before[p] - before[i + 1]) + (before[j] - before[q + 1])
                score = own + interior(tables, x, i, j, p, q) + free
                yield float(score), (("zeros", i + 1, p), *_pair(p, q), ("zeros", q + 1, j))
        if self.M2[i + 1, j - 1] > -np.inf:
            yield float(own + closing(tables, x, i, j)), (("two", i + 1, j - 1),)

    def _branches(self, kind: str, i: int, j: int) -> Iterator[tuple[float, tuple[Item, ...]]]:
        if i > j:
            return
        loose = self.tables[MULTI_UNPAIRED]
        yield float(loose + self.free[i]), (("zeros", i, i + 1), (kind, i + 1, j))
        for k in np.flatnonzero(self.C[i, : j + 1] > -np.inf).tolist():
            score = self._branch(i, k) + self.tables[MULTI_PAIRED]
            if self.M[k + 1, j] > -np.inf:
                yield float(score), (*_pair(i, k), ("some", k + 1, j))
            if kind == "some" and self.back[j + 1] >= j - k:
                rest = self.before[j + 1] - self.before[k + 1] + (j - k) * loose
                yield float(score + rest), (*_pair(i, k), ("zeros", k + 1, j + 1))

    def _branch(self, i: int, j: int) -> float:
        from palmette.structures.folding.kernels.loops import branch

        return branch(self.tables, self.x, i, j)


def _pair(i: int, j: int) -> tuple[Item, ...]:
    return ("code", j + 1), ("inside", i, j), ("code", i + 1)


def ranked_structures(question: Question, lowest: float = -np.inf) -> Iterator[tuple[float, np.ndarray]]:
    """Values and codes of the structures of the single sample of a question, best first, down to ``lowest``."""
    own = Derivations(question)
    number = count()
    start: tuple[Item, ...] = (("external", 0),)
    if own.F[0] == -np.inf:
        return
    heap: list[Any] = [(-float(own.F[0]), (), next(number), 0.0, start)]
    while heap:
        bound, codes, _, score, left = heapq.heappop(heap)
        if not left:
            yield -bound, np.array(codes, np.int32)
            continue
        first, rest = left[0], left[1:]
        others = sum(map(own.best, rest))
        for more, items in own.options(first):
            known, todo = list(codes), [*items, *rest]
            while todo and todo[0][0] in ("zeros", "code"):  # what is certain is written down at once
                kind, *ends = todo.pop(0)
                known += [0] * (ends[1] - ends[0]) if kind == "zeros" else ends
            total = score + more
            best = total + sum(map(own.best, items)) + others
            if best > -np.inf and best >= lowest:
                heapq.heappush(heap, (-best, tuple(known), next(number), total, tuple(todo)))
