"""What a batch solver sees of a learning problem."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from palmette.errors import MissingCapability
from palmette.regularizers.elastic import ElasticNet


class Problem(Protocol):
    """A convex data term and its penalty: ``loss(w) + sum_j (l2_j / 2) w_j^2 + l1_j |w_j|``.

    Attributes
    ----------
    n_params : int
    regularizer : ElasticNet
    smooth : bool
        Whether the data term is differentiable.
    """

    n_params: int
    regularizer: ElasticNet
    smooth: bool

    def loss(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """Value >= 0 of the data term at ``w``, and its (sub)gradient in memory of its own.

        A problem whose values may be too low, since maxima are found to a tolerance, also has ``bounded_loss(w)``,
        which adds by how much at most, and ``refine()``, which asks for better ones and says whether there are any.
        """


def bounded_loss(problem: Problem, w: np.ndarray) -> tuple[float, np.ndarray, float]:
    """Value and (sub)gradient of the data term at ``w``, and how far the value may be too low.

    ``value + <gradient, v - w>`` is below the data term at every ``v``; ``value + slack`` is not below it at ``w``.
    """
    own = getattr(problem, "bounded_loss", None)
    return (*problem.loss(w), 0.0) if own is None else own(w)


def refine(problem: Problem) -> bool:
    """Ask for maxima of a higher accuracy; False if they are exact, or as accurate as they can be."""
    own = getattr(problem, "refine", None)
    return own is not None and own()


def name_of(problem: Problem) -> str:
    """What to call a problem in a message: its surrogate where it has one."""
    return type(getattr(problem, "surrogate", problem)).__name__


def require_separable(problem: Problem, solver: str) -> None:
    """Refuse a penalty on groups of weights, for a solver that goes weight by weight."""
    if not problem.regularizer.separable:
        raise MissingCapability(
            f"{solver} does not support a group lasso: use solver='proximal', for smooth losses"
        )


def require_whole(problem: Problem, solver: str) -> None:
    """Refuse a decomposition, for a solver whose variables or cuts belong to whole samples."""
    if getattr(problem, "decomposition", None) is not None:
        raise MissingCapability(
            f"{solver} does not support Decomposition: use solver='stochastic', or 'proximal' for smooth losses"
        )


def require_no_l1(problem: Problem, solver: str) -> None:
    """Refuse an L1 penalty, for a solver without a step for it."""
    reg = problem.regularizer
    if reg.has_l1:
        raise MissingCapability(
            f"{solver} needs a penalty without l1 for {name_of(problem)}, whose weight {np.argmax(reg.l1 > 0)} has "
            f"one; {who_takes(problem)}"
        )


def require_penalised(problem: Problem, solver: str) -> None:
    """Refuse weights without L2, for a solver whose steps or bound divide by it."""
    reg = problem.regularizer
    if not reg.strongly_convex:
        raise MissingCapability(
            f"{solver} needs l2 > 0 on every weight for {name_of(problem)}, whose weight {np.argmin(reg.l2)} has "
            f"none; penalise it or {who_takes(problem)}"
        )


def is_l1_alone(problem: Problem) -> bool:
    """Whether every weight has L1 and none has L2."""
    return not np.any(problem.regularizer.l2 > 0.0) and bool(np.all(problem.regularizer.l1 > 0.0))


def who_takes(problem: Problem) -> str:
    """Which solver takes a penalty that another one cannot, for messages."""
    if problem.smooth:
        return "use solver='lbfgs'"
    if problem.regularizer.strongly_convex:
        return f"use solver={'bundle' if is_convex(problem) else 'cccp'!r}"
    if is_convex(problem) and is_l1_alone(problem):
        return "use solver='linear_program', or 'stochastic' for large problems"
    return "use solver='stochastic'"


def is_convex(problem: Problem) -> bool:
    """Whether cuts of the data term lie below it; a problem that does not say is."""
    return bool(getattr(problem, "convex", True))


def require_convex(problem: Problem, solver: str) -> None:
    """Refuse a loss that is not convex, for a solver whose steps or bound rely on it."""
    if not is_convex(problem):
        raise MissingCapability(
            f"{solver} needs a convex loss, and {name_of(problem)} (loss='ramp', or ties='best') is not convex: use "
            "solver='cccp', or 'subgradient', 'pegasos' or 'stochastic', which descend directly"
        )


def first_point(problem: Problem, w0: np.ndarray | None) -> np.ndarray:
    """A checked copy of ``w0``, or zeros."""
    if w0 is None:
        return np.zeros(problem.n_params)
    w = np.array(w0, float)
    if w.shape != (problem.n_params,):
        raise ValueError(f"w0 has shape {w.shape}, but the problem has {problem.n_params} weights")
    bad = np.flatnonzero(~np.isfinite(w))
    if len(bad):
        raise ValueError(f"w0[{bad[0]}] is {w[bad[0]]}; a start must be finite")
    return w
