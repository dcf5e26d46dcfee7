"""The best covers of a batch: searches in kernels, and programs for parts that need too many states."""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterator
from itertools import count
from typing import Any

import numpy as np

from palmette.data.ragged import offsets_from_lengths
from palmette.structures.tracking import programs
from palmette.structures.tracking.tables import Layout, conflicting

LIMIT = 1 << 15  # states of a search; a part that needs more goes to a program
MOST_SETS = 12  # of wanted events; more go to a program

Sets = tuple[np.ndarray, ...]


def best_covers(score: np.ndarray, layout: Layout, limit: int = LIMIT) -> tuple[np.ndarray, int | None]:
    """The best cover of every sample, bool (n_events,), and the first sample that has none, if there is one."""
    from palmette.structures.tracking.kernels.cover import HARD, IMPOSSIBLE, cover_batch

    chosen = np.zeros(len(score), np.uint8)
    status = np.zeros(len(layout.n_cells), np.int64)
    usable, begins = np.zeros(len(score), np.uint8), offsets_from_lengths(layout.n_cells)
    part, hard = np.zeros(begins[-1], np.int64), np.zeros(begins[-1], np.uint8)
    cover_batch(
        score, layout.ptr, layout.cell, layout.offsets, layout.n_cells, limit, chosen, status, usable, part, hard
    )  # fmt: skip
    for s in np.flatnonzero(status == HARD).tolist():
        own, cells, alone = (
            slice(*layout.offsets[s : s + 2]),
            slice(*begins[s : s + 2]),
            layout.slice(s, s + 1),
        )
        for number in np.flatnonzero(hard[cells]).tolist():
            events, program = part_program(score[own], alone, part[cells] == number, usable[own] > 0)
            solved = programs.solve(program).chosen
            if solved is None:
                status[s] = IMPOSSIBLE
                break
            chosen[own.start + events[solved]] = 1
    missing = np.flatnonzero(status == IMPOSSIBLE)
    return chosen.astype(bool), int(missing[0]) if len(missing) else None


def touching_covers(
    score: np.ndarray, layout: Layout, touch: Sets, best: np.ndarray, limit: int = LIMIT
) -> tuple[np.ndarray, np.ndarray]:
    """The best covers with an event of each of the sets ``touch``, bool (n_events,), and which samples have none.

    ``best`` are the best covers of all samples. What is said of a sample that has none means nothing.
    """
    from palmette.structures.tracking.kernels.cover import HARD, IMPOSSIBLE
    from palmette.structures.tracking.kernels.touch import touch_batch

    chosen = np.zeros(len(score), np.uint8)
    status = np.full(len(layout.n_cells), HARD)
    if len(touch) <= MOST_SETS:
        touch_batch(
            score, layout.ptr, layout.cell, layout.offsets, layout.n_cells, best.astype(np.uint8), _bits(score, touch),
            (1 << len(touch)) - 1, limit, chosen, status,
        )  # fmt: skip
    for s in np.flatnonzero(status == HARD).tolist():
        own = slice(*layout.offsets[s : s + 2].tolist())
        found = _touching_by_program(score[own], layout.slice(s, s + 1), tuple(each[own] for each in touch))
        status[s] = IMPOSSIBLE if found is None else status[s]
        chosen[own] = 0 if found is None else found
    return chosen.astype(bool), status == IMPOSSIBLE


def changed_values(
    score: np.ndarray, layout: Layout, touch: Sets, best: np.ndarray, given: np.ndarray, limit: int = LIMIT
) -> np.ndarray:
    """Scores of the best covers with each event that is not ``given``, without each that is, shape (n_events,).

    They have an event of each of the sets ``touch``; -inf where there is none. ``best`` are the best covers of all
    samples, ``given`` other ones, or the same.
    """
    from palmette.structures.tracking.kernels.cover import HARD
    from palmette.structures.tracking.kernels.touch import change_batch

    value, status = np.full(len(score), -np.inf), np.full(len(score), HARD)
    if len(touch) <= MOST_SETS:
        change_batch(
            score, layout.ptr, layout.cell, layout.offsets, layout.n_cells, best.astype(np.uint8),
            given.astype(np.uint8), _bits(score, touch), (1 << len(touch)) - 1, limit, value, status,
        )  # fmt: skip
    for e in np.flatnonzero(status == HARD).tolist():
        s = int(np.searchsorted(layout.offsets, e, side="right")) - 1
        own, alone = slice(*layout.offsets[s : s + 2].tolist()), layout.slice(s, s + 1)
        codes = np.full(own.stop - own.start, -1)
        codes[e - own.start] = 1
        wanted = conflicting(alone, codes) if given[e] else codes == 1
        found = _touching_by_program(score[own], alone, (*(each[own] for each in touch), wanted))
        value[e] = -np.inf if found is None else float(score[own][found].sum())
    return value


def _bits(score: np.ndarray, touch: Sets) -> np.ndarray:
    """Which of the sets have each event."""
    bits = np.zeros(len(score), np.int64)
    for k, own in enumerate(touch):
        bits |= own.astype(np.int64) << k
    return bits


