"""The two eigendecompositions of SOSC: inputs by their Gram matrix, outputs by the smaller of its two sides."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh

LEAST = 1e-12  # eigenvalues below this, relatively, are rounding


class Spectra(NamedTuple):
    """``K_X = V diag(d) V'`` and ``K_Y = U diag(l) U'`` without what is rounding, and ``overlap = U'V``.

    Attributes
    ----------
    inputs, d : ndarray of shape (m, k) and (k,)
        ``V`` and its eigenvalues.
    outputs, l : ndarray of shape (m, r) and (r,)
        ``U`` and its eigenvalues.
    overlap : ndarray of shape (r, k)
    """

    inputs: np.ndarray
    d: np.ndarray
    outputs: np.ndarray
    l: np.ndarray
    overlap: np.ndarray

    @classmethod
    def of(cls, gram: np.ndarray, rows: np.ndarray, metric: np.ndarray | None = None) -> Spectra:
        """Decompose the Gram matrix of inputs (m, m) and the rows of outputs (m, q)."""
        d, inputs = above_rounding(*eigh(gram, driver="evd"))
        l, outputs = output_spectrum(rows, metric)
        return cls(inputs, d, outputs, l, outputs.T @ inputs)


def output_spectrum(rows: np.ndarray, metric: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues (r,) and orthonormal eigenvectors (m, r) of ``rows metric rows'``.

    The m x m matrix is formed only where rows are not longer than that: otherwise ``rows = Q T`` and that of ``T`` is
    decomposed, of as many rows as there are columns.
    """
    if metric is not None:
        values, vectors = above_rounding(*eigh(metric))
        rows = rows @ (vectors * np.sqrt(values))
    if rows.shape[1] >= rows.shape[0]:
        return above_rounding(*eigh(rows @ rows.T, driver="evd"))
    basis, triangle = np.linalg.qr(rows)
    l, turned = above_rounding(*eigh(triangle @ triangle.T, driver="evd"))
    return l, basis @ turned


def above_rounding(values: np.ndarray, vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues above rounding, relative to the largest, and their vectors."""
    keep = values > LEAST * max(float(values[-1]), 1e-300) if len(values) else np.zeros(0, bool)
    return values[keep], np.ascontiguousarray(vectors[:, keep])
