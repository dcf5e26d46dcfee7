"""The events between frames that a lineage tells of, and the loss that counts them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from palmette.structures.tracking.lineage import Lineage

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
    if step < 1:
        raise ValueError(f"step must be at least 1, got step={step}")
    if not len(lineage):
        return []
    first, last = int(lineage.frame.min()), int(lineage.frame.max())
    wanted = set(range(first, last - step + 1) if frames is None else frames)
    own = lineage.frame[lineage.edges[:, 1]] - lineage.frame[lineage.edges[:, 0]] == step
    family = Family(len(lineage), lineage.edges[own], rejoin)
    ids, at = lineage.id.tolist(), lineage.frame.tolist()
    events = []

    def add(kind: str, frame: int, before: list[int], after: list[int]) -> None:
        if frame in wanted:
            parents, children = (tuple(sorted(ids[k] for k in nodes)) for nodes in (before, after))
            events.append(Event(kind, frame, parents, children))

    for k, (before, after) in enumerate(zip(family.parents, family.children)):
        if not after:
            add("disappear", at[k], [k], [])
        elif len(after) > 1:
            add("divide" if family.divides(k) else "split", at[k], [k], after)
        elif len(family.parents[after[0]]) == 1:
            add("move", at[k], [k], after)
        if not before:
            add("appear", at[k] - step, [], [k])
        elif len(before) > 1:
            add("merge", at[k] - step, before, [k])
    return sorted(events, key=lambda e: (e.frame, KINDS.index(e.kind), e.parents, e.children))


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
        self.parents: list[list[int]] = [[] for _ in range(n)]
        self.children: list[list[int]] = [[] for _ in range(n)]
        for a, b in np.asarray(links, np.int64).reshape(-1, 2).tolist():
            self.children[a].append(b)
            self.parents[b].append(a)
        self.fragments_of: dict[
            int, int
        ] = {}  # from where fragments are one again to where they were one before
        self._in_fragments: set[int] = set()
        for node, after in enumerate(self.children):
            if len(after) > 1:
                ends = {self._next_branch(child, rejoin - 1) for child in after}
                end = ends.pop()
                if not ends and end is not None:
                    self._in_fragments.add(node)
                    if len(self.parents[end]) == len(after):  # no other cell came in
                        self.fragments_of[end] = node

    def divisions(self) -> list[int]:
        """Detections that divide."""
        return [k for k, after in enumerate(self.children) if len(after) > 1 and self.divides(k)]

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
