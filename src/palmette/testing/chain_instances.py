"""Small random chains that break inference: ties, zeros, huge and forbidden potentials, odd shapes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import cycle
from typing import Any

import numpy as np

from palmette.structures.positions.tables import ChainTables


def _whole(rng: Any, shape: Any) -> Any:
    return rng.integers(-2, 3, shape).astype(float)


def _moderate(rng: Any, shape: Any) -> Any:
    return rng.normal(scale=2.0, size=shape)


def _zeros(rng: Any, shape: Any) -> Any:
    return np.zeros(shape)


def _huge(rng: Any, shape: Any) -> Any:
    return rng.normal(scale=10.0 ** rng.uniform(6, 8), size=shape)


def _huge_whole(rng: Any, shape: Any) -> Any:
    return 1e8 * rng.integers(-2, 3, shape)


def _around_the_switch(rng: Any, shape: Any) -> Any:
    return rng.uniform(0.0, 170.0, shape)  # node spread + 2 edge spreads is about 500


def _around_the_node_switch(rng: Any, shape: Any) -> Any:
    return rng.uniform(0.0, 505.0, shape)


def _wide(rng: Any, shape: Any) -> Any:
    # fits products alone, and together with restrictions on short chains
    return rng.uniform(0.0, 80.0, shape)


def _forbidding(rng: Any, shape: Any) -> Any:
    return np.where(rng.random(shape) < 0.25, -np.inf, rng.normal(size=shape))


EXACT = (_whole, _zeros, _huge_whole)  # sums of these lose nothing in a double
FINITE = -1e9  # below all potentials but -inf

# name, scores of the samples in turn, labels, lengths, one edge table for all edges?
KINDS = [
    ("ties", (_whole,), 3, (3, 1, 4), True),
    ("moderate, edge by edge", (_moderate,), 3, (2, 4, 1), False),
    ("huge", (_huge,), 2, (3, 4, 1), True),
    ("forbidden potentials", (_forbidding,), 3, (1, 3, 3), False),
    ("zeros", (_zeros,), 2, (5, 1, 2), True),
    ("moderate", (_moderate,), 4, (3, 2), True),
    ("huge ties, edge by edge", (_huge_whole,), 3, (3, 1, 3), False),
    ("moderate beside huge, edge by edge", (_moderate, _huge), 2, (4, 3, 3, 1), False),
    ("around the switch", (_around_the_switch,), 3, (4, 3, 2), True),
    ("around the switch, edge by edge", (_around_the_switch,), 2, (5, 2, 4), False),
    ("wide", (_wide,), 3, (1, 4, 3), True),
    ("single label", (_moderate,), 1, (1, 3), True),
    ("single label, edge by edge", (_whole,), 1, (4, 1), False),
    ("length 1", (_whole,), 4, (1, 1, 1), True),
    ("length 1, edge by edge", (_moderate,), 4, (1, 1), False),
    ("one edge in all", (_moderate,), 3, (1, 2, 1), True),
    ("one sample", (_whole,), 2, (6,), True),
]

ITEM_KINDS = [
    ("ties", (_whole,), 4),
    ("moderate", (_moderate,), 3),
    ("huge", (_huge,), 3),
    ("forbidden potentials", (_forbidding,), 5),
    ("zeros", (_zeros,), 3),
    ("huge ties", (_huge_whole,), 4),
    ("moderate beside huge", (_moderate, _huge), 2),
    ("around the switch", (_around_the_node_switch,), 4),
    ("single label", (_moderate,), 1),
]


def draw_chains(
    rng: np.random.Generator,
    scores: Sequence[Callable[..., Any]],
    n_labels: int,
    lengths: Sequence[int],
    shared: bool,
) -> tuple[ChainTables, np.ndarray]:
    """Potentials drawn by ``scores``, one function a sample in turn, and an output of each that is not forbidden."""
    node, edge = [], []
    for draw, length in zip(cycle(scores), lengths):
        node.append(draw(rng, (length, n_labels)))
        edge.append(draw(rng, (length - 1, n_labels, n_labels)))
    tables = scores[0](rng, (1, n_labels, n_labels)) if shared else np.concatenate(edge)
    theta = ChainTables(np.concatenate(node), tables, np.cumsum([0, *lengths]))
    rows = np.arange(len(theta.node))
    planted = rng.integers(0, n_labels, len(rows))
    permit(theta.node, (rows, planted))
    left = np.setdiff1d(rows, theta.offsets[1:] - 1)
    permit(tables, (0 if shared else np.arange(len(left)), planted[left], planted[left + 1]))
    return theta, planted


def permit(array: np.ndarray, at: tuple[Any, ...]) -> None:
    """Make potentials finite."""
    array[at] = np.maximum(array[at], FINITE)
