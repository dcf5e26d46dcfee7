"""Upper bounds on the best score by sequential messages, and assignments read off from them.

``M[f, i]`` is the message of factor f to its variable i and ``B_i = unary_i + sum_f M[f, i]``. Then
``sum_i B_i + sum_f (table_f - sum_i M[f, i])`` is the score of every assignment, whatever M is: a reparametrisation.
Variables are visited along an order, forth and back; a visit renews ``M[f, i] = max (table_f + sum_{j != i} (part_j
B_j - M[f, j]))`` over the other variables, where ``part_j = 1 / max(factors that go on after j, factors that come
before)``. Each pass proves a bound. Messages stand one after the other by slot, a slot being a place in ``scope``.
"""

from __future__ import annotations

import numpy as np

from palmette._kernels.jit import MAXIMA, kernel


@kernel()
def add_up(i, unary, unary_ptr, var_ptr, var_slot, msg_ptr, messages, total):
    """``B_i`` from the messages to variable i."""
    at, card = unary_ptr[i], unary_ptr[i + 1] - unary_ptr[i]
    for k in range(card):
        total[at + k] = unary[at + k]
    for a in range(var_ptr[i], var_ptr[i + 1]):
        m = msg_ptr[var_slot[a]]
        for k in range(card):
            total[at + k] += messages[m + k]


@kernel(fastmath=MAXIMA)
def pair_maxima(values, at, n_rows, n_columns, to_row, other, out):
    """``out[r] = max_c values[r, c] + other[c]``, or the same for columns."""
    if to_row:
        for r in range(n_rows):
            best = -np.inf
            for c in range(n_columns):
                best = max(best, values[at + r * n_columns + c] + other[c])
            out[r] = best
    else:
        for c in range(n_columns):
            out[c] = -np.inf
        for r in range(n_rows):
            for c in range(n_columns):
                out[c] = max(out[c], values[at + r * n_columns + c] + other[r])


@kernel()
def share_of(slot, part, scope, cards, unary_ptr, msg_ptr, messages, total, out):
    """``part_j B_j - M[f, j]`` of one variable of a factor; -inf where B is."""
    j = scope[slot]
    for k in range(cards[j]):
        whole = total[unary_ptr[j] + k]
        out[k] = part[j] * whole - messages[msg_ptr[slot] + k] if whole > -np.inf else -np.inf


@kernel()
def max_message(
    f,
    slot,
    part,
    cards,
    scope_ptr,
    scope,
    values,
    start,
    unary_ptr,
    msg_ptr,
    messages,
    total,
    codes,
    shares,
    out,
):
    """``max`` of the factor and the shares of its other variables, for every state of the variable of ``slot``."""
    begin, end = scope_ptr[f], scope_ptr[f + 1]
    if end - begin == 2:
        from_slot = begin + 1 if slot == begin else begin
        share_of(from_slot, part, scope, cards, unary_ptr, msg_ptr, messages, total, shares)
        pair_maxima(
            values, start[f], cards[scope[begin]], cards[scope[begin + 1]], slot == begin, shares, out
        )
        return
    widest = len(shares) // len(codes)
    for s in range(begin, end):
        codes[s - begin] = 0
        if s != slot:
            row = shares[(s - begin) * widest : (s - begin + 1) * widest]
            share_of(s, part, scope, cards, unary_ptr, msg_ptr, messages, total, row)
        else:
            for k in range(cards[scope[s]]):
                shares[(s - begin) * widest + k] = 0.0
    for k in range(cards[scope[slot]]):
        out[k] = -np.inf
    # out[k] = max over entries with state k of table_f + sum_{j != i} (part_j B_j - M[f, j]), the last variable
    # fastest; O(size x arity). Pairs have taken the tight loops above.
    e = start[f]
    more = True
    while more:
        v = values[e]
        for s in range(end - begin):
            v += shares[s * widest + codes[s]]
        k = codes[slot - begin]
        out[k] = max(out[k], v)
        e += 1
        more = False
        for s in range(end - 1, begin - 1, -1):
            codes[s - begin] += 1
            if codes[s - begin] < cards[scope[s]]:
                more = True
                break
            codes[s - begin] = 0


