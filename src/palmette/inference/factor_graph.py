"""Factor graphs: variables with any number of states, and tables over any of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from threading import Lock
from typing import Any
from weakref import WeakValueDictionary

import numpy as np


@dataclass(frozen=True, eq=False)
class Topology:
    """Which variables there are and which of them share a factor; all that does not change with the potentials.

    What is computed from it once (orders, trees, cliques) is kept in ``memory``, by name, so that repeated inference on
    the same graph does not pay for it again.

    Parameters
    ----------
    cards : ndarray of int64, shape (n_vars,)
        Number of states of every variable, at least 1.
    scope_ptr : ndarray of int64, shape (n_factors + 1,)
    scope : ndarray of int64
        Factor f stands on the distinct variables ``scope[scope_ptr[f]:scope_ptr[f + 1]]``, two or more.

    Examples
    --------
    >>> square = Topology.from_scopes([2, 2, 2, 2], [(0, 1), (1, 2), (2, 3), (3, 0)])
    >>> square.n_factors, square.table_ptr
    (4, array([ 0,  4,  8, 12, 16]))
    """

    cards: np.ndarray
    scope_ptr: np.ndarray
    scope: np.ndarray

    @classmethod
    def from_scopes(cls, cards: Iterable[int], scopes: Sequence[Sequence[int]]) -> Topology:
        """From lists; refuses what is not a graph."""
        ptr = np.zeros(len(scopes) + 1, np.int64)
        np.cumsum([len(scope) for scope in scopes], out=ptr[1:])
        flat = np.array([v for scope in scopes for v in scope], np.int64)
        topology = cls(np.array(list(cards), np.int64), ptr, flat)
        topology.check()
        return topology

    @classmethod
    def shared(cls, cards: np.ndarray, scope_ptr: np.ndarray, scope: np.ndarray) -> Topology:
        """The same object for the same arrays as long as one is in use: graphs of a shape share its ``memory``."""
        new = cls(cards, scope_ptr, scope)
        with _ENTERING:
            return _IN_USE.setdefault(new.key, new)

    def check(self) -> None:
        """Refuse variables without states, and scopes that are too short, out of range or name a variable twice."""
        empty = np.flatnonzero(self.cards < 1)
        if len(empty):
            raise ValueError(f"variable {empty[0]} has {self.cards[empty[0]]} states, expected at least 1")
        outside = np.flatnonzero((self.scope < 0) | (self.scope >= self.n_vars))
        if len(outside):
            factor = int(np.searchsorted(self.scope_ptr, outside[0], side="right")) - 1
            raise ValueError(
                f"factor {factor} names variable {self.scope[outside[0]]}, but there are {self.n_vars} (from 0)"
            )
        for f in range(self.n_factors):
            scope = self.scope_of(f)
            if len(scope) < 2:
                raise ValueError(f"factor {f} has {len(scope)} variables; tables of one belong into unary")
            if len(np.unique(scope)) < len(scope):
                raise ValueError(f"factor {f} names a variable twice: {scope.tolist()}")

    @property
    def n_vars(self) -> int:
        """Number of variables."""
        return len(self.cards)

    @property
    def n_factors(self) -> int:
        """Number of factors, those of one variable (``FactorGraph.unary``) not counted."""
        return len(self.scope_ptr) - 1

    @cached_property
    def key(self) -> tuple[bytes, bytes, bytes]:
        """What topologies of the same shape have in common."""
        return self.cards.tobytes(), self.scope_ptr.tobytes(), self.scope.tobytes()

    @cached_property
    def arity(self) -> np.ndarray:
        """Number of variables of every factor."""
        return np.diff(self.scope_ptr)

    @cached_property
    def has_binary_pairs(self) -> bool:
        """Whether all variables have two states, and all factors two variables."""
        return bool(np.all(self.cards == 2) and np.all(self.arity == 2))

    @cached_property
    def unary_ptr(self) -> np.ndarray:
        """Where the states of each variable begin in ``FactorGraph.unary``, int64 (n_vars + 1,)."""
        return np.concatenate([[0], np.cumsum(self.cards)]).astype(np.int64)

    @cached_property
    def table_sizes(self) -> np.ndarray:
        """Number of entries of every factor's table, int64."""
        if not self.n_factors:
            return np.empty(0, np.int64)
        return np.multiply.reduceat(self.cards[self.scope], self.scope_ptr[:-1])

    @cached_property
    def table_ptr(self) -> np.ndarray:
        """Where the tables begin when every factor has one of its own, int64 (n_factors + 1,)."""
        return np.concatenate([[0], np.cumsum(self.table_sizes)]).astype(np.int64)

    @cached_property
    def memory(self) -> dict[Any, Any]:
        """What methods of inference computed from the topology alone, by name."""
        return {}

    def scope_of(self, f: int) -> np.ndarray:
        """Variables of factor f."""
        return self.scope[self.scope_ptr[f] : self.scope_ptr[f + 1]]

    def shape_of(self, f: int) -> tuple[int, ...]:
        """Shape of the table of factor f."""
        return tuple(self.cards[self.scope_of(f)].tolist())


_IN_USE: WeakValueDictionary[tuple[bytes, bytes, bytes], Topology] = WeakValueDictionary()
_ENTERING = Lock()  # looking up and entering are two steps


