"""Which method of inference serves which graph of a batch."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from ramify.inference.factor_graph import FactorGraph
from ramify.inference.junction_tree import JunctionTree
from ramify.inference.results import Maximum, Sum
from ramify.structures.graph_factors import shape_of
from ramify.structures.graph_tables import GraphTables


class GraphMethods:
    """The choice of methods of :class:`ramify.Graph`."""

    memory_limit: Any

    def _parted(self, tables: GraphTables) -> tuple[np.ndarray, list[int]]:
        """The samples that are forests, and the others."""
        forest = tables.layout.forest
        return np.flatnonzero(forest), np.flatnonzero(~forest).tolist()

    @contextlib.contextmanager
    def _noting(self, task: str) -> Iterator[None]:
        yield

    def _require_exact(self, tables: GraphTables, answer: str) -> None:
        for s in self._parted(tables)[1]:
            self._exact_tree(tables, s, answer)

    def _exact_tree(self, tables: GraphTables, s: int, answer: str) -> JunctionTree:
        return JunctionTree.of(shape_of(tables, s).topology, self.memory_limit)

    def _maximum(self, graph: FactorGraph, memory: dict) -> Maximum:
        return JunctionTree.of(graph.topology, self.memory_limit).best(graph)

    def _log_sum(self, graph: FactorGraph, memory: dict) -> float:
        return JunctionTree.of(graph.topology, self.memory_limit).log_partition(graph)

    def _sum(self, graph: FactorGraph, memory: dict) -> Sum:
        return JunctionTree.of(graph.topology, self.memory_limit).sum(graph)
