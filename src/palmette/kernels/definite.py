"""Test whether a Gram matrix is positive semi-definite."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from palmette.kernels.rows import Rows

EXACT = 1000  # rows up to which all eigenvalues are computed; of more, those of a random subset
ROUNDING = 1e-5  # of single precision, relative to the largest eigenvalue


class NotPositiveSemidefinite(ValueError):
    """A kernel whose Gram matrix has a negative eigenvalue, ``.eigenvalue``."""

    def __init__(self, message: str, eigenvalue: float) -> None:
        super().__init__(message)
        self.eigenvalue = eigenvalue


def check_definite(
    kernel: Any, rows: Rows, seed: int = 0, multiply: Callable[[np.ndarray], np.ndarray] | None = None,
    what: str = "training row", name: Callable[[int], Any] = int,
) -> None:  # fmt: skip
    """Raise :class:`NotPositiveSemidefinite` where the Gram matrix of prepared ``rows`` has a negative eigenvalue.

    Up to 1,000 rows all eigenvalues are looked at. Of more rows a random subset is: any negative eigenvalue of a part
    proves one of the whole at least as negative. ``multiply(v)``, if given, is the product of the whole Gram matrix and
    a vector, and some Lanczos steps look at the whole too. Messages call row i ``what name(i)``.
    """
    if kernel.surely_definite:
        return
    n = rows.shape[0]
    chosen = np.arange(n)
    if n > EXACT:
        chosen = np.sort(np.random.default_rng(seed).choice(n, EXACT, replace=False))
    part = kernel.take(rows, chosen) if hasattr(kernel, "take") else rows[chosen]
    gram = np.asarray(kernel.cross(part, part), float)
    if gram.shape != (len(chosen), len(chosen)):
        raise ValueError(
            f"{kernel!r} returned an array of shape {gram.shape} for {len(chosen)} and {len(chosen)} rows"
        )
    if not np.all(np.isfinite(gram)):
        i, j = np.argwhere(~np.isfinite(gram))[0]
        raise ValueError(
            f"{kernel!r} of {what} {name(chosen[i])} and {what} {name(chosen[j])} is {gram[i, j]}; scale the features, "
            "or use another kernel"
        )
    top = float(np.abs(gram).max(initial=0.0))
    odd = np.abs(gram - gram.T)
    if odd.max(initial=0.0) > ROUNDING * max(top, 1e-300):
        i, j = np.unravel_index(int(odd.argmax()), odd.shape)
        raise ValueError(
            f"{kernel!r} is not symmetric: {gram[i, j]:.6g} for {what} {name(chosen[i])} and {what} {name(chosen[j])}, "
            f"but {gram[j, i]:.6g} the other way round; use (K(x, y) + K(y, x)) / 2"
        )
    found = np.linalg.eigvalsh((gram + gram.T) / 2.0)
    low, high, n_seen = float(found[0]), float(np.abs(found).max()), len(chosen)
    if low >= -ROUNDING * high and multiply is not None and n > EXACT:
        (low, high), n_seen = _extremes(multiply, n, seed), n
    if low < -ROUNDING * high:
        which = f"the {what}s" if n_seen == n else f"{n_seen} of the {n} {what}s"
        raise NotPositiveSemidefinite(
            f"{kernel!r} is not positive semi-definite: the most negative eigenvalue of its Gram matrix of {which} "
            f"is {low:.6g} (the largest is {high:.6g}). Use another kernel, or add a multiple of the identity to it.",
            low,
        )


def _extremes(
    multiply: Callable[[np.ndarray], np.ndarray], n: int, seed: int, steps: int = 30
) -> tuple[Any, ...]:
    """Smallest and largest eigenvalue that ``steps`` Lanczos steps with full orthogonalisation see."""
    basis = np.zeros((steps + 1, n))
    vector = np.random.default_rng(seed).standard_normal(n)
    basis[0] = vector / np.linalg.norm(vector)
    diagonal, beside = [], []
    for k in range(steps):
        image = np.asarray(multiply(basis[k]), float)
        diagonal.append(float(image @ basis[k]))
        for _ in range(2):
            image -= basis[: k + 1].T @ (basis[: k + 1] @ image)
        length = float(np.linalg.norm(image))
        if length <= 1e-12 * abs(diagonal[0]):
            break
        beside.append(length)
        basis[k + 1] = image / length
    from scipy.linalg import eigvalsh_tridiagonal

    found = eigvalsh_tridiagonal(np.array(diagonal), np.array(beside[: len(diagonal) - 1]))
    return float(found[0]), float(np.abs(found).max())
