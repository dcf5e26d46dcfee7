"""The log loss of packed chains, in shards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from palmette.contracts.executor import State, summed
from palmette.contracts.problem import SampledProblem
from palmette.data.batch import SparseRows
from palmette.executors.shards import MAX_SHARDS, ROWS_A_SHARD, cut
from palmette.loops.table import CompiledLoop, compiled_as
from palmette.structures.chain.loops.packed import PackedChains, packed, packs, packs_plain

if TYPE_CHECKING:
    from palmette.contracts.structure import Structure
    from palmette.structures.chain.kernels.packed import Weights

Factors = tuple[np.ndarray, np.ndarray, float]  # of transitions, as ``PackedChains.edge_factors`` gives them
SLOT_MEMORY = 64e6  # bytes of gradients of shards, of which there are 2 to 8


class PackedShard(NamedTuple):
    """A run of packed chains; the samples themselves for those whose numbers leave the range of scaled products."""

    structure: Structure
    surrogate: Any
    chains: PackedChains
    samples: Any


class PackedLogLoss(CompiledLoop):
    """``sum_i weight_i loss_i(w)`` of the log loss and its gradient, by the compiled pass over packed chains.

    The number of shards depends on the data alone, so that sums never depend on the number of threads. They are placed
    once.
    """

    @classmethod
    def accepts(cls, problem: SampledProblem) -> bool:
        """The log loss of chains with sparse features; that of partial annotation without features of edges."""
        sparse = isinstance(problem.samples.batch.rows, SparseRows)
        kind = compiled_as(problem.surrogate)
        return sparse and (
            packs(problem) if kind == "log" else kind == "marginal log" and packs_plain(problem)
        )

    def __init__(self, problem: SampledProblem) -> None:
        self.chains, self.executor, placed = packed(problem, float), problem.executor, problem.placed
        if "packed" not in placed:
            chains, parts = self.chains, (problem.structure, problem.surrogate)
            slot_size = sum(part.nbytes for part in chains.zeros())
            most = int(np.clip(SLOT_MEMORY // slot_size, 2, MAX_SHARDS))
            cuts = cut(chains.offsets, int(np.clip(chains.offsets[-1] // ROWS_A_SHARD, 1, most)))
            shards = [PackedShard(*parts, chains.slice(a, b), problem.samples.slice(a, b)) for a, b in cuts]
            placed["packed"] = self.executor.place(shards)
        self.placed, self.partial = placed["packed"], problem.samples.annotation is not None

    def value(self, w: np.ndarray) -> float:
        """The value alone, in a fraction of the time and memory without edge features."""
        if self.chains.edge_features or self.partial:
            return self.loss(w)[0]
        weights = self.chains.pack_weights(w)
        return self.executor.fold(value_of, self.placed, weights, self.chains.edge_factors(weights))

    def passes(self, w: np.ndarray) -> list[tuple[float, Weights, np.ndarray | None]]:
        """Of every shard the value, the packed gradient, and the gradient of samples that are out of range."""
        weights = self.chains.pack_weights(w)
        return self.executor.run(value_and_gradient, self.placed, weights, self.chains.edge_factors(weights))

    def loss(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and gradient."""
        gradient = np.zeros(self.chains.scorer.n_params)
        found = self.passes(w)
        for _, slot, others in found:
            self.chains.unpack(slot, gradient)
            if others is not None:
                gradient += others
        return summed([value for value, *_ in found]), gradient


def value_of(shard: PackedShard, state: State, weights: Weights, factors: Factors) -> float:
    """The value of a shard."""
    from palmette.structures.chain.kernels.packed_loss import log_loss_value

    (factor, _, shift), failed = factors, np.zeros(len(shard.samples.weight), bool)
    room = shard.chains.rows_of_longest(2)
    value = log_loss_value(shard.chains.view(shard.samples), weights, factor, shift, *room, failed)
    return value + _out_of_range(shard, weights, failed)[0]


def value_and_gradient(
    shard: PackedShard, state: State, weights: Weights, factors: Factors
) -> tuple[float, Weights, np.ndarray | None]:
    """The value of a shard, its packed gradient, and the gradient of samples that are out of range, if any."""
    from palmette.structures.chain.kernels.packed_loss import log_loss_pass, marginal_loss_pass

    chains = shard.chains
    if "slot" not in state:
        state["slot"] = chains.zeros()
    slot = state["slot"]
    for part in slot:
        part.fill(0.0)
    failed = np.zeros(len(shard.samples.weight), bool)
    partial = shard.samples.annotation is not None
    if partial:
        if "limits" not in state:
            state["limits"] = chains.limits(shard.samples.annotation)
        value = marginal_loss_pass(
            chains.view(shard.samples), state["limits"], weights, *factors, slot, failed
        )
    else:
        value = log_loss_pass(
            chains.view(shard.samples), weights, *factors, *chains.rows_of_longest(3), slot, failed,
            chains.edge_features,
        )  # fmt: skip
    if chains.edge_features is None:
        np.multiply(slot.edge, factors[0][: len(slot.edge)], out=slot.edge)
        if not partial:
            _subtract_true_pairs(shard, state, slot.edge, failed)
    more, others = _out_of_range(shard, weights, failed)
    return value + more, slot, others


def _out_of_range(
    shard: PackedShard, weights: Weights, failed: np.ndarray
) -> tuple[float, np.ndarray | None]:
    """Value and gradient, in log space, of samples whose numbers leave the range of scaled products."""
    if not failed.any():
        return 0.0, None
    scorer, w = shard.chains.scorer, shard.chains.unpack(weights)
    value, gradient = 0.0, np.zeros(scorer.n_params)
    for i in np.flatnonzero(failed):
        one = shard.samples.slice(i, i + 1)
        found = shard.surrogate.evaluate(shard.structure, scorer.score(w, one.batch), one.truth, one.weight)
        scorer.pull_back(found.counts, one.batch, gradient)
        value += float(found.values @ one.weight)
    return value, gradient


def _subtract_true_pairs(shard: PackedShard, state: State, edge: np.ndarray, failed: np.ndarray) -> None:
    chains, samples = shard.chains, shard.samples
    if not len(chains.edge_weight):
        return
    if failed.any():
        pairs = true_pairs(chains, samples.codes, np.where(failed, 0.0, samples.weight))
    elif "pairs" in state:
        pairs = state["pairs"]
    else:
        pairs = state["pairs"] = true_pairs(chains, samples.codes, samples.weight)
    edge[chains.edge_position] -= pairs[chains.edge_pair]


def true_pairs(chains: PackedChains, codes: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """How often each label pair stands in the training data, weighted; flat, ``n_labels^2`` numbers."""
    k = chains.n_labels
    inner = np.ones(len(codes), bool)
    inner[chains.offsets[:-1]] = False
    right = np.flatnonzero(inner)
    keys = codes[right - 1].astype(np.int64) * k + codes[right]
    shares = np.repeat(weight, np.maximum(np.diff(chains.offsets) - 1, 0))
    return np.bincount(keys, shares, k * k)
