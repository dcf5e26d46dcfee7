"""Hamming loss: the number (or cost) of wrong positions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from palmette.contracts.structure import Best, Structure
from palmette.data.annotation import Annotation, Known, confusion_costs, pairs_of
from palmette.losses.weighted_maximum import per_sample, sums_by
from palmette.registry import register

MOST_PARTS = 1000  # units that the dearest confusion may have


@register("loss")
@dataclass(frozen=True)
class Hamming:
    """``D(y, y') = sum_t costs[y_t, y'_t]``; by default the number of wrong positions (not their mean).

    Parameters
    ----------
    costs : None, mapping or array, default=None
        * ``{label: cost}``: cost of missing a position whose true label is ``label`` (1 for the others);
        * ``{(true, predicted): cost}``: cost of one confusion (1 for the others);
        * array of shape (n_classes, n_classes) in the order of ``classes_``, which is sorted for ``Multiclass``,
          whatever the order of ``classes=...``.

    Examples
    --------
    >>> from palmette.structures import Chain
    >>> Hamming({"O": 0.5}).bind(Chain(), ("B", "O")).table
    array([[0. , 1. ],
           [0.5, 0. ]])
    """

    called: ClassVar[str] = "hamming"

    costs: Any = None

    def bind(self, structure: Structure, classes: tuple[Any, ...]) -> PartsLoss:
        """The cost table in the order of ``classes``."""
        return PartsLoss(structure.code_costs(_cost_table(self.costs, classes)))


@dataclass(frozen=True)
class PartsLoss:
    """A loss that is a sum of costs of label parts (here: of positions).

    Where an annotation leaves several codes possible, the one that makes the answer cheapest is the truth: answers that
    are possible cost nothing. An edge whose labels the annotation does not allow costs 1.
    """

    table: np.ndarray  # (n_codes, n_codes): cost of predicting column where row is true

    way = "parts"
    compiled_as = "parts"

    def cost(self, theta: Any, true: Known) -> Any:
        """The loss as tables added to the potentials."""
        costs, pairs = confusion_costs(self.table, true), pairs_of(true)
        return theta.position_cost(costs) if pairs is None else theta.pair_cost(costs, pairs)

    def value(self, structure: Structure, theta: Any, true: Known, codes: np.ndarray) -> np.ndarray:
        """Loss of each sample."""
        if isinstance(true, Annotation):
            costs = confusion_costs(self.table, true)[np.arange(len(codes)), codes]
            if true.pairs is not None:
                np.add.at(costs, true.pairs.places[:, 0], true.pairs.broken(codes))
        else:
            costs = np.where(true >= 0, self.table[true, codes], 0.0)
        return sums_by(costs, structure.output_offsets(theta))

    def augmented_best(self, structure: Structure, theta: Any, true: Known) -> Best:
        """One maximisation with the cost added."""
        return structure.best(theta, cost=self.cost(theta, true))

    def weighted_best(self, structure: Structure, theta: Any, true: np.ndarray, weight: Any) -> Best:
        """``argmax_y f(y) + weight D(true, y)``, with one weight for all samples or one each, at least 0."""
        return structure.best(theta, cost=self.weighted_cost(structure, theta, true, weight))

    def weighted_cost(self, structure: Structure, theta: Any, true: np.ndarray, weight: Any) -> Any:
        """The loss times a weight for each sample as tables added to the potentials."""
        rows = np.repeat(per_sample(weight, theta), np.diff(structure.output_offsets(theta)))
        return theta.position_cost(self.table[true] * rows[:, None])

    def largest(self, structure: Structure, theta: Any, true: np.ndarray) -> np.ndarray:
        """Upper bound on the loss of any output of each sample."""
        return sums_by(self.table.max(axis=1)[true], structure.output_offsets(theta))

    @cached_property
    def least(self) -> float:
        """The smallest cost above 0, so that no loss is between it and 0."""
        return float(self.table.min(where=self.table > 0.0, initial=np.inf))

    @cached_property
    def unit(self) -> float | None:
        """The largest number of which all costs are multiples; None if they are no multiples of a common one."""
        return common_unit(self.table)


def common_unit(costs: np.ndarray) -> float | None:
    """The largest number of which all costs are multiples, if each is at most 1,000 times it.

    >>> common_unit(np.array([0.0, 0.5, 2.0])), common_unit(np.array([1.0, np.pi]))
    (0.5, None)
    """
    positive = np.unique(costs[costs > 0.0])
    if not len(positive):
        return 1.0
    for parts in range(1, MOST_PARTS + 1):
        unit = positive[0] / parts
        if positive[-1] > MOST_PARTS * unit:
            return None
        times = positive / unit
        if np.all(np.abs(times - np.rint(times)) <= 1e-9):
            return float(unit)
    return None


def _cost_table(costs: Any, classes: tuple[Any, ...]) -> np.ndarray:
    n = len(classes)
    table = 1.0 - np.eye(n)
    if costs is None:
        return table
    if isinstance(costs, Mapping):
        code = {c: i for i, c in enumerate(classes)}
        pairs_last = sorted(costs.items(), key=lambda item: item[0] not in code)
        for key, cost in pairs_last:
            if key in code:
                table[code[key]] = cost
                table[code[key], code[key]] = 0.0
            elif isinstance(key, tuple) and len(key) == 2 and key[0] in code and key[1] in code:
                table[code[key[0]], code[key[1]]] = cost
            else:
                raise ValueError(
                    f"Hamming costs name {key!r}, which is not a label; known labels: {list(classes)}"
                )
    else:
        table = np.array(costs, dtype=float)
        if table.shape != (n, n):
            raise ValueError(
                f"Hamming costs have shape {table.shape}, expected {(n, n)} for {n} classes; where the data "
                "may lack a label, name all of them with classes=[...]"
            )
    if not np.all(np.isfinite(table)) or table.min() < 0 or np.any(np.diag(table) != 0):
        raise ValueError(_first_bad(table, classes))
    return table


def _first_bad(table: np.ndarray, classes: tuple[Any, ...]) -> str:
    """Which cost cannot be, and what it should be."""
    bad = ~np.isfinite(table) | (table < 0)
    bad |= np.eye(len(classes), dtype=bool) & (table != 0)
    i, j = (int(k) for k in np.argwhere(bad)[0])
    wanted = "0, since the label is right" if i == j else "finite and at least 0"
    return f"costs[{i}, {j}], of {classes[j]!r} where {classes[i]!r} is true, is {table[i, j]:g}; it must be {wanted}"
