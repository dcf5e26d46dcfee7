"""Label sequences whose kernel counts labels and pairs of neighbours: pre-images are best paths."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from palmette.errors import MissingCapability
from palmette.outputs.base import PreImages
from palmette.outputs.structured import PositionOutputs
from palmette.registry import register


@register("output")
class NeighbourOutputs(PositionOutputs):
    r"""Label sequences, compared place by place: common labels, and common pairs of neighbouring labels.

    ``K(y, y') = sum_t [y_t = y'_t] + weight sum_t [y_t = y'_t and y_{t+1} = y'_{t+1}]``. A regression of single labels
    predicts each place for itself; with pairs the prediction has neighbours that go together.
    ``K(y, y) - 2 <psi(y), v>`` is a sum over places and neighbours, whose best path the structure finds, among the
    sequences that it allows.

    Parameters
    ----------
    structure : Structure
        Of label sequences, such as :class:`~palmette.Chain`.
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

    kept: ClassVar[tuple[str, ...]] = (*PositionOutputs.kept, "weight")

    def __init__(self, structure: Any, weight: float = 1.0) -> None:
        self.structure = structure
        self.weight = weight

    task_loss = None  # of positions: a function is given beside the space

    def learn(self, sizes: np.ndarray) -> None:
        """Check that the structure looks at neighbours, and the weight."""
        name, weight = type(self.structure).__name__, self.weight
        number = isinstance(weight, float | int | np.number) and not isinstance(weight, bool)
        if not number or not 0.0 < weight < np.inf:
            raise ValueError(f"NeighbourOutputs: weight must be a finite number above 0, got {weight!r}")
        if not self.structure_.can("neighbour_cost") or self.structure_.layout == "items":
            raise MissingCapability(
                "NeighbourOutputs needs label sequences with costs of neighbours (neighbour_cost), such as Chain(): "
                f"{name} has none; take PositionOutputs, which counts single labels"
            )
        super().learn(sizes)

    @property
    def columns(self) -> int:
        """Of each place its code, and the codes of it and the next one."""
        return self.n_codes_ + self.n_codes_**2

    def code_features(self, codes: np.ndarray, offsets: np.ndarray) -> sparse.csr_array:
        """Indicators of (place, code) and, times a root of the weight, of (place, code, next code)."""
        sizes, n = np.diff(offsets), self.n_codes_
        owner = np.repeat(np.arange(len(sizes)), sizes)
        at = (np.arange(len(codes)) - offsets[owner]) * self.columns
        first = followed(offsets)
        pair = at[first] + n + codes[first].astype(np.int64) * n + codes[first + 1]
        values = np.concatenate([np.ones(len(codes)), np.full(len(first), np.sqrt(self.weight))])
        places = np.concatenate([owner, owner[first]]), np.concatenate([at + codes, pair])
        width = max(self.longest_, int(sizes.max(initial=0))) * self.columns
        return sparse.csr_array((values, places), shape=(len(sizes), width))

    def pre_images(self, votes: np.ndarray, X: Any = None) -> PreImages:
        """The best path of the structure for every row of votes."""
        theta, offsets, gains = self._asked(np.asarray(votes, float), X)
        n, sizes = self.n_codes_, np.diff(offsets)
        pair = np.sqrt(self.weight) * gains[followed(offsets), n:].reshape(-1, n, n)
        cost = self.structure_.neighbour_cost(theta, gains[:, :n], pair)
        codes, best, bounds = self.structure_.bounded_best(theta, cost=cost)
        norms = sizes + self.weight * np.maximum(sizes - 1, 0)
        return PreImages(self.decoded(codes, offsets), norms - 2.0 * best, norms - 2.0 * bounds, "inference")


def followed(offsets: np.ndarray) -> np.ndarray:
    """The rows of samples that another row follows.

    >>> followed(np.array([0, 2, 3, 6]))
    array([0, 3, 4])
    """
    last = np.zeros(int(offsets[-1]), bool)
    last[offsets[1:] - 1] = True
    return np.flatnonzero(~last)
