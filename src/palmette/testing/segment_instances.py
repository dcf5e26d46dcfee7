"""Small random batches of segmentations that break inference: ties, huge and forbidden potentials, odd lengths."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import cycle
from typing import Any

import numpy as np

from palmette.structures.segments.tables import SegmentTables
from palmette.testing.chain_instances import (
    EXACT,
    FINITE,
    _around_the_node_switch,
    _forbidding,
    _huge,
    _huge_whole,
    _moderate,
    _whole,
    _zeros,
)
from palmette.testing.reference import Instance

# name, scores of the samples in turn, longest segment of each label, lengths, one edge table for all neighbours?
KINDS = [
    ("ties", (_whole,), (2, 3), (3, 1, 4), True),
    ("moderate, edge by edge", (_moderate,), (1, 2, 2), (2, 3, 1), False),
    ("huge", (_huge,), (4, 2), (4, 1), True),
    ("forbidden potentials", (_forbidding,), (2, 1, 3), (1, 3), False),
    ("zeros", (_zeros,), (3, 1), (4, 1, 2), True),
    ("moderate", (_moderate,), (1, 3, 2, 2), (3, 1), True),
    ("huge ties, edge by edge", (_huge_whole,), (2, 2, 1), (1, 3), False),
    ("moderate beside huge, edge by edge", (_moderate, _huge), (2, 3), (3, 3, 1), False),
    ("around the switch", (_around_the_node_switch,), (2, 3), (4, 2), True),
    ("around the switch, edge by edge", (_around_the_node_switch,), (1, 2), (2, 4), False),
    ("single label", (_moderate,), (3,), (1, 6), True),
    ("single positions", (_whole,), (1, 1, 1), (3, 1, 2), True),
    ("longer than the samples", (_moderate,), (9, 7), (2, 3), True),
    ("length 1, edge by edge", (_whole,), (1, 2, 1, 1), (1, 1), False),
    ("one boundary in all", (_moderate,), (2, 1), (1, 2, 1), True),
]


def segment_instances(
    rng: np.random.Generator, longest: Sequence[int] | None = None, lengths: Sequence[int] | None = None
) -> Iterator[Instance]:
    """One batch of each kind, in a given shape if asked for."""
    for name, scores, usual_longest, usual_lengths, shared in KINDS:
        theta = draw_segments(rng, scores, longest or usual_longest, lengths or usual_lengths, shared)
        yield Instance(name, theta, exact=scores[0] in EXACT)


def draw_segments(
    rng: np.random.Generator,
    scores: Sequence[Callable[..., Any]],
    longest: Sequence[int],
    lengths: Sequence[int],
    shared: bool,
) -> SegmentTables:
    """Potentials drawn by ``scores``, one function a sample in turn; some output of each is not forbidden."""
    n_labels, most = len(longest), max(longest)
    node, edge, segment = [], [], []
    for draw, length in zip(cycle(scores), lengths):
        node.append(draw(rng, (length, n_labels)))
        edge.append(draw(rng, (length - 1, n_labels, n_labels)))
        segment.append(draw(rng, (length, most, n_labels)))
    tables = scores[0](rng, (1, n_labels, n_labels)) if shared else np.concatenate(edge)
    e = 0
    for rows, segments in zip(node, segment):
        planted = rng.integers(0, n_labels, len(rows))  # segments of one position each
        for t, label in enumerate(planted):
            rows[t, label] = np.maximum(rows[t, label], FINITE)
            segments[t, 0, label] = np.maximum(segments[t, 0, label], FINITE)
            if t > 0:
                at = 0 if shared else e, planted[t - 1], label
                tables[at] = np.maximum(tables[at], FINITE)
                e += 1
    return SegmentTables(
        np.concatenate(node),
        tables,
        np.cumsum([0, *lengths]),
        segment=np.concatenate(segment),
        longest=np.array(longest, np.int64),
    )
