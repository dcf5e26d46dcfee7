"""Solvers by name: the one place where strings become solver objects."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import fields, is_dataclass, replace
from numbers import Integral, Real
from typing import Any

from palmette.contracts.solver import Callback
from palmette.contracts.structure import Structure
from palmette.loops import table

HOME = {
    "dual": ("palmette.solvers.dual", "DualAscent"),
    "lbfgs": ("palmette.solvers.lbfgs", "LBFGS"),
    "cccp": ("palmette.solvers.cccp", "CCCP"),
    "bundle": ("palmette.solvers.bundle", "Bundle"),
    "one_slack": ("palmette.solvers.cutting_planes", "OneSlack"),
    "linear_program": ("palmette.solvers.linear_program", "LinearProgram"),
    "n_slack": ("palmette.solvers.n_slack", "NSlack"),
    "subgradient": ("palmette.solvers.subgradient", "Subgradient"),
    "pegasos": ("palmette.solvers.pegasos", "Pegasos"),
    "proximal": ("palmette.solvers.proximal", "Proximal"),
    "frank_wolfe": ("palmette.solvers.frank_wolfe", "FrankWolfe"),
    "smo": ("palmette.solvers.smo", "SMO"),
    "multiclass_dual": ("palmette.solvers.multiclass_dual", "MulticlassDual"),
    "kernel_frank_wolfe": ("palmette.solvers.kernel_frank_wolfe", "KernelFrankWolfe"),
    "stochastic": ("palmette.solvers.stochastic", "Stochastic"),
    "perceptron": ("palmette.solvers.perceptron", "AveragedPerceptron"),
    "passive_aggressive": ("palmette.solvers.passive_aggressive", "PassiveAggressive"),
    "arow": ("palmette.solvers.arow", "AROW"),
}

# What solvers may need of a loss, and what each has; a test fits with all that serve, and sees the others refuse.
_OF_LOSSES = {
    "convex",
    "smooth",
    "polyhedral",
    "margin_hinge",
    "log",
    "difference",
    "mistakes",
    "kernel",
    "l2",
}
LOSSES = {
    "log": {"convex", "smooth", "log", "l2"},
    "hinge": {"convex", "polyhedral", "margin_hinge", "l2"},
    "rescaled hinge": {"convex", "polyhedral", "l2"},
    "soft_hinge": {"convex", "smooth", "l2"},
    "ramp": {"difference", "l2"},
    "perceptron": {"mistakes"},
    "Plackett-Luce": {"convex", "smooth", "l2"},
}
_ONE_LABEL = ("multiclass_dual",)  # an output is a single label
_LABELLED = ("smo",)  # an output is one label per position
_MARGINALS = ("dual", "row sums")  # where the table of loops says whose marginals dual ascent can keep


def serving(loss: str, structure: Structure) -> list[str]:
    """Names of the solvers that serve a loss on a structure.

    >>> from palmette.structures import Chain
    >>> serving("ramp", Chain())
    ['auto', 'cccp', 'pegasos', 'stochastic', 'subgradient']
    """
    if loss == "kernel":  # the dual of the hinge with a kernel, or its features with any solver of the hinge
        return sorted({*serving("hinge", structure), "kernel_frank_wolfe"} - {"linear_program"})
    names = {name for name in HOME if _OF_LOSSES.intersection(solver_class(name)().needs) <= LOSSES[loss]}
    if loss != "perceptron":
        names.add("auto")
    if structure.layout != "items":
        names -= set(_ONE_LABEL)
    if not structure.label_per_row:
        names -= set(_LABELLED)
    if not any(table.is_registered(loop, structure) for loop in _MARGINALS):
        names.discard("dual")
    return sorted(names)


def check_name(solver: Any, learner: str, loss: str, structure: Structure) -> None:
    """Refuse the name of a solver that does not exist; those of other learners say themselves what they need."""
    if isinstance(solver, str) and solver != "auto" and solver not in HOME:
        names = ", ".join(serving(loss, structure))
        raise ValueError(
            f"solver={solver!r} is unknown; {learner} with {type(structure).__name__} takes one of {names}, or a "
            "solver object of palmette.solvers"
        )


def solver_class(name: str) -> type:
    """The class of a named solver, imported when it is first asked for."""
    module, attribute = HOME[name]
    return getattr(importlib.import_module(module), attribute)


def make_solver(
    solver: Any, *, tol: float, max_iter: int | None, random_state: int, callbacks: Sequence[Callback]
) -> Any:
    """A solver object for a name; a given object keeps its own settings and is told of the callbacks.

    >>> make_solver("frank_wolfe", tol=1e-3, max_iter=None, random_state=0, callbacks=()).tol
    0.001
    """
    if not isinstance(solver, str):
        if isinstance(solver, type) or not callable(getattr(solver, "solve", None)):
            raise TypeError(f"solver must be one of {sorted(HOME)} or an object with solve(), got {solver!r}")
        if not callbacks:
            return solver
        if not (is_dataclass(solver) and hasattr(solver, "callbacks")):
            raise TypeError(f"{type(solver).__name__} has no callbacks: fit without callbacks and verbose")
        known: Any = solver
        return replace(known, callbacks=(*known.callbacks, *callbacks))
    if solver not in HOME:
        raise ValueError(f"solver={solver!r} is unknown; choose one of {', '.join(sorted(HOME))}")
    if not (isinstance(tol, Real) and tol >= 0):
        raise ValueError(f"tol must be a number >= 0, got {tol!r}")
    if max_iter is not None and not (isinstance(max_iter, Integral) and max_iter > 0):
        raise ValueError(f"max_iter must be a positive integer or None, got {max_iter!r}")
    kind = solver_class(solver)
    options: dict[str, Any] = {"tol": tol, "callbacks": tuple(callbacks)}
    if max_iter is not None:
        options["max_iter"] = int(max_iter)
    if "random_state" in {f.name for f in fields(kind)}:
        options["random_state"] = random_state
    return kind(**options)
