"""Encoded graphs, packed: the shapes of the graphs of a batch, and their features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from palmette.data.batch import Batch, SparseRows, check_rows, squares
from palmette.data.checks import check_array, check_offsets, check_pointers
from palmette.data.ragged import gather, offsets_from_lengths


class CliqueRows(NamedTuple):
    """The factors of one type: their nodes, counted inside each sample, and whose they are."""

    nodes: np.ndarray  # int64 (n_factors, arity), -1 behind the nodes of factors that have fewer
    offsets: np.ndarray  # int64 (n_samples + 1,): sample s owns the factors offsets[s]:offsets[s + 1]
    kind: str = "table"  # of labels; or "at_most_one", "parity", "agreement", whose tables are of states

    def shape(self, n_labels: int) -> tuple[int, ...]:
        """Shape of the table of one factor."""
        if self.kind == "table":
            return (n_labels,) * self.nodes.shape[1]
        return (n_labels + 1,) if self.kind == "agreement" else (2,)


class Forests(NamedTuple):
    """Batches of forests as kernels read them: which table an edge has, whose the rows and edges are, and the way of
    messages, which ``palmette.structures.graph.kernels.forest_order`` explains."""

    table: np.ndarray
    offsets: np.ndarray
    edge_offsets: np.ndarray
    order: np.ndarray
    parent: np.ndarray
    up: np.ndarray
    flip: np.ndarray
    first_child: np.ndarray
    n_children: np.ndarray


class GraphLayout:
    """Shapes of the graphs of a batch: which nodes are joined, and of what type nodes and edges are.

    Everything is counted inside each sample, so that a slice is a view. ``memory`` has a dict for every sample, in
    which inference keeps what it computed from the shape alone; slices and copies share it, and the memory of a graph
    without some of its edges has that of the ``"whole"``. ``"sample"`` is the number that messages give to a sample:
    the one that it had when it was encoded.

    Parameters
    ----------
    offsets, edge_offsets : ndarray of int64, shape (n_samples + 1,)
        Rows (nodes) and edges of every sample.
    edges : ndarray of int64, shape (n_edges, 2)
    node_type, edge_type : ndarray of int64, optional
    cliques : tuple of CliqueRows
        One for every type of factors.
    """

    # No __dict__: what is computed on the way is not part of the value.
    __slots__ = (
        "cliques", "edge_offsets", "edge_type", "edges", "first_child", "flip", "forest", "memory", "n_children",
        "node_type", "offsets", "order", "parent", "rows", "up",
    )  # fmt: skip

    def __init__(
        self,
        offsets: np.ndarray,
        edge_offsets: np.ndarray,
        edges: np.ndarray,
        node_type: np.ndarray | None = None,
        edge_type: np.ndarray | None = None,
        cliques: tuple[CliqueRows, ...] = (),
    ) -> None:
        self.offsets, self.edge_offsets = np.asarray(offsets, np.int64), np.asarray(edge_offsets, np.int64)
        self.edges = np.ascontiguousarray(edges, np.int64).reshape(-1, 2)
        n_rows, n_edges = int(self.offsets[-1:].sum()), len(self.edges)
        self.node_type = np.zeros(n_rows, np.int64) if node_type is None else np.asarray(node_type, np.int64)
        self.edge_type = np.zeros(n_edges, np.int64) if edge_type is None else np.asarray(edge_type, np.int64)
        self.cliques = tuple(cliques)
        self.check()
        self.memory: list[dict[Any, Any]] = [{"sample": s} for s in range(len(self))]
        self.rows: np.ndarray | None = None
        self._find_forests()

    def check(self) -> None:
        """Raise ValueError unless every edge and factor joins nodes of its own sample."""
        check_array("node_type", self.node_type, np.int64)
        check_offsets("offsets", self.offsets, len(self.node_type))
        n = len(self)
        check_pointers("edge_offsets", self.edge_offsets, n, len(self.edges))
        check_array("edge_type", self.edge_type, np.int64, 1, len(self.edges))
        sizes = np.diff(self.offsets)
        _check_nodes("edges", self.edges, np.repeat(sizes, np.diff(self.edge_offsets)), 0)
        for k, group in enumerate(self.cliques):
            check_array(f"cliques[{k}].nodes", group.nodes, np.int64, 2)
            check_pointers(f"cliques[{k}].offsets", group.offsets, n, len(group.nodes))
            own, lowest = np.repeat(sizes, np.diff(group.offsets)), 0 if group.kind == "table" else -1
            _check_nodes(f"cliques[{k}].nodes", group.nodes, own, lowest)

    def _find_forests(self) -> None:
        from palmette.structures.graph.kernels.forest_order import forest_orders

        n = int(self.offsets[-1])
        self.forest = np.zeros(len(self), bool)
        self.order, self.parent, self.up, self.first_child, self.n_children = (
            np.zeros(n, np.int64) for _ in range(5)
        )
        if len(self):
            forest_orders(
                self.edges, self.edge_offsets, self.offsets, self.forest, self.order, self.parent, self.up,
                self.first_child, self.n_children,
            )  # fmt: skip
        for group in self.cliques:
            self.forest &= np.diff(group.offsets) == 0
        # Whether the edge to the parent runs from child to parent.
        first = np.repeat(self.edge_offsets[:-1], np.diff(self.offsets))
        child = np.flatnonzero((self.up >= 0) & np.repeat(self.forest, np.diff(self.offsets)))
        place = child - np.repeat(self.offsets[:-1], np.diff(self.offsets))[child]
        self.flip = np.zeros(n, bool)
        self.flip[child] = self.edges[first[child] + self.up[child], 0] == place

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def n_edges(self) -> int:
        """Number of edges of all samples together."""
        return len(self.edges)

    @property
    def edge_rows(self) -> np.ndarray:
        """The edges as pairs of rows of the batch, int64 (n_edges, 2)."""
        if self.rows is None:
            self.rows = self.edges + np.repeat(self.offsets[:-1], np.diff(self.edge_offsets))[:, None]
        return self.rows

    def clique_rows(self, k: int) -> np.ndarray:
        """The factors of type k as rows of the batch, int64 (n_factors, arity)."""
        group = self.cliques[k]
        rows = group.nodes + np.repeat(self.offsets[:-1], np.diff(group.offsets))[:, None]
        return np.where(group.nodes < 0, -1, rows)

    def forests(self, table: np.ndarray) -> Forests:
        """What kernels on forests take of it; edge e reads the table of number ``table[e]``."""
        return Forests(table, *(getattr(self, name) for name in Forests._fields[1:]))

    def slice(self, start: int, stop: int) -> GraphLayout:
        """Samples ``start:stop``; arrays are views of the same memory."""
        part = GraphLayout.__new__(GraphLayout)
        rows = slice(int(self.offsets[start]), int(self.offsets[stop]))
        edges = slice(int(self.edge_offsets[start]), int(self.edge_offsets[stop]))
        part.offsets = self.offsets[start : stop + 1] - self.offsets[start]
        part.edge_offsets = self.edge_offsets[start : stop + 1] - self.edge_offsets[start]
        part.edges, part.edge_type = self.edges[edges], self.edge_type[edges]
        for name in ("node_type", "order", "parent", "up", "flip", "first_child", "n_children"):
            setattr(part, name, getattr(self, name)[rows])
        part.forest, part.memory, part.rows = self.forest[start:stop], self.memory[start:stop], None
        part.cliques = tuple(
            group._replace(
                nodes=group.nodes[group.offsets[start] : group.offsets[stop]],
                offsets=group.offsets[start : stop + 1] - group.offsets[start],
            )
            for group in self.cliques
        )
        return part

    def take(self, samples: np.ndarray) -> GraphLayout:
        """Copies of the samples of these numbers, in their order; a sample may be taken more than once."""
        samples = np.asarray(samples, np.int64)
        part = GraphLayout.__new__(GraphLayout)
        rows, part.offsets = gather(self.offsets, samples)
        edges, part.edge_offsets = gather(self.edge_offsets, samples)
        part.edges, part.edge_type = self.edges[edges], self.edge_type[edges]
        for name in ("node_type", "order", "parent", "up", "flip", "first_child", "n_children"):
            setattr(part, name, getattr(self, name)[rows])
        part.forest, part.rows = self.forest[samples], None
        part.memory = [self.memory[s] for s in samples.tolist()]
        cliques = []
        for group in self.cliques:
            factors, offsets = gather(group.offsets, samples)
            cliques.append(group._replace(nodes=group.nodes[factors], offsets=offsets))
        part.cliques = tuple(cliques)
        return part

    def keeping(self, edges: np.ndarray, cliques: Sequence[np.ndarray]) -> GraphLayout:
        """The same nodes with the edges and the factors of every type for which the masks are true."""
        groups = [
            group._replace(nodes=group.nodes[kept], offsets=_offsets_of(group.offsets, kept))
            for group, kept in zip(self.cliques, cliques)
        ]
        pieces = GraphLayout(
            self.offsets, _offsets_of(self.edge_offsets, edges), self.edges[edges], self.node_type,
            self.edge_type[edges], tuple(groups),
        )  # fmt: skip
        pieces.memory = [{"whole": memory.get("whole", memory)} for memory in self.memory]
        return pieces


def _check_nodes(name: str, nodes: np.ndarray, sizes: np.ndarray, lowest: int) -> None:
    """Numbers of nodes, each row of a sample of so many."""
    ordered = np.sort(nodes, axis=1)
    twice = ((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)).any(axis=1)
    wrong = twice | ((nodes < lowest) | (nodes >= sizes[:, None])).any(axis=1)
    if wrong.any():
        at = int(np.argmax(wrong))
        raise ValueError(
            f"{name}[{at}] = {nodes[at].tolist()} must be different nodes of its sample, numbers from 0 to "
            f"{sizes[at] - 1}"
        )


def sample_number(memory: dict[Any, Any]) -> int:
    """The number of the sample that a memory belongs to, for messages."""
    return memory.get("whole", memory)["sample"]


def _offsets_of(offsets: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Offsets of the items that are kept."""
    return np.concatenate([[0], np.cumsum(kept)])[offsets].astype(np.int64)


