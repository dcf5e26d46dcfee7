"""Chains of second order and chains with forbidden transitions, by definition."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import cycle
from typing import Any

import numpy as np

from palmette.structures.positions.tables import ChainTables, Restriction
from palmette.testing.chain_instances import EXACT, FINITE, KINDS, draw_chains
from palmette.testing.chain_reference import ChainReference
from palmette.testing.reference import Cost, Instance, Limit


class SecondOrderReference(ChainReference):
    """Label sequences with node, edge and triple tables; the new parts are ``("triple", t, label, label, label)``.

    Examples
    --------
    >>> import numpy as np
    >>> triple = np.zeros((1, 2, 2, 2)); triple[0, 0, 1, 0] = 1.0
    >>> theta = ChainTables(np.zeros((3, 2)), np.zeros((1, 2, 2)), np.array([0, 3]), triple)
    >>> reference = SecondOrderReference()
    >>> [y for y in reference.outputs(theta, 0) if reference.score(theta, 0, y) > 0]
    [(0, 1, 0)]
    """

    def instances(self, rng: np.random.Generator) -> Iterator[Instance]:
        """One batch of each kind of first-order instances, with triples drawn alike."""
        for name, scores, usual_labels, usual_lengths, shared in KINDS:
            n_labels, lengths = self.n_labels or usual_labels, self.lengths or usual_lengths
            theta = draw_chains(rng, scores, n_labels, lengths, shared)
            drawn = [
                draw(rng, (max(length - 2, 0), *(n_labels,) * 3))
                for draw, length in zip(cycle(scores), lengths)
            ]
            triple = scores[0](rng, (1, *(n_labels,) * 3)) if shared else np.concatenate(drawn)
            theta = replace(theta, triple=triple)
            planted = ChainReference().plant(rng, replace(theta, triple=None))
            for s, y in enumerate(self.unpack(theta, planted)):
                for part in self._triples(y):
                    at = _place(theta, s, part)
                    triple[at] = np.maximum(triple[at], FINITE)  # some output of each sample is not forbidden
            yield Instance(name, theta, exact=scores[0] in EXACT)

    def zeros(self, theta: ChainTables) -> ChainTables:
        """The same shape, all potentials 0."""
        return replace(
            super().zeros(theta), triple=None if theta.triple is None else np.zeros_like(theta.triple)
        )

    def select(self, theta: ChainTables, samples: Sequence[int]) -> ChainTables:
        """Tables of some samples."""
        return replace(super().select(theta, samples), triple=_select(theta, theta.triple, samples))

    def parts(self, theta: ChainTables, s: int, y: tuple[int, ...]) -> list[tuple[Any, ...]]:
        """A part for every position, pair and triple of neighbours."""
        return super().parts(theta, s, y) + self._triples(y)

    def _triples(self, y: tuple[int, ...]) -> list[tuple[Any, ...]]:
        return [("triple", t, *labels) for t, labels in enumerate(zip(y, y[1:], y[2:]))]

    def part_score(self, theta: ChainTables, s: int, part: tuple[Any, ...]) -> float:
        """The potential of one part."""
        if part[0] != "triple":
            return super().part_score(theta, s, part)
        return 0.0 if theta.triple is None else float(theta.triple[_place(theta, s, part)])

    def counts(self, theta: ChainTables, weights: Any) -> ChainTables:
        """Weighted counts of the parts in theta's shape."""
        triple = np.zeros_like(theta.triple)
        pairs = ChainReference().counts(replace(theta, triple=None), weights)
        for s, weighted in enumerate(weights):
            for y, weight in weighted.items():
                for part in self._triples(y):
                    triple[_place(theta, s, part)] += weight
        return replace(pairs, triple=triple)

    def read_parts(self, theta: ChainTables, tables: ChainTables) -> list[dict[tuple[Any, ...], float]]:
        """The entries of node, edge and triple."""
        expected = (sum(_n_triples(theta)), *(theta.n_labels,) * 3)
        if tables.triple is None or tables.triple.shape != expected:
            raise AssertionError(f"there are no triple tables of shape {expected}")
        found = super().read_parts(theta, tables)
        return [parts | _triple_numbers(tables.triple, theta, s) for s, parts in enumerate(found)]

    def draw_cost(self, rng: np.random.Generator, theta: ChainTables, whole: bool) -> Cost:
        """A cost that may also lie on triples."""
        cost = super().draw_cost(rng, theta, whole)
        n_tables = [None, 1, sum(_n_triples(theta))][rng.integers(3)]
        if n_tables is None:
            return cost
        triple = rng.normal(size=(n_tables, *(theta.n_labels,) * 3))
        triple = np.round(triple) if whole else triple
        parts = [dict(found) | _triple_numbers(triple, theta, s) for s, found in enumerate(cost.parts)]
        return Cost(f"{cost.name} and on triples", replace(cost.given, triple=triple), parts)

    def select_cost(self, theta: ChainTables, given: ChainTables, samples: Sequence[int]) -> ChainTables:
        """Tables of some samples."""
        return replace(
            super().select_cost(theta, given, samples), triple=_select(theta, given.triple, samples)
        )

    def draw_limits(self, rng: np.random.Generator, theta: ChainTables) -> Iterator[Limit]:
        """Those of first order, allowed triples, and both."""
        planted = self.unpack(theta, self.plant(rng, theta))
        shape = (theta.n_labels,) * 3
        same, each = (rng.random((n, *shape)) < 0.5 for n in (1, sum(_n_triples(theta))))
        for s, y in enumerate(planted):
            for part in self._triples(y):
                same[0, part[2], part[3], part[4]] = True
                each[sum(_n_triples(theta)[:s]) + part[1], part[2], part[3], part[4]] = True
        yield from super().draw_limits(rng, theta)
        codes = self.pack(theta, planted)
        labels = rng.random((len(theta.node), theta.n_labels)) < 0.6
        labels[np.arange(len(labels)), codes] = True
        partial = np.where(rng.random(len(codes)) < 0.5, (codes + 1) % theta.n_labels, -1)
        for name, within in [
            ("allowed triples", Restriction(triple=same)),
            ("allowed labels and triples of each", Restriction(labels, triple=each)),
            ("allowed triples, contradiction", Restriction(triple=same, contradicts=partial)),
        ]:
            allows = functools.partial(self._allows, theta, within)
            yield Limit(f"within {name}", within, allows, contradicting=within.contradicts is not None)

    def _allows(self, theta: ChainTables, within: Restriction, s: int, y: tuple[int, ...]) -> bool:
        if within.triple is not None:
            tables = replace(theta, triple=within.triple)
            if not all(within.triple[_place(tables, s, part)] for part in self._triples(y)):
                return False
        return super()._allows(theta, within, s, y)

    def select_within(self, theta: ChainTables, given: Restriction, samples: Sequence[int]) -> Restriction:
        """The restriction of some samples."""
        return replace(
            super().select_within(theta, given, samples), triple=_select(theta, given.triple, samples)
        )


