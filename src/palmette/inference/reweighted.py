"""Sums under a convex free energy: an upper bound on the log-partition whose gradient are its marginals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from palmette.inference.factor_graph import FactorGraph, Topology
from palmette.inference.results import Sum
from palmette.inference.slots import Slots, SumRun, is_forest

# Steps a component may spend on search orders; above it not every variable is a root, which only costs tightness.
_EFFORT = 20_000_000
LARGEST = 1e100  # size of potentials


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
            shares(slots, _EFFORT, share, own)
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

    if not temperature > 0:
        raise ValueError(f"temperature is {temperature}, expected a number above 0")
    largest = max(_largest(graph.unary), _largest(graph.values))
    if largest > LARGEST:  # squares of messages would leave the range of a double
        raise ValueError(f"a potential is {largest:.3g} in size; reweighted sums take up to {LARGEST:g}")
    topology = graph.topology
    slots, entropy = Slots.of(topology), Entropy.of(topology)
    run = SumRun.of(graph, messages, entropy.rho, temperature)
    upper, lower = np.empty(slots.n_parts), np.empty(slots.n_parts)
    sweeps = np.zeros(slots.n_parts, np.int64)
    kernels.reweighted_parts(
        slots, run, entropy.share, entropy.own, 1.0 / temperature, tol, max_iter, upper, lower, sweeps
    )
    with np.errstate(invalid="ignore"):
        converged = (upper - lower <= tol * np.maximum(1.0, abs(upper))) | (upper == -np.inf)
    return PartSums(upper * temperature, lower * temperature, converged, sweeps, run.mu_unary, run.mu_factor)


def _largest(values: np.ndarray) -> float:
    """The largest absolute value that is finite."""
    with np.errstate(invalid="ignore"):
        return float(np.max(abs(values), where=values > -np.inf, initial=0.0))


def _minus_p_log_p(p: np.ndarray) -> np.ndarray:
    return np.where(p > 0, -p * np.log(np.where(p > 0, p, 1.0)), 0.0)
