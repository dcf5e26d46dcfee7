"""Candidate events between frames: what may have happened."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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


class Block(NamedTuple):
    """The candidates of one kind: places of detections in their frames, and features."""

    kind: EventKind
    step: np.ndarray  # (n,): place of the earlier frame in the sample
    before: np.ndarray  # (n, n_before)
    after: np.ndarray  # (n, n_after)
    names: tuple[str, ...]
    values: np.ndarray  # (n, n_features)

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

    @cached_property
    def events(self) -> list[Event]:
        """All candidates, in the order of codes."""
        return [event for block in self.blocks for event in self._named(block, np.arange(len(block)))]

    def _named(self, block: Block, rows: np.ndarray) -> list[Event]:
        """Some candidates of one kind."""
        found = []
        ids, numbers = [frame.ids for frame in self.frames], [int(frame.frame) for frame in self.frames]
        name, span = block.kind.name, block.kind.span
        own = (block.step[rows], block.before[rows], block.after[rows])
        for step, before, after in zip(*(each.tolist() for each in own)):
            early = tuple(int(ids[step][k]) for k in before)
            late = tuple(int(ids[step + span][k]) for k in after)
            found.append(Event(name, early, late, numbers[step]))
        return found

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

    def events_of(self, codes: Sequence[Any]) -> list[Event]:
        """The events that happen."""
        if len(codes) != len(self):
            raise ValueError(f"there are {len(codes)} codes and {len(self)} candidates; give one for each")
        happens = np.array([k for k, code in enumerate(codes) if code == 1], np.int64)
        ends = np.cumsum([len(block) for block in self.blocks])
        kind = np.searchsorted(ends, happens, side="right")
        return [
            event
            for k, block in enumerate(self.blocks)
            for event in self._named(block, happens[kind == k] - ends[k] + len(block))
        ]

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
    for name, values in named.items():
        if np.shape(values) != (len(before),) or not np.all(np.isfinite(values)):
            raise ValueError(
                f"{kind.name}: the feature {name!r} must be a finite number for each of the {len(before)} events"
            )
    values = np.stack(list(named.values()), axis=1) if named else np.empty((len(before), 0))
    return Block(kind, np.full(len(before), step), before, after, tuple(named), values)


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
