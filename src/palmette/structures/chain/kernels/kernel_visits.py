"""Block-coordinate pairwise Frank-Wolfe in the dual of a kernelised hinge on chains.

Nothing here has features: scores of labels at the distinct rows stand in ``table`` (labels, stride), single precision,
and a change of the dual variables of a sample adds multiples of rows of the Gram matrix to it. Such a row is one of
``gram`` (floats), or of ``small`` (bytes that number the entries of ``value``); the other one is empty. With bytes,
the Gram matrix is ``scale[u] value[small[u, v]] scale[v]``, and ``table`` lacks the factor ``scale``.
All tables are flat. ``unique[row]`` numbers the distinct rows, and ``slot[u]`` says where the Gram row of u stands.
"""

from __future__ import annotations

import numpy as np

from palmette._kernels import simd
from palmette._kernels.constants import FREE, LANES, TIE_SINGLE
from palmette._kernels.jit import kernel
from palmette._kernels.lanes import best_chain, transpose
from palmette._kernels.ragged import longest_sample
from palmette.structures.chain.kernels.packed import true_score

TILE = 2048  # columns of the table that are changed at once: they stay in the cache


@kernel()
def add_gram_rows(gram, small, value, stride, place, part_ptr, label, amount, n, buffer, table):
    """Row ``place[t]`` of the Gram matrix, times ``amount[p]``, to the row ``label[p]`` of ``table``, of every t < n.

    ``p`` runs over ``part_ptr[t]:part_ptr[t + 1]``; ``stride`` is a multiple of eight.
    """
    # table[label_p, :] += amount_p Gram[place_t, :], tile by tile, so that a tile of the table stays in the cache.
    # O(parts x stride); the bytes of a Gram row are decoded once per tile and row.
    for start in range(0, stride, TILE):
        stop = min(start + TILE, stride)
        for t in range(n):
            if part_ptr[t] == part_ptr[t + 1]:
                continue
            first = place[t] * stride
            if len(small):
                for j in range(start, stop):
                    buffer[j - start] = value[small[first + j]]
            for p in range(part_ptr[t], part_ptr[t + 1]):
                factor = simd.splat(table, amount[p])
                to = label[p] * stride
                for j in range(start, stop, LANES):
                    if len(small):
                        row = simd.load(buffer, j - start)
                    else:
                        row = simd.load(gram, first + j)
                    simd.store(table, to + j, simd.fma(factor, row, simd.load(table, to + j)))


@kernel()
def sample_gram(gram, small, value, scale, stride, slot, unique, lo, n, own):
    """Kernel values between the rows of a sample, into ``own`` (n, n)."""
    # own[t, r] = k(x_t, x_r), read from the Gram row of x_t; O(n^2).
    for t in range(n):
        first = slot[unique[lo + t]] * stride
        for r in range(n):
            u = unique[lo + r]
            if len(small):
                own[t, r] = scale[unique[lo + t]] * value[small[first + u]] * scale[u]
            else:
                own[t, r] = gram[first + u]


@kernel()
def compare_labelings(path, m, stop, mass, s, lo, n, own, edge_weight, width, reach, seen, inner):
    """Kernels of the active labeling m of sample s with those in places below ``stop``, into ``inner``.

    Nodes with the same label count by the kernel of their rows, edges with the same pair of labels ``edge_weight``.
    ``reach`` (n, width) and ``seen`` (width, width) are flat, and zero before and after.
    """
    # <m, b> = sum_{t, r} [m_t = b_r] own[t, r] + edge_weight x (number of equal label pairs). Prepared once:
    # reach[r, k] = sum_t [m_t = k] own[t, r]. O(n^2 + labelings x n) instead of O(labelings x n^2).
    for t in range(n):
        k = path[m, lo + t]
        for r in range(n):
            reach[r * width + k] += own[t, r]
        if t > 0:
            seen[path[m, lo + t - 1] * width + k] += edge_weight
    for b in range(stop):
        if mass[s, b] == FREE:
            continue
        total = 0.0
        for r in range(n):
            k = path[b, lo + r]
            total += reach[r * width + k]
            if r > 0:
                total += seen[path[b, lo + r - 1] * width + k]
        inner[m, b] = inner[b, m] = total
    for t in range(n):
        k = path[m, lo + t]
        for r in range(n):
            reach[r * width + k] = 0.0
        if t > 0:
            seen[path[m, lo + t - 1] * width + k] = 0.0


