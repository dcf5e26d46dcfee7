"""0/1 loss: an output is right or wrong as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from palmette.contracts.structure import Best
from palmette.errors import InfeasibleError
from palmette.losses.base import no_way
from palmette.losses.hamming import PartsLoss
from palmette.losses.weighted_maximum import per_sample
from palmette.registry import register


@register("loss")
@dataclass(frozen=True)
class ZeroOne:
    """``D(y, y') = 1`` if the outputs differ anywhere, else 0.

    The augmented maximum is the better of ``f(y)`` and ``1 + max f(y')`` over the y' that contradict y.

    Examples
    --------
    >>> from palmette.structures import Chain
    >>> ZeroOne().bind(Chain(), ("a", "b"))
    ContradictionLoss()
    """

    def bind(self, structure: Any, classes: tuple) -> ContradictionLoss | PartsLoss:
        """On one-label outputs this is Hamming; elsewhere it needs the best contradicting output."""
        if getattr(structure, "layout", None) == "items":
            return PartsLoss(1.0 - np.eye(len(classes)))
        if not callable(getattr(structure, "best_contradicting", None)):
            raise no_way(self, structure)
        return ContradictionLoss()


@dataclass(frozen=True)
class ContradictionLoss:
    """0/1 loss on codes."""

    way = "contradiction"

    def value(self, structure: Any, theta: Any, true: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """1 for every sample that differs somewhere."""
        wrong = np.add.reduceat((np.asarray(true) != codes).astype(np.int64), theta.offsets[:-1])
        return (wrong > 0).astype(float)

    def augmented_best(self, structure: Any, theta: Any, true: np.ndarray) -> Best:
        """The better of the truth and 1 + the best output that contradicts it."""
        return self.weighted_best(structure, theta, true, 1.0)

    def weighted_best(self, structure: Any, theta: Any, true: np.ndarray, weight: Any) -> Best:
        """The better of the truth and ``weight`` + the best output that contradicts it."""
        true, weight = np.asarray(true, np.int32), per_sample(weight, theta)
        truth = structure.score(theta, true)
        try:
            rival = structure.best_contradicting(theta, true)
        except InfeasibleError:  # some sample has no other output than the truth
            rival = best_others(structure, theta, true)
        wins = rival.values + weight > truth
        rows = np.repeat(wins, np.diff(theta.offsets))
        return Best(np.where(rows, rival.codes, true), np.where(wins, rival.values + weight, truth))

    def largest(self, structure: Any, theta: Any, true: np.ndarray) -> np.ndarray:
        """1 for every sample."""
        return np.ones(len(theta))


def best_others(structure: Any, theta: Any, true: np.ndarray) -> Best:
    """The best output of each sample besides the truth; the truth at -inf where there is no other."""
    codes, values = true.copy(), np.full(len(theta), -np.inf)
    for s, ranked in enumerate(structure.k_best(theta, 2)):
        rows = slice(theta.offsets[s], theta.offsets[s + 1])
        for found, value in ranked[::-1]:
            if not np.array_equal(found, true[rows]):
                codes[rows], values[s] = found, value
    return Best(codes, values)
