"""Sums under a tree-reweighted entropy, by sequential messages, with a bound from above and from below.

Notation, with potentials already divided by the temperature: factor f has weight ``rho_f``, ``m[f, i]`` is the
message of f to its variable i (a logarithm), ``b_i = exp(unary_i + sum_f rho_f m[f, i])``, and
``m[f, i] = log sum_{x_f without x_i} exp(table_f / rho_f + sum_{j != i} (log b_j - m[f, j]))`` where messages have
converged. Any messages bound the sum from above (``upper_bound``), any locally consistent marginals from below
(``lower_bound``). Messages stand one after the other by slot, a slot being a place in ``scope``.
"""

from __future__ import annotations

import numpy as np

from ramify._kernels.anderson import extrapolate
from ramify._kernels.jit import SUMS, kernel

# exp(-300) times exp(-300) is still above the smallest double: below that spread products are exact.
SPREAD = 300.0


@kernel()
def exponentiate(scope_ptr, table_ptr, values, start, scale, table, top, narrow):
    """``table = exp(scale_f values - top_f)``; ``narrow`` says for which factors of two variables products are
    exact."""
    for f in range(len(start)):
        size = table_ptr[f + 1] - table_ptr[f]
        high, low = -np.inf, np.inf
        for e in range(size):
            v = values[start[f] + e]
            if v > -np.inf:
                high = max(high, v)
                low = min(low, v)
        narrow[f] = (
            scope_ptr[f + 1] - scope_ptr[f] == 2 and (high - low) * scale[f] < SPREAD and high > -np.inf
        )
        top[f] = high * scale[f] if high > -np.inf else 0.0
        if narrow[f]:
            for e in range(size):
                table[table_ptr[f] + e] = np.exp(values[start[f] + e] * scale[f] - top[f])


@kernel()
def believe(i, unary, unary_ptr, rho, var_ptr, var_slot, slot_factor, msg_ptr, messages, log_b, b):
    """Belief of variable i from the messages to it, its best state 0; returns what was subtracted (-inf:
    impossible)."""
    at, card = unary_ptr[i], unary_ptr[i + 1] - unary_ptr[i]
    for k in range(card):
        log_b[at + k] = unary[at + k]
    for a in range(var_ptr[i], var_ptr[i + 1]):
        slot = var_slot[a]
        weight, m = rho[slot_factor[slot]], msg_ptr[slot]
        for k in range(card):
            log_b[at + k] += weight * messages[m + k]
    high = -np.inf
    for k in range(card):
        high = max(high, log_b[at + k])
    for k in range(card):
        if high > -np.inf:
            log_b[at + k] -= high
        b[at + k] = np.exp(log_b[at + k])
    return high


@kernel(fastmath=SUMS)
def product_message(table, at, n_rows, n_columns, to_row, other, out):
    """``out = table @ other`` or its transpose."""
    if to_row:
        for r in range(n_rows):
            total = 0.0
            for c in range(n_columns):
                total += table[at + r * n_columns + c] * other[c]
            out[r] = total
    else:
        for c in range(n_columns):
            out[c] = 0.0
        for r in range(n_rows):
            for c in range(n_columns):
                out[c] += table[at + r * n_columns + c] * other[r]


@kernel()
def log_message(
    f, slot, scale, cards, scope_ptr, scope, values, start, unary_ptr, msg_ptr, messages, log_b, codes, out
):
    """The message to ``slot`` in logarithms, for factors of any number of variables and any spread."""
    begin, end = scope_ptr[f], scope_ptr[f + 1]
    card = cards[scope[slot]]
    peak = np.full(card, -np.inf)
    total = np.zeros(card)
    for s in range(begin, end):
        codes[s - begin] = 0
    e = start[f]
    more = True
    while more:
        v = values[e] * scale
        for s in range(begin, end):
            if s != slot:
                k = codes[s - begin]
                log_belief = log_b[unary_ptr[scope[s]] + k]
                v += log_belief - messages[msg_ptr[s] + k] if log_belief > -np.inf else -np.inf
        k = codes[slot - begin]
        if v > peak[k]:
            total[k] = total[k] * np.exp(peak[k] - v) + 1.0
            peak[k] = v
        elif v > -np.inf:
            total[k] += np.exp(v - peak[k])
        e += 1
        more = False
        for s in range(end - 1, begin - 1, -1):
            codes[s - begin] += 1
            if codes[s - begin] < cards[scope[s]]:
                more = True
                break
            codes[s - begin] = 0
    for k in range(card):
        out[k] = peak[k] + np.log(total[k]) if total[k] > 0.0 else -np.inf


