"""The algebra of surrogates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from palmette.contracts.structure import Structure


class Evaluation(NamedTuple):
    """A surrogate on a batch: unweighted value of each sample, weighted gradient in theta's shape.

    Where maxima are not found for certain, ``values`` are those of what was found, so that cuts stay below the loss,
    and the loss of each sample is at most ``values + slack``.
    """

    values: np.ndarray
    counts: Any
    slack: Any = 0.0  # one number per sample, or 0 for all


class Rivals(NamedTuple):
    """Outputs at which a maximum over outputs is attained: the loss is ``factor (f(rival) - f(true)) + cost``.

    With the rivals fixed this is linear in the scores, and below the loss elsewhere.
    """

    codes: Any  # outputs of the batch, packed as the structure packs them
    values: np.ndarray  # (n_samples,): the loss
    factor: np.ndarray  # (n_samples,)

    def evaluation(
        self,
        structure: Structure,
        theta: Any,
        true: Any,
        weight: np.ndarray,
        into: Any = None,
        slack: Any = 0.0,
    ) -> Evaluation:
        """Value and subgradient; weighted counts are added to ``into`` if given."""
        own = np.asarray(weight, float) * self.factor
        counts = structure.count(theta, self.codes, weight=own, into=into)
        return Evaluation(self.values, structure.count(theta, true, weight=-own, into=counts), slack)


class Surrogate(Protocol):
    """An upper bound (or stand-in) for the task loss, non-negative by construction."""

    smooth: bool
    convex: bool
    needs: tuple[str, ...]

    def evaluate(self, structure: Structure, theta: Any, true: Any, weight: np.ndarray) -> Evaluation:
        """Values and gradient at ``theta`` for the true outputs ``true``."""


def by_scores(function: Callable[..., np.ndarray], *tables: Any) -> Any:
    """A function of the arrays of scores of tables, one after the other."""
    changed: dict[str, Any] = {}
    for name in (own.name for own in fields(tables[0])):
        values = [getattr(each, name) for each in tables]
        if _holds_scores(values[0]):
            changed[name] = function(*values)
        elif isinstance(values[0], tuple) and any(map(_holds_scores, values[0])):
            changed[name] = tuple(map(function, *values))
    return replace(tables[0], **changed)


def _holds_scores(value: Any) -> bool:
    return isinstance(value, np.ndarray) and np.issubdtype(value.dtype, np.floating)
