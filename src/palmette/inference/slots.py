"""Factor graphs as the kernels of messages read them: flat arrays, a message for every slot."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.inference.factor_graph import FactorGraph, Topology


class Slots(NamedTuple):
    """A topology as kernels read it. A slot is a place in ``scope``: a variable of a factor.

    ``order[part_ptr[p]:part_ptr[p + 1]]`` are the variables of component p, in the order of its sweeps, ``position``
    their places in it; ``forward`` and ``backward`` say which messages have something new to hear in each direction.
    """

    cards: np.ndarray
    scope_ptr: np.ndarray
    scope: np.ndarray
    unary_ptr: np.ndarray
    table_ptr: np.ndarray
    slot_factor: np.ndarray
    var_ptr: np.ndarray
    var_slot: np.ndarray
    msg_ptr: np.ndarray
    order: np.ndarray
    position: np.ndarray
    part_ptr: np.ndarray
    forward: np.ndarray
    backward: np.ndarray

    @classmethod
    def of(cls, topology: Topology) -> Slots:
        """Computed once for each topology."""
        if "slots" not in topology.memory:
            topology.memory["slots"] = cls._build(topology)
        return topology.memory["slots"]

    @classmethod
    def _build(cls, topology: Topology) -> Slots:
        from palmette._kernels.reweighted_plan import components

        n_vars, scope, starts = topology.n_vars, topology.scope, topology.scope_ptr[:-1]
        given = (topology.cards, topology.scope_ptr, scope, topology.unary_ptr, topology.table_ptr)
        slot_factor = np.repeat(np.arange(topology.n_factors), topology.arity)
        var_slot = np.argsort(scope, kind="stable").astype(np.int64)
        var_ptr = np.concatenate([[0], np.cumsum(np.bincount(scope, minlength=n_vars))]).astype(np.int64)
        msg_ptr = np.concatenate([[0], np.cumsum(topology.cards[scope])]).astype(np.int64)
        order, position, none = np.empty(n_vars, np.int64), np.empty(n_vars, np.int64), np.zeros(0, bool)
        part_ptr = np.empty(n_vars + 1, np.int64)
        slots = cls(*given, slot_factor, var_ptr, var_slot, msg_ptr, order, position, part_ptr, none, none)
        n_parts = components(slots)
        position[order] = np.arange(n_vars)
        slots = slots._replace(part_ptr=part_ptr[: n_parts + 1].copy())
        if not topology.n_factors:
            return slots
        at = position[scope]
        return slots._replace(
            forward=at > np.minimum.reduceat(at, starts)[slot_factor],
            backward=at < np.maximum.reduceat(at, starts)[slot_factor],
        )

    @property
    def n_parts(self) -> int:
        """Number of connected components."""
        return len(self.part_ptr) - 1

    @property
    def n_messages(self) -> int:
        """Length of an array of messages."""
        return int(self.msg_ptr[-1])

    @property
    def widest(self) -> tuple[int, int]:
        """Most variables of a factor, and most states of a variable."""
        return int(np.diff(self.scope_ptr).max(initial=1)), int(self.cards.max(initial=1))


class SumRun(NamedTuple):
    """Potentials over the temperature, messages, what follows from them, and room for one factor.

    Tables are ``exp(scale_f values - top_f)`` where ``narrow``; ``inverse = exp(-messages)``, ``b`` and ``log_b`` are
    beliefs, ``mu_unary`` and ``mu_factor`` marginals.
    """

    unary: np.ndarray
    values: np.ndarray
    start: np.ndarray
    rho: np.ndarray
    scale: np.ndarray
    table: np.ndarray
    top: np.ndarray
    narrow: np.ndarray
    messages: np.ndarray
    inverse: np.ndarray
    log_b: np.ndarray
    b: np.ndarray
    mu_unary: np.ndarray
    mu_factor: np.ndarray
    codes: np.ndarray
    shape: np.ndarray
    other: np.ndarray
    out: np.ndarray
    rest: np.ndarray
    sums: np.ndarray
    wanted: np.ndarray

    @classmethod
    def of(
        cls, graph: FactorGraph, messages: np.ndarray | None, rho: np.ndarray, temperature: float = 1.0
    ) -> SumRun:
        """The run of a graph whose factors have the weights ``rho``, from given messages or zeros."""
        from palmette._kernels.reweighted_messages import exponentiate

        topology, slots = graph.topology, Slots.of(graph.topology)
        unary, values, start = graph.arrays
        n_factors, n_unary, n_table = topology.n_factors, len(unary), int(topology.table_ptr[-1])
        messages = start_messages(slots, messages)
        with np.errstate(over="ignore"):  # messages that leave the range of a double go through logarithms
            inverse = np.exp(-messages)
        tables = np.empty(n_table), np.empty(n_factors), np.empty(n_factors, bool)
        beliefs = np.empty(n_unary), np.empty(n_unary), np.zeros(n_unary), np.zeros(n_table)
        arity, states = slots.widest
        codes = np.zeros(arity, np.int64), np.zeros(arity, np.int64)
        rows = np.empty(states), np.empty(states), np.empty(states), np.empty(states)
        run = cls(
            unary / temperature, values, start, rho, 1.0 / (rho * temperature), *tables, messages, inverse, *beliefs,
            *codes, *rows, np.empty(arity * states),
        )  # fmt: skip
        exponentiate(slots, run)
        return run


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