@kernel()
def new_message(
    f, slot, cards, scope_ptr, scope, values, start, scale, table_ptr, table, top, narrow,
    unary_ptr, msg_ptr, messages, inverse, log_b, b, codes, other, out,
):  # fmt: skip
    """The message of f to ``slot`` that the other messages and beliefs ask for, into ``out``."""
    if narrow[f]:
        first = scope_ptr[f]
        from_slot = first + 1 if slot == first else first
        j, i = scope[from_slot], scope[slot]
        widest = 0.0
        for k in range(cards[j]):
            here, m = log_b[unary_ptr[j] + k], messages[msg_ptr[from_slot] + k]
            if here == -np.inf:
                other[k] = 0.0
                continue
            widest = max(widest, abs(here - m))
            if here > -SPREAD and m > -SPREAD:
                other[k] = b[unary_ptr[j] + k] * inverse[msg_ptr[from_slot] + k]
            else:
                other[k] = np.exp(here - m)
        if widest < SPREAD:
            product_message(
                table, table_ptr[f], cards[scope[first]], cards[scope[first + 1]], slot == first, other, out
            )
            for k in range(cards[i]):
                out[k] = np.log(out[k]) + top[f]
            return
    log_message(
        f,
        slot,
        scale[f],
        cards,
        scope_ptr,
        scope,
        values,
        start,
        unary_ptr,
        msg_ptr,
        messages,
        log_b,
        codes,
        out,
    )


@kernel()
def damping(variables, most, rho, var_ptr, var_slot, slot_factor, keep):
    """How much each variable keeps of its old messages.

    A change of ``log b_i`` comes back through each factor as at most ``-rho (1 - rho)`` of itself; the step that
    cancels the echo is ``1 / (1 + sum)``. Trees (rho = 1) need none, and more than ``most`` is slower than what
    extrapolation makes of it.
    """
    for a in range(len(variables)):
        i = variables[a]
        echo = 0.0
        for c in range(var_ptr[i], var_ptr[i + 1]):
            f = slot_factor[var_slot[c]]
            echo += rho[f] * max(0.0, 1.0 - rho[f])
        keep[i] = min(most, echo / (1.0 + echo)) if echo > 1e-9 else 0.0


@kernel()
def gather(variables, var_ptr, var_slot, msg_ptr, messages, x):
    """Messages of some components one after the other; what is forbidden counts as 0. Returns their number."""
    n = 0
    for a in range(len(variables)):
        for c in range(var_ptr[variables[a]], var_ptr[variables[a] + 1]):
            for m in range(msg_ptr[var_slot[c]], msg_ptr[var_slot[c] + 1]):
                x[n] = messages[m] if messages[m] > -np.inf else 0.0
                n += 1
    return n


@kernel()
def scatter(variables, var_ptr, var_slot, msg_ptr, x, messages, inverse):
    """The inverse of ``gather``; what is forbidden stays so."""
    n = 0
    for a in range(len(variables)):
        for c in range(var_ptr[variables[a]], var_ptr[variables[a] + 1]):
            for m in range(msg_ptr[var_slot[c]], msg_ptr[var_slot[c] + 1]):
                if messages[m] > -np.inf:
                    messages[m] = x[n]
                    inverse[m] = np.exp(-x[n])
                n += 1


