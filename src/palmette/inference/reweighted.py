"""Sums under a convex free energy: an upper bound on the log-partition whose gradient are its marginals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from palmette.inference.entropy import Entropy
from palmette.inference.factor_graph import FactorGraph, Topology
from palmette.inference.pair_sums import PairData, served, solve
from palmette.inference.results import Sum
from palmette.inference.slots import Slots, SumRun, is_forest, start_messages

LARGEST = 1e100  # size of potentials


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
    pairs = _pair_parts(graph, temperature, tol, max_iter, messages)
    if pairs is not None:
        return pairs
    run = SumRun.of(graph, messages, entropy.rho, temperature)
    upper, lower = np.empty(slots.n_parts), np.empty(slots.n_parts)
    sweeps = np.zeros(slots.n_parts, np.int64)
    kernels.reweighted_parts(
        slots, run, entropy.share, entropy.own, 1.0 / temperature, tol, max_iter, upper, lower, sweeps
    )
    marginals = run.mu_unary, run.mu_factor
    return PartSums(upper * temperature, lower * temperature, settled(upper, lower, tol), sweeps, *marginals)


def settled(upper: np.ndarray, lower: np.ndarray, tol: float) -> np.ndarray:
    """Whether bounds meet, relative to their size; -inf proves that there is nothing to sum."""
    with np.errstate(invalid="ignore"):
        return (upper - lower <= tol * np.maximum(1.0, abs(upper))) | (upper == -np.inf)


def _pair_parts(
    graph: FactorGraph, temperature: float, tol: float, max_iter: int, messages: np.ndarray | None
) -> PartSums | None:
    """Two states a variable and pairs alone; None for other graphs, and where tables vary too much."""
    topology = graph.topology
    if not topology.n_factors or not topology.has_binary_pairs:
        return None
    start = start_messages(Slots.of(topology), messages).reshape(-1, 2)
    table = graph.own_values.reshape(-1, 4)
    odds = (start[..., 1] - start[..., 0]).reshape(1, -1)
    data = PairData(
        np.ascontiguousarray(graph.unary.reshape(-1, 2)), table, np.arange(len(table)), np.zeros(1, np.int64),
        np.zeros(1, np.int64), 1.0 / temperature, odds,
    )  # fmt: skip
    if not served(topology, data, LARGEST)[0]:
        return None
    unary, factor = np.empty_like(data.node), np.zeros_like(table)
    found = solve(topology, data, np.zeros(1, np.int64), np.ones(1), tol, max_iter, unary, factor)
    if messages is not None:  # the better state of a message stands at 0
        messages[::2], messages[1::2] = np.minimum(0.0, -odds[0]), np.minimum(0.0, odds[0])
    upper, lower, sweeps = found.upper[0], found.lower[0], found.sweeps[0]
    return PartSums(
        upper * temperature,
        lower * temperature,
        settled(upper, lower, tol),
        sweeps,
        unary.ravel(),
        factor.ravel(),
    )


def _largest(values: np.ndarray) -> float:
    """The largest absolute value that is finite."""
    with np.errstate(invalid="ignore"):
        return float(np.max(abs(values), where=values > -np.inf, initial=0.0))