class Grammatical:
    """Mixed into a reference: only outputs whose start, pairs and end the tables ``rules`` allow.

    Parameters
    ----------
    rules : tables ``start`` (labels,), ``transition`` (labels, labels) and ``end`` (labels,) of bool
    """

    rules: Any

    def instances(self, rng: np.random.Generator) -> Iterator[Instance]:
        """Those of the reference in which every sample has an output; others are drawn again."""
        for instance in super().instances(rng):  # type: ignore[misc]
            if all(map(self._finite, [instance.theta] * len(instance.theta), range(len(instance.theta)))):
                yield instance

    def _finite(self, theta: ChainTables, s: int) -> bool:
        return any(self.score(theta, s, y) > -math.inf for y in self.outputs(theta, s))  # type: ignore[attr-defined]

    def outputs(self, theta: ChainTables, s: int) -> list[tuple[int, ...]]:
        """The label sequences that follow the rules."""
        start, transition, end = self.rules.start, self.rules.transition, self.rules.end
        return [
            y
            for y in super().outputs(theta, s)  # type: ignore[misc]
            if start[y[0]] and end[y[-1]] and all(transition[pair] for pair in zip(y, y[1:]))
        ]


class GrammaticalChains(Grammatical, ChainReference):
    """Chains of first order that follow rules."""

    def __init__(self, rules: Any) -> None:
        super().__init__(n_labels=len(rules.start))
        self.rules = rules


class GrammaticalSecondOrderChains(Grammatical, SecondOrderReference):
    """Chains of second order that follow rules."""

    def __init__(self, rules: Any) -> None:
        super().__init__(n_labels=len(rules.start))
        self.rules = rules


def _n_triples(theta: ChainTables) -> list[int]:
    return [max(int(n) - 2, 0) for n in np.diff(theta.offsets)]


def _place(theta: ChainTables, s: int, part: tuple[Any, ...]) -> tuple[int, ...]:
    """The index of a triple's number."""
    _, t, *labels = part
    shared = theta.triple is not None and len(theta.triple) == 1
    return (0 if shared else sum(_n_triples(theta)[:s]) + t, *labels)


def _select(theta: ChainTables, triple: np.ndarray | None, samples: Sequence[int]) -> np.ndarray | None:
    if triple is None or len(triple) == 1:
        return triple
    sizes = _n_triples(theta)
    return triple[[sum(sizes[:s]) + t for s in samples for t in range(sizes[s])]]


def _triple_numbers(triple: np.ndarray, theta: ChainTables, s: int) -> dict[tuple[Any, ...], float]:
    tables = replace(theta, triple=triple)
    labels = list(np.ndindex(*triple.shape[1:]))
    parts = [("triple", t, *ijk) for t in range(_n_triples(theta)[s]) for ijk in labels]
    return {part: float(triple[_place(tables, s, part)]) for part in parts}
