"""Labels whose output kernel counts those of positions and of neighbours: pre-images by inference over both."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from palmette.contracts.structure import can
from palmette.data.checks import check_array
from palmette.errors import MissingCapability
from palmette.outputs.base import PreImages
from palmette.outputs.structured import PositionOutputs
from palmette.registry import register


@register("output")
class NeighbourOutputs(PositionOutputs):
    r"""Labels compared place by place: common ones, and common pairs of neighbours.

    ``K(y, y') = sum_t [y_t = y'_t] + weight sum_(s,t) [y_s = y'_s and y_t = y'_t]``, where the second sum is over
    neighbours: the positions t and t + 1 of sequences, of any length, or the edges of a graph, which then is the same
    for all samples. A regression of single labels predicts each place for itself; with pairs the prediction has
    neighbours that go together. ``K(y, y) - 2 <psi(y), v>`` is a sum over places and neighbours, and the structure
    finds the best of all labels that it allows.

    Parameters
    ----------
    structure : Structure
        Of labels with neighbours, such as :class:`~palmette.Chain` or :class:`~palmette.Graph`.
    weight : float, default=1.0
        What a pair counts, above 0.

    Examples
    --------
    >>> from palmette import Chain
    >>> votes = np.array([0.4, 0.3, 0.3])  # of "aa", "ab" and "cb": most are for "a" and for "b", and "aa" is best
    >>> for space in (PositionOutputs(Chain()), NeighbourOutputs(Chain(), weight=2.0)):
    ...     own = space.fit([["a", "a"], ["a", "b"], ["c", "b"]])
    ...     print(own.pre_images(votes[None] @ own.rows.toarray(), ["xx"]).outputs)
    [['a', 'b']]
    [['a', 'a']]
    """

    kept: ClassVar[tuple[str, ...]] = (*PositionOutputs.kept, "weight", "edges_")
    task_loss = None  # a function is given beside the space

    def __init__(self, structure: Any, weight: float = 1.0) -> None:
        self.structure = structure
        self.weight = weight

    def learn(self, sizes: np.ndarray, X: Any = None) -> None:
        """Check that the structure looks at neighbours, and the weight; the edges, if there is a graph."""
        name, weight = type(self.structure).__name__, self.weight
        number = isinstance(weight, float | int | np.number) and not isinstance(weight, bool)
        if not number or not 0.0 < weight < np.inf:
            raise ValueError(f"NeighbourOutputs: weight must be a finite number above 0, got {weight!r}")
        if not can(self.structure_, "neighbour_cost") or self.structure_.layout == "items":
            raise MissingCapability(
                "NeighbourOutputs needs labels with costs of neighbours (neighbour_cost), as chains have: "
                f"{name} has none; take PositionOutputs, which counts single labels"
            )
        super().learn(sizes, X)
        if not hasattr(self, "edges_"):  # else a file has them
            self.edges_ = self._edges_of(X) if can(self.structure_, "links") else None

    def revived(self) -> None:
        """Edges join nodes."""
        super().revived()
        if can(self.structure_, "links"):
            edges = check_array("edges_", self.edges_, np.int64, 2)
            if edges.shape[1] != 2 or np.any((edges < 0) | (edges >= self.longest_)):
                raise ValueError(f"edges_ of shape {edges.shape} do not join {self.longest_} nodes")

    def _edges_of(self, X: Any) -> np.ndarray:
        """The edges that all graphs have."""
        if X is None:
            raise ValueError(
                f"outputs of {type(self.structure).__name__} need the inputs, which have the edges"
            )
        batch = self.batch(X)[1]
        links, sizes = self.structure_.links(batch), np.diff(batch.offsets)
        owner = np.searchsorted(batch.offsets, links[:, 0], side="right") - 1
        own = links - batch.offsets[owner][:, None]
        edges = np.split(own, np.searchsorted(owner, np.arange(1, len(sizes))))
        first = getattr(self, "edges_", edges[0]), getattr(self, "longest_", sizes[0])
        for i in range(len(sizes)):
            if sizes[i] != first[1] or not np.array_equal(edges[i], first[0]):
                raise MissingCapability(
                    f"NeighbourOutputs compares graphs edge by edge, and X[{i}] has {sizes[i]} nodes and "
                    f"{len(edges[i])} edges, not those of the first training sample: give one graph for all "
                    "samples, its edges in one order, or take PositionOutputs, which counts single labels"
                )
        return np.asarray(first[0], np.int64)

    @property
    def columns(self) -> int:
        """Of each place its code, and in sequences the codes of it and the next one."""
        return self.n_codes_ + (self.n_codes_**2 if self.edges_ is None else 0)

    def code_features(self, codes: np.ndarray, offsets: np.ndarray) -> sparse.csr_array:
        """Indicators of (place, code) and, times a root of the weight, of (neighbours, code, code)."""
        sizes, n, codes = np.diff(offsets), self.n_codes_, codes.astype(np.int64)
        owner = np.repeat(np.arange(len(sizes)), sizes)
        at = (np.arange(len(codes)) - offsets[owner]) * self.columns
        width = max(self.longest_, int(sizes.max(initial=0))) * self.columns
        first, second, start = self._neighbours(offsets, at + n, width)
        if self.edges_ is not None:
            width += n * n * len(self.edges_)
        pair = start + codes[first] * n + codes[second]
        values = np.concatenate([np.ones(len(codes)), np.full(len(first), np.sqrt(self.weight))])
        places = np.concatenate([owner, owner[first]]), np.concatenate([at + codes, pair])
        return sparse.csr_array((values, places), shape=(len(sizes), width))

    def _neighbours(
        self, offsets: np.ndarray, behind: np.ndarray, width: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rows of neighbours, and the first of the columns of each two: behind the first one's, or all places'."""
        if self.edges_ is None:
            first = followed(offsets)
            return first, first + 1, behind[first]
        odd = np.flatnonzero(np.diff(offsets) != self.longest_)
        if len(odd):
            raise ValueError(
                f"y[{odd[0]}] has {np.diff(offsets)[odd[0]]} labels, and the graph has {self.longest_} nodes"
            )
        rows = offsets[:-1, None, None] + self.edges_
        start = width + np.arange(len(self.edges_)) * self.n_codes_**2
        return rows[..., 0].ravel(), rows[..., 1].ravel(), np.tile(start, len(offsets) - 1)

    def pre_images(self, votes: np.ndarray, X: Any = None) -> PreImages:
        """The best labels by the inference of the structure, for every row of votes."""
        votes, n = np.asarray(votes, float), self.n_codes_
        theta, offsets, gains = self._asked(votes[:, : self.longest_ * self.columns], X)
        if self.edges_ is None:
            pair, n_pairs = gains[followed(offsets), n:], np.maximum(np.diff(offsets) - 1, 0)
        else:
            self._edges_of(X)
            pair, n_pairs = votes[:, self.longest_ * n :], np.full(len(votes), len(self.edges_))
        pair = np.sqrt(self.weight) * pair.reshape(-1, n, n)
        cost = self.structure_.neighbour_cost(theta, gains[:, :n], pair)
        codes, best, bounds = self.structure_.bounded_best(theta, cost=cost)
        norms = np.diff(offsets) + self.weight * n_pairs
        return PreImages(self.decoded(codes, offsets), norms - 2.0 * best, norms - 2.0 * bounds, "inference")


def followed(offsets: np.ndarray) -> np.ndarray:
    """The rows of samples that another row follows.

    >>> followed(np.array([0, 2, 3, 6]))
    array([0, 3, 4])
    >>> followed(np.array([0, 0])), followed(np.array([0, 2, 2, 3]))
    (array([], dtype=int64), array([0]))
    """
    last = np.zeros(int(offsets[-1]), bool)
    last[offsets[1:][np.diff(offsets) > 0] - 1] = True
    return np.flatnonzero(~last)
