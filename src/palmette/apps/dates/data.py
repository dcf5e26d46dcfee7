"""Handwritten dates, composed from scikit-learn's handwritten digits."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

FIRST, LAST = datetime.date(1995, 1, 1), datetime.date(2004, 12, 31)
PLACES = ("millennium", "century", "decade", "year", "month tens", "month", "day tens", "day")
SIDE = 8  # pixels

# The damage and the ten years were chosen so that the help of the neighbours can be seen with the bare eye.
GRAIN = 0.12  # standard deviation of the noise on every pixel
BLOT_RATE = 0.15  # share of digits with an ink blot
BLOT_WIDTH = (1.8, 3.5)  # standard deviation of a blot in pixels


@dataclass(frozen=True)
class Dates:
    """Images of dates and what they say.

    Parameters
    ----------
    images : ndarray of float64, shape (n_dates, 8, 8, 8)
        For each date 8 digits (YYYYMMDD) of 8 x 8 pixels, from 0 (paper) to 1 (ink).
    digits : ndarray of int64, shape (n_dates, 8)
    """

    images: np.ndarray
    digits: np.ndarray

    def __len__(self) -> int:
        return len(self.digits)

    @property
    def pixels(self) -> np.ndarray:
        """One row a digit, shape (8 n_dates, 64)."""
        return self.images.reshape(-1, SIDE * SIDE)


def make_dates(sizes: Sequence[int], *, shares: Sequence[float], seed: int = 0) -> tuple[Dates, ...]:
    """Compose parts (such as training, development, test) that share no image of a digit.

    Days are drawn uniformly from ten years and written as YYYYMMDD, each digit with a random image of its
    kind. All pixels get some grain, and one digit in seven an ink blot.

    Parameters
    ----------
    sizes : sequence of int
        Number of dates in each part.
    shares : sequence of float
        Share of the images that each part is composed from.
    seed : int
        Of the split, the days, the choice of images and the damage.

    Returns
    -------
    tuple of Dates

    Examples
    --------
    >>> train, test = make_dates((3, 2), shares=(0.7, 0.3), seed=1)
    >>> train.images.shape, test.digits.shape
    ((3, 8, 8, 8), (2, 8))
    """
    from sklearn.datasets import load_digits

    source = load_digits()
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(source.target))
    cuts = (np.cumsum(shares)[:-1] * len(order)).astype(int)
    return tuple(
        _compose(source.images / 16, source.target, pool, n, rng)
        for n, pool in zip(sizes, np.split(order, cuts), strict=True)
    )


def _compose(
    images: np.ndarray, labels: np.ndarray, pool: np.ndarray, n: int, rng: np.random.Generator
) -> Dates:
    digits = np.array([_digits(day) for day in rng.integers(FIRST.toordinal(), LAST.toordinal() + 1, size=n)])
    chosen = np.empty(digits.shape, np.int64)
    for digit in range(10):
        where = digits == digit
        chosen[where] = rng.choice(pool[labels[pool] == digit], size=where.sum())
    return Dates(_damaged(images[chosen], rng), digits)


def _digits(ordinal: int) -> list[int]:
    return [int(c) for c in datetime.date.fromordinal(int(ordinal)).strftime("%Y%m%d")]


def _damaged(clean: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    shape = (*clean.shape[:2], 1, 1)
    rows, columns = np.arange(SIDE)[:, None], np.arange(SIDE)
    x, y = rng.uniform(1, SIDE - 2, size=(2, *shape))
    squared_distance = (rows - y) ** 2 + (columns - x) ** 2
    blot = 1.5 * np.exp(-squared_distance / (2 * rng.uniform(*BLOT_WIDTH, size=shape) ** 2))
    blot *= rng.random(shape) < BLOT_RATE
    return np.clip(np.maximum(clean, blot) + GRAIN * rng.standard_normal(clean.shape), 0, 1)
