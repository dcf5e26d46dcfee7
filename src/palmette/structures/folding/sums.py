"""Sums over the structures of a batch by the kernels that suit each sample: fast ones where numbers have the range."""

from __future__ import annotations

import numpy as np

from palmette.structures.folding.layout import EXTERNAL_UNPAIRED
from palmette.structures.folding.question import Question
from palmette.structures.folding.room import room


def add_expectations(
    question: Question,
    fast_from: int,
    like: np.ndarray,
    weight: np.ndarray,
    counts: np.ndarray,
    free: np.ndarray,
    starts: np.ndarray,
    pairs: np.ndarray,
) -> np.ndarray:
    """Log-partitions; ``weight`` x expected counts are added to what is not empty.

    Fast kernels scale sums by a guess at the log-partition per position and correct it on the way. A sample whose sums
    leave the range of their numbers is tried again with the best score as the guess, then in double precision, and at
    last by the plain kernels, on logarithms; so are those shorter than ``fast_from``. Where positions must pair, sums
    over the rest of a sequence say little, and the best score comes first.
    """
    from palmette.structures.folding.kernels import fast_batch, inside

    lengths = np.diff(question.offsets)
    longest = int(lengths.max(initial=0))
    log_z = np.full(len(lengths), np.nan)
    rates = np.full(len(lengths), max(question.tables[EXTERNAL_UNPAIRED], 0.0))

    def run(asked: np.ndarray, precision: np.ndarray) -> np.ndarray:
        """Try some samples; those that are still without an answer."""
        if asked.any():
            own = room(longest, 4, precision)
            fast_batch.expectations(*question, own, rates, asked, weight, log_z, counts, free, starts, pairs)
        return asked & np.isnan(log_z)

    sample = np.repeat(np.arange(len(lengths)), lengths)
    forced = np.bincount(sample[np.isneginf(question.unpaired)], minlength=len(lengths)) > 0
    fast = lengths >= fast_from
    left = run(fast & ~forced, like) | (fast & forced)
    if left.any():
        codes, values = np.empty(len(question.letters), np.int32), np.zeros(len(lengths))
        double = np.empty(0)
        fast_batch.best_structures(*question, fast_from, room(longest, 2, double), left, codes, values)
        none = left & np.isneginf(values)
        log_z[none] = -np.inf
        left &= ~none
        finite = np.where(np.isneginf(question.unpaired), 0.0, question.unpaired)
        rates[left] = ((values - np.bincount(sample, finite, len(lengths))) / np.maximum(lengths, 1))[left]
        left = run(left, like)
        if like.itemsize < double.itemsize:
            run(left, double)
    left = np.isnan(log_z)
    if left.any():
        inside.expectations(*question, left, weight, log_z, counts, free, starts, pairs)
    return log_z
