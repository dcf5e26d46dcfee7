"""Features of events, see :mod:`palmette.structures.tracking.event_features` for their names and order.

``out`` has a row for each feature and a column for each event. What a frame does not have is an array without rows:
boxes, axes; ``flow``, of events that go backwards.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette._kernels.jit import kernel

LITTLE = 1e-3  # added before logarithms of lengths
COSINE, SINE, FIRMNESS = 0, 1, 2  # columns of axes


class Side(NamedTuple):
    """One of the two frames of a pair; lengths are in units, but for positions and boxes."""

    position: np.ndarray  # (n, d)
    boxes: np.ndarray  # (n, 2 d): lower corners, upper corners
    measured: np.ndarray  # (n, q): log of the area first, then the intensity, if there are any
    mass: np.ndarray  # (n, 0 to 2): area, and area times intensity
    axes: np.ndarray  # (n, 3): cos 2a, sin 2a of the long axis, and the fourth power of the eccentricity
    border: np.ndarray  # (n,)
    crowd: np.ndarray  # (n,)
    nearest: np.ndarray  # (n,): distance to the nearest detection of the other frame
    drift: np.ndarray  # (n,): the least of the links


@kernel()
def detour(length, nearest):
    """Log of a length over the shortest one."""
    return np.log((length + LITTLE) / (min(nearest, length) + LITTLE))


@kernel()
def overlap(a, b):
    """Intersection over union of two boxes."""
    n_axes = len(a) // 2
    both, first, second = 1.0, 1.0, 1.0
    for d in range(n_axes):
        both *= max(min(a[n_axes + d], b[n_axes + d]) - max(a[d], b[d]), 0.0)
        first *= a[n_axes + d] - a[d]
        second *= b[n_axes + d] - b[d]
    return both / max(first + second - both, 1e-12)


@kernel()
def measure_links(a, b, before, after, flow, unit, out):
    """Features of links."""
    for e in range(len(before)):
        i, j = before[e], after[e]
        apart, drift = 0.0, 0.0
        for d in range(a.position.shape[1]):
            apart += (a.position[i, d] - b.position[j, d]) ** 2
            drift += (a.position[i, d] + flow[i, d] - b.position[j, d]) ** 2
        distance = np.sqrt(apart) / unit
        out[0, e] = distance
        out[1, e] = np.sqrt(drift) / unit
        out[2, e] = detour(distance, a.nearest[i])
        out[3, e] = detour(distance, b.nearest[j])
        out[4, e] = distance <= a.nearest[i] and distance <= b.nearest[j]
        out[5, e] = a.border[i]
        out[6, e] = a.crowd[i]
        f = 7
        if len(a.boxes) and len(b.boxes):
            out[f, e] = overlap(a.boxes[i], b.boxes[j])
            f += 1
        for k in range(a.measured.shape[1]):
            change = b.measured[j, k] - a.measured[i, k]
            out[f, e], out[f + 1, e] = change, abs(change)
            f += 2


@kernel()
def measure_single(own, place, out):
    """Features of detections that stand alone."""
    for e in range(len(place)):
        i = place[e]
        out[0, e] = own.nearest[i]
        out[1, e] = own.border[i]
        out[2, e] = own.crowd[i]
        out[3, e] = own.drift[i]
        out[4, e] = min(own.border[i], own.drift[i])
        out[5, e] = own.border[i] * own.drift[i]
        for k in range(own.measured.shape[1]):
            out[6 + k, e] = own.measured[i, k]


@kernel()
def measure_three(one, others, single, two, flow, unit, out):
    """Features of one detection and two of the other frame.

    With ``cos 2l, sin 2l`` of the line of the two and those of an axis, ``cos 2(l - a) = cos 2l cos 2a + sin 2l sin
    2a``.
    """
    n_axes = one.position.shape[1]
    for e in range(len(single)):
        s, p, q = single[e], two[e, 0], two[e, 1]
        first, second, middle, between, dot, drift = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for d in range(n_axes):
            c, u, v = one.position[s, d], others.position[p, d], others.position[q, d]
            first += (c - u) ** 2
            second += (c - v) ** 2
            middle += (c - (u + v) / 2.0) ** 2
            between += (u - v) ** 2
            dot += (u - c) * (v - c)
            if len(flow):
                drift += (c + flow[s, d] - (u + v) / 2.0) ** 2
        first, second = np.sqrt(first) / unit, np.sqrt(second) / unit
        out[0, e] = max(first, second)
        out[1, e] = min(first, second)
        out[2, e] = np.sqrt(middle) / unit
        out[3, e] = np.sqrt(between) / unit
        out[4, e] = min(max(dot / unit**2 / max(first * second, LITTLE), -1.0), 1.0)
        detours = detour(first, others.nearest[p]), detour(second, others.nearest[q])
        out[5, e], out[6, e] = max(detours[0], detours[1]), min(detours[0], detours[1])
        out[7, e], out[8, e] = one.border[s], one.crowd[s]
        f = 9
        if len(flow):
            out[f, e] = np.sqrt(drift) / unit
            f += 1
        if len(one.axes) and len(others.axes):
            y = others.position[q, 0] - others.position[p, 0]
            x = others.position[q, 1] - others.position[p, 1]
            cosine = (y * y - x * x) / between if between > 0.0 else 1.0
            sine = 2.0 * x * y / between if between > 0.0 else 0.0
            a, b, c = one.axes[s], others.axes[p], others.axes[q]
            across = cosine * a[COSINE] + sine * a[SINE]
            out[f, e] = across
            f += 1
            if len(a) > FIRMNESS:
                out[f, e] = across * a[FIRMNESS]
                f += 1
            out[f, e] = (cosine * (b[COSINE] + c[COSINE]) + sine * (b[SINE] + c[SINE])) / 2.0
            out[f + 1, e] = b[COSINE] * c[COSINE] + b[SINE] * c[SINE]
            f += 2
        for k in range(one.measured.shape[1]):
            left, right = others.measured[p, k], others.measured[q, k]
            out[f, e], out[f + 1, e], out[f + 2, e] = (
                one.measured[s, k],
                (left + right) / 2.0,
                abs(left - right),
            )
            f += 3
        for k in range(one.mass.shape[1]):
            out[f + k, e] = np.log((others.mass[p, k] + others.mass[q, k]) / one.mass[s, k])


@kernel()
def first_not_finite(columns):
    """The first row with a number that is not finite, -1 if there is none."""
    for f in range(len(columns)):
        wrong = 0
        for e in range(columns.shape[1]):  # without a branch, so that it vectorises
            wrong += not np.isfinite(columns[f, e])
        if wrong:
            return f
    return -1
