"""Chains in which some labels may not follow each other, begin a sequence or end it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from palmette.data.span_encodings import ENCODINGS, Transitions, allowed_transitions
from palmette.structures.chain.chain import Chain
from palmette.structures.positions.tables import ChainTables, combine


class ConstrainedChain(Chain):
    """A chain bound to labels, with ``allowed`` turned into tables (:meth:`palmette.structures.Chain.bind`).

    Forbidden pairs, starts and ends are -inf in the potentials, so that no answer has them and no sum counts them.

    Parameters
    ----------
    chain : Chain
        With an ``allowed``.
    classes : sequence
        The labels, in the order of their codes.

    Attributes
    ----------
    rules : palmette.data.span_encodings.Transitions
        Tables ``start`` (labels,), ``transition`` (labels, labels) and ``end`` (labels,) of bool.

    Examples
    --------
    >>> bound = ConstrainedChain(Chain(allowed=[("a", "b"), ("b", "a"), ("b", None)]), ["a", "b"])
    >>> theta = ChainTables(np.zeros((3, 2)), np.zeros((1, 2, 2)), np.array([0, 3]))
    >>> [codes.tolist() for codes, _ in bound.k_best(theta, 8)[0]]  # b, a in turn, b at the end
    [[1, 0, 1]]
    """

    compiled_as = "constrained chain"

    def __init__(self, chain: Chain, classes: Sequence[Any]) -> None:
        super().__init__(chain.order, chain.allowed)
        self.chain = chain
        self.classes = tuple(classes)
        self.rules = resolve(chain.allowed, self.classes)

    @property
    def _limit(self) -> str:
        """What can leave a sample without an output, and what to do about it, for messages."""
        labels = ", ".join(map(repr, self.classes))
        return (
            f"allowed={self.allowed!r:.60} with the labels {labels:.200} (and the restriction, if there is one); allow "
            "more label pairs, or declare labels that training lacks with classes=..."
        )

    def _combine(self, theta: Any, cost: Any, within: Any, sign: float = 1.0) -> ChainTables:
        return constrained(combine(theta, cost, within, sign), self.rules)

    def score(self, theta: Any, codes: Any, *, cost: Any = None, within: Any = None) -> np.ndarray:
        """Score plus cost of given outputs; -inf for one that the rules or the restriction forbid."""
        # no copy of the tables for one path
        values = Chain(self.order).score(theta, codes, cost=cost, within=within)
        rows = [row for row, _ in _violations(np.asarray(codes), theta.offsets, self.rules)]
        values[np.searchsorted(theta.offsets, rows, side="right") - 1] = -np.inf
        return values

    def check_outputs(self, codes: np.ndarray, offsets: np.ndarray, batch: Any = None) -> None:
        """Raise ValueError at the first label that may not stand where it does; -1 is any label."""
        codes = np.asarray(codes)
        wrong = _violations(codes, np.asarray(offsets), self.rules)
        if not wrong:
            return
        row, how = min(wrong)
        sample = int(np.searchsorted(offsets, row, side="right")) - 1
        label, before = self.classes[codes[row]], self.classes[codes[row - 1]]
        raise ValueError(
            f"y[{sample}][{row - offsets[sample]}]: {label!r} {how.format(before)} is not allowed by the structure's "
            f"allowed={self.allowed!r:.60} ({len(wrong)} such places in all); {self._remedy()}"
        )

    def _remedy(self) -> str:
        if isinstance(self.allowed, str):
            name = self.allowed.upper()
            return f'repair the labels: palmette.data.convert_spans(y, "{name}", "{name}", invalid="repair")'
        return "correct the labels, or allow it"


def resolve(allowed: Any, classes: tuple[Any, ...]) -> Transitions:
    """What ``allowed`` says of the labels ``classes``, as tables.

    >>> resolve([("a", "b")], ("a", "b")).transition
    array([[False,  True],
           [False, False]])
    """
    n = len(classes)
    if isinstance(allowed, str):
        if allowed.upper() not in ENCODINGS:
            raise ValueError(
                f"allowed={allowed!r} is not a span encoding; known: {', '.join(ENCODINGS)}. Or give pairs of labels."
            )
        return allowed_transitions(classes, allowed.upper())
    if isinstance(allowed, np.ndarray):
        allowed = (np.ones(n, bool), allowed, np.ones(n, bool))
    try:
        allowed = list(allowed)
    except TypeError:
        raise TypeError(
            f"allowed must be the name of a span encoding, a list of label pairs, or tables, got {allowed!r}"
        ) from None
    if len(allowed) == 3 and all(isinstance(table, np.ndarray) for table in allowed):
        return _tables(allowed, n)
    return _from_pairs(allowed, classes)


def _tables(tables: list[np.ndarray], n: int) -> Transitions:
    for name, table, shape in zip(Transitions._fields, tables, ((n,), (n, n), (n,))):
        if table.dtype != bool or table.shape != shape:
            raise ValueError(
                f"allowed: the table of {name} must be bool of shape {shape} for {n} classes, got {table.dtype} "
                f"of shape {table.shape}"
            )
    return Transitions(*tables)


def _from_pairs(pairs: list[Any], classes: tuple[Any, ...]) -> Transitions:
    if None in classes:
        raise ValueError("allowed: None is a label here and cannot stand for start and end; give tables")
    code = {label: k for k, label in enumerate(classes)}
    n = len(classes)
    table = np.zeros((n + 1, n + 1), bool)  # the last row is the start, the last column the end
    for pair in pairs:
        if not (isinstance(pair, list | tuple) and len(pair) == 2):
            raise ValueError(f"allowed must hold pairs of labels, found {pair!r:.60}")
        left, right = (_hashable(label) for label in pair)
        for label in (left, right):
            if label is not None and label not in code:
                raise ValueError(
                    f"allowed names {label!r}, which is not a label; known labels: {list(classes)}. Declare labels "
                    "that training lacks with classes=..."
                )
        table[code.get(left, n), code.get(right, n)] = True
    start, end = table[n, :n], table[:n, n]
    return Transitions(start if start.any() else ~start, table[:n, :n], end if end.any() else ~end)


def _hashable(label: Any) -> Any:
    """Labels that are tuples come back from a model file as lists."""
    return tuple(map(_hashable, label)) if isinstance(label, list) else label


def constrained(tables: ChainTables, rules: Transitions) -> ChainTables:
    """The tables with -inf on what the rules forbid."""
    if len(rules.start) != tables.n_labels:
        raise ValueError(
            f"the structure is bound to {len(rules.start)} labels, the potentials have {tables.n_labels}"
        )
    node = tables.node
    if len(tables) and not (rules.start.all() and rules.end.all()):
        node = node.copy()
        starts, ends = tables.offsets[:-1], tables.offsets[1:] - 1
        node[starts] = np.where(rules.start, node[starts], -np.inf)
        node[ends] = np.where(rules.end, node[ends], -np.inf)
    return replace(tables, node=node, edge=np.where(rules.transition, tables.edge, -np.inf))


def _violations(codes: np.ndarray, offsets: np.ndarray, rules: Transitions) -> list[tuple[int, str]]:
    """Rows that break a rule and which one; a pair counts at its right row."""
    starts, ends = offsets[:-1], offsets[1:] - 1
    right = np.delete(np.arange(len(codes)), starts)
    right = right[(codes[right] >= 0) & (codes[right - 1] >= 0)]
    starts, ends = starts[codes[starts] >= 0], ends[codes[ends] >= 0]
    broken = (
        ("at the start of a sequence", starts[~rules.start[codes[starts]]]),
        ("after {!r}", right[~rules.transition[codes[right - 1], codes[right]]]),
        ("at the end of a sequence", ends[~rules.end[codes[ends]]]),
    )
    return [(row, how) for how, rows in broken for row in rows.tolist()]
