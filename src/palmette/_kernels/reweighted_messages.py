"""Messages of the sums of ``reweighted_sum``, where the notation is explained."""

from __future__ import annotations

import numpy as np

from palmette._kernels.inlined import inlined
from palmette._kernels.jit import SUMS, kernel

# exp(-300) times exp(-300) is still above the smallest double: below that spread products are exact.
SPREAD = 300.0


@kernel()
def exponentiate(g, run):
    """``table = exp(scale_f values - top_f)``; ``narrow`` says for which factors of two variables products are
    exact."""
    # Entries of a narrow table lie in [e^-SPREAD, 1], and forbidden ones are 0, so products of two such numbers do not
    # underflow. Tables that are not narrow are not written: ``log_message`` reads ``values``.
    for f in range(len(run.start)):
        size = g.table_ptr[f + 1] - g.table_ptr[f]
        high, low = -np.inf, np.inf
        for e in range(size):
            v = run.values[run.start[f] + e]
            if v > -np.inf:
                high = max(high, v)
                low = min(low, v)
        pair = g.scope_ptr[f + 1] - g.scope_ptr[f] == 2
        run.narrow[f] = pair and (high - low) * run.scale[f] < SPREAD and high > -np.inf
        run.top[f] = high * run.scale[f] if high > -np.inf else 0.0
        if run.narrow[f]:
            for e in range(size):
                run.table[g.table_ptr[f] + e] = np.exp(
                    run.values[run.start[f] + e] * run.scale[f] - run.top[f]
                )


@inlined
def believe(g, run, i):
    """Belief of variable i from the messages to it, its best state 0; returns what was subtracted (-inf:
    impossible)."""
    at, card = g.unary_ptr[i], g.unary_ptr[i + 1] - g.unary_ptr[i]
    # log b_i = unary_i + sum_f rho_f m[f, i], shifted so that its best state is 0; b = exp(log b). O(card x factors).
    for k in range(card):
        run.log_b[at + k] = run.unary[at + k]
    for a in range(g.var_ptr[i], g.var_ptr[i + 1]):
        slot = g.var_slot[a]
        weight, m = run.rho[g.slot_factor[slot]], g.msg_ptr[slot]
        for k in range(card):
            run.log_b[at + k] += weight * run.messages[m + k]
    high = -np.inf
    for k in range(card):
        high = max(high, run.log_b[at + k])
    for k in range(card):
        if high > -np.inf:
            run.log_b[at + k] -= high
        run.b[at + k] = np.exp(run.log_b[at + k])
    return high


@kernel()
def believe_all(g, run, variables):
    """``believe`` of some components; returns the sum of what was subtracted."""
    total = 0.0
    for a in range(len(variables)):
        total += believe(g, run, variables[a])
    return total


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


@inlined
def next_entry(g, begin, end, codes):
    """The codes of the next entry of a table, the last variable fastest; False behind the last entry, all at 0."""
    for s in range(end - 1, begin - 1, -1):
        codes[s - begin] += 1
        if codes[s - begin] < g.cards[g.scope[s]]:
            return True
        codes[s - begin] = 0
    return False


@inlined
def log_message(g, run, slot):
    """The message to ``slot`` in logarithms, for factors of any number of variables and any spread."""
    f = g.slot_factor[slot]
    begin, end = g.scope_ptr[f], g.scope_ptr[f + 1]
    card = g.cards[g.scope[slot]]
    peak = np.full(card, -np.inf)
    total = np.zeros(card)
    for s in range(begin, end):
        run.codes[s - begin] = 0
    e = run.start[f]
    more = True
    # Streaming log-sum-exp over the table, the last variable fastest: total[k] = sum of exp(v - peak[k]) over the
    # entries with state k so far. O(size x arity), O(card) allocated.
    while more:
        v = run.values[e] * run.scale[f]
        for s in range(begin, end):
            if s != slot:
                k = run.codes[s - begin]
                log_belief = run.log_b[g.unary_ptr[g.scope[s]] + k]
                v += log_belief - run.messages[g.msg_ptr[s] + k] if log_belief > -np.inf else -np.inf
        k = run.codes[slot - begin]
        if v > peak[k]:
            total[k] = total[k] * np.exp(peak[k] - v) + 1.0
            peak[k] = v
        elif v > -np.inf:
            total[k] += np.exp(v - peak[k])
        e += 1
        more = next_entry(g, begin, end, run.codes)
    for k in range(card):
        run.out[k] = peak[k] + np.log(total[k]) if total[k] > 0.0 else -np.inf


