"""Sums under a convex free energy: an upper bound on the log-partition whose gradient are its marginals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from palmette.inference.factor_graph import FactorGraph, Topology
from palmette.inference.results import Sum

# Steps a component may spend on search orders; above it not every variable is a root, which only costs tightness.
_EFFORT = 20_000_000
LARGEST = 1e100  # size of potentials


@dataclass(frozen=True, eq=False)
class Slots:
    """A topology as kernels read it. A slot is a place in ``scope``: a variable of a factor.

    ``order[part_ptr[p]:part_ptr[p + 1]]`` are the variables of component p, in the order of its sweeps; ``forward``
    and ``backward`` say which messages have something new to hear in each direction.
    """

    slot_factor: np.ndarray
    var_ptr: np.ndarray
    var_slot: np.ndarray
    msg_ptr: np.ndarray
    order: np.ndarray
    part_ptr: np.ndarray
    forward: np.ndarray
    backward: np.ndarray
    widest: np.ndarray  # most variables of a factor, most states of a variable

    @classmethod
    def of(cls, topology: Topology) -> Slots:
        """Computed once for each topology."""
        if "slots" not in topology.memory:
            topology.memory["slots"] = cls._build(topology)
        return topology.memory["slots"]

    @classmethod
    def _build(cls, topology: Topology) -> Slots:
        from palmette._kernels.reweighted_plan import components

        slot_factor = np.repeat(np.arange(topology.n_factors), topology.arity)
        var_slot = np.argsort(topology.scope, kind="stable").astype(np.int64)
        counts = np.bincount(topology.scope, minlength=topology.n_vars)
        var_ptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        msg_ptr = np.concatenate([[0], np.cumsum(topology.cards[topology.scope])]).astype(np.int64)
        order, part_ptr = np.empty(topology.n_vars, np.int64), np.empty(topology.n_vars + 1, np.int64)
        n_parts = components(
            topology.scope_ptr, topology.scope, var_ptr, var_slot, slot_factor, order, part_ptr
        )
        position = np.empty(topology.n_vars, np.int64)
        position[order] = np.arange(topology.n_vars)
        forward = backward = np.zeros(0, bool)
        if topology.n_factors:
            at = position[topology.scope]
            forward = at > np.minimum.reduceat(at, topology.scope_ptr[:-1])[slot_factor]
            backward = at < np.maximum.reduceat(at, topology.scope_ptr[:-1])[slot_factor]
        widest = np.array([topology.arity.max(initial=1), topology.cards.max(initial=1)], np.int64)
        return cls(
            slot_factor,
            var_ptr,
            var_slot,
            msg_ptr,
            order,
            part_ptr[: n_parts + 1].copy(),
            forward,
            backward,
            widest,
        )

    @property
    def n_parts(self) -> int:
        """Number of connected components."""
        return len(self.part_ptr) - 1

    @property
    def n_messages(self) -> int:
        """Length of an array of messages."""
        return int(self.msg_ptr[-1])


@dataclass(frozen=True, eq=False)
class Entropy:
    """``H(mu) = sum_f rho_f H(mu_f) + sum_i (1 - sum_{f of i} rho_f) H(mu_i)``: concave, and never below the true
    entropy.

    The weights are those of a distribution over rooted trees (``palmette._kernels.reweighted_plan``): ``share[slot]``
    of factor f hangs on this variable, ``own[i]`` is the weight of variable i as a root, and
    ``H = sum_slots share (H(mu_f) - H(mu_i)) + sum_i own_i H(mu_i)``, so every term is concave. Exact on forests.

    Examples
    --------
    >>> square = Topology.from_scopes([2, 2, 2, 2], [(0, 1), (1, 2), (2, 3), (3, 0)])
    >>> Entropy.of(square).rho
    array([0.75, 0.75, 0.75, 0.75])
    """

    share: np.ndarray
    own: np.ndarray
    rho: np.ndarray

    @classmethod
    def of(cls, topology: Topology) -> Entropy:
        """Computed once for each topology."""
        if "entropy" not in topology.memory:
            from palmette._kernels.reweighted_plan import shares

            slots = Slots.of(topology)
            share, own = np.empty(len(topology.scope)), np.empty(topology.n_vars)
            shares(
                slots.order,
                slots.part_ptr,
                slots.n_parts,
                _EFFORT,
                topology.scope_ptr,
                topology.scope,
                slots.var_ptr,
                slots.var_slot,
                slots.slot_factor,
                share,
                own,
            )
            rho = np.bincount(slots.slot_factor, share, topology.n_factors)
            topology.memory["entropy"] = cls(share, own, rho)
        return topology.memory["entropy"]

    def value(self, topology: Topology, unary: np.ndarray, factor: np.ndarray) -> float:
        """``H(mu)`` of locally consistent marginals."""
        counts = 1.0 - np.bincount(topology.scope, np.repeat(self.rho, topology.arity), topology.n_vars)
        of_states = np.repeat(counts, topology.cards)
        of_entries = np.repeat(self.rho, topology.table_sizes)
        return float(np.sum(of_states * _minus_p_log_p(unary)) + np.sum(of_entries * _minus_p_log_p(factor)))


def n_messages(topology: Topology) -> int:
    """Length of the array of messages that ``reweighted_sum`` and ``relax`` start from and leave behind."""
    return Slots.of(topology).n_messages


def reweighted_sum(
    graph: FactorGraph,
    *,
    temperature: float = 1.0,
    tol: float = 1e-9,
    max_iter: int = 2000,
    messages: np.ndarray | None = None,
) -> Sum:
    """``F(theta) = max_mu <theta, mu> + t H(mu)`` over locally consistent marginals, H the reweighted ``Entropy``.

    F is convex, never below the log-partition (of ``theta / t``, times t), equal to it on forests, and its gradient
    are the marginals returned: objective and gradient of a learner belong together. The marginals are consistent to
    1e-12 whatever the number of sweeps, so ``<theta', mu> + t H(mu) <= F(theta')`` for every theta'.

    Parameters
    ----------
    graph : FactorGraph
    temperature : float
        t > 0; small values approach the linear program of ``relax``.
    tol : float
        Converged where the proven bounds on ``F / t`` of each component differ by ``tol * max(1, |F / t|)`` or less.
    max_iter : int
        Sweeps (each renews every message) at most.
    messages : ndarray of float64, shape (n_messages(topology),), optional
        Where to start, zeros at first; overwritten with the last messages. Saves most sweeps when theta has moved
        little.

    Returns
    -------
    Sum
        ``log_z`` is the upper bound that the messages prove.

    Examples
    --------
    >>> graph = FactorGraph.from_tables([2, 2], [((0,), [0.0, 1.0]), ((0, 1), [[0.0, 0.0], [0.0, 2.0]])])
    >>> result = reweighted_sum(graph)
    >>> round(result.log_z, 9) == round(float(np.log(2 + np.exp(1) + np.exp(3))), 9)
    True
    """
    run = reweighted_parts(graph, temperature=temperature, tol=tol, max_iter=max_iter, messages=messages)
    bound = float(run.upper.sum())
    exact = bool(run.converged.all()) and is_forest(graph.topology)
    return Sum(bound, bound, run.unary, run.factor, exact, "reweighted", bool(run.converged.all()))


@dataclass(frozen=True, eq=False)
class PartSums:
    """The answers of ``reweighted_sum`` by connected component (``Slots.part_ptr``): bounds, convergence, sweeps."""

    upper: np.ndarray
    lower: np.ndarray
    converged: np.ndarray
    sweeps: np.ndarray
    unary: np.ndarray
    factor: np.ndarray


def reweighted_parts(
    graph: FactorGraph,
    *,
    temperature: float = 1.0,
    tol: float = 1e-9,
    max_iter: int = 2000,
    messages: np.ndarray | None = None,
) -> PartSums:
    """As ``reweighted_sum``, component by component: a batch of graphs is one graph of many components."""
    from palmette._kernels import reweighted_sum as kernels
    from palmette._kernels.reweighted_messages import exponentiate

    if not temperature > 0:
        raise ValueError(f"temperature is {temperature}, expected a number above 0")
    largest = max(_largest(graph.unary), _largest(graph.values))
    if largest > LARGEST:  # squares of messages would leave the range of a double
        raise ValueError(f"a potential is {largest:.3g} in size; reweighted sums take up to {LARGEST:g}")
    topology = graph.topology
    slots, entropy = Slots.of(topology), Entropy.of(topology)
    messages = start_messages(slots, messages)
    rho, table_ptr = entropy.rho, topology.table_ptr
    scale = 1.0 / (rho * temperature)
    table, top, narrow = (
        np.empty(table_ptr[-1]),
        np.empty(topology.n_factors),
        np.empty(topology.n_factors, bool),
    )
    values = np.ascontiguousarray(graph.values, np.float64)
    start = np.ascontiguousarray(graph.start, np.int64)
    exponentiate(topology.scope_ptr, table_ptr, values, start, scale, table, top, narrow)
    unary = graph.unary / temperature
    log_b, b = np.empty(len(unary)), np.empty(len(unary))
    mu_unary, mu_factor = np.zeros(len(unary)), np.zeros(table_ptr[-1])
    upper, lower = np.empty(slots.n_parts), np.empty(slots.n_parts)
    sweeps = np.zeros(slots.n_parts, np.int64)
    with np.errstate(over="ignore"):  # messages that leave the range of a double go through logarithms
        inverse = np.exp(-messages)
    kernels.reweighted_parts(
        0,
        slots.n_parts,
        slots.order,
        slots.part_ptr,
        slots.forward,
        slots.backward,
        entropy.share,
        entropy.own,
        rho,
        topology.cards,
        topology.scope_ptr,
        topology.scope,
        values,
        start,
        scale,
        table_ptr,
        table,
        top,
        narrow,
        unary,
        topology.unary_ptr,
        slots.var_ptr,
        slots.var_slot,
        slots.slot_factor,
        slots.msg_ptr,
        messages,
        inverse,
        log_b,
        b,
        slots.widest,
        1.0 / temperature,
        tol,
        max_iter,
        mu_unary,
        mu_factor,
        upper,
        lower,
        sweeps,
    )
    with np.errstate(invalid="ignore"):
        converged = (upper - lower <= tol * np.maximum(1.0, abs(upper))) | (upper == -np.inf)
    return PartSums(upper * temperature, lower * temperature, converged, sweeps, mu_unary, mu_factor)


def _largest(values: np.ndarray) -> float:
    """The largest absolute value that is finite."""
    with np.errstate(invalid="ignore"):
        return float(np.max(abs(values), where=values > -np.inf, initial=0.0))


def is_forest(topology: Topology) -> bool:
    """Whether variables and factors have no loop, so that messages are exact."""
    slots = Slots.of(topology)
    return topology.n_vars + topology.n_factors - len(topology.scope) == slots.n_parts


def start_messages(slots: Slots, messages: np.ndarray | None) -> np.ndarray:
    """Messages to begin with: those given, checked, or zeros."""
    if messages is None:
        return np.zeros(slots.n_messages)
    if (
        messages.shape != (slots.n_messages,)
        or messages.dtype != np.float64
        or not messages.flags.c_contiguous
    ):
        raise ValueError(
            f"messages has shape {messages.shape} and type {messages.dtype}, expected contiguous float64 "
            f"({slots.n_messages},), see n_messages(topology)"
        )
    # what a former graph forbade may be allowed now
    messages[~np.isfinite(messages)] = 0.0
    return messages


def _minus_p_log_p(p: np.ndarray) -> np.ndarray:
    return np.where(p > 0, -p * np.log(np.where(p > 0, p, 1.0)), 0.0)
