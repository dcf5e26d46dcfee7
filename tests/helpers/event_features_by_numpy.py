"""Features of events by NumPy, as they were before there were kernels: the reference of ``test_features``."""

from __future__ import annotations

from functools import cached_property
from itertools import combinations

import numpy as np

from palmette.structures.tracking.pair import FAR, LITTLE, SPREAD, common_names

AROUND = 6


class Slow:
    """Two frames: every distance is computed, and the nearest are found by sorting."""

    def __init__(self, a, b, unit, reach, neighbours, few):
        self.a, self.b, self.unit, self.few = a, b, unit, few
        table = np.sqrt(((a.position[:, None] - b.position[None]) ** 2).sum(axis=2))
        near = np.zeros(table.shape, bool)
        for k, row in enumerate(table):
            near[k, np.argsort(row, kind="stable")[:neighbours]] = True
        for k, row in enumerate(table.T):
            near[np.argsort(row, kind="stable")[:neighbours], k] = True
        self.before, self.after = np.nonzero(near & (table <= reach))
        self.distance = table[self.before, self.after] / unit

    def apart(self, p, q):
        return np.sqrt(((p - q) ** 2).sum(axis=1)) / self.unit

    @cached_property
    def flow(self):
        mutual = self.distance <= np.minimum(self.nearest_after[self.before], self.nearest_before[self.after])
        before, after = self.before[mutual], self.after[mutual]
        out = np.zeros_like(self.a.position)
        if len(before) < 4:
            return out
        moved = self.b.position[after] - self.a.position[before]
        for k, own in enumerate(self.a.position):
            order = np.argsort(((self.a.position[before] - own) ** 2).sum(axis=1), kind="stable")
            others = order[before[order] != k][: min(AROUND, len(before) - 1)]
            out[k] = np.median(moved[others], axis=0)
        return out

    def drifted(self, before, end):
        return self.apart(self.a.position[before] + self.flow[before], end)

    @cached_property
    def least_drift(self):
        drift = self.drifted(self.before, self.b.position[self.after])
        return self._least(self.before, drift, len(self.a)), self._least(self.after, drift, len(self.b))

    @cached_property
    def nearest_after(self):
        return self._least(self.before, self.distance, len(self.a))

    @cached_property
    def nearest_before(self):
        return self._least(self.after, self.distance, len(self.b))

    @staticmethod
    def _least(place, values, n):
        out = np.full(n, FAR)
        np.minimum.at(out, place, values)
        return out

    @property
    def measurements(self):
        return common_names(self.a.features.keys() & self.b.features.keys())

    @cached_property
    def measured(self):
        return tuple(
            np.stack([comparable(name, own.features[name]) for name in self.measurements], axis=1)
            if self.measurements
            else np.empty((len(own), 0))
            for own in (self.a, self.b)
        )

    @cached_property
    def border(self):
        found = []
        for own in (self.a, self.b):
            if own.shape is None:
                found.append(np.full(len(own), FAR))
            else:
                sides = np.concatenate([own.position, np.array(own.shape) - own.position], axis=1)
                found.append(np.clip(sides.min(axis=1) / self.unit, 0.0, FAR))
        return found

    @cached_property
    def crowd(self):
        found = []
        for own in (self.a, self.b):
            table = np.sqrt(((own.position[:, None] - own.position[None]) ** 2).sum(axis=2))
            np.fill_diagonal(table, np.inf)
            found.append(np.minimum(table.min(axis=1, initial=np.inf) / self.unit, FAR))
        return found

    def with_two(self, late):
        """Each detection with two of its ``few`` nearest, as links (single, first, second)."""
        one, other = (self.before, self.after) if late else (self.after, self.before)
        found = []
        for k in range(len(self.a if late else self.b)):
            own = np.flatnonzero(one == k)
            near = other[own[np.lexsort((other[own], self.distance[own]))[: self.few]]]
            found += [(k, *sorted(two)) for two in combinations(near.tolist(), 2)]
        return np.array(found, np.int64).reshape(-1, 3)

    def overlap(self, before, after):
        """Intersection over union of bounding boxes."""
        a, b = self.a.boxes[before], self.b.boxes[after]
        d = a.shape[1] // 2
        sides = np.minimum(a[:, d:], b[:, d:]) - np.maximum(a[:, :d], b[:, :d])
        both = np.prod(np.maximum(sides, 0.0), axis=1)
        sizes = np.prod(a[:, d:] - a[:, :d], axis=1) + np.prod(b[:, d:] - b[:, :d], axis=1)
        return both / np.maximum(sizes - both, 1e-12)