@kernel()
def receive(
    i, keep, late, cards, scope_ptr, scope, values, start, scale, table_ptr, table, top, narrow, unary, unary_ptr,
    rho, var_ptr, var_slot, slot_factor, msg_ptr, messages, inverse, log_b, b, codes, other, out,
):  # fmt: skip
    """Renew the messages to variable i from factors that changed, then its belief; returns the largest change.

    ``late[slot]`` says whether the factor has a variable that comes before i in this direction; ``keep`` damps.
    """
    change = 0.0
    at, card = unary_ptr[i], cards[i]
    for a in range(var_ptr[i], var_ptr[i + 1]):
        slot = var_slot[a]
        if not late[slot]:
            continue
        new_message(
            slot_factor[slot], slot, cards, scope_ptr, scope, values, start, scale, table_ptr, table, top, narrow,
            unary_ptr, msg_ptr, messages, inverse, log_b, b, codes, other, out,
        )  # fmt: skip
        m = msg_ptr[slot]
        high = -np.inf
        for k in range(card):
            high = max(high, out[k])
        for k in range(card):
            value = out[k] - high if high > -np.inf else -np.inf
            if value > -np.inf and messages[m + k] > -np.inf:
                if log_b[at + k] > -30.0:
                    change = max(change, abs(value - messages[m + k]))
                value += keep * (messages[m + k] - value)
            messages[m + k] = value
            inverse[m + k] = np.exp(-value)
    believe(i, unary, unary_ptr, rho, var_ptr, var_slot, slot_factor, msg_ptr, messages, log_b, b)
    return change


@kernel()
def sweep_part(
    variables, keep, forward, backward, cards, scope_ptr, scope, values, start, scale, table_ptr, table, top,
    narrow, unary, unary_ptr, rho, var_ptr, var_slot, slot_factor, msg_ptr, messages, inverse, log_b, b,
    codes, other, out,
):  # fmt: skip
    """All messages once, forward and backward along the order; returns the largest change."""
    change, n = 0.0, len(variables)
    for turn in range(2 * n):
        i = variables[turn] if turn < n else variables[2 * n - 1 - turn]
        late = forward if turn < n else backward
        change = max(change, receive(
            i, keep[i], late, cards, scope_ptr, scope, values, start, scale, table_ptr, table, top, narrow, unary,
            unary_ptr, rho, var_ptr, var_slot, slot_factor, msg_ptr, messages, inverse, log_b, b, codes, other, out,
        ))  # fmt: skip
    return change


@kernel()
def upper_bound(
    variables, share, own, cards, scope_ptr, scope, values, start, scale, table_ptr, table, top, narrow, unary,
    unary_ptr, rho, var_ptr, var_slot, slot_factor, msg_ptr, messages, inverse, log_b, b, codes, other, out, rest,
):  # fmt: skip
    """Dual value of any messages: what they prove about the sum over some components."""
    total = 0.0
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


