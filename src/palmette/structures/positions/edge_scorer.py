"""Linear scores of sequences with features on their edges, or with label triples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np

from palmette.data.batch import Batch, SparseRows
from palmette.data.checks import check_ascending, check_layout, needed
from palmette.registry import register
from palmette.structures.positions.layout import (
    all_keys,
    check_weights,
    from_keys,
    keys_of,
    moved,
    observed_keys,
    observed_tuples,
    positions,
    ranges,
    tuple_codes,
    without_zeros,
)
from palmette.structures.positions.linear_scorer import LinearScorer, columns_in
from palmette.structures.positions.score_parts import Part, entries, weight_in
from palmette.structures.positions.tables import ChainTables

TABLES_A_BLOCK = 2**18  # numbers in the edge tables of one block: 2 MB


PLAIN = tuple(field.name for field in fields(LinearScorer))


@register("scorer", "edges")
@dataclass(frozen=True)
class EdgeScorer(LinearScorer):
    """A :class:`LinearScorer` with weights for (column, label pair) and for label triples.

    The edge between positions t - 1 and t scores ``edge[i, j] + sum_a x[t, a] edge_features[a, i, j]``: it has the
    features of its right position. The weight vector is ``[node | bias | edge | edge_features | edge2]``; edge features
    of column a stand at ``edge_ptr[a]:edge_ptr[a + 1]`` of their block, for the label pairs ``edge_pair[...]``. What
    has no weight scores 0.

    Parameters
    ----------
    edge_ptr, edge_pair : ndarray of int64 and int32
        ``edge_ptr`` is empty if there are no edge features.
    triples : ndarray of int64
        Codes ``(i * n_labels + j) * n_labels + k`` of the label triples that have a weight.
    """

    edge_ptr: np.ndarray
    edge_pair: np.ndarray
    triples: np.ndarray

    compiled_as = "edges"

    @classmethod
    def extending(
        cls, plain: LinearScorer, batch: Batch, codes: np.ndarray, *, states: str, transitions: str, order: int,
        edge_columns: np.ndarray | None = None, only_edges: bool = False, possible: np.ndarray | None = None,
        starts: np.ndarray | None = None,
    ) -> EdgeScorer:  # fmt: skip
        """Add weights to a layout; parameters as in :meth:`LinearScorer.for_data`.

        ``edge_columns`` (bool, one per column) says which columns are edge features; with ``only_edges`` they have no
        node weights. With ``states="observed"`` they have a weight for the pairs seen at edges whose right position has
        the column. ``order=2`` adds triples. ``possible`` (bool, labels x labels) are the pairs that outputs can have.
        ``starts`` (bool, one per row) says where edges end in the true outputs; None: at every row but the first.
        """
        n, columns = plain.n_labels, plain.n_columns
        every = 0 if edge_columns is None or states == "observed" else int(edge_columns.sum())
        cube = n**3 if order == 2 else 0
        check_weights(
            f"{n:,} labels, order {order} and {every:,} edge features",
            n_edge=every * n**2 + cube * (transitions == "all"),
            n_tables=cube,
        )
        empty = np.empty(0, np.int64)
        possible = np.ones((n, n), bool) if possible is None else possible
        own = {name: getattr(plain, name) for name in PLAIN}
        edge_ptr, edge_pair, triples = empty, empty.astype(np.int32), empty
        if edge_columns is not None:
            if only_edges:
                own["ptr"], own["label"] = without_columns(plain, edge_columns)
            if states == "observed":
                pairs = tuple_codes(codes, batch.offsets, 2, n)
                pairs = pairs if starts is None else np.where(starts, pairs, -1)
                keys = observed_keys(batch, pairs, n * n, edge_columns)
            else:
                keys = all_keys(edge_columns, np.flatnonzero(possible), n * n)
            edge_ptr, edge_pair = from_keys(keys, columns, n * n)
        if order == 2:
            triples = (
                np.flatnonzero(possible[:, :, None] & possible)
                if transitions == "all"
                else observed_tuples(codes, batch.offsets, 3, n)
            )
        return cls(**own, edge_ptr=edge_ptr, edge_pair=edge_pair, triples=triples)

    # -- layout -------------------------------------------------------------------------------------------------

    @property
    def n_params(self) -> int:
        """Length of the weight vector."""
        return super().n_params + len(self.edge_pair) + len(self.triples)

    @property
    def blocks(self) -> dict[str, slice]:
        """Where the kinds of weights stand in the weight vector."""
        a = super().n_params
        b = a + len(self.edge_pair)
        return super().blocks | {"edge_features": slice(a, b), "edge2": slice(b, b + len(self.triples))}

    @property
    def rows_a_block(self) -> int:
        """Rows to score at once, so that one edge table per row stays in the cache."""
        return max(1, TABLES_A_BLOCK // self.n_labels**2) if len(self.edge_ptr) else 2**62

    def edge_coordinates(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Column, left label and right label of every edge feature."""
        if not len(self.edge_ptr):
            return (np.empty(0, np.int64),) * 3
        column = np.repeat(np.arange(self.n_columns), np.diff(self.edge_ptr))
        return column, *np.divmod(self.edge_pair, self.n_labels)

    def weight_columns(self) -> np.ndarray:
        """The column of features that each weight multiplies, -1 for weights of labels alone."""
        column = super().weight_columns()
        column[self.blocks["edge_features"]] = self.edge_coordinates()[0]
        return column

    def triple_table(self, w: np.ndarray) -> np.ndarray | None:
        """Weights of triples as a (1, labels, labels, labels) table; None if there are none."""
        if not len(self.triples):
            return None
        table = np.zeros(self.n_labels**3)
        table[self.triples] = w[self.blocks["edge2"]]
        return table.reshape(1, *(self.n_labels,) * 3)

    def restricted(self, w: np.ndarray, keep: np.ndarray) -> EdgeScorer:
        """The layout of the columns that stay; of those that need not have all labels, without weights of 0."""
        new = super().restricted(w, keep)
        if not len(self.edge_ptr):
            return new
        edge = self.edge_ptr, self.edge_pair, w[self.blocks["edge_features"]]
        ptr, pair = without_zeros(*edge, keep, self.n_labels**2)
        return replace(new, edge_ptr=ptr, edge_pair=pair)

    # -- score and pull back ------------------------------------------------------------------------------------

    def score(self, w: np.ndarray, batch: Batch) -> ChainTables:
        """Potentials of a batch; with edge features one table per edge."""
        theta = super().score(w, batch)
        edge = theta.edge
        if len(self.edge_ptr):
            edge = edge.repeat(theta.n_edges, axis=0)
            self._add_edge_scores(w[self.blocks["edge_features"]], batch, edge.reshape(-1, self.n_labels**2))
        return ChainTables(theta.node, edge, theta.offsets, self.triple_table(w))

    def _add_edge_scores(self, w: np.ndarray, batch: Batch, edge: np.ndarray) -> None:
        from palmette._kernels.linear import score_batch_edges

        rows = batch.rows
        if isinstance(rows, SparseRows):
            layout = rows.indptr, rows.indices, rows.values, self.edge_ptr, self.edge_pair
            score_batch_edges(*layout, w, batch.offsets, edge)
        else:
            right, columns, pairs = self._dense(batch)
            edge[:, pairs] += rows[np.ix_(right, columns)] @ w.reshape(len(columns), len(pairs))

    def pull_back(self, counts: ChainTables, batch: Batch, out: np.ndarray) -> None:
        """Add the adjoint of :meth:`score`, applied to ``counts``, to ``out``."""
        super().pull_back(counts, batch, out)
        blocks = self.blocks
        if len(self.edge_ptr):
            self._add_edge_counts(
                counts.edge.reshape(-1, self.n_labels**2), batch, out[blocks["edge_features"]]
            )
        if counts.triple is not None:
            out[blocks["edge2"]] += counts.triple.sum(axis=0).ravel()[self.triples]

    def _add_edge_counts(self, edge: np.ndarray, batch: Batch, out: np.ndarray) -> None:
        from palmette._kernels.linear import scatter_batch_edges

        rows = batch.rows
        if isinstance(rows, SparseRows):
            layout = rows.indptr, rows.indices, rows.values, self.edge_ptr, self.edge_pair
            scatter_batch_edges(*layout, edge, batch.offsets, out)
        else:
            right, columns, pairs = self._dense(batch)
            out += (rows[np.ix_(right, columns)].T @ edge[:, pairs]).ravel()

    def _dense(self, batch: Batch) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Right rows of the edges, edge columns, and their label pairs, which are the same for all."""
        columns = np.flatnonzero(np.diff(self.edge_ptr))
        pairs = self.edge_pair[: len(self.edge_pair) // max(len(columns), 1)]
        return np.delete(np.arange(batch.n_rows), batch.offsets[:-1]), columns, pairs

    def touched(self, batch: Batch) -> np.ndarray:
        """Positions of the weights that the samples of ``batch`` can change."""
        own, blocks = super().touched(batch), self.blocks
        more = [np.arange(blocks["edge2"].start, blocks["edge2"].stop)]
        if len(self.edge_ptr):
            more.append(blocks["edge_features"].start + ranges(self.edge_ptr, columns_in(batch)))
        return np.concatenate([own, *more])

    # -- explanations -------------------------------------------------------------------------------------------

    def parts(self, w: np.ndarray, batch: Batch, codes: np.ndarray, near: np.ndarray) -> Iterator[Part]:
        """The summands of the score of an output of one sample, as far as they touch the rows ``near`` (bool)."""
        yield from super().parts(w, batch, codes, near)
        table = self.triple_table(w)
        if table is None:
            return
        for t in range(2, len(codes)):
            if near[t - 2 : t + 1].any():
                triple = tuple(codes[t - 2 : t + 1].tolist())
                yield Part("transition", (t - 2, t - 1, t), -1, triple, 1.0, float(table[0][triple]))

    def edge_parts(self, w: np.ndarray, batch: Batch, codes: np.ndarray, ends: np.ndarray) -> Iterator[Part]:
        """Transitions and edge features of the edges that end at these rows."""
        yield from super().edge_parts(w, batch, codes, ends)
        own = w[self.blocks["edge_features"]]
        for t in ends.tolist() if len(self.edge_ptr) else ():
            pair = int(codes[t - 1]), int(codes[t])
            for column, value in entries(batch.rows, t):
                weight = weight_in(
                    self.edge_ptr, self.edge_pair, own, column, pair[0] * self.n_labels + pair[1]
                )
                yield Part("edge feature", (t - 1, t), column, pair, value, weight)

    # -- persistence and growth ---------------------------------------------------------------------------------

    def carry_over(
        self, old: LinearScorer, w: np.ndarray, labels: np.ndarray, columns: np.ndarray | None = None
    ) -> np.ndarray:
        """Weights of ``old`` in this layout; see :meth:`LinearScorer.carry_over`."""
        out = super().carry_over(old, w, labels, columns)
        if not isinstance(old, EdgeScorer):
            return out
        n = self.n_labels
        if len(self.edge_ptr) and len(old.edge_ptr):
            column = old.edge_coordinates()[0]
            column = column if columns is None else columns[column]
            keys = column * n * n + moved(old.edge_pair, 2, old.n_labels, labels, n)
            at, there = positions(
                keys_of(self.edge_ptr, self.edge_pair, n * n), np.where(column < 0, -2, keys)
            )
            out[self.blocks["edge_features"]][at] = w[old.blocks["edge_features"]][there]
        at, there = positions(self.triples, moved(old.triples, 3, old.n_labels, labels, n))
        out[self.blocks["edge2"]][at] = w[old.blocks["edge2"]][there]
        return out

    def joined(self, old: LinearScorer) -> Self:
        """This layout plus all weights of ``old`` (same labels; columns of ``old`` keep their numbers)."""
        both = super().joined(old)
        if not isinstance(old, EdgeScorer):
            return both
        edge_ptr, edge_pair, n_codes = self.edge_ptr, self.edge_pair, self.n_labels**2
        if len(edge_ptr) and len(old.edge_ptr):
            keys = np.union1d(*(keys_of(one.edge_ptr, one.edge_pair, n_codes) for one in (self, old)))
            edge_ptr, edge_pair = from_keys(keys, self.n_columns, n_codes)
        triples = np.union1d(self.triples, old.triples)
        return replace(both, edge_ptr=edge_ptr, edge_pair=edge_pair, triples=triples)

    def check(self) -> None:
        """Raise ValueError unless every index stays within its array."""
        super().check()
        check_layout("edge_features", self.edge_ptr, self.edge_pair, self.n_columns, self.n_labels**2)
        check_ascending("triples", self.triples, self.n_labels**3)

    def check_dense(self) -> None:
        """Raise ValueError unless the layout serves dense rows: columns of edge features have the same pairs."""
        super().check_dense()
        sizes = np.diff(self.edge_ptr)
        sizes = sizes[sizes > 0]
        if len(sizes) and (
            np.any(sizes != sizes[0]) or np.any(np.diff(self.edge_pair.reshape(len(sizes), -1), axis=0))
        ):
            raise ValueError(
                "the features are dense, but columns of edge features have different label pairs"
            )

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Header and arrays for a model file."""
        header, arrays = super().state()
        more = {"edge_ptr": self.edge_ptr, "edge_pair": self.edge_pair, "triples": self.triples}
        return header, arrays | more

    @classmethod
    def from_state(cls, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> EdgeScorer:
        """Inverse of :meth:`state`."""
        plain = LinearScorer.from_state(header, arrays)
        return cls(
            **{name: getattr(plain, name) for name in PLAIN},
            edge_ptr=needed(arrays, "edge_ptr"),
            edge_pair=needed(arrays, "edge_pair"),
            triples=needed(arrays, "triples"),
        )


def without_columns(plain: LinearScorer, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The node layout without some columns."""
    column, label = plain.coordinates()
    kept = ~columns[column]
    return from_keys(column[kept] * plain.n_labels + label[kept], plain.n_columns, plain.n_labels)
