"""Messages of ``reweighted_sum`` for two states a variable and pairs alone, eight graphs of one shape at once.

A lane is a graph. Tables are ``w x_a x_b`` after what is linear in them has gone to the variables, so a message is one
number, log odds: with ``x_i = field_i + sum_f rho_f m[f, i]`` the message of edge f to one end is
``log((1 + r e^c) / (1 + e^c))``, where ``c = x_j - m[f, j]`` at the other end and ``r = e^(w / rho)``.

``p`` is a ``palmette.inference.pair_sums.PairPlan``: variables go by their place in the order of sweeps, edges by
their later end, and edge e has the messages ``2 e`` (to its earlier end) and ``2 e + 1``. ``run`` is a ``PairRun`` of
the same module: flat arrays of ``LANES`` numbers a variable, an edge or a message, and ``LANES`` alone for what a graph
has once.
"""

from __future__ import annotations

from palmette._kernels import simd
from palmette._kernels.constants import LANES
from palmette._kernels.inlined import inlined
from palmette._kernels.jit import kernel

LARGEST = 300.0  # odds are cut off at e^+-LARGEST: what that leaves out is below e^-100 of what is kept
DECIDED = 30.0  # changes at variables of larger odds do not count


@kernel()
def load_graphs(p, data, samples, run):
    """Potentials over the temperature, and messages, of the samples of every lane."""
    for v in range(len(p.order)):
        for lane in range(LANES):
            row = data.first_row[samples[lane]] + p.order[v]
            run.field[v * LANES + lane] = data.inverse_t * (data.node[row, 1] - data.node[row, 0])
            run.level[v * LANES + lane] = data.inverse_t * data.node[row, 0]
    # table[a, b] = table[0, 0] + (what is linear in a and in b) + w a b; the constant goes to the later end's level
    for e in range(len(p.early)):
        first, second = (p.early[e], p.late[e]) if p.early_first[e] else (p.late[e], p.early[e])
        f = p.factor[e]
        to_first, to_second = (2 * e, 2 * e + 1) if p.early_first[e] else (2 * e + 1, 2 * e)
        for lane in range(LANES):
            s = samples[lane]
            t = data.which[data.first_edge[s] + f]
            zero = data.table[t, 0]
            a, b = data.inverse_t * (data.table[t, 2] - zero), data.inverse_t * (data.table[t, 1] - zero)
            run.field[first * LANES + lane] += a
            run.field[second * LANES + lane] += b
            run.w[e * LANES + lane] = data.inverse_t * (data.table[t, 3] - zero) - a - b
            run.level[p.late[e] * LANES + lane] += data.inverse_t * zero
            run.messages[to_first * LANES + lane] = data.messages[s, 2 * f] - a / p.rho[e]
            run.messages[to_second * LANES + lane] = data.messages[s, 2 * f + 1] - b / p.rho[e]
    for e in range(len(p.early)):
        scale = simd.splat(run.w, 1.0 / p.rho[e])
        simd.store(run.ratio, e * LANES, simd.exp(simd.mul(simd.load(run.w, e * LANES), scale)))
    for v in range(len(p.order)):
        x = simd.load(run.field, v * LANES)
        for e in range(p.early_ptr[v], p.early_ptr[v + 1]):
            message = simd.load(run.messages, (2 * e + 1) * LANES)
            x = simd.fma(simd.splat(run.x, p.rho[e]), message, x)
        for k in range(p.late_ptr[v], p.late_ptr[v + 1]):
            e = p.late_edge[k]
            x = simd.fma(simd.splat(run.x, p.rho[e]), simd.load(run.messages, 2 * e * LANES), x)
        simd.store(run.x, v * LANES, x)


@inlined
def answer(run, edge, other, back):
    """The message that the variable ``other`` sends over an edge, ``back`` being the one that it gets."""
    limit, one = simd.splat(run.x, LARGEST), simd.splat(run.x, 1.0)
    c = simd.sub(simd.load(run.x, other * LANES), simd.load(run.messages, back * LANES))
    c = simd.exp(simd.larger(simd.smaller(c, limit), simd.splat(run.x, -LARGEST)))
    return simd.log_ratio(simd.fma(simd.load(run.ratio, edge * LANES), c, one), simd.add(c, one))


@inlined
def size(a, zero):
    """``|a|``."""
    return simd.larger(a, simd.sub(zero, a))


@kernel()
def sweep_lanes(p, run, start, stop):
    """All messages of the variables ``start:stop`` once, forth and back; ``run.change`` gets the largest changes."""
    zero, half, decided = simd.splat(run.x, 0.0), simd.splat(run.x, 0.5), simd.splat(run.x, DECIDED)
    moving, most, change = simd.load(run.moving, 0), simd.load(run.most, 0), simd.splat(run.x, 0.0)
    # As ``reweighted_messages.sweep_part``: m <- (1 - keep) new + keep m, variable by variable, each visit with what is
    # new already: forth from earlier ends, back from later ones. Lanes that do not move keep their messages.
    for v in range(start, stop):
        x, keep = simd.load(run.field, v * LANES), simd.smaller(most, simd.splat(run.x, p.echo[v]))
        undecided = simd.sub(decided, size(simd.load(run.x, v * LANES), zero))
        for e in range(p.early_ptr[v], p.early_ptr[v + 1]):
            at = 2 * e + 1
            old, new = simd.load(run.messages, at * LANES), answer(run, e, p.early[e], 2 * e)
            step = simd.sub(old, new)
            change = simd.larger(change, simd.where_positive(undecided, size(step, zero)))
            new = simd.where_at_least(moving, half, simd.fma(keep, step, new), old)
            simd.store(run.messages, at * LANES, new)
            x = simd.fma(simd.splat(run.x, p.rho[e]), new, x)
        for k in range(p.late_ptr[v], p.late_ptr[v + 1]):
            e = p.late_edge[k]
            x = simd.fma(simd.splat(run.x, p.rho[e]), simd.load(run.messages, 2 * e * LANES), x)
        simd.store(run.x, v * LANES, x)
    for v in range(stop - 1, start - 1, -1):
        x, keep = simd.load(run.field, v * LANES), simd.smaller(most, simd.splat(run.x, p.echo[v]))
        undecided = simd.sub(decided, size(simd.load(run.x, v * LANES), zero))
        for k in range(p.late_ptr[v], p.late_ptr[v + 1]):
            e = p.late_edge[k]
            at = 2 * e
            old, new = simd.load(run.messages, at * LANES), answer(run, e, p.late[e], at + 1)
            step = simd.sub(old, new)
            change = simd.larger(change, simd.where_positive(undecided, size(step, zero)))
            new = simd.where_at_least(moving, half, simd.fma(keep, step, new), old)
            simd.store(run.messages, at * LANES, new)
            x = simd.fma(simd.splat(run.x, p.rho[e]), new, x)
        for e in range(p.early_ptr[v], p.early_ptr[v + 1]):
            x = simd.fma(simd.splat(run.x, p.rho[e]), simd.load(run.messages, (2 * e + 1) * LANES), x)
        simd.store(run.x, v * LANES, x)
    simd.store(run.change, 0, change)