def comparable(name, values):
    """A measurement relative to its frame."""
    if not len(values):
        return values
    middle = np.median(values)
    if name == "area":
        return np.log(values / middle)
    if name == "intensity" and middle > 0.0:
        return np.clip(values / middle, -SPREAD, SPREAD)
    spread = 1.4826 * np.median(np.abs(values - middle))
    return np.clip((values - middle) / (spread if spread > 0.0 else 1.0), -SPREAD, SPREAD)


def of_link(pair, before, after):
    """Features of a link between one detection and another."""
    distance = pair.apart(pair.a.position[before], pair.b.position[after])
    forward, backward = pair.nearest_after[before], pair.nearest_before[after]
    out = {
        "distance": distance,
        "drift": pair.drifted(before, pair.b.position[after]),
        "detour forward": np.log((distance + LITTLE) / (np.minimum(forward, distance) + LITTLE)),
        "detour backward": np.log((distance + LITTLE) / (np.minimum(backward, distance) + LITTLE)),
        "mutual": ((distance <= forward) & (distance <= backward)).astype(float),
        "border": pair.border[0][before],
        "crowd": pair.crowd[0][before],
    }
    if pair.a.boxes is not None and pair.b.boxes is not None:
        out["overlap"] = pair.overlap(before, after)
    early, late = pair.measured
    for k, name in enumerate(pair.measurements):
        change = late[after, k] - early[before, k]
        out[f"change {name}"], out[f"jump {name}"] = change, np.abs(change)
    return out


def of_one(pair, place, late):
    """Features of a detection that stands alone: in the later frame, or in the earlier one."""
    border, drift = pair.border[late][place], pair.least_drift[late][place]
    out = {
        "nearest": (pair.nearest_before if late else pair.nearest_after)[place],
        "border": border,
        "crowd": pair.crowd[late][place],
        "least drift": drift,
        "inside": np.minimum(border, drift),
        "drift x border": border * drift,
    }
    for k, name in enumerate(pair.measurements):
        out[name] = pair.measured[late][place, k]
    return out


def of_three(pair, single, two, late):
    """Features of one detection and two of the other frame; ``late``: the two are in the later frame."""
    one, others = (pair.a, pair.b) if late else (pair.b, pair.a)
    nearest = pair.nearest_before if late else pair.nearest_after
    centre, p, q = one.position[single], others.position[two[:, 0]], others.position[two[:, 1]]
    first, second = pair.apart(centre, p), pair.apart(centre, q)
    near, far = np.minimum(first, second), np.maximum(first, second)
    cosine = ((p - centre) * (q - centre)).sum(axis=1) / pair.unit**2 / np.maximum(first * second, LITTLE)
    detours = [
        np.log((d + LITTLE) / (np.minimum(nearest[two[:, k]], d) + LITTLE))
        for k, d in enumerate((first, second))
    ]
    out = {
        "far": far,
        "near": near,
        "middle": pair.apart(centre, (p + q) / 2.0),
        "between": pair.apart(p, q),
        "angle": np.clip(cosine, -1.0, 1.0),
        "detour forward": np.maximum(*detours),
        "detour backward": np.minimum(*detours),
        "border": pair.border[0 if late else 1][single],
        "crowd": pair.crowd[0 if late else 1][single],
    }
    if late:
        out["middle drift"] = pair.drifted(single, (p + q) / 2.0)
    if "orient" in one.features and "orient" in others.features and centre.shape[1] == 2:
        out |= _axes(one, single, others, two)
    own, other = pair.measured if late else pair.measured[::-1]
    names = pair.measurements
    for k, name in enumerate(names):
        left, right = other[two[:, 0], k], other[two[:, 1], k]
        out[name] = own[single, k]
        out[f"{name} of two"] = (left + right) / 2.0
        out[f"unequal {name}"] = np.abs(left - right)
    if "area" in names:
        k = names.index("area")
        areas = np.exp(own[single, k]), np.exp(other[two, k])
        out["conserved area"] = np.log(areas[1].sum(axis=1) / areas[0])
        if "intensity" in names:
            at = names.index("intensity")
            light = np.maximum(own[single, at], LITTLE), np.maximum(other[two, at], LITTLE)
            out["conserved mass"] = np.log((areas[1] * light[1]).sum(axis=1) / (areas[0] * light[0]))
    return out


def _axes(one, single, others, two):
    """How the long axes of one detection and of two others lie to the line between the two, and to each other."""
    step = others.position[two[:, 1]] - others.position[two[:, 0]]
    line = np.arctan2(step[:, 1], step[:, 0])
    axis, (first, second) = one.features["orient"][single], others.features["orient"][two].T
    out = {"across": np.cos(2.0 * (line - axis))}
    if "ecc" in one.features:
        out["across x ecc"] = out["across"] * one.features["ecc"][single] ** 4
    out["across of two"] = (np.cos(2.0 * (line - first)) + np.cos(2.0 * (line - second))) / 2.0
    out["parallel"] = np.cos(2.0 * (first - second))
    return out
