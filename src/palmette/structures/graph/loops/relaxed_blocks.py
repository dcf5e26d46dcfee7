"""Frank-Wolfe on the relaxed dual: vertices of the local polytope instead of labelings."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from palmette._kernels.constants import TIE
from palmette.contracts.problem import SampledProblem
from palmette.inference.relaxation import relax
from palmette.loops.block_state import BlockState, SampleBlocks, require_parts
from palmette.loops.hinge_blocks import first_best
from palmette.structures.graph.factor_graphs import add_answer, factor_graph
from palmette.structures.graph.loops.flat_counts import OneGraph, dot, flatten, require_bounds, without_tree
from palmette.structures.graph.methods import SMALL_PROGRAM
from palmette.structures.graph.tables import combined


@dataclass(kw_only=True)
class RelaxedSet(BlockState):
    """For every sample a distribution over a few vertices of the local polytope, some perhaps fractional."""

    vertices: list[list[np.ndarray]] = field(default_factory=list)  # flat counts
    mass: list[list[float]] = field(default_factory=list)

    solver = "frank_wolfe"

    @classmethod
    def at_truth(cls, problem: SampledProblem) -> RelaxedSet:
        """All mass on the true labelings: ``w = 0``."""
        zero = cls.at_zero(problem)
        n = problem.n_samples
        graphs = (OneGraph(problem, s, zero["w"]) for s in range(n))
        return cls(
            vertices=[[one.counts(one.codes)] for one in graphs], mass=[[1.0] for _ in range(n)], **zero
        )

    def copy(self) -> RelaxedSet:
        """An independent copy; vertices never change."""
        other = super().copy()
        other.vertices = [list(own) for own in self.vertices]
        other.mass = [list(own) for own in self.mass]
        return other


class RelaxedBlocks(SampleBlocks):
    """Visits of graphs whose best labels are not known exactly: the best vertex is that of a linear program.

    Vertices are counts in the shape of the potentials; those of other graphs of the problem are labelings. The lower
    bound is that of the relaxed dual, the primal value that of the relaxed hinge, which is never below the exact one.
    """

    variables = RelaxedSet
    inner = 20  # pairwise steps per visit: far cheaper than a linear program

    @classmethod
    def accepts(cls, problem: SampledProblem) -> bool:
        """Graphs of which some are too wide for exact maxima."""
        return bool(without_tree(problem))

    def __init__(self, problem: SampledProblem) -> None:
        require_bounds(problem, "frank_wolfe")
        require_parts(problem, "frank_wolfe")
        super().__init__(problem)
        self._relaxed = set(without_tree(problem))

    def _oracle(self, one: OneGraph, s: int) -> tuple[np.ndarray, float, float]:
        """The best vertex, its augmented score, and an upper bound on the maximum."""
        structure = self.problem.structure
        if s not in self._relaxed:
            codes, (top,) = structure.best(one.theta, cost=one.cost)
            return one.counts(codes), float(top), float(top)
        tables = combined(one.theta, one.cost, None)
        graph = factor_graph(tables, 0)
        point = relax(graph, tol=structure.accuracy, exact=graph.topology.table_ptr[-1] <= SMALL_PROGRAM)
        counts = tables.zeros()
        add_answer(tables, 0, point.unary, point.factor, 1.0, counts)
        found = flatten(counts)
        return found, dot(one.flat, found), max(point.bound, point.value)

    def _visit(self, state: RelaxedSet, s: int) -> None:
        vertices, mass = state.vertices[s], state.mass[s]
        for visit in range(self.inner):
            one = OneGraph(self.problem, s, state.w)
            values = [dot(one.flat, vertex) for vertex in vertices]
            if visit == 0:
                rival, top, bound = self._oracle(one, s)
                state.gap[s] = one.weight * max(bound - float(np.dot(mass, values)), 0.0)
                if top > max(values) + TIE * (1.0 + abs(top)):
                    vertices.append(rival)
                    mass.append(0.0)
                    values.append(top)
            best, worst = first_best(values), first_best([-v for v in values])
            rise = one.weight * (values[best] - values[worst])
            if best == worst or rise <= one.weight * TIE * (1.0 + abs(values[best])):
                break
            change = vertices[best] - vertices[worst]
            step = self._step(state, one.pull_back(change), rise, mass[worst])
            state.loss[s] += step * dot(one.cost_flat, change)
            mass[best] += step
            mass[worst] -= step
            if mass[worst] <= 0.0:
                del mass[worst], vertices[worst]
        if mass[-1] == 0.0:
            del mass[-1], vertices[-1]

    def refresh(self, state: RelaxedSet) -> None:
        """Compute weights and losses from the masses."""
        total = np.zeros(self.problem.n_params)
        for s, (vertices, mass) in enumerate(zip(state.vertices, state.mass)):
            one = OneGraph(self.problem, s, state.w)
            mean = np.dot(mass, vertices)
            one.pull_back(mean - one.counts(one.codes), total)
            state.loss[s] = dot(one.cost_flat, mean)
        state.w = -total / self.problem.regularizer.l2

    def value(self, w: np.ndarray) -> tuple[float, float]:
        """The relaxed data term at ``w`` by the vertices found, and what better ones may add to it."""
        total = slack = 0.0
        for s in range(self.problem.n_samples):
            one = OneGraph(self.problem, s, w)
            _, top, bound = self._oracle(one, s)
            total += one.weight * (top - float(self.problem.structure.score(one.theta, one.codes)[0]))
            slack += one.weight * max(bound - top, 0.0)
        return total, slack
