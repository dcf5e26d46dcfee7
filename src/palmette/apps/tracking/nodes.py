"""What a movie says of the detections of a lineage."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from palmette.structures.tracking.detections import Detections
from palmette.structures.tracking.lineage import Lineage


class Nodes(NamedTuple):
    """Positions, features and boxes (None if there are none) of the detections of a lineage, in its order."""

    position: np.ndarray
    features: dict[str, np.ndarray]
    boxes: np.ndarray | None


def nodes_of(lineage: Lineage, movie: Iterable[Detections]) -> Nodes:
    """Go through a movie once and keep what it says of the detections of a lineage.

    Raises
    ------
    ValueError
        A detection that is not in the movie, or a frame with other features than the one before; the message names
        frame and detection.

    Examples
    --------
    >>> movie = [Detections([[1.0, 2.0], [3.0, 4.0]], {"area": [5, 6]}, frame=t) for t in range(2)]
    >>> cells = Lineage.from_links([(0, 1), (1, 0)], [((0, 1), (1, 0))])
    >>> nodes_of(cells, movie)[:2]
    (array([[3., 4.],
           [1., 2.]]), {'area': array([6., 5.])})
    """
    order = np.argsort(lineage.frame, kind="stable")
    frames = lineage.frame[order]
    found: list[tuple[np.ndarray, Detections]] = []
    seen: set[int] = set()
    for cells in movie:
        if cells.frame in seen:
            raise ValueError(f"frame {cells.frame} occurs twice in the movie; frames must differ")
        seen.add(cells.frame)
        own = order[slice(*np.searchsorted(frames, [cells.frame, cells.frame + 1]))]
        if not len(own):
            continue
        place = cells.place
        lacking = next((k for k in own.tolist() if int(lineage.id[k]) not in place), None)
        if lacking is not None:
            raise ValueError(_not_there(lineage, lacking))
        found.append((own, cells.take(np.array([place[i] for i in lineage.id[own].tolist()]))))
    if sum(len(own) for own, _ in found) < len(lineage):
        unseen = np.flatnonzero(~np.isin(lineage.frame, list(seen)))
        raise ValueError(_not_there(lineage, int(unseen[0])))
    return _gathered(found, len(lineage))


def _not_there(lineage: Lineage, node: int) -> str:
    return (
        f"the lineage has detection {lineage.id[node]} of frame {lineage.frame[node]}, which is not in the movie; "
        "give the movie that was tracked"
    )


def _gathered(found: list[tuple[np.ndarray, Detections]], n: int) -> Nodes:
    if not found:
        return Nodes(np.empty((0, 2)), {}, None)
    first = found[0][1]
    position = np.empty((n, first.position.shape[1]))
    features = {name: np.empty(n) for name in first.features}
    boxes = None if first.boxes is None else np.empty((n, first.boxes.shape[1]))
    for own, cells in found:
        same = set(cells.features) == set(features) and (cells.boxes is None) == (boxes is None)
        if not same or cells.position.shape[1] != position.shape[1]:
            raise ValueError(
                f"frame {cells.frame} has {_measured_of(cells)}, but frame {first.frame} has {_measured_of(first)}; "
                "measure the same in all frames"
            )
        position[own] = cells.position
        for name, values in cells.features.items():
            features[name][own] = values
        if boxes is not None:
            boxes[own] = cells.boxes
    return Nodes(position, features, boxes)


def _measured_of(cells: Detections) -> str:
    boxes = "no boxes" if cells.boxes is None else "boxes"
    names = ", ".join(sorted(cells.features)) or "none"
    return f"{cells.position.shape[1]} coordinates, {boxes} and the features {names}"


def track_labels(lineage: Lineage) -> np.ndarray:
    """The label of the track of each detection.

    Examples
    --------
    >>> cells = Lineage.from_links([(0, 1), (1, 1), (1, 2)], [((0, 1), (1, 1)), ((0, 1), (1, 2))])
    >>> track_labels(cells)
    array([1, 2, 3])
    """
    labels = np.zeros(len(lineage), np.int64)
    for track in lineage.tracks():
        labels[list(track.nodes)] = track.label
    return labels


def parent_tracks(lineage: Lineage, labels: np.ndarray) -> dict[int, list[int]]:
    """The labels of all parents of each track that has one; `labels` are those of :func:`track_labels`.

    Examples
    --------
    >>> cells = Lineage.from_links([(0, 1), (0, 2), (1, 1)], [((0, 1), (1, 1)), ((0, 2), (1, 1))])
    >>> parent_tracks(cells, track_labels(cells))
    {3: [1, 2]}
    """
    ends = labels[lineage.edges]
    found: dict[int, list[int]] = {}
    for parent, child in sorted(map(tuple, ends[ends[:, 0] != ends[:, 1]].tolist())):
        found.setdefault(child, []).append(parent)
    return dict(sorted(found.items()))
