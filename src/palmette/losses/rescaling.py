"""Rescaling: how much a score counts where a mistake is large, and the maxima that bounds of the loss ask for.

With ``s(y') = f(y') - f(y)`` every bound needs ``max_y' G(D) s(y') + D`` (or the same without the last term), where
``D = D(y, y')`` is the task loss and ``G`` the rescaling. How it is found:

=============================================  ===============================================  ==================
case                                           search                                           exact
=============================================  ===============================================  ==================
``G = 1`` (margin)                             the augmented maximum ``max f + D``              as inference is
0/1 loss                                       the best output that contradicts the truth       as inference is
``Multiclass``                                 all labels                                       yes
chains, segments: costs multiples of a unit    parametric or at once; levels where it is open   yes
small queries to rank                          parametric; all candidates where it is open      yes
everything else                                parametric; some k best where it is open         ``upper`` tells
=============================================  ===============================================  ==================

"Parametric" is :mod:`palmette.losses.parametric_search`: maxima of ``f + lambda D`` for chosen ``lambda`` give
outputs, and lines that no output is above. "Levels" is :mod:`palmette.losses.levels`, the others
:mod:`palmette.losses.exact_completion`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from palmette.contracts.structure import Structure
from palmette.errors import MissingCapability
from palmette.losses.base import BoundLoss
from palmette.losses.exact_completion import close
from palmette.losses.levels import levels_at_once
from palmette.losses.parametric_search import search
from palmette.losses.rescaled_query import Question, RescaledBest
from palmette.losses.weighted_maximum import weighted_best
from palmette.losses.zero_one import best_rival, choose

NAMES = ("margin", "slack")


@dataclass(frozen=True)
class Rescaling:
    """A non-decreasing function ``G`` of the task loss, ``G(D) >= 0``; make one by :func:`resolve_rescaling`.

    Parameters
    ----------
    name : {"margin", "slack", "callable"}
        ``G = 1``, ``G(D) = D``, or the function.
    function : callable, optional
        ``D -> G(D)`` for arrays or for numbers; any loss between 0 and the largest may be asked for.

    Examples
    --------
    >>> Rescaling("slack").gamma(np.array([0.0, 2.0]))
    array([0., 2.])
    >>> import math
    >>> Rescaling("callable", math.sqrt).gamma(np.array([0.0, 4.0]))
    array([0., 2.])
    """

    name: str
    function: Callable[[Any], Any] | None = None

    @property
    def is_margin(self) -> bool:
        """Whether ``G = 1``: the maximum is that of the structured hinge loss."""
        return self.name == "margin"

    def gamma(self, losses: np.ndarray) -> np.ndarray:
        """``G`` of losses, checked to be finite, at least 0 and non-decreasing among them."""
        losses = np.asarray(losses, float)
        if self.function is None:
            return np.ones_like(losses) if self.is_margin else losses.copy()
        met, place = np.unique(losses, return_inverse=True)
        values = _apply(self.function, met)
        bad = np.flatnonzero(~np.isfinite(values) | (values < 0.0))
        if len(bad):
            raise ValueError(
                f"rescaling: G({met[bad[0]]:g}) = {values[bad[0]]:g}; it must be finite and at least 0 for every loss "
                f"from 0 to the largest"
            )
        falls = np.flatnonzero(np.diff(values) < -1e-12 * np.abs(values[:-1]))
        if len(falls):
            k = falls[0]
            raise ValueError(
                f"rescaling: G({met[k]:g}) = {values[k]:g}, but G({met[k + 1]:g}) = {values[k + 1]:g}; it must not "
                "fall as the loss grows: the bound on the loss needs that"
            )
        return values[place].reshape(losses.shape)


def _apply(function: Callable[[Any], Any], losses: np.ndarray) -> np.ndarray:
    """A function of arrays or of numbers, on an array."""
    if len(losses) > 1:
        try:
            values = np.asarray(function(losses.copy()), float)
        except (TypeError, ValueError):  # a function of numbers, say math.sqrt
            pass
        else:
            if values.shape == losses.shape:
                return values
    numbers = []
    for loss in losses:
        found = function(float(loss))
        try:
            numbers.append(float(found))
        except (TypeError, ValueError):
            raise TypeError(
                f"rescaling: G({loss:g}) = {found!r:.60}; it must be a number for every loss"
            ) from None
    return np.array(numbers)


def resolve_rescaling(value: Any) -> Rescaling:
    """Turn "margin", "slack" or a function of the loss into a :class:`Rescaling`.

    >>> resolve_rescaling("slack")
    Rescaling(name='slack', function=None)
    """
    if isinstance(value, Rescaling):
        return value
    if isinstance(value, str):
        if value not in NAMES:
            raise ValueError(
                f"rescaling={value!r} is unknown; choose 'margin', 'slack' or a function of the task loss"
            )
        return Rescaling(value)
    if isinstance(value, type) or not callable(value):
        raise TypeError(f"rescaling must be 'margin', 'slack' or a function of the task loss, got {value!r}")
    made = Rescaling("callable", value)
    made.gamma(np.array([0.0, 1.0]))  # what every loss has, so that mistakes show before any work
    return made


def check_rescaling(task_loss: Any, rescaling: Rescaling) -> None:
    """Refuse a task loss without a method for its rescaled maximum."""
    if rescaling.is_margin or task_loss.way == "contradiction":
        return
    missing = [
        f"{name}()" for name in ("weighted_best", "largest") if not callable(getattr(task_loss, name, None))
    ]
    if missing:
        raise MissingCapability(
            f"rescaling={rescaling.name!r} needs {' and '.join(missing)} of the task loss, which "
            f"{type(task_loss).__name__} lacks; use rescaling='margin' or another task_loss"
        )


def rescaled_best(
    task_loss: BoundLoss,
    structure: Structure,
    theta: Any,
    true: np.ndarray,
    rescaling: Rescaling,
    *,
    margin: bool,
) -> RescaledBest:
    """``argmax_y' G(D) (f(y') - f(true)) + margin D`` with ``D = D(true, y')``, for every sample.

    Parameters
    ----------
    task_loss : BoundLoss
    structure, theta, true
        The structure, the potentials of a batch and its true outputs.
    rescaling : Rescaling
    margin : bool
        True for the convex bound, False for the second maximum of the ramp loss.

    Returns
    -------
    RescaledBest
        ``values`` are those of the outputs found; ``upper`` are proven bounds of the maxima.

    Examples
    --------
    >>> from palmette.losses import resolve_loss
    >>> from palmette.structures import Chain, ChainTables
    >>> theta = ChainTables(np.array([[0.0, -0.3], [0.0, -0.4]]), np.zeros((1, 2, 2)), np.array([0, 2]))
    >>> loss, true = resolve_loss("hamming", Chain(), ("a", "b")), np.array([0, 0], np.int32)
    >>> found = rescaled_best(loss, Chain(), theta, true, resolve_rescaling("slack"), margin=True)
    >>> found.codes, found.values.round(3), found.losses  # one mistake is worth 0.7, both 2 - 2 * 0.7
    (array([1, 0], dtype=int32), array([0.7]), array([1.]))
    """
    true = np.ascontiguousarray(true, np.int32)
    check_rescaling(task_loss, rescaling)
    if len(theta) == 0:
        return RescaledBest(true.copy(), np.empty(0), np.empty(0), np.empty(0))
    asked = Question(task_loss, structure, theta, true, structure.score(theta, true), rescaling, margin)
    if task_loss.way == "contradiction":
        found = _contradicting(asked)
    elif rescaling.is_margin:
        found = _augmented(asked)
    elif task_loss.way == "parts" and structure.layout == "items":
        found = _labels(asked)
    else:
        found = _searched(asked)
    worse = ~(found.values > 0.0)  # than the truth
    values = np.where(worse, 0.0, found.values)
    codes = choose(worse, true, found.codes, structure.output_offsets(theta))
    return RescaledBest(codes, values, np.where(worse, 0.0, found.losses), np.maximum(found.upper, values))


def _augmented(asked: Question) -> RescaledBest:
    """Margin rescaling: one maximisation."""
    weight = np.full(len(asked), float(asked.margin))
    codes, values, bounds = weighted_best(asked.task_loss, asked.structure, asked.theta, asked.true, weight)
    return RescaledBest(codes, values - asked.truth, asked.place(codes)[0], bounds - asked.truth)


def _contradicting(asked: Question) -> RescaledBest:
    """0/1 loss: all outputs that contradict the truth have the loss 1."""
    structure, theta = asked.structure, asked.theta
    rival = best_rival(structure, theta, asked.true)
    none, gain = asked.rescaling.gamma(np.array([0.0, 1.0]))
    exists = np.isfinite(rival.values)
    values = np.where(exists, gain * np.where(exists, rival.values - asked.truth, 0.0) + asked.margin, 0.0)
    upper, sure = values, structure.finds_best(theta)
    if not sure.all():  # no output is better than the bounds, contradicting or not
        bounds = gain * (structure.bounds(theta) - asked.truth) + asked.margin
        upper = np.where(sure | ~exists, values, bounds)
    agreed = structure.best_agreeing(theta, asked.true)
    own = none * (agreed.values - asked.truth)  # other outputs than the truth may have the loss 0
    wins = own > values
    codes = choose(wins, agreed.codes, rival.codes, structure.output_offsets(theta))
    losses = np.where(wins, 0.0, exists.astype(float))
    return RescaledBest(codes, np.where(wins, own, values), losses, np.maximum(upper, own))


def _labels(asked: Question) -> RescaledBest:
    """One label per sample: all of them."""
    rows = np.arange(len(asked.true))
    losses = asked.task_loss.table[asked.true]
    gaps = asked.theta.node - asked.truth[:, None]
    forbidden = np.isneginf(gaps)  # no rivals, also where they count nothing
    worth = np.where(forbidden, -np.inf, asked.worth(losses, np.where(forbidden, 0.0, gaps)))
    best = worth.argmax(axis=1)
    values = worth[rows, best]
    return RescaledBest(best.astype(np.int32), values, losses[rows, best], values)


def _searched(asked: Question) -> RescaledBest:
    """Whatever is left: by the levels of the loss where that is quick, else by a search that is closed where open."""
    found = levels_at_once(asked)
    if found is None:
        envelope, found = search(asked)
        close(envelope, found)
    return found
