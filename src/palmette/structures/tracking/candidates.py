"""Candidate events between frames: what may have happened."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from palmette.data.annotation import UNKNOWN
from palmette.data.ragged import offsets_from_lengths
from palmette.structures.tracking.detections import Detections
from palmette.structures.tracking.event_kinds import EventKind
from palmette.structures.tracking.pair import REACH, Pair, unit_of
from palmette.structures.tracking.tables import Layout, conflicting


class Event(NamedTuple):
    """Something that happens between two frames: ids of the detections before and after."""

    kind: str
    before: tuple[int, ...]
    after: tuple[int, ...]
    frame: int = 0  # number of the earlier frame


Node = tuple[int, int]  # frame, id
Link = tuple[Node, Node]


class Block(NamedTuple):
    """The candidates of one kind: places of detections in their frames, and features."""

    kind: EventKind
    step: np.ndarray  # (n,): place of the earlier frame in the sample
    before: np.ndarray  # (n, n_before)
    after: np.ndarray  # (n, n_after)
    names: tuple[str, ...]
    values: np.ndarray  # (n, n_features), one column after the other in memory

    def __len__(self) -> int:
        return len(self.step)


@dataclass(frozen=True)
class Candidates:
    """Candidate events of one sample, kind by kind.

    Parameters
    ----------
    frames : tuple of Detections
    blocks : tuple of Block

    Examples
    --------
    >>> from palmette.structures import Tracking
    >>> early, late = Detections([[0.0, 0.0]], ids=[4]), Detections([[0.0, 1.0]], ids=[9])
    >>> found = Tracking(["move", "appear", "disappear"], max_distance=2.0).candidates([early, late])
    >>> [tuple(event)[:3] for event in found.events]
    [('move', (4,), (9,)), ('appear', (), (9,)), ('disappear', (4,), ())]
    >>> found.codes([("move", (4,), (9,))])
    array([1, 0, 0], dtype=int32)
    >>> found.annotated([("move", (4,), (9,))])  # and the others cannot happen then
    [1, 0, 0]
    """

    frames: tuple[Detections, ...]
    blocks: tuple[Block, ...]

    def __len__(self) -> int:
        return sum(map(len, self.blocks))

    @property
    def kinds(self) -> tuple[str, ...]:
        """Names of the kinds."""
        return tuple(block.kind.name for block in self.blocks)

    @cached_property
    def layout(self) -> Layout:
        """The cells that events explain: futures of all frames but the last, then pasts of all but the first."""
        sizes = [len(frame) for frame in self.frames]
        n_before, n_cells = sum(sizes[:-1]), sum(sizes[:-1]) + sum(sizes[1:])
        future = offsets_from_lengths(sizes)
        past = n_before + future - sizes[0]
        cells, lengths, kinds = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for number, block in enumerate(self.blocks):
            own = np.concatenate(
                [
                    future[block.step][:, None] + block.before,
                    past[block.step + block.kind.span][:, None] + block.after,
                ],
                axis=1,
            )
            cells.append(np.sort(own, axis=1).ravel())
            lengths.append(np.full(len(block), own.shape[1]))
            kinds.append(np.full(len(block), number))
        return Layout(
            np.array([0, len(self)]), offsets_from_lengths(np.concatenate(lengths)), np.concatenate(cells),
            np.array([n_cells]), np.array([n_before]), np.concatenate(kinds),
        )  # fmt: skip

    @property
    def cell_nodes(self) -> np.ndarray:
        """Frame and id of the detection of each cell, shape (n_cells, 2)."""
        sides = (*self.frames[:-1], *self.frames[1:])
        numbers = [np.full(len(frame), frame.frame, np.int64) for frame in sides]
        return np.stack([np.concatenate(numbers), np.concatenate([frame.ids for frame in sides])], axis=1)

    @cached_property
    def events(self) -> list[Event]:
        """All candidates, in the order of codes."""
        return [self.event(place) for place in range(len(self))]

    def event(self, place: int) -> Event:
        """One of the candidates."""
        block, k = self._at(place)
        step = int(block.step[k])
        early, late = self.frames[step], self.frames[step + block.kind.span]
        before, after = (
            tuple(own.ids[at].tolist()) for own, at in ((early, block.before[k]), (late, block.after[k]))
        )
        return Event(block.kind.name, before, after, int(early.frame))

    def late_frame(self, place: int) -> int:
        """The number of the later frame of an event."""
        block, k = self._at(place)
        return int(self.frames[int(block.step[k]) + block.kind.span].frame)

    def _at(self, place: int) -> tuple[Block, int]:
        """The block of a candidate, and its place there."""
        number = int(self.layout.kind[place])
        return self.blocks[number], place - int(self._starts[number])

    @cached_property
    def _starts(self) -> np.ndarray:
        return offsets_from_lengths([len(block) for block in self.blocks])

    @cached_property
    def _place(self) -> dict[tuple[Any, ...], int]:
        return {
            (e.kind, tuple(sorted(e.before)), tuple(sorted(e.after)), e.frame): k
            for k, e in enumerate(self.events)
        }

    def place(self, event: Sequence[Any]) -> int | None:
        """The number of an event ``(kind, ids before, ids after[, frame])``; None if it is no candidate."""
        frame = event[3] if len(event) > 3 else int(self.frames[0].frame)
        return self._place.get((event[0], tuple(sorted(event[1])), tuple(sorted(event[2])), frame))

    def codes(self, events: Iterable[Sequence[Any]]) -> np.ndarray:
        """1 for each of these events, 0 for all others.

        Raises
        ------
        ValueError
            For an event that is no candidate.
        """
        codes = np.zeros(len(self), np.int32)
        for event in events:
            codes[self._known(event)] = 1
        return codes

    def annotated(self, events: Iterable[Sequence[Any]]) -> list[Any]:
        """A partial annotation: 1 for these events, 0 for those that they exclude, UNKNOWN for the others."""
        known = np.full(len(self), -1)
        known[[self._known(event) for event in events]] = 1
        excluded = conflicting(self.layout, known)
        return [1 if own == 1 else 0 if out else UNKNOWN for own, out in zip(known, excluded)]

    def against(self, link: Link) -> np.ndarray:
        """Numbers of the events that cannot happen if a link holds.

        They explain the future of its first end without the second, or the past of the second without the first.

        Raises
        ------
        ValueError
            If no candidate has this link.
        """
        futures, pasts = self._explaining
        first, second = set(futures.get(link[0], ())), set(pasts.get(link[1], ()))
        if not first & second:
            raise ValueError(
                f"the link from object {link[0][1]} of frame {link[0][0]} to object {link[1][1]} of frame {link[1][0]} "
                "is no candidate: the objects are not there, or too far apart (max_distance)"
            )
        return np.array(sorted(first ^ second), np.int64)

    def having(self, link: Link) -> np.ndarray:
        """Numbers of the events that a link is part of."""
        futures, pasts = self._explaining
        return np.array(sorted(set(futures.get(link[0], ())) & set(pasts.get(link[1], ()))), np.int64)

    def calling_false(self, nodes: Collection[Node]) -> np.ndarray:
        """Numbers of the events within one frame that explain one of these detections away."""
        found = [np.empty(0, np.int64)]
        for block, start in zip(self.blocks, self._starts.tolist()):
            if block.kind.span == 0:
                frames = [self.frames[k] for k in block.step.tolist()]
                own = [
                    (int(f.frame), int(f.ids[k])) in nodes
                    for f, k in zip(frames, block.before[:, 0].tolist())
                ]
                found.append(start + np.flatnonzero(own))
        return np.concatenate(found)

    @cached_property
    def _explaining(self) -> tuple[dict[Node, list[int]], dict[Node, list[int]]]:
        """The events that explain the future, and the past, of each detection ``(frame, id)``."""
        futures: dict[Node, list[int]] = {}
        pasts: dict[Node, list[int]] = {}
        for k, event in enumerate(self.events):
            for own in event.before:
                futures.setdefault((event.frame, own), []).append(k)
            for own in event.after:
                pasts.setdefault((self.late_frame(k), own), []).append(k)
        return futures, pasts

    def events_of(self, codes: Sequence[Any]) -> list[Event]:
        """The events that happen."""
        if len(codes) != len(self):
            raise ValueError(f"there are {len(codes)} codes and {len(self)} candidates; give one for each")
        return [self.event(k) for k, code in enumerate(codes) if code == 1]

    def _known(self, event: Sequence[Any]) -> int:
        place = self.place(event)
        if place is None:
            raise ValueError(
                f"{tuple(event)} is no candidate: its kind is not one of {', '.join(self.kinds)}, a detection is not "
                "there, or they are too far apart (max_distance, neighbours)"
            )
        return place


def propose(
    frames: Sequence[Detections],
    kinds: Sequence[EventKind],
    max_distance: float | None,
    neighbours: int,
    few: int,
) -> Candidates:
    """Candidates between successive frames of a sample."""
    frames = tuple(frames)
    for k, frame in enumerate(frames):
        if not isinstance(frame, Detections):
            raise TypeError(f"frame {k} of the sample is a {type(frame).__name__}, expected Detections")
    if len(frames) < 2:
        raise ValueError(f"a sample needs at least two frames, got {len(frames)}: give (early, late)")
    sizes = {frame.position.shape[1] for frame in frames if len(frame)}
    if len(sizes) > 1:
        raise ValueError("frames of a sample have positions in 2 and in 3 dimensions; give the same to all")
    size = next(iter(sizes), 2)
    frames = tuple(frame if len(frame) else _empty(frame, size) for frame in frames)
    unit = unit_of(frames)
    reach = REACH * unit if max_distance is None else float(max_distance)
    pairs: dict[tuple[int, int], Pair] = {}
    blocks = []
    for kind in kinds:
        steps = range(1, len(frames) - 1) if kind.span == 0 else range(len(frames) - kind.span)
        found = []
        for step in steps:
            key = step, step + kind.span
            if key not in pairs:
                pairs[key] = Pair(frames[key[0]], frames[key[1]], unit, reach, neighbours, few)
            found.append(_block(kind, step, pairs[key]))
        blocks.append(_joined(kind, found))
    return Candidates(frames, tuple(blocks))


def _empty(frame: Detections, size: int) -> Detections:
    """A frame without detections, in so many dimensions."""
    boxes = None if frame.boxes is None else np.empty((0, 2 * size))
    return Detections(np.empty((0, size)), frame.features, frame.ids, boxes, frame.frame, None)


def _block(kind: EventKind, step: int, pair: Pair) -> Block:
    before, after = (np.asarray(each, np.int64) for each in kind.propose(pair))
    if before.shape != (len(after), kind.n_before) or after.shape != (len(before), kind.n_after):
        raise ValueError(
            f"{kind.name}: propose returned shapes {before.shape} and {after.shape}, expected (n, {kind.n_before}) and "
            f"(n, {kind.n_after})"
        )
    for places, frame in ((before, pair.a), (after, pair.b)):
        if places.size and (places.min() < 0 or places.max() >= len(frame)):
            raise ValueError(f"{kind.name}: propose names detections that frame {frame.frame} does not have")
        if places.shape[1] > 1 and np.any(np.diff(np.sort(places, axis=1), axis=1) == 0):
            raise ValueError(f"{kind.name}: propose names one detection twice in one event")
    named = kind.measure(pair, before, after)
    wrong = [name for name, values in named.items() if np.shape(values) != (len(before),)]
    columns = np.empty((len(named), len(before)))
    if not wrong:
        for row, values in zip(columns, named.values()):
            row[:] = values
        wrong = [name for name, fine in zip(named, np.all(np.isfinite(columns), axis=1).tolist()) if not fine]
    if wrong:
        raise ValueError(
            f"{kind.name}: the feature {wrong[0]!r} must be a finite number for each of the {len(before)} events"
        )
    return Block(kind, np.full(len(before), step), before, after, tuple(named), columns.T)


def _joined(kind: EventKind, found: list[Block]) -> Block:
    if len(found) == 1:
        return found[0]
    if not found:  # windows of two frames have no inner one
        nothing = np.empty((0, kind.n_before), np.int64), np.empty((0, kind.n_after), np.int64)
        return Block(kind, np.empty(0, np.int64), *nothing, (), np.empty((0, 0)))
    if any(block.names != found[0].names for block in found):
        raise ValueError(f"{kind.name}: the frames of a window have different measurements")
    return Block(
        kind,
        np.concatenate([block.step for block in found]),
        np.concatenate([block.before for block in found]),
        np.concatenate([block.after for block in found]),
        found[0].names,
        np.concatenate([block.values for block in found]),
    )
