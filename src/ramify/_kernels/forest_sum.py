"""Sums on forests: log-partitions and marginals. Tables as in ``forest_max``.

Scaled products where ``fits_products`` proves that no message leaves the range of a double, else log space, as on
chains. Messages go from the leaves to the roots and back; what a node tells one child is the product of what it heard
from everybody else, gathered from both sides of the row of children, so that nothing is ever divided.
"""

from __future__ import annotations

import numpy as np

from ramify._kernels.chain_range import SAFE_SPREAD, spread
from ramify._kernels.chain_sum import log_sum_exp
from ramify._kernels.jit import SUMS, kernel
from ramify._kernels.ragged import longest_sample


@kernel()
def exponentiate_tables(edge, factor, shift, width, forbidden):
    """``factor = exp(edge - shift)``, and of each table its spread and whether an entry is -inf."""
    for e in range(len(edge)):
        top = -np.inf
        for i in range(edge.shape[1]):
            for j in range(edge.shape[2]):
                top = max(top, edge[e, i, j])
        shift[e] = top if top > -np.inf else 0.0
        for i in range(edge.shape[1]):
            for j in range(edge.shape[2]):
                factor[e, i, j] = np.exp(edge[e, i, j] - shift[e])
        width[e], forbidden[e] = spread(edge[e].ravel())


@kernel()
def fits_products(node, lo, hi, table, e0, e1, n_children, width, forbidden):
    """Whether scaled products are exact for a sample.

    Without forbidden pairs a message spreads at most like its table, whatever labels its nodes forbid; with them a
    label may live on one poor labeling only, so spreads add up over the sample.
    """
    widest, any_forbidden = 0.0, False
    for e in range(e0, e1):
        widest = max(widest, width[table[e]])
        any_forbidden |= forbidden[table[e]]
    worst, total = 0.0, 0.0
    for t in range(lo, hi):
        own, _ = spread(node[t])
        worst = max(worst, own + (n_children[t] + 2.0) * widest)
        total += own + widest + np.log(node.shape[1])
    return total < SAFE_SPREAD if any_forbidden else worst < SAFE_SPREAD


@kernel(fastmath=SUMS)
def inside_products(node, factor, shift, table, lo, hi, e0, order, parent, up, flip, value, local, message):
    """Normalised messages to the roots; returns the log-partition (-inf if nothing is allowed).

    ``value[v]`` sums to 1, ``local[v]`` is exp(node) relative to its best label, ``message[v]`` is what the parent of v
    hears.
    """
    n_labels = node.shape[1]
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
    for place in range(hi - 1, lo - 1, -1):
        v = order[place]
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
        p = parent[lo + v]
        if p < 0:
            continue
        e = table[e0 + up[lo + v]]
        log_z += shift[e]
        pair = factor[e]
        seen, above = message[v], value[p]
        if flip[lo + v]:
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
def outside_products(
    factor, table, lo, hi, e0, order, parent, up, flip, first_child, n_children, weight, value, local, message, outside,
    rest, prefix, node_out, pair_out,
):  # fmt: skip
    """Messages from the roots; writes ``weight`` x node marginals and gathers outer products for the pair marginals.

    Pair marginals are these products times ``factor``, multiplied once per table by the caller.
    """
    n_labels = node_out.shape[1]
    for place in range(lo, hi):
        v = order[place]
        if parent[lo + v] < 0:
            for i in range(n_labels):
                outside[v, i] = 1.0
        for i in range(n_labels):
            node_out[lo + v, i] = weight * value[v, i] * outside[v, i]
            prefix[i] = local[v, i] * outside[v, i]
        first = first_child[lo + v]
        last = first + n_children[lo + v]
        if last > first:
            c = order[lo + last - 1]
            for i in range(n_labels):
                rest[c, i] = 1.0
        for q in range(last - 2, first - 1, -1):
            c, later = order[lo + q], order[lo + q + 1]
            for i in range(n_labels):
                rest[c, i] = rest[later, i] * message[later, i]
        for q in range(first, last):
            c = order[lo + q]
            e = table[e0 + up[lo + c]]
            pair, gathered, heard, own, without = factor[e], pair_out[e], outside[c], value[c], rest[c]
            for i in range(n_labels):
                without[i] *= prefix[i]
            total = 0.0
            if flip[lo + c]:
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


