"""Task losses: what a mistake costs, and how its augmented maximum is found.

A loss names its *way*:

``parts``
    a constant plus a cost per label part: the augmented maximum is ``best(theta, cost=...)``;
``contradiction``
    0/1: the better of ``f(y)`` and ``1 + best that contradicts y``;
``ranking``
    of rankings: a sort, a merge of the documents of each grade, or a linear assignment, whichever is cheapest and exact
    for the query (:mod:`palmette.structures.ranking.augmented_maximum`).

A (loss, structure) pair without a way is an error before the first step, never a silent plain argmax.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from palmette.contracts.structure import Best, Structure, require
from palmette.errors import MissingCapability
from palmette.registry import find, members


class TaskLoss(Protocol):
    """A loss as the user writes it; :meth:`bind` makes it fit the labels of one fit."""

    def bind(self, structure: Structure, classes: tuple[Any, ...]) -> BoundLoss:
        """The same loss on codes ``0..len(classes) - 1``."""


class BoundLoss(Protocol):
    """A loss on codes; ``way`` names how its augmented maximum is found (see the module's docstring).

    Rescaled maxima (:mod:`palmette.losses.rescaling`) ask for more: ``weighted_best(structure, theta, true, weight)``,
    the maximum of ``f + weight D`` with one weight per sample, and ``largest(structure, theta, true)``, bounds on the
    loss of any output. They are sharper with ``unit`` (of which all losses are multiples), ``least`` (the smallest loss
    above 0), ``weighted_cost(structure, theta, true, weight)`` (the loss as a cost for ``k_best``) and
    ``candidates(theta, true)`` (the few outputs of one sample among which the best must be).

    Regression of outputs of structures that name their parts minimises sums of losses ``sum_i a_i D(y_i, y)`` of those
    that have ``part_costs(sums, mass)``: costs of the parts of y and constants, given the sums of the truths' parts
    ``sum_i a_i part_features(y_i)`` and ``mass = sum_i a_i``, which they are linear in.
    """

    way: str

    def value(self, structure: Structure, theta: Any, true: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Loss of each sample's output ``codes`` against ``true``."""

    def augmented_best(self, structure: Structure, theta: Any, true: np.ndarray) -> Best:
        """``argmax_y f(y) + loss(true, y)`` of each sample, and the maxima."""


def resolve_loss(loss: Any, structure: Structure, classes: tuple[Any, ...]) -> BoundLoss:
    """Turn a name or object into a loss bound to labels, or say why that pair has no way.

    >>> from palmette.structures import Chain
    >>> type(resolve_loss("hamming", Chain(), ("a", "b"))).__name__
    'PartsLoss'
    """
    if isinstance(loss, str) and loss == "auto":
        loss = structure.default_loss
    if isinstance(loss, str):
        named: dict[str, Any] = {
            kind.called: kind for kind in members("loss").values() if hasattr(kind, "called")
        }
        if loss not in named:
            raise ValueError(
                f"task_loss={loss!r} is unknown; choose one of {sorted(named)} or an object of palmette.losses"
            )
        loss = named[loss]()
    if isinstance(loss, np.ndarray | list | Mapping):  # a table of costs
        loss = find("loss", "Hamming")(loss)
    if isinstance(loss, type) or not callable(getattr(loss, "bind", None)):
        raise TypeError(
            f"task_loss must be a name, a table of costs or an object of palmette.losses, got {loss!r}"
        )
    require(structure, ("best",), user=type(loss).__name__, remedy="Choose another task_loss.")
    return loss.bind(structure, classes)


def no_way(loss: Any, structure: Structure) -> MissingCapability:
    """The error for a pair without a method for its augmented maximum."""
    return MissingCapability(
        f"task loss {type(loss).__name__} has no augmented maximum on {type(structure).__name__}: "
        "choose another task_loss, or register a search for this pair"
    )
