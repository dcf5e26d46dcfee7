"""Small random queries that break inference: ties of scores, costs that cross them, huge scores, single documents."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from palmette.structures.ranking.tables import RankingTables
from palmette.testing.reference import Instance


def _whole(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.integers(-2, 3, n).astype(float)


def _moderate(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.normal(scale=2.0, size=n)


def _zeros(rng: np.random.Generator, n: int) -> np.ndarray:
    return np.zeros(n)


def _huge(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.normal(scale=1e7, size=n)


def _huge_whole(rng: np.random.Generator, n: int) -> np.ndarray:
    return 1e8 * rng.integers(-2, 3, n)


EXACT = (
    _whole,
    _zeros,
    _huge_whole,
)  # sums of these lose nothing in a double if the weights of ranks are whole

KINDS = [
    ("ties", _whole, (3, 1, 4)),
    ("moderate", _moderate, (5, 2, 1)),
    ("zeros", _zeros, (4, 1, 2)),
    ("huge", _huge, (3, 4)),
    ("huge ties", _huge_whole, (4, 3)),
    ("single documents", _moderate, (1, 1)),
    ("one query", _whole, (5,)),
]


def ranking_instances(rng: np.random.Generator, whole_weights: bool) -> Iterator[Instance]:
    """One batch of each kind."""
    for name, draw, lengths in KINDS:
        yield Instance(name, draw_queries(rng, draw, lengths), exact=whole_weights and draw in EXACT)


def draw_queries(
    rng: np.random.Generator, draw: Callable[[np.random.Generator, int], np.ndarray], lengths: Sequence[int]
) -> RankingTables:
    """Scores drawn by ``draw``."""
    return RankingTables(draw(rng, sum(lengths)), np.cumsum([0, *lengths]).astype(np.int64))
