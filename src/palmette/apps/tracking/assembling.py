"""Windows of a movie put together: what is decided in one window holds in the next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from palmette.data.ragged import offsets_from_lengths
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
        self.false: list[tuple[int, int]] = []
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
        begins = offsets_from_lengths([len(block) for block in candidates.blocks])
        last = len(candidates.frames)
        futures, pasts = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for block, begin in zip(candidates.blocks, begins):
            rows = np.flatnonzero(chosen[begin : begin + len(block)])
            step, span = block.step[rows], block.kind.span
            before = first[step][:, None] + block.before[rows]
            after = first[step + span][:, None] + block.after[rows]
            if n_kept is not None:
                decided = (before.shape[1] > 0) & (step < n_kept) | (after.shape[1] > 0) & (
                    step + span <= n_kept
                )
                rows, before, after = rows[decided], before[decided], after[decided]
                next_first = first[n_kept], first[n_kept + 1] if n_kept + 1 < last else self._n
                futures.append(before[before >= next_first[0]])
                pasts.append(after[after >= next_first[1]])
            self.counts[block.kind.name] += len(rows)
            self.score += float(score[begin + rows].sum())
            if span == 0:
                frames = [candidates.frames[k] for k in block.step[rows].tolist()]
                places = block.before[rows, 0].tolist()
                self.false += [(int(own.frame), int(own.ids[k])) for own, k in zip(frames, places)]
            elif before.shape[1] and after.shape[1]:
                pairs = np.broadcast_arrays(before[:, :, None], after[:, None, :])
                self._edges.append(np.stack([side.ravel() for side in pairs], axis=1))
        self._decided = Decided(np.concatenate(futures), np.concatenate(pasts))

    def lineage(self) -> Lineage:
        """Everything, without the detections that are false."""
        edges = np.concatenate(self._edges)
        whole = Lineage(
            np.concatenate(self._frames),
            np.concatenate(self._ids),
            edges[np.lexsort((edges[:, 1], edges[:, 0]))],
        )
        return whole.without(self.false)
