"""Explanations of frames from their definition: every set of events that explains each cell exactly once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from palmette.structures.tracking.detections import Detections
from palmette.structures.tracking.tables import EventRestriction, EventTables
from palmette.structures.tracking.tracking import Tracking
from palmette.testing.chain_instances import _huge_whole, _moderate, _whole, _zeros
from palmette.testing.reference import Cost, Instance, Limit, Reference, register_reference
from palmette.testing.row_reference import RowReference, rows_of

SHAPES = ((2, 2), (0, 1), (3, 2))  # detections before and after, of the samples of a batch
KINDS = (("whole", _whole), ("moderate", _moderate), ("zeros", _zeros), ("huge", _huge_whole))
Output = tuple[int, ...]


class TrackingReference(RowReference):
    """Outputs are tuples with 1 for each event that happens and 0 for the others."""

    def of(self, structure: Any) -> Reference:
        """The same for all."""
        return self

    def instances(self, rng: np.random.Generator) -> Iterator[Instance]:
        """Batches of frames with events on one to three cells, some of which are there twice."""
        for name, draw in KINDS:
            for more in (False, True):
                layout = _layout(rng, SHAPES if more else SHAPES[:2] * 2, more)
                node = draw(rng, 2 * int(layout[0][-1])).reshape(-1, 2)
                yield Instance(f"{name}{', of three cells' if more else ''}", EventTables(node, *layout))

    def draw_samples(self, rng: np.random.Generator) -> tuple[Any, Any]:
        """Pairs of frames in which objects move a little, and what happened."""
        X, Y = [], []
        for _ in range(8):
            early = 10.0 * rng.random((3, 2))
            kept = rng.permutation(3)[: int(rng.integers(1, 4))]
            late = early[kept] + 0.3 * rng.normal(size=(len(kept), 2))
            pair = Detections(early), Detections(late)
            candidates = Tracking(("move", "appear", "disappear"), max_distance=4.0).candidates(pair)
            links = [("move", (int(i),), (j,)) for j, i in enumerate(kept)]
            gone = [("disappear", (i,), ()) for i in range(3) if i not in kept]
            X.append(candidates)
            Y.append(candidates.codes([*links, *gone]).tolist())
        return X, Y

    def outputs(self, theta: EventTables, s: int) -> list[Output]:
        """All exact covers, by trying for every cell in turn each event that explains it."""
        events = range(int(theta.offsets[s]), int(theta.offsets[s + 1]))
        cells = [set(theta.cell[theta.ptr[e] : theta.ptr[e + 1]].tolist()) for e in events]
        everything = set(range(int(theta.n_cells[s])))
        found = []

        def extend(chosen: tuple[int, ...], left: set[int]) -> None:
            if not left:
                found.append(tuple(int(k in chosen) for k in range(len(cells))))
                return
            for k, own in enumerate(cells):
                if min(left) in own and own <= left:
                    extend((*chosen, k), left - own)

        extend((), everything)
        return sorted(set(found))

    def score(self, theta: EventTables, s: int, y: Output) -> float:
        """The sum of the numbers of all events."""
        return float(sum(theta.node[row, code] for row, code in zip(rows_of(theta, [s]), y)))

    def counts(self, theta: EventTables, weights: Sequence[Mapping[Output, float]]) -> EventTables:
        """One for each event and its code, times the weights of outputs."""
        node = np.zeros_like(theta.node)
        for s, outputs in enumerate(weights):
            for y, weight in outputs.items():
                for row, code in zip(rows_of(theta, [s]), y):
                    node[row, code] += weight
        return EventTables(node, *theta.layout)

    def select(self, theta: EventTables, samples: Sequence[int]) -> EventTables:
        """Some samples as a batch of their own."""
        return theta.take(np.array(samples, np.int64))

    def zeros(self, theta: EventTables) -> EventTables:
        """All numbers 0."""
        return theta.zeros()

    def invalid(self, rng: np.random.Generator) -> Iterator[tuple[Instance, list[Output]]]:
        """An event on a cell that is not there, cells out of order, offsets that do not fit, NaN."""
        layout = _layout(rng, ((1, 1),), False)
        n = int(layout[0][-1])
        outputs = [(0,) * n]
        good = EventTables(np.zeros((n, 2)), *layout)
        yield Instance("NaN", EventTables(np.full((n, 2), np.nan), *layout)), outputs
        for name, field, value in (
            ("a cell too many", "cell", good.cell + 9),
            ("cells below 0", "cell", good.cell - 1),
            ("offsets too long", "offsets", good.offsets + np.array([0, 1])),
            ("events without cells", "ptr", np.zeros_like(good.ptr)),
        ):
            changed = {**vars(good), field: value}
            yield Instance(name, EventTables(**changed)), outputs

    # -- costs and restrictions ---------------------------------------------------------------------------------

    def parts(self, theta: EventTables, s: int, y: Output) -> list[tuple[int, int]]:
        """Every event with its code."""
        return list(enumerate(y))

    def read_parts(self, theta: EventTables, tables: EventTables) -> list[dict[tuple[int, int], float]]:
        """A number for each event and code."""
        found = []
        for s in range(len(theta)):
            own = tables.node[rows_of(theta, [s])]
            found.append({(e, code): float(own[e, code]) for e in range(len(own)) for code in (0, 1)})
        return found

    def draw_cost(self, rng: np.random.Generator, theta: EventTables, whole: bool) -> Cost:
        """A cost of each event and code."""
        node = np.round(2.0 * rng.normal(size=theta.node.shape), 1)
        given = EventTables(node, *theta.layout)
        return Cost("cost", given, self.read_parts(theta, given))

    def select_cost(self, theta: EventTables, given: EventTables, samples: Sequence[int]) -> EventTables:
        """The cost of some samples."""
        return self.select(given, samples)

    def draw_limits(self, rng: np.random.Generator, theta: EventTables) -> Iterator[Limit]:
        """Nothing allowed, some events allowed, some of a set needed."""
        planted = self.plant(rng, theta) == 1
        some = planted | (rng.random(len(planted)) < 0.5)
        nothing = some.copy()
        nothing[rows_of(theta, [len(theta) - 1])] = False
        touch = planted & (rng.random(len(planted)) < 0.6)
        for s in range(len(theta)):  # something of each sample
            own = rows_of(theta, [s])
            touch[own[np.flatnonzero(planted[own])[:1]]] = True
        for name, within in (
            ("nothing allowed", EventRestriction(nothing)),
            ("allowed events", EventRestriction(some)),
            ("a needed event", EventRestriction(touch=(touch,))),
            ("both", EventRestriction(some, (touch,))),
        ):
            yield Limit(f"within {name}", within, _allows(theta, within), contradicting=bool(within.touch))

    def select_within(
        self, theta: EventTables, given: EventRestriction, samples: Sequence[int]
    ) -> EventRestriction:
        """The restriction of some samples."""
        rows = rows_of(theta, samples)
        allowed = None if given.allowed is None else given.allowed[rows]
        return EventRestriction(allowed, tuple(own[rows] for own in given.touch))

    def draw_annotations(
        self, rng: np.random.Generator, theta: EventTables
    ) -> Iterator[list[tuple[Any, ...]]]:
        """A whole output of each sample, some events of it, and events that are one of both."""
        full = self.plant(rng, theta)
        yield self.unpack(theta, full)
        known = np.where(rng.random(len(full)) < 0.4, full, -1)
        yield self.unpack(theta, known)
        yield [
            tuple(frozenset({0, 1}) if code < 0 else code for code in y) for y in self.unpack(theta, known)
        ]


def _allows(theta: EventTables, within: EventRestriction) -> Any:
    def allows(s: int, y: Output) -> bool:
        own = [row for row, code in zip(rows_of(theta, [s]), y) if code]
        fits = within.allowed is None or all(within.allowed[row] for row in own)
        return fits and all(any(wanted[row] for row in own) for wanted in within.touch)

    return allows


def _layout(rng: np.random.Generator, shapes: Any, more: bool) -> tuple[np.ndarray, ...]:
    """Moves between all, appearances and disappearances; divisions, merges and a second kind of moves if ``more``."""
    offsets, ptr, cell, n_cells, n_before, kind = [0], [0], [], [], [], []
    for a, b in shapes:
        early, late = range(a), range(a, a + b)
        events: list[tuple[int, tuple[int, ...]]] = [(0, (i, j)) for i in early for j in late] + [
            (1, (c,)) for c in (*early, *late)
        ]
        if more:
            events += [(2, (i, j, k)) for i in early for j, k in combinations(late, 2)]
            events += [(3, (i, k, j)) for i, k in combinations(early, 2) for j in late]
            events += [(4, (i, j)) for i in early for j in late if rng.random() < 0.3]
        order = rng.permutation(len(events))
        for k in order.tolist():
            kind.append(events[k][0])
            cell += sorted(events[k][1])
            ptr.append(len(cell))
        offsets.append(len(kind))
        n_cells.append(a + b)
        n_before.append(a)
    return tuple(np.array(each, np.int64) for each in (offsets, ptr, cell, n_cells, n_before, kind))


register_reference(Tracking, TrackingReference())