@kernel()
def inside_logs(node, edge, table, lo, hi, e0, order, parent, up, flip, value, message):
    """Log-space twin of ``inside_products``: nothing is normalised."""
    n_labels = node.shape[1]
    terms = np.empty(n_labels)
    log_z = 0.0
    for t in range(hi - lo):
        for i in range(n_labels):
            value[t, i] = node[lo + t, i]
    for place in range(hi - 1, lo - 1, -1):
        v = order[place]
        p = parent[lo + v]
        if p < 0:
            log_z += log_sum_exp(value[v])
            continue
        pair = edge[table[e0 + up[lo + v]]]
        for i in range(n_labels):
            for j in range(n_labels):
                terms[j] = (pair[j, i] if flip[lo + v] else pair[i, j]) + value[v, j]
            message[v, i] = log_sum_exp(terms)
            value[p, i] += message[v, i]
    return log_z


@kernel()
def outside_logs(
    node, edge, table, lo, hi, e0, order, parent, up, flip, first_child, n_children, weight, value, message, outside,
    rest, prefix, node_out, pair_out,
):  # fmt: skip
    """Log-space twin of ``outside_products``; ``pair_out`` receives finished pair marginals."""
    n_labels = node.shape[1]
    terms = np.empty(n_labels)
    tree = 0.0
    for place in range(lo, hi):
        v = order[place]
        if parent[lo + v] < 0:
            outside[v, :] = 0.0
        for i in range(n_labels):
            terms[i] = value[v, i] + outside[v, i]
            prefix[i] = node[lo + v, i] + outside[v, i]
        tree = log_sum_exp(terms)
        for i in range(n_labels):
            node_out[lo + v, i] = weight * np.exp(terms[i] - tree)
        first = first_child[lo + v]
        last = first + n_children[lo + v]
        for q in range(last - 1, first - 1, -1):
            c = order[lo + q]
            for i in range(n_labels):
                rest[c, i] = 0.0
                if q < last - 1:
                    later = order[lo + q + 1]
                    rest[c, i] = rest[later, i] + message[later, i]
        for q in range(first, last):
            c = order[lo + q]
            e = table[e0 + up[lo + c]]
            for i in range(n_labels):
                rest[c, i] += prefix[i]
            for j in range(n_labels):
                for i in range(n_labels):
                    x = edge[e, j, i] if flip[lo + c] else edge[e, i, j]
                    terms[i] = rest[c, i] + x
                    p = weight * np.exp(terms[i] + value[c, j] - tree)
                    if flip[lo + c]:
                        pair_out[e, j, i] += p
                    else:
                        pair_out[e, i, j] += p
                outside[c, j] = log_sum_exp(terms)
            for i in range(n_labels):
                prefix[i] += message[c, i]


@kernel()
def log_partitions(
    node, edge, table, offsets, edge_offsets, order, parent, up, flip, first_child, n_children, which, log_z
):
    """Log-partitions of the samples ``which``."""
    n_labels = node.shape[1]
    longest = longest_sample(offsets)
    value, local, message = (
        np.empty((longest, n_labels)),
        np.empty((longest, n_labels)),
        np.empty((longest, n_labels)),
    )
    factor, shift = np.empty(edge.shape), np.empty(len(edge))
    width, forbidden = np.empty(len(edge)), np.empty(len(edge), np.bool_)
    exponentiate_tables(edge, factor, shift, width, forbidden)
    for s in which:
        lo, hi, e0, e1 = offsets[s], offsets[s + 1], edge_offsets[s], edge_offsets[s + 1]
        if fits_products(node, lo, hi, table, e0, e1, n_children, width, forbidden):
            log_z[s] = inside_products(
                node, factor, shift, table, lo, hi, e0, order, parent, up, flip, value, local, message
            )
        else:
            log_z[s] = inside_logs(node, edge, table, lo, hi, e0, order, parent, up, flip, value, message)


