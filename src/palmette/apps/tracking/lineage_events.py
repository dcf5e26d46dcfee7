"""The events between frames that a lineage tells of, and the loss that counts them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from palmette.structures.tracking.lineage import Lineage, Neighbours

KINDS = ("move", "divide", "appear", "disappear", "split", "merge")
REJOIN = 2


class Event(NamedTuple):
    """What became of some detections of a frame, or where some of the next frame came from."""

    kind: str
    frame: int  # of the parents, or the frame before the children
    parents: tuple[int, ...]  # ids, sorted
    children: tuple[int, ...]


def events_of(
    lineage: Lineage, step: int = 1, frames: Iterable[int] | None = None, *, rejoin: int = REJOIN
) -> list[Event]:
    """Read the events off a lineage, from every frame to that `step` frames later.

    A detection without a child disappears, one without a parent appears. One with several parents is a merge. One with
    several children is a split if these become one again after at most `rejoin` links, or if it comes from a merge of
    others than such fragments; otherwise it divides. All other links are moves. Links over another number of frames do
    not count.

    Parameters
    ----------
    lineage : Lineage
    step : int, default=1
        For more than one, take ``lineage.skipping(step)``.
    frames : iterable of int, optional
        First frames of pairs; by default all from the first frame with detections to the last but `step`.
    rejoin : int, default=2
        After how many links fragments are one again: 2 if they last for one frame.

    Returns
    -------
    list of Event
        By frame, then by kind in the order of KINDS, then by ids.

    Examples
    --------
    >>> nodes = [(0, 1), (0, 2), (1, 1), (1, 2)]
    >>> for event in events_of(Lineage.from_links(nodes, [((0, 2), (1, 1)), ((0, 2), (1, 2))])):
    ...     print(event)
    Event(kind='divide', frame=0, parents=(2,), children=(1, 2))
    Event(kind='disappear', frame=0, parents=(1,), children=())
    """
    if not len(lineage):
        _check_step(step)
        return []
    first, last = int(lineage.frame.min()), int(lineage.frame.max())
    found = event_nodes(
        lineage, step, range(first, last - step + 1) if frames is None else frames, rejoin=rejoin
    )
    ids, events = lineage.id.tolist(), []
    for kind, (at, before, after) in found.items():
        for frame, *sides in zip(at, before, after):
            parents, children = (tuple(sorted(ids[k] for k in nodes)) for nodes in sides)
            events.append(Event(kind, int(frame), parents, children))
    return sorted(events, key=lambda e: (e.frame, KINDS.index(e.kind), e.parents, e.children))


class EventNodes(NamedTuple):
    """Events of one kind: their frames, and the numbers of their detections.

    ``before`` and ``after`` have a row per event: arrays where all have the same size, else lists.
    """

    frame: np.ndarray
    before: Any
    after: Any


def event_nodes(
    lineage: Lineage, step: int, frames: Iterable[int], *, rejoin: int = REJOIN
) -> dict[str, EventNodes]:
    """The events of :func:`events_of` by kind, as numbers of detections."""
    _check_step(step)
    own = lineage.frame[lineage.edges[:, 1]] - lineage.frame[lineage.edges[:, 0]] == step
    links = lineage.edges[own]
    family = Family(len(lineage), links, rejoin)
    n_before, n_after = family.parents.n, family.children.n
    moves = links[(n_after[links[:, 0]] == 1) & (n_before[links[:, 1]] == 1)]
    gone, come = np.flatnonzero(n_after == 0), np.flatnonzero(n_before == 0)
    parts, merged = np.flatnonzero(n_after > 1), np.flatnonzero(n_before > 1)
    divides = np.array([family.divides(k) for k in parts.tolist()], bool)
    at = lineage.frame
    found = {
        "move": EventNodes(at[moves[:, 0]], moves[:, :1], moves[:, 1:]),
        "appear": EventNodes(at[come] - step, np.empty((len(come), 0), np.int64), come[:, None]),
        "disappear": EventNodes(at[gone], gone[:, None], np.empty((len(gone), 0), np.int64)),
        "merge": EventNodes(
            at[merged] - step, [family.parents[k] for k in merged.tolist()], merged[:, None].tolist()
        ),
    }
    for kind, which in (("divide", parts[divides]), ("split", parts[~divides])):
        found[kind] = EventNodes(
            at[which], which[:, None].tolist(), [family.children[k] for k in which.tolist()]
        )
    wanted = np.array(sorted(set(frames)), np.int64)
    return {kind: _of_frames(found[kind], wanted) for kind in KINDS}


def _of_frames(events: EventNodes, frames: np.ndarray) -> EventNodes:
    kept = np.isin(events.frame, frames)
    if isinstance(events.before, list):
        places = np.flatnonzero(kept).tolist()
        return EventNodes(events.frame[kept], *([side[k] for k in places] for side in events[1:]))
    return EventNodes(events.frame[kept], events.before[kept], events.after[kept])


def _check_step(step: int) -> None:
    if step < 1:
        raise ValueError(f"step must be at least 1, got step={step}")


class Family:
    """Parents and children of detections, and which detections divide.

    Examples
    --------
    >>> Family(3, [(0, 1), (0, 2)]).divisions()
    [0]
    >>> Family(4, [(0, 1), (0, 2), (1, 3), (2, 3)]).divisions()  # two fragments, one again
    []
    >>> Family(5, [(0, 2), (1, 2), (2, 3), (2, 4)]).divisions()  # two cells, found as one
    []
    """

    def __init__(self, n: int, links: Iterable[tuple[int, int]] | np.ndarray, rejoin: int = REJOIN) -> None:
        pairs = np.asarray(links, np.int64).reshape(-1, 2)
        self.children, self.parents = Neighbours(pairs, n), Neighbours(pairs[:, ::-1], n)
        # from where fragments are one again to where they were one before
        self.fragments_of: dict[int, int] = {}
        self._in_fragments: set[int] = set()
        for node in self._branches():
            after = self.children[node]
            ends = {self._next_branch(child, rejoin - 1) for child in after}
            end = ends.pop()
            if not ends and end is not None:
                self._in_fragments.add(node)
                if len(self.parents[end]) == len(after):  # no other cell came in
                    self.fragments_of[end] = node

    def _branches(self) -> list[int]:
        return np.flatnonzero(self.children.n > 1).tolist()

    def divisions(self) -> list[int]:
        """Detections that divide."""
        return [node for node in self._branches() if self.divides(node)]

    def divides(self, node: int) -> bool:
        """Whether a detection with several children is neither in fragments next nor several cells in one."""
        if node in self._in_fragments:
            return False
        while True:
            before = self.parents[node]
            if node in self.fragments_of:
                node = self.fragments_of[node]
            elif len(before) == 1 and len(self.children[before[0]]) == 1:
                node = before[0]
            else:
                return len(before) < 2

    def _next_branch(self, node: int, most: int) -> int | None:
        """The first detection with several parents after a run of at most so many links."""
        for _ in range(most):
            if len(self.children[node]) != 1:
                return None
            node = self.children[node][0]
            if len(self.parents[node]) > 1:
                return node
        return None


def event_loss(true: Iterable[Event], predicted: Iterable[Event]) -> float:
    """``|y sym. diff. y*| / (|y| + |y*|)``: 0 if all events are right, 1 if none is; 0 if there are none.

    Examples
    --------
    >>> move, other = Event("move", 0, (1,), (1,)), Event("move", 0, (2,), (2,))
    >>> event_loss([move, other], [move])  # 1 / 3
    0.3333333333333333
    """
    y, z = set(true), set(predicted)
    return len(y ^ z) / (len(y) + len(z)) if y or z else 0.0
