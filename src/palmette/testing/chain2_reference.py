"""Chains of second order and chains with forbidden transitions, by definition."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import cycle
from typing import Any

import numpy as np

from palmette.structures.positions.tables import ChainTables, Restriction
from palmette.testing.chain_instances import EXACT, KINDS, draw_chains, permit
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

    kinds = ("node", "edge", "triple")

    def instances(self, rng: np.random.Generator) -> Iterator[Instance]:
        """One batch of each kind of first-order instances, with triples drawn alike."""
        for name, scores, usual_labels, usual_lengths, shared in KINDS:
            n_labels, lengths = self.n_labels or usual_labels, self.lengths or usual_lengths
            theta, planted = draw_chains(rng, scores, n_labels, lengths, shared)
            drawn = [
                draw(rng, (max(length - 2, 0), *(n_labels,) * 3))
                for draw, length in zip(cycle(scores), lengths)
            ]
            triple = scores[0](rng, (1, *(n_labels,) * 3)) if shared else np.concatenate(drawn)
            for s, y in enumerate(self.unpack(theta, planted)):
                for part in self._triples(y):
                    permit(triple, self.index(theta, triple, s, part))
            yield Instance(name, replace(theta, triple=triple), exact=scores[0] in EXACT)

    def parts(self, theta: ChainTables, s: int, y: tuple[int, ...]) -> list[tuple[Any, ...]]:
        """A part for every position, pair and triple of neighbours."""
        return super().parts(theta, s, y) + self._triples(y)

    def _triples(self, y: tuple[int, ...]) -> list[tuple[Any, ...]]:
        return [("triple", t, *labels) for t, labels in enumerate(zip(y, y[1:], y[2:]))]

    def draw_cost(self, rng: np.random.Generator, theta: ChainTables, whole: bool) -> Cost:
        """A cost that may also lie on triples."""
        cost = super().draw_cost(rng, theta, whole)
        n_tables = [None, 1, theta.n_triples][rng.integers(3)]
        if n_tables is None:
            return cost
        triple = rng.normal(size=(n_tables, *(theta.n_labels,) * 3))
        given = replace(cost.given, triple=np.round(triple) if whole else triple)
        return Cost(f"{cost.name} and on triples", given, self.by_part(given, theta))

    def draw_limits(self, rng: np.random.Generator, theta: ChainTables) -> Iterator[Limit]:
        """Those of first order, allowed triples, and both."""
        codes = self.plant(rng, theta)
        same, each = (rng.random((n, *(theta.n_labels,) * 3)) < 0.5 for n in (1, theta.n_triples))
        for s, y in enumerate(self.unpack(theta, codes)):
            for part in self._triples(y):
                for mask in (same, each):
                    mask[self.index(theta, mask, s, part)] = True
        yield from super().draw_limits(rng, theta)
        labels = rng.random((len(theta.node), theta.n_labels)) < 0.6
        labels[np.arange(len(labels)), codes] = True
        partial = np.where(rng.random(len(codes)) < 0.5, (codes + 1) % theta.n_labels, -1)
        for name, within in [
            ("allowed triples", Restriction(triple=same)),
            ("allowed labels and triples of each", Restriction(labels, triple=each)),
            ("allowed triples, contradiction", Restriction(triple=same, contradicts=partial)),
        ]:
            yield self.limit(theta, name, within)


class Grammatical:
    """Mixed into a reference: only outputs whose start, pairs and end the tables ``rules`` allow.

    Parameters
    ----------
    rules : tables ``start`` (labels,), ``transition`` (labels, labels) and ``end`` (labels,) of bool
    """

    def __init__(self, rules: Any) -> None:
        super().__init__(n_labels=len(rules.start))  # type: ignore[call-arg]
        self.rules = rules

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

    def draw_samples(self, rng: np.random.Generator) -> tuple[Any, Any]:
        """Rules are tables of codes here, and samples have labels."""
        raise self._lacks("draw_samples", "active questions and transfer under rules")  # type: ignore[attr-defined]


class GrammaticalChains(Grammatical, ChainReference):
    """Chains of first order that follow rules."""


class GrammaticalSecondOrderChains(Grammatical, SecondOrderReference):
    """Chains of second order that follow rules."""
