"""Settings that the learners of all applications share, checked before any data is read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any


def check_settings(algorithm: str, given: Mapping[str, Any], solvers: Sequence[str]) -> None:
    """Refuse solvers that the algorithm does not have, and numbers out of range.

    >>> check_settings("crf", {"l2": -1.0}, ("lbfgs",))
    Traceback (most recent call last):
    ValueError: l2 must be a finite number >= 0, got -1.0
    """
    solver = given.get("solver")
    if isinstance(solver, str) and solver not in solvers:
        raise ValueError(
            f"solver={solver!r} does not support {algorithm}; choose one of {', '.join(solvers)}"
        )
    for name in ("l2", "l1", "tol", "radius"):
        value, positive = given.get(name, 1.0), name == "radius"
        if not is_number(value, Real) or not 0 <= value < math.inf or (positive and not value):
            raise ValueError(f"{name} must be a finite number {'>' if positive else '>='} 0, got {value!r}")
    for name in ("top", "max_iter"):
        value = given.get(name, 1)
        if not is_number(value, Integral) or value < 1:
            raise ValueError(f"{name} must be at least 1, got {value!r}")


def is_number(value: Any, kind: type) -> bool:
    """Whether a value is a number of a kind; True and False are none."""
    return isinstance(value, kind) and not isinstance(value, bool)
