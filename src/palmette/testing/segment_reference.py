"""Segmentations by definition: every way to cut a sequence into labelled segments, scored part by part."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from palmette.structures.segments.semi_markov import SemiMarkov
from palmette.structures.segments.tables import SegmentRestriction, SegmentTables
from palmette.testing.chain_instances import EXACT
from palmette.testing.reference import Cost, Instance, Limit, register_reference
from palmette.testing.row_reference import labelled_rows, rows_of, with_sets
from palmette.testing.segment_instances import KINDS, draw_segments
from palmette.testing.table_reference import TableReference

Output = tuple[int, ...]  # codes: the label where a segment begins, n_labels + label inside


class SegmentReference(TableReference):
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

    kinds = ("node", "edge", "segment")

    def __init__(self, longest: Sequence[int] | None = None, lengths: Sequence[int] | None = None) -> None:
        self.longest, self.lengths = longest, lengths

    # -- instances --------------------------------------------------------------------------------------

    def instances(self, rng: np.random.Generator) -> Iterator[Instance]:
        """One batch of each kind."""
        for name, scores, usual_longest, usual_lengths, shared in KINDS:
            longest, lengths = self.longest or usual_longest, self.lengths or usual_lengths
            theta = draw_segments(rng, scores, longest, lengths, shared)
            yield Instance(name, theta, exact=scores[0] in EXACT)

    def draw_samples(self, rng: np.random.Generator) -> tuple[Any, Any]:
        """Rows that tell the labels of segments of length 1."""
        X, Y = labelled_rows(rng)
        return X, [["O" if label == "c" else f"B-{label}" for label in y] for y in Y]

    def invalid(self, rng: np.random.Generator) -> Iterator[tuple[Instance, list[Output]]]:
        """A sample without positions."""
        segments = {"segment": np.zeros((3, 1, 2)), "longest": np.ones(2, np.int64)}
        tables = rng.normal(size=(3, 2)), np.zeros((1, 2, 2))
        theta = SegmentTables(*tables, np.array([0, 2, 2, 3]), **segments)
        yield Instance("a sample without positions", theta), [(0, 1), (), (1,)]

    # -- outputs ----------------------------------------------------------------------------------------

    def outputs(self, theta: SegmentTables, s: int) -> list[Output]:
        """All segmentations, the codes in lexicographic order."""
        return sorted(_segmentations(len(rows_of(theta, [s])), theta.longest.tolist()))

    def parts(self, theta: SegmentTables, s: int, y: Output) -> list[tuple[Any, ...]]:
        """A part for every position, every segment and every boundary."""
        segments = _segments(y, theta.node.shape[1])
        nodes = [("node", u, label) for t, d, label in segments for u in range(t, t + d + 1)]
        edges = [("edge", b[0] - 1, a[2], b[2]) for a, b in zip(segments, segments[1:])]
        return [*nodes, *(("segment", *segment) for segment in segments), *edges]

    def every_part(self, tables: SegmentTables, theta: SegmentTables, s: int) -> Iterator[tuple[Any, ...]]:
        """All parts of sample ``s`` that the tables speak of, without segments that are too long."""
        n = len(rows_of(theta, [s]))
        for part in super().every_part(tables, theta, s):
            if part[0] != "segment" or part[2] < min(theta.longest[part[3]], n - part[1]):
                yield part

    # -- costs, restrictions, annotations, risks --------------------------------------------------------

    def draw_cost(self, rng: np.random.Generator, theta: SegmentTables, whole: bool) -> Cost:
        """A cost on nodes, on segments (of all lengths alike or of each), and on edges (none, alike, or each)."""
        rows, lengths, labels = theta.segment.shape
        n_tables = [0, 1, theta.n_edges][rng.integers(3)]
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
        return Cost(name, given, self.by_part(spread, theta))

    def draw_limits(self, rng: np.random.Generator, theta: SegmentTables) -> Iterator[Limit]:
        """Nothing allowed, fixed codes, allowed labels, segments and pairs, contradiction, and combinations."""
        rows, lengths, labels = theta.segment.shape
        codes = self.plant(rng, theta)
        other = self.pack(theta, [self._draw(rng, theta, s) for s in range(len(theta))])
        partial = np.where(rng.random(rows) < 0.5, other, -1)
        node, segment = rng.random((rows, labels)) < 0.6, rng.random((rows, lengths, labels)) < 0.6
        edge = rng.random((theta.n_edges, labels, labels)) < 0.5
        same = rng.random((1, labels, labels)) < 0.5
        masks = SegmentTables(node, edge, theta.offsets, segment=segment, longest=theta.longest)
        for s, y in enumerate(self.unpack(theta, codes)):
            for part in self.parts(theta, s, y):
                array, index = self.place(masks, s, part)
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
            limit = self.limit(theta, name, within)
            if name == "fixed codes":  # by definition, not by the segments that were ruled out
                limit = replace(limit, allows=functools.partial(self._agrees, self.unpack(theta, fixed)))
            yield limit

    def _agrees(self, annotation: list[Output], s: int, y: Output) -> bool:
        return not self.contradicts(y, annotation[s])

    def _draw(self, rng: np.random.Generator, theta: SegmentTables, s: int) -> Output:
        outputs = self.outputs(theta, s)
        return outputs[rng.integers(len(outputs))]

    def draw_annotations(self, rng: np.random.Generator, theta: SegmentTables) -> Iterator[list[Output]]:
        """A full annotation, one with open positions (-1), and one with positions that have one of several codes."""
        full = self.pack(theta, [self._draw(rng, theta, s) for s in range(len(theta))])
        yield self.unpack(theta, full)
        partial = np.where(rng.random(len(full)) < 0.5, full, -1)
        yield self.unpack(theta, partial)
        yield [with_sets(rng, y, theta.n_codes) for y in self.unpack(theta, partial)]


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


register_reference(SemiMarkov, SegmentReference())
