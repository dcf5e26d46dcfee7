"""Pairs of frames of the movies of cells, for the benchmarks of tracking: candidates, truth, event loss, intervals."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

# How far cells move over so many frames of HeLa: fixed once from the training movies' own links.
REACH = {1: 60.0, 4: 80.0, 8: 80.0}


class Pairs(NamedTuple):
    """Pairs of frames of one movie, ``step`` frames apart, one for every frame."""

    X: list[Any]  # candidates
    Y: list[list[int]]  # codes of the truth, mended where the model cannot express it
    events: list[set[Any]]  # the true events (kind, before, after), as they are
    repairs: list[Any]


EVENTS = ("move", "divide", "appear", "disappear")


def tracking(step: int, events: Sequence[str] = EVENTS) -> Any:
    """The structure for frames so far apart."""
    from palmette import Tracking

    near = (6, 4) if step == 1 else (8, 5)
    return Tracking(events, max_distance=REACH[step], neighbours=near[0], division_neighbours=near[1])


@cache
def pairs(
    name: str, sequence: str, step: int, detections: str = "truth", events: tuple[str, ...] = EVENTS
) -> Pairs:
    """The pairs of frames (t, t + step) of a movie, links composed over the skipped frames."""
    from palmette.datasets import load_fluo
    from palmette.structures.tracking.truth import true_codes, true_events

    movie = load_fluo(name, sequence, detections=detections)
    lineage = movie.lineage.skipping(step) if step > 1 else movie.lineage
    structure = tracking(step, events)
    found = Pairs([], [], [], [])
    for early, late in zip(movie.frames, movie.frames[step:]):
        candidates = structure.candidates((early, late))
        codes, repairs = true_codes(candidates, lineage)
        links = lineage.links(early.frame, late.frame)
        found.X.append(candidates)
        found.Y.append(codes.tolist())
        found.events.append(keys(true_events(links, early, late, candidates.kinds)[0]))
        found.repairs.extend(repairs)
    return found


def keys(events: Any) -> set[Any]:
    """Events as keys that can be compared."""
    return {(event.kind, tuple(sorted(event.before)), tuple(sorted(event.after))) for event in events}


def differences(own: Pairs, predicted: Sequence[Any]) -> np.ndarray:
    """Of each pair: wrong events, and all events of both sides, shape (n, 2)."""
    counts = []
    for candidates, true, codes in zip(own.X, own.events, predicted):
        found = keys(candidates.events_of(codes))
        counts.append((len(found ^ true), len(found) + len(true)))
    return np.array(counts, float)


def event_loss(counts: np.ndarray) -> float:
    """``|y sym. diff. y*| / (|y| + |y*|)`` in percent, over all pairs."""
    return 100.0 * float(counts[:, 0].sum() / counts[:, 1].sum())


def block_interval(counts: np.ndarray, block: int, draws: int = 2000, seed: int = 0) -> tuple[float, float]:
    """A 95 % interval of the event loss by resampling runs of ``block`` successive pairs, which overlap in time."""
    rng = np.random.default_rng(seed)
    starts = rng.integers(0, max(len(counts) - block + 1, 1), (draws, -(-len(counts) // block)))
    places = (starts[:, :, None] + np.arange(block)).reshape(draws, -1) % len(counts)
    sums = counts[places].sum(axis=1)
    low, high = np.percentile(100.0 * sums[:, 0] / sums[:, 1], [2.5, 97.5])
    return float(low), float(high)


def halves(times: Sequence[int], gap: int) -> list[tuple[list[int], list[int]]]:
    """Two folds of samples by time: learn from one half, test on the other, without training pairs near the cut.

    >>> halves([0, 1, 2, 3, 4, 5], 1)
    [([0, 1], [3, 4, 5]), ([4, 5], [0, 1, 2])]
    """
    cut = float(np.median(times))
    early = [i for i, time in enumerate(times) if time < cut]
    late = [i for i, time in enumerate(times) if time >= cut]
    near = (
        [i for i in early if times[i] < times[late[0]] - gap],
        [i for i in late if times[i] > times[early[-1]] + gap],
    )
    return [(near[0], late), (near[1], early)]
