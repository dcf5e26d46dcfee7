"""The entropy of tree-reweighted sums."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from palmette.inference.factor_graph import Topology
from palmette.inference.slots import Slots

# Steps a component may spend on search orders; above it not every variable is a root, which only costs tightness.
_EFFORT = 20_000_000


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


def _minus_p_log_p(p: np.ndarray) -> np.ndarray:
    return np.where(p > 0, -p * np.log(np.where(p > 0, p, 1.0)), 0.0)
