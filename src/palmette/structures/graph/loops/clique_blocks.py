"""SMO on graphs: the dual variables are the marginals of the cliques of their triangulations."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from palmette._kernels.constants import NOTHING, TIE
from palmette.contracts.problem import SampledProblem
from palmette.errors import MissingCapability, TooWide
from palmette.inference.elimination import elimination
from palmette.inference.factor_graph import FactorGraph, Topology, entries
from palmette.inference.junction_tree import JunctionTree
from palmette.loops.block_state import BlockState, SampleBlocks
from palmette.structures.graph.factor_graphs import factor_graph, labels_of, shape_of
from palmette.structures.graph.loops.flat_counts import OneGraph, dot
from palmette.structures.graph.tables import combined


class Triangulation(NamedTuple):
    """Cliques of a triangulated graph, and the graph with them as factors behind its own."""

    alone: np.ndarray  # variables that no factor touches: cliques of their own
    cliques: Topology
    both: Topology

    @classmethod
    def of(cls, topology: Topology) -> Triangulation:
        """The cliques of an elimination order, those inside others left out; kept with the topology."""
        if "triangulation" not in topology.memory:
            found = elimination(topology)
            bounds = zip(found.order.tolist(), found.ptr[:-1].tolist(), found.ptr[1:].tolist())
            sets = [frozenset([v, *found.rest[a:b].tolist()]) for v, a, b in bounds]
            largest = [c for c in dict.fromkeys(sets) if not any(c < d for d in sets)]
            alone = np.array([v for c in largest if len(c) == 1 for v in c], np.int64)
            scopes = sorted(sorted(c) for c in largest if len(c) > 1)
            cliques = Topology.from_scopes(topology.cards.tolist(), scopes)
            ptr = np.concatenate([topology.scope_ptr, topology.scope_ptr[-1] + cliques.scope_ptr[1:]])
            both = Topology(topology.cards, ptr, np.concatenate([topology.scope, cliques.scope]))
            topology.memory["triangulation"] = cls(alone, cliques, both)
        return topology.memory["triangulation"]

    @property
    def size(self) -> int:
        """Number of dual variables."""
        return int(self.cliques.table_ptr[-1] + self.cliques.cards[self.alone].sum())

    def places(self, codes: np.ndarray) -> np.ndarray:
        """Where an assignment stands in the marginals: one place per clique, then one for each variable alone."""
        in_cliques = self.cliques.table_ptr[:-1] + entries(self.cliques, codes)
        first = (
            self.cliques.table_ptr[-1]
            + np.cumsum(self.cliques.cards[self.alone])
            - self.cliques.cards[self.alone]
        )
        return np.concatenate([in_cliques, first + codes[self.alone]])

    def lowest(self, graph: FactorGraph, mu: np.ndarray) -> np.ndarray:
        """The assignment of lowest score among those all of whose cliques have a positive marginal."""
        unary = np.where(np.isneginf(graph.unary), graph.unary, -graph.unary)
        values = np.where(np.isneginf(graph.own_values), graph.own_values, -graph.own_values)
        support = np.where(mu > 0.0, 0.0, -np.inf)
        n = int(self.cliques.table_ptr[-1])
        at = n
        for v in self.alone.tolist():
            own = slice(graph.topology.unary_ptr[v], graph.topology.unary_ptr[v + 1])
            unary[own] += support[at : at + graph.topology.cards[v]]
            at += int(graph.topology.cards[v])
        own_start = np.concatenate([graph.topology.table_ptr[:-1], len(values) + self.cliques.table_ptr[:-1]])
        restricted = FactorGraph(self.both, unary, np.concatenate([values, support[:n]]), own_start)
        return JunctionTree.of(self.both).best(restricted).codes


@dataclass(kw_only=True)
class CliqueSet(BlockState):
    """Marginals of the cliques of every sample, and the counts they imply."""

    mu: list[np.ndarray] = field(default_factory=list)
    counts: list[np.ndarray] = field(default_factory=list)  # flat, in the shape of the potentials

    solver = "smo"

    @classmethod
    def at_truth(cls, problem: SampledProblem) -> CliqueSet:
        """All mass on the true labelings: ``w = 0``."""
        state = cls(**cls.at_zero(problem))
        for s in range(problem.n_samples):
            one = OneGraph(problem, s, state.w)
            triangulation = Triangulation.of(shape_of(one.theta, 0).topology)
            mu = np.zeros(triangulation.size)
            mu[triangulation.places(states_of(one))] = 1.0
            state.mu.append(mu)
            state.counts.append(one.counts(one.codes))
        return state

    def copy(self) -> CliqueSet:
        """An independent copy."""
        other = super().copy()
        other.mu = [own.copy() for own in self.mu]
        other.counts = [own.copy() for own in self.counts]
        return other


def states_of(one: OneGraph) -> np.ndarray:
    """The true labels as states of the variables, which may have fewer than there are labels, and those that follow."""
    shape = shape_of(one.theta, 0)
    own = (np.cumsum(shape.mask, axis=1) - 1)[np.arange(len(one.codes)), one.codes].astype(np.int64)
    if shape.topology.n_vars == len(own):
        return own
    graph = factor_graph(one.theta, 0).conditioned(dict(enumerate(own.tolist())))
    return JunctionTree.of(shape.topology).best(graph).codes.astype(np.int64)


class CliqueBlocks(SampleBlocks):
    """Steps on pairs of labelings of graphs that have a junction tree; exact, forests or not."""

    variables = CliqueSet
    inner = 2  # pairs of labelings per visit

    def __init__(self, problem: SampledProblem) -> None:
        super().__init__(problem)
        theta = problem.scorer.score(np.zeros(problem.n_params), problem.samples.batch)
        limit = problem.structure.memory_limit
        for s in range(problem.n_samples):
            topology = shape_of(theta, s).topology
            try:
                JunctionTree.of(topology, limit)
                JunctionTree.of(Triangulation.of(topology).both, limit)
            except TooWide as error:
                raise MissingCapability(
                    f"smo keeps the marginals of the cliques of triangulated graphs, and sample {s} is too wide for "
                    f"that: {error} Use solver='frank_wolfe', which solves the relaxed dual."
                ) from error

    def _visit(self, state: CliqueSet, s: int) -> None:
        mu = state.mu[s]
        for visit in range(self.inner):
            one = OneGraph(self.problem, s, state.w)
            tables = combined(one.theta, one.cost, None)
            graph = factor_graph(tables, 0)
            triangulation = Triangulation.of(graph.topology)
            to = JunctionTree.of(graph.topology).best(graph).codes
            fro = triangulation.lowest(graph, mu)
            top, low = graph.score(to), graph.score(fro)
            if visit == 0:
                state.gap[s] = one.weight * max(top - dot(one.flat, state.counts[s]), 0.0)
            if not top - low > TIE * (1.0 + abs(top)):
                break
            gained, lost = triangulation.places(to), triangulation.places(fro)
            moved = gained != lost
            limit = float(mu[lost[moved]].min())
            change = one.counts(labels_of(tables, 0, to)) - one.counts(labels_of(tables, 0, fro))
            step = self._step(state, one.pull_back(change), one.weight * (top - low), limit)
            state.loss[s] += step * dot(one.cost_flat, change)
            state.counts[s] = state.counts[s] + step * change
            mu[gained[moved]] += step
            mu[lost[moved]] -= step
            mu[lost[moved]] = np.where(mu[lost[moved]] > NOTHING, mu[lost[moved]], 0.0)

    def refresh(self, state: CliqueSet) -> None:
        """Compute weights and losses from the marginals."""
        total = np.zeros(self.problem.n_params)
        for s, counts in enumerate(state.counts):
            one = OneGraph(self.problem, s, state.w)
            one.pull_back(counts - one.counts(one.codes), total)
            state.loss[s] = dot(one.cost_flat, counts)
        state.w = -total / self.problem.regularizer.l2
