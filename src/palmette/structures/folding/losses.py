"""What wrong base pairs cost."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from palmette.contracts.structure import Best, Structure
from palmette.data.annotation import Annotation, Known
from palmette.data.ragged import offsets_from_lengths
from palmette.losses.base import no_way
from palmette.losses.weighted_maximum import per_sample, sums_by
from palmette.registry import register
from palmette.structures.folding.codec import both_ends
from palmette.structures.folding.restrictions import possible_parts
from palmette.structures.folding.tables import FoldingTables, PairCost


@register("loss")
@dataclass(frozen=True)
class PairLoss:
    """``D(y, y') = (missed |y - y'| + false |y' - y|) / max(1, |y|)``, on sets of base pairs.

    Of a partly annotated structure only known pairs can be missed, and only pairs that contradict it are false.

    Parameters
    ----------
    missed : float, default=1.0
        Cost of missing all pairs. Alone it makes the loss 1 - recall (sensitivity).
    false : float, default=0.0
        Cost of as many wrong pairs as the reference has. As 1 - precision is no sum over pairs, this stands for it.
    relative : bool, default=True
        False: costs are those of single pairs. ``PairLoss(1, 1, relative=False)`` is the Hamming loss of pairs.

    Examples
    --------
    >>> from palmette import SSVM, Folding
    >>> model = SSVM(Folding(), task_loss=PairLoss(missed=1.0, false=0.2))
    """

    called: ClassVar[str] = "missed_pairs"

    missed: float = 1.0
    false: float = 0.0
    relative: bool = True

    def bind(self, structure: Structure, classes: tuple[Any, ...]) -> BoundPairLoss:
        """The same on codes."""
        if not getattr(structure, "folds", False):
            raise no_way(self, structure)
        for name in ("missed", "false"):
            value = getattr(self, name)
            if not isinstance(value, Real) or not 0.0 <= float(value) < np.inf:
                raise ValueError(f"PairLoss: {name} must be a number of at least 0, got {value!r}")
        return BoundPairLoss(float(self.missed), float(self.false), bool(self.relative))


@dataclass(frozen=True)
class BoundPairLoss:
    """Such a loss on codes."""

    missed: float
    false: float
    relative: bool

    way = "parts"

    def cost(self, theta: FoldingTables, true: Known) -> PairCost:
        """The loss as a cost: of every pair ``false``, of a true one 0, and a constant less ``missed`` for each."""
        offsets = theta.offsets
        codes = _known(true, offsets)
        left, sample, each = self._true_pairs(offsets, codes)
        n = np.diff(offsets)[sample]
        at = left - offsets[sample]
        entry = at * n + codes[left] - 1
        ptr = offsets_from_lengths(np.bincount(sample, minlength=len(theta)))
        size = np.bincount(sample, minlength=len(theta))
        own = {
            "constant": self.missed * each * size, "uniform": np.zeros(len(theta)), "entry_ptr": ptr, "entry": entry,
            "value": -self.missed * each[sample],
        }  # fmt: skip
        if not self.false:
            return PairCost.none(offsets, **own)
        if np.all(codes >= 0):  # complete: a pair is true or false
            own["uniform"] = self.false * each
            own["value"] = own["value"] - (self.false * each)[sample]
            return PairCost.none(offsets, **own)
        _, possible = possible_parts(true, theta)
        dense = np.where(possible, 0.0, np.repeat(self.false * each, np.diff(theta.squares)))
        return PairCost.none(offsets, dense=dense, **own)

    def _true_pairs(
        self, offsets: np.ndarray, codes: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Left ends of the true pairs, their samples, and what one pair weighs in each sample."""
        sample = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        left = np.flatnonzero(codes - 1 > np.arange(len(codes)) - offsets[sample])
        size = np.bincount(sample[left], minlength=len(offsets) - 1)
        return left, sample[left], 1.0 / np.maximum(size, 1) if self.relative else np.ones(len(size))

    def value(self, structure: Structure, theta: FoldingTables, true: Known, codes: np.ndarray) -> np.ndarray:
        """Loss of each sample."""
        known = _known(true, theta.offsets)
        left, sample, each = self._true_pairs(theta.offsets, known)
        missed = np.bincount(sample, (codes[left] != known[left]).astype(float), len(theta))
        out = self.missed * missed * each
        if self.false:
            at = np.arange(len(codes)) - np.repeat(theta.offsets[:-1], np.diff(theta.offsets))
            mine = codes - 1 > at
            if np.all(known >= 0):
                wrong = mine & (codes != known)
            else:
                lengths = np.diff(theta.offsets)
                square = np.repeat(theta.squares[:-1], lengths) + at * np.repeat(lengths, lengths)
                wrong = mine.copy()
                wrong[mine] = ~possible_parts(true, theta)[1][(square + codes - 1)[mine]]
            out += self.false * each * sums_by(wrong.astype(float), theta.offsets)
        return out

    def augmented_best(self, structure: Structure, theta: FoldingTables, true: Known) -> Best:
        """One maximisation with the cost added."""
        return structure.best(theta, cost=self.cost(theta, true))

    def weighted_best(
        self, structure: Structure, theta: FoldingTables, true: np.ndarray, weight: Any
    ) -> Best:
        """``argmax_y f(y) + weight D(true, y)``, with one weight for all samples or one each, at least 0."""
        return structure.best(theta, cost=self.weighted_cost(structure, theta, true, weight))

    def weighted_cost(self, structure: Any, theta: FoldingTables, true: np.ndarray, weight: Any) -> PairCost:
        """The loss times a weight for each sample."""
        return self.cost(theta, true).times(per_sample(weight, theta), theta.offsets)

    def largest(self, structure: Structure, theta: FoldingTables, true: np.ndarray) -> np.ndarray:
        """Upper bound on the loss of any output of each sample."""
        known = _known(true, theta.offsets)
        _, sample, each = self._true_pairs(theta.offsets, known)
        size = np.bincount(sample, minlength=len(theta))
        return each * (self.missed * size + self.false * (np.diff(theta.offsets) // 2))


def _known(true: Known, offsets: np.ndarray) -> np.ndarray:
    """The codes that are known, -1 for others."""
    return both_ends(true.known if isinstance(true, Annotation) else np.asarray(true), offsets)
