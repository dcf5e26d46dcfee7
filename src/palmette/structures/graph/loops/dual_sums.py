"""What dual ascent asks of forests: which weights they have, and passes over their sums."""

from __future__ import annotations

from typing import Any

import numpy as np

from palmette.contracts.problem import SampledProblem
from palmette.structures.positions.dual_rows import ColumnWeights, RowLayout, RowSums, columns_of


class ForestSums(RowSums):
    """Forests without features of edges, in which every node may have every label."""

    @classmethod
    def why_not(cls, problem: SampledProblem) -> str | None:
        """What it cannot take of a problem."""
        scorer = problem.scorer
        if not getattr(problem.samples.batch, "layout", None):
            return None
        if not problem.samples.batch.layout.forest.all():
            return "needs graphs without cycles and cliques"
        if scorer.edge_weights is not None:
            return "has no room for the marginals of edge features"
        return "" if scorer.allowed.all() else "needs nodes that can have every label"

    def layout(self) -> RowLayout:
        """Weights of columns for each label, biases of types of nodes, and a table of pairs for each type of edges."""
        scorer: Any = self.problem.scorer
        blocks, k, n_types = scorer.blocks, scorer.n_labels, len(scorer.allowed)
        tie = scorer.table_weights
        table = np.where(tie < len(scorer.pairs), tie + blocks["edge"].start, -1)
        every = None
        if scorer.intercept:
            kind, label = np.divmod(np.arange(n_types * k), k)
            bias = np.arange(blocks["bias"].start, blocks["bias"].stop)
            types = self.problem.samples.batch.layout.node_type
            every = types if n_types > 1 else np.zeros(1, np.int64), ColumnWeights(kind, label, bias)
        return RowLayout(k, [columns_of(scorer.nodes, blocks["node"])], every, table)

    def run(self, x: Any, tables: Any, ascent: Any, mode: int, order: np.ndarray) -> int:
        """A pass over the samples of ``order``; returns how many were out of range and left as they are."""
        from palmette.structures.graph.kernels.dual import dual_pass

        samples, layout = self.problem.samples, self.problem.samples.batch.layout
        forests = layout.forests(layout.edge_type)
        own = samples.codes, samples.weight, self.problem.scorer.n_labels
        return dual_pass(x, tables, ascent, mode, order, forests, layout.edges, *own)
