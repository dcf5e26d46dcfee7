"""Results of inference on a factor graph."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Maximum(NamedTuple):
    """An assignment of high score, and how good it is for certain.

    ``value <= max_y f(y) <= bound``; where ``exact`` the three are equal up to rounding. An infeasible graph has value
    ``-inf``.
    """

    codes: np.ndarray  # int32 (n_vars,)
    value: float  # f(codes)
    bound: float  # proven upper bound on the maximum, inf where there is none
    exact: bool
    method: str


class Sum(NamedTuple):
    """A log-partition and its marginals.

    ``bound`` is a proven upper bound on the log-partition (inf where there is none), equal to ``log_z`` where
    ``exact``. Tree-reweighted sums are upper bounds themselves; Bethe sums bound nothing.
    """

    log_z: float
    bound: float
    unary: np.ndarray  # (sum of cards,): marginals of the variables, as FactorGraph.unary
    factor: np.ndarray  # (sum of table sizes,): those of the factors, one table each, see Topology.table_ptr
    exact: bool
    method: str
    converged: bool = True


class Relaxation(NamedTuple):
    """A point of the local polytope, and the bound on the relaxed maximum that was proven with it.

    ``value = <theta, (unary, factor)> <= relaxed maximum <= bound``, and the exact maximum is never above ``bound``.
    Where ``integral`` the point is an assignment, and so an exact maximum if value and bound meet.
    """

    value: float
    bound: float
    unary: np.ndarray
    factor: np.ndarray
    integral: bool
    method: str
    converged: bool = True
