"""What wrong columns cost."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from palmette.contracts.structure import Best, Structure
from palmette.data.annotation import Annotation, Known
from palmette.data.ragged import offsets_from_lengths
from palmette.losses.base import no_way
from palmette.losses.weighted_maximum import per_sample
from palmette.registry import register
from palmette.structures.alignment.cost import MatchCost
from palmette.structures.alignment.restrictions import possible_parts
from palmette.structures.alignment.tables import AlignmentTables


@register("loss")
@dataclass(frozen=True)
class ColumnLoss:
    """``D(y, y') = (missed |y - y'| + false |y' - y|) / max(1, |y|)``, on sets of matches.

    Of an alignment that is known in part (core columns) only known matches can be missed, and only matches that
    contradict it are false: those with a position whose true partner, or gap, is known.

    Parameters
    ----------
    missed : float, default=1.0
        Cost of missing all known columns. Alone it makes the loss 1 - recall (the developer's score).
    false : float, default=0.0
        Cost of as many wrong matches as the reference has. As 1 - precision is no sum over matches, this stands for
        it.
    relative : bool, default=True
        False: costs are those of single matches.

    Examples
    --------
    >>> from palmette import SSVM, Alignment
    >>> model = SSVM(Alignment(), task_loss=ColumnLoss(missed=1.0, false=0.2))
    """

    called: ClassVar[str] = "missed_columns"

    missed: float = 1.0
    false: float = 0.0
    relative: bool = True

    def bind(self, structure: Structure, classes: tuple[Any, ...]) -> BoundColumnLoss:
        """The same on codes."""
        if not getattr(structure, "aligns", False):
            raise no_way(self, structure)
        for name in ("missed", "false"):
            value = getattr(self, name)
            if not isinstance(value, Real) or not 0.0 <= float(value) < np.inf:
                raise ValueError(f"ColumnLoss: {name} must be a number of at least 0, got {value!r}")
        return BoundColumnLoss(float(self.missed), float(self.false), bool(self.relative))


@dataclass(frozen=True)
class BoundColumnLoss:
    """Such a loss on codes."""

    missed: float
    false: float
    relative: bool

    way = "parts"

    def cost(self, theta: AlignmentTables, true: Known) -> MatchCost:
        """The loss as a cost: a constant, less ``missed`` for each true match, and ``false`` for each wrong one."""
        sample, cell, each = self._true_matches(theta, true)
        size = np.bincount(sample, minlength=len(theta))
        value, dense = -self.missed * each[sample], None
        if self.false:
            possible = possible_parts(true, theta)[1]
            dense = np.where(possible, 0.0, np.repeat(self.false * each, np.diff(theta.starts)))
        return MatchCost.none(
            theta.offsets, theta.n_kinds, constant=self.missed * each * size, entry_ptr=offsets_from_lengths(size),
            entry=cell, value=value, dense=dense,
        )  # fmt: skip

    def _true_matches(self, theta: AlignmentTables, true: Known) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Samples and cells of the known matches, and what one match weighs in each sample."""
        sample, i, j = known_matches(theta, true)
        size = np.bincount(sample, minlength=len(theta))
        each = 1.0 / np.maximum(size, 1) if self.relative else np.ones(len(theta))
        return sample, i * (np.diff(theta.offsets) - theta.splits)[sample] + j, each

    def value(
        self, structure: Structure, theta: AlignmentTables, true: Known, codes: np.ndarray
    ) -> np.ndarray:
        """Loss of each sample."""
        sample, cell, each = self._true_matches(theta, true)
        m = (np.diff(theta.offsets) - theta.splits)[sample]
        found = codes[theta.offsets[sample] + cell // m] == cell % m + 1
        out = self.missed * each * np.bincount(sample, (~found).astype(float), len(theta))
        if self.false:
            impossible = (~possible_parts(true, theta)[1]).astype(float)
            wrong = MatchCost.none(theta.offsets, theta.n_kinds, dense=impossible)
            out += self.false * each * structure.score(theta.zeros(), codes, cost=wrong)
        return out

    def augmented_best(self, structure: Structure, theta: AlignmentTables, true: Known) -> Best:
        """One maximisation with the cost added."""
        return structure.best(theta, cost=self.cost(theta, true))

    def weighted_best(self, structure: Structure, theta: AlignmentTables, true: Known, weight: Any) -> Best:
        """``argmax_y f(y) + weight D(true, y)``, with one weight for all samples or one each, at least 0."""
        return structure.best(theta, cost=self.weighted_cost(structure, theta, true, weight))

    def weighted_cost(self, structure: Any, theta: AlignmentTables, true: Known, weight: Any) -> MatchCost:
        """The loss times a weight for each sample."""
        return self.cost(theta, true).times(per_sample(weight, theta), theta.offsets, theta.starts)

    def largest(self, structure: Structure, theta: AlignmentTables, true: Known) -> np.ndarray:
        """Upper bound on the loss of any output of each sample."""
        sample, _, each = self._true_matches(theta, true)
        size = np.bincount(sample, minlength=len(theta))
        most = np.minimum(theta.splits, np.diff(theta.offsets) - theta.splits)
        return each * (self.missed * size + self.false * most)


def known_matches(theta: AlignmentTables, true: Known) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Samples and positions (i, j) of the matches that an annotation knows, at one end at least, in their order."""
    codes = true.known if isinstance(true, Annotation) else np.asarray(true)
    at = np.flatnonzero((codes > 0) & (codes <= theta.others))
    sample = np.searchsorted(theta.offsets, at, side="right") - 1
    place, n = at - theta.offsets[sample], theta.splits[sample]
    first = place < n
    i, j = np.where(first, place, codes[at] - 1), np.where(first, codes[at] - 1, place - n)
    order = np.lexsort((i, sample))
    sample, i, j = sample[order], i[order], j[order]
    new = np.ones(len(order), bool)
    new[1:] = (np.diff(sample) != 0) | (np.diff(i) != 0)
    return sample[new], i[new], j[new]
