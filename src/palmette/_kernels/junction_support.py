"""Which states of a factor graph any assignment of finite score can have, as far as single factors tell."""

from __future__ import annotations

import numpy as np

from palmette._kernels.jit import kernel


@kernel()
def support(cards, unary_ptr, scope_ptr, scope, unary, values, start):
    """States that every factor around allows with some allowed states of its other variables, to a fixed point."""
    allowed = np.empty(len(unary), np.bool_)
    for i in range(len(unary)):
        allowed[i] = unary[i] > -np.inf
    n_factors = len(scope_ptr) - 1
    widest, most = 1, 1
    for f in range(n_factors):
        widest = max(widest, scope_ptr[f + 1] - scope_ptr[f])
        states = 0
        for p in range(scope_ptr[f], scope_ptr[f + 1]):
            states += cards[scope[p]]
        most = max(most, states)
    digit, at = np.empty(widest, np.int64), np.empty(widest, np.int64)
    found = np.empty(most, np.bool_)
    stale = np.ones(n_factors, np.bool_)
    again = True
    # Arc consistency: a state stays allowed while every factor has a finite entry with it and allowed states of its
    # other variables. Invariant: states taken out occur in no assignment of finite score. Every further round follows
    # the loss of a state, so it ends; only factors of such variables are read again. O(states + factors) memory.
    while again:
        again = False
        for f in range(n_factors):
            if not stale[f]:
                continue
            stale[f] = False
            lo, n = scope_ptr[f], scope_ptr[f + 1] - scope_ptr[f]
            size, states = 1, 0
            for p in range(n):
                digit[p], at[p] = 0, states
                states += cards[scope[lo + p]]
                size *= cards[scope[lo + p]]
            found[:states] = False
            for e in range(size):
                if values[start[f] + e] > -np.inf:
                    possible = True
                    for p in range(n):
                        possible &= allowed[unary_ptr[scope[lo + p]] + digit[p]]
                    if possible:
                        for p in range(n):
                            found[at[p] + digit[p]] = True
                for p in range(n - 1, -1, -1):
                    digit[p] += 1
                    if digit[p] < cards[scope[lo + p]]:
                        break
                    digit[p] = 0
            for p in range(n):
                v = scope[lo + p]
                lost = False
                for k in range(cards[v]):
                    if allowed[unary_ptr[v] + k] and not found[at[p] + k]:
                        allowed[unary_ptr[v] + k] = False
                        lost = True
                if lost:
                    again = True
                    for g in range(n_factors):  # rare enough to look at all
                        for q in range(scope_ptr[g], scope_ptr[g + 1]):
                            if scope[q] == v:
                                stale[g] = True
    return allowed
