"""Counts of one graph as a flat vector, in the order of its potentials: what dual variables of graphs are made of."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from palmette.contracts.problem import SampledProblem
from palmette.data.annotation import pairs_of
from palmette.errors import MissingCapability
from palmette.structures.graph.factor_graphs import shape_of
from palmette.structures.graph.methods import NOT_EXACT


def flatten(tables: Any) -> np.ndarray:
    """Numbers of nodes, edge tables and clique tables, one after the other."""
    return np.concatenate(
        [tables.node.ravel(), tables.edge.ravel(), *(table.ravel() for table in tables.factors)]
    )


def unflatten(flat: np.ndarray, like: Any) -> Any:
    """Inverse of :func:`flatten`, as tables like ``like``."""
    parts, at = [], 0
    for table in (like.node, like.edge, *like.factors):
        parts.append(flat[at : at + table.size].reshape(table.shape))
        at += table.size
    node, edge, *factors = parts
    return replace(like, node=node, edge=edge, factors=tuple(factors))


def dot(theta: np.ndarray, counts: np.ndarray) -> float:
    """``<theta, counts>``; what is forbidden and absent does no harm."""
    used = counts != 0.0
    return float(theta[used] @ counts[used])


class OneGraph:
    """A sample of a problem on graphs under given weights."""

    def __init__(self, problem: SampledProblem, s: int, w: np.ndarray) -> None:
        self.problem = problem
        self.one = problem.samples.slice(s, s + 1)
        self.weight, self.codes = float(self.one.weight[0]), self.one.codes
        self.theta = problem.scorer.score(w, self.one.batch)
        if pairs_of(self.one.known) is not None:
            raise MissingCapability(
                "the annotation says what edges may be, which costs of single nodes cannot tell: use inner='bundle'"
            )
        self.cost = problem.surrogate.task_loss.cost(self.theta, self.one.known)
        self.cost_flat = np.zeros(
            sum(t.size for t in (self.theta.node, self.theta.edge, *self.theta.factors))
        )
        self.cost_flat[: self.theta.node.size] = self.cost.node.ravel()
        self.flat = flatten(self.theta) + self.cost_flat  # scores with the loss added

    def counts(self, codes: np.ndarray) -> np.ndarray:
        """Counts of a labeling, flat."""
        return flatten(self.problem.structure.count(self.theta, codes))

    def pull_back(self, counts: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """The weights' side of flat counts, times the sample's weight; added to ``out`` if given."""
        out = np.zeros(self.problem.n_params) if out is None else out
        self.problem.scorer.pull_back(unflatten(self.weight * counts, self.theta), self.one.batch, out)
        return out


def without_tree(problem: SampledProblem) -> list[int]:
    """The samples of a problem on graphs whose best labels are not known exactly whatever the weights."""
    structure = problem.structure
    theta = problem.scorer.score(np.zeros(problem.n_params), problem.samples.batch)
    others = np.flatnonzero(~theta.layout.forest).tolist()
    if structure.inference in NOT_EXACT:
        return others
    if structure.inference != "auto":
        return []
    return [s for s in others if structure.tree_of(shape_of(theta, s).topology) is None]


def require_bounds(problem: SampledProblem, solver: str) -> None:
    """Refuse maxima that are neither exact nor bounds, with which a dual proves nothing."""
    structure = problem.structure
    if structure.oracle != "relaxed":
        found = without_tree(problem)
        if found:
            raise MissingCapability(
                f"{solver} proves its gap by maxima that are exact or relaxed, and {structure!r:.80} has neither for "
                f"sample {found[0]}: use Graph(oracle='relaxed'), a larger memory_limit, or solver='stochastic'"
            )
