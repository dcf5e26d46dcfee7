"""Small random batches of segmentations that break inference: ties, huge and forbidden potentials, odd lengths."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import cycle
from typing import Any

import numpy as np

from palmette.structures.segments.tables import SegmentTables
from palmette.testing.chain_instances import (
    _around_the_node_switch,
    _forbidding,
    _huge,
    _huge_whole,
    _moderate,
    _whole,
    _zeros,
    draw_chains,
    permit,
)

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


def draw_segments(
    rng: np.random.Generator,
    scores: Sequence[Callable[..., Any]],
    longest: Sequence[int],
    lengths: Sequence[int],
    shared: bool,
) -> SegmentTables:
    """Potentials drawn by ``scores``, one function a sample in turn; some output of each is not forbidden."""
    chains, planted = draw_chains(rng, scores, len(longest), lengths, shared)
    drawn = [draw(rng, (length, max(longest), len(longest))) for draw, length in zip(cycle(scores), lengths)]
    segment = np.concatenate(drawn)
    permit(segment, (np.arange(len(segment)), 0, planted))  # segments of one position each
    most = np.array(longest, np.int64)
    return SegmentTables(chains.node, chains.edge, chains.offsets, segment=segment, longest=most)