@kernel()
def augmented_node(table, scale, stride, unique, cost, codes, lo, n, n_labels, width, node):
    """Scores plus costs at the rows of a sample, in double precision."""
    for t in range(n):
        u = unique[lo + t]
        for k in range(n_labels):
            node[t * width + k] = scale[u] * table[k * stride + u] + cost[codes[lo + t], k]


@kernel()
def find_labeling(path, mass, s, lo, n, rival):
    """The place of a labeling among the active ones of sample s, -1 if it is not there."""
    # O(places x n) at worst; most comparisons end at the first differing label.
    for m in range(mass.shape[1]):
        if mass[s, m] == FREE:
            continue
        same = True
        for t in range(n):
            if path[m, lo + t] != rival[t]:
                same = False
                break
        if same:
            return m
    return -1


@kernel()
def pairwise_steps(score, inner, mass, moved, s, factor, steps):
    """Move mass from the worst active labeling of sample s to the best one, at most ``steps`` times.

    ``score`` are the augmented scores of the labelings, ``inner`` their kernels, and ``factor`` is weight / l2.
    ``moved`` collects the changes.
    """
    n_places = mass.shape[1]
    # Moving mass m changes the dual by weight (rise m - curvature m^2 / 2), so m = rise / curvature, cut at the mass of
    # the worst. Scores follow from kernels of labelings: score -= factor m (inner[:, best] - inner[:, worst]).
    # O(places) per step. Masses stay >= 0 and their sum is kept; scores within TIE_SINGLE are equal: the lowest place.
    for _ in range(steps):
        best, worst = -1, -1
        for m in range(n_places):
            if mass[s, m] == FREE:
                continue
            tie = TIE_SINGLE * (1.0 + abs(score[m]))
            if best < 0 or score[m] > score[best] + tie:
                best = m
            if mass[s, m] > 0.0 and (worst < 0 or score[m] < score[worst] - tie):
                worst = m
        rise = score[best] - score[worst]
        if best == worst or rise <= TIE_SINGLE * (1.0 + abs(score[best])):
            break
        curvature = factor * (inner[best, best] + inner[worst, worst] - 2.0 * inner[best, worst])
        step = mass[s, worst]
        if curvature > 0.0:
            step = min(step, rise / curvature)
        mass[s, best] += step
        mass[s, worst] = mass[s, worst] - step if step < mass[s, worst] else 0.0
        moved[best] += step
        moved[worst] -= step
        for m in range(n_places):
            if mass[s, m] != FREE:
                score[m] -= factor * step * (inner[m, best] - inner[m, worst])


