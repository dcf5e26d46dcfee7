"""Segmentations by definition: every way to cut a sequence into labelled segments, scored part by part."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any

import numpy as np

from palmette.structures.segments.semi_markov import SemiMarkov
from palmette.structures.segments.tables import SegmentRestriction, SegmentTables
from palmette.testing.reference import Cost, Instance, Limit, register_reference
from palmette.testing.row_reference import RowReference, rows_of, with_sets
from palmette.testing.segment_instances import segment_instances

Output = tuple[int, ...]  # codes: the label where a segment begins, n_labels + label inside


class SegmentReference(RowReference):
    """Segmentations with node, segment and edge tables.

    Parts are ``("node", t, label)``, ``("segment", t, d, label)`` for the ``d + 1`` positions from t on, and
    ``("edge", t, label, next label)`` for a boundary after position t, with t counted inside the sample.

    Parameters
    ----------
    longest : sequence of int, optional
        Longest segment of each label.
    lengths : sequence of int, optional
        Both replace the built-in shapes of the instances.

    Examples
    --------
    >>> import numpy as np
    >>> theta = SegmentTables(
    ...     np.ones((2, 1)), np.zeros((1, 1, 1)), np.array([0, 2]), segment=np.zeros((2, 2, 1)), longest=np.array([2])
    ... )
    >>> reference = SegmentReference()
    >>> {y: reference.score(theta, 0, y) for y in reference.outputs(theta, 0)}
    {(0, 0): 2.0, (0, 1): 2.0}
    """

    def __init__(self, longest: Sequence[int] | None = None, lengths: Sequence[int] | None = None) -> None:
        self.longest, self.lengths = longest, lengths

    # -- instances --------------------------------------------------------------------------------------

    def instances(self, rng: np.random.Generator) -> Iterator[Instance]:
        """One batch of each kind."""
        return segment_instances(rng, self.longest, self.lengths)

    def invalid(self, rng: np.random.Generator) -> Iterator[tuple[Instance, list[Output]]]:
        """A sample without positions."""
        theta = SegmentTables(
            rng.normal(size=(3, 2)),
            np.zeros((1, 2, 2)),
            np.array([0, 2, 2, 3]),
            segment=np.zeros((3, 1, 2)),
            longest=np.ones(2, np.int64),
        )
        yield Instance("a sample without positions", theta), [(0, 1), (), (1,)]

    def zeros(self, theta: SegmentTables) -> SegmentTables:
        """The same shape, all potentials 0."""
        arrays = {name: np.zeros_like(getattr(theta, name)) for name in ("node", "edge", "segment")}
        return replace(theta, **arrays)

    def select(self, theta: SegmentTables, samples: Sequence[int]) -> SegmentTables:
        """Rows and edge tables of some samples; a table shared by all stays as it is."""
        rows, edges = rows_of(theta, samples), _edges(theta, samples)
        return replace(
            theta,
            node=theta.node[rows],
            edge=theta.edge.copy() if len(theta.edge) <= 1 else theta.edge[edges],
            segment=theta.segment[rows],
            offsets=np.array([0, *accumulate(_length(theta, s) for s in samples)]),
        )

    # -- outputs ----------------------------------------------------------------------------------------

    def outputs(self, theta: SegmentTables, s: int) -> list[Output]:
        """All segmentations, the codes in lexicographic order."""
        return sorted(_segmentations(_length(theta, s), theta.longest.tolist()))

    def parts(self, theta: SegmentTables, s: int, y: Output) -> list[tuple[Any, ...]]:
        """A part for every position, every segment and every boundary."""
        segments = _segments(y, theta.node.shape[1])
        nodes = [("node", u, label) for t, d, label in segments for u in range(t, t + d + 1)]
        edges = [("edge", b[0] - 1, a[2], b[2]) for a, b in zip(segments, segments[1:])]
        return [*nodes, *(("segment", *segment) for segment in segments), *edges]

    def score(self, theta: SegmentTables, s: int, y: Output) -> float:
        """Sum of the potentials of the parts."""
        places = (_place(theta, s, part) for part in self.parts(theta, s, y))
        return math.fsum(float(array[index]) for array, index in places)

    def counts(self, theta: SegmentTables, weights: Any) -> SegmentTables:
        """Weighted counts of the parts in theta's shape."""
        out = self.zeros(theta)
        for s, weighted in enumerate(weights):
            for y, weight in weighted.items():
                for part in self.parts(theta, s, y):
                    array, index = _place(out, s, part)
                    array[index] += weight
        return out

    def read_parts(self, theta: SegmentTables, tables: SegmentTables) -> list[dict[tuple[Any, ...], float]]:
        """The entries of node, segment and edge (one table for each pair of neighbouring positions)."""
        labels = theta.node.shape[1]
        n_edges = len(_edges(theta, range(len(theta))))
        expected = theta.node.shape, theta.segment.shape, (n_edges, labels, labels)
        found = tables.node.shape, tables.segment.shape, tables.edge.shape
        if found != expected:
            raise AssertionError(f"tables have shapes {found}, expected {expected}")
        return [_by_part(tables, theta, s) for s in range(len(theta))]

    # -- costs, restrictions, annotations, risks --------------------------------------------------------

    def draw_cost(self, rng: np.random.Generator, theta: SegmentTables, whole: bool) -> Cost:
        """A cost on nodes, on segments (of all lengths alike or of each), and on edges (none, alike, or each)."""
        rows, lengths, labels = theta.segment.shape
        n_tables = [0, 1, len(_edges(theta, range(len(theta))))][rng.integers(3)]
        n_lengths = [1, lengths][rng.integers(2)]
        shapes = {
            "node": (rows, labels),
            "edge": (n_tables, labels, labels),
            "segment": (rows, n_lengths, labels),
        }
        drawn = {name: rng.normal(size=shape) for name, shape in shapes.items()}
        given = replace(theta, **{name: np.round(a) if whole else a for name, a in drawn.items()})
        spread = replace(given, segment=np.broadcast_to(given.segment, theta.segment.shape))
        name = f"cost of {n_lengths} lengths and {n_tables} edge tables"
        return Cost(name, given, [_by_part(spread, theta, s) for s in range(len(theta))])

    def select_cost(
        self, theta: SegmentTables, given: SegmentTables, samples: Sequence[int]
    ) -> SegmentTables:
        """Rows and edge tables of some samples."""
        rows = rows_of(theta, samples)
        edge = given.edge if len(given.edge) <= 1 else given.edge[_edges(theta, samples)]
        offsets = self.select(theta, samples).offsets
        return replace(given, node=given.node[rows], edge=edge, segment=given.segment[rows], offsets=offsets)

    def draw_limits(self, rng: np.random.Generator, theta: SegmentTables) -> Iterator[Limit]:
        """Nothing allowed, fixed codes, allowed labels, segments and pairs, contradiction, and combinations."""
        rows, lengths, labels = theta.segment.shape
        planted = self._plant(rng, theta)
        codes = self.pack(theta, planted)
        other = self.pack(theta, [self._draw(rng, theta, s) for s in range(len(theta))])
        partial = np.where(rng.random(rows) < 0.5, other, -1)
        node, segment = rng.random((rows, labels)) < 0.6, rng.random((rows, lengths, labels)) < 0.6
        edge = rng.random((len(_edges(theta, range(len(theta)))), labels, labels)) < 0.5
        same = rng.random((1, labels, labels)) < 0.5
        masks = SegmentTables(node, edge, theta.offsets, segment=segment, longest=theta.longest)
        for s, y in enumerate(planted):
            for part in self.parts(theta, s, y):
                array, index = _place(masks, s, part)
                array[index] = True
                if part[0] == "edge":
                    same[(0, *part[2:])] = True
        nothing = node.copy()
        nothing[rng.integers(rows)] = False
        fixed = np.where(rng.random(rows) < 0.5, codes, -1)
        for name, within in [
            ("nothing allowed", SegmentRestriction(node=nothing)),
            ("fixed codes", SegmentRestriction.fixed(fixed, labels, lengths)),
            ("allowed labels", SegmentRestriction(node=node)),
            ("allowed segments and pairs of each edge", SegmentRestriction(edge=edge, segment=segment)),
            ("allowed pairs", SegmentRestriction(edge=same)),
            ("contradiction", SegmentRestriction(contradicts=other)),
            ("allowed segments, contradiction", SegmentRestriction(segment=segment, contradicts=partial)),
            ("allowed labels and pairs, contradiction", SegmentRestriction(node, same, partial)),
        ]:
            allows = functools.partial(self._allows, theta, within, fixed if name == "fixed codes" else None)
            yield Limit(f"within {name}", within, allows, contradicting=within.contradicts is not None)

    def _draw(self, rng: np.random.Generator, theta: SegmentTables, s: int) -> Output:
        outputs = self.outputs(theta, s)
        return outputs[rng.integers(len(outputs))]

    def _plant(self, rng: np.random.Generator, theta: SegmentTables) -> list[Output]:
        """An output of each sample that potentials do not forbid, so that restrictions may allow it."""
        outputs = [self.outputs(theta, s) for s in range(len(theta))]
        finite = [[y for y in ys if self.score(theta, s, y) > -math.inf] for s, ys in enumerate(outputs)]
        return [ys[rng.integers(len(ys))] for ys in finite]

    def _allows(
        self, theta: SegmentTables, within: SegmentRestriction, fixed: Any, s: int, y: Output
    ) -> bool:
        lo, hi = int(theta.offsets[s]), int(theta.offsets[s + 1])
        if fixed is not None:  # by definition, not by the segments that were ruled out
            return not self.contradicts(y, fixed[lo:hi].tolist())
        for part in self.parts(theta, s, y):
            mask = getattr(within, part[0])
            if mask is not None:
                array, index = _place(replace(theta, **{part[0]: mask}), s, part)
                if not array[index]:
                    return False
        return within.contradicts is None or self.contradicts(y, within.contradicts[lo:hi].tolist())

    def select_within(
        self, theta: SegmentTables, given: SegmentRestriction, samples: Sequence[int]
    ) -> SegmentRestriction:
        """The restriction of some samples."""
        rows = rows_of(theta, samples)
        taken = {
            name: getattr(given, name)[rows]
            for name in ("node", "segment", "contradicts")
            if getattr(given, name) is not None
        }
        if given.edge is not None:
            taken["edge"] = given.edge if len(given.edge) == 1 else given.edge[_edges(theta, samples)]
        return SegmentRestriction(**taken)

    def draw_annotations(self, rng: np.random.Generator, theta: SegmentTables) -> Iterator[list[Output]]:
        """A full annotation, one with open positions (-1), and one with positions that have one of several codes."""
        full = self.pack(theta, [self._draw(rng, theta, s) for s in range(len(theta))])
        yield self.unpack(theta, full)
        partial = np.where(rng.random(len(full)) < 0.5, full, -1)
        yield self.unpack(theta, partial)
        yield [with_sets(rng, y, theta.n_codes) for y in self.unpack(theta, partial)]

    def draw_risks(
        self, rng: np.random.Generator, theta: SegmentTables
    ) -> Iterator[tuple[dict[str, Any], Any]]:
        """Wrong codes (the default), and random costs of codes."""
        yield {}, lambda true, y: float(sum(a != b for a, b in zip(true, y)))
        table = rng.random((2 * theta.node.shape[1],) * 2)
        yield {"risk": table}, lambda true, y: math.fsum(table[a, b] for a, b in zip(true, y))


