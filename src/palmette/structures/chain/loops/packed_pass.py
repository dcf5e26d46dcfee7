"""Stochastic steps on packed chains, on one thread or on several."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from palmette.contracts.problem import SampledProblem
from palmette.loops.stochastic_pass import GATHERED_EDGES, VECTORS, PassState, settles
from palmette.loops.table import CompiledLoop, compiled_as
from palmette.structures.chain.loops.packed import PackedChains, are_even, cost_table, packed, packs

if TYPE_CHECKING:
    from palmette.structures.chain.kernels.packed import Weights

SHARDS = 4  # of "sharded" passes; fixed, so that they never depend on the number of threads


class PackedPass(CompiledLoop):
    """The compiled loop over packed chains, with or without edge features."""

    @classmethod
    def accepts(cls, problem: SampledProblem) -> bool:
        """Log, hinge and perceptron loss, a table of costs, and one penalty for all weights of a column."""
        surrogate = problem.surrogate
        known = compiled_as(surrogate) in ("log", "perceptron") or (
            compiled_as(surrogate) == "hinge" and compiled_as(surrogate.task_loss) == "parts"
        )
        if compiled_as(surrogate) == "partial perceptron":
            known = not (problem.regularizer.l2.any() or problem.regularizer.has_l1)
        return known and packs(problem) and are_even(problem)

    def run(self, state: PassState, order: np.ndarray) -> tuple[float, int]:
        """A step on each sample of ``order``: the sum of their values before, and how many called for a step."""
        chains = packed(self.problem, state.dtype)
        vectors = _packed_vectors(chains, state)
        found = self._loop(state, chains)(order, *vectors)
        _unpack(chains, vectors, state)
        return found

    def run_parallel(self, state: PassState, order: np.ndarray, mode: str) -> tuple[float, int, int]:
        """The same on several threads; and the number of steps that one sequence of them has taken.

        ``"lock_free"``: all threads change the same weights, without locks; the outcome depends on their timing.
        ``"sharded"``: always ``SHARDS`` parts of the order start from the same weights, which are averaged at the end;
        the outcome does not depend on the number of threads.
        """
        executor, chains = self.problem.executor, packed(self.problem, state.dtype)
        vectors = _packed_vectors(chains, state)
        if mode == "lock_free":
            parts, n_steps = np.array_split(order, executor.threads), len(order)
            done = np.cumsum([0, *map(len, parts)])
            work: list[tuple[Any, ...]] = [(part, *vectors, int(before)) for part, before in zip(parts, done)]
        else:
            parts = np.array_split(order, SHARDS)
            n_steps = len(parts[0])
            work = [(part, *(type(v)(*(table.copy() for table in v)) for v in vectors), 0) for part in parts]
        found = executor.run(_run_part, executor.place(work), self._loop(state, chains))
        if mode == "sharded":
            for at, (name, whole) in enumerate(zip(VECTORS, vectors), 1):
                for k, table in enumerate(whole):
                    gain = sum(shard[at][k] - table for shard in work)
                    table += gain if name == "squares" else gain / SHARDS
        _unpack(chains, vectors, state)
        return float(sum(value for value, _ in found)), int(sum(n for _, n in found)), n_steps

    def _loop(self, state: PassState, chains: PackedChains) -> Callable[..., tuple[float, int]]:
        """The loop as a function of the order and of the packed weights, squares and drift, which it changes in place;
        ``done`` steps have been taken since ``state``."""
        from palmette.structures.chain.kernels import packed_steps as kernels

        reg, kind = self.problem.regularizer, compiled_as(self.problem.surrogate)
        data, masks = chains.view(self.problem.samples), (chains.mask, chains.edge_mask)
        free = not (reg.l2.any() or reg.has_l1 or state.adaptive or state.decay) and state.rate == 1.0
        if free and kind in ("perceptron", "partial perceptron"):
            from palmette.structures.chain.kernels.packed_perceptron import perceptron_pass

            limits = chains.limits(self.problem.samples.annotation)
            if limits is not None:
                data = data._replace(codes=data.codes.copy())  # where the loop notes the truth of a step
            return lambda order, w, squares, drift, done=0: perceptron_pass(
                data, w, drift, *masks, order, state.age + done, chains.edge_features, limits
            )
        rule = {"log": kernels.LOG, "hinge": kernels.HINGE, "perceptron": kernels.PERCEPTRON}[str(kind)]
        cost = cost_table(self.problem, chains)
        share = 1.0 / np.maximum(touch_counts(self.problem, chains), 1.0)
        l2, l1 = chains.per_row(share * reg.l2), chains.per_row(share * reg.l1)
        settled = settles(self.problem)
        return lambda order, w, squares, drift, done=0: kernels.stochastic_pass(
            rule, data, w, squares, drift, l2, l1, *masks, cost, order, state.rate, state.decay, state.adaptive,
            state.n_steps + done, state.age + done, chains.edge_features, settled, GATHERED_EDGES,
        )  # fmt: skip


def _packed_vectors(chains: PackedChains, state: PassState) -> list[Weights]:
    """The weights of a state and what goes with each, packed."""
    first, *rest = (getattr(state, name) for name in VECTORS)
    return [chains.pack_weights(first), *map(chains.pack, rest)]


def _unpack(chains: PackedChains, vectors: list[Weights], state: PassState) -> None:
    for name, part in zip(VECTORS, vectors):
        setattr(state, name, chains.unpack(part))


def _run_part(part: tuple[Any, ...], _: Any, run: Callable[..., tuple[float, int]]) -> tuple[float, int]:
    return run(*part)


def touch_counts(problem: SampledProblem, chains: PackedChains) -> np.ndarray:
    """For every weight the number of samples that touch it."""
    from palmette.structures.chain.kernels.packed_steps import count_touches

    rows, singles = np.zeros(chains.n_rows), np.zeros(chains.n_single)
    edge_ptr = chains.inputs.edge_ptr
    edges = np.zeros(max(len(edge_ptr) - 1, 0))
    count_touches(chains.inputs, problem.samples.batch.offsets, rows, singles, edges)
    count = np.full(problem.n_params, float(problem.n_samples))
    count[chains.row_weight] = rows[chains.row_position // chains.width]
    count[chains.single_weight] = singles
    if len(edges):
        count[chains.feature_weight] = np.repeat(edges, np.diff(edge_ptr))
    return count
