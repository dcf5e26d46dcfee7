"""Belief propagation on graphs with loops: the messages of ``reweighted_sum`` with all weights 1, damped."""

from __future__ import annotations

import numpy as np

from palmette._kernels.jit import kernel
from palmette._kernels.reweighted_bounds import lower_bound, marginals
from palmette._kernels.reweighted_messages import believe, sweep_part


@kernel()
def loopy_parts(
    order, part_ptr, forward, backward, damping, rho, cards, scope_ptr, scope, values, start, scale, table_ptr,
    table, top, narrow, unary, unary_ptr, var_ptr, var_slot, slot_factor, msg_ptr, messages, inverse, log_b, b,
    widest, tol, max_iter, mu_unary, mu_factor, log_z, change,
):  # fmt: skip
    """Each component until its messages change by ``tol`` at most; Bethe's log-partition and beliefs."""
    codes, shape = np.zeros(widest[0], np.int64), np.zeros(widest[0], np.int64)
    other, out, sums = np.empty(widest[1]), np.empty(widest[1]), np.empty(widest[1])
    wanted = np.empty(widest[0] * widest[1])
    keep = np.zeros(len(cards))
    # m <- (1 - keep) new + keep m by sweeps forth and back until the largest change is at most ``tol``: a stationary
    # point of Bethe's free energy, exact on trees and no bound elsewhere. change[part] > tol: it did not converge.
    # Memory: one factor's codes and rows. A variable without a possible state gives log Z = -inf.
    for part in range(len(part_ptr) - 1):
        variables = order[part_ptr[part] : part_ptr[part + 1]]
        n_slots, n_factors = 0, 0
        for a in range(len(variables)):
            i = variables[a]
            believe(i, unary, unary_ptr, rho, var_ptr, var_slot, slot_factor, msg_ptr, messages, log_b, b)
            n_slots += var_ptr[i + 1] - var_ptr[i]
            for c in range(var_ptr[i], var_ptr[i + 1]):
                n_factors += scope[scope_ptr[slot_factor[var_slot[c]]]] == i
        # a tree is exact after one sweep, which damping would spoil
        keep[:] = damping if n_slots > len(variables) + n_factors - 1 else 0.0
        for _ in range(max_iter):
            change[part] = sweep_part(
                variables, keep, forward, backward, cards, scope_ptr, scope, values, start, scale, table_ptr, table,
                top, narrow, unary, unary_ptr, rho, var_ptr, var_slot, slot_factor, msg_ptr, messages, inverse, log_b,
                b, codes, other, out,
            )  # fmt: skip
            if change[part] <= tol:
                break
        possible = True
        for a in range(len(variables)):
            i = variables[a]
            high = believe(
                i, unary, unary_ptr, rho, var_ptr, var_slot, slot_factor, msg_ptr, messages, log_b, b
            )
            possible = possible and high > -np.inf
        log_z[part] = -np.inf
        if possible:
            marginals(
                variables, cards, scope_ptr, scope, values, start, scale, table_ptr, unary, unary_ptr, var_ptr,
                var_slot, slot_factor, msg_ptr, messages, log_b, shape, wanted, sums, mu_unary, mu_factor,
            )  # fmt: skip
            log_z[part] = lower_bound(
                variables, rho, scope_ptr, scope, values, start, table_ptr, unary, unary_ptr, var_ptr, var_slot,
                slot_factor, 1.0, mu_unary, mu_factor,
            )  # fmt: skip
