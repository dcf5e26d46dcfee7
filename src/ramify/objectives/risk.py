"""The data term of every objective: a surrogate summed over training samples, in shards."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ramify.data.batch import Batch
from ramify.executors.threads import ThreadExecutor
from ramify.structures.base import require

MAX_SHARDS = 8  # gradient slots; fixed, so that sums never depend on the number of threads
ROWS_A_SHARD = 4096  # fewer rows are not worth a thread
ROWS_A_BLOCK = 4096  # rows scored and inferred at once: their tables stay in the cache


class Samples(NamedTuple):
    """Encoded training samples: inputs, true outputs (codes a row) and weights (one a sample)."""

    batch: Batch
    codes: np.ndarray
    weight: np.ndarray

    def slice(self, start: int, stop: int) -> Samples:
        """Samples ``start:stop`` as views."""
        lo, hi = self.batch.offsets[start], self.batch.offsets[stop]
        return Samples(self.batch.slice(start, stop), self.codes[lo:hi], self.weight[start:stop])


def cut(offsets: np.ndarray, n_pieces: int) -> list[tuple[int, int]]:
    """Cut samples into runs of about equally many rows; no run is empty.

    >>> cut(np.array([0, 5, 6, 7, 12]), 2)
    [(0, 2), (2, 4)]
    """
    n = len(offsets) - 1
    wanted = offsets[0] + (offsets[-1] - offsets[0]) * np.arange(1, n_pieces) / n_pieces
    inner = np.searchsorted(offsets[:-1], wanted)
    bounds = np.unique(np.concatenate([[0], inner, [n]]))
    return [(int(a), int(b)) for a, b in zip(bounds[:-1], bounds[1:])]


class Risk:
    """``sum_i weight_i loss_i(w)`` with its gradient: what solvers see of data, structure and surrogate.

    Parameters
    ----------
    structure, scorer, surrogate
        The three parts of a loss: what an output is, how it is scored, what is minimised.
    samples : Samples
    regularizer : ElasticNet
        Kept beside the data term; solvers treat it on their own.
    executor : ThreadExecutor
    """

    def __init__(
        self, structure: Any, scorer: Any, surrogate: Any, samples: Samples, regularizer: Any,
        executor: ThreadExecutor,
    ) -> None:  # fmt: skip
        name = type(surrogate).__name__
        require(
            structure,
            surrogate.needs,
            user=name,
            remedy="Choose a learner that needs only best(), such as SSVM.",
        )
        self.structure, self.scorer, self.surrogate = structure, scorer, surrogate
        self.samples, self.regularizer, self.executor = samples, regularizer, executor
        n_rows = samples.batch.n_rows
        shards = cut(samples.batch.offsets, int(np.clip(n_rows // ROWS_A_SHARD, 1, MAX_SHARDS)))
        self._shards = [self._blocks(samples.slice(a, b)) for a, b in shards]
        self._slots = [np.empty(self.n_params) for _ in self._shards]

    @property
    def n_params(self) -> int:
        """Length of the weight vector."""
        return self.scorer.n_params

    @property
    def n_samples(self) -> int:
        """Number of training samples."""
        return len(self.samples.weight)

    @property
    def smooth(self) -> bool:
        """Whether the data term is differentiable."""
        return self.surrogate.smooth

    @staticmethod
    def _blocks(shard: Samples) -> list[Samples]:
        pieces = cut(shard.batch.offsets, max(1, shard.batch.n_rows // ROWS_A_BLOCK))
        return [shard.slice(a, b) for a, b in pieces]

    def loss(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and (sub)gradient of the data term at ``w``."""
        values = self.executor.map(lambda i: self._shard_loss(i, w), range(len(self._shards)))
        gradient = self._slots[0].copy()
        for slot in self._slots[1:]:
            gradient += slot
        return float(np.sum(values)), gradient

    def _shard_loss(self, i: int, w: np.ndarray) -> float:
        slot = self._slots[i]
        slot[:] = 0.0
        total = 0.0
        for block in self._shards[i]:
            theta = self.scorer.score(w, block.batch)
            values, counts = self.surrogate.evaluate(self.structure, theta, block.codes, block.weight)
            self.scorer.pull_back(counts, block.batch, slot)
            total += float(values @ block.weight)
        return total

    def sample_loss(self, i: int, w: np.ndarray) -> tuple[float, Any, Batch]:
        """One sample: its unweighted value, its weighted gradient in theta's shape, and its inputs."""
        one = self.samples.slice(i, i + 1)
        theta = self.scorer.score(w, one.batch)
        values, counts = self.surrogate.evaluate(self.structure, theta, one.codes, one.weight)
        return float(values[0]), counts, one.batch
