"""Upper bounds on the best score by sequential messages, and assignments read off from them.

``M[f, i]`` is the message of factor f to its variable i and ``B_i = unary_i + sum_f M[f, i]``. Then
``sum_i B_i + sum_f (table_f - sum_i M[f, i])`` is the score of every assignment, whatever M is: a reparametrisation.
Variables are visited along an order, forth and back; a visit renews ``M[f, i] = max (table_f + sum_{j != i} (part_j
B_j - M[f, j]))`` over the other variables, where ``part_j = 1 / max(factors that go on after j, factors that come
before)``. Each pass proves a bound. Messages stand one after the other by slot, a slot being a place in ``scope``.
``g`` is a ``palmette.inference.slots.Slots``, ``run`` a ``palmette.inference.bounded_max.MaxRun``.
"""

from __future__ import annotations

import numpy as np

from palmette._kernels.inlined import inlined
from palmette._kernels.jit import MAXIMA, kernel
from palmette._kernels.reweighted_messages import next_entry


@inlined
def add_up(g, run, i, total):
    """``B_i`` from the messages to variable i."""
    at, card = g.unary_ptr[i], g.unary_ptr[i + 1] - g.unary_ptr[i]
    for k in range(card):
        total[at + k] = run.unary[at + k]
    for a in range(g.var_ptr[i], g.var_ptr[i + 1]):
        m = g.msg_ptr[g.var_slot[a]]
        for k in range(card):
            total[at + k] += run.messages[m + k]


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


@inlined
def share_of(g, run, slot, part, total, out):
    """``part_j B_j - M[f, j]`` of one variable of a factor; -inf where B is."""
    j = g.scope[slot]
    for k in range(g.cards[j]):
        whole = total[g.unary_ptr[j] + k]
        out[k] = part[j] * whole - run.messages[g.msg_ptr[slot] + k] if whole > -np.inf else -np.inf


@inlined
def max_message(g, run, slot, part, total):
    """``max`` of the factor and the shares of its other variables, for every state of the variable of ``slot``."""
    f = g.slot_factor[slot]
    begin, end = g.scope_ptr[f], g.scope_ptr[f + 1]
    if end - begin == 2:
        from_slot = begin + 1 if slot == begin else begin
        share_of(g, run, from_slot, part, total, run.shares)
        n_rows, n_columns = g.cards[g.scope[begin]], g.cards[g.scope[begin + 1]]
        pair_maxima(run.values, run.start[f], n_rows, n_columns, slot == begin, run.shares, run.out)
        return
    widest = len(run.shares) // len(run.codes)
    for s in range(begin, end):
        run.codes[s - begin] = 0
        if s != slot:
            row = run.shares[(s - begin) * widest : (s - begin + 1) * widest]
            share_of(g, run, s, part, total, row)
        else:
            for k in range(g.cards[g.scope[s]]):
                run.shares[(s - begin) * widest + k] = 0.0
    for k in range(g.cards[g.scope[slot]]):
        run.out[k] = -np.inf
    # out[k] = max over entries with state k of table_f + sum_{j != i} (part_j B_j - M[f, j]), the last variable
    # fastest; O(size x arity). Pairs have taken the tight loops above.
    e = run.start[f]
    more = True
    while more:
        v = run.values[e]
        for s in range(end - begin):
            v += run.shares[s * widest + run.codes[s]]
        k = run.codes[slot - begin]
        run.out[k] = max(run.out[k], v)
        e += 1
        more = next_entry(g, begin, end, run.codes)


@kernel()
def sweep_max(g, run, variables, step, part, total):
    """One pass over the variables, forward (step 1) or backward (-1), renewing messages from factors met before."""
    n, late = len(variables), g.forward if step > 0 else g.backward
    # Gauss-Seidel along the order. Messages are shifted so that their best state is 0, which changes no comparison.
    for turn in range(n):
        i = variables[turn] if step > 0 else variables[n - 1 - turn]
        for a in range(g.var_ptr[i], g.var_ptr[i + 1]):
            slot = g.var_slot[a]
            if not late[slot]:
                continue
            max_message(g, run, slot, part, total)
            high = -np.inf
            for k in range(g.cards[i]):
                high = max(high, run.out[k])
            for k in range(g.cards[i]):
                run.messages[g.msg_ptr[slot] + k] = run.out[k] - high if high > -np.inf else -np.inf
        add_up(g, run, i, total)