def _segmentations(n: int, longest: Sequence[int]) -> Iterator[Output]:
    """Codes of all ways to cut n positions."""
    if n == 0:
        yield ()
    for label, most in enumerate(longest):
        for length in range(1, min(most, n) + 1):
            head = (label, *[len(longest) + label] * (length - 1))
            yield from (head + tail for tail in _segmentations(n - length, longest))


def _segments(y: Output, n_labels: int) -> list[tuple[int, int, int]]:
    """(first position, length - 1, label) of each segment."""
    starts = [t for t, code in enumerate(y) if code < n_labels]
    return [(a, b - a - 1, y[a]) for a, b in zip(starts, [*starts[1:], len(y)])]


def _length(theta: SegmentTables, s: int) -> int:
    return int(theta.offsets[s + 1] - theta.offsets[s])


def _edges(theta: SegmentTables, samples: Sequence[int]) -> np.ndarray:
    """Numbers of the samples' pairs of neighbouring positions, counted through the batch."""
    return np.array([_edge(theta, s, t) for s in samples for t in range(_length(theta, s) - 1)], int)


def _edge(theta: SegmentTables, s: int, t: int) -> int:
    return sum(_length(theta, earlier) - 1 for earlier in range(s)) + t


def _place(tables: SegmentTables, s: int, part: tuple[Any, ...]) -> tuple[np.ndarray, tuple[int, ...]]:
    """The array and the index that hold a part's number."""
    kind, t, *rest = part
    if kind == "edge":
        return tables.edge, (0 if len(tables.edge) == 1 else _edge(tables, s, t), *rest)
    return getattr(tables, kind), (int(tables.offsets[s]) + t, *rest)


def _by_part(tables: SegmentTables, theta: SegmentTables, s: int) -> dict[tuple[Any, ...], float]:
    """All parts of sample ``s`` that the tables speak of, and their numbers."""
    n, labels = _length(theta, s), range(theta.node.shape[1])
    parts: list[tuple[Any, ...]] = [("node", t, i) for t in range(n) for i in labels]
    for t in range(n):
        parts += [("segment", t, d, i) for i in labels for d in range(min(int(theta.longest[i]), n - t))]
    if len(tables.edge):
        parts += [("edge", t, i, j) for t in range(n - 1) for i in labels for j in labels]
    places = ((part, _place(tables, s, part)) for part in parts)
    return {part: float(array[index]) for part, (array, index) in places}


register_reference(SemiMarkov, SegmentReference())
