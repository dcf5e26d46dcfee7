"""Reweighted sums of many graphs of one shape at once, where variables have two states and factors are pairs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.inference.entropy import Entropy
from palmette.inference.factor_graph import Topology
from palmette.inference.slots import Slots


class PairPlan(NamedTuple):
    """A topology of pairs as ``palmette._kernels.pair_lanes`` reads it.

    Variables go by their place in the order of sweeps, components one after the other; edges by their later end, so
    that those of place v to earlier places are ``early_ptr[v]:early_ptr[v + 1]``. ``late_edge[late_ptr[v]:]`` are those
    to later ones.
    """

    order: np.ndarray  # variable at each place
    part_ptr: np.ndarray
    early_ptr: np.ndarray
    late_ptr: np.ndarray
    late_edge: np.ndarray
    early: np.ndarray  # place of the earlier end of each edge
    late: np.ndarray
    early_first: np.ndarray  # whether the earlier end is the first variable of the factor
    factor: np.ndarray  # number of the factor
    rho: np.ndarray  # weights of the entropy, see ``Entropy``
    share_early: np.ndarray
    share_late: np.ndarray
    own: np.ndarray
    counting: np.ndarray  # 1 - sum of the rho of a variable
    echo: np.ndarray  # how much of its messages a variable may keep, see ``reweighted_messages.damping``

    @classmethod
    def of(cls, topology: Topology) -> PairPlan:
        """Computed once for each topology."""
        if "pairs" not in topology.memory:
            topology.memory["pairs"] = cls._build(topology)
        return topology.memory["pairs"]

    @classmethod
    def _build(cls, topology: Topology) -> PairPlan:
        slots, entropy = Slots.of(topology), Entropy.of(topology)
        ends, share = slots.position[topology.scope].reshape(-1, 2), entropy.share.reshape(-1, 2)
        early_first = ends[:, 0] < ends[:, 1]
        factor = np.argsort(ends.max(axis=1), kind="stable")
        early, late = ends.min(axis=1)[factor], ends.max(axis=1)[factor]
        share = np.where(early_first[:, None], share, share[:, ::-1])[factor]
        n = topology.n_vars
        echo = np.bincount(topology.scope, np.repeat(entropy.rho * np.maximum(0.0, 1.0 - entropy.rho), 2), n)
        sums = np.bincount(topology.scope, np.repeat(entropy.rho, 2), n)
        return cls(
            slots.order, slots.part_ptr, _pointers(late, n), _pointers(early, n), np.argsort(early, kind="stable"),
            early, late, early_first[factor], factor, entropy.rho[factor], share[:, 0].copy(), share[:, 1].copy(),
            entropy.own[slots.order], (1.0 - sums)[slots.order],
            np.where(echo > 1e-9, echo / (1.0 + echo), 0.0)[slots.order],
        )  # fmt: skip


def _pointers(places: np.ndarray, n: int) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(np.bincount(places, minlength=n))]).astype(np.int64)


class PairData(NamedTuple):
    """Potentials and messages of samples of one shape. Edge e of sample s has the table
    ``which[first_edge[s] + e]``."""

    node: np.ndarray  # (n_rows, 2)
    table: np.ndarray  # (n_tables, 4)
    which: np.ndarray
    first_row: np.ndarray  # of each sample
    first_edge: np.ndarray
    inverse_t: float
    messages: (
        np.ndarray
    )  # (n_samples, 2 n_edges): log odds to each end of each edge, to start from and afterwards


class PairRun(NamedTuple):
    """Room for eight graphs at once: ``LANES`` numbers for each variable, edge or message, and for the graph."""

    field: np.ndarray  # log odds of the potentials
    level: np.ndarray  # potentials of state 0, of edges too
    x: np.ndarray  # log odds of the beliefs
    b0: np.ndarray
    b1: np.ndarray
    p0: np.ndarray  # marginals
    p1: np.ndarray
    w: np.ndarray
    ratio: np.ndarray  # exp(w / rho)
    messages: np.ndarray
    cells: np.ndarray  # marginals of pairs: 00, 01, 10, 11, the earlier end first
    before: np.ndarray  # from here to ``matrix`` what ``anderson_lanes`` remembers
    last_f: np.ndarray
    last_g: np.ndarray
    df: np.ndarray
    dg: np.ndarray
    age: np.ndarray
    gram: np.ndarray
    sums: np.ndarray
    matrix: np.ndarray
    moving: np.ndarray  # 1 or 0
    most: np.ndarray  # how much of a message is kept at most
    change: np.ndarray  # largest change of a message in the last sweep
    least: np.ndarray  # the least such change, and how many sweeps ago it fell to about that
    lag: np.ndarray
    bound: np.ndarray
    value: np.ndarray

    @classmethod
    def of(cls, plan: PairPlan) -> PairRun:
        """Zeros."""
        from palmette._kernels.anderson_lanes import MEMORY
        from palmette._kernels.constants import LANES

        n, m = LANES * len(plan.order), LANES * len(plan.early)
        sizes = [n] * 7 + [m, m, 2 * m, 4 * m, 2 * m, 2 * m, 2 * m]
        history = [np.zeros(MEMORY * 2 * m, np.float32) for _ in range(2)]
        small = [LANES, MEMORY**2 * LANES, 2 * MEMORY * LANES, MEMORY**2 * LANES] + [LANES] * 7
        return cls(*map(np.zeros, sizes), *history, *map(np.zeros, small))


class PairAnswers(NamedTuple):
    """Bounds by sample and component (over the temperature), sweeps, and marginals times the weights of samples.

    Those of edges are added to what stands in ``table``, in which edges may share a row.
    """

    upper: np.ndarray
    lower: np.ndarray
    sweeps: np.ndarray
    node: np.ndarray
    table: np.ndarray


def served(topology: Topology, data: PairData, largest: float) -> np.ndarray:
    """Which samples ``solve`` takes: finite potentials, at most ``largest``, and tables that vary little enough."""
    from palmette._kernels.pair_sums import find_served

    out = np.zeros(len(data.first_row), bool)
    find_served(PairPlan.of(topology), data, largest, out)
    return out


def solve(
    topology: Topology, data: PairData, samples: np.ndarray, weight: np.ndarray, tol: float, max_iter: int,
    node: np.ndarray, table: np.ndarray,
) -> PairAnswers:  # fmt: skip
    """The sums of some samples, their marginals times ``weight`` into ``node``, and added to ``table``."""
    from palmette._kernels.pair_sums import reweighted_pairs

    plan = PairPlan.of(topology)
    parts = len(data.first_row), len(plan.part_ptr) - 1
    out = PairAnswers(np.empty(parts), np.empty(parts), np.zeros(parts, np.int64), node, table)
    reweighted_pairs(plan, data, PairRun.of(plan), samples, weight, tol, max_iter, out)
    return out
