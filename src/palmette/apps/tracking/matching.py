"""Which predicted detection stands for which true one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import numpy as np

from palmette.structures.tracking.lineage import Lineage

NONE = -1


@dataclass(frozen=True)
class NodeMatching:
    """A true detection is found by at most one predicted detection; a predicted one may find several.

    Attributes
    ----------
    finder : array of int of shape (n_true,)
        The predicted detection that finds each true one, -1 if none does.
    n_found : array of int of shape (n_predicted,)
        How many true detections each predicted one finds.
    alone : array of int of shape (n_predicted,)
        The true detection that it finds, -1 if it finds none or several.
    """

    finder: np.ndarray
    n_found: np.ndarray
    alone: np.ndarray

    @classmethod
    def of(cls, true: Lineage, predicted: Lineage, pairs: Any = None) -> NodeMatching:
        """From pairs of numbers of a true and a predicted detection; without them, by equal frame and id.

        Raises
        ------
        ValueError
            If a number is out of range, the frames of a pair differ, or a true detection is in two pairs.
        """
        rows = (
            same_detections(true, predicted) if pairs is None else np.asarray(pairs, np.int64).reshape(-1, 2)
        )
        for column, lineage, name in ((0, true, "true"), (1, predicted, "predicted")):
            bad = np.flatnonzero((rows[:, column] < 0) | (rows[:, column] >= len(lineage)))
            if len(bad):
                raise ValueError(
                    f"matching[{bad[0]}] names the {name} detection {rows[bad[0], column]}, but there are "
                    f"{len(lineage)}: numbers count from 0"
                )
        bad = np.flatnonzero(true.frame[rows[:, 0]] != predicted.frame[rows[:, 1]])
        if len(bad):
            a, b = rows[bad[0]]
            raise ValueError(
                f"matching[{bad[0]}] joins a detection of frame {true.frame[a]} with one of frame "
                f"{predicted.frame[b]}; match detections of the same frame"
            )
        times = np.bincount(rows[:, 0], minlength=len(true))
        if len(times) and times.max() > 1:
            twice = int(times.argmax())
            raise ValueError(
                f"the true detection {true.id[twice]} of frame {true.frame[twice]} is matched {times[twice]} times; "
                "match it with one predicted detection, such as that which covers most of it"
            )
        finder = np.full(len(true), NONE)
        finder[rows[:, 0]] = rows[:, 1]
        n_found = np.bincount(rows[:, 1], minlength=len(predicted))
        alone = np.full(len(predicted), NONE)
        alone[rows[:, 1]] = rows[:, 0]
        alone[n_found != 1] = NONE
        return cls(finder, n_found, alone)


def same_detections(true: Lineage, predicted: Lineage) -> np.ndarray:
    """Pairs of detections with equal frame and id, shape (m, 2).

    Examples
    --------
    >>> a = Lineage.from_links([(0, 1), (0, 2), (1, 1)], [])
    >>> b = Lineage.from_links([(0, 2), (1, 1), (1, 2)], [])
    >>> same_detections(a, b).tolist()
    [[1, 0], [2, 1]]
    """
    frame, own = np.concatenate([true.frame, predicted.frame]), np.concatenate([true.id, predicted.id])
    order = np.lexsort((own, frame))  # stable: of two equal ones the true one comes first
    first, second = order[:-1], order[1:]
    same = (frame[first] == frame[second]) & (own[first] == own[second])
    pairs = np.stack([first[same], second[same] - len(true)], axis=1)
    return pairs[np.argsort(pairs[:, 0], kind="stable")]


def match_labels(true: Any, predicted: Any) -> np.ndarray:
    """Match the labels of two label images of one frame, as the Cell Tracking Challenge does.

    Parameters
    ----------
    true, predicted : arrays of int of one shape
        Labels of pixels, 0 for the background.

    Returns
    -------
    array of shape (m, 2)
        Labels of a true marker and of the predicted mask that covers more than half of it.

    Examples
    --------
    >>> match_labels([[1, 1, 1, 2, 2]], [[7, 7, 0, 8, 0]]).tolist()  # half of 2 is not enough
    [[1, 7]]
    """
    true, predicted = np.asarray(true), np.asarray(predicted)
    if true.shape != predicted.shape:
        raise ValueError(
            f"label images must have one shape, got {true.shape} for the truth and {predicted.shape} for the "
            "prediction"
        )
    inside = true > 0
    own, other = true[inside].astype(np.int64), predicted[inside].astype(np.int64)
    width = int(other.max()) + 1 if len(other) else 1
    key, common = np.unique(own * width + other, return_counts=True)
    label, mask = key // width, key % width
    size = np.bincount(own, minlength=1)[label] if len(own) else common
    won = (mask > 0) & (2 * common > size)
    return np.stack([label[won], mask[won]], axis=1)


def match_masks(
    true: Lineage,
    predicted: Lineage,
    true_masks: Iterable[Any],
    predicted_masks: Iterable[Any],
    *,
    first_frame: int = 0,
) -> np.ndarray:
    """Match the detections of two lineages by their label images, frame by frame.

    Parameters
    ----------
    true, predicted : Lineage
        Ids are the labels of the images.
    true_masks, predicted_masks : iterables of arrays of int
        A label image per frame, from `first_frame`; read one at a time.
    first_frame : int, default=0

    Returns
    -------
    array of shape (m, 2)
        Numbers of a true and a predicted detection, as :func:`palmette.apps.tracking.measures.evaluate_lineage` takes
        them.

    Raises
    ------
    ValueError
        If a movie has more frames than the other, or a label and the detections of a frame do not agree.

    Examples
    --------
    >>> from palmette.datasets import make_cells
    >>> movie = make_cells(n_cells=5, n_frames=3, p_miss=0.1, render=True, random_state=0)
    >>> pairs = match_masks(movie.cells, movie.lineage, movie.cell_masks, movie.masks)
    >>> pairs.tolist() == movie.matching.tolist()
    True
    """
    places = [_places(lineage) for lineage in (true, predicted)]
    names = ("truth", "prediction")
    pairs: list[tuple[int, int]] = []
    t = first_frame
    for t, images in enumerate(zip_longest(true_masks, predicted_masks), first_frame):
        for name, image in zip(names, images):
            if image is None:
                raise ValueError(f"the {name} has no mask of frame {t}: give one per frame, empty ones too")
        for name, image, place in zip(names, images, places):
            _check_labels(name, t, np.asarray(image), place.get(t, {}))
        own, other = (place.get(t, {}) for place in places)
        try:
            labels = match_labels(*images)
        except ValueError as error:
            raise ValueError(f"frame {t}: {error}") from None
        pairs += [(own[a], other[b]) for a, b in labels.tolist()]
    for name, place in zip(names, places):
        without = [frame for frame in place if not first_frame <= frame <= t]
        if without:
            raise ValueError(f"the {name} has detections in frame {min(without)}, but there is no mask of it")
    return np.array(sorted(pairs), np.int64).reshape(-1, 2)


def _places(lineage: Lineage) -> dict[int, dict[int, int]]:
    """From frames to ids to numbers."""
    places: dict[int, dict[int, int]] = {}
    for k, (frame, own) in enumerate(zip(lineage.frame.tolist(), lineage.id.tolist())):
        places.setdefault(frame, {})[own] = k
    return places


def _check_labels(name: str, frame: int, image: np.ndarray, place: dict[int, int]) -> None:
    labels = np.unique(image)
    labels = labels[labels != 0].tolist()
    for label in labels:
        if label not in place:
            raise ValueError(
                f"frame {frame}: the mask of the {name} has the label {label}, which is no detection; remove it, or "
                "add it to the lineage"
            )
    if len(labels) < len(place):
        own = min(set(place) - set(labels))
        raise ValueError(
            f"frame {frame}: detection {own} of the {name} is not in its mask; draw it, or remove it"
        )
