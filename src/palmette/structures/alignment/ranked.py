"""Alignments from the best on, one after the other: best-first derivation with exact bounds.

A state is an alignment up to some positions. Its bound is what it has scored plus the best of what may follow (the
tables of :mod:`palmette.structures.alignment.kernels.ends`), so it is attained, and a state that is complete when it
comes first is the next best alignment. Of equally good ones those with the lowest codes come first, since every state
carries codes that are at most those of all alignments that it may become.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from palmette.structures.alignment.question import Question


class Place(NamedTuple):
    """Where a state has come: positions of both sequences, what the last step was, and the layer."""

    i: int
    j: int
    state: int
    layer: int


class Derivations:
    """Everything about one sample that the search asks for."""

    def __init__(self, question: Question) -> None:
        from palmette.structures.alignment.kernels.ends import from_end
        from palmette.structures.alignment.kernels.parts import sample_steps

        self.steps = sample_steps(*question, 0)
        self.F = from_end(*self.steps, False)
        self.n, self.m = self.steps[0].shape
        self.kinds = len(self.steps[1])

    def follow(self, at: Place) -> float:
        """The best that may follow."""
        return float(self.F[at.layer, at.state, at.i, at.j])

    def options(self, at: Place) -> Iterator[tuple[float, Place]]:
        """What may come next: a score and a place."""
        match, gap_x, gap_y, open_x, extend_x, open_y, extend_y, change, wrong, wrong_x, wrong_y = self.steps
        i, j, state, layer = at
        two, kinds = len(self.F) == 2, self.kinds
        if i < self.n and j < self.m:
            to = 1 if two and wrong[i, j] else layer
            yield float(match[i, j]), Place(i + 1, j + 1, 0, to)
        for k in range(kinds):
            if i < self.n and state in (0, 1 + k):
                to = 1 if two and wrong_x[k, i] else layer
                step = (open_x if state == 0 else extend_x)[k, j]
                yield float(gap_x[k, i] + step), Place(i + 1, j, 1 + k, to)
            if j < self.m and (state <= kinds or state == 1 + kinds + k):
                to = 1 if two and wrong_y[k, j] else layer
                step = (extend_y if state > kinds else open_y)[k, i] + change * (0 < state <= kinds)
                yield float(gap_y[k, j] + step), Place(i, j + 1, 1 + kinds + k, to)

    def known(self, a: tuple[int, ...], b: tuple[int, ...], old: Place, new: Place) -> tuple[Any, Any]:
        """The codes of both sequences after a step."""
        kinds = self.kinds
        if new.state == 0:
            return (*a, old.j + 1), (*b, old.i + 1)
        if new.state <= kinds:
            return (*a, 0 if new.state == 1 else self.n + self.m + 1), b
        return a, (*b, 0 if new.state == 1 + kinds else self.n + self.m + 1)


def ranked_alignments(question: Question, lowest: float = -np.inf) -> Iterator[tuple[float, np.ndarray]]:
    """Values and codes of the alignments of the single sample of a question, best first, down to ``lowest``."""
    own, number = Derivations(question), count()
    start = Place(0, 0, 0, 0)
    best = own.follow(start)
    if best == -np.inf:
        return
    heap: list[Any] = [(-best, (), (), next(number), 0.0, (), start)]
    while heap:
        bound, _, b, _, score, a, at = heapq.heappop(heap)
        if at.i == own.n and at.j == own.m:
            yield -bound, np.array((*a, *b), np.int32)
            continue
        for more, to in own.options(at):
            total = score + more
            value = total + own.follow(to)
            if value > -np.inf and value >= lowest:
                codes, others = own.known(a, b, at, to)
                # In a run of Y the next position of the first sequence is not matched before position j.
                least = (*codes, to.j + 1) if to.state > own.kinds and to.i < own.n else codes
                heapq.heappush(heap, (-value, least, others, next(number), total, codes, to))
