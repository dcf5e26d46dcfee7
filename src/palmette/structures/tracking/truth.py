"""True events of two frames, read off a lineage; what the model cannot express is named and mended."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from palmette.data.annotation import UNKNOWN
from palmette.structures.tracking.candidates import Candidates, Event
from palmette.structures.tracking.detections import Detections
from palmette.structures.tracking.lineage import Lineage


class Repair(NamedTuple):
    """Where a lineage cannot be explained by events, and what was done about it."""

    frame: int
    id: int
    reason: str

    def __str__(self) -> str:
        return f"frame {self.frame}, object {self.id}: {self.reason}"


def true_events(
    links: Sequence[tuple[int, int]],
    early: Detections,
    late: Detections,
    kinds: Sequence[str],
    splits: Collection[tuple[int, int]] = (),
) -> tuple[list[Event], list[Repair]]:
    """Events that explain the links between two frames.

    One child is a move, two are a division (a split where there are no divisions), two parents a merge, none a
    disappearance or appearance. Where there are more, the nearest are kept, and the rest appear or disappear.

    Parameters
    ----------
    links : pairs of ids (before, after)
    early, late : Detections
    kinds : names of the kinds of events that there are
    splits : detections ``(frame, id)`` that are split, and do not divide, where there are both kinds

    Examples
    --------
    >>> early, late = Detections([[0.0, 0.0]]), Detections([[0.0, 1.0], [1.0, 0.0], [9.0, 9.0]])
    >>> events, repairs = true_events([(0, 0), (0, 1), (0, 2)], early, late, ["divide", "appear"])
    >>> [tuple(event)[:3] for event in events]
    [('divide', (0,), (0, 1)), ('appear', (), (2,))]
    >>> print(repairs[0])
    frame 0, object 0: has 3 children; kept are the two nearest, 0 and 1
    """
    place = early.place, late.place
    two = next((kind for kind in ("divide", "split") if kind in kinds), None)
    repairs: list[Repair] = []
    far = {
        (a, b): float(np.linalg.norm(early.position[place[0][a]] - late.position[place[1][b]]))
        for a, b in links
    }
    left = sorted(far)
    children = _grouped(left)
    for a, found in children.items():
        most = 2 if two else 1
        if len(found) > most:
            near = sorted(sorted(found, key=lambda b: far[a, b])[:most])
            kept = "the nearest" if most == 1 else "the two nearest"
            named = " and ".join(map(str, near))
            repairs.append(Repair(early.frame, a, f"has {len(found)} children; kept are {kept}, {named}"))
            left = [(x, b) for x, b in left if x != a or b in near]
    children = _grouped(left)
    parents = _grouped([(b, a) for a, b in left])
    for b, found in parents.items():
        alone = all(len(children[a]) == 1 for a in found)
        most = 2 if "merge" in kinds and alone else 1
        if len(found) > most:
            near = sorted(sorted(found, key=lambda a: far[a, b])[:most])
            named = " and ".join(map(str, near))
            repairs.append(Repair(late.frame, b, f"has {len(found)} parents; kept is {named}"))
            left = [(a, x) for a, x in left if x != b or a in near]
    children, parents = _grouped(left), _grouped([(b, a) for a, b in left])
    events, frame = [], early.frame
    for a in early.ids.tolist():
        found = children.get(a, [])
        if len(found) == 2 and two:
            own = "split" if "split" in kinds and (frame, a) in splits else two
            events.append(Event(own, (a,), tuple(found), frame))
        elif not found:
            events.append(Event("disappear", (a,), (), frame))
        elif len(parents[found[0]]) == 1:
            events.append(Event("move", (a,), (found[0],), frame))
    for b in late.ids.tolist():
        found = parents.get(b, [])
        if len(found) == 2:
            events.append(Event("merge", tuple(found), (b,), frame))
        elif not found:
            events.append(Event("appear", (), (b,), frame))
    return events, repairs


def splits_of(lineage: Lineage) -> set[tuple[int, int]]:
    """Detections ``(frame, id)`` whose two children are fragments: they share a child, or it had two parents itself.

    >>> nodes = [(0, 1), (1, 1), (1, 2), (2, 1)]
    >>> links = [(nodes[0], nodes[1]), (nodes[0], nodes[2]), (nodes[1], nodes[3]), (nodes[2], nodes[3])]
    >>> splits_of(Lineage.from_links(nodes, links))
    {(0, 1)}
    """
    children: dict[int, set[int]] = {}
    for a, b in lineage.edges.tolist():
        children.setdefault(a, set()).add(b)
    parents, found = lineage.n_parents, set()
    for node, own in children.items():
        if len(own) == 2:
            first, second = (children.get(child, set()) for child in own)
            if first & second or parents[node] > 1:
                found.add((int(lineage.frame[node]), int(lineage.id[node])))
    return found


def window_events(
    frames: Sequence[Detections], lineage: Lineage, kinds: Sequence[str]
) -> tuple[list[Event], list[Repair]]:
    """True events of successive frames of a sample, two or more.

    In windows of more than two frames, a link over one frame is a skip, and a detection in an inner frame without any
    link is false, where there are such kinds of events.
    """
    events: dict[tuple[int, str, tuple[int, ...], tuple[int, ...]], Event] = {}
    repairs: list[Repair] = []

    def swap(gone: Sequence[Event], come: Event) -> None:
        if all(_key(event) in events for event in gone):
            for event in gone:
                del events[_key(event)]
            events[_key(come)] = come

    splits = splits_of(lineage) if {"split", "divide"} <= set(kinds) else ()
    for early, late in zip(frames, frames[1:]):
        found, wrong = true_events(lineage.links(early.frame, late.frame), early, late, kinds, splits)
        events |= {_key(event): event for event in found}
        repairs += wrong
    if "skip" in kinds:
        for a, between, c in zip(frames, frames[1:], frames[2:]):
            for i, k in lineage.links(a.frame, c.frame):
                gone = Event("disappear", (i,), (), a.frame), Event("appear", (), (k,), between.frame)
                swap(gone, Event("skip", (i,), (k,), a.frame))
    if "false" in kinds:
        for before, own in zip(frames, frames[1:-1]):
            for j in own.ids.tolist():
                gone = Event("appear", (), (j,), before.frame), Event("disappear", (j,), (), own.frame)
                swap(gone, Event("false", (j,), (j,), own.frame))
    return list(events.values()), repairs


def true_codes(candidates: Candidates, lineage: Lineage) -> tuple[np.ndarray, list[Repair]]:
    """Codes of the candidates of a sample; true events that are no candidates fall into smaller ones."""
    frames = {int(frame.frame): frame for frame in candidates.frames}
    order = [int(frame.frame) for frame in candidates.frames]
    events, repairs = window_events(candidates.frames, lineage, candidates.kinds)
    kept: list[Event] = []
    for event in events:
        if candidates.place(event) is not None:
            kept.append(event)
            continue
        why = f"its true event ({event.kind} to {event.after}) is no candidate: it is too far, or of no known kind"
        late = order[order.index(event.frame) + (2 if event.kind == "skip" else 1)]
        own, frame = (event.before[0], event.frame) if event.before else (event.after[0], late)
        repairs.append(Repair(frame, own, why))
        kept += _smaller(event, candidates, frames[event.frame], frames[late])
    return candidates.codes(kept), repairs


def known_codes(candidates: Candidates, lineage: Lineage) -> tuple[list[Any], list[Repair]]:
    """A partial annotation by links: 0 for events that contradict one of them, UNKNOWN for all others.

    A link may be a move or half of a division, as long as nothing else is known. Links that are no candidates, and
    those that no event can express together with the links before them, say nothing; they are named.
    """
    out, repairs = np.zeros(len(candidates), bool), []
    frames = [int(frame.frame) for frame in candidates.frames]
    for first, second in [
        *zip(frames, frames[1:]),
        *(zip(frames, frames[2:]) if "skip" in candidates.kinds else ()),
    ]:
        for a, b in lineage.links(first, second):
            link = (first, a), (second, b)
            own = candidates.having(link)
            if not len(own):
                why = "is no candidate: it is too far (max_distance), or others are nearer (neighbours)"
            elif out[own].all():  # a third child would leave nothing
                why = "contradicts other links: no event has them together"
            else:
                out[candidates.against(link)] = True
                continue
            repairs.append(Repair(first, a, f"its link to object {b} of frame {second} {why}; left out"))
    return [0 if wrong else UNKNOWN for wrong in out.tolist()], repairs


def _key(event: Event) -> tuple[int, str, tuple[int, ...], tuple[int, ...]]:
    return event.frame, event.kind, event.before, event.after


def _smaller(event: Event, candidates: Candidates, early: Detections, late: Detections) -> list[Event]:
    """The nearest link that is a candidate, and appearances and disappearances for the rest."""
    links = [Event("move", (a,), (b,), event.frame) for a in event.before for b in event.after]
    links = [link for link in links if candidates.place(link) is not None]
    if len(event.before) + len(event.after) == 2:
        links = []
    place = early.place, late.place
    links.sort(
        key=lambda e: float(
            np.linalg.norm(early.position[place[0][e.before[0]]] - late.position[place[1][e.after[0]]])
        )
    )
    found = links[:1]
    used = {*found[0].before} if found else set(), {*found[0].after} if found else set()
    found += [Event("disappear", (a,), (), event.frame) for a in event.before if a not in used[0]]
    before_late = event.frame
    if event.kind == "skip":  # what appears does so after the frame in between
        frames = [int(frame.frame) for frame in candidates.frames]
        before_late = frames[frames.index(event.frame) + 1]
    found += [Event("appear", (), (b,), before_late) for b in event.after if b not in used[1]]
    return found


def _grouped(pairs: Sequence[tuple[int, int]]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for a, b in pairs:
        found.setdefault(a, []).append(b)
    return found