@inlined
def new_message(g, run, slot):
    """The message to ``slot`` that the other messages and beliefs ask for, into ``out``."""
    # Pairs: out = log(table @ exp(log b_j - m[f, j])) + top, products of numbers within e^-300..e^300, hence exact to
    # rounding; b and inverse = e^-m are kept, so that no exponential is taken. Wider ones go to ``log_message``.
    f = g.slot_factor[slot]
    if run.narrow[f]:
        first = g.scope_ptr[f]
        from_slot = first + 1 if slot == first else first
        j, i = g.scope[from_slot], g.scope[slot]
        widest = 0.0
        for k in range(g.cards[j]):
            here, m = run.log_b[g.unary_ptr[j] + k], run.messages[g.msg_ptr[from_slot] + k]
            if here == -np.inf:
                run.other[k] = 0.0
                continue
            widest = max(widest, abs(here - m))
            if here > -SPREAD and m > -SPREAD:
                run.other[k] = run.b[g.unary_ptr[j] + k] * run.inverse[g.msg_ptr[from_slot] + k]
            else:
                run.other[k] = np.exp(here - m)
        if widest < SPREAD:
            n_rows, n_columns = g.cards[g.scope[first]], g.cards[g.scope[first + 1]]
            product_message(run.table, g.table_ptr[f], n_rows, n_columns, slot == first, run.other, run.out)
            for k in range(g.cards[i]):
                run.out[k] = np.log(run.out[k]) + run.top[f]
            return
    log_message(g, run, slot)


@kernel()
def damping(g, run, variables, most, keep):
    """How much each variable keeps of its old messages.

    A change of ``log b_i`` comes back through each factor as at most ``-rho (1 - rho)`` of itself; the step that
    cancels the echo is ``1 / (1 + sum)``. Trees (rho = 1) need none, and more than ``most`` is slower than what
    extrapolation makes of it.
    """
    for a in range(len(variables)):
        i = variables[a]
        echo = 0.0
        for c in range(g.var_ptr[i], g.var_ptr[i + 1]):
            f = g.slot_factor[g.var_slot[c]]
            echo += run.rho[f] * max(0.0, 1.0 - run.rho[f])
        keep[i] = min(most, echo / (1.0 + echo)) if echo > 1e-9 else 0.0


@kernel()
def gather(g, run, variables, x):
    """Messages of some components one after the other; what is forbidden counts as 0. Returns their number."""
    # Variables in order, slots within: the same order as in ``scatter``. -inf is left out of the extrapolation.
    n = 0
    for a in range(len(variables)):
        for c in range(g.var_ptr[variables[a]], g.var_ptr[variables[a] + 1]):
            for m in range(g.msg_ptr[g.var_slot[c]], g.msg_ptr[g.var_slot[c] + 1]):
                x[n] = run.messages[m] if run.messages[m] > -np.inf else 0.0
                n += 1
    return n


@kernel()
def scatter(g, run, variables, x):
    """The inverse of ``gather``; what is forbidden stays so."""
    n = 0
    for a in range(len(variables)):
        for c in range(g.var_ptr[variables[a]], g.var_ptr[variables[a] + 1]):
            for m in range(g.msg_ptr[g.var_slot[c]], g.msg_ptr[g.var_slot[c] + 1]):
                if run.messages[m] > -np.inf:
                    run.messages[m] = x[n]
                    run.inverse[m] = np.exp(-x[n])
                n += 1


@inlined
def receive(g, run, i, keep, late):
    """Renew the messages to variable i from factors that changed, then its belief; returns the largest change.

    ``late[slot]`` says whether the factor has a variable that comes before i in this direction; ``keep`` damps.
    """
    change = 0.0
    at, card = g.unary_ptr[i], g.cards[i]
    # m[f, i] <- (1 - keep) new + keep old, the best state of the new message at 0; -inf is not mixed. Changes of states
    # that hardly matter (log b <= -30) do not count.
    for a in range(g.var_ptr[i], g.var_ptr[i + 1]):
        slot = g.var_slot[a]
        if not late[slot]:
            continue
        new_message(g, run, slot)
        m = g.msg_ptr[slot]
        high = -np.inf
        for k in range(card):
            high = max(high, run.out[k])
        for k in range(card):
            value = run.out[k] - high if high > -np.inf else -np.inf
            if value > -np.inf and run.messages[m + k] > -np.inf:
                if run.log_b[at + k] > -30.0:
                    change = max(change, abs(value - run.messages[m + k]))
                value += keep * (run.messages[m + k] - value)
            run.messages[m + k] = value
            run.inverse[m + k] = np.exp(-value)
    believe(g, run, i)
    return change


@kernel()
def sweep_part(g, run, variables, keep):
    """All messages once, forward and backward along the order; returns the largest change."""
    change, n = 0.0, len(variables)
    # Gauss-Seidel, forth and back: each visit uses the beliefs already renewed. Undamped on a tree, one sweep is exact.
    for turn in range(2 * n):
        i = variables[turn] if turn < n else variables[2 * n - 1 - turn]
        late = g.forward if turn < n else g.backward
        change = max(change, receive(g, run, i, keep[i], late))
    return change
