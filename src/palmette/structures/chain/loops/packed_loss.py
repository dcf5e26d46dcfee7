"""The log loss of packed chains, in shards."""

from __future__ import annotations

from typing import Any

import numpy as np

from palmette.executors.threads import ThreadExecutor
from palmette.objectives.shards import ROWS_A_SHARD, cut
from palmette.structures.chain.loops.packed import PackedChains

SLOT_MEMORY = 64e6  # bytes of gradient slots, of which there are 2 to 8
MAX_SHARDS = 8


class PackedLogLoss:
    """``sum_i weight_i loss_i(w)`` of the log loss and its gradient, by the compiled pass over packed chains.

    The number of shards depends on the data alone, so that sums never depend on the number of threads.
    """

    def __init__(self, chains: PackedChains, codes: np.ndarray, weight: np.ndarray) -> None:
        self.chains, self.codes, self.weight = chains, codes, weight
        slot_size = sum(part.nbytes for part in chains.zeros())
        most = int(np.clip(SLOT_MEMORY // slot_size, 2, MAX_SHARDS))
        self._shards = cut(chains.offsets, int(np.clip(chains.offsets[-1] // ROWS_A_SHARD, 1, most)))
        self._slots: list[Any] = []

    def value(self, w: np.ndarray, executor: ThreadExecutor) -> tuple[float, np.ndarray]:
        """The value alone, in a fraction of the time and memory, and the samples left out of it."""
        from palmette.structures.chain.kernels.packed_loss import log_loss_value

        chains = self.chains
        packed = chains.pack_weights(w)
        factor, transposed, shift = chains.edge_factors(packed)
        failed = np.zeros(len(self.weight), bool)
        values = executor.map(
            lambda shard: log_loss_value(
                chains.inputs, packed, chains.base, factor, transposed, shift, chains.offsets, self.codes, self.weight,
                *shard, chains.n_labels, chains.width, failed,
            ),
            self._shards,
        )  # fmt: skip
        return float(np.sum(values)), np.flatnonzero(failed)

    def __call__(self, w: np.ndarray, executor: ThreadExecutor) -> tuple[float, np.ndarray, np.ndarray]:
        """Value, gradient, and the samples left out of both because their numbers leave the range."""
        from palmette.structures.chain.kernels.packed_loss import log_loss_pass

        chains = self.chains
        packed = chains.pack_weights(w)
        factor, transposed, shift = chains.edge_factors(packed)
        failed = np.zeros(len(self.weight), bool)
        if not self._slots:
            self._slots = [chains.zeros() for _ in self._shards]

        def one(i: int) -> float:
            first, last = self._shards[i]
            for part in self._slots[i]:
                part.fill(0.0)
            return log_loss_pass(
                chains.inputs, packed, chains.base, factor, transposed, shift, chains.offsets, self.codes, self.weight,
                first, last, chains.n_labels, chains.width, self._slots[i], failed, chains.edge_features,
            )  # fmt: skip

        values = executor.map(one, range(len(self._shards)))
        gradient = np.zeros(chains.scorer.n_params)
        plain = chains.edge_features is None
        for slot in self._slots:
            if plain:
                np.multiply(slot.edge, factor[: len(slot.edge)], out=slot.edge)
            chains.unpack(slot, gradient)
        if plain:
            self._subtract_true_pairs(gradient, failed)
        return float(np.sum(values)), gradient, np.flatnonzero(failed)

    def _subtract_true_pairs(self, gradient: np.ndarray, failed: np.ndarray) -> None:
        chains = self.chains
        if not len(chains.edge_weight):
            return
        if failed.any() or not hasattr(self, "_true_pairs"):
            pairs = true_pairs(chains, self.codes, np.where(failed, 0.0, self.weight))
            if not failed.any():
                self._true_pairs = pairs
        else:
            pairs = self._true_pairs
        gradient[chains.edge_weight] -= pairs[chains.edge_pair]


def true_pairs(chains: PackedChains, codes: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """How often each label pair stands in the training data, weighted; flat, ``n_labels^2`` numbers."""
    k = chains.n_labels
    inner = np.ones(len(codes), bool)
    inner[chains.offsets[:-1]] = False
    right = np.flatnonzero(inner)
    keys = codes[right - 1].astype(np.int64) * k + codes[right]
    shares = np.repeat(weight, np.maximum(np.diff(chains.offsets) - 1, 0))
    return np.bincount(keys, shares, k * k)