@kernel()
def sweep_max(
    variables, step, late, part, cards, scope_ptr, scope, values, start, unary, unary_ptr, var_ptr, var_slot,
    slot_factor, msg_ptr, messages, total, codes, shares, out,
):  # fmt: skip
    """One pass over the variables, forward (step 1) or backward (-1), renewing messages from factors met before."""
    n = len(variables)
    # Gauss-Seidel along the order. Messages are shifted so that their best state is 0, which changes no comparison.
    for turn in range(n):
        i = variables[turn] if step > 0 else variables[n - 1 - turn]
        for a in range(var_ptr[i], var_ptr[i + 1]):
            slot = var_slot[a]
            if not late[slot]:
                continue
            f = slot_factor[slot]
            max_message(
                f, slot, part, cards, scope_ptr, scope, values, start, unary_ptr, msg_ptr, messages, total, codes,
                shares, out,
            )  # fmt: skip
            high = -np.inf
            for k in range(cards[i]):
                high = max(high, out[k])
            for k in range(cards[i]):
                messages[msg_ptr[slot] + k] = out[k] - high if high > -np.inf else -np.inf
        add_up(i, unary, unary_ptr, var_ptr, var_slot, msg_ptr, messages, total)


@kernel()
def prove(
    variables, early, part, cards, scope_ptr, scope, values, start, unary, unary_ptr, var_ptr, var_slot, slot_factor,
    msg_ptr, messages, total, codes, shares, out, scratch,
):  # fmt: skip
    """A bound on the best score from any messages.

    Along the order, variable i collects ``A_i = B_i + sum`` of the maxima of the factors that end at it, leaves
    ``part_i A_i`` to every factor that goes on (``early`` slots), and the maximum of the rest is counted. ``scratch``
    holds A.
    """
    bound = 0.0
    for a in range(len(variables)):
        add_up(variables[a], unary, unary_ptr, var_ptr, var_slot, msg_ptr, messages, total)
    # A reparametrisation is maximised part by part: every factor at the last of its variables, every variable once. The
    # sum of the maxima is at least the score of any assignment, for any messages. -inf proves that none is possible.
    for a in range(len(variables)):
        i = variables[a]
        at = unary_ptr[i]
        for k in range(cards[i]):
            scratch[at + k] = total[at + k]
        for c in range(var_ptr[i], var_ptr[i + 1]):
            slot = var_slot[c]
            if early[slot]:
                continue
            # all other variables come before i, so their A is final
            f = slot_factor[slot]
            max_message(
                f, slot, part, cards, scope_ptr, scope, values, start, unary_ptr, msg_ptr, messages, scratch, codes,
                shares, out,
            )  # fmt: skip
            for k in range(cards[i]):
                if scratch[at + k] > -np.inf:
                    scratch[at + k] += out[k] - messages[msg_ptr[slot] + k]
        high = -np.inf
        for k in range(cards[i]):
            high = max(high, scratch[at + k])
        if high == -np.inf:
            return -np.inf
        # with its maximum counted, the best state of A is 0, and so is the maximum of what is not passed on
        bound += high
        for k in range(cards[i]):
            scratch[at + k] -= high
    return bound


