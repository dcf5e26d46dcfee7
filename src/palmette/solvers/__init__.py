"""Solvers: each uses only what it declares, and returns its result with a certificate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from palmette.contracts.solver import Result, Step
from palmette.solvers.driver import Recorder
from palmette.solvers.registry import HOME, solver_class

if TYPE_CHECKING:
    from palmette.solvers.arow import AROW
    from palmette.solvers.bundle import Bundle
    from palmette.solvers.cccp import CCCP
    from palmette.solvers.cutting_planes import OneSlack
    from palmette.solvers.dual import DualAscent
    from palmette.solvers.frank_wolfe import FrankWolfe
    from palmette.solvers.kernel_frank_wolfe import KernelFrankWolfe
    from palmette.solvers.lbfgs import LBFGS
    from palmette.solvers.linear_program import LinearProgram
    from palmette.solvers.multiclass_dual import MulticlassDual
    from palmette.solvers.n_slack import NSlack
    from palmette.solvers.passive_aggressive import PassiveAggressive
    from palmette.solvers.pegasos import Pegasos
    from palmette.solvers.perceptron import AveragedPerceptron
    from palmette.solvers.proximal import Proximal
    from palmette.solvers.smo import SMO
    from palmette.solvers.stochastic import Stochastic
    from palmette.solvers.subgradient import Subgradient

__all__ = [
    "AROW", "CCCP", "LBFGS", "SMO", "AveragedPerceptron", "Bundle", "DualAscent", "FrankWolfe", "KernelFrankWolfe",
    "LinearProgram", "MulticlassDual", "NSlack", "OneSlack", "PassiveAggressive", "Pegasos", "Proximal", "Recorder",
    "Result", "Step", "Stochastic", "Subgradient",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    for solver, (_, kind) in HOME.items():
        if kind == name:
            return solver_class(solver)
    raise AttributeError(f"module 'palmette.solvers' has no attribute {name!r}")
