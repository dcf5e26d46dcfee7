"""Bounds on the sums of ``reweighted_sum``, from above by messages and from below by marginals."""

from __future__ import annotations

import numpy as np

from palmette._kernels.jit import kernel
from palmette._kernels.reweighted_messages import believe, new_message


@kernel()
def upper_bound(
    variables, share, own, cards, scope_ptr, scope, values, start, scale, table_ptr, table, top, narrow, unary,
    unary_ptr, rho, var_ptr, var_slot, slot_factor, msg_ptr, messages, inverse, log_b, b, codes, other, out, rest,
):  # fmt: skip
    """Dual value of any messages: what they prove about the sum over some components."""
    total = 0.0
    # sum_i (what ``believe`` subtracts) + sum_i own_i log sum_k exp(log b_ik + (1 / own_i) sum_f share (new - old
    # message)). It holds for any messages. -inf proves that no assignment has a finite score. Work of about a sweep.
    for a in range(len(variables)):
        i = variables[a]
        high = believe(i, unary, unary_ptr, rho, var_ptr, var_slot, slot_factor, msg_ptr, messages, log_b, b)
        if high == -np.inf:
            return -np.inf
        total += high
    for a in range(len(variables)):
        i = variables[a]
        at, card = unary_ptr[i], cards[i]
        for k in range(card):
            rest[k] = 0.0
        for c in range(var_ptr[i], var_ptr[i + 1]):
            slot = var_slot[c]
            if share[slot] <= 0.0:
                continue
            new_message(
                slot_factor[slot], slot, cards, scope_ptr, scope, values, start, scale, table_ptr, table, top, narrow,
                unary_ptr, msg_ptr, messages, inverse, log_b, b, codes, other, out,
            )  # fmt: skip
            for k in range(card):
                if log_b[at + k] > -np.inf:
                    rest[k] += share[slot] * (out[k] - messages[msg_ptr[slot] + k])
        # own_i log sum_k exp(log b + rest / own), which is the largest rest where own is 0
        peak = -np.inf
        for k in range(card):
            if log_b[at + k] > -np.inf:
                peak = max(peak, own[i] * log_b[at + k] + rest[k])
        if peak == -np.inf:
            return -np.inf
        terms = 0.0
        if own[i] > 1e-12:
            for k in range(card):
                if log_b[at + k] > -np.inf:
                    terms += np.exp((own[i] * log_b[at + k] + rest[k] - peak) / own[i])
            total += own[i] * np.log(terms)
        total += peak
    return total


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
    total, free = 0.0, True
    for e in range(size):
        free = free and allowed[e] > -np.inf
    error = np.inf
    # Iterative proportional fitting: axis by axis mu *= wanted / sum, which keeps zeros. O(size x axes) per round.
    # ``error`` is the largest deviation that the round met.
    for _ in range(30 if free else 5000):
        error = 0.0
        stride = size
        base = 0
        for a in range(n_axes):
            stride //= shape[a]
            for k in range(shape[a]):
                sums[k] = 0.0
            for e in range(size):
                sums[(e // stride) % shape[a]] += mu[at + e]
            for k in range(shape[a]):
                error = max(error, abs(sums[k] - wanted[base + k]))
                sums[k] = wanted[base + k] / sums[k] if sums[k] > 0.0 else 0.0
            for e in range(size):
                mu[at + e] *= sums[(e // stride) % shape[a]]
            base += shape[a]
        if error < 1e-14:
            return error
    if not free:
        return error
    stride, base = size, 0
    for a in range(n_axes):
        stride //= shape[a]
        for k in range(shape[a]):
            sums[k] = 0.0
        for e in range(size):
            sums[(e // stride) % shape[a]] += mu[at + e]
        for k in range(shape[a]):
            sums[k] = wanted[base + k] / sums[k] if sums[k] > wanted[base + k] else 1.0
        for e in range(size):
            mu[at + e] *= sums[(e // stride) % shape[a]]
        base += shape[a]
    lack = 1.0
    for e in range(size):
        lack -= mu[at + e]
    if lack <= 0.0:
        return 0.0
    rest = np.empty(base)
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
def marginals(
    variables, cards, scope_ptr, scope, values, start, scale, table_ptr, unary, unary_ptr, var_ptr, var_slot,
    slot_factor, msg_ptr, messages, log_b, shape, wanted, sums, mu_unary, mu_factor,
):  # fmt: skip
    """Locally consistent marginals near the beliefs of the messages; returns the largest inconsistency left."""
    # mu_i ~ b_i; mu_f ~ exp(scale_f table_f + sum_i (log b_i - m[f, i])), fitted to the mu_i. Each factor is handled
    # once, by the first of its variables.
    for a in range(len(variables)):
        i = variables[a]
        total = 0.0
        for k in range(unary_ptr[i], unary_ptr[i + 1]):
            mu_unary[k] = np.exp(log_b[k])
            total += mu_unary[k]
        for k in range(unary_ptr[i], unary_ptr[i + 1]):
            mu_unary[k] = mu_unary[k] / total if total > 0.0 else 0.0
    worst = 0.0
    for a in range(len(variables)):
        i = variables[a]
        for c in range(var_ptr[i], var_ptr[i + 1]):
            f = slot_factor[var_slot[c]]
            begin, end = scope_ptr[f], scope_ptr[f + 1]
            if scope[begin] != i:
                continue
            base = 0
            for s in range(begin, end):
                j = scope[s]
                shape[s - begin] = cards[j]
                for k in range(cards[j]):
                    wanted[base + k] = mu_unary[unary_ptr[j] + k]
                base += cards[j]
            size = table_ptr[f + 1] - table_ptr[f]
            at = table_ptr[f]
            high = -np.inf
            for e in range(size):
                value = values[start[f] + e] * scale[f]
                rest = e
                for s in range(end - 1, begin - 1, -1):
                    k = rest % shape[s - begin]
                    rest //= shape[s - begin]
                    here = log_b[unary_ptr[scope[s]] + k]
                    value += here - messages[msg_ptr[s] + k] if here > -np.inf else -np.inf
                mu_factor[at + e] = value
                high = max(high, value)
            for e in range(size):
                mu_factor[at + e] = np.exp(mu_factor[at + e] - high) if high > -np.inf else 0.0
            worst = max(
                worst, fit_marginals(at, shape[: end - begin], mu_factor, wanted, values[start[f] :], sums)
            )
    return worst


@kernel()
def entropy_of(p, begin, end):
    """``- sum p log p`` of a part of an array."""
    total = 0.0
    for e in range(begin, end):
        if p[e] > 0.0:
            total -= p[e] * np.log(p[e])
    return total


@kernel()
def lower_bound(
    variables, rho, scope_ptr, scope, values, start, table_ptr, unary, unary_ptr, var_ptr, var_slot, slot_factor,
    inverse_t, mu_unary, mu_factor,
):  # fmt: skip
    """``<theta, mu> + H_rho(mu)`` over some components, theta divided by the temperature."""
    total = 0.0
    # sum_f (<mu_f, table_f> / T + rho_f H(mu_f)) + sum_i (<mu_i, unary_i> + (1 - sum_{f of i} rho_f) H(mu_i)), unary
    # already divided by T. Each factor once, by the first of its variables. Entries with mu = 0 are skipped (0 x -inf).
    for a in range(len(variables)):
        i = variables[a]
        count = 1.0
        for c in range(var_ptr[i], var_ptr[i + 1]):
            f = slot_factor[var_slot[c]]
            count -= rho[f]
            if scope[scope_ptr[f]] == i:
                for e in range(table_ptr[f + 1] - table_ptr[f]):
                    if mu_factor[table_ptr[f] + e] > 0.0:
                        total += mu_factor[table_ptr[f] + e] * values[start[f] + e] * inverse_t
                total += rho[f] * entropy_of(mu_factor, table_ptr[f], table_ptr[f + 1])
        for k in range(unary_ptr[i], unary_ptr[i + 1]):
            if mu_unary[k] > 0.0:
                total += mu_unary[k] * unary[k]
        total += count * entropy_of(mu_unary, unary_ptr[i], unary_ptr[i + 1])
    return total