@dataclass(frozen=True)
class GraphBatch(Batch):
    """Encoded graphs.

    Parameters
    ----------
    rows, offsets : as for :class:`~palmette.data.batch.Batch`
        Features of the nodes; those of different node types have different columns.
    layout : GraphLayout
    edge_rows : ndarray, SparseRows or None
        Features of the edges, one row per edge; those of different edge types have different columns.
    """

    layout: GraphLayout
    edge_rows: np.ndarray | SparseRows | None = None

    def feature_tables(self) -> list[tuple[np.ndarray | SparseRows, np.ndarray]]:
        """Features of nodes, and of edges if they have any."""
        edges = [] if self.edge_rows is None else [(self.edge_rows, self.layout.edge_offsets)]
        return [*super().feature_tables(), *edges]

    def squared(self) -> GraphBatch:
        """The same graphs with the squares of their features."""
        edges = None if self.edge_rows is None else squares(self.edge_rows)
        return replace(self, rows=squares(self.rows), edge_rows=edges)

    def slice(self, start: int, stop: int) -> GraphBatch:
        """Samples ``start:stop``; arrays are views of the same memory."""
        part = super().slice(start, stop)
        edge_rows = self.edge_rows
        if edge_rows is not None:
            lo, hi = self.layout.edge_offsets[[start, stop]].tolist()
            edge_rows = edge_rows[lo:hi]
        return GraphBatch(part.rows, part.offsets, self.layout.slice(start, stop), edge_rows)

    def take(self, samples: np.ndarray) -> GraphBatch:
        """Copies of the samples of these numbers, in their order."""
        part = super().take(samples)
        edge_rows = self.edge_rows
        if edge_rows is not None:
            edge_rows = edge_rows[gather(self.layout.edge_offsets, samples)[0]]
        return GraphBatch(part.rows, part.offsets, self.layout.take(samples), edge_rows)

    def without(self, empty: np.ndarray) -> GraphBatch:
        """The samples for which ``empty`` is false."""
        return self.take(np.flatnonzero(~empty)) if np.any(empty) else self

    def in_pieces(self, decomposition: Any, seed: int, epoch: int) -> tuple[GraphBatch, np.ndarray]:
        """The same graphs without edges between pieces, and without cliques whose nodes are not in one piece."""
        layout = self.layout
        # A clique is in one piece if its first node is in one piece with each of the others.
        stars = []
        for rows in map(layout.clique_rows, range(len(layout.cliques))):
            rows = np.where(rows < 0, rows[:, 1:2], rows)  # of factors that have fewer nodes than others
            star = np.stack([np.repeat(rows[:, :1], rows.shape[1] - 1, axis=1), rows[:, 1:]], axis=2)
            stars.append(star.reshape(-1, 2))
        both = np.concatenate([layout.edge_rows, *stars])
        kept = decomposition.keep_edges(self.n_rows, both, seed, epoch)
        cliques, at = [], layout.n_edges
        for group in layout.cliques:
            n = group.nodes.shape[1] - 1
            cliques.append(kept[at : at + n * len(group.nodes)].reshape(-1, n).all(axis=1))
            at += n * len(group.nodes)
        return self.keeping(kept[: layout.n_edges], cliques), np.arange(len(self))

    def keeping(self, edges: np.ndarray, cliques: Sequence[np.ndarray]) -> GraphBatch:
        """The same nodes with some of the edges and factors; see :meth:`GraphLayout.keeping`."""
        edge_rows = self.edge_rows
        if edge_rows is not None:
            edge_rows = edge_rows[np.flatnonzero(edges)]
        return GraphBatch(self.rows, self.offsets, self.layout.keeping(edges, cliques), edge_rows)

    def check(self) -> None:
        """Raise ValueError unless compiled loops can read the batch."""
        super().check()
        self.layout.check()
        if not np.array_equal(self.offsets, self.layout.offsets):
            raise ValueError("the batch and its layout have different offsets")
        if self.edge_rows is not None:
            check_rows("edge_rows", self.edge_rows)
            if len(self.edge_rows) != self.layout.n_edges:
                raise ValueError(f"edge_rows has {len(self.edge_rows)} rows, expected {self.layout.n_edges}")


def shifted_columns(rows: np.ndarray | SparseRows, kind: np.ndarray, n_kinds: int) -> Any:
    """Feature rows whose columns stand apart for each kind of row: column ``a`` of kind t becomes ``t * n + a``.

    >>> shifted_columns(np.array([[1.0, 2.0], [0.0, 4.0]]), np.array([0, 1]), 2).indices
    array([0, 1, 3], dtype=int32)
    """
    if n_kinds == 1:
        return rows
    if isinstance(rows, SparseRows):
        start, stop = rows.indptr[0], rows.indptr[-1]
        columns, values = rows.indices[start:stop], rows.values
        values = values[start:stop] if len(values) else values
        indptr, n = rows.indptr - start, rows.n_columns
    else:
        n = rows.shape[1]
        there, columns = np.nonzero(rows)
        indptr = offsets_from_lengths(np.bincount(there, minlength=len(rows)))
        values = rows[there, columns]
        values = values[:0] if np.all(values == 1.0) else values
    moved = columns + np.repeat(kind * n, np.diff(indptr))
    return SparseRows(indptr, moved.astype(np.int32), values, n * n_kinds)