@dataclass(frozen=True, eq=False)
class FactorGraph:
    """``f(y) = sum_i unary_i(y_i) + sum_f table_f(y_scope(f))``: logarithms of potentials, -inf for what is forbidden.

    Parameters
    ----------
    topology : Topology
    unary : ndarray of float64, shape (sum of cards,)
        State k of variable i stands at ``topology.unary_ptr[i] + k``.
    values : ndarray of float64
        Tables in C order: the last variable of the scope changes fastest.
    start : ndarray of int64, shape (n_factors,)
        The table of factor f is ``values[start[f]:start[f] + table_sizes[f]]``; factors may share one.

    Examples
    --------
    >>> graph = FactorGraph.from_tables([2, 2], [((0,), [0.0, 1.0]), ((0, 1), [[0.0, 0.0], [0.0, 2.0]])])
    >>> graph.score(np.array([1, 1]))
    3.0
    """

    topology: Topology
    unary: np.ndarray
    values: np.ndarray
    start: np.ndarray

    @classmethod
    def from_tables(cls, cards: Sequence[int], tables: Sequence[tuple[Sequence[int], object]]) -> FactorGraph:
        """From ``(scope, log table)`` pairs; those of one variable are added up, those of none are refused."""
        given = [(tuple(scope), np.asarray(table, float)) for scope, table in tables]
        wide = [(scope, table) for scope, table in given if len(scope) != 1]
        topology = Topology.from_scopes([int(card) for card in cards], [scope for scope, _ in wide])
        unary = np.zeros(topology.unary_ptr[-1])
        for t, (scope, table) in enumerate(given):
            _check_table(topology, t, scope, table)
            if len(scope) == 1:
                unary[topology.unary_ptr[scope[0]] : topology.unary_ptr[scope[0] + 1]] += table
        values = np.concatenate([table.ravel() for _, table in wide]) if wide else np.empty(0)
        return cls(topology, unary, values, topology.table_ptr[:-1].copy())

    @property
    def n_vars(self) -> int:
        """Number of variables."""
        return self.topology.n_vars

    @cached_property
    def own_values(self) -> np.ndarray:
        """The tables one after the other, one for each factor, as ``Topology.table_ptr`` says."""
        sizes, ptr = self.topology.table_sizes, self.topology.table_ptr
        if len(self.values) == ptr[-1] and np.array_equal(self.start, ptr[:-1]):
            return self.values
        return self.values[np.repeat(self.start - ptr[:-1], sizes) + np.arange(ptr[-1])]

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """``unary``, ``values`` and ``start`` as kernels take them."""
        return (
            np.ascontiguousarray(self.unary, np.float64),
            np.ascontiguousarray(self.values, np.float64),
            np.ascontiguousarray(self.start, np.int64),
        )

    def table(self, f: int) -> np.ndarray:
        """The table of factor f, one axis per variable of its scope."""
        size = int(self.topology.table_sizes[f])
        return self.values[self.start[f] : self.start[f] + size].reshape(self.topology.shape_of(f))

    def score(self, codes: np.ndarray) -> float:
        """``f(codes)``."""
        topology, codes = self.topology, np.asarray(codes)
        total = float(self.unary[topology.unary_ptr[:-1] + codes].sum())
        if not topology.n_factors:
            return total
        return total + float(self.values[self.start + entries(topology, codes)].sum())

    def dot(self, unary: np.ndarray, factor: np.ndarray) -> float:
        """``<theta, (unary, factor)>`` for marginals or counts; -inf times 0 is 0."""
        return _dot(self.unary, unary) + _dot(self.own_values, factor)

    def conditioned(self, evidence: dict[int, int]) -> FactorGraph:
        """The same graph with some variables fixed: their other states get -inf."""
        unary = self.unary.copy()
        for i, k in evidence.items():
            if not (0 <= i < self.n_vars and 0 <= k < self.topology.cards[i]):
                raise ValueError(f"evidence: variable {i} has no state {k}")
            own = slice(self.topology.unary_ptr[i], self.topology.unary_ptr[i + 1])
            kept = unary[own][k]
            unary[own] = -np.inf
            unary[own.start + k] = kept
        return replace(self, unary=unary)


def _check_table(topology: Topology, t: int, scope: tuple[Any, ...], table: np.ndarray) -> None:
    """Refuse a table of another shape than its scope says, and numbers that are no logarithms of potentials."""
    if len(scope) == 1 and not 0 <= scope[0] < topology.n_vars:
        raise ValueError(f"table {t} names variable {scope[0]}, but there are {topology.n_vars} (from 0)")
    shape = tuple(topology.cards[list(scope)].tolist())
    if table.shape != shape:
        raise ValueError(f"table {t}, of {list(scope)}: its shape is {table.shape}, expected {shape}")
    if not np.all(table < np.inf):  # NaN neither
        place = tuple(int(k) for k in np.argwhere(~(table < np.inf))[0])
        raise ValueError(
            f"table {t}, of {list(scope)}: entry {list(place)} is {table[place]}; entries are logarithms, -inf for "
            "what is forbidden"
        )


def entries(topology: Topology, codes: np.ndarray) -> np.ndarray:
    """Place of an assignment in the table of every factor, int64 (n_factors,).

    >>> entries(Topology.from_scopes([2, 3], [(0, 1), (1, 0)]), np.array([1, 2]))
    array([5, 5])
    """
    out = np.zeros(topology.n_factors, np.int64)
    for place in range(int(topology.arity.max(initial=0))):
        has = np.flatnonzero(topology.arity > place)
        variable = topology.scope[topology.scope_ptr[has] + place]
        out[has] = out[has] * topology.cards[variable] + codes[variable]
    return out


def _dot(a: np.ndarray, b: np.ndarray) -> float:
    with np.errstate(invalid="ignore"):
        return float(np.sum(np.where((a == 0) | (b == 0), 0.0, a * b)))
