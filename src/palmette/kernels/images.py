"""Preprocessing of rows that are images, for kernels that tolerate small shifts and strokes."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from palmette.registry import register

WIDEST = 1000.0  # pixels of a blur: its window has eight times as many, and wider ones make any image flat


class ImageMap(BaseEstimator):
    """A function of rows, each an image of ``shape`` (height, width) written row by row."""

    shape: Any
    sigma: Any

    def columns_out(self, n_columns: int) -> int:
        """Columns of what becomes of rows with so many columns; others than images of the shape are refused."""
        sides = self.shape if isinstance(self.shape, tuple | list | np.ndarray) else ()
        if len(sides) != 2 or any(not isinstance(n, Integral) or n < 1 for n in sides):
            raise ValueError(f"{type(self).__name__}: shape must be (height, width), got {self.shape!r}")
        for name in ("sigma", "smooth"):
            value = getattr(self, name, 0.0)
            if not isinstance(value, Real) or not 0.0 <= float(value) <= WIDEST:
                raise ValueError(
                    f"{type(self).__name__}: {name} must be a number from 0 to {WIDEST}, got {value!r}"
                )
        n_channels = getattr(self, "n_directions", 1)
        if not isinstance(n_channels, Integral) or n_channels < 1:
            raise ValueError(
                f"{type(self).__name__}: n_directions must be an integer of at least 1, got {n_channels!r}"
            )
        if n_columns != self.shape[0] * self.shape[1]:
            raise ValueError(
                f"{type(self).__name__}: rows have {n_columns} columns, images of {tuple(self.shape)} "
                f"{self.shape[0] * self.shape[1]}"
            )
        return n_columns * int(n_channels)

    def _images(self, rows: Any) -> np.ndarray:
        rows = np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows, float)
        self.columns_out(rows.shape[1])
        return rows.reshape(-1, *self.shape)


@register("kernel")
class Blurred(ImageMap):
    """Images blurred by a Gaussian of ``sigma`` pixels, so that pixels near each other count as alike.

    Parameters
    ----------
    shape : (int, int)
        Height and width.
    sigma : float, default=1.0

    Examples
    --------
    >>> Blurred((1, 3), 0.5)(np.array([[0.0, 1.0, 0.0]])).round(2)
    array([[0.08, 0.62, 0.08]])
    """

    def __init__(self, shape: Any, sigma: float = 1.0) -> None:
        self.shape = shape
        self.sigma = sigma

    def __call__(self, rows: Any) -> np.ndarray:
        """Blurred rows, of the same shape; beyond the edges of an image nothing is drawn."""
        images = blur(self._images(rows), self.sigma)
        return images.reshape(len(images), -1)


@register("kernel")
class Directions(ImageMap):
    """How strongly an image changes into each of some directions, place by place, blurred.

    Channel k of ``n_directions`` has ``|gradient| max(cos(angle of the gradient - 2 pi k / n_directions), 0)^2``, which
    tells strokes by their direction and sides, and is then blurred by a Gaussian of ``sigma`` pixels.

    Parameters
    ----------
    shape : (int, int)
        Height and width.
    sigma : float, default=1.0
    n_directions : int, default=8
    smooth : float, default=0.6
        Blur before gradients are taken.

    Examples
    --------
    >>> Directions((16, 8))(np.eye(128)[:2]).shape
    (2, 1024)
    """

    def __init__(self, shape: Any, sigma: float = 1.0, n_directions: int = 8, smooth: float = 0.6) -> None:
        self.shape = shape
        self.sigma = sigma
        self.n_directions = n_directions
        self.smooth = smooth

    def __call__(self, rows: Any) -> np.ndarray:
        """The channels of every row, one after the other."""
        images = self._images(rows)
        framed = np.pad(blur(images, self.smooth), ((0, 0), (1, 1), (1, 1)))
        down = (framed[:, 2:, 1:-1] - framed[:, :-2, 1:-1]) / 2.0
        right = (framed[:, 1:-1, 2:] - framed[:, 1:-1, :-2]) / 2.0
        strength = np.hypot(right, down)
        out = np.empty((len(images), int(self.n_directions), *images.shape[1:]))
        for k, angle in enumerate(np.linspace(0.0, 2.0 * np.pi, out.shape[1], endpoint=False)):
            along = np.maximum(np.cos(angle) * right + np.sin(angle) * down, 0.0)
            share = np.divide(along**2, strength, out=np.zeros_like(along), where=strength > 0.0)
            out[:, k] = blur(share, self.sigma)
        return out.reshape(len(images), -1)


def blur(images: np.ndarray, sigma: float) -> np.ndarray:
    """Images (n, height, width) blurred; zeros beyond their edges."""
    from scipy.ndimage import gaussian_filter

    return gaussian_filter(images, (0.0, float(sigma), float(sigma)), mode="constant")
