"""Where the positions of a folded sequence lie in the plane: stems straight, bulges bowed, other loops polygons."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

PAIR = 1.35
"""Distance of paired positions; neighbours in the sequence have distance 1, more in loops that need room."""

_GAP = 3.0  # between the two ends of the sequence
_LINE = 12  # the ends of a single stem lie on a line if there are at most so many
_ROUNDS, _GROWTH, _MOST = 60, 1.15, 6.0
_TOO_CLOSE = 0.9


class _Loop(NamedTuple):
    """A loop: its closing pair (-1, n for the outermost), its parent, and the chain of its positions."""

    pair: tuple[int, int]
    parent: int
    chain: list[int]  # from the first to the last position, ends of the closing pair included
    branches: list[tuple[int, int]]


def circle_layout(length: int) -> np.ndarray:
    """Positions on a circle, clockwise from the top, with a gap between the ends; radius 1.

    >>> circle_layout(3).shape
    (3, 2)
    """
    angle = np.pi / 2 - 2 * np.pi * (np.arange(length) + 1.0) / (length + 1.0)
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)


def planar_layout(pairs: Sequence[tuple[int, int]], length: int) -> np.ndarray:
    """Positions in the plane, shape (length, 2).

    Loops that make branches collide are drawn larger until nothing collides, or they are too large. The
    drawing is turned so that it is wider than high.

    Parameters
    ----------
    pairs : list of (int, int)
        Nested.
    length : int

    Examples
    --------
    >>> xy = planar_layout([(0, 8), (1, 7)], 9)
    >>> np.hypot(*(xy[0] - xy[8])).round(2)
    np.float64(1.35)
    """
    loops, loop_of = _loops(dict(pairs), length)
    stretch = np.ones(len(loops))
    for _ in range(_ROUNDS):
        xy = _placed(loops, stretch, length)
        crowded = _crowded(xy, loops, loop_of, dict(pairs))
        crowded = {k for k in crowded if stretch[k] < _MOST and (k == 0 or len(loops[k].branches) > 1)}
        if not crowded:
            break
        stretch[list(crowded)] *= _GROWTH
    return _landscape(xy)


def _loops(closes: dict[int, int], length: int) -> tuple[list[_Loop], np.ndarray]:
    """All loops, outer ones first, and the loop in which each position is unpaired or begins a branch."""
    loops = [_Loop((-1, length), -1, [], [])]
    loop_of = np.zeros(length, int)
    at = 0
    while at < len(loops):
        (i, j), t = loops[at].pair, loops[at].pair[0] + 1
        chain = loops[at].chain
        if i >= 0:
            chain.append(i)
        while t < j:
            chain.append(t)
            loop_of[t] = at
            if t in closes:
                last = closes[t]
                chain.append(last)
                loop_of[last] = at
                loops[at].branches.append((t, last))
                loops.append(_Loop((t, last), at, [], []))
                t = last
            t += 1
        if i >= 0:
            chain.append(j)
        at += 1
    return loops, loop_of


def _placed(loops: list[_Loop], stretch: np.ndarray, length: int) -> np.ndarray:
    xy = np.zeros((length, 2))
    for number, loop in enumerate(loops):
        chain, branches = loop.chain, set(loop.branches)
        sides = np.array([
            PAIR if pair in branches else stretch[number] for pair in zip(chain, chain[1:])
        ])  # fmt: skip
        if loop.parent >= 0 and len(branches) == 1:
            _straight(xy, chain, *loop.branches[0])
        elif loop.parent >= 0:
            i, j = loop.pair
            _around(xy, chain, sides, xy[i], xy[j])
        elif len(branches) < 2 and len(chain) - 2 * len(branches) <= _LINE:
            xy[chain, 0] = np.concatenate([[0.0], np.cumsum(sides)])[: len(chain)]
        else:
            radius = _radius(np.append(sides, _GAP * stretch[number]))
            steps = 2 * np.arcsin(np.minimum(sides / (2 * radius), 1.0))
            angle = -np.pi / 2 - (2 * np.pi - steps.sum()) / 2 - np.concatenate([[0.0], np.cumsum(steps)])
            xy[chain] = radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return xy


def _around(xy: np.ndarray, chain: list[int], sides: np.ndarray, first: np.ndarray, last: np.ndarray) -> None:
    """Place a polygon clockwise on the edge from `last` to `first`, which lie already."""
    if len(chain) < 3:
        return
    radius = _radius(np.append(sides, PAIR))
    along = (first - last) / PAIR
    height = math.sqrt(max(radius**2 - (PAIR / 2) ** 2, 0.0))
    centre = (first + last) / 2 + height * np.array([along[1], -along[0]])
    start = math.atan2(*(first - centre)[::-1])
    steps = 2 * np.arcsin(np.minimum(sides / (2 * radius), 1.0))
    angle = start - np.cumsum(steps)[:-1]
    xy[chain[1:-1]] = centre + radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)


def _straight(xy: np.ndarray, chain: list[int], p: int, q: int) -> None:
    """Place the pair (p, q) opposite to the closing pair, and what lies between them on bows."""
    i, j = chain[0], chain[-1]
    left, right = p - i, j - q  # steps on both sides
    along = (xy[i] - xy[j]) / PAIR
    ahead = np.array([along[1], -along[0]])
    few, many = sorted((left, right))
    distance = 1.0 + min(0.15 * (many - 1), 0.8) if few == 1 else 0.8 * few
    xy[p], xy[q] = xy[i] + distance * ahead, xy[j] + distance * ahead
    _bow(xy, range(i, p + 1), along)
    _bow(xy, range(q, j + 1), -along)


def _bow(xy: np.ndarray, run: range, outward: np.ndarray) -> None:
    """Place the inner positions of a run on a circle through its ends, with steps of length 1.

    ``m`` steps of a circle that turn by ``angle`` in all span a chord of ``sin(angle / 2) / sin(angle / 2 m)``.
    """
    steps = len(run) - 1
    if steps < 2:
        return
    first, last = xy[run[0]], xy[run[-1]]
    chord = float(np.hypot(*(last - first)))
    low, high = 1e-6, 2 * np.pi - 1e-6
    for _ in range(50):
        angle = (low + high) / 2
        if math.sin(angle / 2) / math.sin(angle / (2 * steps)) > chord:
            low = angle
        else:
            high = angle
    radius = 0.5 / math.sin(angle / (2 * steps))
    ahead = (last - first) / chord
    height = -radius * math.cos(angle / 2)  # of the centre over the chord
    turn = angle * (np.arange(1, steps) / steps - 0.5)
    middle = (first + last) / 2 + height * outward
    xy[list(run[1:-1])] = (
        middle + radius * np.sin(turn)[:, None] * ahead + radius * np.cos(turn)[:, None] * outward
    )


def _radius(sides: np.ndarray) -> float:
    """Of the circle on which a polygon with these sides has its corners: their angles make a full turn."""
    low, high = sides.max() / 2, sides.sum()
    for _ in range(60):
        middle = (low + high) / 2
        if 2 * np.arcsin(np.minimum(sides / (2 * middle), 1.0)).sum() > 2 * np.pi:
            low = middle
        else:
            high = middle
    return high


def _crowded(xy: np.ndarray, loops: list[_Loop], loop_of: np.ndarray, closes: dict[int, int]) -> set[int]:
    """The loops below which two branches collide."""
    from scipy.spatial import cKDTree

    found = set()
    for a, b in cKDTree(xy).query_pairs(_TOO_CLOSE):
        i, j = min(a, b), max(a, b)
        if j - i > 1 and closes.get(i) != j and (loop_of[i] != loop_of[j] or _far(i, j, loops[loop_of[i]])):
            found.add(_common(loop_of[i], loop_of[j], loops))
    return found


def _far(i: int, j: int, loop: _Loop) -> bool:
    return abs(loop.chain.index(i) - loop.chain.index(j)) > 2


def _common(a: int, b: int, loops: list[_Loop]) -> int:
    """The innermost loop that holds both; inner loops have larger numbers."""
    while a != b:
        a, b = (loops[a].parent, b) if a > b else (a, loops[b].parent)
    return a


def _landscape(xy: np.ndarray) -> np.ndarray:
    """Turned so that the longest extension is horizontal, and the first position on the left."""
    centred = xy - xy.mean(axis=0)
    if len(xy) < 3:
        return centred
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    turn = axes if np.linalg.det(axes) > 0 else axes * np.array([[1.0], [-1.0]])
    turned = centred @ turn.T
    return -turned if turned[0, 0] > 0 else turned
