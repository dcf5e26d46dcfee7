"""The best covers of a batch: kernels where connected parts are small, programs for the others."""

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

LIMIT = 14  # cells of a part up to which all sets of them are looked at


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


class SampleCover:
    """The best cover of one sample, and what it costs to have it otherwise.

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
        By how much other events on the same cells are better; an event of at least 0 is in no cover that need be looked
        at, unless it is forced.
    """

    def __init__(
        self, score: np.ndarray, layout: Layout, limit: int = LIMIT, time_limit: float | None = None
    ) -> None:
        from palmette.structures.tracking.kernels.cover import drop_dominated, find_parts

        self.score, self.layout, self.limit = score, layout, limit
        self._end = None if time_limit is None else time.perf_counter() + time_limit
        self.lost = 0.0
        self.n_cells = int(layout.n_cells[0])
        self.slack = np.empty(len(score))
        drop_dominated(score, layout.ptr, layout.cell, 0, len(score), self.n_cells, self.slack)
        self.part = np.empty(self.n_cells, np.int64)
        find_parts(
            (self.slack < 0.0).astype(np.uint8),
            layout.ptr,
            layout.cell,
            0,
            len(score),
            self.n_cells,
            self.part,
        )
        self.chosen = self._solved(np.ones(self.n_cells, np.uint8))

    @property
    def value(self) -> float:
        """Score of the best cover."""
        return -np.inf if self.chosen is None else float(self.score[self.chosen].sum())

    def cells(self, event: int) -> np.ndarray:
        """Cells that an event explains."""
        return self.layout.cell[self.layout.ptr[event] : self.layout.ptr[event + 1]]

    def with_event(self, event: int) -> np.ndarray | None:
        """The best cover in which an event happens; None if there is none."""
        if self.chosen is None or self.score[event] == -np.inf:
            return None
        return self._otherwise(self.cells(event), event)

    def without_event(self, event: int) -> np.ndarray | None:
        """The best cover in which an event does not happen; None if there is none.

        Events that it dominates may be needed then, so that all events of its cells are looked at.
        """
        score = self.score.copy()
        score[event] = -np.inf
        return SampleCover(score, self.layout, self.limit).chosen

    def touching(self, wanted: np.ndarray) -> np.ndarray | None:
        """The best cover with an event of this set (bool); None if there is none.

        Without one in the best cover, each is forced in turn. What that costs is at least the slack of the event, so
        that events are tried by rising slack, until that is more than the least cost found.
        """
        if self.chosen is None or np.any(self.chosen & wanted):
            return self.chosen
        if np.all(wanted | self.chosen | (self.score == -np.inf)):
            return self._second(self.chosen)
        top, least, found = self.value, np.inf, None
        own = np.flatnonzero(wanted & (self.score > -np.inf))
        for event in own[np.argsort(self.slack[own], kind="stable")].tolist():
            if self.slack[event] >= least:
                break
            cover = self.with_event(event)
            if cover is not None and top - self.score[cover].sum() < least:
                least, found = top - self.score[cover].sum(), cover
        return found

    def _second(self, best: np.ndarray) -> np.ndarray | None:
        """The best cover but the best: it is without some event of the best, and these are few."""
        covers = [self.without_event(event) for event in np.flatnonzero(best).tolist()]
        known = [cover for cover in covers if cover is not None]
        return max(known, key=lambda cover: float(self.score[cover].sum()), default=None)

    def _otherwise(self, cells: np.ndarray, event: int) -> np.ndarray | None:
        """The best cover with ``event``, found by solving the parts of its cells again."""
        touched = np.isin(self.part, self.part[cells])
        active = touched.astype(np.uint8)
        active[cells] = 0
        found = self._solved(active)
        if found is None or self.chosen is None:
            return None
        found |= self.chosen & ~touched[self.layout.cell[self.layout.ptr[:-1]]]
        found[event] = True
        return found

    def _solved(self, active: np.ndarray) -> np.ndarray | None:
        """The best cover of the active cells; None if there is none."""
        from palmette.structures.tracking.kernels.cover import HARD, IMPOSSIBLE, cover_cells

        layout, n, m = self.layout, self.n_cells, len(self.score)
        chosen, usable = np.zeros(m, np.uint8), np.zeros(m, np.uint8)
        hard, part = np.zeros(n, np.uint8), np.zeros(n, np.int64)
        status = cover_cells(
            self.score,
            self.slack,
            layout.ptr,
            layout.cell,
            0,
            m,
            n,
            active,
            self.limit,
            usable,
            part,
            chosen,
            hard,
        )
        if status == IMPOSSIBLE:
            return None
        found = chosen.astype(bool)
        for number in np.flatnonzero(hard).tolist() if status == HARD else ():
            events, program = part_program(self.score, layout, (part == number) & (active > 0), usable > 0)
            left = None if self._end is None else self._end - time.perf_counter()
            solved = programs.solve(program, left)
            own = solved.chosen
            if own is None and not solved.exact:
                # Bounds may have dropped what a greedy cover needs.
                events, program = part_program(
                    self.score, layout, (part == number) & (active > 0), np.ones(m, bool)
                )
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
    touch: tuple[np.ndarray, ...] = (),
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


