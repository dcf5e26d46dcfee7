"""The parameters of CRFsuite's training algorithms: which there are, their defaults, what they may be."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from palmette.compat.lbfgs import LINE_SEARCHES

FEATURES = {"min_freq": 0.0, "all_possible_states": False, "all_possible_transitions": False}
DEFAULTS: dict[str, dict[str, Any]] = {
    "lbfgs": {
        "c1": 0.0, "c2": 1.0, "max_iterations": None, "num_memories": 6, "epsilon": 1e-5, "period": 10, "delta": 1e-5,
        "linesearch": "MoreThuente", "max_linesearch": 20,
    },
    "l2sgd": {
        "c2": 1.0, "max_iterations": 1000, "period": 10, "delta": 1e-6, "calibration_eta": 0.1, "calibration_rate": 2.0,
        "calibration_samples": 1000, "calibration_candidates": 10, "calibration_max_trials": 20,
    },
    "ap": {"max_iterations": 100, "epsilon": 0.0},
    "pa": {
        "pa_type": 1, "c": 1.0, "error_sensitive": True, "averaging": True, "max_iterations": 100, "epsilon": 0.0,
    },
    "arow": {"variance": 1.0, "gamma": 1.0, "max_iterations": 100, "epsilon": 0.0},
}  # fmt: skip
ALIASES = {"averaged-perceptron": "ap", "passive-aggressive": "pa"}


def _number(low: float, *, open_end: bool = False) -> Callable[[Any], float]:
    def convert(value: Any) -> float:
        number = float(value)
        if not (number > low if open_end else number >= low) or not math.isfinite(number):
            raise ValueError
        return number

    convert.__doc__ = f"a finite number {'>' if open_end else '>='} {low:g}"
    return convert


def _count(value: Any) -> int:
    """an integer of at least 1"""
    number = int(value)
    if number != float(value) or number < 1:
        raise ValueError
    return number


def _flag(value: Any) -> bool:
    """True or False"""
    if value not in (True, False):
        raise ValueError
    return bool(value)


def _one_of(*choices: Any) -> Callable[[Any], Any]:
    def convert(value: Any) -> Any:
        return choices[choices.index(value)]

    convert.__doc__ = f"one of {', '.join(map(repr, choices))}"
    return convert


_COUNTS = "max_iterations num_memories period max_linesearch"
_COUNTS += " calibration_samples calibration_candidates calibration_max_trials"
_KINDS: dict[Callable[[Any], Any], str] = {
    _number(-math.inf, open_end=True): "min_freq",
    _flag: "all_possible_states all_possible_transitions error_sensitive averaging",
    _number(0): "c1 c2 epsilon delta",
    _number(0, open_end=True): "calibration_eta calibration_rate c variance gamma",
    _count: _COUNTS,
    _one_of(*LINE_SEARCHES): "linesearch",
    _one_of(0, 1, 2): "pa_type",
}
CHECKS = {name: check for check, names in _KINDS.items() for name in names.split()}


def resolve(algorithm: Any, given: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The algorithm and all its parameters, defaults where None is given.

    A parameter that the algorithm does not have, or a value that it may not have, raises ValueError.

    Examples
    --------
    >>> resolve("AP", {"max_iterations": 5, "c2": None})[1]["epsilon"]
    0.0
    >>> resolve("ap", {"c2": 0.1})
    Traceback (most recent call last):
    ...
    ValueError: algorithm='ap' has no parameter c2 (got 0.1); it has max_iterations, epsilon. Leave c2 out.
    """
    name = "lbfgs" if algorithm is None else str(algorithm).lower()
    name = ALIASES.get(name, name)
    if name not in DEFAULTS:
        raise ValueError(f"algorithm={algorithm!r} is unknown; choose one of {', '.join(DEFAULTS)}")
    known = FEATURES | DEFAULTS[name]
    values = dict(known)
    for key, value in given.items():
        if value is None:
            continue
        if key not in known:
            raise ValueError(
                f"algorithm={name!r} has no parameter {key} (got {value!r}); it has {', '.join(DEFAULTS[name])}. "
                f"Leave {key} out."
            )
        try:
            values[key] = CHECKS[key](value)
        except (TypeError, ValueError, OverflowError):
            raise ValueError(f"{key} must be {CHECKS[key].__doc__}, got {value!r}") from None
    return name, values
