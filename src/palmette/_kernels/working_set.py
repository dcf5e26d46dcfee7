"""Steps in the dual of an n-slack program: every sample has a few constraints, whose masses sum to at most one.

Constraint k says ``slack >= offset[k] + sum_p value[p] w[index[p]]``, p from ``start[k]`` to ``start[k + 1]``, with
``index`` rising. Those of sample s form a list: ``head[s]``, ``following[head[s]]``, ..., ended by -1. What is missing
to a mass of one belongs to ``slack >= 0``.
"""

from __future__ import annotations

from palmette._kernels.jit import kernel

NONE, ZERO = -1, -2  # no constraint; ``slack >= 0``


@kernel()
def violation(k, start, index, value, offset, w):
    """The slack that constraint k asks for at ``w``."""
    total = offset[k]
    for p in range(start[k], start[k + 1]):
        total += value[p] * w[index[p]]
    return total


@kernel()
def difference(a, b, start, index, value, inverse):
    """``sum_j (g_a - g_b)_j^2 inverse_j``, either of them perhaps ``ZERO``."""
    p, p_end = (start[a], start[a + 1]) if a != ZERO else (0, 0)
    q, q_end = (start[b], start[b + 1]) if b != ZERO else (0, 0)
    total = 0.0
    # A merge of two sorted lists of entries: O(nnz_a + nnz_b).
    while p < p_end or q < q_end:
        if q == q_end or (p < p_end and index[p] < index[q]):
            total += value[p] * value[p] * inverse[index[p]]
            p += 1
        elif p == p_end or index[q] < index[p]:
            total += value[q] * value[q] * inverse[index[q]]
            q += 1
        else:
            gap = value[p] - value[q]
            total += gap * gap * inverse[index[p]]
            p += 1
            q += 1
    return total


@kernel()
def shift_mass(k, step, start, index, value, inverse, mass, w):
    """Add ``step`` to the mass of a constraint, and what follows from it to the weights."""
    mass[k] += step
    for p in range(start[k], start[k + 1]):
        w[index[p]] -= step * value[p] * inverse[index[p]]


@kernel()
def slack_of(s, head, following, start, index, value, offset, mass, w):
    """The slack that the constraints of sample s ask for, and their mean by mass."""
    top, mean, k = 0.0, 0.0, head[s]
    # top = max(0, max_k violation), mean = sum_k mass_k violation_k; their difference is what the sample lacks.
    while k != NONE:
        own = violation(k, start, index, value, offset, w)
        top = max(top, own)
        mean += mass[k] * own
        k = following[k]
    return top, mean


@kernel()
def optimise(order, head, following, start, index, value, offset, inverse, mass, w, n_steps):
    """Visit the samples of ``order``: up to ``n_steps`` times, move mass from the least to the most violated
    constraint, by an exact line search. Returns the sum of what each sample lacked before its first step."""
    lacking = 0.0
    # Invariants: masses are >= 0 and sum to at most 1 per sample (``rest`` is that of ``slack >= 0``);
    # w = -sum_k mass_k g_k inverse. Moving m from worst to best adds (top - bottom) m - curvature m^2 / 2 to the dual:
    # an exact line search, so the dual never falls. O(nnz of the sample's constraints) per step, nothing allocated.
    for turn in range(len(order)):
        s = order[turn]
        for step in range(n_steps):
            best, top = ZERO, 0.0
            rest, mean, k = 1.0, 0.0, head[s]
            worst, bottom = NONE, 0.0
            while k != NONE:
                own = violation(k, start, index, value, offset, w)
                rest -= mass[k]
                mean += mass[k] * own
                if own > top:
                    best, top = k, own
                if mass[k] > 0.0 and (worst == NONE or own < bottom):
                    worst, bottom = k, own
                k = following[k]
            if rest > 1e-14 and (worst == NONE or bottom > 0.0):
                worst, bottom = ZERO, 0.0
            if step == 0:
                lacking += top - mean
            if worst == NONE or top - bottom <= 1e-12 * (1.0 + abs(top)):
                break
            most = rest if worst == ZERO else mass[worst]
            curvature = difference(best, worst, start, index, value, inverse)
            length = most if top - bottom >= curvature * most else (top - bottom) / curvature
            if best != ZERO:
                shift_mass(best, length, start, index, value, inverse, mass, w)
            if worst != ZERO:
                shift_mass(worst, -length, start, index, value, inverse, mass, w)
                if length == most:
                    mass[worst] = 0.0
    return lacking
