"""Confidence intervals of scores, and significance of the difference between two systems.

Sentences are resampled, not tokens: errors within a sentence depend on each other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from palmette.metrics.tally import Tally, ratio

_CELLS = 2**22  # random numbers drawn at a time


@dataclass(frozen=True)
class Interval:
    """A score and its bootstrap interval: `level` of the resampled scores lie between `low` and `high`."""

    score: float
    low: float
    high: float
    level: float

    def __str__(self) -> str:
        return f"{100 * self.score:.2f} [{100 * self.low:.2f}, {100 * self.high:.2f}]"


@dataclass(frozen=True)
class Comparison:
    """A system against a baseline on the same sentences.

    Parameters
    ----------
    difference : float
        Score of the system minus that of the baseline.
    low, high : float
        Bootstrap interval of the difference.
    level : float
        Share of the resampled differences between `low` and `high`.
    p_value : float
        Chance of a difference at least as large, of either sign, if the two systems were equally good.
    method : {"bootstrap", "randomization"}
        How the p-value was found.
    error : float
        Standard error of the difference: the standard deviation of the resampled ones.
    """

    difference: float
    low: float
    high: float
    level: float
    p_value: float
    method: str
    error: float = float("nan")

    def __str__(self) -> str:
        limits = f"[{100 * self.low:+.2f}, {100 * self.high:+.2f}]"
        return f"{100 * self.difference:+.2f} {limits}, p = {self.p_value:.2g} ({self.method})"


def bootstrap_interval(
    tally: Tally, *, level: float = 0.95, n_resamples: int = 10_000, random_state: Any = 0
) -> Interval:
    """Percentile bootstrap interval of a score, over sentences.

    Parameters
    ----------
    tally : Tally
        From `tally_accuracy`, `tally_chunks` or `tally_words`.
    level : float in (0, 1), default=0.95
    n_resamples : int, default=10_000
        Samples of as many sentences, drawn with replacement.
    random_state : int, Generator or None, default=0

    Returns
    -------
    Interval

    Examples
    --------
    >>> from palmette.metrics import tally_accuracy
    >>> true = [["A", "B"]] * 100
    >>> interval = bootstrap_interval(tally_accuracy(true, [["A", "B"]] * 90 + [["A", "A"]] * 10))
    >>> print(interval)
    95.00 [92.00, 97.50]
    """
    _check(tally, level, n_resamples)
    (scores,) = _resampled([tally], n_resamples, random_state)
    low, high = np.quantile(scores, _tails(level))
    return Interval(tally.score, float(low), float(high), level)


def compare(
    system: Tally,
    baseline: Tally,
    *,
    method: Literal["bootstrap", "randomization"] = "randomization",
    level: float = 0.95,
    n_resamples: int = 10_000,
    random_state: Any = 0,
) -> Comparison:
    """Difference of two systems on the same sentences, with its interval and its significance.

    Parameters
    ----------
    system, baseline : Tally
        The same score of the same sentences, in the same order.
    method : {"bootstrap", "randomization"}, default="randomization"
        Approximate randomisation exchanges the outputs of the two systems in a random half of the sentences
        and counts how often the difference is as large as the true one, in absolute value. The paired
        bootstrap draws sentences with replacement, for both systems alike, and counts how often the
        difference moves away from the true one by as much as that is away from zero. Either way
        ``p = (1 + count) / (1 + n_resamples)``.
    level : float in (0, 1), default=0.95
        Of the interval of the difference, which is that of the paired bootstrap for both methods.
    n_resamples : int, default=10_000
    random_state : int, Generator or None, default=0

    Returns
    -------
    Comparison

    Examples
    --------
    >>> from palmette.metrics import tally_accuracy
    >>> true = [["A", "B"]] * 200
    >>> good = tally_accuracy(true, [["A", "B"]] * 190 + [["A", "A"]] * 10)
    >>> bad = tally_accuracy(true, [["A", "B"]] * 170 + [["A", "A"]] * 30)
    >>> comparison = compare(good, bad)
    >>> round(comparison.difference, 3), comparison.p_value < 0.001
    (0.05, True)
    """
    for tally in (system, baseline):
        _check(tally, level, n_resamples)
    if (system.name, len(system)) != (baseline.name, len(baseline)):
        raise ValueError(
            f"the system has {system.name} of {len(system)} sentences, the baseline {baseline.name} of "
            f"{len(baseline)}; compare the same score of the same sentences"
        )
    if method not in ("bootstrap", "randomization"):
        raise ValueError(f"method must be 'bootstrap' or 'randomization', got {method!r}")
    difference = system.score - baseline.score
    of_system, of_baseline = _resampled([system, baseline], n_resamples, random_state)
    resampled = of_system - of_baseline
    low, high = np.quantile(resampled, _tails(level))
    under_null = resampled - difference
    if method == "randomization":
        under_null = _exchanged(system, baseline, n_resamples, random_state)
    slack = 1e-12  # equal differences shall count as equal, however they were rounded
    extreme = int((np.abs(under_null) >= abs(difference) - slack).sum())
    p_value = (1 + extreme) / (1 + n_resamples)
    return Comparison(difference, float(low), float(high), level, p_value, method, float(resampled.std()))


def _resampled(tallies: list[Tally], n_resamples: int, random_state: Any) -> list[np.ndarray]:
    """Scores of the tallies on samples of sentences, the same samples for all."""
    n = len(tallies[0])

    def draw(random: np.random.Generator, size: int) -> np.ndarray:
        drawn = random.integers(n, size=(size, n)) + n * np.arange(size)[:, None]
        return np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n)

    columns = [each for tally in tallies for each in (tally.numerator, tally.denominator)]
    sums = _weighted_sums(draw, np.column_stack(columns), n_resamples, random_state)
    return [ratio(sums[:, 2 * k], sums[:, 2 * k + 1]) for k in range(len(tallies))]


def _exchanged(system: Tally, baseline: Tally, n_resamples: int, random_state: Any) -> np.ndarray:
    """Differences of scores after the two exchanged a random half of their sentences."""
    mine = np.column_stack([system.numerator, system.denominator])
    theirs = np.column_stack([baseline.numerator, baseline.denominator])

    def draw(random: np.random.Generator, size: int) -> np.ndarray:
        return random.integers(2, size=(size, len(mine)), dtype=np.int8)

    moved = _weighted_sums(draw, theirs - mine, n_resamples, random_state)
    first, second = mine.sum(axis=0) + moved, theirs.sum(axis=0) - moved
    return ratio(first[:, 0], first[:, 1]) - ratio(second[:, 0], second[:, 1])


def _weighted_sums(
    draw: Callable[[np.random.Generator, int], np.ndarray],
    values: np.ndarray,
    n_resamples: int,
    random_state: Any,
) -> np.ndarray:
    """Sums of the rows of `values` with random weights, a block of samples at a time."""
    random = np.random.default_rng(random_state)
    block = max(1, _CELLS // len(values))
    sizes = [min(block, n_resamples - done) for done in range(0, n_resamples, block)]
    rows = values.astype(np.float64)
    return np.concatenate([draw(random, size).astype(np.float64) @ rows for size in sizes])


def _tails(level: float) -> tuple[float, float]:
    return (1 - level) / 2, (1 + level) / 2


def _check(tally: Tally, level: float, n_resamples: int) -> None:
    if not len(tally):
        raise ValueError(f"{tally.name}: there are no sentences to resample")
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, such as 0.95, got {level!r}")
    if n_resamples < 1:
        raise ValueError(f"n_resamples must be at least 1, got {n_resamples!r}")
