"""Bounds on the sums of ``reweighted_sum``, from above by messages and from below by marginals."""

from __future__ import annotations

import numpy as np

from palmette._kernels.jit import kernel
from palmette._kernels.logs import entropy_of
from palmette._kernels.reweighted_messages import believe_all, new_message


@kernel()
def upper_bound(g, run, variables, share, own):
    """Dual value of any messages: what they prove about the sum over some components."""
    # sum_i (what ``believe`` subtracts) + sum_i own_i log sum_k exp(log b_ik + (1 / own_i) sum_f share (new - old
    # message)). It holds for any messages. -inf proves that no assignment has a finite score. Work of about a sweep.
    total = believe_all(g, run, variables)
    if total == -np.inf:
        return -np.inf
    for a in range(len(variables)):
        i = variables[a]
        at, card = g.unary_ptr[i], g.cards[i]
        for k in range(card):
            run.rest[k] = 0.0
        for c in range(g.var_ptr[i], g.var_ptr[i + 1]):
            slot = g.var_slot[c]
            if share[slot] <= 0.0:
                continue
            new_message(g, run, slot)
            for k in range(card):
                if run.log_b[at + k] > -np.inf:
                    run.rest[k] += share[slot] * (run.out[k] - run.messages[g.msg_ptr[slot] + k])
        # own_i log sum_k exp(log b + rest / own), which is the largest rest where own is 0
        peak = -np.inf
        for k in range(card):
            if run.log_b[at + k] > -np.inf:
                peak = max(peak, own[i] * run.log_b[at + k] + run.rest[k])
        if peak == -np.inf:
            return -np.inf
        terms = 0.0
        if own[i] > 1e-12:
            for k in range(card):
                if run.log_b[at + k] > -np.inf:
                    terms += np.exp((own[i] * run.log_b[at + k] + run.rest[k] - peak) / own[i])
            total += own[i] * np.log(terms)
        total += peak
    return total


