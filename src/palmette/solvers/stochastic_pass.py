"""One pass of stochastic steps over the samples: a compiled loop where there is one, a generic driver elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from palmette.errors import MissingCapability
from palmette.executors.choose import require_shared_memory
from palmette.losses.hamming import PartsLoss
from palmette.structures.chain.loops.packed import PackedChains
from palmette.surrogates.hinge import Hinge
from palmette.surrogates.log import LogLoss
from palmette.surrogates.perceptron import PerceptronLoss

if TYPE_CHECKING:
    from palmette.structures.chain.kernels.packed import Weights

VECTORS = ("w", "squares", "drift")
SHARDS = 4  # of "sharded" passes; fixed, so that they never depend on the number of threads
PARALLEL = (None, "sharded", "lock_free")
DTYPES = {"single": np.float32, "double": np.float64}


@dataclass
class PassState:
    """Weights and what goes with them from step to step; plain data, so that a run can be resumed.

    ``drift`` holds ``sum_s age_s change_s``: the average of the weights since the average was restarted is
    ``w - drift / age``, although each step touches only some weights.
    """

    w: np.ndarray
    squares: np.ndarray
    drift: np.ndarray
    rate: float
    decay: float
    adaptive: bool
    dtype: type = np.float64  # of the compiled loops
    n_steps: int = 0
    age: int = 0
    epoch: int = 0

    @classmethod
    def new(
        cls,
        problem: Any,
        w0: np.ndarray | None,
        *,
        adaptive: bool,
        rate: float = 1.0,
        dtype: type = np.float64,
    ) -> PassState:
        """Start at ``w0`` (zero by default)."""
        w = np.zeros(problem.n_params) if w0 is None else np.array(w0, float)
        return cls(w, np.zeros_like(w), np.zeros_like(w), rate, 0.0, adaptive, dtype)

    def copy(self) -> PassState:
        """An independent copy."""
        arrays = {f.name: getattr(self, f.name).copy() for f in fields(self) if f.name in VECTORS}
        return replace(self, **arrays)

    def restart_average(self) -> None:
        """Average from the present weights on."""
        self.drift[:] = 0.0
        self.age = 0

    def weights(self, averaged: bool) -> np.ndarray:
        """The present or the averaged weights."""
        return self.w - self.drift / self.age if averaged and self.age else self.w.copy()


def check_choices(solver: Any) -> None:
    """Refuse a precision or a kind of parallelism that does not exist."""
    for name, choices in (("parallel", PARALLEL), ("precision", tuple(DTYPES))):
        value = getattr(solver, name)
        if value not in choices:
            raise ValueError(f"{type(solver).__name__}: {name} must be one of {choices}, got {value!r}")


def is_fused(problem: Any) -> bool:
    """Whether the compiled loops for chains serve this problem, of exactly the classes they were written for."""
    loss = getattr(problem.surrogate, "task_loss", None)
    return (
        problem.can_pack
        and type(problem.surrogate) in (LogLoss, Hinge, PerceptronLoss)
        and (loss is None or type(loss) is PartsLoss)
    )


def has_even_penalties(problem: Any) -> bool:
    """Whether the weights of a block have the same strengths, as the compiled loop takes for granted."""
    reg = problem.regularizer
    parts = [part[block] for block in problem.scorer.blocks.values() for part in (reg.l2, reg.l1)]
    return all(bool(np.all(part == part[0])) for part in parts if len(part))


def loss_table(problem: Any) -> np.ndarray:
    """Cost of each confusion, zero where the surrogate has no task loss."""
    loss = getattr(problem.surrogate, "task_loss", None)
    n = problem.scorer.n_labels
    return np.zeros((n, n)) if loss is None else loss.table


def stochastic_pass(
    problem: Any, state: PassState, order: np.ndarray, parallel: str | None = None
) -> tuple[float, int]:
    """Take one step on each sample of ``order``, where the samples are.

    Returns the sum of the samples' values, each before its step, and the number of samples that called for one.
    """
    if parallel == "lock_free":
        require_shared_memory(problem.executor, "parallel='lock_free'", "use parallel='sharded'")
    after, value, n_updates = problem.in_sequence(pass_here, state, np.asarray(order, np.int64), parallel)
    vars(state).update(vars(after))
    return value, n_updates


def pass_here(
    problem: Any, _: Any, state: PassState, order: np.ndarray, parallel: str | None
) -> tuple[PassState, float, int]:
    """One step on each sample of ``order``: where they lead, the sum of values and the number of steps taken."""
    if parallel is not None:
        state = replace(state)
        return state, *parallel_pass(problem, state, order, parallel)
    fused = is_fused(problem) and has_even_penalties(problem)
    state = replace(state) if fused else state.copy()  # compiled loops change packed copies
    value, n_updates = (fused_pass if fused else generic_pass)(problem, state, order)
    state.n_steps += len(order)
    state.age += len(order)
    return state, value, n_updates


# -- compiled ---------------------------------------------------------------------------------------------------


def fused_pass(problem: Any, state: PassState, order: np.ndarray) -> tuple[float, int]:
    """The compiled loop over packed chains."""
    chains = problem.pack(state.dtype)
    packed = _packed_vectors(chains, state)
    outcome = packed_loop(problem, state, chains)(order, *packed)
    for name, part in zip(VECTORS, packed):
        setattr(state, name, chains.unpack(part))
    return outcome


def _packed_vectors(chains: PackedChains, state: PassState) -> list[Weights]:
    """The weights of a state and what goes with each, packed."""
    first, *rest = (getattr(state, name) for name in VECTORS)
    return [chains.pack_weights(first), *map(chains.pack, rest)]


def packed_loop(problem: Any, state: PassState, chains: PackedChains) -> Callable[..., tuple[float, int]]:
    """The loop as a function of the order and of the packed weights, squares and drift, which it changes in place;
    ``done`` steps have been taken since ``state``."""
    from palmette.structures.chain.kernels import packed_steps as kernels

    samples, reg = problem.samples, problem.regularizer
    offsets, codes, weight = samples.batch.offsets, samples.codes, samples.weight
    size = chains.n_labels, chains.width
    plain = (
        not reg.l2.any()
        and not reg.has_l1
        and not state.adaptive
        and state.rate == 1.0
        and state.decay == 0.0
    )
    if plain and type(problem.surrogate) is PerceptronLoss:
        from palmette.structures.chain.kernels.packed_perceptron import perceptron_pass

        return lambda order, w, squares, drift, done=0: perceptron_pass(
            chains.inputs, w, drift, chains.base, chains.mask, chains.edge_mask, offsets, codes, weight, order, *size,
            state.age + done, chains.edge_features,
        )  # fmt: skip
    kinds = {LogLoss: kernels.LOG, Hinge: kernels.HINGE, PerceptronLoss: kernels.PERCEPTRON}
    cost = np.zeros((chains.n_labels, chains.width), chains.dtype)
    cost[:, : chains.n_labels] = loss_table(problem)
    share = 1.0 / np.maximum(touch_counts(problem), 1.0)
    l2, l1 = chains.per_row(share * reg.l2), chains.per_row(share * reg.l1)
    return lambda order, w, squares, drift, done=0: kernels.stochastic_pass(
        kinds[type(problem.surrogate)], chains.inputs, w, squares, drift, l2, l1, chains.base, chains.mask,
        chains.edge_mask, offsets, codes, weight, cost.ravel(), order, *size, state.rate, state.decay, state.adaptive,
        state.n_steps + done, state.age + done, chains.edge_features,
    )  # fmt: skip


def parallel_pass(problem: Any, state: PassState, order: np.ndarray, mode: str) -> tuple[float, int]:
    """The compiled loop on several threads.

    ``"lock_free"``: all threads change the same weights, without locks; the outcome depends on their timing.
    ``"sharded"``: always ``SHARDS`` parts of the order start from the same weights, which are averaged at the end;
    the outcome does not depend on the number of threads.
    """
    if not is_fused(problem):
        raise MissingCapability(
            f"parallel={mode!r} needs the compiled loop, which {type(problem.structure).__name__} with these features "
            "does not have: use parallel=None"
        )
    chains = problem.pack(state.dtype)
    start = _packed_vectors(chains, state)
    run = packed_loop(problem, state, chains)
    if mode == "lock_free":
        parts = np.array_split(order, problem.executor.threads)
        first = np.cumsum([0] + [len(part) for part in parts])
        work = [(part, *start, int(done)) for part, done in zip(parts, first)]
        packed, steps = start, len(order)
    else:
        parts = np.array_split(order, SHARDS)
        own = [[type(part)(*(table.copy() for table in part)) for part in start] for _ in parts]
        work = [(part, *vectors, 0) for part, vectors in zip(parts, own)]
        packed, steps = start, len(parts[0])
    found = problem.executor.run(_run_part, problem.executor.place(work), run)
    if mode == "sharded":
        for name, whole, shards in zip(VECTORS, start, zip(*own)):
            for k, table in enumerate(whole):
                gain = sum(shard[k] - table for shard in shards)
                table += gain if name == "squares" else gain / SHARDS
    for name, part in zip(VECTORS, packed):
        setattr(state, name, chains.unpack(part))
    state.n_steps += steps
    state.age += steps
    return float(sum(value for value, _ in found)), int(sum(n for _, n in found))


def _run_part(part: tuple, _: Any, run: Callable[..., tuple[float, int]]) -> tuple[float, int]:
    return run(*part)


def touch_counts(problem: Any) -> np.ndarray:
    """For every weight the number of samples that touch it."""
    samples, scorer = problem.samples, problem.scorer
    if not is_fused(problem):
        count = np.zeros(problem.n_params)
        for i in range(problem.n_samples):
            count[scorer.touched(samples.batch.slice(i, i + 1))] += 1
        return count
    from palmette.structures.chain.kernels.packed_steps import count_touches

    chains = problem.pack(None)
    rows, singles = np.zeros(chains.n_rows), np.zeros(chains.n_single)
    edge_ptr = chains.inputs.edge_ptr
    edges = np.zeros(max(len(edge_ptr) - 1, 0))
    count_touches(chains.inputs, samples.batch.offsets, rows, singles, edges)
    count = np.full(problem.n_params, float(problem.n_samples))
    count[chains.row_weight] = rows[chains.row_position // chains.width]
    count[chains.single_weight] = singles
    if len(edges):
        count[chains.feature_weight] = np.repeat(edges, np.diff(edge_ptr))
    return count


# -- generic ----------------------------------------------------------------------------------------------------


def generic_pass(problem: Any, state: PassState, order: np.ndarray) -> tuple[float, int]:
    """The same steps through one-sample shards, for structures without a compiled loop."""
    total, n_updates = 0.0, 0
    l2, l1 = problem.regularizer.l2, problem.regularizer.l1
    penalised = bool(l2.any() or l1.any())
    touch_count = (
        touch_counts(problem) if penalised else np.ones(problem.n_params)
    )  # only penalties are shared out
    gradient = np.zeros(problem.n_params)
    for turn, i in enumerate(order):
        value, counts, batch = problem.sample_loss(int(i), state.w)
        total += problem.samples.weight[i] * value
        problem.scorer.pull_back(counts, batch, gradient)
        n_updates += counts.any()
        at = problem.scorer.touched(batch)
        share = 1.0 / touch_count[at]
        step = gradient[at] + share * l2[at] * state.w[at]
        gradient[at] = 0.0
        pace = np.full(len(at), state.rate / (1.0 + state.decay * (state.n_steps + turn)))
        if state.adaptive:
            state.squares[at] += step * step
            pace = np.divide(
                pace, np.sqrt(state.squares[at]), out=np.zeros_like(pace), where=state.squares[at] > 0
            )
        fresh = state.w[at] - pace * step
        fresh = np.sign(fresh) * np.maximum(np.abs(fresh) - pace * share * l1[at], 0.0)
        state.drift[at] += (state.age + turn) * (fresh - state.w[at])
        state.w[at] = fresh
    return total, n_updates
