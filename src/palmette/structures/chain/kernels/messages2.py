"""Messages of sums on chains of second order, by scaled products and in log space. Tables as in ``chain2_max``.

Messages ``alpha[t, i, j]`` live on the labels of the rows t - 1 and t. Both directions are O(K^3) per position.
"""

from __future__ import annotations

import numpy as np

from palmette._kernels.jit import SUMS, kernel
from palmette._kernels.logs import log_sum_exp
from palmette._kernels.spread import MOST_STEPS, SAFE_SPREAD, node_spread


@kernel()
def fits_products(node, lo, hi, edge_spread, edge_steps, triple_spread, triple_forbidden):
    """Whether scaled products are exact for the sample in rows lo:hi.

    * nothing forbidden: forward messages spread at most over twice the spreads of node, edge and triple, backward ones
      over those of an edge and two triples;
    * pairs forbidden alike at all edges, from which every label reaches every label in ``edge_steps`` steps: every
      pair reaches every allowed pair in one step more, so that spreads and numbers of paths of two steps more add up;
    * anything else: they add up along the chain.
    """
    widest, outer_forbidden, inner_forbidden = node_spread(node, lo, hi)
    a_step = widest + edge_spread + triple_spread
    if not (triple_forbidden or inner_forbidden or outer_forbidden or edge_steps > 0):
        return 2.0 * widest + 3.0 * edge_spread + 4.0 * triple_spread < SAFE_SPREAD
    a_step += np.log(node.shape[1])
    n_steps = hi - lo
    if not (triple_forbidden or inner_forbidden) and edge_steps <= MOST_STEPS:
        n_steps = min(n_steps, 2 * (max(edge_steps, 1) + 2))
    return n_steps * a_step < SAFE_SPREAD


@kernel(fastmath=SUMS)
def forward_products(
    node, pair, shift, first, step, triple, shift3, first3, step3, lo, hi, alpha, local, scale
):
    """Normalised forward messages of two rows or more; returns the log-partition (-inf if no path is allowed).

    ``pair`` and ``triple`` are exponentials of tables relative to ``shift``; ``alpha[t]`` sums to 1, ``scale[t]`` is
    what it was divided by, and ``local[t]`` is exp(node) relative to the best label of row t.
    """
    n_labels = node.shape[1]
    log_z = 0.0
    # alpha[1, i, j] ~ local[0, i] pair[0, i, j] local[1, j];
    # alpha[t, i, j] ~ (sum_h alpha[t - 1, h, i] triple[t - 2, h, i, j]) pair[t - 1, i, j] local[t, j].
    # Each alpha[t] is divided by its sum scale[t], so log Z is the sum of the logs of the scales, the largest node
    # scores and the shifts. All factors are at most 1; ``fits_products`` has proved that none that matters underflows.
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
        if t == 0:
            continue
        current, e = alpha[t], first + (t - 1) * step
        log_z += shift[e]
        for i in range(n_labels):
            for j in range(n_labels):
                current[i, j] = local[0, i] if t == 1 else 0.0
        if t > 1:
            f = first3 + (t - 2) * step3
            log_z += shift3[f]
            for h in range(n_labels):
                for i in range(n_labels):
                    p = alpha[t - 1, h, i]
                    if p > 0.0:
                        table = triple[f, h, i]
                        for j in range(n_labels):
                            current[i, j] += p * table[j]
        total = 0.0
        for i in range(n_labels):
            for j in range(n_labels):
                current[i, j] *= pair[e, i, j] * local[t, j]
                total += current[i, j]
        if not total > 0.0:
            return -np.inf
        scale[t] = total
        log_z += np.log(total)
        inverse = 1.0 / total
        for i in range(n_labels):
            for j in range(n_labels):
                current[i, j] *= inverse
    return log_z