def _touching_by_program(score: np.ndarray, layout: Layout, touch: Sets) -> np.ndarray | None:
    """The best cover of one sample with an event of each set, by an integer program."""
    everything = np.ones(int(layout.n_cells[0]), bool), np.ones(len(score), bool)
    events, program = part_program(score, layout, *everything, touch)
    solved = programs.solve(program).chosen
    if solved is None:
        return None
    chosen = np.zeros(len(score), bool)
    chosen[events[solved]] = True
    return chosen


class SampleCover:
    """The best cover of one sample, as far as the time reaches.

    Parameters
    ----------
    score : ndarray of shape (n_events,)
        -inf for events that are forbidden.
    layout : Layout
        Of one sample.

    Attributes
    ----------
    chosen : ndarray of bool, or None
        The best cover; None if there is none.
    lost : float
        By how much the best cover may be better at most, where time ran out; 0: it is the best.
    slack : ndarray
        By how much other events on the same cells are better; a best cover has no event of more than 0.
    """

    def __init__(
        self, score: np.ndarray, layout: Layout, limit: int = LIMIT, time_limit: float | None = None
    ) -> None:
        from palmette.structures.tracking.kernels.dominance import drop_dominated

        self.score, self.layout, self.limit = score, layout, limit
        self._end = None if time_limit is None else time.perf_counter() + time_limit
        self.lost = 0.0
        self.n_cells = int(layout.n_cells[0])
        self.slack = np.empty(len(score))
        drop_dominated(score, layout.ptr, layout.cell, 0, len(score), self.n_cells, self.slack)
        self.chosen = self._solved()

    @property
    def value(self) -> float:
        """Score of the best cover."""
        return -np.inf if self.chosen is None else float(self.score[self.chosen].sum())

    def touching(self, *wanted: np.ndarray) -> np.ndarray | None:
        """The best cover with an event of each of these sets (bool); None if there is none."""
        if self.chosen is None:
            return None
        found, none = touching_covers(self.score, self.layout, wanted, self.chosen, self.limit)
        return None if none[0] else found

    def _solved(self) -> np.ndarray | None:
        from palmette.structures.tracking.kernels.cover import HARD, IMPOSSIBLE, cover_cells
        from palmette.structures.tracking.kernels.search import make_room

        layout, n, m = self.layout, self.n_cells, len(self.score)
        chosen, usable = np.zeros(m, np.uint8), np.zeros(m, np.uint8)
        hard, part = np.zeros(n, np.uint8), np.zeros(n, np.int64)
        status = cover_cells(
            self.score, self.slack, layout.ptr, layout.cell, 0, m, n, make_room(self.limit), usable, part, chosen, hard
        )  # fmt: skip
        if status == IMPOSSIBLE:
            return None
        found = chosen.astype(bool)
        for number in np.flatnonzero(hard).tolist() if status == HARD else ():
            events, program = part_program(self.score, layout, part == number, usable > 0)
            left = None if self._end is None else self._end - time.perf_counter()
            solved = programs.solve(program, left)
            own = solved.chosen
            if own is None and not solved.exact:
                # Bounds may have dropped what a greedy cover needs.
                events, program = part_program(self.score, layout, part == number, np.ones(m, bool))
                own = programs.greedy(program)
            if own is None:
                return None
            if not solved.exact:
                self.lost += solved.bound - float(program.score[own].sum())
            found[events[own]] = True
        return found


def part_program(
    score: np.ndarray,
    layout: Layout,
    cells: np.ndarray,
    usable: np.ndarray,
    touch: Sets = (),
) -> tuple[np.ndarray, programs.Program]:
    """Some cells of a sample and the usable events on them alone as a program; also the numbers of its events."""
    place = np.cumsum(cells) - 1
    inside = np.logical_and.reduceat(cells[layout.cell], layout.ptr[:-1])
    own = usable & inside & (score > -np.inf)
    events, sizes = np.flatnonzero(own), np.diff(layout.ptr)
    return events, programs.Program(
        score[events],
        offsets_from_lengths(sizes[events]),
        place[layout.cell[np.repeat(own, sizes)]],
        int(cells.sum()),
        int(cells[: int(layout.n_before[0])].sum()),
        tuple(t[events] for t in touch),
    )


def ranked_covers(score: np.ndarray, layout: Layout, touch: Sets, limit: int) -> Iterator[np.ndarray]:
    """Covers of one sample by falling score.

    A set of covers, those within ``score`` that differ from ``other``, is represented by its best one, y. With an event
    e of y that is not in ``other``, the rest of the set falls into the covers without e that differ from ``other``, and
    those with e that differ from y: two searches per cover.
    """
    order: list[Any] = []
    tie = count()

    def push(scores: np.ndarray, other: np.ndarray | None) -> None:
        sets = touch if other is None else (*touch, ~other)
        found = SampleCover(scores, layout, limit).touching(*sets)
        if found is not None:
            heapq.heappush(order, (-float(scores[found].sum()), next(tie), found, scores, other))

    push(score, None)
    while order:
        _, _, found, scores, other = heapq.heappop(order)
        yield found
        if other is None:
            push(scores, found)
            continue
        event = int(np.flatnonzero(found & ~other)[0])
        without, having = scores.copy(), scores.copy()
        without[event] = -np.inf
        codes = np.full(len(score), -1)
        codes[event] = 1
        having[conflicting(layout, codes)] = -np.inf
        push(without, other)
        push(having, found)
