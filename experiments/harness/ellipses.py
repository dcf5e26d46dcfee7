"""Generated pictures of two labels: ellipses in noise, as grids with features of pixels and of edges."""

from __future__ import annotations

import numpy as np

from experiments.harness.grids import grid_edges
from palmette import GraphInput

SIZE = 32


def ellipses(n: int, rng: np.random.Generator, size: int = SIZE) -> np.ndarray:
    """True labels: up to three ellipses in a picture, bool (n, size, size)."""
    y, x = np.mgrid[:size, :size]
    out = np.zeros((n, size, size), bool)
    for image in out:
        for _ in range(rng.integers(1, 4)):
            cy, cx = rng.uniform(4, size - 4, 2)
            a, b = rng.uniform(3, 10, 2)
            turn = rng.uniform(0, np.pi)
            u = (x - cx) * np.cos(turn) + (y - cy) * np.sin(turn)
            v = (y - cy) * np.cos(turn) - (x - cx) * np.sin(turn)
            image |= (u / a) ** 2 + (v / b) ** 2 <= 1.0
    return out


def ellipse_grids(
    n: int, seed: int, noise: float = 1.5, contrast: float = 1.0, size: int = SIZE
) -> tuple[list[GraphInput], list[np.ndarray]]:
    """Pictures as graphs, and the label of every pixel.

    A pixel has 10 features: three noisy channels, a mean of 3 x 3 and one of 5 x 5 of each, and a constant. An edge has
    3: a constant, whether it is vertical, and how much the blurred first channel changes along it. ``contrast`` scales
    the signal, so that a low one leaves weak edges.

    >>> X, Y = ellipse_grids(2, seed=0)
    >>> X[0].nodes.shape, X[0].edge_features.shape, Y[0].shape
    ((1024, 10), (1984, 3), (1024,))
    """
    from scipy.ndimage import uniform_filter

    rng = np.random.default_rng(seed)
    labels = ellipses(n, rng, size)
    edges, direction = grid_edges(size, size)
    X, Y = [], []
    for truth in labels:
        signal = contrast * np.stack([truth, 0.5 * truth, -0.3 * truth], axis=2)
        image = signal + noise * rng.normal(size=(size, size, 3))
        near, wide = (uniform_filter(image, (width, width, 1)) for width in (3, 5))
        nodes = np.concatenate([image, near, wide, np.ones((size, size, 1))], axis=2).reshape(-1, 10)
        step = abs(near.reshape(-1, 3)[edges[:, 0], 0] - near.reshape(-1, 3)[edges[:, 1], 0])
        features = np.column_stack([np.ones(len(edges)), direction, np.exp(-step / noise)])
        X.append(GraphInput(nodes, edges, edge_features=features))
        Y.append(truth.ravel().astype(int))
    return X, Y
