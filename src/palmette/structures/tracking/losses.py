"""What wrong events cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np

from palmette.contracts.structure import Structure
from palmette.data.annotation import Known, confusion_costs
from palmette.losses.base import no_way
from palmette.losses.hamming import PartsLoss
from palmette.losses.weighted_maximum import per_sample, sums_by
from palmette.registry import register
from palmette.structures.tracking.event_kinds import event_kinds
from palmette.structures.tracking.tables import N_CODES

_WRONG = 1.0 - np.eye(N_CODES)


@register("loss")
@dataclass(frozen=True)
class WeightedEvents:
    """``D(y, y') = sum over events e in just one of both of weight(kind of e)``: Hamming loss, weighted by kinds.

    Parameters
    ----------
    weights : mapping of str to float
        Cost of a wrong event by its kind, at least 0; 1 for kinds that are not named.

    Examples
    --------
    Wrong divisions cost five times as much as other events:

    >>> from palmette import SSVM, Tracking
    >>> model = SSVM(Tracking(), task_loss=WeightedEvents({"divide": 5.0}))
    """

    weights: Mapping[str, float] = field(default_factory=dict)

    def bind(self, structure: Structure, classes: tuple[Any, ...]) -> BoundWeightedEvents:
        """The weights in the order of the kinds of a structure of events."""
        if not hasattr(structure, "kinds"):
            raise no_way(self, structure)
        names = [kind.name for kind in event_kinds(structure.kinds)]
        for name, weight in self.weights.items():
            if name not in names:
                raise ValueError(
                    f"WeightedEvents: there are no events {name!r}; kinds are {', '.join(names)}"
                )
            if not isinstance(weight, Real) or not 0.0 <= weight < np.inf:
                raise ValueError(
                    f"WeightedEvents: the weight of {name!r} is {weight!r}; give a number of at least 0"
                )
        return BoundWeightedEvents(_WRONG, np.array([float(self.weights.get(name, 1.0)) for name in names]))


@dataclass(frozen=True)
class BoundWeightedEvents(PartsLoss):
    """Such a loss for the kinds of one structure."""

    by_kind: np.ndarray

    def cost(self, theta: Any, true: Known) -> Any:
        """The loss as tables added to the potentials."""
        return theta.position_cost(confusion_costs(self.table, true) * self.by_kind[theta.kind][:, None])

    def value(self, structure: Structure, theta: Any, true: Known, codes: np.ndarray) -> np.ndarray:
        """Loss of each sample."""
        costs = confusion_costs(self.table, true)[np.arange(len(codes)), codes]
        return sums_by(costs * self.by_kind[theta.kind], structure.output_offsets(theta))

    def weighted_cost(self, structure: Structure, theta: Any, true: np.ndarray, weight: Any) -> Any:
        """The loss times a weight for each sample."""
        rows = np.repeat(per_sample(weight, theta), np.diff(structure.output_offsets(theta)))
        return theta.position_cost(self.table[true] * (rows * self.by_kind[theta.kind])[:, None])

    def largest(self, structure: Structure, theta: Any, true: np.ndarray) -> np.ndarray:
        """Upper bound on the loss of any output of each sample."""
        return sums_by(self.by_kind[theta.kind], structure.output_offsets(theta))

    @property
    def least(self) -> float:
        """The smallest cost above 0."""
        return float(self.by_kind.min(where=self.by_kind > 0.0, initial=np.inf))

    @property
    def unit(self) -> float | None:
        """The largest number of which all costs are multiples, if there is one."""
        from palmette.losses.hamming import common_unit

        return common_unit(self.by_kind)
