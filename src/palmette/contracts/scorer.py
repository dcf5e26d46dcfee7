"""Potentials and scorers: the map, linear in the weights, from a batch to what inference reads."""

from __future__ import annotations

from typing import Any, Protocol, Self

import numpy as np


class Potentials(Protocol):
    """The numbers ``theta`` of a batch of N samples, and everything of their shape: counts, marginals, gradients.

    ``f(x, y) = <theta, count(y)>`` for every output y.
    """

    @property
    def offsets(self) -> np.ndarray:
        """Rows of the samples, int64 (N + 1,): sample i has the rows ``offsets[i]:offsets[i + 1]``."""

    def __len__(self) -> int:
        """Number of samples N."""

    def dot(self, other: Any) -> float:
        """Inner product with counts of the same shape."""

    def any(self) -> bool:
        """Whether any number is not 0."""

    def zeros(self) -> Self:
        """Zeros of the same shape."""

    def take(self, samples: np.ndarray) -> Self:
        """Those of the samples of these numbers, in their order."""


class Scorer(Protocol):
    """A linear map from weights of shape (P,) to the potentials of a batch, and its adjoint.

    ``<score(w, batch), counts> = <w, pull_back(counts, batch)>`` for all weights and counts.
    """

    @property
    def n_params(self) -> int:
        """Number of weights P."""

    @property
    def n_labels(self) -> int:
        """Number of labels."""

    @property
    def has_edges(self) -> bool:
        """Whether there are weights for label pairs."""

    @property
    def blocks(self) -> dict[str, slice]:
        """Where the weights of each kind stand, in their order; ``"node"`` is one of them."""

    def score(self, w: np.ndarray, batch: Any) -> Any:
        """Potentials of a batch."""

    def pull_back(self, counts: Any, batch: Any, out: np.ndarray) -> None:
        """Add the adjoint of counts to ``out`` of shape (P,)."""

    def carry_over(self, old: Any, w: np.ndarray, labels: np.ndarray, columns: Any = None) -> np.ndarray:
        """The weights of an earlier layout in this one, for warm starts; new weights are 0."""

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Header (JSON values) and arrays for a model file; ``from_state(header, arrays)`` is the inverse."""

    def check(self) -> None:
        """Raise ValueError unless every index stays within its array: scorers come from files, too."""
