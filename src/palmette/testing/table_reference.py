"""What references share whose parts have numbers in tables: chains, graphs and segmentations."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any

import numpy as np

from palmette.structures.positions.tables import Restriction
from palmette.testing.reference import Limit
from palmette.testing.row_reference import RowReference, rows_of

REACH = {"edge": 1, "triple": 2}  # further positions of a part; one table may serve all parts of these kinds


class TableReference(RowReference):
    """Parts are ``(kind, t, ...)`` with t counted inside the sample; their numbers stand in the table ``theta.kind``.

    What is said here of tables holds for sequences: they have an entry for every position, for every pair or for
    every triple of neighbours.
    """

    kinds: tuple[str, ...] = ("node", "edge")

    # -- where numbers stand ----------------------------------------------------------------------------

    def starts(self, theta: Any, kind: str) -> list[int]:
        """Where samples begin in a table with an entry for every part of this kind, and where the last one ends."""
        bounds, reach = theta.offsets.tolist(), REACH.get(kind, 0)
        return [0, *accumulate(max(b - a - reach, 0) for a, b in zip(bounds, bounds[1:]))]

    def entries(self, theta: Any, samples: Sequence[int], kind: str) -> np.ndarray:
        """Numbers of the samples' entries, counted through the batch."""
        starts = self.starts(theta, kind)
        return np.array([e for s in samples for e in range(starts[s], starts[s + 1])], int)

    def index(self, theta: Any, array: np.ndarray, s: int, part: tuple[Any, ...]) -> tuple[int, ...]:
        """Where an array of the kind of a part has the part's number."""
        kind, t, *rest = part
        shared = kind in REACH and len(array) == 1
        return (0 if shared else self.starts(theta, kind)[s] + t, *rest)

    def place(self, tables: Any, s: int, part: tuple[Any, ...]) -> tuple[np.ndarray, tuple[int, ...]]:
        """The array and the index that hold a part's number."""
        array = getattr(tables, part[0])
        return array, self.index(tables, array, s, part)

    def every_part(self, tables: Any, theta: Any, s: int) -> Iterator[tuple[Any, ...]]:
        """All parts of sample ``s`` that the tables speak of."""
        for kind in self.kinds:
            table = getattr(tables, kind)
            if table is not None and len(table):
                for t in range(len(self.entries(theta, [s], kind))):
                    yield from ((kind, t, *rest) for rest in np.ndindex(*getattr(theta, kind).shape[1:]))

    def by_part(self, tables: Any, theta: Any) -> list[dict[tuple[Any, ...], float]]:
        """The numbers of all parts of each sample that the tables speak of."""
        found = []
        for s in range(len(theta)):
            places = ((part, self.place(tables, s, part)) for part in self.every_part(tables, theta, s))
            found.append({part: float(array[index]) for part, (array, index) in places})
        return found

    def read_parts(self, theta: Any, tables: Any) -> list[dict[tuple[Any, ...], float]]:
        """The entries of tables with one for every part."""
        expected = [(self.starts(theta, kind)[-1], *getattr(theta, kind).shape[1:]) for kind in self.kinds]
        found = [np.shape(getattr(tables, kind)) for kind in self.kinds]
        if found != expected:
            raise AssertionError(f"tables have shapes {found}, expected {expected}")
        return self.by_part(tables, theta)

    # -- potentials and counts --------------------------------------------------------------------------

    def zeros(self, theta: Any) -> Any:
        """The same shape, all potentials 0."""
        return replace(theta, **{kind: np.zeros_like(getattr(theta, kind)) for kind in self.kinds})

    def score(self, theta: Any, s: int, y: tuple[int, ...]) -> float:
        """Sum of the potentials of the parts."""
        places = (self.place(theta, s, part) for part in self.parts(theta, s, y))
        return math.fsum(float(array[index]) for array, index in places)

    def counts(self, theta: Any, weights: Any) -> Any:
        """Weighted counts of the parts in theta's shape."""
        out = self.zeros(theta)
        for s, weighted in enumerate(weights):
            for y, weight in weighted.items():
                for part in self.parts(theta, s, y):
                    array, index = self.place(out, s, part)
                    array[index] += weight
        return out

    # -- some of the samples ----------------------------------------------------------------------------

    def _taken(self, theta: Any, given: Any, samples: Sequence[int]) -> Any:
        """Tables or masks of some samples; one that serves all parts stays as it is."""
        there = {kind: getattr(given, kind) for kind in self.kinds}
        own = {
            kind: array[self.entries(theta, samples, kind)]
            for kind, array in there.items()
            if array is not None and (kind not in REACH or len(array) > 1)
        }
        return replace(given, **own)

    def select(self, theta: Any, samples: Sequence[int]) -> Any:
        """Tables of some samples."""
        return self.select_cost(theta, theta, samples)

    def select_cost(self, theta: Any, given: Any, samples: Sequence[int]) -> Any:
        """Tables of some samples."""
        lengths = [theta.offsets[s + 1] - theta.offsets[s] for s in samples]
        return replace(self._taken(theta, given, samples), offsets=np.cumsum([0, *lengths]))

    def select_within(self, theta: Any, given: Any, samples: Sequence[int]) -> Any:
        """The restriction of some samples."""
        known = given.contradicts
        known = None if known is None else known[rows_of(theta, samples)]
        return replace(self._taken(theta, given, samples), contradicts=known)

    # -- restrictions -----------------------------------------------------------------------------------

    def limit(self, theta: Any, name: str, within: Any) -> Limit:
        """A restriction together with what it means."""
        allows = functools.partial(self._allows, theta, within)
        return Limit(f"within {name}", within, allows, contradicting=within.contradicts is not None)

    def _allows(self, theta: Any, within: Any, s: int, y: tuple[int, ...]) -> bool:
        for part in self.parts(theta, s, y):
            mask = getattr(within, part[0], None)
            if mask is not None and not mask[self.index(theta, mask, s, part)]:
                return False
        return within.contradicts is None or self.contradicts(
            y, within.contradicts[rows_of(theta, [s])].tolist()
        )

    def neighbours(self, theta: Any) -> tuple[np.ndarray, np.ndarray]:
        """Rows at the two ends of every edge."""
        left = np.setdiff1d(np.arange(len(theta.node)), theta.offsets[1:] - 1)
        return left, left + 1

    def draw_limits(self, rng: np.random.Generator, theta: Any) -> Iterator[Limit]:
        """Nothing allowed, fixed labels, allowed labels, allowed pairs, contradiction, and combinations."""
        n_rows, n_labels = theta.node.shape
        planted = self.plant(rng, theta)
        full: Any = rng.integers(0, n_labels, n_rows)
        somewhere = np.array([rng.choice(rows_of(theta, [s])) for s in range(len(theta))])
        full[somewhere] = (planted[somewhere] + 1) % n_labels
        partial = np.where(rng.random(n_rows) < 0.5, full, -1)
        partial[somewhere] = full[somewhere]
        labels = rng.random((n_rows, n_labels)) < 0.6
        labels[np.arange(n_rows), planted] = True
        a, b = self.neighbours(theta)
        pairs = rng.random((len(a), n_labels, n_labels)) < 0.5
        pairs[np.arange(len(a)), planted[a], planted[b]] = True
        same_pairs = rng.random((1, n_labels, n_labels)) < 0.5
        same_pairs[0, planted[a], planted[b]] = True
        nothing = labels.copy()
        nothing[rng.integers(n_rows)] = False
        for name, within in [
            ("nothing allowed", Restriction(node=nothing)),
            ("no pair allowed", Restriction(edge=np.zeros_like(same_pairs))),
            ("fixed labels", Restriction.fixed(np.where(rng.random(n_rows) < 0.5, planted, -1), n_labels)),
            ("allowed labels", Restriction(node=labels)),
            ("allowed pairs", Restriction(edge=same_pairs)),
            ("allowed pairs of each edge", Restriction(edge=pairs)),
            ("contradiction", Restriction(contradicts=full)),
            ("contradiction of some labels", Restriction(contradicts=partial)),
            ("allowed labels and pairs of each edge", Restriction(labels, pairs)),
            ("allowed labels and pairs, contradiction", Restriction(labels, same_pairs, partial)),
        ]:
            yield self.limit(theta, name, within)
