"""Sums under a tree-reweighted entropy, by sequential messages, with a bound from above and from below.

Notation, with potentials already divided by the temperature: factor f has weight ``rho_f``, ``m[f, i]`` is the
message of f to its variable i (a logarithm), ``b_i = exp(unary_i + sum_f rho_f m[f, i])``, and
``m[f, i] = log sum_{x_f without x_i} exp(table_f / rho_f + sum_{j != i} (log b_j - m[f, j]))`` where messages have
converged. Any messages bound the sum from above (``upper_bound``), any locally consistent marginals from below
(``lower_bound``). Messages stand one after the other by slot, a slot being a place in ``scope``.
"""

from __future__ import annotations

import numpy as np

from palmette._kernels.anderson import extrapolate
from palmette._kernels.jit import kernel
from palmette._kernels.reweighted_bounds import lower_bound, marginals, upper_bound
from palmette._kernels.reweighted_messages import believe, damping, gather, scatter, sweep_part


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
        # x -> g(x) is one sweep over the messages; Anderson's extrapolation speeds up its fixed-point iteration. Once
        # messages move by at most ``trigger``, the bounds are computed; upper - lower <= tol (relative) certifies the
        # end, else the trigger falls. Bounds hold for any messages, so neither extrapolation nor damping can spoil
        # them. Memory: 2 x 10 vectors of the messages of the largest component (2 x 3 from a million on).
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
