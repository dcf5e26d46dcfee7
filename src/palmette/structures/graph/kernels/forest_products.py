"""Sums on forests by scaled products: exact where ``fits_products`` proves that no message leaves a double's range."""

from __future__ import annotations

import numpy as np

from palmette._kernels.jit import SUMS, kernel
from palmette._kernels.spread import SAFE_SPREAD, exponentiate_table, spread


@kernel()
def exponentiate_tables(edge, factor, shift, width, forbidden):
    """``factor = exp(edge - shift)``, and of each table its spread and whether an entry is -inf."""
    for e in range(len(edge)):
        shift[e] = exponentiate_table(edge[e], factor[e])
        width[e], forbidden[e] = spread(edge[e].ravel())


@kernel()
def fits_products(node, f, s, width, forbidden):
    """Whether scaled products are exact for a sample.

    Without forbidden pairs a message spreads at most like its table, whatever labels its nodes forbid; with them a
    label may live on one poor labeling only, so spreads add up over the sample.
    """
    widest, any_forbidden = 0.0, False
    for e in range(f.edge_offsets[s], f.edge_offsets[s + 1]):
        widest = max(widest, width[f.table[e]])
        any_forbidden |= forbidden[f.table[e]]
    worst, total = 0.0, 0.0
    # A message spreads at most like its table, so value[v] spreads by at most own + n_children widest, outside[v] by
    # one table more, and another one covers its scale (sum value outside = 1).
    for t in range(f.offsets[s], f.offsets[s + 1]):
        own, _ = spread(node[t])
        worst = max(worst, own + (f.n_children[t] + 2.0) * widest)
        total += own + widest + np.log(node.shape[1])
    return total < SAFE_SPREAD if any_forbidden else worst < SAFE_SPREAD


@kernel(fastmath=SUMS)
def inside_products(node, factor, shift, f, s, value, local, message):
    """Normalised messages to the roots; returns the log-partition (-inf if nothing is allowed).

    ``value[v]`` sums to 1, ``local[v]`` is exp(node) relative to its best label, ``message[v]`` is what the parent of v
    receives.
    """
    n_labels = node.shape[1]
    lo, hi, e0 = f.offsets[s], f.offsets[s + 1], f.edge_offsets[s]
    log_z = 0.0
    for t in range(hi - lo):
        row = node[lo + t]
        top = row[0]
        for j in range(1, n_labels):
            top = max(top, row[j])
        if not top > -np.inf:
            return -np.inf
        log_z += top
        for j in range(n_labels):
            local[t, j] = np.exp(row[j] - top)
            value[t, j] = local[t, j]
    # value[v] ~ local[v] x messages of its children, divided by its sum;
    # message[v, i] = sum_j factor[i, j] value[v, j]. Children before parents.
    # log Z = sum of logs of all divisors, largest node scores and shifts. O(nodes K^2).
    for place in range(hi - 1, lo - 1, -1):
        v = f.order[place]
        own = value[v]
        total = 0.0
        for j in range(n_labels):
            total += own[j]
        if not total > 0.0:
            return -np.inf
        log_z += np.log(total)
        inverse = 1.0 / total
        for j in range(n_labels):
            own[j] *= inverse
        p = f.parent[lo + v]
        if p < 0:
            continue
        e = f.table[e0 + f.up[lo + v]]
        log_z += shift[e]
        pair = factor[e]
        seen, above = message[v], value[p]
        if f.flip[lo + v]:
            for i in range(n_labels):
                seen[i] = 0.0
            for j in range(n_labels):
                x = own[j]
                for i in range(n_labels):
                    seen[i] += pair[j, i] * x
        else:
            for i in range(n_labels):
                heard = 0.0
                for j in range(n_labels):
                    heard += pair[i, j] * own[j]
                seen[i] = heard
        for i in range(n_labels):
            above[i] *= seen[i]
    return log_z


@kernel(fastmath=SUMS)
def outside_products(factor, f, s, weight, value, local, message, outside, rest, prefix, node_out, pair_out):
    """Messages from the roots; writes ``weight`` x node marginals and gathers outer products for the pair marginals.

    Pair marginals are these products times ``factor``, multiplied once per table by the caller.
    """
    n_labels = node_out.shape[1]
    lo, hi, e0 = f.offsets[s], f.offsets[s + 1], f.edge_offsets[s]
    # Parents before children: outside[c, j] ~ sum_i factor[i, j] without[i], where without = local[v] outside[v] x the
    # messages of the other children of v (``prefix`` before c, ``rest`` after c, so that nothing is divided).
    # Invariant: outside[v] is scaled so that value[v] outside[v] is the node marginal and sums to 1; by the same scale
    # without[i] factor[i, j] value[c, j] is the pair marginal. O(nodes K^2), nothing allocated.
    for place in range(lo, hi):
        v = f.order[place]
        if f.parent[lo + v] < 0:
            for i in range(n_labels):
                outside[v, i] = 1.0
        for i in range(n_labels):
            node_out[lo + v, i] = weight * value[v, i] * outside[v, i]
            prefix[i] = local[v, i] * outside[v, i]
        first = f.first_child[lo + v]
        last = first + f.n_children[lo + v]
        if last > first:
            c = f.order[lo + last - 1]
            for i in range(n_labels):
                rest[c, i] = 1.0
        for q in range(last - 2, first - 1, -1):
            c, later = f.order[lo + q], f.order[lo + q + 1]
            for i in range(n_labels):
                rest[c, i] = rest[later, i] * message[later, i]
        for q in range(first, last):
            c = f.order[lo + q]
            e = f.table[e0 + f.up[lo + c]]
            pair, gathered, heard, own, without = factor[e], pair_out[e], outside[c], value[c], rest[c]
            for i in range(n_labels):
                without[i] *= prefix[i]
            total = 0.0
            if f.flip[lo + c]:
                for j in range(n_labels):
                    x = 0.0
                    for i in range(n_labels):
                        x += pair[j, i] * without[i]
                    heard[j] = x
                    total += x * own[j]
                inverse = 1.0 / total
                for j in range(n_labels):
                    x = weight * inverse * own[j]
                    heard[j] *= inverse
                    for i in range(n_labels):
                        gathered[j, i] += x * without[i]
            else:
                for j in range(n_labels):
                    heard[j] = 0.0
                for i in range(n_labels):
                    x = without[i]
                    for j in range(n_labels):
                        heard[j] += pair[i, j] * x
                for j in range(n_labels):
                    total += heard[j] * own[j]
                inverse = 1.0 / total
                for j in range(n_labels):
                    heard[j] *= inverse
                for i in range(n_labels):
                    x = weight * inverse * without[i]
                    for j in range(n_labels):
                        gathered[i, j] += x * own[j]
            for i in range(n_labels):
                prefix[i] *= message[c, i]
