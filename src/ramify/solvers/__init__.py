"""Solvers: each sees only what it declares it needs, and returns its result with a certificate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ramify.solvers.base import Recorder, Result, Step
from ramify.solvers.registry import HOME, solver_class

if TYPE_CHECKING:
    from ramify.solvers.arow import AROW
    from ramify.solvers.bundle import Bundle
    from ramify.solvers.cutting_planes import OneSlack
    from ramify.solvers.frank_wolfe import FrankWolfe
    from ramify.solvers.kernel_frank_wolfe import KernelFrankWolfe
    from ramify.solvers.lbfgs import LBFGS
    from ramify.solvers.multiclass_dual import MulticlassDual
    from ramify.solvers.n_slack import NSlack
    from ramify.solvers.passive_aggressive import PassiveAggressive
    from ramify.solvers.pegasos import Pegasos
    from ramify.solvers.perceptron import AveragedPerceptron
    from ramify.solvers.proximal import Proximal
    from ramify.solvers.smo import SMO
    from ramify.solvers.stochastic import Stochastic
    from ramify.solvers.subgradient import Subgradient

__all__ = [
    "AROW",
    "LBFGS",
    "SMO",
    "AveragedPerceptron",
    "Bundle",
    "FrankWolfe",
    "KernelFrankWolfe",
    "MulticlassDual",
    "NSlack",
    "OneSlack",
    "PassiveAggressive",
    "Pegasos",
    "Proximal",
    "Recorder",
    "Result",
    "Step",
    "Stochastic",
    "Subgradient",
]


def __getattr__(name: str) -> Any:
    for solver, (_, kind) in HOME.items():
        if kind == name:
            return solver_class(solver)
    raise AttributeError(f"module 'ramify.solvers' has no attribute {name!r}")
