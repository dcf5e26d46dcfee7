"""True events of two frames, read off a lineage; what the model cannot express is named and mended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

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
    links: Sequence[tuple[int, int]], early: Detections, late: Detections, kinds: Sequence[str]
) -> tuple[list[Event], list[Repair]]:
    """Events that explain the links between two frames.

    One child is a move, two are a division (a split where there are no divisions), two parents a merge, none a
    disappearance or appearance. Where there are more, the nearest are kept, and the rest appear or disappear.

    Parameters
    ----------
    links : pairs of ids (before, after)
    early, late : Detections
    kinds : names of the kinds of events that there are

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
            events.append(Event(two, (a,), tuple(found), frame))
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


def true_codes(candidates: Candidates, lineage: Lineage) -> tuple[np.ndarray, list[Repair]]:
    """Codes of the candidates of two frames; true events that are no candidates fall into smaller ones."""
    early, late = candidates.frames
    links = lineage.links(early.frame, late.frame)
    events, repairs = true_events(links, early, late, candidates.kinds)
    kept: list[Event] = []
    for event in events:
        if candidates.place(event) is not None:
            kept.append(event)
            continue
        why = f"its true event ({event.kind} to {event.after}) is no candidate: it is too far, or of no known kind"
        own, frame = (event.before[0], early.frame) if event.before else (event.after[0], late.frame)
        repairs.append(Repair(frame, own, why))
        kept += _smaller(event, candidates, early, late)
    return candidates.codes(kept), repairs


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
    found += [Event("appear", (), (b,), event.frame) for b in event.after if b not in used[1]]
    return found


def _grouped(pairs: Sequence[tuple[int, int]]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for a, b in pairs:
        found.setdefault(a, []).append(b)
    return found
