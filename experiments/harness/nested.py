"""Leave one school out, with every setting chosen inside the schools that remain."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

LEVEL, RESAMPLES = 0.95, 10_000  # of the interval of a difference

Errors = Mapping[tuple[tuple[str, ...], str], float]
"""Error on a school (second) of a model trained on others (first, in their order)."""


def training_sets(schools: Sequence[str]) -> list[tuple[str, ...]]:
    """What has to be trained on: all but two schools, to choose by, and all but one, to test.

    >>> training_sets("abc")
    [('a',), ('b',), ('c',), ('a', 'b'), ('a', 'c'), ('b', 'c')]
    """
    n = len(schools)
    if n < 3:
        raise ValueError(f"to choose and to test takes at least 3 schools, got {n}")
    return [*combinations(schools, n - 2), *combinations(schools, n - 1)]


def inner_error(errors: Errors, schools: Sequence[str], test: str) -> float:
    """Mean error on the schools other than `test`, each left out of the training in turn."""
    rest = [name for name in schools if name != test]
    return float(np.mean([errors[tuple(n for n in rest if n != held), held] for held in rest]))


def choose(found: Mapping[Hashable, Errors], schools: Sequence[str], test: str) -> Hashable:
    """The setting with the least inner error, the first of equals.

    >>> runs = {(("a",), "b"): 0.2, (("b",), "a"): 0.2, (("a",), "c"): 0.0, (("b",), "c"): 0.0}
    >>> choose({"strong": runs, "weak": {key: error + 0.1 for key, error in runs.items()}}, "abc", "c")
    'strong'
    """
    return min(found, key=lambda setting: inner_error(found[setting], schools, test))


class Difference(NamedTuple):
    """Mean error of a model minus that of another with its bootstrap interval, and the one divided by the other."""

    difference: float
    low: float
    high: float
    ratio: float

    def __str__(self) -> str:
        return f"{100 * self.difference:+.2f} [{100 * self.low:+.2f}, {100 * self.high:+.2f}]"


def paired_difference(wrong: Iterable[np.ndarray], baseline: Iterable[np.ndarray]) -> Difference:
    """Compare two models on the same pages: pages are drawn within their school, for both models alike.

    Parameters
    ----------
    wrong, baseline : iterable of ndarray of bool
        Which pages of each school the models got wrong; the mean is over schools.

    Examples
    --------
    >>> better, worse = np.arange(100) < 10, np.arange(100) < 20
    >>> found = paired_difference([better] * 2, [worse] * 2)
    >>> round(found.difference, 3), round(found.ratio, 3), found.low < -0.1 < found.high < 0
    (-0.1, 0.5, True)
    """
    random = np.random.default_rng(0)
    means, drawn = [], np.zeros(RESAMPLES)
    pairs = [(np.asarray(a, float), np.asarray(b, float)) for a, b in zip(wrong, baseline, strict=True)]
    for school, (ours, theirs) in enumerate(pairs):
        if not len(ours) == len(theirs) > 0:
            raise ValueError(
                f"school {school}: the same pages, at least one, are needed of both models, got {len(ours)} and "
                f"{len(theirs)}"
            )
        means.append((ours.mean(), theirs.mean()))
        change = ours - theirs
        # Only the numbers of pages lost, gained and unchanged matter, so draw those.
        shares = [(change == value).mean() for value in (-1.0, 0.0, 1.0)]
        counts = random.multinomial(len(change), shares, size=RESAMPLES)
        drawn += (counts[:, 2] - counts[:, 0]) / len(change) / len(pairs)
    mean, base = np.mean(means, axis=0)
    low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Difference(float(mean - base), float(low), float(high), float(mean / base) if base else np.nan)
