"""Dual variables that are marginals, and the steps of sequential minimal optimisation on them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from palmette._kernels.constants import NOTHING, TIE
from palmette.contracts.problem import SampledProblem
from palmette.contracts.structure import require
from palmette.executors.shards import blocks
from palmette.loops.block_state import BlockState, SampleBlocks
from palmette.structures.chain.chain import Chain
from palmette.structures.chain.loops.hinge_blocks import PackedBlocks
from palmette.structures.positions.tables import ChainTables, Restriction


@dataclass(kw_only=True)
class Marginals(BlockState):
    """Marginals of the parts of every sample: of its nodes and its edges."""

    node: np.ndarray  # (rows, labels)
    pair: np.ndarray  # (edges, labels, labels)

    solver = "smo"

    @classmethod
    def at_truth(cls, problem: SampledProblem) -> Marginals:
        """All mass on the true labelings: ``w = 0``."""
        samples = problem.samples
        zero = cls.at_zero(problem)
        own = problem.scorer.score(zero["w"], samples.batch).per_edge()
        truth = problem.structure.count(own, samples.codes)
        return cls(node=truth.node, pair=truth.edge, **zero)

    def fits(self, problem: SampledProblem) -> bool:
        """Whether these variables belong to the samples of ``problem``."""
        return super().fits(problem) and self.node.shape == (
            len(problem.samples.codes),
            problem.scorer.n_labels,
        )


class ChainMarginals(SampleBlocks):
    """Steps through the answers of a structure whose outputs are labels of nodes with edges between neighbours."""

    variables = Marginals
    inner = 2  # pairs of labelings per visit

    @classmethod
    def accepts(cls, problem: SampledProblem) -> bool:
        """Chains of order 1, those of users too: their own answers are used."""
        structure = problem.structure
        chain = isinstance(structure, Chain) and structure.order == 1
        if chain:
            require(structure, ("worst",), user="smo", remedy="Use solver='frank_wolfe'.")
        return chain

    def __init__(self, problem: SampledProblem) -> None:
        super().__init__(problem)
        offsets = problem.samples.batch.offsets
        self._edge_at = offsets - np.arange(len(offsets))  # edges of the samples before

    def _visit(self, state: Marginals, s: int) -> None:
        problem = self.problem
        structure, scorer, task_loss = problem.structure, problem.scorer, problem.surrogate.task_loss
        one = problem.samples.slice(s, s + 1)
        rows = slice(problem.samples.batch.offsets[s], problem.samples.batch.offsets[s + 1])
        edges = slice(self._edge_at[s], self._edge_at[s + 1])
        node, pair = state.node[rows], state.pair[edges]
        weight = float(one.weight[0])
        for visit in range(self.inner):
            theta = scorer.score(state.w, one.batch)
            cost = task_loss.cost(theta, one.known)
            to, (top,) = structure.best(theta, cost=cost)
            within = Restriction(node=node > 0.0, edge=pair > 0.0 if len(pair) else None)
            fro, (low,) = structure.worst(theta, cost=cost, within=within)
            own = theta.per_edge()
            if visit == 0:
                mean = own.dot(ChainTables(node, pair, theta.offsets)) + float(np.sum(cost.node * node))
                state.gap[s] = weight * max(top - mean, 0.0)
            if not top - low > TIE * (1.0 + abs(top)):
                break
            gained, lost = structure.count(own, to), structure.count(own, fro)
            moved = [(node, gained.node - lost.node), (pair, gained.edge - lost.edge)]
            limit = min(float(mu[d < 0].min(initial=np.inf)) for mu, d in moved)
            counts = structure.count(theta, to, weight=one.weight)
            counts = structure.count(theta, fro, weight=-one.weight, into=counts)
            direction = np.zeros(problem.n_params)
            scorer.pull_back(counts, one.batch, direction)
            step = self._step(state, direction, weight * (top - low), limit)
            state.loss[s] += step * float(np.sum(cost.node * moved[0][1]))
            for mu, d in moved:
                mu += step * d
                mu[(d < 0) & (mu <= NOTHING)] = 0.0

    def refresh(self, state: Marginals) -> None:
        """Compute weights and losses from the marginals."""
        problem, total = self.problem, np.zeros(self.problem.n_params)
        structure, scorer, task_loss = problem.structure, problem.scorer, problem.surrogate.task_loss
        for a, b in blocks(problem.samples.batch):
            some, edges = problem.samples.slice(a, b), self._edge_at[a : b + 1]
            mean = state.node[slice(*problem.samples.batch.offsets[[a, b]])]
            theta = scorer.score(state.w, some.batch)
            node = np.repeat(some.weight, some.batch.lengths)[:, None] * mean
            pair = np.repeat(some.weight, np.diff(edges))[:, None, None] * state.pair[edges[0] : edges[-1]]
            counts = ChainTables(node, pair, theta.offsets).summed_like(theta)
            counts = structure.count(theta, some.codes, weight=-some.weight, into=counts)
            scorer.pull_back(counts, some.batch, total)
            cost = task_loss.cost(theta, some.known).node
            state.loss[a:b] = np.add.reduceat(np.sum(cost * mean, axis=1), some.batch.offsets[:-1])
        state.w = -total / problem.regularizer.l2


class PackedMarginals(ChainMarginals):
    """The same steps by the compiled loop over packed chains."""

    compiled = True
    accepts = PackedBlocks.accepts

    def __init__(self, problem: SampledProblem) -> None:
        super().__init__(problem)
        self._packed = PackedBlocks(self.problem, gram=False)

    def visit(self, state: Marginals, order: np.ndarray) -> None:
        """Visit the samples of ``order``."""
        from palmette.structures.chain.kernels.smo import smo_pass

        packed, chains = self._packed, self._packed.chains
        w = chains.pack_weights(state.w)
        smo_pass(
            packed.data, w, packed.inverse, packed.cost, np.asarray(order, np.int64), state.node, state.pair,
            state.loss, state.gap, packed.scratch, self.inner,
        )  # fmt: skip
        state.w = chains.unpack(w)

    def value(self, w: np.ndarray) -> tuple[float, float]:
        """The data term at ``w``, by exact maxima."""
        return self._packed.value(w)