@kernel()
def kernel_pass(
    gram, small, value, scale, stride, slot, unique, offsets, codes, weight, cost, order, n_labels, width, l2,
    edge_weight, table, edge, path, mass, loss, gap, rounds, steps,
):  # fmt: skip
    """Visit the samples of ``order`` once each; returns how often no place was free for a new labeling.

    ``path`` (places, rows) and ``mass`` (samples, places) are the active labelings, ``loss`` and ``gap`` (samples,) the
    mean loss of each block and what it lacked before its visit. ``edge`` (width x width, flat) are transitions.
    A visit has ``rounds`` of a maximisation followed by at most ``steps`` exact steps between active labelings.
    """
    n_places = len(path)
    longest = longest_sample(offsets)
    node, work = np.zeros(longest * width), np.zeros(longest * width)
    change = np.zeros(longest * width)
    edge_t = np.zeros(width * width)
    transpose(edge, n_labels, width, edge_t)
    own = np.empty((longest, longest))
    rival, place = np.empty(longest, np.int32), np.empty(longest, np.int64)
    score, moved, lost = np.zeros(n_places), np.zeros(n_places), np.zeros(n_places)
    inner = np.zeros((n_places, n_places))
    reach, seen = np.zeros(longest * width), np.zeros(width * width)
    part_ptr = np.zeros(longest + 1, np.int64)
    label, amount = np.empty(longest * n_labels, np.int64), np.empty(longest * n_labels, np.float32)
    buffer = np.empty(TILE, np.float32)
    crowded = 0
    # Invariants of a visit: ``node`` and ``edge`` are current, ``table`` lags behind by ``change`` (rows, labels) and
    # gets it at the end as Gram rows, O(parts x distinct rows), which dominates. The masses of a sample sum to 1.
    # gap[s] = weight (max_y - mean) of augmented scores before the visit. ``table`` is in single precision: the caller
    # computes it anew before every certificate. Memory O(longest^2 + longest width + places^2).
    for s in order:
        lo = offsets[s]
        n = offsets[s + 1] - lo
        factor = weight[s] / l2
        augmented_node(table, scale, stride, unique, cost, codes, lo, n, n_labels, width, node)
        sample_gram(gram, small, value, scale, stride, slot, unique, lo, n, own)
        change[: n * width] = 0.0
        for m in range(n_places):
            if mass[s, m] == FREE:
                continue
            lost[m] = 0.0
            for t in range(n):
                lost[m] += cost[codes[lo + t], path[m, lo + t]]
            compare_labelings(path, m, m + 1, mass, s, lo, n, own, edge_weight, width, reach, seen, inner)
        for turn in range(rounds):
            work[: n * width] = node[: n * width]
            top = best_chain(work, n, n_labels, width, edge, edge_t, rival)
            mean, best = 0.0, -np.inf
            for m in range(n_places):
                if mass[s, m] != FREE:
                    score[m] = true_score(node, edge, 0 * width, path[m], lo, n, width)
                    mean += mass[s, m] * score[m]
                    best = max(best, score[m])
            if turn == 0:
                gap[s] = weight[s] * max(top - mean, 0.0)
            if find_labeling(path, mass, s, lo, n, rival) < 0:
                free = 0
                while free < n_places and mass[s, free] != FREE:
                    free += 1
                if free == n_places:
                    crowded += 1
                elif top > best:
                    path[free, lo : lo + n] = rival[:n]
                    mass[s, free], score[free], lost[free] = 0.0, top, 0.0
                    for t in range(n):
                        lost[free] += cost[codes[lo + t], rival[t]]
                    compare_labelings(
                        path, free, n_places, mass, s, lo, n, own, edge_weight, width, reach, seen, inner
                    )
            elif turn > 0 and top - mean <= TIE_SINGLE * (1.0 + abs(top)):
                break
            moved[:] = 0.0
            pairwise_steps(score, inner, mass, moved, s, factor, steps)
            for m in range(n_places):
                if moved[m] == 0.0:
                    continue
                loss[s] += moved[m] * lost[m]
                d = factor * moved[m]
                for t in range(n):
                    k = path[m, lo + t]
                    change[t * width + k] += d
                    for r in range(n):
                        node[r * width + k] -= d * own[t, r]
                    if t > 0:
                        j = path[m, lo + t - 1]
                        edge[j * width + k] -= d * edge_weight
                        edge_t[k * width + j] = edge[j * width + k]
        for m in range(n_places):
            if mass[s, m] == 0.0:
                mass[s, m] = FREE
        n_parts = 0
        for t in range(n):
            u = unique[lo + t]
            place[t] = slot[u]
            for k in range(n_labels):
                d = change[t * width + k]
                if d != 0.0:
                    label[n_parts], amount[n_parts] = k, -d * scale[u]
                    n_parts += 1
            part_ptr[t + 1] = n_parts
        if n_parts:
            add_gram_rows(gram, small, value, stride, place, part_ptr, label, amount, n, buffer, table)
    return crowded


@kernel()
def hinge_values(table, scale, stride, unique, offsets, codes, cost, n_labels, width, edge, out):
    """``max_y [f(y) + cost] - f(true)`` of every sample."""
    longest = longest_sample(offsets)
    node, edge_t = np.zeros(longest * width), np.zeros(width * width)
    transpose(edge, n_labels, width, edge_t)
    rival = np.empty(longest, np.int32)
    # O(n K^2) per sample; scores of a distinct row are shared by all its occurrences.
    for s in range(len(offsets) - 1):
        lo = offsets[s]
        n = offsets[s + 1] - lo
        augmented_node(table, scale, stride, unique, cost, codes, lo, n, n_labels, width, node)
        truth = 0.0
        for t in range(n):
            truth += node[t * width + codes[lo + t]] - cost[codes[lo + t], codes[lo + t]]
            if t > 0:
                truth += edge[codes[lo + t - 1] * width + codes[lo + t]]
        out[s] = max(best_chain(node, n, n_labels, width, edge, edge_t, rival) - truth, 0.0)
