"""Weights to start from where a loss is not convex: log-odds of the letters that known matches bring together."""

from __future__ import annotations

from typing import Any

import numpy as np

from palmette.structures.alignment.losses import known_matches
from palmette.structures.alignment.scorer import AlignmentScorer

OPEN, EXTEND = -4.0, -0.4
"""Scores of gaps beside log-odds in nats, as of usual substitution matrices."""
PSEUDO = 100.0
"""As many matches of letters that have nothing to do with each other are added to those that are known."""
DAMP = 0.1
"""How much many small weights are preferred to few large ones."""


def first_weights(scorer: Any, samples: Any) -> np.ndarray:
    """``log p(a, b) / (p(a) p(b))`` of letters in known matches as scores of matches, and usual scores of gaps.

    The weights are those whose sums come nearest to these scores. Of a scorer that wraps that of alignments, such as
    one of several domains, these are the first weights, which all domains share; the others are 0.
    """
    own: AlignmentScorer = getattr(scorer, "inner", scorer)
    batch = getattr(samples.batch, "inner", samples.batch)
    theta = own.score(np.zeros(own.n_params), batch)
    sample, i, j = known_matches(theta, samples.known)
    first = batch.letters[batch.offsets[sample] + i]
    second = batch.letters[batch.offsets[sample] + batch.splits[sample] + j]
    symbols = len(theta.substitution)
    pairs = np.zeros((symbols, symbols))
    np.add.at(pairs, (first, second), samples.weight[sample])
    pairs += pairs.T
    share = np.bincount(batch.letters, minlength=symbols) + 1.0
    apart = np.outer(share, share) / share.sum() ** 2
    scores = np.log((pairs + PSEUDO * apart) / ((pairs.sum() + PSEUDO) * apart))
    w = np.zeros(scorer.n_params)
    w[: own.n_params] = own.nearest(scores, OPEN, EXTEND, DAMP)
    return w
