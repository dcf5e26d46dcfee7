"""Graphs that are chains: a problem on paths, as one on chains, which has compiled loops."""

from __future__ import annotations

from typing import Any

import numpy as np

from ramify.data.batch import Batch
from ramify.objectives.risk import Risk, Samples
from ramify.scorers.graph import GraphScorer
from ramify.scorers.linear import LinearScorer
from ramify.structures.chain import Chain
from ramify.structures.graph import Graph


def as_chains(problem: Any) -> Any:
    """The same problem, weight by weight, on chains, if all graphs of ``problem`` are paths from node to next node.

    None for any other problem: one on other graphs, or with types, features of edges, cliques or symmetric edges.
    """
    structure, scorer = getattr(problem, "structure", None), getattr(problem, "scorer", None)
    if type(structure) is not Graph or type(scorer) is not GraphScorer:
        return None
    plain = scorer.edge_weights is None and not scorer.arities and scorer.allowed.all()
    if not plain or len(scorer.allowed) != 1 or len(scorer.symmetric) != 1 or scorer.symmetric[0]:
        return None
    samples = problem.samples
    layout = samples.batch.layout
    lengths = np.diff(layout.offsets)
    if not np.array_equal(np.diff(layout.edge_offsets), lengths - 1):
        return None
    left = np.arange(layout.n_edges) - np.repeat(layout.edge_offsets[:-1], lengths - 1)
    if not np.array_equal(layout.edges, np.stack([left, left + 1], axis=1)):
        return None
    nodes = scorer.nodes
    linear = LinearScorer(
        nodes.n_columns, nodes.n_labels, nodes.ptr, nodes.label, scorer.pairs, scorer.intercept, True
    )
    batch = Batch(samples.batch.rows, samples.batch.offsets)
    return Risk(
        Chain(), linear, problem.surrogate, Samples(batch, samples.codes, samples.weight), problem.regularizer,
        problem.executor, problem.decomposition,
    )  # fmt: skip
