"""What solvers ask of a learning problem, and what they refuse before the first step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from palmette.contracts.problem import Problem, SampledProblem
from palmette.contracts.structure import require
from palmette.errors import MissingCapability
from palmette.surrogates.hinge import Hinge
from palmette.surrogates.log import LogLoss
from palmette.surrogates.perceptron import PerceptronLoss


def bounded_loss(problem: Problem, w: np.ndarray) -> tuple[float, np.ndarray, float]:
    """Value and (sub)gradient of the data term at ``w``, and how far the value may be too low.

    ``value + <gradient, v - w>`` is below the data term at every ``v``; ``value + slack`` is not below it at ``w``.
    """
    own = getattr(problem, "bounded_loss", None)
    return (*problem.loss(w), 0.0) if own is None else own(w)


def refine(problem: Problem) -> bool:
    """Ask for maxima or sums of a higher accuracy; False if they are exact, or as accurate as they can be."""
    own = getattr(problem, "refine", None)
    return own is not None and own()


def loosen(problem: Problem, error: float) -> bool:
    """Allow inexact sums to lack ``error`` of the value, until ``refine``; False if nothing is gained."""
    own = getattr(problem, "loosen", None)
    return own is not None and own(error)


def name_of(problem: Problem) -> str:
    """What to call a problem in a message: its surrogate where it has one."""
    return type(getattr(problem, "surrogate", problem)).__name__


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


def who_serves(problem: SampledProblem) -> str:
    """Solvers that take the loss and the penalty of a problem, for messages."""
    surrogate, reg = getattr(problem, "surrogate", None), problem.regularizer
    l2 = bool(getattr(reg, "strongly_convex", True))
    l2_alone = l2 and not getattr(reg, "has_l1", False)
    margin = isinstance(surrogate, Hinge) and getattr(surrogate, "rescaling", None) is None
    mistakes, convex = isinstance(surrogate, PerceptronLoss), is_convex(problem)
    serves = {
        "perceptron": mistakes, "lbfgs": problem.smooth, "frank_wolfe": margin and l2_alone,
        "bundle": convex and l2 and not (problem.smooth or mistakes), "cccp": l2 and not convex,
    }  # fmt: skip
    named = ", ".join(repr(name) for name, own in serves.items() if own)
    return f"{named} or 'stochastic'" if named else "'stochastic'"


def is_convex(problem: Problem) -> bool:
    """Whether cuts of the data term lie below it; a problem that does not say is."""
    return bool(getattr(problem, "convex", True))


def _convex(problem: SampledProblem) -> str:
    if is_convex(problem):
        return ""
    direct = "'subgradient', 'pegasos' or 'stochastic'" if not problem.regularizer.has_l1 else "'stochastic'"
    if not getattr(problem.regularizer, "separable", True):  # which the solvers below do not take
        return (
            f"needs a convex loss, and {name_of(problem)} is not convex: leave the GroupLasso out, or annotate all "
            "parts of all outputs"
        )
    if problem.smooth:
        return (
            f"needs a convex loss, and {name_of(problem)} is not convex: use solver='lbfgs' or 'stochastic'"
        )
    others = f"'cccp', or {direct}" if problem.regularizer.strongly_convex else "'stochastic'"
    return (
        f"needs a convex loss, and {name_of(problem)} (loss='ramp' or 'bridge', or ties='best') is not convex: use "
        f"solver={others}, which descend directly"
    )


def _smooth(problem: SampledProblem) -> str:
    if problem.smooth:
        return ""
    if not is_convex(problem):
        return _convex(problem)
    if problem.regularizer.separable and not _whole(problem):
        return f"needs a smooth loss, and {name_of(problem)} is not: use solver={who_serves(problem)}"
    return f"needs a smooth loss, and {name_of(problem)} is not: use CRF, or solver='stochastic' without a group lasso"


def _separable(problem: SampledProblem) -> str:
    if problem.regularizer.separable:
        return ""
    return "does not support a group lasso: use solver='proximal', for smooth losses"


def _whole(problem: SampledProblem) -> str:
    if getattr(problem, "decomposition", None) is None:
        return ""
    return "does not support Decomposition: use solver='stochastic', or 'proximal' for smooth losses"


def _no_l1(problem: SampledProblem) -> str:
    reg = problem.regularizer
    if not reg.has_l1:
        return ""
    return (
        f"needs a penalty without l1 for {name_of(problem)}, whose weight {np.argmax(reg.l1 > 0)} has one; "
        f"{who_takes(problem)}"
    )


def _l2(problem: SampledProblem) -> str:
    reg = problem.regularizer
    if reg.strongly_convex:
        return ""
    return (
        f"needs l2 > 0 on every weight for {name_of(problem)}, whose weight {np.argmin(reg.l2)} has none; penalise it "
        f"or {who_takes(problem)}"
    )


def _l1_alone(problem: SampledProblem) -> str:
    reg = problem.regularizer
    if np.any(reg.l2 > 0.0):
        return (
            f"takes l1 alone, and weight {np.argmax(reg.l2 > 0.0)} has l2: use solver='bundle', which needs l2 > 0 on "
            "every weight"
        )
    if not np.all(reg.l1 > 0.0):
        return (
            f"needs l1 > 0 on every weight, and weight {np.argmin(reg.l1)} has none: penalise it, or use "
            "solver='stochastic'"
        )
    return ""


def _polyhedral(problem: SampledProblem) -> str:
    if not problem.smooth:
        return ""
    return f"needs a loss that is a maximum of linear functions, and {name_of(problem)} is smooth: use solver='lbfgs'"


def _margin_hinge(problem: SampledProblem) -> str:
    surrogate = getattr(problem, "surrogate", None)
    rescaling = getattr(surrogate, "rescaling", None)
    if rescaling is not None:
        return (
            f"solves the dual of the hinge with rescaling='margin', not of {name_of(problem)} with "
            f"rescaling={rescaling.name!r}; use solver={who_serves(problem)}"
        )
    if not isinstance(surrogate, Hinge):
        return f"solves the dual of the hinge, not of {name_of(problem)}; use solver={who_serves(problem)}"
    return ""


def _log(problem: SampledProblem) -> str:
    if isinstance(problem.surrogate, LogLoss):
        return ""
    given = getattr(problem.structure, "chain", problem.structure)  # as the user wrote it
    return (
        f"supports the log loss alone, not {name_of(problem)} on {given!r:.80}: use "
        f"solver={who_serves(problem)}"
    )


def _kernel(problem: SampledProblem) -> str:
    if hasattr(problem, "gram"):
        return ""
    return (
        "solves the dual of SSVM(..., kernel=...), from its start or from the state of an earlier result; use "
        f"solver={who_serves(problem)} for weights of features"
    )


def _mistakes(problem: SampledProblem) -> str:
    if isinstance(problem.surrogate, PerceptronLoss):
        return ""
    return (
        f"learns from mistakes and minimises the perceptron loss only, not {name_of(problem)}: use the Perceptron "
        "learner, or solver='stochastic'"
    )


def _difference(problem: SampledProblem) -> str:
    if hasattr(problem.surrogate, "concave_part"):
        return ""
    return (
        f"minimises differences of convex losses, such as loss='ramp', and {name_of(problem)} is none: use another "
        "solver"
    )


# What a solver may need, by name: each says why a problem has it not, or nothing.
NEEDS: dict[str, Callable[[Any], str]] = {
    "convex": _convex,
    "smooth": _smooth,
    "separable": _separable,  # a penalty that goes weight by weight
    "whole": _whole,  # samples that are not cut into pieces
    "no_l1": _no_l1,
    "l2": _l2,
    "l1_alone": _l1_alone,
    "polyhedral": _polyhedral,
    "margin_hinge": _margin_hinge,
    "log": _log,
    "kernel": _kernel,
    "mistakes": _mistakes,
    "difference": _difference,
}


def check_needs(problem: SampledProblem, solver: str, needs: Sequence[str]) -> None:
    """Refuse a problem that lacks one of the named needs of a solver.

    ``"samples"`` asks for losses of single samples.
    """
    for need in needs:
        if need == "samples":
            require(
                problem, ("loss", "sample_loss"), user=solver, remedy="Use solver='bundle' or 'subgradient'."
            )
        elif refusal := NEEDS[need](problem):
            raise MissingCapability(f"{solver} {refusal}")


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