@kernel()
def expectations(
    node, edge, table, offsets, edge_offsets, order, parent, up, flip, first_child, n_children, which, weight, log_z,
    node_out, pair_out,
):  # fmt: skip
    """Log-partitions, node marginals and summed pair marginals of the samples ``which``, each times its weight.

    Pair marginals are added to ``pair_out``, one table for each of ``edge``.
    """
    n_labels = node.shape[1]
    longest = longest_sample(offsets)
    work = np.empty((5, longest, n_labels))
    value, local, message, outside, rest = work[0], work[1], work[2], work[3], work[4]
    prefix = np.empty(n_labels)
    factor, shift, gathered = np.empty(edge.shape), np.empty(len(edge)), np.zeros(edge.shape)
    width, forbidden = np.empty(len(edge)), np.empty(len(edge), np.bool_)
    exponentiate_tables(edge, factor, shift, width, forbidden)
    for s in which:
        lo, hi, e0, e1 = offsets[s], offsets[s + 1], edge_offsets[s], edge_offsets[s + 1]
        products = fits_products(node, lo, hi, table, e0, e1, n_children, width, forbidden)
        if products:
            log_z[s] = inside_products(
                node, factor, shift, table, lo, hi, e0, order, parent, up, flip, value, local, message
            )
        else:
            log_z[s] = inside_logs(node, edge, table, lo, hi, e0, order, parent, up, flip, value, message)
        if not log_z[s] > -np.inf:
            for t in range(lo, hi):
                node_out[t, :] = 0.0
        elif products:
            outside_products(
                factor, table, lo, hi, e0, order, parent, up, flip, first_child, n_children, weight[s], value, local,
                message, outside, rest, prefix, node_out, gathered,
            )  # fmt: skip
        else:
            outside_logs(
                node, edge, table, lo, hi, e0, order, parent, up, flip, first_child, n_children, weight[s], value,
                message, outside, rest, prefix, node_out, pair_out,
            )  # fmt: skip
    for e in range(len(edge)):
        for i in range(n_labels):
            for j in range(n_labels):
                pair_out[e, i, j] += gathered[e, i, j] * factor[e, i, j]


@kernel()
def draw_labels(
    node, edge, table, offsets, edge_offsets, order, parent, up, flip, which, draw_of, uniform, path
):
    """Exact samples: messages to the roots, then labels from the roots on. ``uniform`` and ``path`` are (draws, rows).

    Sample ``which[k]`` is drawn for the draws where ``draw_of`` (draws, samples) is true. Returns the first sample
    without an allowed labeling, or -1.
    """
    n_labels = node.shape[1]
    longest = longest_sample(offsets)
    value, message = np.empty((longest, n_labels)), np.empty((longest, n_labels))
    terms = np.empty(n_labels)
    for s in which:
        lo, hi, e0 = offsets[s], offsets[s + 1], edge_offsets[s]
        if not inside_logs(node, edge, table, lo, hi, e0, order, parent, up, flip, value, message) > -np.inf:
            return s
        for d in range(len(path)):
            if not draw_of[d, s]:
                continue
            for place in range(lo, hi):
                v = order[place]
                p = parent[lo + v]
                for j in range(n_labels):
                    terms[j] = value[v, j]
                    if p >= 0:
                        pair = edge[table[e0 + up[lo + v]]]
                        above = path[d, lo + p]
                        terms[j] += pair[j, above] if flip[lo + v] else pair[above, j]
                top = terms.max()
                total = 0.0
                for j in range(n_labels):
                    terms[j] = np.exp(terms[j] - top)
                    total += terms[j]
                threshold = uniform[d, lo + v] * total
                label, last = -1, 0
                for j in range(n_labels):
                    if terms[j] > 0.0:
                        last = j
                        threshold -= terms[j]
                        if threshold < 0.0:
                            label = j
                            break
                path[d, lo + v] = label if label >= 0 else last
    return -1