@kernel()
def decode(
    variables, position, part, cards, scope_ptr, scope, values, start, unary, unary_ptr, var_ptr, var_slot,
    slot_factor, msg_ptr, messages, total, codes, shares, scores, y,
):  # fmt: skip
    """Best state of each variable given those before it, the messages standing for those after it."""
    widest = len(shares) // len(codes)
    # Variables in order: y_i = argmax of unary + factors with those before fixed, the others maximised by their shares;
    # factors without a fixed variable count by their message. The lowest state wins a tie. O(table sizes x arity).
    for a in range(len(variables)):
        i = variables[a]
        at = unary_ptr[i]
        for k in range(cards[i]):
            scores[k] = unary[at + k]
        for c in range(var_ptr[i], var_ptr[i + 1]):
            slot = var_slot[c]
            f = slot_factor[slot]
            begin, end = scope_ptr[f], scope_ptr[f + 1]
            fixed, free = 0, 0
            for s in range(begin, end):
                if s != slot:
                    if position[scope[s]] < position[i]:
                        fixed += 1
                    else:
                        free += 1
            if fixed == 0:
                for k in range(cards[i]):
                    scores[k] += messages[msg_ptr[slot] + k]
                continue
            # the maximum over variables still free; those fixed allow one state only
            for s in range(begin, end):
                codes[s - begin] = 0
                row = (s - begin) * widest
                j = scope[s]
                if s == slot:
                    for k in range(cards[j]):
                        shares[row + k] = 0.0
                elif position[j] < position[i]:
                    for k in range(cards[j]):
                        shares[row + k] = -np.inf
                    shares[row + y[j]] = 0.0
                    codes[s - begin] = y[j]
                else:
                    share_of(
                        s, part, scope, cards, unary_ptr, msg_ptr, messages, total, shares[row : row + widest]
                    )
            for k in range(cards[i]):
                best = -np.inf
                codes[slot - begin] = k
                more = True
                while more:
                    e, v = 0, 0.0
                    for s in range(begin, end):
                        e = e * cards[scope[s]] + codes[s - begin]
                        v += shares[(s - begin) * widest + codes[s - begin]]
                    best = max(best, v + values[start[f] + e])
                    more = False
                    for s in range(end - 1, begin - 1, -1):
                        j = scope[s]
                        if s == slot or position[j] < position[i]:
                            continue
                        codes[s - begin] += 1
                        if codes[s - begin] < cards[j]:
                            more = True
                            break
                        codes[s - begin] = 0
                scores[k] += best
        top = 0
        for k in range(1, cards[i]):
            if scores[k] > scores[top]:
                top = k
        y[i] = top


@kernel()
def improve(
    variables, max_rounds, cards, scope_ptr, scope, values, start, unary, unary_ptr, var_ptr, var_slot, slot_factor,
    scores, y
):  # fmt: skip
    """Change one variable at a time while the score rises."""
    # Coordinate ascent: the score never falls, and a state changes only for a real gain (1e-12, relative).
    # O(slots x (arity + states)) per round.
    for _ in range(max_rounds):
        changed = False
        for a in range(len(variables)):
            i = variables[a]
            for k in range(cards[i]):
                scores[k] = unary[unary_ptr[i] + k]
            for c in range(var_ptr[i], var_ptr[i + 1]):
                slot = var_slot[c]
                f = slot_factor[slot]
                e, stride, mine = 0, 1, 1
                for s in range(scope_ptr[f + 1] - 1, scope_ptr[f] - 1, -1):
                    if s == slot:
                        mine = stride
                    else:
                        e += stride * y[scope[s]]
                    stride *= cards[scope[s]]
                for k in range(cards[i]):
                    scores[k] += values[start[f] + e + k * mine]
            top = y[i]
            for k in range(cards[i]):
                if scores[k] > scores[top]:
                    top = k
            if scores[top] > scores[y[i]] + 1e-12 * abs(scores[y[i]]) or scores[y[i]] == -np.inf:
                changed = changed or top != y[i]
                y[i] = top
        if not changed:
            break


