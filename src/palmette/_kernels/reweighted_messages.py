"""Messages of the sums of ``reweighted_sum``, where the notation is explained."""

from __future__ import annotations

import numpy as np

from palmette._kernels.jit import SUMS, kernel

# exp(-300) times exp(-300) is still above the smallest double: below that spread products are exact.
SPREAD = 300.0


@kernel()
def exponentiate(scope_ptr, table_ptr, values, start, scale, table, top, narrow):
    """``table = exp(scale_f values - top_f)``; ``narrow`` says for which factors of two variables products are
    exact."""
    # Entries of a narrow table lie in [e^-SPREAD, 1], and forbidden ones are 0, so products of two such numbers do not
    # underflow. Tables that are not narrow are not written: ``log_message`` reads ``values``.
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
    # log b_i = unary_i + sum_f rho_f m[f, i], shifted so that its best state is 0; b = exp(log b). O(card x factors).
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
    # Streaming log-sum-exp over the table, the last variable fastest: total[k] = sum of exp(v - peak[k]) over the
    # entries with state k so far. O(size x arity), O(card) allocated.
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
    # Pairs: out = log(table @ exp(log b_j - m[f, j])) + top, products of numbers within e^-300..e^300, hence exact to
    # rounding; b and inverse = e^-m are kept, so that no exponential is taken. Wider ones go to ``log_message``.
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
    # Variables in order, slots within: the same order as in ``scatter``. -inf is left out of the extrapolation.
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
    # m[f, i] <- (1 - keep) new + keep old, the best state of the new message at 0; -inf is not mixed. Changes of states
    # that hardly matter (log b <= -30) do not count.
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
    # Gauss-Seidel, forth and back: each visit uses the beliefs already renewed. Undamped on a tree, one sweep is exact.
    for turn in range(2 * n):
        i = variables[turn] if turn < n else variables[2 * n - 1 - turn]
        late = forward if turn < n else backward
        change = max(change, receive(
            i, keep[i], late, cards, scope_ptr, scope, values, start, scale, table_ptr, table, top, narrow, unary,
            unary_ptr, rho, var_ptr, var_slot, slot_factor, msg_ptr, messages, inverse, log_b, b, codes, other, out,
        ))  # fmt: skip
    return change
