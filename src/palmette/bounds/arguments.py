"""What every bound asks of its arguments: errors name the quantity, its value and what it may be."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np


def check_numbers(least: float | None = None, **values: Any) -> None:
    """Raise ValueError unless every value is a finite number above 0, or at least ``least`` if that is given.

    >>> check_numbers(m=3, norm=0.5)
    >>> check_numbers(least=8, m=5)
    Traceback (most recent call last):
    ...
    ValueError: m must be a finite number >= 8, got 5
    """
    for name, value in values.items():
        known = not isinstance(value, bool) and isinstance(value, Real) and np.isfinite(float(value))
        if not known or (value <= 0.0 if least is None else value < least):
            wanted = "> 0" if least is None else f">= {least:g}"
            raise ValueError(f"{name} must be a finite number {wanted}, got {value!r}")


def log_inverse(delta: Any, at_most_half: bool = False) -> float:
    """``ln(1 / delta)`` of a probability, which is below 1, or at most 1/2 where that is asked for.

    >>> round(log_inverse(0.5), 4)
    0.6931
    """
    known = not isinstance(delta, bool) and isinstance(delta, Real) and 0.0 < float(delta) < 1.0
    if not known or (at_most_half and float(delta) > 0.5):
        wanted = "above 0 and at most 1/2" if at_most_half else "between 0 and 1"
        raise ValueError(f"delta must be a probability {wanted}, got {delta!r}")
    return float(-np.log(float(delta)))


def level(value: float, delta: float) -> tuple[float, float]:
    r"""A power of two that is at least ``value``, and the share of ``delta`` that pays for choosing it on the data.

    A bound for all weights with ``|w| <= norm`` needs a norm that is fixed before the data is seen. Ask for it at every
    ``2^j``, j an integer, with ``delta_j = delta / (2 (|j| + 1) (|j| + 2))``. These sum to at most ``delta``, so all
    hold together, and the one above the norm that was found may be used.

    >>> level(3.0, 0.05)
    (4.0, 0.0020833333333333333)
    """
    check_numbers(value=value)
    log_inverse(delta)
    power = int(np.ceil(np.log2(value)))
    return float(2.0**power), float(delta / (2.0 * (abs(power) + 1) * (abs(power) + 2)))
