"""Reweighted sums over pairs of two states for many graphs of one shape: the loop over ``pair_lanes``.

``p``, ``data`` and ``out`` are ``PairPlan``, ``PairData`` and ``PairAnswers`` of ``palmette.inference.pair_sums``.
"""

from __future__ import annotations

import numpy as np

from palmette._kernels.anderson_lanes import extrapolate_lanes
from palmette._kernels.constants import LANES
from palmette._kernels.jit import kernel
from palmette._kernels.pair_bounds import bound_lanes, fit_marginals
from palmette._kernels.pair_lanes import load_graphs, sweep_lanes

SPREAD = 100.0  # entries of a table over rho vary by less, so that products stay in the range of a double
PATIENCE = 40  # sweeps in which the largest change must fall to 0.9 of what it was


@kernel()
def find_served(p, data, largest, served):
    """Whether the potentials of each sample are finite, at most ``largest`` in size, and vary by less than SPREAD."""
    for s in range(len(served)):
        good = True
        for i in range(len(p.order)):
            row = data.first_row[s] + i
            good = good and max(abs(data.node[row, 0]), abs(data.node[row, 1])) <= largest
        for e in range(len(p.factor)):
            t = data.which[data.first_edge[s] + p.factor[e]]
            low, high = np.inf, -np.inf
            for k in range(4):
                low, high = min(low, data.table[t, k]), max(high, data.table[t, k])
            good = good and (high - low) * data.inverse_t < SPREAD * p.rho[e] and abs(low) <= largest
        served[s] = good


@kernel()
def start_lane(run, begin, end, lane):
    """A lane moves, without a history, from the messages ``begin:end`` that it has."""
    run.moving[lane], run.age[lane] = 1.0, 0.0
    for k in range(begin, end):
        run.before[k * LANES + lane] = run.messages[k * LANES + lane]


@kernel()
def steer(run, lane):
    """After a sweep of a lane: more damping where it is stuck."""
    change = run.change[lane]
    run.lag[lane] += 1
    if change < 0.9 * run.least[lane]:
        run.least[lane], run.lag[lane] = change, 0
    elif run.lag[lane] == PATIENCE or change > 1000.0 * run.least[lane]:
        # extrapolation leads nowhere: afresh, with more damping
        run.most[lane] = 0.5 * (1.0 + run.most[lane]) if run.most[lane] < 0.9 else 0.5
        run.least[lane], run.lag[lane], run.age[lane] = change, 0, 0.0


@kernel()
def store_graph(p, data, run, lane, s, weight, out):
    """Marginals of a lane, times its weight, and its messages."""
    n_edges = len(p.early)
    for v in range(len(p.order)):
        row = data.first_row[s] + p.order[v]
        out.node[row, 0] = weight * run.p0[v * LANES + lane]
        out.node[row, 1] = weight * run.p1[v * LANES + lane]
    for e in range(n_edges):
        f = p.factor[e]
        t = data.which[data.first_edge[s] + f]
        to_first, to_second = (2 * e, 2 * e + 1) if p.early_first[e] else (2 * e + 1, 2 * e)
        m01, m10 = (n_edges + e, 2 * n_edges + e) if p.early_first[e] else (2 * n_edges + e, n_edges + e)
        out.table[t, 0] += weight * run.cells[e * LANES + lane]
        out.table[t, 1] += weight * run.cells[m01 * LANES + lane]
        out.table[t, 2] += weight * run.cells[m10 * LANES + lane]
        out.table[t, 3] += weight * run.cells[(3 * n_edges + e) * LANES + lane]
        scale = data.inverse_t / p.rho[e]  # what is linear in the table, see ``load_graphs``
        a, b = data.table[t, 2] - data.table[t, 0], data.table[t, 1] - data.table[t, 0]
        data.messages[s, 2 * f] = run.messages[to_first * LANES + lane] + scale * a
        data.messages[s, 2 * f + 1] = run.messages[to_second * LANES + lane] + scale * b


@kernel()
def reweighted_pairs(p, data, run, samples, weight, tol, max_iter, out):
    """Each component of each sample to its own convergence, as ``reweighted_sum.reweighted_parts``.

    What a sample gets does not depend on the others: a lane whose messages have settled waits, unchanged, until those
    of all lanes have.
    """
    group, left = np.empty(LANES, np.int64), np.empty(LANES, np.bool_)
    trigger = np.empty(LANES)
    for first in range(0, len(samples), LANES):
        n_graphs = min(LANES, len(samples) - first)
        for lane in range(LANES):  # lanes that are left over repeat the last sample and never move
            group[lane] = samples[first + min(lane, n_graphs - 1)]
        load_graphs(p, data, group, run)
        for part in range(len(p.part_ptr) - 1):
            start, stop = p.part_ptr[part], p.part_ptr[part + 1]
            begin, end = 2 * p.early_ptr[start], 2 * p.early_ptr[stop]
            run.moving[:], run.most[:] = 0.0, 0.0
            for lane in range(n_graphs):
                start_lane(run, begin, end, lane)
                run.least[lane], run.lag[lane] = np.inf, 0
                trigger[lane], left[lane] = 0.3 * np.sqrt(tol), True
                out.upper[group[lane], part], out.sweeps[group[lane], part] = np.inf, 0
            turn, n_left = 0, n_graphs
            # Invariant: a lane moves, or waits for its bounds, or is not left. Bounds that differ by at most ``tol``
            # (relative) prove the end of a lane; else it moves on, with a lower trigger.
            while n_left > 0:
                sweep_lanes(p, run, start, stop)
                n_moving = 0
                for lane in range(n_graphs):
                    if run.moving[lane] > 0.0:
                        out.sweeps[group[lane], part] += 1
                        if run.change[lane] <= trigger[lane] or out.sweeps[group[lane], part] >= max_iter:
                            run.moving[lane] = 0.0
                            trigger[lane] = 0.3 * min(trigger[lane], run.change[lane])
                        else:
                            steer(run, lane)
                            n_moving += 1
                if n_moving > 0:
                    extrapolate_lanes(run, begin, end, turn)
                    turn += 1
                    continue
                bound_lanes(p, run, start, stop)
                fit_marginals(p, run, start, stop)
                for lane in range(n_graphs):
                    s = group[lane]
                    if left[lane]:
                        upper = min(out.upper[s, part], run.bound[lane])
                        lower = run.value[lane]
                        out.upper[s, part], out.lower[s, part] = upper, lower
                        if upper - lower <= tol * max(1.0, abs(upper)) or out.sweeps[s, part] >= max_iter:
                            left[lane] = False
                            n_left -= 1
                        else:
                            start_lane(run, begin, end, lane)
        for lane in range(n_graphs):
            store_graph(p, data, run, lane, group[lane], weight[first + lane], out)
