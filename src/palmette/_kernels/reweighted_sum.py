"""Sums under a tree-reweighted entropy, by sequential messages, with a bound from above and from below.

Notation, with potentials already divided by the temperature: factor f has weight ``rho_f``, ``m[f, i]`` is the
message of f to its variable i (a logarithm), ``b_i = exp(unary_i + sum_f rho_f m[f, i])``, and
``m[f, i] = log sum_{x_f without x_i} exp(table_f / rho_f + sum_{j != i} (log b_j - m[f, j]))`` where messages have
converged. Any messages bound the sum from above (``upper_bound``), any locally consistent marginals from below
(``lower_bound``). Messages stand one after the other by slot, a slot being a place in ``scope``.
``g`` is a ``palmette.inference.slots.Slots``, ``run`` a ``palmette.inference.slots.SumRun``.
"""

from __future__ import annotations

import numpy as np

from palmette._kernels.anderson import extrapolate
from palmette._kernels.jit import kernel
from palmette._kernels.reweighted_bounds import lower_bound, marginals, upper_bound
from palmette._kernels.reweighted_messages import believe_all, damping, gather, scatter, sweep_part


@kernel()
def reweighted_parts(g, run, share, own, inverse_t, tol, max_iter, upper, lower, sweeps):
    """Each component to its own convergence: bounds from above and below (both over the temperature) and
    marginals."""
    keep = np.zeros(len(g.cards))
    longest = 0
    for part in range(len(upper)):
        length = 0
        for a in range(g.part_ptr[part], g.part_ptr[part + 1]):
            for c in range(g.var_ptr[g.order[a]], g.var_ptr[g.order[a] + 1]):
                length += g.msg_ptr[g.var_slot[c] + 1] - g.msg_ptr[g.var_slot[c]]
        longest = max(longest, length)
    memory = 10 if longest < 1_000_000 else 3
    x, fresh = np.empty(longest), np.empty(longest)
    last_f, last_g = np.empty(longest), np.empty(longest)
    df, dg = np.empty(memory * longest), np.empty(memory * longest)
    gram = np.zeros((memory, memory))
    for part in range(len(upper)):
        variables = g.order[g.part_ptr[part] : g.part_ptr[part + 1]]
        believe_all(g, run, variables)
        most = 0.5
        damping(g, run, variables, most, keep)
        length = gather(g, run, variables, x)
        trigger = 0.3 * np.sqrt(tol)
        filled, steps = 0, 0
        least, lag = np.inf, 0
        sweep = 0
        upper[part], lower[part] = np.inf, -np.inf
        # x -> fresh is one sweep over the messages; Anderson's extrapolation speeds up its fixed-point iteration. Once
        # messages move by at most ``trigger``, the bounds are computed; upper - lower <= tol (relative) certifies the
        # end, else the trigger falls. Bounds hold for any messages, so neither extrapolation nor damping can spoil
        # them. Memory: 2 x 10 vectors of the messages of the largest component (2 x 3 from a million on).
        while True:
            change = sweep_part(g, run, variables, keep)
            sweep += 1
            if change > trigger and sweep < max_iter:
                if sweep == 1:  # the first sweep is all that a tree needs, and sets what is forbidden
                    gather(g, run, variables, x)
                    continue
                # extrapolation that leads nowhere starts afresh, with more damping
                lag += 1
                if change < 0.9 * least:
                    least, lag = change, 0
                elif lag == 40 or change > 1000.0 * least:
                    most = 0.5 * (1.0 + most) if most < 0.9 else 0.5
                    damping(g, run, variables, most, keep)
                    filled, steps = 0, 0
                    least, lag = change, 0
                gather(g, run, variables, fresh)
                filled = extrapolate(
                    x[:length], fresh[:length], last_f[:length], last_g[:length], df, dg, gram, filled, steps
                )
                steps += 1
                scatter(g, run, variables, x)
                believe_all(g, run, variables)
                continue
            upper[part] = min(upper[part], upper_bound(g, run, variables, share, own))
            if upper[part] == -np.inf:
                break
            error = marginals(g, run, variables)
            if error < 1e-12:
                lower[part] = lower_bound(g, run, variables, inverse_t)
            if upper[part] - lower[part] <= tol * max(1.0, abs(upper[part])) or sweep >= max_iter:
                break
            trigger = 0.3 * min(trigger, change)
            gather(g, run, variables, x)
            filled, steps = 0, 0
        sweeps[part] = sweep
