"""Features of events, by name. Lengths are in units of a cell's size, see :mod:`palmette.structures.tracking.pair`.

======================  ==================================================================================
``distance``            length of a link
``drift``               distance of its end from where the flow of the neighbours leads
``detour forward``      log of the length over that of the shortest link of the earlier detection
``detour backward``     the same of the later detection
``mutual``              1 if each is the other's nearest
``overlap``             intersection over union of bounding boxes, where there are any
``change NAME``         a measurement after minus before (area: of logs; intensity: relative to the frame)
``jump NAME``           its absolute value
``border``, ``crowd``   distance to the border of the image, and to the nearest detection of the frame, at most 5
``nearest``             of an appearance or disappearance: distance to the nearest detection of the other frame
``least drift``         the least drift of its links, at most 5
``inside``              the lesser of ``border`` and ``least drift``: large if neither explains it
``drift x border``      their product
``NAME``                the measurement itself
``far``, ``near``       of three detections: the longer and the shorter of the two links
``middle``              distance of the single one to the middle of the two
``middle drift``        of two later ones: distance of their middle from where the flow leads
``between``             distance of the two
``angle``               cosine of the angle at the single one: -1 if it stands between the two
``across``              cos 2a of the angle a between the long axis of the single one and the line of the two:
                        -1 if they stand beside it, as daughters do
``across x ecc``        the same times the fourth power of the eccentricity: round ones have no axis
``across of two``       the same of the axes of the two, their mean
``parallel``            cos 2a of the angle a between the axes of the two
``conserved NAME``      log of the sum of the two over the single one (area; mass = area x intensity)
``unequal NAME``        absolute difference of the two
``NAME of two``         their mean
======================  ==================================================================================

Axes come from the measurement ``orient`` (radians from the first axis towards the second) of flat images. Features in
``BENDS`` also count beyond quantiles of their own (hinges), so that their effect need not be linear.
"""

from __future__ import annotations

import numpy as np

from palmette.structures.tracking.detections import Detections
from palmette.structures.tracking.pair import Pair

BENDS = frozenset({
    "distance", "drift", "detour forward", "detour backward", "jump area", "jump intensity", "change intensity",
    "change area", "border", "crowd", "nearest", "least drift", "inside", "drift x border", "far", "near", "middle",
    "middle drift", "between", "angle", "across", "across x ecc", "across of two", "parallel", "conserved area",
    "conserved mass", "unequal area", "unequal intensity", "area", "intensity",
})  # fmt: skip
LITTLE = 1e-3  # added before logarithms of lengths

Named = dict[str, np.ndarray]


def of_link(pair: Pair, before: np.ndarray, after: np.ndarray) -> Named:
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


def of_one(pair: Pair, place: np.ndarray, late: bool) -> Named:
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


def of_three(pair: Pair, single: np.ndarray, two: np.ndarray, late: bool) -> Named:
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


def _axes(one: Detections, single: np.ndarray, others: Detections, two: np.ndarray) -> Named:
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
