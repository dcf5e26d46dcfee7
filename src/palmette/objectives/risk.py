"""The data term of every objective: a surrogate summed over training samples, in shards."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from palmette.contracts.structure import require
from palmette.data.batch import Batch, SparseRows
from palmette.data.samples import Samples
from palmette.executors.threads import ThreadExecutor
from palmette.objectives.shards import ROWS_A_SHARD, cut
from palmette.structures.chain.loops.packed import PackedChains, can_pack
from palmette.structures.chain.loops.packed_loss import MAX_SHARDS, PackedLogLoss
from palmette.structures.positions.linear_scorer import LinearScorer
from palmette.surrogates.log import LogLoss

ROWS_A_BLOCK = 4096  # rows scored and inferred at once: their tables stay in the cache


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
    decomposition : Decomposition, optional
        Cuts the samples anew each epoch; sequential solvers take their steps on the pieces.
    """

    def __init__(
        self, structure: Any, scorer: Any, surrogate: Any, samples: Samples, regularizer: Any,
        executor: ThreadExecutor, decomposition: Any = None,
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
        self.decomposition = decomposition
        n_rows = samples.batch.n_rows
        shards = cut(samples.batch.offsets, int(np.clip(n_rows // ROWS_A_SHARD, 1, MAX_SHARDS)))
        self._shards = [self._blocks(samples.slice(a, b)) for a, b in shards]
        self._slots: list[np.ndarray] = []
        self._packed: PackedLogLoss | None = None
        self._chains: dict[np.dtype, PackedChains] = {}
        self._whole = samples.batch  # as it is before any decomposition

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

    @property
    def convex(self) -> bool:
        """Whether the data term is convex."""
        return self.surrogate.convex

    def with_surrogate(self, surrogate: Any) -> Risk:
        """The same samples under another loss."""
        other = copy.copy(self)
        require(self.structure, surrogate.needs, user=type(surrogate).__name__, remedy="Choose another loss.")
        other.surrogate, other._slots, other._packed = surrogate, [], None
        return other

    def _blocks(self, shard: Samples) -> list[Samples]:
        n_rows = min(getattr(self.scorer, "rows_a_block", ROWS_A_BLOCK), ROWS_A_BLOCK)
        pieces = cut(shard.batch.offsets, max(1, shard.batch.n_rows // n_rows))
        return [shard.slice(a, b) for a, b in pieces]

    @property
    def can_pack(self) -> bool:
        """Whether the compiled loops over packed chains serve this problem."""
        return can_pack(self.structure, self.scorer)

    def pack(self, dtype: Any = None) -> PackedChains:
        """The samples packed for the compiled loops, in this precision or in any that there is already."""
        there = next(iter(self._chains.values()), None)
        if there is None:
            there = PackedChains(
                self.scorer,
                self._whole,
                np.float64 if dtype is None else dtype,
                self.structure.rules,
            )
            self._chains[there.dtype] = there
        wanted = there.dtype if dtype is None else np.dtype(dtype)
        return self._chains.setdefault(wanted, there if wanted == there.dtype else there.astype(wanted))

    def in_pieces(self, offsets: np.ndarray, sample: np.ndarray) -> Risk:
        """The same problem on pieces of the samples: piece k has the rows ``offsets[k]:offsets[k + 1]`` of a sample."""
        pieces = copy.copy(self)
        batch = Batch(self.samples.batch.rows, offsets)
        pieces.samples = Samples(batch, self.samples.codes, self.samples.weight[sample])
        return pieces

    def with_batch(self, batch: Batch) -> Risk:
        """The same problem on other inputs of the same samples, for passes sample by sample."""
        other = copy.copy(self)
        other.samples = self.samples._replace(batch=batch)
        return other

    def loss(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and (sub)gradient of the data term at ``w``."""
        return self.bounded_loss(w)[:2]

    def bounded_loss(self, w: np.ndarray) -> tuple[float, np.ndarray, float]:
        """Value and (sub)gradient at ``w`` of what was found of the data term, which is at most value + slack there.

        The cut that they make is below the data term everywhere. The slack is 0 where maxima are exact; else
        :meth:`refine` may make it smaller.
        """
        return (*self._packed_loss(w), 0.0) if self._is_packed else self._generic_loss(w)

    def refine(self) -> bool:
        """Find maxima to a higher accuracy from now on; False if that is not possible."""
        return self.structure.refine()

    def value(self, w: np.ndarray) -> float:
        """Value of the data term at ``w``, without a gradient where that is cheaper."""
        plain = self._is_packed and type(self.scorer) is LinearScorer
        if not plain:
            return self.loss(w)[0]
        value, left_out = self._packed_sum().value(w, self.executor)
        return value + sum(self.samples.weight[i] * self.sample_loss(int(i), w)[0] for i in left_out)

    @property
    def _is_packed(self) -> bool:
        sparse = isinstance(self.samples.batch.rows, SparseRows)
        return sparse and type(self.surrogate) is LogLoss and self.can_pack

    def _packed_sum(self) -> PackedLogLoss:
        if self._packed is None:
            self._packed = PackedLogLoss(self.pack(float), self.samples.codes, self.samples.weight)
        return self._packed

    def _packed_loss(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient, left_out = self._packed_sum()(w, self.executor)
        for i in left_out:  # out of the range of scaled products: in log space
            own, counts, batch = self.sample_loss(int(i), w)
            value += self.samples.weight[i] * own
            self.scorer.pull_back(counts, batch, gradient)
        return value, gradient

    def _generic_loss(self, w: np.ndarray) -> tuple[float, np.ndarray, float]:
        if not self._slots:
            self._slots = [np.empty(self.n_params) for _ in self._shards]
        found = self.executor.map(lambda i: self._shard_loss(i, w), range(len(self._shards)))
        gradient = self._slots[0].copy()
        for slot in self._slots[1:]:
            gradient += slot
        value, slack = np.sum(found, axis=0).tolist()
        return value, gradient, slack

    def _shard_loss(self, i: int, w: np.ndarray) -> tuple[float, float]:
        slot = self._slots[i]
        slot[:] = 0.0
        value = slack = 0.0
        for block in self._shards[i]:
            theta = self.scorer.score(w, block.batch)
            found = self.surrogate.evaluate(self.structure, theta, block.codes, block.weight)
            self.scorer.pull_back(found.counts, block.batch, slot)
            value += float(found.values @ block.weight)
            slack += float(np.sum(found.slack * block.weight))
        return value, slack

    def best_codes(self, w: np.ndarray) -> np.ndarray:
        """Codes of the best outputs at ``w``, block by block as :meth:`loss` goes, so that ties fall alike."""
        found = [
            self.structure.best(self.scorer.score(w, block.batch)).codes
            for shard in self._shards
            for block in shard
        ]
        return np.concatenate(found)

    def sample_loss(self, i: int, w: np.ndarray) -> tuple[float, Any, Batch]:
        """One sample: its unweighted value, its weighted gradient in theta's shape, and its inputs."""
        one = self.samples.slice(i, i + 1)
        theta = self.scorer.score(w, one.batch)
        found = self.surrogate.evaluate(self.structure, theta, one.codes, one.weight)
        return float(found.values[0]), found.counts, one.batch
