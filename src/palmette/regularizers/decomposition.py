"""Structure regularisation: train on random pieces of the samples instead of on whole ones."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from palmette.contracts.structure import Structure
from palmette.data.ragged import offsets_from_lengths
from palmette.errors import MissingCapability
from palmette.registry import register

_STREAM = 5_512_014  # keeps these draws apart from others of the same seed


@register("regularizer")
class Decomposition(BaseEstimator):
    """Cut every training sample at random into pieces of mean size ``size``, with new cuts in every epoch.

    A piece keeps the feature vectors of its positions as they were in the whole sample; the edges between pieces are
    dropped. Samples of at most ``size`` positions stay whole. Pieces of longer chains have ``floor(size)`` or
    ``floor(size) + 1`` positions, drawn so that the mean is ``size`` (5.5 mixes 5 and 6 evenly), and the first cut has
    a random phase: it is as if the sample were a window on an endless chain that is cut so. Hence **every edge of such
    a sample is dropped with probability exactly 1 / size**, wherever it is. Its first and last piece may be shorter.

    Prediction always uses the whole structure. Smaller pieces mean a simpler model and faster passes; whether they
    also mean a better one depends on the data, so choose ``size`` on held-out samples (``"auto"`` does).

    Parameters
    ----------
    size : float or "auto", default=5.5
        Mean size of a piece, at least 1; ``inf`` cuts nothing. 1 drops all edges. ``"auto"``: a learner's ``fit`` takes
        the best of ``SIZES`` by 3-fold cross-validation on the training data.

    References
    ----------
    X. Sun, Structure regularization for structured prediction, NIPS 2014 (Algorithm 1).

    Examples
    --------
    Two sentences of 8 and 3 positions: the rows where pieces start and stop, and whose they are.

    >>> starts, stops, sample = Decomposition(2.5).pieces(np.array([0, 8, 11]), seed=0, epoch=0)
    >>> bool(np.all(starts[1:] == stops[:-1])), int(stops[-1]), int((stops - starts).max())
    (True, 11, 3)

    Any graph, here a square with a tail: which edges stay.

    >>> edges = np.array([[0, 1], [1, 2], [2, 3], [3, 0], [3, 4], [4, 5]])
    >>> bool(Decomposition(3).keep_edges(6, edges, seed=0, epoch=0).all())
    False
    """

    # What "auto" compares: the sizes of the paper, and no cuts.
    SIZES = (1.5, 2.5, 3.5, 5.5, 10.5, 15.5, 20.5, float("inf"))

    def __init__(self, size: Any = 5.5) -> None:
        self.size = size
        self.check()

    def check(self) -> None:
        """Refuse a size that is not a number of at least 1."""
        size = self.size
        if isinstance(size, str) and size == "auto":
            return
        if isinstance(size, bool | np.bool_) or not isinstance(size, Real) or not float(size) >= 1:
            raise ValueError(
                f"Decomposition: size must be a number of at least 1 (the mean number of positions in a piece, such as "
                f"5.5) or 'auto', got {size!r}"
            )

    @property
    def is_auto(self) -> bool:
        """Whether the size is still to be chosen."""
        return isinstance(self.size, str)

    def pieces(self, offsets: np.ndarray, seed: int, epoch: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Cut chains.

        Parameters
        ----------
        offsets : ndarray of int64, shape (n_samples + 1,)
            Sample i owns the rows ``offsets[i]:offsets[i + 1]``.
        seed, epoch : int
            The same two give the same pieces.

        Returns
        -------
        starts, stops, sample : ndarray of int64, shape (n_pieces,)
            Piece k has the rows ``starts[k]:stops[k]`` of sample ``sample[k]``; pieces cover all rows, in order.
        """
        offsets = np.asarray(offsets, np.int64)
        owner = np.flatnonzero(np.diff(offsets))  # an empty sample has no piece
        lengths = np.diff(offsets)[owner]
        first, drawn = self._draw(lengths, self._rng(seed, epoch))
        count = np.diff(first)
        start = np.cumsum(drawn) - drawn
        start += np.repeat(offsets[owner] - start[first[:-1]], count)
        kept = start < np.repeat(offsets[owner + 1], count)
        start, sample = start[kept], np.repeat(owner, count)[kept]
        return start, np.append(start[1:], offsets[-1:])[: len(start)], sample

    def keep_edges(self, n_nodes: int, edges: np.ndarray, seed: int, epoch: int) -> np.ndarray:
        """Cut graphs: which edges stay.

        The nodes of every connected component are parted into connected pieces of ``floor(size)`` or one more node.
        Paths whose nodes are numbered in order are cut exactly as :meth:`pieces` cuts chains with these lengths, and
        other paths by the same law. Elsewhere a piece that finds itself enclosed stays smaller: next to the hub of
        a star only single nodes are left, for example.

        Parameters
        ----------
        n_nodes : int
        edges : array of int, shape (n_edges, 2)
            Undirected; several graphs may be given at once, as one that is not connected.
        seed, epoch : int

        Returns
        -------
        ndarray of bool, shape (n_edges,)
            True where both ends are in one piece.
        """
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        from palmette._kernels.partition import grow_pieces

        edges = _checked_edges(n_nodes, edges)
        both = np.concatenate([edges, edges[:, ::-1]])
        both = both[np.argsort(both[:, 0], kind="stable")]
        degree = np.bincount(both[:, 0], minlength=n_nodes)
        graph = coo_array((np.ones(len(edges), bool), (edges[:, 0], edges[:, 1])), shape=(n_nodes, n_nodes))
        component = connected_components(graph, directed=False)[1] if n_nodes else np.empty(0, np.int64)
        _, lowest, n_own = np.unique(component, return_index=True, return_counts=True)
        by_lowest = np.argsort(lowest)
        rng = self._rng(seed, epoch)
        first, drawn = self._draw(n_own[by_lowest], rng)
        spare = self._sizes(n_nodes, rng) if self.size < n_nodes else np.full(n_nodes, n_nodes)
        piece, mark = np.full(n_nodes, -1), np.full(n_nodes, -1)
        order, frontier = np.empty(n_nodes, np.int64), np.empty(n_nodes, np.int64)
        grow_pieces(
            offsets_from_lengths(degree), np.ascontiguousarray(both[:, 1]), lowest[by_lowest], first, drawn, spare,
            rng.random(n_nodes), mark, order, degree, frontier, np.empty(3 * n_nodes, np.int64), piece,
        )  # fmt: skip
        return piece[edges[:, 0]] == piece[edges[:, 1]]

    def _rng(self, seed: int, epoch: int) -> np.random.Generator:
        self.check()
        if self.is_auto:
            raise ValueError(
                "Decomposition(size='auto') has no size yet: fit a learner with it, and see its decomposition_"
            )
        return np.random.default_rng([seed, epoch, _STREAM])

    def _sizes(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Sizes of ``n`` pieces: ``floor(size)`` or one more, with mean ``size``."""
        low = int(self.size)
        return low + (rng.random(n, np.float32) < self.size - low).astype(np.int64)

    def _draw(self, lengths: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Sizes of enough pieces for samples of these lengths: those of sample i are ``first[i]:first[i + 1]``."""
        whole = lengths <= self.size
        if np.all(whole):
            return np.arange(len(lengths) + 1), lengths.copy()
        low = int(self.size)
        first = offsets_from_lengths(np.where(whole, 1, 1 - (1 - lengths) // low))
        drawn = self._sizes(int(first[-1]), rng)
        # What is left of the piece in which the window begins: it is long in proportion to its size.
        size = low + (rng.random(len(lengths)) < (self.size - low) * (low + 1) / self.size)
        rest = 1 + (rng.random(len(lengths)) * size).astype(np.int64)
        drawn[first[:-1]] = np.where(whole, lengths, rest)
        return first, drawn


def check_removable(structure: Structure) -> None:
    """Raise :class:`MissingCapability` for a structure whose edges cannot be dropped one by one.

    A structure says that they can by ``removable_edges = True`` in its own class; a subclass says it anew.

    >>> from palmette.structures import Chain
    >>> check_removable(Chain())
    """
    kind = type(structure)
    if not vars(kind).get("removable_edges", False):
        raise MissingCapability(
            f"Decomposition cannot cut a {kind.__name__}: its outputs are no labels joined by edges that can be "
            f"dropped. Leave regularizer=Decomposition(...) out (your own class may declare removable_edges = True)"
        )


def _checked_edges(n_nodes: int, edges: Any) -> np.ndarray:
    if not isinstance(n_nodes, Integral) or n_nodes < 0:
        raise ValueError(f"n_nodes must be an integer of at least 0, got {n_nodes!r}")
    edges = np.asarray(edges)
    if not edges.size:
        return np.empty((0, 2), np.int64)
    if edges.ndim != 2 or edges.shape[1] != 2 or edges.dtype.kind not in "iu":
        raise ValueError(
            f"edges must be integers of shape (n_edges, 2), got {edges.dtype} of shape {edges.shape}"
        )
    bad = np.flatnonzero((edges < 0).any(axis=1) | (edges >= n_nodes).any(axis=1))
    if len(bad):
        raise ValueError(
            f"edges[{bad[0]}] = {edges[bad[0]].tolist()} names a node that does not exist: there are {n_nodes}"
        )
    return edges.astype(np.int64)
