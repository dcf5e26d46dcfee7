"""Block-coordinate pairwise Frank-Wolfe for the hinge on packed chains.

The dual block of a sample is a distribution over labelings, kept as a short list of active labelings and their
masses (``FREE`` behind the last). A visit adds the augmented best labeling and moves mass from the worst active
labeling to the best one by exact line searches; the two differ in few positions, so a step touches few weights.

Two kernels take the same steps. ``frank_wolfe_pass`` changes the weights and scores the sample anew after each step.
``gram_pass`` serves where every column has a weight for every label: then the inner products of a sample's own rows
give the change of its scores, a step needs no features, and the weights follow once per visit.

The codes of the chains that these kernels take are rows of the table of costs: true labels, or what is known of a
position (one of several labels, nothing at all). Where an output is subtracted it is given apart, as ``truth``.
"""

from __future__ import annotations

import numpy as np

from palmette._kernels.constants import FREE, TIE
from palmette._kernels.jit import SUMS, kernel
from palmette._kernels.lanes import best_chain, transpose
from palmette._kernels.ragged import longest_sample
from palmette.structures.chain.kernels.packed import copy, score_rows, true_score, workspace
from palmette.structures.chain.kernels.packed_steps import add_cost


@kernel()
def labeling_score(node, edge, path, lo, n, width):
    """Score of the labels ``path[lo:lo + n]``."""
    before = path[lo]
    total = node[before]
    for t in range(1, n):
        label = path[lo + t]
        total += node[t * width + label] + edge[before * width + label]
        before = label
    return total


@kernel()
def best_and_worst(value, n_active):
    """The first of the best and of the worst of equal values."""
    best, worst = 0, 0
    # Values within TIE (relative) count as equal, so that rounding after an exact step does not choose; lowest m wins.
    for m in range(1, n_active):
        tie = TIE * (1.0 + abs(value[m]))
        if value[m] > value[best] + tie:
            best = m
        if value[m] < value[worst] - tie:
            worst = m
    return best, worst


@kernel()
def drop_labeling(path, lo, n, mass, value, m, n_active):
    """Free place m: the last active labeling moves there."""
    last = n_active - 1
    for t in range(lo, lo + n):
        path[m, t] = path[last, t]
    mass[m], value[m] = mass[last], value[last]
    mass[last] = FREE


@kernel()
def loss_difference(cost, codes, to, fro, lo, n, width):
    """Loss of labeling ``to`` minus that of ``fro``."""
    total = 0.0
    for t in range(lo, lo + n):
        true = codes[t] * width
        total += cost[true + to[t]] - cost[true + fro[t]]
    return total


@kernel()
def direct_edges(to, fro, lo, n, width, weight, inverse, g):
    """Write ``weight`` x (pairs of ``to`` - pairs of ``fro``) to the zero ``g``; returns ``sum g^2 inverse``."""
    curvature = 0.0
    # Invariant: curvature = sum g^2 inverse over the entries written so far; (g + d)^2 - g^2 = d (2 g + d).
    for t in range(lo + 1, lo + n):
        p, q = to[t - 1] * width + to[t], fro[t - 1] * width + fro[t]
        if p != q:
            old = g[p]
            g[p] = old + weight
            curvature += weight * (2.0 * old + weight) * inverse[p]
            old = g[q]
            g[q] = old - weight
            curvature += weight * (weight - 2.0 * old) * inverse[q]
    return curvature


