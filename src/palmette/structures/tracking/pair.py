"""Two frames of a movie as events see them: near detections, lengths in one unit, comparable measurements."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from palmette.structures.tracking.detections import Detections

if TYPE_CHECKING:
    from palmette.structures.tracking.kernels.measuring import Side
    from palmette.structures.tracking.kernels.near import Grid

REACH = 3.0  # units of length: how long links may be where the user says nothing
FAR = 5.0  # units: beyond, borders and neighbours count as far away
# Orientations go round in circles: they are used as axes alone. Without measures of ragged outlines the event loss at
# step 8, cross-validated inside each movie of HeLa, fell from 7.2 to 6.9 % (02) and stayed as it was (4.7 %, 01).
LEFT_OUT = frozenset({"orient", "perim", "extent", "solidity"})
SPREAD = 5.0  # deviations: measurements further from the median count as this far
LITTLE = 1e-3  # the least intensity of a mass


def unit_of(frames: tuple[Detections, ...]) -> float:
    """The unit of length: the root of the median area, or the median distance to the nearest neighbour.

    >>> unit_of((Detections([[0.0, 0.0], [3.0, 0.0]], {"area": [16.0, 16.0]}),))
    4.0
    """
    areas = [own.features["area"] for own in frames if "area" in own.features and len(own)]
    if areas:
        unit = float(_median(np.concatenate(areas))[0]) ** (1.0 / frames[0].position.shape[1])
    else:
        near = [_nearest_other(own) for own in frames if len(own) > 1]
        unit = float(_median(np.concatenate(near))[0]) if near else 1.0
    return unit if 0.0 < unit < np.inf else 1.0


@dataclass(frozen=True)
class Pair:
    """The detections of two frames; ``a`` is the earlier one. Lengths are in units of ``unit``.

    Attributes
    ----------
    before, after : ndarrays of int, shape (n_links,)
        Detections near to each other, in the order of ``before``, then of ``after``.
    distance : ndarray of float, shape (n_links,)
    flow : ndarray of float, shape (n, d)
        How detections near to each earlier one move, in the unit of positions: medians over links of mutually nearest
        ones, without its own. 0 where there are fewer than three others.
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
    flow: np.ndarray = field(init=False)
    sides: tuple[Side, Side] = field(init=False)

    def __post_init__(self) -> None:
        from palmette.structures.tracking.kernels.near import link_frames

        both, limits = (self.a, self.b), (self.neighbours, self.max_distance, self.unit, FAR)
        grids, positions = map(_grid, both), (own.position for own in both)
        before, after, distance, flow, *near = link_frames(*grids, *positions, *limits)
        sides = tuple(self._side(*each) for each in zip(both, *near))
        own = {"before": before, "after": after, "distance": distance, "flow": flow, "sides": sides}
        self.__dict__.update(own)

    def _side(self, own: Detections, nearest: np.ndarray, drift: np.ndarray) -> Side:
        """What features need of a frame."""
        from palmette.structures.tracking.kernels.measuring import Side

        names = self.measurements
        tables: Tables
        tables, border, crowd = own.remembered(("tables", names), lambda: _tables(own, names))
        border, crowd = np.minimum(border / self.unit, FAR), np.minimum(crowd / self.unit, FAR)
        return Side(own.position, *tables, border, crowd, nearest, drift)

    def apart(self, p: np.ndarray, q: np.ndarray) -> np.ndarray:
        """Distances of points."""
        step = p - q
        return np.sqrt(np.einsum("ij,ij->i", step, step)) / self.unit

    @cached_property
    def measurements(self) -> tuple[str, ...]:
        """Names of measurements of both frames."""
        return common_names(self.a.features.keys() & self.b.features.keys())

    def pairs_after(self) -> tuple[np.ndarray, np.ndarray]:
        """Each earlier detection with two near later ones: (n,) and (n, 2)."""
        from palmette.structures.tracking.kernels.near import pairs_of_near

        return pairs_of_near(self.before, self.after, self.distance, len(self.a), self.few)

    def pairs_before(self) -> tuple[np.ndarray, np.ndarray]:
        """Each later detection with two near earlier ones: (n,) and (n, 2)."""
        from palmette.structures.tracking.kernels.near import pairs_of_near

        return pairs_of_near(self.after, self.before, self.distance, len(self.b), self.few)