@kernel(fastmath=SUMS)
def backward_products(
    pair, first, step, triple, first3, step3, lo, hi, weight, alpha, local, scale, beta, message, node_out,
    edge_out, edge_at, edge_step, triple_out, triple_at, triple_step,
):  # fmt: skip
    """Backward messages; adds ``weight`` x marginals to the tables, those of edges and triples from ``..._at`` on."""
    n_labels = beta.shape[0]
    for i in range(n_labels):
        for j in range(n_labels):
            beta[i, j] = 1.0
    # Invariant: beta is the backward message of row t, scaled so that alpha[t] beta is the marginal of the pair
    # (t - 1, t) and sums to 1. With message[i, j] = pair[i, j] local[t, j] beta[i, j] / scale[t],
    # beta'[h, i] = sum_j triple[h, i, j] message[i, j], and alpha[t - 1, h, i] triple[h, i, j] message[i, j] is the
    # marginal of the triple. beta and message are two K x K tables; O(n K^3).
    for t in range(hi - lo - 1, 0, -1):
        into = edge_out[edge_at + (t - 1) * edge_step]
        for i in range(n_labels):
            for j in range(n_labels):
                p = weight * alpha[t, i, j] * beta[i, j]
                into[i, j] += p
                node_out[lo + t, j] += p
                if t == 1:
                    node_out[lo, i] += p
        if t == 1:
            break
        e, f, f_out = first + (t - 1) * step, first3 + (t - 2) * step3, triple_at + (t - 2) * triple_step
        inverse = 1.0 / scale[t]
        for i in range(n_labels):
            for j in range(n_labels):
                message[i, j] = pair[e, i, j] * local[t, j] * beta[i, j] * inverse
        for h in range(n_labels):
            for i in range(n_labels):
                back = 0.0
                if alpha[t - 1, h, i] > 0.0:  # elsewhere no marginal asks for it
                    p = weight * alpha[t - 1, h, i]
                    table, into3 = triple[f, h, i], triple_out[f_out, h, i]
                    for j in range(n_labels):
                        x = table[j] * message[i, j]
                        back += x
                        into3[j] += p * x
                beta[h, i] = back


@kernel()
def forward_logs(node, edge, first, step, triple, first3, step3, lo, hi, alpha):
    """Forward messages in log space; returns the log-partition."""
    n_labels = node.shape[1]
    terms = np.empty(n_labels)
    # alpha[t, i, j] = log sum_h exp(alpha[t - 1, h, i] + triple[h, i, j]) + edge[i, j] + node[t, j]; two rows at least.
    # Not normalised; -inf stays exact. O(n K^3) with as many exponentials, O(K) allocated.
    for t in range(1, hi - lo):
        table = edge[first + (t - 1) * step]
        for i in range(n_labels):
            for j in range(n_labels):
                behind = node[lo, i]
                if t > 1:
                    for h in range(n_labels):
                        terms[h] = alpha[t - 1, h, i] + triple[first3 + (t - 2) * step3, h, i, j]
                    behind = log_sum_exp(terms)
                alpha[t, i, j] = behind + table[i, j] + node[lo + t, j]
    return log_sum_exp(alpha[hi - lo - 1].ravel())


@kernel()
def backward_logs(node, edge, first, step, triple, first3, step3, lo, hi, beta):
    """Backward messages in log space: ``beta[t, i, j]`` sums over the rows after t given labels i, j at t - 1, t."""
    n_labels = node.shape[1]
    terms = np.empty(n_labels)
    # beta[t, i, j] = log sum_k exp(triple[i, j, k] + edge[j, k] + node[t + 1, k] + beta[t + 1, j, k]).
    # The last row has beta = 0. O(n K^3), O(K) allocated.
    for t in range(hi - lo - 1, 0, -1):
        for i in range(n_labels):
            for j in range(n_labels):
                beta[t, i, j] = 0.0
                if t < hi - lo - 1:
                    table = edge[first + t * step, j]
                    for k in range(n_labels):
                        ahead = table[k] + node[lo + t + 1, k] + beta[t + 1, j, k]
                        terms[k] = triple[first3 + (t - 1) * step3, i, j, k] + ahead
                    beta[t, i, j] = log_sum_exp(terms)


@kernel()
def marginals_by_logs(
    node, edge, first, step, triple, first3, step3, lo, hi, weight, alpha, beta, node_out, edge_out, edge_at,
    edge_step, triple_out, triple_at, triple_step,
):  # fmt: skip
    """Log-space twin of both passes of products; returns the log-partition."""
    n_labels = node.shape[1]
    log_z = forward_logs(node, edge, first, step, triple, first3, step3, lo, hi, alpha)
    if log_z == -np.inf:
        return log_z
    backward_logs(node, edge, first, step, triple, first3, step3, lo, hi, beta)
    # Marginals are exp(alpha + parts + beta - log Z) <= 1, so nothing overflows; O(n K^3) exponentials.
    for t in range(1, hi - lo):
        for i in range(n_labels):
            for j in range(n_labels):
                p = weight * np.exp(alpha[t, i, j] + beta[t, i, j] - log_z)
                edge_out[edge_at + (t - 1) * edge_step, i, j] += p
                node_out[lo + t, j] += p
                if t == 1:
                    node_out[lo, i] += p
                if t == hi - lo - 1:
                    continue
                table, e = triple[first3 + (t - 1) * step3, i, j], first + t * step
                into = triple_out[triple_at + (t - 1) * triple_step, i, j]
                for k in range(n_labels):
                    ahead = edge[e, j, k] + node[lo + t + 1, k] + beta[t + 1, j, k]
                    into[k] += weight * np.exp(alpha[t, i, j] + table[k] + ahead - log_z)
    return log_z