@kernel()
def step_edges(to, fro, lo, n, width, step, inverse, g, edge, edge_t):
    """``edge -= step g inverse`` for the pairs of both labelings, in both tables; ``g`` is zero again."""
    for t in range(lo + 1, lo + n):
        p, q = to[t - 1] * width + to[t], fro[t - 1] * width + fro[t]
        if p != q:
            for at in (p, q):
                if g[at] != 0.0:
                    edge[at] -= step * g[at] * inverse[at]
                    edge_t[at % width * width + at // width] = edge[at]
                    g[at] = 0.0


@kernel()
def add_features(x, row, label, amount, width, g):
    """Add ``amount`` x the features of ``row`` with ``label`` to the packed ``g``."""
    ones = len(x.multi_value) == 0 and len(x.single_value) == 0
    for p in range(x.multi_at[row], x.multi_at[row + 1]):
        g.rows[x.multi[p] * width + label] += amount if ones else amount * x.multi_value[p]
    for p in range(x.single_at[row], x.single_at[row + 1]):
        q = x.single[p]
        if x.single_label[q] == label:
            g.singles[q] += amount if ones else amount * x.single_value[p]


@kernel()
def direct_features(x, row, label, amount, width, inverse, g):
    """As ``add_features``; returns by how much ``sum g^2 inverse`` grew. ``inverse`` is 0 where there is no weight."""
    ones = len(x.multi_value) == 0 and len(x.single_value) == 0
    grown = 0.0
    # Invariant: ``grown`` is the change of sum g^2 inverse so far; (g + d)^2 - g^2 = d (2 g + d). O(nnz of the row).
    for p in range(x.multi_at[row], x.multi_at[row + 1]):
        q = x.multi[p] * width + label
        d = amount if ones else amount * x.multi_value[p]
        old = g.rows[q]
        g.rows[q] = old + d
        grown += d * (2.0 * old + d) * inverse.rows[q]
    for p in range(x.single_at[row], x.single_at[row + 1]):
        q = x.single[p]
        if x.single_label[q] == label:
            d = amount if ones else amount * x.single_value[p]
            old = g.singles[q]
            g.singles[q] = old + d
            grown += d * (2.0 * old + d) * inverse.singles[q]
    return grown


@kernel()
def step_features(x, row, label, step, width, inverse, g, w):
    """``w -= step g inverse`` for the weights of ``row`` with ``label``, and ``g = 0``: once, however often called."""
    # g is cleared with the step, so a column that stands in several rows takes it once.
    for p in range(x.multi_at[row], x.multi_at[row + 1]):
        q = x.multi[p] * width + label
        w.rows[q] -= step * g.rows[q] * inverse.rows[q]
        g.rows[q] = 0.0
    for p in range(x.single_at[row], x.single_at[row + 1]):
        q = x.single[p]
        if x.single_label[q] == label:
            w.singles[q] -= step * g.singles[q] * inverse.singles[q]
            g.singles[q] = 0.0


@kernel()
def move_mass(x, w, inverse, g, edge_t, lo, n, width, weight, gain, to, fro, limit):
    """Move mass from labeling ``fro`` to labeling ``to``, by an exact line search up to ``limit``; returns how much.

    ``gain`` is the slope of the dual. The weights follow. The packed ``g`` is zero before and after.
    """
    # Moving mass m changes the dual by gain m - curvature m^2 / 2 with g = weight (counts(to) - counts(fro)) and
    # curvature = sum g^2 / l2, so m = gain / curvature, cut at ``limit``; then w -= m g / l2. Only positions where the
    # labelings differ are touched. Nothing is allocated.
    curvature = direct_edges(to, fro, lo, n, width, weight, inverse.edge, g.edge)
    for t in range(lo, lo + n):
        if to[t] != fro[t]:
            curvature += direct_features(x, t, to[t], weight, width, inverse, g)
            curvature += direct_features(x, t, fro[t], -weight, width, inverse, g)
    step = min(limit, gain / curvature) if curvature > 0.0 else limit
    for t in range(lo, lo + n):
        if to[t] != fro[t]:
            step_features(x, t, to[t], step, width, inverse, g, w)
            step_features(x, t, fro[t], step, width, inverse, g, w)
    step_edges(to, fro, lo, n, width, step, inverse.edge, g.edge, w.edge, edge_t)
    return step


@kernel()
def admit(rival, top, best, path, lo, n, mass, value, n_active):
    """Put ``rival``, of value ``top``, on the list if it is better than the best there.

    Returns the number of active labelings, and whether there was no place.
    """
    # A new labeling has mass 0 and is the best one, so the next pairwise step goes to it.
    if not top > value[best] + TIE * (1.0 + abs(top)):
        return n_active, 0
    if n_active == len(mass):
        return n_active, 1
    for t in range(n):
        path[n_active, lo + t] = rival[t]
    mass[n_active], value[n_active] = 0.0, top
    return n_active + 1, 0


@kernel()
def frank_wolfe_pass(chains, w, inverse, cost, order, path, mass, loss, gap, g, inner):
    """Visit the samples of ``order`` once each; returns how often no place was free for a new labeling.

    ``path`` (places, rows) and ``mass`` (samples, places) are the active labelings and their masses, ``loss`` and
    ``gap`` (samples,) the mean loss of each block and, for the samples visited, what its block lacked before.
    ``inner`` pairwise steps are taken in each visit at most. ``cost`` is flat, its rows padded to ``width``;
    ``inverse`` has 1 / l2, and 0 where there is no weight.
    """
    x, base, offsets, codes, weight, n_labels, width = chains
    work, value = workspace(chains, w.rows), np.empty(len(path))
    node, rival, edge_t = work.node, work.path, work.factor_t
    transpose(w.edge, n_labels, width, edge_t)
    crowded = 0
    # Invariants: the masses of a sample are >= 0 and sum to 1; w = sum_s weight (true - mean counts) / l2 after every
    # step, and edge_t is the transpose of w.edge. gap[s] = weight (max_y - mean) of augmented scores before the visit.
    # A step is an exact line search, so the dual never falls. A labeling that loses its mass is dropped; a rival that
    # got none is freed at the end. Per visit one O(n K^2) maximisation, per step O(nnz K + active n).
    # Memory O(longest width + width^2 + places).
    for s in order:
        lo, hi = offsets[s], offsets[s + 1]
        n = hi - lo
        n_active = 0
        for visit in range(inner):
            score_rows(x, w, base, lo, hi, width, node)
            add_cost(node, cost, codes, lo, n, width)
            if visit == 0:
                while n_active < len(path) and mass[s, n_active] != FREE:
                    n_active += 1
            mean = 0.0
            for m in range(n_active):
                value[m] = labeling_score(node, w.edge, path[m], lo, n, width)
                mean += mass[s, m] * value[m]
            if visit == 0:
                best, worst = best_and_worst(value, n_active)
                top = best_chain(node, n, n_labels, width, w.edge, edge_t, rival)
                gap[s] = weight[s] * max(top - mean, 0.0)
                n_active, full = admit(rival, top, best, path, lo, n, mass[s], value, n_active)
                crowded += full
            best, worst = best_and_worst(value, n_active)
            if best == worst or value[best] - value[worst] <= TIE * (1.0 + abs(value[best])):
                break
            step = move_mass(
                x, w, inverse, g, edge_t, lo, n, width, weight[s], weight[s] * (value[best] - value[worst]),
                path[best], path[worst], mass[s, worst],
            )  # fmt: skip
            loss[s] += step * loss_difference(cost, codes, path[best], path[worst], lo, n, width)
            mass[s, best] += step
            mass[s, worst] -= step
            if mass[s, worst] <= 0.0:
                drop_labeling(path, lo, n, mass[s], value, worst, n_active)
                n_active -= 1
        if n_active > 0 and mass[s, n_active - 1] == 0.0:
            mass[s, n_active - 1] = FREE
    return crowded


@kernel()
def row_products(x, inverse, offsets, starts, out):
    """Inner products of the rows of each sample, each column times ``inverse`` (one number per column of weights).

    Those of sample s are the square table at ``starts[s]``.
    """
    ones = len(x.multi_value) == 0
    spread = np.zeros(len(inverse))
    # out[t, u] = sum_j x_tj x_uj inverse_j: row t is spread into a dense vector, then gathered by the rows u <= t.
    # O(n nnz) per sample; ``spread`` is zero between rows. n^2 numbers per sample in ``out``, O(columns) allocated.
    for s in range(len(offsets) - 1):
        lo, hi = offsets[s], offsets[s + 1]
        n = hi - lo
        for t in range(n):
            for p in range(x.multi_at[lo + t], x.multi_at[lo + t + 1]):
                spread[x.multi[p]] += (1.0 if ones else x.multi_value[p]) * inverse[x.multi[p]]
            for u in range(t + 1):
                total = 0.0
                for p in range(x.multi_at[lo + u], x.multi_at[lo + u + 1]):
                    total += spread[x.multi[p]] if ones else spread[x.multi[p]] * x.multi_value[p]
                out[starts[s] + t * n + u] = out[starts[s] + u * n + t] = total
            for p in range(x.multi_at[lo + t], x.multi_at[lo + t + 1]):
                spread[x.multi[p]] = 0.0


@kernel(fastmath=SUMS)
def node_curvature(gram, at, to, fro, lo, n):
    """``|features of to - features of fro|^2``, transitions apart, from the inner products of the sample's rows."""
    total = 0.0
    # |sum_t x_t d_t|^2 = sum_{t, u} gram[t, u] <d_t, d_u> with d_t = e[to_t] - e[fro_t], 0 where both agree; O(n^2).
    for t in range(n):
        a, b = to[lo + t], fro[lo + t]
        if a == b:
            continue
        total += 2.0 * gram[at + t * n + t]
        for u in range(t):
            c, d = to[lo + u], fro[lo + u]
            if c != d:
                sign = (1.0 if a == c else 0.0) + (1.0 if b == d else 0.0)
                sign -= (1.0 if a == d else 0.0) + (1.0 if b == c else 0.0)
                total += 2.0 * sign * gram[at + t * n + u]
    return total


@kernel()
def gram_pass(chains, w, inverse, cost, order, path, mass, loss, gap, g, inner, gram, starts):
    """As ``frank_wolfe_pass``; ``gram`` and ``starts`` are what ``row_products`` wrote."""
    x, base, offsets, codes, weight, n_labels, width = chains
    work, value = workspace(chains, w.rows), np.empty(len(path))
    node, ahead, rival, edge_t = work.node, work.theta, work.path, work.factor_t
    change, touched = np.zeros(len(node)), np.empty(len(node), np.int64)
    transpose(w.edge, n_labels, width, edge_t)
    ones = len(x.multi_value) == 0
    crowded = 0
    # Invariants as in ``frank_wolfe_pass``, but during a visit w.rows lags behind: ``node`` holds the current scores,
    # node[u, k] -= sum_t change[t, k] gram[t, u], and ``change`` what w.rows still lacks, listed in ``touched``.
    # Transitions change at once. Per step O(differing positions x n + active n), no features; at the end of the visit
    # w.rows -= change x features / l2. ``change`` is zero between visits. Memory O(longest width + width^2 + places).
    for s in order:
        lo, hi = offsets[s], offsets[s + 1]
        n = hi - lo
        at = starts[s]
        score_rows(x, w, base, lo, hi, width, node)
        add_cost(node, cost, codes, lo, n, width)
        n_active, mean = 0, 0.0
        while n_active < len(path) and mass[s, n_active] != FREE:
            value[n_active] = labeling_score(node, w.edge, path[n_active], lo, n, width)
            mean += mass[s, n_active] * value[n_active]
            n_active += 1
        best, worst = best_and_worst(value, n_active)
        copy(node, n * width, ahead)
        top = best_chain(ahead, n, n_labels, width, w.edge, edge_t, rival)
        gap[s] = weight[s] * max(top - mean, 0.0)
        n_active, full = admit(rival, top, best, path, lo, n, mass[s], value, n_active)
        crowded += full
        n_touched = 0
        for _ in range(inner):
            best, worst = best_and_worst(value, n_active)
            rise = value[best] - value[worst]
            if best == worst or rise <= TIE * (1.0 + abs(value[best])):
                break
            to, fro = path[best], path[worst]
            curvature = direct_edges(to, fro, lo, n, width, weight[s], inverse.edge, g.edge)
            curvature += weight[s] * weight[s] * node_curvature(gram, at, to, fro, lo, n)
            limit = mass[s, worst]
            step = min(limit, weight[s] * rise / curvature) if curvature > 0.0 else limit
            step_edges(to, fro, lo, n, width, step, inverse.edge, g.edge, w.edge, edge_t)
            amount = step * weight[s]
            for t in range(n):
                a, b = to[lo + t], fro[lo + t]
                if a != b:
                    for u in range(n):
                        d = amount * gram[at + t * n + u]
                        node[u * width + a] -= d
                        node[u * width + b] += d
                    for q, d in ((t * width + a, amount), (t * width + b, -amount)):
                        if change[q] == 0.0:
                            touched[n_touched] = q
                            n_touched += 1
                        change[q] += d
                        if change[q] == 0.0:
                            change[q] = 1e-300  # stays on the list
            loss[s] += step * loss_difference(cost, codes, to, fro, lo, n, width)
            mass[s, best] += step
            mass[s, worst] -= step
            if mass[s, worst] <= 0.0:
                drop_labeling(path, lo, n, mass[s], value, worst, n_active)
                n_active -= 1
            for m in range(n_active):
                value[m] = labeling_score(node, w.edge, path[m], lo, n, width)
        if n_active > 0 and mass[s, n_active - 1] == 0.0:
            mass[s, n_active - 1] = FREE
        for i in range(n_touched):
            t, k = touched[i] // width, touched[i] % width
            d = change[touched[i]]
            change[touched[i]] = 0.0
            for p in range(x.multi_at[lo + t], x.multi_at[lo + t + 1]):
                q = x.multi[p] * width + k
                w.rows[q] -= (d if ones else d * x.multi_value[p]) * inverse.rows[q]
    return crowded


@kernel()
def dual_counts(chains, truth, path, mass, cost, g, loss):
    """Add ``weight`` x (mean counts of each block - counts of ``truth``) to ``g``, and write the mean losses."""
    x, _, offsets, codes, weight, n_labels, width = chains
    longest = longest_sample(offsets)
    share = np.zeros(longest * width)
    # g += weight (sum_m mass_m counts(path_m) - counts(truth)); m = -1 stands for the truth. ``share`` (rows, labels)
    # gathers the node part first, so that each feature row is read once per label. O(active n + nnz K) per sample.
    for s in range(len(offsets) - 1):
        lo, hi = offsets[s], offsets[s + 1]
        n = hi - lo
        loss[s] = 0.0
        for m in range(-1, len(path)):
            if m >= 0 and mass[s, m] == FREE:
                break
            amount = -1.0 if m < 0 else mass[s, m]
            for t in range(n):
                label = truth[lo + t] if m < 0 else path[m, lo + t]
                share[t * width + label] += amount
                if m >= 0:
                    loss[s] += amount * cost[codes[lo + t] * width + label]
                if t > 0:
                    before = truth[lo + t - 1] if m < 0 else path[m, lo + t - 1]
                    g.edge[before * width + label] += weight[s] * amount
        for t in range(n):
            for k in range(n_labels):
                d = share[t * width + k]
                if d != 0.0:
                    share[t * width + k] = 0.0
                    add_features(x, lo + t, k, weight[s] * d, width, g)


@kernel()
def hinge_value(chains, truth, w, cost):
    """Sum of the hinge losses of all samples."""
    x, base, offsets, codes, weight, n_labels, width = chains
    work = workspace(chains, w.rows)
    node, rival, edge_t = work.node, work.path, work.factor_t
    transpose(w.edge, n_labels, width, edge_t)
    total = 0.0
    # sum_s weight (max_y [f(y) + cost(y)] - f(truth)); O(nnz K + n K^2) per sample, O(longest width) memory.
    for s in range(len(offsets) - 1):
        lo, hi = offsets[s], offsets[s + 1]
        n = hi - lo
        score_rows(x, w, base, lo, hi, width, node)
        own = true_score(node, w.edge, 0 * width, truth, lo, n, width)
        add_cost(node, cost, codes, lo, n, width)
        total += weight[s] * (best_chain(node, n, n_labels, width, w.edge, edge_t, rival) - own)
    return total