@kernel()
def prove(g, run, variables, part, total, scratch):
    """A bound on the best score from any messages.

    Along the order, variable i collects ``A_i = B_i + sum`` of the maxima of the factors that end at it, leaves
    ``part_i A_i`` to every factor that goes on (``backward`` slots), and the maximum of the rest is counted.
    ``scratch`` holds A.
    """
    bound = 0.0
    for a in range(len(variables)):
        add_up(g, run, variables[a], total)
    # A reparametrisation is maximised part by part: every factor at the last of its variables, every variable once. The
    # sum of the maxima is at least the score of any assignment, for any messages. -inf proves that none is possible.
    for a in range(len(variables)):
        i = variables[a]
        at = g.unary_ptr[i]
        for k in range(g.cards[i]):
            scratch[at + k] = total[at + k]
        for c in range(g.var_ptr[i], g.var_ptr[i + 1]):
            slot = g.var_slot[c]
            if g.backward[slot]:
                continue
            # all other variables come before i, so their A is final
            max_message(g, run, slot, part, scratch)
            for k in range(g.cards[i]):
                if scratch[at + k] > -np.inf:
                    scratch[at + k] += run.out[k] - run.messages[g.msg_ptr[slot] + k]
        high = -np.inf
        for k in range(g.cards[i]):
            high = max(high, scratch[at + k])
        if high == -np.inf:
            return -np.inf
        # with its maximum counted, the best state of A is 0, and so is the maximum of what is not passed on
        bound += high
        for k in range(g.cards[i]):
            scratch[at + k] -= high
    return bound


@kernel()
def decode(g, run, variables, part, total, scores, y):
    """Best state of each variable given those before it, the messages standing for those after it."""
    position, widest = g.position, len(run.shares) // len(run.codes)
    # Variables in order: y_i = argmax of unary + factors with those before fixed, the others maximised by their shares;
    # factors without a fixed variable count by their message. The lowest state wins a tie. O(table sizes x arity).
    for a in range(len(variables)):
        i = variables[a]
        at = g.unary_ptr[i]
        for k in range(g.cards[i]):
            scores[k] = run.unary[at + k]
        for c in range(g.var_ptr[i], g.var_ptr[i + 1]):
            slot = g.var_slot[c]
            f = g.slot_factor[slot]
            begin, end = g.scope_ptr[f], g.scope_ptr[f + 1]
            fixed = False
            for s in range(begin, end):
                fixed |= position[g.scope[s]] < position[i]
            if not fixed:
                for k in range(g.cards[i]):
                    scores[k] += run.messages[g.msg_ptr[slot] + k]
                continue
            # the maximum over variables still free; those fixed allow one state only
            for s in range(begin, end):
                run.codes[s - begin] = 0
                row = (s - begin) * widest
                j = g.scope[s]
                if s == slot:
                    for k in range(g.cards[j]):
                        run.shares[row + k] = 0.0
                elif position[j] < position[i]:
                    for k in range(g.cards[j]):
                        run.shares[row + k] = -np.inf
                    run.shares[row + y[j]] = 0.0
                    run.codes[s - begin] = y[j]
                else:
                    share_of(g, run, s, part, total, run.shares[row : row + widest])
            for k in range(g.cards[i]):
                best = -np.inf
                run.codes[slot - begin] = k
                more = True
                while more:
                    e, v = 0, 0.0
                    for s in range(begin, end):
                        e = e * g.cards[g.scope[s]] + run.codes[s - begin]
                        v += run.shares[(s - begin) * widest + run.codes[s - begin]]
                    best = max(best, v + run.values[run.start[f] + e])
                    more = False
                    for s in range(end - 1, begin - 1, -1):
                        j = g.scope[s]
                        if s == slot or position[j] < position[i]:
                            continue
                        run.codes[s - begin] += 1
                        if run.codes[s - begin] < g.cards[j]:
                            more = True
                            break
                        run.codes[s - begin] = 0
                scores[k] += best
        top = 0
        for k in range(1, g.cards[i]):
            if scores[k] > scores[top]:
                top = k
        y[i] = top