def cover_touching(
    score: np.ndarray, layout: Layout, touch: tuple[np.ndarray, ...], limit: int
) -> np.ndarray | None:
    """The best cover of one sample with an event of each of the sets ``touch``; None if there is none."""
    cover = SampleCover(score, layout, limit)
    if len(touch) == 0:
        return cover.chosen
    if len(touch) == 1:
        return cover.touching(touch[0])
    if cover.chosen is None:
        return None
    if cover.n_cells <= limit:
        return _by_sets(score, layout, touch)
    everything = np.ones(cover.n_cells, bool)
    events, program = part_program(score, layout, everything, np.ones(len(score), bool), touch)
    solved = programs.solve(program).chosen
    if solved is None:
        return None
    chosen = np.zeros(len(score), bool)
    chosen[events[solved]] = True
    return chosen


def _by_sets(score: np.ndarray, layout: Layout, touch: tuple[np.ndarray, ...]) -> np.ndarray | None:
    """The same for few cells, by dynamic programming over sets of cells and of what was touched."""
    masks = [sum(1 << int(c) for c in layout.cell[a:b]) for a, b in zip(layout.ptr[:-1], layout.ptr[1:])]
    bits = [sum(1 << k for k, own in enumerate(touch) if own[e]) for e in range(len(score))]
    usable = [e for e in range(len(score)) if score[e] > -np.inf]
    best: dict[tuple[int, int], tuple[float, list[int]]] = {(0, 0): (0.0, [])}
    full = (1 << int(layout.n_cells[0])) - 1
    for covered in range(full):  # sets grow with their number
        low = ~covered & (covered + 1)
        for touched in range(1 << len(touch)):
            value, events = best.pop((covered, touched), (-np.inf, []))
            for e in usable if value > -np.inf else ():
                if masks[e] & low and not masks[e] & covered:
                    key = covered | masks[e], touched | bits[e]
                    if value + score[e] > best.get(key, (-np.inf, []))[0]:
                        best[key] = value + score[e], [*events, e]
    _, events = best.get((full, (1 << len(touch)) - 1), (0.0, []))
    chosen = np.zeros(len(score), bool)
    chosen[events] = True
    return chosen if events else None


def ranked_covers(
    score: np.ndarray, layout: Layout, touch: tuple[np.ndarray, ...], limit: int
) -> Iterator[np.ndarray]:
    """Covers of one sample by falling score.

    A set of covers, those within ``score`` that differ from ``other``, is represented by its best one, y. With an event
    e of y that is not in ``other``, the rest of the set falls into the covers without e that differ from ``other``, and
    those with e that differ from y: two searches per cover.
    """
    order: list[Any] = []
    tie = count()

    def push(scores: np.ndarray, other: np.ndarray | None) -> None:
        sets = touch if other is None else (*touch, ~other)
        found = cover_touching(scores, layout, sets, limit)
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
