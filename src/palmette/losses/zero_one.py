"""0/1 loss: an output is right or wrong as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from palmette.contracts.structure import Best, Structure
from palmette.data.annotation import Known
from palmette.errors import InfeasibleError
from palmette.losses.hamming import PartsLoss
from palmette.losses.weighted_maximum import per_sample
from palmette.registry import register


@register("loss")
@dataclass(frozen=True)
class ZeroOne:
    """``D(y, y') = 1`` if y' contradicts y anywhere, else 0.

    The augmented maximum is the better of the best output that agrees with y (of labels: y itself; of grades: any order
    in which higher ones stand first) and 1 + the best output that contradicts y.

    Examples
    --------
    >>> from palmette.structures import Chain
    >>> ZeroOne().bind(Chain(), ("a", "b"))
    ContradictionLoss()
    """

    called: ClassVar[str] = "zero_one"

    def bind(self, structure: Structure, classes: tuple[Any, ...]) -> ContradictionLoss | PartsLoss:
        """On one-label outputs this is Hamming; elsewhere it needs the best contradicting output."""
        return PartsLoss(1.0 - np.eye(len(classes))) if structure.layout == "items" else ContradictionLoss()


@dataclass(frozen=True)
class ContradictionLoss:
    """0/1 loss on codes."""

    way = "contradiction"

    def value(self, structure: Structure, theta: Any, true: Known, codes: np.ndarray) -> np.ndarray:
        """1 for every sample that contradicts the truth somewhere."""
        return structure.contradicts(theta, true, codes).astype(float)

    def augmented_best(self, structure: Structure, theta: Any, true: Known) -> Best:
        """The better of what agrees with the truth and 1 + the best output that contradicts it."""
        return self.weighted_best(structure, theta, true, 1.0)

    def weighted_best(self, structure: Structure, theta: Any, true: Known, weight: Any) -> Best:
        """The better of what agrees with the truth and ``weight`` + the best output that contradicts it."""
        weight = per_sample(weight, theta)
        truth, rival = structure.best_agreeing(theta, true), best_rival(structure, theta, true)
        wins = rival.values + weight > truth.values
        codes = choose(wins, rival.codes, truth.codes, structure.output_offsets(theta))
        return Best(codes, np.where(wins, rival.values + weight, truth.values))

    def largest(self, structure: Structure, theta: Any, true: np.ndarray) -> np.ndarray:
        """1 for every sample."""
        return np.ones(len(theta))


def best_rival(structure: Structure, theta: Any, true: Known) -> Best:
    """The best output of each sample that contradicts the truth; one that agrees, at -inf, where there is none."""
    try:
        return structure.best_contradicting(theta, true)
    except InfeasibleError:
        if len(theta) == 1:
            return Best(structure.best_agreeing(theta, true).codes, np.array([-np.inf]))
    offsets, middle = structure.output_offsets(theta), len(theta) // 2
    codes, values = zip(
        *(
            best_rival(structure, theta.take(np.arange(a, b)), true[offsets[a] : offsets[b]])
            for a, b in ((0, middle), (middle, len(theta)))
        )
    )
    return Best(np.concatenate(codes), np.concatenate(values))


def choose(wins: np.ndarray, ours: np.ndarray, theirs: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """The codes ``ours`` of the samples that win, ``theirs`` of the others."""
    return np.where(np.repeat(wins, np.diff(offsets)), ours, theirs)