@kernel()
def improve(g, run, variables, max_rounds, scores, y):
    """Change one variable at a time while the score rises."""
    # Coordinate ascent: the score never falls, and a state changes only for a real gain (1e-12, relative).
    # O(slots x (arity + states)) per round.
    for _ in range(max_rounds):
        changed = False
        for a in range(len(variables)):
            i = variables[a]
            for k in range(g.cards[i]):
                scores[k] = run.unary[g.unary_ptr[i] + k]
            for c in range(g.var_ptr[i], g.var_ptr[i + 1]):
                slot = g.var_slot[c]
                f = g.slot_factor[slot]
                e, stride, mine = 0, 1, 1
                for s in range(g.scope_ptr[f + 1] - 1, g.scope_ptr[f] - 1, -1):
                    if s == slot:
                        mine = stride
                    else:
                        e += stride * y[g.scope[s]]
                    stride *= g.cards[g.scope[s]]
                for k in range(g.cards[i]):
                    scores[k] += run.values[run.start[f] + e + k * mine]
            top = y[i]
            for k in range(g.cards[i]):
                if scores[k] > scores[top]:
                    top = k
            if scores[top] > scores[y[i]] + 1e-12 * abs(scores[y[i]]) or scores[y[i]] == -np.inf:
                changed = changed or top != y[i]
                y[i] = top
        if not changed:
            break


@kernel()
def score_of(g, run, variables, y):
    """Score of an assignment on some components."""
    total = 0.0
    # Each factor counts once, at the first variable of its scope. O(slots x arity).
    for a in range(len(variables)):
        i = variables[a]
        total += run.unary[g.unary_ptr[i] + y[i]]
        for c in range(g.var_ptr[i], g.var_ptr[i + 1]):
            f = g.slot_factor[g.var_slot[c]]
            if g.scope[g.scope_ptr[f]] == i:
                e = 0
                for s in range(g.scope_ptr[f], g.scope_ptr[f + 1]):
                    e = e * g.cards[g.scope[s]] + y[g.scope[s]]
                total += run.values[run.start[f] + e]
    return total


@kernel()
def bounded_max_part(g, run, variables, given, part, tol, stall, max_iter, y, report):
    """Sweeps until value and bound of a component meet (relative ``tol``) or ``stall`` sweeps did not help.

    ``given`` is what a belief leaves to each factor in the messages, ``part`` the same in the proof. ``messages`` end
    as those of the best bound, ``y`` as the best assignment; ``report`` gets value, bound, sweeps.
    """
    total, scratch = np.empty(len(run.unary)), np.empty(len(run.unary))
    scores = np.empty(len(run.out))
    trial = y.copy()
    kept = run.messages.copy()
    for a in range(len(variables)):
        add_up(g, run, variables[a], total)
    value = score_of(g, run, variables, y)
    bound = np.inf
    reference, idle, sweep = np.inf, 0, 0
    # Invariants: ``value`` is the score of y, ``bound`` the least bound proven, ``kept`` its messages, and
    # value <= maximum <= bound. That they meet (tol) certifies y; after ``stall`` sweeps without progress of the bound
    # it ends unproven. Memory: a copy of the messages and two of the beliefs.
    while sweep < max_iter:
        for turn in range(2):
            sweep_max(g, run, variables, 1 - 2 * turn, given, total)
        sweep += 1
        proven = prove(g, run, variables, part, total, scratch)
        if proven < bound:
            bound = proven
            kept[:] = run.messages
        if sweep < 10 or sweep % 5 == 0 or sweep == max_iter:
            decode(g, run, variables, given, total, scores, trial)
            improve(g, run, variables, 20, scores, trial)
            found = score_of(g, run, variables, trial)
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
    run.messages[:] = kept
    report[0], report[1], report[2] = value, bound, sweep
