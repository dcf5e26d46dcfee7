"""Position weights of ranks."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from numbers import Real
from typing import Any

import numpy as np

_ALIKE = {"dcg": "letor"}  # the discount of the NDCG loss as it is by default


def discounts(spec: Any, n: int, name: str = "discount") -> np.ndarray:
    """Numbers of the ranks 1..n that do not rise, float64.

    ``spec`` is "letor" (1, 1, 1/log2(3), ...: ``1 / max(1, log2 r)``; also "dcg"), "standard" (``1 / log2(1 + r)``), a
    number p (``r^-p``), an array by rank, or a function of the array of ranks 1..n.

    >>> discounts(0.25, 3).round(3), discounts("letor", 3).round(3)
    (array([1.   , 0.841, 0.76 ]), array([1.   , 1.   , 0.631]))
    """
    if isinstance(spec, str) or (isinstance(spec, Real) and not isinstance(spec, bool)):
        return _named(_ALIKE.get(spec, spec) if isinstance(spec, str) else float(spec), n, name).copy()
    if callable(spec):
        found = np.array(spec(np.arange(1, n + 1)), np.float64)
        if found.shape != (n,):
            raise ValueError(
                f"{name}: the function gave shape {found.shape} for the ranks 1..{n}; it must give a number for each"
            )
    else:
        try:
            found = np.array(spec, np.float64)
        except (TypeError, ValueError):
            raise TypeError(
                f"{name} must be a name, a number, an array or a function, got {spec!r:.60}"
            ) from None
        if found.ndim != 1 or not len(found):
            raise TypeError(f"{name} must be a name, a number, a 1-D array or a function, got {spec!r:.60}")
        if len(found) < n:
            raise ValueError(
                f"{name} has {len(found)} numbers, but a query has {n} documents: give one for each rank, or a function"
            )
        found = found[:n]
    _check(found, name)
    return found


@lru_cache(maxsize=256)
def _named(spec: str | float, n: int, name: str) -> np.ndarray:
    ranks = np.arange(1, n + 1, dtype=float)
    known: dict[Any, Callable[..., Any]] = {
        "letor": lambda r: 1.0 / np.log2(np.maximum(r, 2.0)),
        "standard": lambda r: 1.0 / np.log2(1.0 + r),
    }
    if isinstance(spec, str):
        if spec not in known:
            raise ValueError(
                f"{name}={spec!r} is unknown; choose 'letor', 'standard', an exponent, an array or a function"
            )
        found = known[spec](ranks)
    else:
        if not 0.0 <= spec < np.inf:
            raise ValueError(f"{name}={spec!r}: the exponent p of r^-p must be a finite number of at least 0")
        found = ranks**-spec
    _check(found, name)
    return found


def _check(found: np.ndarray, name: str) -> None:
    bad = np.flatnonzero(~(np.isfinite(found) & (found > 0)))
    if len(bad):
        raise ValueError(
            f"{name}: rank {bad[0] + 1} has {found[bad[0]]}; weights of ranks must be positive and finite"
        )
    rises = np.flatnonzero(np.diff(found) > 0)
    if len(rises):
        r = int(rises[0])
        raise ValueError(
            f"{name}: rank {r + 2} has {found[r + 1]}, more than rank {r + 1} with {found[r]}; weights of ranks must "
            "not rise"
        )
