"""Windows of a movie put together: what is decided in one window holds in the next."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from palmette.structures.tracking.candidates import Candidates
from palmette.structures.tracking.detections import Detections
from palmette.structures.tracking.event_kinds import EventKind
from palmette.structures.tracking.lineage import Lineage


def shared_frames(kinds: Sequence[EventKind]) -> int:
    """How many frames two windows share, such that every event lies within one of them.

    A link over so many frames must not begin before a window and end behind it; whether a detection is false is seen
    with a frame on either side.

    >>> from palmette.structures.tracking.event_kinds import event_kinds
    >>> shared_frames(event_kinds(["move", "appear"])), shared_frames(event_kinds(["move", "skip", "false"]))
    (1, 2)
    """
    return max(2 if kind.span == 0 else kind.span for kind in kinds)


class Decided(NamedTuple):
    """Nodes whose future, or past, is explained by an event of an earlier window."""

    futures: np.ndarray
    pasts: np.ndarray


class Assembly:
    """Detections, links and events of a movie, window by window.

    The next window begins with frame s. Decided are the events that explain the future of a frame before s or the past
    of a frame up to s, since no later window has these; all others are left to the next window. An event that is
    decided may reach into it (a link over s; s itself is false): the next window has to do without these cells.
    Every cell of the movie is so explained exactly once.
    """

    def __init__(self, kinds: Sequence[EventKind]) -> None:
        self.counts = {kind.name: 0 for kind in kinds}
        self.score, self._n = 0.0, 0
        self._false = [np.empty(0, np.int64)]
        self._first: dict[int, int] = {}  # number of the first detection of each frame of the window
        self._frames, self._ids = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        self._edges = [np.empty((0, 2), np.int64)]
        self._numbers: list[int] = []
        self._decided = Decided(np.empty(0, np.int64), np.empty(0, np.int64))

    def enter(self, frames: Sequence[Detections]) -> np.ndarray:
        """The frames of the next window; returns the number of the first detection of each."""
        known, self._first = self._first, {}
        for frame in frames:
            at = int(frame.frame)
            if at not in known:
                known[at] = self._n
                self._n += len(frame)
                self._numbers.append(at)
                self._frames.append(np.full(len(frame), at))
                self._ids.append(frame.ids)
            self._first[at] = known[at]
        return np.array([self._first[int(frame.frame)] for frame in frames], np.int64)

    @property
    def n_frames(self) -> int:
        """Frames that have come."""
        return len(self._frames) - 1

    @property
    def empty(self) -> tuple[int, ...]:
        """Frames without detections between the first and the last one that has some."""
        some = np.flatnonzero([len(own) for own in self._frames[1:]])
        between = range(int(some[0]), int(some[-1])) if len(some) else ()
        return tuple(self._numbers[k] for k in between if not len(self._frames[1 + k]))

    def taken(self, frames: Sequence[Detections], first: np.ndarray) -> np.ndarray:
        """The cells of a window that events of earlier windows explain, bool (n_cells,)."""
        sizes = [len(frame) for frame in frames]
        n_before = sum(sizes[:-1])
        mask = np.zeros(n_before + sum(sizes[1:]), bool)
        for nodes, start, place in (
            (self._decided.futures, first[0], 0),
            (self._decided.pasts, first[1], n_before),
        ):
            mask[nodes - start + place] = True
        return mask

    def commit(
        self,
        candidates: Candidates,
        first: np.ndarray,
        chosen: np.ndarray,
        score: np.ndarray,
        n_kept: int | None,
    ) -> None:
        """Take the events of a window; of all but its first ``n_kept`` frames (None: all) the next one decides."""
        from palmette.structures.tracking.kernels.layout import decided_events

        layout, ends = candidates.layout, (self._n, self._n)
        if n_kept is not None:
            ends = first[n_kept], first[n_kept + 1] if n_kept + 1 < len(first) else self._n
        events, links, false, *decided = decided_events(
            chosen, layout.ptr, layout.cell, int(layout.n_before[0]), first[0], first[1], *ends
        )
        for name, n in zip(
            candidates.kinds, np.bincount(layout.kind[events], minlength=len(self.counts)).tolist()
        ):
            self.counts[name] += n
        self.score += float(score[events].sum())
        self._edges.append(links)
        self._false.append(false)
        self._decided = Decided(*decided)

    @cached_property
    def false(self) -> tuple[tuple[int, int], ...]:
        """Frame and id of the detections that are called false; for when all windows have come."""
        nodes = np.concatenate(self._false)
        own = (np.concatenate(each)[nodes].tolist() for each in (self._frames, self._ids))
        return tuple(zip(*own))

    def lineage(self) -> Lineage:
        """Everything, without the detections that are false."""
        edges = np.concatenate(self._edges)
        whole = Lineage(
            np.concatenate(self._frames),
            np.concatenate(self._ids),
            edges[np.lexsort((edges[:, 1], edges[:, 0]))],
        )
        return whole.without(self.false)
