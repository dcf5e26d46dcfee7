"""Test whether a Gram matrix is positive semi-definite."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import eigh, eigvalsh_tridiagonal, lapack

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
    what: str = "training row", name: Callable[[int], Any] = int, gram: np.ndarray | None = None,
) -> None:  # fmt: skip
    """Raise :class:`NotPositiveSemidefinite` where the Gram matrix of prepared ``rows`` has a negative eigenvalue.

    Up to 1,000 rows all eigenvalues are looked at. Of more rows a random subset is: any negative eigenvalue of a part
    proves one of the whole at least as negative. ``multiply(v)``, if given, is the product of the whole Gram matrix and
    a vector, and some Lanczos steps look at the whole too. ``gram``, if it is there, is that matrix: a Cholesky factor
    looks at all of it. Messages call row i ``what name(i)``.
    """
    if kernel.surely_definite:
        return
    n = rows.shape[0]
    chosen = np.arange(n)
    if n > EXACT and gram is None:
        chosen = np.sort(np.random.default_rng(seed).choice(n, EXACT, replace=False))
    if gram is None:
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
    top = max(float(gram.max(initial=0.0)), -float(gram.min(initial=0.0)))
    i, j = _least_symmetric(gram)
    if len(gram) and abs(gram[i, j] - gram[j, i]) > ROUNDING * max(top, 1e-300):
        raise ValueError(
            f"{kernel!r} is not symmetric: {gram[i, j]:.6g} for {what} {name(chosen[i])} and {what} {name(chosen[j])}, "
            f"but {gram[j, i]:.6g} the other way round; use (K(x, y) + K(y, x)) / 2"
        )
    low, high = _lowest_and_largest(gram, seed)
    n_seen = len(chosen)
    if low >= -ROUNDING * high and multiply is not None and n_seen < n:
        (low, high), n_seen = _extremes(multiply, n, seed), n
    if low < -ROUNDING * high:
        which = f"the {what}s" if n_seen == n else f"{n_seen} of the {n} {what}s"
        raise NotPositiveSemidefinite(
            f"{kernel!r} is not positive semi-definite: the most negative eigenvalue of its Gram matrix of {which} "
            f"is {low:.6g} (the largest is {high:.6g}). Use another kernel, or add a multiple of the identity to it.",
            low,
        )


def _least_symmetric(gram: np.ndarray) -> tuple[int, int]:
    """The place where a matrix differs most from its transpose; a run of rows at a time."""
    worst, place = -1.0, (0, 0)
    for start in range(0, len(gram), EXACT):
        part = slice(start, start + EXACT)
        odd = np.abs(gram[part] - gram[:, part].T)
        i, j = np.unravel_index(int(odd.argmax()), odd.shape)
        if odd[i, j] > worst:
            worst, place = float(odd[i, j]), (start + int(i), int(j))
    return place


def _lowest_and_largest(gram: np.ndarray, seed: int) -> tuple[float, float]:
    """The smallest eigenvalue and the largest magnitude of one; of many rows roughly, and 0 for the smallest if it is
    above rounding."""
    if len(gram) <= EXACT:
        found = np.linalg.eigvalsh((gram + gram.T) / 2.0)
        return float(found.min(initial=0.0)), float(np.abs(found).max(initial=0.0))
    low, high = _extremes(gram.__matmul__, len(gram), seed)
    if low < -ROUNDING * high:
        return low, high
    shifted = np.array(gram, order="F")
    shifted.flat[:: len(gram) + 1] += ROUNDING * high
    if lapack.dpotrf(shifted, lower=1, overwrite_a=1)[1] == 0:
        return 0.0, high
    return float(eigh(gram, eigvals_only=True, subset_by_index=[0, 0])[0]), high


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
    found = eigvalsh_tridiagonal(np.array(diagonal), np.array(beside[: len(diagonal) - 1]))
    return float(found[0]), float(np.abs(found).max())
