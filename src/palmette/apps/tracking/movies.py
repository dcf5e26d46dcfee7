"""Movies with lineages as samples: windows of frames, measurements, candidates and true events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from palmette.apps.tracking.assembling import shared_frames
from palmette.structures.tracking.candidates import Candidates, Link
from palmette.structures.tracking.detections import Detections
from palmette.structures.tracking.lineage import Lineage
from palmette.structures.tracking.pair import LEFT_OUT
from palmette.structures.tracking.tracking import Tracking
from palmette.structures.tracking.truth import Repair, known_codes, true_codes

UNUSED = LEFT_OUT - {"orient"}  # measurements that no feature takes
BOXES = "boxes"  # named like a measurement: bounding boxes
Movie = tuple[Sequence[Detections], Lineage]


def windows(movie: Iterable[Detections], size: int, shared: int = 1) -> Iterator[list[Detections]]:
    """Runs of ``size`` frames, each of which begins with the last ``shared`` frames of the one before.

    The last one may be shorter, but has a frame of its own.

    >>> frames = [Detections([[0.0, 0.0]], frame=t) for t in range(6)]
    >>> [[frame.frame for frame in own] for own in windows(frames, 3)]
    [[0, 1, 2], [2, 3, 4], [4, 5]]
    >>> [[frame.frame for frame in own] for own in windows(frames, 4, 2)]
    [[0, 1, 2, 3], [2, 3, 4, 5]]
    """
    own: list[Detections] = []
    is_new, last = False, None
    for frame in movie:
        if last is not None and frame.frame <= last:
            raise ValueError(
                f"frame {frame.frame} comes after frame {last}: give frames in the order of time"
            )
        last, is_new = frame.frame, True
        own.append(frame)
        if len(own) == size:
            yield own
            own, is_new = own[-shared:], False
    if is_new:
        yield own


def restricted(frame: Detections, measurements: Sequence[str]) -> Detections:
    """A frame with these measurements alone; "boxes" are its bounding boxes."""
    if not len(frame):
        size = frame.position.shape[1]
        boxes = np.empty((0, 2 * size)) if BOXES in measurements else None
        nothing = {name: np.empty(0) for name in measurements if name != BOXES}
        return Detections(frame.position, nothing, frame.ids, boxes, frame.frame, frame.shape)
    there = {*frame.features, *([] if frame.boxes is None else [BOXES])}
    missing = [name for name in measurements if name not in there]
    if missing:
        raise ValueError(
            f"frame {frame.frame} has no {', '.join(missing)}, which the tracker uses ({', '.join(measurements)}): "
            "measure it (intensities of masks need images), or train a tracker without it (measurements)"
        )
    kept = {name: frame.features[name] for name in measurements if name != BOXES}
    boxes = frame.boxes if BOXES in measurements else None
    return Detections(frame.position, kept, frame.ids, boxes, frame.frame, frame.shape)


def check_truth(movies: Sequence[Movie]) -> None:
    """Raise ValueError for a lineage that names a detection that its movie does not have."""
    for m, (frames, lineage) in enumerate(movies):
        there = {(int(frame.frame), int(own)) for frame in frames for own in frame.ids.tolist()}
        for node in sorted(set(lineage.edges.ravel().tolist())):
            key = int(lineage.frame[node]), int(lineage.id[node])
            if key not in there:
                raise ValueError(
                    f"movie {m}: the lineage links object {key[1]} of frame {key[0]}, which has no detection; leave "
                    "the link out, or give the movie that the lineage belongs to"
                )


def longest_link(movies: Sequence[Movie]) -> float:
    """Length of the longest link between successive frames."""
    longest = 0.0
    for frames, lineage in movies:
        for early, late in zip(frames, frames[1:]):
            links = lineage.links(early.frame, late.frame)
            if links:
                a = early.position[[early.place[i] for i, _ in links]]
                b = late.position[[late.place[j] for _, j in links]]
                longest = max(longest, float(np.sqrt(((a - b) ** 2).sum(axis=1)).max()))
    if longest == 0.0:
        raise ValueError("no link joins successive frames: give a lineage with links, or max_distance")
    return longest


def training_samples(
    movies: Sequence[Movie], structure: Tracking, measurements: Sequence[str], window: int, complete: bool
) -> tuple[list[Candidates], list[Any], list[Repair]]:
    """Candidates and codes of all windows of all movies, and what could not be expressed."""
    X: list[Candidates] = []
    Y: list[Any] = []
    repairs: list[Repair] = []
    for frames, lineage in movies:
        own = [restricted(frame, measurements) for frame in frames]
        taken: set[Link] = set()
        shared = min(shared_frames(structure.kinds), window - 1)
        for frames_of_window in windows(own, window, shared):
            if len(frames_of_window) < 2:
                continue
            candidates = structure.candidates(frames_of_window)
            if not len(candidates):
                continue
            X.append(candidates)
            if complete:
                codes, found = true_codes(candidates, lineage)
                Y.append(codes.tolist())
                repairs += found
                for k in np.flatnonzero(codes).tolist():
                    event, late = candidates.event(k), candidates.late_frame(k)
                    taken |= {((event.frame, a), (late, b)) for a in event.before for b in event.after}
            else:
                known, found = known_codes(candidates, lineage)
                Y.append(known)
                repairs += found
        if complete or "skip" not in [kind.name for kind in structure.kinds]:
            repairs += _gaps(
                lineage, own, taken, "learnt as disappear and appear" if complete else "left out"
            )
    return X, Y, list(dict.fromkeys(repairs))


def _gaps(lineage: Lineage, frames: Sequence[Detections], taken: set[Link], then: str) -> list[Repair]:
    """Links over frames that no event takes up."""
    after = {int(early.frame): int(late.frame) for early, late in zip(frames, frames[1:])}
    found = []
    for a, b in lineage.edges.tolist():
        (first, own), (second, other) = ((int(lineage.frame[n]), int(lineage.id[n])) for n in (a, b))
        if after.get(first) != second and ((first, own), (second, other)) not in taken:
            why = f"is linked to object {other} of frame {second} over frames between; {then}"
            found.append(Repair(first, own, why))
    return found


def shared_measurements(movies: Sequence[Movie]) -> tuple[str, ...]:
    """Measurements of every frame that has detections."""
    names = [
        {*frame.features, *([] if frame.boxes is None else [BOXES])}
        for frames, _ in movies
        for frame in frames
        if len(frame)
    ]
    return tuple(sorted(set.intersection(*names) - UNUSED)) if names else ()