def common_names(names: set[str]) -> tuple[str, ...]:
    """Measurements in a fixed order: area and intensity first, without those in LEFT_OUT."""
    first = [name for name in ("area", "intensity") if name in names]
    return (*first, *sorted(names - {"area", "intensity"} - LEFT_OUT))


def comparable(own: Detections, names: tuple[str, ...]) -> np.ndarray:
    """Measurements that can be compared between frames: log areas and intensities relative to the frame's median.

    All others are in deviations from the median of the frame, at most SPREAD.
    """
    if not len(own) or not names:
        return np.empty((len(own), len(names)))
    values = np.stack([own.features[name] for name in names])
    middle = _median(values)
    apart = values - middle
    spread = 1.4826 * _median(np.abs(apart))
    out = np.clip(apart / np.where(spread > 0.0, spread, 1.0), -SPREAD, SPREAD)
    for k, name in enumerate(names[:2]):
        if name == "area":
            out[k] = np.log(values[k] / middle[k])
        elif name == "intensity" and middle[k] > 0.0:
            out[k] = np.clip(values[k] / middle[k], -SPREAD, SPREAD)
    return np.ascontiguousarray(out.T)


def has_axes(own: Detections) -> bool:
    """Whether the detections of a flat image have long axes."""
    return "orient" in own.features and own.position.shape[1] == 2


Tables = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def _tables(own: Detections, names: tuple[str, ...]) -> tuple[Tables, np.ndarray, np.ndarray]:
    """What ``Side`` has of a frame alone, without rows where there is nothing, and distances to border and crowd."""
    boxes = np.empty((0, 2 * own.position.shape[1])) if own.boxes is None else own.boxes
    measured, axes = comparable(own, names), np.empty((0, 2))
    mass = np.exp(measured[:, : names[:1] == ("area",)])
    if names[:2] == ("area", "intensity"):
        mass = np.concatenate([mass, mass * np.maximum(measured[:, 1:2], LITTLE)], axis=1)
    if has_axes(own):
        double = 2.0 * own.features["orient"]
        columns = [np.cos(double), np.sin(double)]
        columns += [own.features["ecc"] ** 4] if "ecc" in own.features else []
        axes = np.stack(columns, axis=1)
    return (boxes, measured, mass, axes), _border(own), _nearest_other(own)


def _median(values: np.ndarray) -> np.ndarray:
    """Medians of rows, shape (..., 1); of few numbers faster than NumPy's, which look for NaN."""
    order, n = np.sort(values), values.shape[-1]
    return (order[..., (n - 1) // 2, None] + order[..., n // 2, None]) / 2.0


def _grid(own: Detections) -> Grid:
    """The detections by place."""
    from palmette.structures.tracking.kernels.near import make_grid

    def make() -> Grid:
        points = np.zeros((len(own), 3))
        points[:, 3 - own.position.shape[1] :] = own.position
        return make_grid(points, np.arange(len(own)))

    return own.remembered("grid", make)


def _nearest_other(own: Detections) -> np.ndarray:
    """Distance of each detection to the nearest other one of its frame; inf if there is none."""
    from palmette.structures.tracking.kernels.near import nearest_others

    def make() -> np.ndarray:
        far = np.full(len(own), np.inf)
        nearest_others(_grid(own), far)
        return far

    return own.remembered("nearest", make)


def _border(own: Detections) -> np.ndarray:
    """Distances to the border of the image, at least 0; inf where its size is not known."""
    if own.shape is None:
        return np.full(len(own), np.inf)
    low = own.position.min(axis=1, initial=np.inf)
    high = (np.array(own.shape) - own.position).min(axis=1, initial=np.inf)
    return np.maximum(np.minimum(low, high), 0.0)