@kernel()
def reweighted_parts(
    first_part, last_part, order, part_ptr, forward, backward, share, own, rho, cards, scope_ptr, scope, values,
    start, scale, table_ptr, table, top, narrow, unary, unary_ptr, var_ptr, var_slot, slot_factor, msg_ptr, messages,
    inverse, log_b, b, widest, inverse_t, tol, max_iter, mu_unary, mu_factor, upper, lower, sweeps,
):  # fmt: skip
    """Each component to its own convergence: bounds from above and below (both over the temperature) and
    marginals."""
    codes, shape = np.zeros(widest[0], np.int64), np.zeros(widest[0], np.int64)
    other, out, rest, sums = (
        np.empty(widest[1]),
        np.empty(widest[1]),
        np.empty(widest[1]),
        np.empty(widest[1]),
    )
    wanted = np.empty(widest[0] * widest[1])
    keep = np.zeros(len(cards))
    longest = 0
    for part in range(first_part, last_part):
        length = 0
        for a in range(part_ptr[part], part_ptr[part + 1]):
            for c in range(var_ptr[order[a]], var_ptr[order[a] + 1]):
                length += msg_ptr[var_slot[c] + 1] - msg_ptr[var_slot[c]]
        longest = max(longest, length)
    memory = 10 if longest < 1_000_000 else 3
    x, g = np.empty(longest), np.empty(longest)
    last_f, last_g = np.empty(longest), np.empty(longest)
    df, dg = np.empty(memory * longest), np.empty(memory * longest)
    gram = np.zeros((memory, memory))
    for part in range(first_part, last_part):
        variables = order[part_ptr[part] : part_ptr[part + 1]]
        for a in range(len(variables)):
            believe(
                variables[a],
                unary,
                unary_ptr,
                rho,
                var_ptr,
                var_slot,
                slot_factor,
                msg_ptr,
                messages,
                log_b,
                b,
            )
        most = 0.5
        damping(variables, most, rho, var_ptr, var_slot, slot_factor, keep)
        length = gather(variables, var_ptr, var_slot, msg_ptr, messages, x)
        trigger = 0.3 * np.sqrt(tol)
        filled, steps = 0, 0
        least, lag = np.inf, 0
        sweep = 0
        upper[part], lower[part] = np.inf, -np.inf
        while True:
            change = sweep_part(
                variables, keep, forward, backward, cards, scope_ptr, scope, values, start, scale, table_ptr, table,
                top, narrow, unary, unary_ptr, rho, var_ptr, var_slot, slot_factor, msg_ptr, messages, inverse, log_b,
                b, codes, other, out,
            )  # fmt: skip
            sweep += 1
            if change > trigger and sweep < max_iter:
                if sweep == 1:  # the first sweep is all that a tree needs, and sets what is forbidden
                    gather(variables, var_ptr, var_slot, msg_ptr, messages, x)
                    continue
                # extrapolation that leads nowhere starts afresh, with more damping
                lag += 1
                if change < 0.9 * least:
                    least, lag = change, 0
                elif lag == 40 or change > 1000.0 * least:
                    most = 0.5 * (1.0 + most) if most < 0.9 else 0.5
                    damping(variables, most, rho, var_ptr, var_slot, slot_factor, keep)
                    filled, steps = 0, 0
                    least, lag = change, 0
                gather(variables, var_ptr, var_slot, msg_ptr, messages, g)
                filled = extrapolate(
                    x[:length], g[:length], last_f[:length], last_g[:length], df, dg, gram, filled,
                    steps,
                )  # fmt: skip
                steps += 1
                scatter(variables, var_ptr, var_slot, msg_ptr, x, messages, inverse)
                for a in range(len(variables)):
                    believe(
                        variables[a],
                        unary,
                        unary_ptr,
                        rho,
                        var_ptr,
                        var_slot,
                        slot_factor,
                        msg_ptr,
                        messages,
                        log_b,
                        b,
                    )
                continue
            upper[part] = min(upper[part], upper_bound(
                variables, share, own, cards, scope_ptr, scope, values, start, scale, table_ptr, table, top, narrow,
                unary, unary_ptr, rho, var_ptr, var_slot, slot_factor, msg_ptr, messages, inverse, log_b, b, codes,
                other, out, rest,
            ))  # fmt: skip
            if upper[part] == -np.inf:
                break
            error = marginals(
                variables, cards, scope_ptr, scope, values, start, scale, table_ptr, unary, unary_ptr, var_ptr,
                var_slot, slot_factor, msg_ptr, messages, log_b, shape, wanted, sums, mu_unary, mu_factor,
            )  # fmt: skip
            if error < 1e-12:
                lower[part] = lower_bound(
                    variables, rho, scope_ptr, scope, values, start, table_ptr, unary, unary_ptr, var_ptr, var_slot,
                    slot_factor, inverse_t, mu_unary, mu_factor,
                )  # fmt: skip
            if upper[part] - lower[part] <= tol * max(1.0, abs(upper[part])) or sweep >= max_iter:
                break
            trigger = 0.3 * min(trigger, change)
            gather(variables, var_ptr, var_slot, msg_ptr, messages, x)
            filled, steps = 0, 0
        sweeps[part] = sweep
