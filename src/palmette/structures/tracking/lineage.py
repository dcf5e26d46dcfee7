"""Who descends from whom: the result of tracking a movie, and its truth."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np


class Track(NamedTuple):
    """A run of detections without a branch: one row of a file ``man_track.txt`` with its nodes."""

    label: int  # from 1
    begin: int
    end: int
    parent: int  # label of the parent, 0 if there is none
    nodes: tuple[int, ...]  # in the order of frames


@dataclass(frozen=True, eq=False)
class Lineage:
    """Detections of a movie and the links between them, from earlier to later.

    Parameters
    ----------
    frame, id : arrays of int of shape (n,)
        A detection is known by its frame and by its id within the frame (``Detections.ids``).
    edges : array of int of shape (m, 2)
        Numbers of parent and child in these arrays. Over-segmented objects may have several parents.

    Examples
    --------
    A cell that moves, then divides:

    >>> nodes = [(0, 1), (1, 1), (2, 1), (2, 2)]  # frame, id
    >>> cells = Lineage.from_links(nodes, [(nodes[0], nodes[1]), (nodes[1], nodes[2]), (nodes[1], nodes[3])])
    >>> [(t.label, t.begin, t.end, t.parent) for t in cells.tracks()]
    [(1, 0, 1, 0), (2, 2, 2, 1), (3, 2, 2, 1)]
    >>> cells.skipping(2).edges.tolist()
    [[0, 2], [0, 3]]
    """

    frame: np.ndarray
    id: np.ndarray
    edges: np.ndarray

    def __post_init__(self) -> None:
        for name in ("frame", "id"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), np.int64))
        object.__setattr__(self, "edges", np.asarray(self.edges, np.int64).reshape(-1, 2))
        keys = np.stack([self.frame, self.id], axis=1)
        known, counts = np.unique(keys, axis=0, return_counts=True)
        if len(known) < len(keys):
            frame, own = known[counts > 1][0].tolist()
            raise ValueError(
                f"frame {frame}: the detection {own} occurs twice; ids must differ within a frame"
            )
        if len(self.edges) and (self.edges.min() < 0 or self.edges.max() >= len(self.frame)):
            raise ValueError(
                f"edges name the detections 0..{self.edges.max()}, but there are {len(self.frame)}"
            )
        back = np.flatnonzero(self.frame[self.edges[:, 0]] >= self.frame[self.edges[:, 1]])
        if len(back):
            a, b = self.edges[back[0]]
            raise ValueError(
                f"the link from detection {self.id[a]} of frame {self.frame[a]} to detection {self.id[b]} of frame "
                f"{self.frame[b]} does not go forward in time"
            )

    def __len__(self) -> int:
        return len(self.frame)

    @classmethod
    def from_links(
        cls, nodes: Iterable[tuple[int, int]], links: Iterable[tuple[tuple[int, int], tuple[int, int]]]
    ) -> Lineage:
        """From nodes ``(frame, id)`` and pairs of them; nodes are sorted by frame and id."""
        own = sorted(set(nodes))
        place = {node: k for k, node in enumerate(own)}
        edges = []
        for parent, child in links:
            for end in (parent, child):
                if end not in place:
                    raise ValueError(f"a link names detection {end[1]} of frame {end[0]}, which is not there")
            edges.append((place[parent], place[child]))
        table = np.array(own, np.int64).reshape(-1, 2)
        return cls(table[:, 0], table[:, 1], np.array(sorted(set(edges)), np.int64).reshape(-1, 2))

    @property
    def n_children(self) -> np.ndarray:
        """Children of each detection."""
        return np.bincount(self.edges[:, 0], minlength=len(self))

    @property
    def n_parents(self) -> np.ndarray:
        """Parents of each detection."""
        return np.bincount(self.edges[:, 1], minlength=len(self))

    def links(self, first: int, second: int) -> list[tuple[int, int]]:
        """Ids of linked detections of two frames, in their order."""
        return list(self._linked.get((first, second), ()))

    @cached_property
    def _linked(self) -> dict[tuple[int, int], list[tuple[int, int]]]:
        """Ids of linked detections by their frames."""
        found: dict[tuple[int, int], list[tuple[int, int]]] = {}
        frames, ids = self.frame[self.edges], self.id[self.edges]
        for k in np.lexsort((ids[:, 1], ids[:, 0])).tolist():
            pair = int(ids[k, 0]), int(ids[k, 1])
            found.setdefault((int(frames[k, 0]), int(frames[k, 1])), []).append(pair)
        return found

    def skipping(self, step: int) -> Lineage:
        """The same detections; links go from every frame t to t + step, where a path of links leads there."""
        children = self._children()
        ends: dict[int, dict[int, list[int]]] = {}
        for node in np.argsort(-self.frame, kind="stable").tolist():  # children before their parents
            reached: dict[int, list[int]] = {int(self.frame[node]): [node]}
            for child in children[node]:
                for at, found in ends[child].items():
                    if at <= self.frame[node] + step:
                        reached.setdefault(at, []).extend(found)
            ends[node] = reached
        edges = sorted(
            {
                (node, end)
                for node, reached in ends.items()
                for end in reached.get(int(self.frame[node]) + step, ())
            }
        )
        return Lineage(self.frame, self.id, np.array(edges, np.int64).reshape(-1, 2))

    def without(self, nodes: Iterable[tuple[int, int]]) -> Lineage:
        """The same without some detections ``(frame, id)`` and their links."""
        gone = set(nodes)
        if not gone:
            return self
        kept = np.array([key not in gone for key in zip(self.frame.tolist(), self.id.tolist())], bool)
        place = np.cumsum(kept) - 1
        links = self.edges[kept[self.edges].all(axis=1)]
        return Lineage(self.frame[kept], self.id[kept], place[links])

    def tracks(self) -> list[Track]:
        """Maximal runs without a branch, in the order of their first detections; a gap in time ends none.

        A detection with several parents, or whose parent has several children, begins a run. The parent of a run that
        begins with several parents is the first of them.
        """
        children, parents = self._children(), self._parents()
        single = np.flatnonzero(
            children.n == 1
        )  # whose child, if it has no other parent, goes on with its run
        child = children.values[children.begin[single]]
        goes_on = parents.n[child] == 1
        later = np.full(len(self), -1)
        later[single[goes_on]] = child[goes_on]
        begins = np.ones(len(self), bool)
        begins[child[goes_on]] = False
        order = np.lexsort((self.id, self.frame))
        label_of, follow = np.zeros(len(self), np.int64), later.tolist()
        found: list[Track] = []
        for label, start in enumerate(order[begins[order]].tolist(), 1):
            run = [start]
            while follow[run[-1]] >= 0:
                run.append(follow[run[-1]])
            label_of[run] = label
            found.append(Track(label, int(self.frame[start]), int(self.frame[run[-1]]), 0, tuple(run)))
        for k, own in enumerate(found):
            before = parents[own.nodes[0]]
            if before:
                found[k] = own._replace(parent=int(label_of[before[0]]))
        return found

    def _children(self) -> Neighbours:
        return Neighbours(self.edges, len(self))

    def _parents(self) -> Neighbours:
        return Neighbours(self.edges[:, ::-1], len(self))


class Neighbours:
    """The detections that each detection is linked to, in ascending order, in little memory.

    >>> own = Neighbours(np.array([[0, 2], [0, 1], [3, 1]]), 4)
    >>> own[0], own[1], own.n.tolist()
    ([1, 2], [], [2, 0, 0, 1])
    """

    def __init__(self, pairs: np.ndarray, n: int) -> None:
        self.values = pairs[np.lexsort((pairs[:, 1], pairs[:, 0])), 1]
        self.n = np.bincount(pairs[:, 0], minlength=n)
        self.begin = np.cumsum(self.n) - self.n

    def __getitem__(self, node: int) -> list[int]:
        return self.values[self.begin[node] : self.begin[node] + self.n[node]].tolist()
