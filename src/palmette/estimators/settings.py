"""Groups of parameters that few users need: objects that learners take as one parameter each.

``None``, the default of such a parameter, stands for the object with its own defaults. Learners read it by
:func:`settings_of`; ``get_params``, ``set_params`` and ``GridSearchCV`` reach into it as ``encoding__min_count``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

from sklearn.base import BaseEstimator

from palmette.kernels import Kernel
from palmette.registry import register


@register("settings")
@dataclass(repr=False)
class Encoding(BaseEstimator):
    """Which columns named features have, and which weights exist.

    Parameters
    ----------
    min_count : int, default=1
        Named features that occur fewer times in the training data get no weights.
    n_hash : int, optional
        Hash the names of features to so many columns instead of keeping a vocabulary: the memory does not grow with
        the number of features, some features share their weights, and the names are lost.
    states, transitions : {"auto", "observed", "all"}
        Which (feature, label) and (label, label) weights exist: those seen in training or all. "auto": observed
        states for named features, all for arrays; all transitions.

    Examples
    --------
    >>> from palmette import CRF, Chain, Encoding
    >>> model = CRF(Chain(), encoding=Encoding(min_count=2))
    >>> model.set_params(encoding__transitions="observed")
    CRF(encoding=Encoding(min_count=2, transitions='observed'), structure=Chain())
    """

    min_count: int = 1
    n_hash: int | None = None
    states: str = "auto"
    transitions: str = "auto"


@register("settings")
@dataclass(repr=False)
class KernelOptions(BaseEstimator):
    """What goes with ``kernel=`` of a learner.

    Parameters
    ----------
    edge_kernel : kernel, name or function, optional
        Scores label pairs at edges by a kernel of edges, instead of one table for all of them: for the hinge with
        margin rescaling. It compares the features of edges (``Graph``), or the rows of both ends side by side. There
        is no compiled loop for it.
    cache_size : float, default=2000
        Megabytes for the Gram matrix. The hinge keeps some rows of it if it does not fit and computes the others when
        they are needed (inner products of small whole numbers, such as binary pixels, take a byte each); up to 1,024
        rows at a time are computed beside it. Other losses need all of it and its factor: 16 bytes per pair of
        distinct rows.
    """

    functions = ("edge_kernel",)  # parameters that may be functions

    edge_kernel: Kernel | str | Callable[..., Any] | None = None
    cache_size: float = 2000


@register("settings")
@dataclass(repr=False)
class LossOptions(BaseEstimator):
    """What goes with ``loss=`` of :class:`~palmette.SSVM`.

    Parameters
    ----------
    rescaling : {"margin", "slack"} or function of the task loss, default="margin"
        ``G`` in ``max_y G(D) (f(x_i, y) - f(x_i, y_i)) + D``, the general form of the hinge, and in the same way of the
        ramp loss: 1, the task loss itself, or any non-decreasing function of it (an array or a number). Maxima other
        than those of margin rescaling are searched (:mod:`palmette.losses.rescaling` tells how, and when exactly).
    temperature : float, default=0.2
        Of the soft hinge, which is above the hinge by at most ``temperature`` times the entropy of the outputs.
    nonnegative : {"split", "ignore"}, default="split"
        How the bridge loss ``|P - R|_+`` of partial annotation is kept from negative values: exactly, as
        ``max(P, R) - R``; or by ignoring the gradient of samples with ``P < R``, to compare.
    """

    rescaling: str | Callable[..., Any] = "margin"
    temperature: float = 0.2
    nonnegative: str = "split"

    def __post_init__(self) -> None:
        if self.nonnegative not in ("split", "ignore"):
            raise ValueError(
                f"LossOptions: nonnegative must be 'split' or 'ignore', got {self.nonnegative!r}"
            )


SETTINGS: dict[str, type[Any]] = {
    "encoding": Encoding,
    "kernel_options": KernelOptions,
    "loss_options": LossOptions,
}
PLACES = {field.name: place for place, kind in SETTINGS.items() for field in fields(kind)}


def settings_of(learner: Any, place: str) -> Any:
    """The settings of a learner: as given, or the default ones.

    >>> from palmette import CRF, Chain
    >>> settings_of(CRF(Chain()), "encoding").min_count
    1
    """
    given, kind = getattr(learner, place, None), SETTINGS[place]
    if given is not None and not isinstance(given, kind):
        raise TypeError(f"{place} must be a palmette.{kind.__name__}, got {given!r}")
    return kind() if given is None else given


def new_place(learner: type, parameters: Any, name: str, value: Any) -> str | None:
    """Where a parameter is now that was one of the learner itself; None if it never was.

    >>> from palmette import CRF
    >>> new_place(CRF, ["l2", "encoding"], "min_count", 3)
    'min_count moved: CRF(encoding=Encoding(min_count=3))'
    """
    if name == "edge_weight" and "loss_options" in parameters:
        return (
            f"edge_weight={value!r} is gone: l2_edge = l2 / edge_weight says the same, and l2_edge='0.5x' is half of "
            "the usual penalty"
        )
    if name == "edge_kernel" and "loss_options" not in parameters:
        return f"edge_kernel is for the hinge: SSVM(kernel=..., kernel_options=KernelOptions(edge_kernel={value!r}))"
    place = PLACES.get(name)
    if place is None or place not in parameters:
        return None
    return f"{name} moved: {learner.__name__}({place}={SETTINGS[place].__name__}({name}={value!r}))"
