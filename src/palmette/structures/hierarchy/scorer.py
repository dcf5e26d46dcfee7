"""Linear scores of nodes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from palmette.data.batch import Batch
from palmette.registry import register
from palmette.structures.hierarchy.tables import HierarchyTables
from palmette.structures.positions.layout import check_weights, from_keys, observed_keys
from palmette.structures.positions.linear_scorer import LinearScorer
from palmette.structures.positions.tables import ChainTables


@register("scorer", "hierarchy")
@dataclass(frozen=True)
class HierarchyScorer(LinearScorer):
    """Scores of nodes, ``s_v(x) = <w_v, x> + b_v``: a linear scorer whose labels are the nodes of a tree."""

    @classmethod
    def for_nodes(
        cls, batch: Batch, codes: np.ndarray, n_nodes: int, *, states: str, intercept: bool
    ) -> HierarchyScorer:
        """Lay out the weights of features with nodes: with all of them, or with those seen with them in training.

        ``codes`` are those of the samples' nodes, shape (n_samples, n_nodes).
        """
        observed = states == "observed"
        check_weights(
            f"{n_nodes:,} nodes and {batch.n_columns:,} features",
            n_node=0 if observed else batch.n_columns * n_nodes,
            n_pointers=batch.n_columns if observed else 0,
        )
        ptr, label, none = np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.int64)
        if observed:
            row, node = np.nonzero(codes == 1)
            some = Batch(batch.rows[row], np.arange(len(row) + 1))
            keys = observed_keys(some, node, n_nodes, np.ones(batch.n_columns, bool))
            ptr, label = from_keys(keys, batch.n_columns, n_nodes)
        return cls(batch.n_columns, n_nodes, ptr, label, none, intercept, has_edges=False)

    def score(self, w: np.ndarray, batch: Batch) -> HierarchyTables:  # type: ignore[override]
        """Scores of all nodes for all samples of a batch."""
        return HierarchyTables(super().score(w, batch).node, batch.offsets)

    def pull_back(self, counts: HierarchyTables, batch: Batch, out: np.ndarray) -> None:  # type: ignore[override]
        """Add the adjoint of :meth:`score`, applied to ``counts``, to ``out``."""
        super().pull_back(ChainTables(counts.node, np.empty((0, 1, 1)), counts.offsets), batch, out)

    def check(self) -> None:
        """Raise ValueError unless there are weights of nodes and nothing else."""
        super().check()
        if self.has_edges or len(self.pairs):
            raise ValueError("the scorer of a hierarchy has weights of nodes and none of pairs")