@kernel()
def scale_axes(at, size, shape, mu, wanted, sums, down):
    """Scale ``mu`` to the marginals ``wanted``, axis by axis, ``down`` only where that lowers it; the largest error
    met."""
    error, stride, base = 0.0, size, 0
    # mu *= wanted / sum, which keeps zeros. O(size x axes).
    for a in range(len(shape)):
        stride //= shape[a]
        for k in range(shape[a]):
            sums[k] = 0.0
        for e in range(size):
            sums[(e // stride) % shape[a]] += mu[at + e]
        for k in range(shape[a]):
            error = max(error, abs(sums[k] - wanted[base + k]))
            if down:
                sums[k] = wanted[base + k] / sums[k] if sums[k] > wanted[base + k] else 1.0
            else:
                sums[k] = wanted[base + k] / sums[k] if sums[k] > 0.0 else 0.0
        for e in range(size):
            mu[at + e] *= sums[(e // stride) % shape[a]]
        base += shape[a]
    return error


@kernel()
def fit_marginals(at, shape, mu, wanted, allowed, sums):
    """Make ``wanted`` (axis by axis) the marginals of ``mu[at:at + size]``; returns the largest error left.

    Scaling by turns comes first. What it leaves over is less than wanted after one more turn that only scales down,
    and is filled up by the product of what lacks on each axis; where a forbidden entry (``allowed`` -inf) would get
    some, scaling goes on.
    """
    n_axes = len(shape)
    size = 1
    for a in range(n_axes):
        size *= shape[a]
    free = True
    for e in range(size):
        free = free and allowed[e] > -np.inf
    error = np.inf
    # Iterative proportional fitting in rounds of O(size x axes); ``error`` is what the last round met.
    for _ in range(30 if free else 5000):
        error = scale_axes(at, size, shape, mu, wanted, sums, False)
        if error < 1e-14:
            return error
    if not free:
        return error
    scale_axes(at, size, shape, mu, wanted, sums, True)
    lack = 1.0
    for e in range(size):
        lack -= mu[at + e]
    if lack <= 0.0:
        return 0.0
    rest = np.empty(len(wanted))
    stride, base = size, 0
    for a in range(n_axes):
        stride //= shape[a]
        for k in range(shape[a]):
            rest[base + k] = wanted[base + k]
        for e in range(size):
            rest[base + (e // stride) % shape[a]] -= mu[at + e]
        total = 0.0
        for k in range(shape[a]):
            rest[base + k] = max(0.0, rest[base + k])
            total += rest[base + k]
        for k in range(shape[a]):
            rest[base + k] = rest[base + k] / total if total > 0.0 else 0.0
        base += shape[a]
    for e in range(size):
        stride, base = size, 0
        more = lack
        for a in range(n_axes):
            stride //= shape[a]
            more *= rest[base + (e // stride) % shape[a]]
            base += shape[a]
        mu[at + e] += more
    return 0.0


@kernel()
def marginals(g, run, variables):
    """Locally consistent marginals near the beliefs of the messages; returns the largest inconsistency left."""
    # mu_i ~ b_i; mu_f ~ exp(scale_f table_f + sum_i (log b_i - m[f, i])), fitted to the mu_i. Each factor is handled
    # once, by the first of its variables.
    for a in range(len(variables)):
        i = variables[a]
        total = 0.0
        for k in range(g.unary_ptr[i], g.unary_ptr[i + 1]):
            run.mu_unary[k] = np.exp(run.log_b[k])
            total += run.mu_unary[k]
        for k in range(g.unary_ptr[i], g.unary_ptr[i + 1]):
            run.mu_unary[k] = run.mu_unary[k] / total if total > 0.0 else 0.0
    worst = 0.0
    for a in range(len(variables)):
        i = variables[a]
        for c in range(g.var_ptr[i], g.var_ptr[i + 1]):
            f = g.slot_factor[g.var_slot[c]]
            begin, end = g.scope_ptr[f], g.scope_ptr[f + 1]
            if g.scope[begin] != i:
                continue
            base = 0
            for s in range(begin, end):
                j = g.scope[s]
                run.shape[s - begin] = g.cards[j]
                for k in range(g.cards[j]):
                    run.wanted[base + k] = run.mu_unary[g.unary_ptr[j] + k]
                base += g.cards[j]
            size = g.table_ptr[f + 1] - g.table_ptr[f]
            at = g.table_ptr[f]
            high = -np.inf
            for e in range(size):
                value = run.values[run.start[f] + e] * run.scale[f]
                rest = e
                for s in range(end - 1, begin - 1, -1):
                    k = rest % run.shape[s - begin]
                    rest //= run.shape[s - begin]
                    here = run.log_b[g.unary_ptr[g.scope[s]] + k]
                    value += here - run.messages[g.msg_ptr[s] + k] if here > -np.inf else -np.inf
                run.mu_factor[at + e] = value
                high = max(high, value)
            for e in range(size):
                run.mu_factor[at + e] = np.exp(run.mu_factor[at + e] - high) if high > -np.inf else 0.0
            shape, allowed = run.shape[: end - begin], run.values[run.start[f] :]
            error = fit_marginals(at, shape, run.mu_factor, run.wanted, allowed, run.sums)
            worst = max(worst, error)
    return worst


@kernel()
def lower_bound(g, run, variables, inverse_t):
    """``<theta, mu> + H_rho(mu)`` over some components, theta divided by the temperature."""
    total = 0.0
    # sum_f (<mu_f, table_f> / T + rho_f H(mu_f)) + sum_i (<mu_i, unary_i> + (1 - sum_{f of i} rho_f) H(mu_i)), unary
    # already divided by T. Each factor once, by the first of its variables. Entries with mu = 0 are skipped (0 x -inf).
    for a in range(len(variables)):
        i = variables[a]
        count = 1.0
        for c in range(g.var_ptr[i], g.var_ptr[i + 1]):
            f = g.slot_factor[g.var_slot[c]]
            count -= run.rho[f]
            if g.scope[g.scope_ptr[f]] == i:
                for e in range(g.table_ptr[f + 1] - g.table_ptr[f]):
                    if run.mu_factor[g.table_ptr[f] + e] > 0.0:
                        total += run.mu_factor[g.table_ptr[f] + e] * run.values[run.start[f] + e] * inverse_t
                total += run.rho[f] * entropy_of(run.mu_factor[g.table_ptr[f] : g.table_ptr[f + 1]])
        for k in range(g.unary_ptr[i], g.unary_ptr[i + 1]):
            if run.mu_unary[k] > 0.0:
                total += run.mu_unary[k] * run.unary[k]
        total += count * entropy_of(run.mu_unary[g.unary_ptr[i] : g.unary_ptr[i + 1]])
    return total
