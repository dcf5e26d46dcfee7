"""Near detections: the nearest few of a point, links between two frames, and how the neighbours of a detection move.

The detections of a frame stand in the buckets of a grid. What is nearest to a point is looked for in the bucket of the
point and in those around it: first the next ones, then further ones until none can be nearer.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette._kernels.jit import kernel

AROUND = 6  # links that make the flow
FINER = 0.8  # factor of the side of buckets, while there are few of them


class Grid(NamedTuple):
    """Points by bucket: those of bucket ``(i, j, k)`` are ``starts[b]:starts[b + 1]``, b in the order of i, j, k."""

    points: np.ndarray  # float64 (n, 3): z, y, x; flat ones have z = 0
    number: np.ndarray  # int64 (n,): which detections they are
    starts: np.ndarray  # int64
    low: np.ndarray  # float64 (3,)
    shape: np.ndarray  # int64 (3,): buckets along each axis
    side: float


@kernel()
def bucket_along(value, low, side, n):
    """The bucket of a coordinate, the first or the last one if it is outside."""
    at = (value - low) / side
    if not at > 0.0:
        return 0
    return int(at) if at < n else n - 1


@kernel()
def make_grid(points, number):
    """A grid of half as many buckets as there are points at most, or of one. Without a finite extent it has one."""
    n = len(points)
    low, extent, shape = np.zeros(3), np.zeros(3), np.ones(3, np.int64)
    for d in range(3):
        if n:
            low[d] = points[:, d].min()
            extent[d] = points[:, d].max() - low[d]
    side = 2.0 * extent.max()  # one bucket to begin with
    if not 0.0 < side < np.inf:
        side = np.inf
    while side < np.inf:
        finer, total = FINER * side, 1.0
        for d in range(3):
            total *= np.floor(extent[d] / finer) + 1.0
        if not total <= n / 2:
            break
        side = finer
    if side < np.inf:
        for d in range(3):
            shape[d] = int(extent[d] / side) + 1
    bucket, starts = np.empty(n, np.int64), np.zeros(shape[0] * shape[1] * shape[2] + 1, np.int64)
    for i in range(n):
        bucket[i] = 0
        for d in range(3):
            bucket[i] = bucket[i] * shape[d] + bucket_along(points[i, d], low[d], side, shape[d])
        starts[bucket[i] + 1] += 1
    for b in range(len(starts) - 1):
        starts[b + 1] += starts[b]
    fill, own, numbers = starts[: len(starts) - 1].copy(), np.empty((n, 3)), np.empty(n, np.int64)
    for i in range(n):
        at = fill[bucket[i]]
        fill[bucket[i]] += 1
        numbers[at] = number[i]
        for d in range(3):
            own[at, d] = points[i, d]
    return Grid(own, numbers, starts, low, shape, side)


@kernel()
def nearest_few(grid, point, most, reach, own, place, far):
    """The nearest points within ``reach`` that are not ``own``, at most ``most``; returns how many there are.

    ``place[:n]`` are places in the grid, ``far[:n]`` distances, by rising distance; of equally far ones the lower
    number is first. Both have room for one more than all points. Whatever is not in the buckets up to ``around`` is at
    least ``around * side`` away, so that all points up to this ``bound`` are known. They are noted without a branch,
    which no processor could foretell, and then sorted as far as needed.
    """
    points, number, starts, low, shape, side = grid
    z, y, x = point[0], point[1], point[2]
    i0 = bucket_along(z, low[0], side, shape[0])
    j0 = bucket_along(y, low[1], side, shape[1])
    k0 = bucket_along(x, low[2], side, shape[2])
    around = 1
    while True:
        everything = around >= max(shape[0], shape[1], shape[2])
        bound = reach if everything else min(reach, around * side)
        limit, n = bound * bound, 0
        for i in range(max(i0 - around, 0), min(i0 + around + 1, shape[0])):
            for j in range(max(j0 - around, 0), min(j0 + around + 1, shape[1])):
                row = (i * shape[1] + j) * shape[2]
                for p in range(
                    starts[row + max(k0 - around, 0)], starts[row + min(k0 + around + 1, shape[2])]
                ):
                    place[n] = p
                    far[n] = (points[p, 0] - z) ** 2 + (points[p, 1] - y) ** 2 + (points[p, 2] - x) ** 2
                    n += (far[n] <= limit) & (number[p] != own)
        if n >= most or bound == reach:
            break
        around *= 2
    for q in range(n):
        p, apart, at = place[q], far[q], min(q, most)
        while at > 0 and (
            apart < far[at - 1] or (apart == far[at - 1] and number[p] < number[place[at - 1]])
        ):
            if at < most:
                far[at], place[at] = far[at - 1], place[at - 1]
            at -= 1
        if at < most:
            far[at], place[at] = apart, p
    n = min(n, most)
    for q in range(n):
        far[q] = np.sqrt(far[q])
    return n


@kernel()
def nearest_others(grid, far):
    """``far[k]``: the distance of detection k to the nearest other one; it stays as it is where there is none."""
    n, one = len(grid.points), np.int64(1)  # a literal would be compiled as another type
    place, found = np.empty(n + 1, np.int64), np.empty(n + 1)
    for i in range(n):
        if nearest_few(grid, grid.points[i], one, np.inf, grid.number[i], place, found):
            far[grid.number[i]] = found[0]


@kernel()
def near_links(early, late, k, reach):
    """Links within ``reach`` that are among the k shortest of one of their ends.

    Returns ``begins``, ``after`` and ``length``: the links of the earlier detection a are ``begins[a]:begins[a + 1]``,
    ascending. Links that were found from both ends stand beside each other once they are sorted, and count once.
    """
    n, m, nobody = len(early.points), len(late.points), np.int64(-1)
    place, far = np.empty(max(n, m) + 1, np.int64), np.empty(max(n, m) + 1)
    before, after, length = (
        np.empty((n + m) * k, np.int64),
        np.empty((n + m) * k, np.int64),
        np.empty((n + m) * k),
    )
    found, starts = 0, np.zeros(n + 1, np.int64)
    for i in range(n + m):
        if i < n:
            some = nearest_few(late, early.points[i], k, reach, nobody, place, far)
        else:
            some = nearest_few(early, late.points[i - n], k, reach, nobody, place, far)
        for j in range(some):
            if i < n:
                before[found], after[found] = early.number[i], late.number[place[j]]
            else:
                before[found], after[found] = early.number[place[j]], late.number[i - n]
            length[found] = far[j]
            starts[before[found] + 1] += 1
            found += 1
    for a in range(n):
        starts[a + 1] += starts[a]
    fill, order = starts[:n].copy(), np.empty(found, np.int64)
    for i in range(found):  # by earlier detection, and by later one as they come
        at = fill[before[i]]
        fill[before[i]] += 1
        while at > starts[before[i]] and after[order[at - 1]] > after[i]:
            order[at] = order[at - 1]
            at -= 1
        order[at] = i
    begins, unique = np.zeros(n + 1, np.int64), 0
    for a in range(n):
        for at in range(starts[a], starts[a + 1]):
            if at == starts[a] or after[order[at]] != after[order[at - 1]]:
                order[unique] = order[at]
                unique += 1
        begins[a + 1] = unique
    return begins, after[order[:unique]], length[order[:unique]]


@kernel()
def least_by(place, values, n, most):
    """The least of the values of each place, at most ``most``."""
    least = np.full(n, most)
    for i in range(len(place)):
        least[place[i]] = min(least[place[i]], values[i])
    return least


@kernel()
def neighbour_flow(grid, begins, after, distance, forward, backward, early, late, flow):
    """How the neighbours of each earlier detection move: medians over the nearest links of mutually nearest ones.

    ``forward`` and ``backward`` are the distances of detections to the nearest one of the other frame. A detection's
    own link is left out; ``flow`` stays as it is if there are fewer than four links in all.
    """
    points, number, moved, n = np.empty((len(after), 3)), np.empty_like(after), np.empty((len(after), 3)), 0
    n_axes = early.shape[1]
    for i in range(len(grid.number)):
        a = grid.number[i]
        for j in range(begins[a], begins[a + 1]):
            if distance[j] <= forward[a] and distance[j] <= backward[after[j]]:
                points[n], number[n] = grid.points[i], a
                for d in range(n_axes):
                    moved[n, d] = late[after[j], d] - early[a, d]
                n += 1
    if n < 4:
        return
    links = make_grid(points[:n], np.arange(n))
    k, nobody = min(AROUND + 1, n), np.int64(-1)
    place, far, steps = np.empty(n + 1, np.int64), np.empty(n + 1), np.empty(k)
    for i in range(len(grid.number)):
        a, some = grid.number[i], 0
        found = nearest_few(links, grid.points[i], k, np.inf, nobody, place, far)
        for p in range(found):
            place[some] = links.number[place[p]]
            some += some < k - 1 and number[place[some]] != a
        for d in range(n_axes):
            for p in range(some):
                step, at = moved[place[p], d], p
                while at > 0 and steps[at - 1] > step:
                    steps[at] = steps[at - 1]
                    at -= 1
                steps[at] = step
            if some:
                flow[a, d] = (steps[(some - 1) // 2] + steps[some // 2]) / 2.0


@kernel()
def link_frames(early_grid, late_grid, early, late, k, reach, unit, most):
    """Links between two frames, in units of ``unit``, and what they say of detections.

    Returns ``before, after, distance``, the flow (in the unit of positions), distances to the nearest detection of the
    other frame, and the least drifts of links, both for each frame and at most ``most``. The drift of a link is the
    distance of its end from where the flow leads.
    """
    n, m = len(early), len(late)
    begins, after, distance = near_links(early_grid, late_grid, k, reach)
    before, drift = np.empty_like(after), np.zeros_like(distance)
    for a in range(n):
        for j in range(begins[a], begins[a + 1]):
            before[j] = a
            distance[j] /= unit
    forward, backward = least_by(before, distance, n, most), least_by(after, distance, m, most)
    flow = np.zeros_like(early)
    neighbour_flow(early_grid, begins, after, distance, forward, backward, early, late, flow)
    for j in range(len(after)):
        for d in range(early.shape[1]):
            drift[j] += (early[before[j], d] + flow[before[j], d] - late[after[j], d]) ** 2
        drift[j] = np.sqrt(drift[j]) / unit
    nearest, drifts = (forward, backward), (least_by(before, drift, n, most), least_by(after, drift, m, most))
    return before, after, distance, flow, nearest, drifts


@kernel()
def pairs_of_near(one, other, distance, n, few):
    """Each of the n detections that links have as ``one`` end with two of the ``few`` nearest at the ``other`` ends.

    Returns the detections, and the two, in ascending order. ``near[k, :some[k]]`` are the shortest links of detection
    k; of equally long ones that to the lower number is first.
    """
    near, some, total = np.empty((n, few + 1), np.int64), np.zeros(n, np.int64), 0
    for j in range(len(one)):
        own, at = near[one[j]], some[one[j]]
        while at > 0 and (
            distance[j] < distance[own[at - 1]]
            or (distance[j] == distance[own[at - 1]] and other[j] < other[own[at - 1]])
        ):
            own[at] = own[at - 1]
            at -= 1
        own[at] = j
        some[one[j]] = min(some[one[j]] + 1, few)
    for k in range(n):
        total += some[k] * (some[k] - 1) // 2
    single, two = np.empty(total, np.int64), np.empty((total, 2), np.int64)
    total = 0
    for k in range(n):
        for p in range(some[k]):
            for q in range(p + 1, some[k]):
                a, b = other[near[k, p]], other[near[k, q]]
                single[total], two[total, 0], two[total, 1] = k, min(a, b), max(a, b)
                total += 1
    return single, two
