"""What dual ascent asks of chains of second order: which weights they have, and passes over their sums."""

from __future__ import annotations

from typing import Any

import numpy as np

from palmette.contracts.problem import SampledProblem
from palmette.loops.table import compiled_as
from palmette.structures.positions.dual_rows import RowLayout, RowSums, bias_of_all, columns_of


class SecondOrderSums(RowSums):
    """Chains with weights for label triples, without features of edges."""

    @classmethod
    def why_not(cls, problem: SampledProblem) -> str | None:
        """What it cannot take of a problem."""
        scorer = problem.scorer
        if compiled_as(scorer) != "edges" or problem.structure.order != 2:
            return None
        return "has no room for the marginals of edge features" if len(scorer.edge_ptr) else ""

    def layout(self) -> RowLayout:
        """Weights of columns for each label, and tables of pairs and triples."""
        scorer: Any = self.problem.scorer
        k, blocks = scorer.n_labels, scorer.blocks
        table = np.full(k**2 + k**3, -1)
        table[scorer.pairs] = np.arange(blocks["edge"].start, blocks["edge"].stop)
        table[k**2 + scorer.triples] = np.arange(blocks["edge2"].start, blocks["edge2"].stop)
        return RowLayout(k, [columns_of(scorer, blocks["node"])], bias_of_all(scorer), table)

    def run(self, x: Any, tables: Any, ascent: Any, mode: int, order: np.ndarray) -> int:
        """A pass over the samples of ``order``; returns how many were out of range and left as they are."""
        from palmette.structures.chain.kernels.dual2 import dual_pass

        samples = self.problem.samples
        own = samples.batch.offsets, samples.codes, samples.weight, self.problem.scorer.n_labels
        return dual_pass(x, tables, ascent, mode, order, *own)
