"""Two frames of a movie as events see them: near detections, lengths in one unit, comparable measurements."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations

import numpy as np
from scipy.spatial import cKDTree

from palmette.structures.tracking.detections import Detections

REACH = 3.0  # units of length: how long links may be where the user says nothing
FAR = 5.0  # units: beyond, borders and neighbours count as far away
AROUND = 6  # links that make the flow
# Orientations go round in circles: they are used as axes alone. Without measures of ragged outlines the event loss at
# step 8, cross-validated inside each movie of HeLa, fell from 7.2 to 6.9 % (02) and stayed as it was (4.7 %, 01).
LEFT_OUT = frozenset({"orient", "perim", "extent", "solidity"})
SPREAD = 5.0  # deviations: measurements further from the median count as this far


def unit_of(frames: tuple[Detections, ...]) -> float:
    """The unit of length: the root of the median area, or the median distance to the nearest neighbour.

    >>> unit_of((Detections([[0.0, 0.0], [3.0, 0.0]], {"area": [16.0, 16.0]}),))
    4.0
    """
    areas = [own.features["area"] for own in frames if "area" in own.features and len(own)]
    if areas:
        unit = float(_median(np.concatenate(areas))) ** (1.0 / frames[0].position.shape[1])
    else:
        near = [_nearest_other(own) for own in frames if len(own) > 1]
        unit = float(_median(np.concatenate(near))) if near else 1.0
    return unit if unit > 0.0 else 1.0


@dataclass(frozen=True)
class Pair:
    """The detections of two frames; ``a`` is the earlier one. Lengths are in units of ``unit``.

    Attributes
    ----------
    before, after : ndarrays of int, shape (n_links,)
        Detections near to each other, in the order of ``before``, then of ``after``.
    distance : ndarray of float, shape (n_links,)
    """

    a: Detections
    b: Detections
    unit: float
    max_distance: float  # in the unit of positions
    neighbours: int
    few: int  # neighbours among which pairs are made
    before: np.ndarray = field(init=False)
    after: np.ndarray = field(init=False)
    distance: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        n_a, n_b = len(self.a), len(self.b)
        keys = [np.empty(0, np.int64)]
        beyond = np.nextafter(self.max_distance, np.inf)  # a bound that itself is not reached
        if n_a and n_b:
            for own, other, tree, forward in (
                (self.a, self.b, self.trees[1], True),
                (self.b, self.a, self.trees[0], False),
            ):
                near = np.arange(1, min(self.neighbours, len(other)) + 1)
                distance, place = tree.query(own.position, near, distance_upper_bound=beyond)
                here, rank = np.nonzero(distance <= self.max_distance)
                there = place[here, rank]
                keys.append(here * n_b + there if forward else there * n_b + here)
        key = np.sort(np.concatenate(keys))
        key = key[np.append(True, key[1:] != key[:-1])[: len(key)]]
        before, after = np.divmod(key, max(n_b, 1))
        object.__setattr__(self, "before", before)
        object.__setattr__(self, "after", after)
        object.__setattr__(self, "distance", self.apart(self.a.position[before], self.b.position[after]))

    def apart(self, p: np.ndarray, q: np.ndarray) -> np.ndarray:
        """Distances of points."""
        step = p - q
        return np.sqrt(np.einsum("ij,ij->i", step, step)) / self.unit

    @cached_property
    def trees(self) -> tuple[cKDTree, cKDTree]:
        """The positions of both frames."""
        return _tree(self.a), _tree(self.b)

    @cached_property
    def flow(self) -> np.ndarray:
        """How detections near to each earlier one move, shape (n, d): medians over links of mutually nearest ones.

        A detection's own link is left out. 0 where there are fewer than three others.
        """
        mutual = (self.distance <= self.nearest_after[self.before]) & (
            self.distance <= self.nearest_before[self.after]
        )
        before, after = self.before[mutual], self.after[mutual]
        if len(before) < 4:
            return np.zeros_like(self.a.position)
        moved = self.b.position[after] - self.a.position[before]
        near = np.arange(1, min(AROUND + 1, len(before)) + 1)
        place = cKDTree(self.a.position[before]).query(self.a.position, near)[1]
        own = before[place] == np.arange(len(self.a))[:, None]
        out = np.where(own.any(axis=1), own.argmax(axis=1), place.shape[1] - 1)  # one is left out everywhere
        others = place[np.arange(place.shape[1]) != out[:, None]].reshape(len(self.a), -1)
        return _median(moved[others], axis=1)

    @cached_property
    def drift(self) -> np.ndarray:
        """Of each link: how far it ends from where the flow leads."""
        return self.drifted(self.before, self.b.position[self.after])

    def drifted(self, before: np.ndarray, end: np.ndarray) -> np.ndarray:
        """Distances of points from where the flow takes earlier detections."""
        return self.apart(self.a.position[before] + self.flow[before], end)

    @cached_property
    def least_drift(self) -> tuple[np.ndarray, np.ndarray]:
        """The least drift of the links of each detection of both frames, at most FAR."""
        return _least(self.before, self.drift, len(self.a)), _least(self.after, self.drift, len(self.b))

    @cached_property
    def nearest_after(self) -> np.ndarray:
        """Distance of each earlier detection to the nearest later one, at most FAR."""
        return _least(self.before, self.distance, len(self.a))

    @cached_property
    def nearest_before(self) -> np.ndarray:
        """Distance of each later detection to the nearest earlier one, at most FAR."""
        return _least(self.after, self.distance, len(self.b))

    @cached_property
    def measured(self) -> tuple[np.ndarray, np.ndarray]:
        """Measurements of both frames as columns, shapes (n, q): areas and intensities relative to their frames."""
        return self._compared(self.a), self._compared(self.b)

    def _compared(self, own: Detections) -> np.ndarray:
        names = self.measurements
        return own.remembered(("comparable", names), lambda: comparable(own, names))

    @property
    def measurements(self) -> tuple[str, ...]:
        """Names of the columns of ``measured``, those of both frames."""
        return common_names(self.a.features.keys() & self.b.features.keys())

    def pairs_after(self) -> tuple[np.ndarray, np.ndarray]:
        """Each earlier detection with two near later ones: (n,) and (n, 2)."""
        return _with_two(self.before, self.after, self.distance, len(self.a), self.few)

    def pairs_before(self) -> tuple[np.ndarray, np.ndarray]:
        """Each later detection with two near earlier ones: (n,) and (n, 2)."""
        return _with_two(self.after, self.before, self.distance, len(self.b), self.few)

    @cached_property
    def border(self) -> tuple[np.ndarray, np.ndarray]:
        """Distances to the border of the image, at most FAR; FAR where the size of the image is not known."""
        return _border(self.a, self.unit), _border(self.b, self.unit)

    @cached_property
    def crowd(self) -> tuple[np.ndarray, np.ndarray]:
        """Distances to the nearest detection of the same frame, at most FAR."""
        return tuple(np.minimum(_nearest_other(own) / self.unit, FAR) for own in (self.a, self.b))  # type: ignore[return-value]

    def overlap(self, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        """Intersection over union of bounding boxes."""
        a, b = self.a.boxes[before], self.b.boxes[after]
        d = a.shape[1] // 2
        sides = np.minimum(a[:, d:], b[:, d:]) - np.maximum(a[:, :d], b[:, :d])
        both = np.prod(np.maximum(sides, 0.0), axis=1)
        sizes = np.prod(a[:, d:] - a[:, :d], axis=1) + np.prod(b[:, d:] - b[:, :d], axis=1)
        return both / np.maximum(sizes - both, 1e-12)


def common_names(names: set[str]) -> tuple[str, ...]:
    """Measurements in a fixed order: area and intensity first, without those in LEFT_OUT."""
    first = [name for name in ("area", "intensity") if name in names]
    return (*first, *sorted(names - {"area", "intensity"} - LEFT_OUT))


def comparable(own: Detections, others: object) -> np.ndarray:
    """Measurements that can be compared between frames: log areas and intensities relative to the frame's median.

    All others are in deviations from the median of the frame, at most SPREAD.
    """
    columns = []
    for name in common_names(set(own.features) & set(others)):  # type: ignore[call-overload]
        values = own.features[name]
        middle = float(_median(values)) if len(values) else 0.0
        if name == "area" and np.all(values > 0.0):
            columns.append(np.log(values / middle) if len(values) else values)
        elif name == "intensity" and middle > 0.0:
            columns.append(np.clip(values / middle, -SPREAD, SPREAD))
        else:
            spread = 1.4826 * float(_median(np.abs(values - middle))) if len(values) else 1.0
            columns.append(np.clip((values - middle) / (spread if spread > 0.0 else 1.0), -SPREAD, SPREAD))
    return np.stack(columns, axis=1) if columns else np.empty((len(own), 0))


def _median(values: np.ndarray, axis: int = 0) -> np.ndarray:
    """Medians along an axis; of few numbers faster than NumPy's, which look for NaN."""
    order, n = np.sort(values, axis=axis), values.shape[axis]
    return (order.take((n - 1) // 2, axis) + order.take(n // 2, axis)) / 2.0


def _least(place: np.ndarray, distance: np.ndarray, n: int) -> np.ndarray:
    out = np.full(n, FAR)
    np.minimum.at(out, place, distance)
    return out


def _tree(own: Detections) -> cKDTree:
    return own.remembered("tree", lambda: cKDTree(own.position))


def _nearest_other(own: Detections) -> np.ndarray:
    """Distance of each detection to the nearest other one of its frame."""
    if len(own) < 2:
        return np.full(len(own), np.inf)
    return own.remembered("nearest", lambda: _tree(own).query(own.position, [2])[0][:, 0])


def _border(own: Detections, unit: float) -> np.ndarray:
    if own.shape is None:
        return np.full(len(own), FAR)
    low = own.position.min(axis=1, initial=np.inf)
    high = (np.array(own.shape) - own.position).min(axis=1, initial=np.inf)
    return np.clip(np.minimum(low, high) / unit, 0.0, FAR)


def _with_two(
    one: np.ndarray, other: np.ndarray, distance: np.ndarray, n: int, few: int
) -> tuple[np.ndarray, np.ndarray]:
    """Each of ``one`` with two of its ``few`` nearest others, in ascending order."""
    order = np.lexsort((other, distance, one))
    one, other = one[order], other[order]
    first = np.searchsorted(one, np.arange(n))
    rank = np.arange(len(one)) - first[one] if len(one) else np.empty(0, np.int64)
    kept = rank < few
    table = np.full((n, few), -1)
    table[one[kept], rank[kept]] = other[kept]
    places = np.array(list(combinations(range(few), 2)), np.int64).reshape(-1, 2)
    two = np.sort(table[:, places], axis=2).reshape(-1, 2)
    who = np.repeat(np.arange(n), len(places))
    there = two[:, 0] >= 0
    return who[there], two[there]
