"""Belief propagation on graphs with loops: the messages of ``reweighted_sum`` with all weights 1, damped."""

from __future__ import annotations

import numpy as np

from palmette._kernels.jit import kernel
from palmette._kernels.reweighted_bounds import lower_bound, marginals
from palmette._kernels.reweighted_messages import believe_all, sweep_part


@kernel()
def loopy_parts(g, run, damping, tol, max_iter, log_z, change):
    """Each component until its messages change by ``tol`` at most; Bethe's log-partition and beliefs."""
    keep = np.zeros(len(g.cards))
    # m <- (1 - keep) new + keep m by sweeps forth and back until the largest change is at most ``tol``: a stationary
    # point of Bethe's free energy, exact on trees and no bound elsewhere. change[part] > tol: it did not converge.
    # Memory: one factor's codes and rows. A variable without a possible state gives log Z = -inf.
    for part in range(len(g.part_ptr) - 1):
        variables = g.order[g.part_ptr[part] : g.part_ptr[part + 1]]
        believe_all(g, run, variables)
        n_slots, n_factors = 0, 0
        for a in range(len(variables)):
            i = variables[a]
            n_slots += g.var_ptr[i + 1] - g.var_ptr[i]
            for c in range(g.var_ptr[i], g.var_ptr[i + 1]):
                n_factors += g.scope[g.scope_ptr[g.slot_factor[g.var_slot[c]]]] == i
        # a tree is exact after one sweep, which damping would spoil
        keep[:] = damping if n_slots > len(variables) + n_factors - 1 else 0.0
        for _ in range(max_iter):
            change[part] = sweep_part(g, run, variables, keep)
            if change[part] <= tol:
                break
        log_z[part] = -np.inf
        if believe_all(g, run, variables) > -np.inf:
            marginals(g, run, variables)
            log_z[part] = lower_bound(g, run, variables, 1.0)