@kernel()
def score_of(
    variables, cards, scope_ptr, scope, values, start, unary, unary_ptr, var_ptr, var_slot, slot_factor, y
):
    """Score of an assignment on some components."""
    total = 0.0
    # Each factor counts once, at the first variable of its scope. O(slots x arity).
    for a in range(len(variables)):
        i = variables[a]
        total += unary[unary_ptr[i] + y[i]]
        for c in range(var_ptr[i], var_ptr[i + 1]):
            f = slot_factor[var_slot[c]]
            if scope[scope_ptr[f]] == i:
                e = 0
                for s in range(scope_ptr[f], scope_ptr[f + 1]):
                    e = e * cards[scope[s]] + y[scope[s]]
                total += values[start[f] + e]
    return total


@kernel()
def bounded_max_part(
    variables, position, forward, backward, given, part, cards, scope_ptr, scope, values, start, unary, unary_ptr,
    var_ptr, var_slot, slot_factor, msg_ptr, messages, widest, tol, stall, max_iter, y, report,
):  # fmt: skip
    """Sweeps until value and bound of a component meet (relative ``tol``) or ``stall`` sweeps did not help.

    ``given`` is what a belief leaves to each factor in the messages, ``part`` the same in the proof. ``messages`` end
    as those of the best bound, ``y`` as the best assignment; ``report`` gets value, bound, sweeps.
    """
    total, scratch = np.empty(len(unary)), np.empty(len(unary))
    codes, out = np.zeros(widest[0], np.int64), np.empty(widest[1])
    shares, scores = np.empty(widest[0] * widest[1]), np.empty(widest[1])
    trial = y.copy()
    kept = messages.copy()
    for a in range(len(variables)):
        add_up(variables[a], unary, unary_ptr, var_ptr, var_slot, msg_ptr, messages, total)
    value = score_of(
        variables, cards, scope_ptr, scope, values, start, unary, unary_ptr, var_ptr, var_slot, slot_factor, y
    )
    bound = np.inf
    reference, idle, sweep = np.inf, 0, 0
    # Invariants: ``value`` is the score of y, ``bound`` the least bound proven, ``kept`` its messages, and
    # value <= maximum <= bound. That they meet (tol) certifies y; after ``stall`` sweeps without progress of the bound
    # it ends unproven. Memory: a copy of the messages and two of the beliefs.
    while sweep < max_iter:
        for turn in range(2):
            sweep_max(
                variables, 1 - 2 * turn, backward if turn else forward, given, cards, scope_ptr, scope, values, start,
                unary, unary_ptr, var_ptr, var_slot, slot_factor, msg_ptr, messages, total, codes, shares, out,
            )  # fmt: skip
        sweep += 1
        proven = prove(
            variables, backward, part, cards, scope_ptr, scope, values, start, unary, unary_ptr, var_ptr, var_slot,
            slot_factor, msg_ptr, messages, total, codes, shares, out, scratch,
        )  # fmt: skip
        if proven < bound:
            bound = proven
            kept[:] = messages
        if sweep < 10 or sweep % 5 == 0 or sweep == max_iter:
            decode(
                variables, position, given, cards, scope_ptr, scope, values, start, unary, unary_ptr, var_ptr,
                var_slot, slot_factor, msg_ptr, messages, total, codes, shares, scores, trial,
            )  # fmt: skip
            improve(
                variables, 20, cards, scope_ptr, scope, values, start, unary, unary_ptr, var_ptr, var_slot,
                slot_factor, scores, trial,
            )  # fmt: skip
            found = score_of(
                variables,
                cards,
                scope_ptr,
                scope,
                values,
                start,
                unary,
                unary_ptr,
                var_ptr,
                var_slot,
                slot_factor,
                trial,
            )
            if found > value:
                value = found
                for a in range(len(variables)):
                    y[variables[a]] = trial[variables[a]]
        if bound - value <= tol * max(1.0, abs(bound)) or bound == -np.inf:
            break
        if bound < reference - 1e-4 * (abs(bound - value) + 1e-9 * abs(bound)):
            reference, idle = bound, 0
        else:
            idle += 1
            if idle >= stall:
                break
    messages[:] = kept
    report[0], report[1], report[2] = value, bound, sweep
