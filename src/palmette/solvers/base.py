"""Settings of solvers that are not driven yet."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

from palmette.contracts.solver import Callback, Result, Step
from palmette.solvers.driver import DOUBTFUL, Recorder, warn_unconverged

__all__ = ["Callback", "Recorder", "Result", "Step", "check_settings", "contradicted", "warn_unconverged"]


def check_settings(solver: Any, *, positive: Sequence[str], not_negative: Sequence[str]) -> None:
    """Refuse settings of a solver that are no numbers or out of range."""
    for names, holds, wanted in (
        (positive, lambda v: v > 0, "> 0"),
        (not_negative, lambda v: v >= 0, ">= 0"),
    ):
        for name in names:
            value = getattr(solver, name)
            if not (isinstance(value, Real) and holds(value)):
                raise ValueError(f"{type(solver).__name__}: {name} must be a number {wanted}, got {value!r}")


def contradicted(step: Step, tol: float) -> bool:
    """Whether the proven gap is so large that an estimate which calls ``step`` the end is not to be believed."""
    return step.gap > DOUBTFUL * tol * abs(step.primal)
