"""Factors over many variables that need no table of all their states: automata, unrolled into small tables.

A factor that reads its variables one after the other and remembers one of a few states (an automaton) becomes a chain
of auxiliary variables, one after each variable, with tables ``(state before, variable, state after)`` that allow only
what the automaton does. Given the variables, the auxiliary ones have exactly one possible value, so maxima, sums and
samples stay what they are: every assignment counts once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from palmette.inference.factor_graph import FactorGraph, Topology


@dataclass(frozen=True, eq=False)
class Automaton:
    """A score of ``y_1 .. y_n`` that depends on the last state of ``s_t = step_t[s_{t-1}, y_t]``, s_0 = 0.

    Parameters
    ----------
    variables : tuple of int
        Two or more, all different.
    steps : tuple of ndarray of int64
        ``steps[t][s, k]`` is the state after state s and label k of variable t, -1 where that is forbidden.
    final : ndarray of float64
        Score of each state at the end.
    """

    variables: tuple[int, ...]
    steps: tuple[np.ndarray, ...]
    final: np.ndarray

    def score(self, codes: np.ndarray) -> float:
        """The score of an assignment, by definition."""
        state = 0
        for variable, step in zip(self.variables, self.steps):
            state = int(step[state, codes[variable]])
            if state < 0:
                return -np.inf
        return float(self.final[state])


def at_most_one(
    variables: Sequence[int], label: int, cards: Sequence[int], *, score: float = -np.inf
) -> Automaton:
    """0 where at most one of the variables has the label, else ``score`` (forbidden by default).

    >>> [at_most_one([0, 1], 1, [2, 2]).score(np.array(y)) for y in ([0, 0], [0, 1], [1, 1])]
    [0.0, 0.0, -inf]
    """
    return _counting(variables, label, cards, [0, 1, 2], [1, 2, 2], [0.0, 0.0, score])


def parity(
    variables: Sequence[int], label: int, cards: Sequence[int], *, even: float = 0.0, odd: float = -np.inf
) -> Automaton:
    """``even`` or ``odd``, by the number of variables that have the label.

    >>> [parity([0, 1], 1, [2, 2]).score(np.array(y)) for y in ([0, 0], [0, 1], [1, 1])]
    [0.0, -inf, 0.0]
    """
    return _counting(variables, label, cards, [0, 1], [1, 0], [even, odd])


def potts(
    variables: Sequence[int], cards: Sequence[int], agree: Sequence[float], *, otherwise: float = 0.0
) -> Automaton:
    """``agree[k]`` where all variables have label k, else ``otherwise``.

    >>> [potts([0, 1], [2, 2], [1.0, 3.0]).score(np.array(y)) for y in ([0, 0], [0, 1], [1, 1])]
    [1.0, 0.0, 3.0]
    """
    n_labels = len(agree)
    step = []
    for t, card in enumerate(_cards(variables, cards)):
        # states: label seen so far, then "mixed"; the first variable decides from state 0
        table = np.full((n_labels + 1, card), n_labels)
        for k in range(min(card, n_labels)):
            if t == 0:
                table[0, k] = k
            else:
                table[k, k] = k
        step.append(table)
    return Automaton(tuple(variables), tuple(step), np.array([*agree, otherwise], float))


def robust_potts(
    variables: Sequence[int], label: int, cards: Sequence[int], *, slope: float, most: float
) -> Automaton:
    """``max(-most, -slope * number of variables without the label)``: disagreement costs, up to a limit.

    >>> cost = robust_potts([0, 1, 2], 1, [2, 2, 2], slope=1.0, most=1.5)
    >>> [cost.score(np.array(y)) for y in ([1, 1, 1], [1, 0, 1], [0, 0, 0])]
    [0.0, -1.0, -1.5]
    """
    if not (slope > 0 and most >= 0):
        raise ValueError(f"robust_potts needs slope > 0 and most >= 0, got slope={slope}, most={most}")
    count = np.arange(min(len(variables), int(np.ceil(most / slope))) + 1)
    final = np.maximum(-most, 0.0 - slope * count)
    return _counting(variables, label, cards, np.minimum(count + 1, count[-1]), count, final)


@dataclass(frozen=True, eq=False)
class Extension:
    """A graph with the auxiliary variables of its automata, which come after the ``n_vars`` original ones.

    The tables of the original factors come first too, so marginals of the original graph are the beginnings of those
    of the extended one: ``unary[:n_states]`` and ``factor[:n_entries]``.
    """

    graph: FactorGraph
    n_vars: int
    n_states: int
    n_entries: int

    def codes(self, codes: np.ndarray) -> np.ndarray:
        """The assignment of the original variables."""
        return codes[: self.n_vars]


def extend(graph: FactorGraph, automata: Sequence[Automaton]) -> Extension:
    """The graph with automata added to its score, compiled into auxiliary variables and tables.

    Examples
    --------
    >>> from palmette.inference.bounded_max import bounded_max
    >>> graph = FactorGraph.from_tables([2, 2, 2], [((i,), [0.0, 1.0 + i]) for i in range(3)])
    >>> one = extend(graph, [at_most_one([0, 1, 2], 1, graph.topology.cards)])
    >>> one.codes(bounded_max(one.graph).codes)
    array([0, 0, 1], dtype=int32)
    """
    topology = graph.topology
    cards, scopes, tables = topology.cards.tolist(), [], []
    for number, automaton in enumerate(automata):
        _check(number, automaton, topology)
        before = -1
        for t, (variable, step) in enumerate(zip(automaton.variables, automaton.steps)):
            step = step[:1] if t == 0 else step
            last = t == len(automaton.steps) - 1
            entry = np.where(step >= 0, 0.0, -np.inf)
            if last:  # the score needs no state after it
                table = entry + automaton.final[np.maximum(step, 0)]
                scope: tuple[int, ...] = (before, variable)
            else:
                table = np.full((*step.shape, len(automaton.final)), -np.inf)
                np.put_along_axis(table, np.maximum(step, 0)[:, :, None], entry[:, :, None], axis=2)
                scope = (before, variable, len(cards))
                cards.append(len(automaton.final))
            if t == 0:
                table, scope = table[0], scope[1:]
            scopes.append(scope)
            tables.append(table.ravel())
            before = len(cards) - 1
    more = Topology.from_scopes(cards, scopes)
    whole = Topology(
        more.cards,
        np.concatenate([topology.scope_ptr, more.scope_ptr[1:] + len(topology.scope)]),
        np.concatenate([topology.scope, more.scope]),
    )
    extra = np.zeros(int(sum(cards[topology.n_vars :])))
    values = np.concatenate([graph.values, *tables])
    start = np.concatenate([graph.start, len(graph.values) + more.table_ptr[:-1]]).astype(np.int64)
    extended = FactorGraph(whole, np.concatenate([graph.unary, extra]), values, start)
    return Extension(extended, topology.n_vars, len(graph.unary), int(topology.table_ptr[-1]))


def _counting(
    variables: Sequence[int],
    label: int,
    cards: Sequence[int],
    other: ArrayLike,
    own: ArrayLike,
    final: ArrayLike,
) -> Automaton:
    """The automaton whose state s becomes ``own[s]`` at the label and ``other[s]`` at the others."""
    steps = []
    for card in _cards(variables, cards):
        table = np.tile(np.asarray(other)[:, None], (1, card))
        if label < card:
            table[:, label] = own
        steps.append(table)
    return Automaton(tuple(variables), tuple(steps), np.asarray(final, float))


def _cards(variables: Sequence[int], cards: Sequence[int]) -> list[int]:
    return [int(cards[i]) for i in variables]


def _check(number: int, automaton: Automaton, topology: Topology) -> None:
    names = automaton.variables
    if len(names) < 2 or len(set(names)) < len(names):
        raise ValueError(
            f"structured factor {number} stands on {list(names)}, expected two or more different variables"
        )
    for variable, step in zip(names, automaton.steps):
        if not 0 <= variable < topology.n_vars:
            raise ValueError(
                f"structured factor {number} names variable {variable}, but there are {topology.n_vars}"
            )
        if step.shape != (len(automaton.final), topology.cards[variable]):
            raise ValueError(
                f"structured factor {number}: the step of variable {variable} has shape {step.shape}, expected "
                f"({len(automaton.final)}, {topology.cards[variable]})"
            )
