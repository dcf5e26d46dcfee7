"""Edges of page graphs with their features."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

FEATURES = ("link", "both ways", "neighbours")


class Edges(NamedTuple):
    """Pairs of pages, each once, and what connects them.

    Attributes
    ----------
    pairs : ndarray of int64, shape (n_edges, 2)
        A one-way link goes from the first page to the second; other pairs have the lower row first.
    features : ndarray of float64, shape (n_edges, n_kinds)
        Columns as named in `FEATURES`, the last only with neighbours.
    counts : dict of str to int
        Links to itself dropped, links merged into another.
    """

    pairs: np.ndarray
    features: np.ndarray
    counts: dict[str, int]


def merge_edges(
    n_pages: int, links: np.ndarray, neighbours: np.ndarray | None = None, *, scale: bool = True
) -> Edges:
    """Merge links, back links and neighbours to one edge per pair.

    Parameters
    ----------
    n_pages : int
    links : ndarray of int, shape (n_links, 2)
        Rows of sources and targets.
    neighbours : ndarray of int, shape (n_pairs, 2), optional
        Pairs without direction.
    scale : bool, default=True
        Divide the features of an edge by the square root of the larger degree of its two pages, so that pages with a
        hundred links do not drown what pages say themselves.

    Examples
    --------
    >>> edges = merge_edges(3, np.array([[1, 0], [0, 2], [2, 0], [2, 2]]), np.array([[0, 1]]), scale=False)
    >>> edges.pairs, edges.features, edges.counts
    (array([[1, 0],
           [0, 2]]), array([[1., 0., 1.],
           [0., 1., 0.]]), {'links to itself': 1, 'merged links': 1})
    """
    directed = {(int(i), int(j)) for i, j in links if i != j}
    kinds: dict[tuple[int, int], list[float]] = {}
    for i, j in sorted(directed, key=lambda pair: (min(pair), max(pair), pair)):
        if (j, i) not in directed:
            kinds[i, j] = [1.0, 0.0, 0.0]
        elif i < j:
            kinds[i, j] = [0.0, 1.0, 0.0]
    for i, j in () if neighbours is None else neighbours.tolist():
        pair = (j, i) if (j, i) in kinds else (i, j)
        kinds.setdefault(pair, [0.0, 0.0, 0.0])[2] = 1.0
    pairs = np.array(list(kinds), dtype=np.int64).reshape(-1, 2)
    features = np.array(list(kinds.values())).reshape(-1, 3)[:, : 2 if neighbours is None else 3]
    if scale:
        degree = np.bincount(pairs.ravel(), minlength=n_pages)
        features = features / np.sqrt(degree[pairs].max(axis=1, initial=1))[:, None]
    n_self = int((links[:, 0] == links[:, 1]).sum())
    n_linked = int((features[:, :2] != 0).any(axis=1).sum())
    return Edges(pairs, features, {"links to itself": n_self, "merged links": len(directed) - n_linked})
