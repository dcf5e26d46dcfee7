"""Linear scores: from weights and features to potentials, and back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from palmette.data.batch import Batch, SparseRows
from palmette.data.checks import check_ascending, check_layout, check_type, check_whole, entry, needed
from palmette.registry import register
from palmette.structures.positions.layout import (
    check_weights,
    from_keys,
    moved,
    observed_tuples,
    positions,
    ranges,
    used_columns,
    without_zeros,
)
from palmette.structures.positions.padded_scorer import PaddedScorer, pays
from palmette.structures.positions.part_norms import part_norms
from palmette.structures.positions.score_parts import Part, ends_near, entries, weight_in
from palmette.structures.positions.tables import ChainTables


@register("scorer", "linear")
@dataclass(frozen=True)
class LinearScorer:
    """Potentials linear in the weights: ``node = features x node weights + bias``, ``edge = edge weights``.

    The weight vector is ``[node | bias | edge]``. Node weights of column a stand at ``ptr[a]:ptr[a + 1]`` for the
    labels ``label[...]`` seen with it in training (``states="observed"``); with ``ptr`` empty every column has all
    labels (``states="all"``). Edge weights exist for the label pairs ``pairs`` (flat codes ``i * n_labels + j``);
    pairs without a weight score 0.

    Parameters
    ----------
    n_columns, n_labels : int
    ptr, label : ndarray of int64 and int32
    pairs : ndarray of int64
        Empty for structures without edges.
    intercept : bool
        Whether there is a bias per label.
    """

    n_columns: int
    n_labels: int
    ptr: np.ndarray
    label: np.ndarray
    pairs: np.ndarray
    intercept: bool
    has_edges: bool

    compiled_as = "linear"
    row_blocks: ClassVar[tuple[str, ...]] = ("node",)
    """Blocks of weights with an entry for each column of the rows: what a change of columns changes."""

    @classmethod
    def for_data(
        cls, batch: Batch, codes: np.ndarray, n_labels: int, *, states: str, transitions: str, intercept: bool,
        has_edges: bool,
    ) -> LinearScorer:  # fmt: skip
        """Lay out the weights for training data (``codes`` of every row; -1 where unknown).

        With ``"observed"`` only the (column, label) and (label, label) combinations of the training data have a
        weight, as taggers on string features usually do; with ``"all"`` every combination has one.
        """
        n_columns, pointers = batch.n_columns, states == "observed"
        check_weights(
            f"{n_labels:,} labels and {n_columns:,} features",
            n_node=0 if pointers else n_columns * n_labels,
            n_edge=n_labels**2 if has_edges and transitions == "all" else 0,
            n_tables=n_labels**2 if has_edges else 0,
            n_pointers=n_columns if pointers else 0,
        )
        ptr, label = np.empty(0, np.int64), np.empty(0, np.int32)
        if pointers:
            ptr, label = _observed_states(batch, codes, n_labels)
        pairs = np.empty(0, np.int64)
        if has_edges:
            pairs = (
                np.arange(n_labels * n_labels)
                if transitions == "all"
                else observed_tuples(codes, batch.offsets, 2, n_labels)
            )
        return cls(n_columns, n_labels, ptr, label, pairs, intercept, has_edges)

    # -- layout -------------------------------------------------------------------------------------------------

    @property
    def n_node(self) -> int:
        """Number of node weights."""
        return len(self.label) if len(self.ptr) else self.n_columns * self.n_labels

    @property
    def n_params(self) -> int:
        """Length of the weight vector."""
        return self.n_node + self.intercept * self.n_labels + len(self.pairs)

    @property
    def blocks(self) -> dict[str, slice]:
        """Where node, bias and edge weights stand in the weight vector."""
        a = self.n_node
        b = a + self.intercept * self.n_labels
        return {"node": slice(0, a), "bias": slice(a, b), "edge": slice(b, b + len(self.pairs))}

    def coordinates(self) -> tuple[np.ndarray, np.ndarray]:
        """Column and label of every node weight."""
        if len(self.ptr):
            return np.repeat(np.arange(self.n_columns), np.diff(self.ptr)), self.label
        return np.divmod(np.arange(self.n_node), self.n_labels)

    def edge_coordinates(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Column, left label and right label of every weight of a feature on edges; here there are none."""
        return (np.empty(0, np.int64),) * 3

    def triple_table(self, w: np.ndarray) -> np.ndarray | None:
        """Weights of label triples as a (1, labels, labels, labels) table; None if there are none."""
        return None

    def weight_columns(self) -> np.ndarray:
        """The column of features that each weight multiplies, -1 for weights of labels alone."""
        column = np.full(self.n_params, -1)
        column[self.blocks["node"]] = self.coordinates()[0]
        return column

    def edge_table(self, w: np.ndarray) -> np.ndarray:
        """Edge weights as a (1, labels, labels) table; (0, labels, labels) without edges."""
        if not self.has_edges:
            return np.empty((0, self.n_labels, self.n_labels))
        table = np.zeros(self.n_labels * self.n_labels)
        table[self.pairs] = w[self.blocks["edge"]]
        return table.reshape(1, self.n_labels, self.n_labels)

    # -- score and pull back ------------------------------------------------------------------------------------

    def score(self, w: np.ndarray, batch: Batch) -> ChainTables:
        """Potentials of a batch."""
        from palmette._kernels.linear import score_rows

        blocks = self.blocks
        if isinstance(batch.rows, SparseRows):
            rows = batch.rows
            node = np.zeros((len(rows), self.n_labels))
            score_rows(rows.indptr, rows.indices, rows.values, self.ptr, self.label, w, 0, len(rows), node)
        else:
            node = batch.rows @ w[blocks["node"]].reshape(self.n_columns, self.n_labels)
        if self.intercept:
            node += w[blocks["bias"]]
        return ChainTables(node, self.edge_table(w), batch.offsets)

    def for_many_rows(self, w: np.ndarray, n_rows: int) -> Any:
        """What scores batches of so many rows in all at these weights: this scorer, or one that does it faster."""
        return PaddedScorer.of(self, w) if type(self) is LinearScorer and pays(self, n_rows) else self

    def pull_back(self, counts: ChainTables, batch: Batch, out: np.ndarray) -> None:
        """Add the adjoint of :meth:`score`, applied to ``counts``, to ``out``."""
        from palmette._kernels.linear import scatter_rows

        blocks = self.blocks
        if isinstance(batch.rows, SparseRows):
            rows = batch.rows
            scatter_rows(
                rows.indptr, rows.indices, rows.values, self.ptr, self.label, counts.node, 0, len(rows), out
            )
        else:
            out[blocks["node"]] += (batch.rows.T @ counts.node).ravel()
        if self.intercept:
            out[blocks["bias"]] += counts.node.sum(axis=0)
        if self.has_edges:
            out[blocks["edge"]] += counts.edge.sum(axis=0).ravel()[self.pairs]

    def part_norms(self, batch: Batch) -> Any:
        """Norms of the features of every part, in the shape of potentials."""
        return part_norms(self, batch)

    # -- one sample at a time -----------------------------------------------------------------------------------

    def raw(self, batch: Batch) -> tuple[Any, ...]:
        """Inputs and layout as the per-sample kernels take them (``palmette._kernels.sample_scores``)."""
        rows = batch.rows
        blocks = self.blocks
        layout = self.ptr, self.label, self.pairs, blocks["bias"].start, blocks["edge"].start
        if isinstance(rows, SparseRows):
            return np.empty((0, 0)), rows.indptr, rows.indices, rows.values, *layout
        return rows, np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0), *layout

    def touched(self, batch: Batch) -> np.ndarray:
        """Positions of the weights that the samples of ``batch`` can change."""
        blocks = self.blocks
        common = np.arange(blocks["bias"].start, blocks["edge"].stop)
        columns = columns_in(batch)
        ptr = self.ptr if len(self.ptr) else np.arange(self.n_columns + 1) * self.n_labels
        return np.concatenate([ranges(ptr, columns), common])

    def transitions(self, weights: np.ndarray) -> np.ndarray:
        """Which of the weights at these positions belong to label pairs that stand on every edge."""
        block = self.blocks["edge"]
        return (weights >= block.start) & (weights < block.stop)

    # -- explanations -------------------------------------------------------------------------------------------

    def parts(self, w: np.ndarray, batch: Batch, codes: np.ndarray, near: np.ndarray) -> Iterator[Part]:
        """The summands of the score of an output of one sample, as far as they touch the rows ``near`` (bool)."""
        yield from self.node_parts(w, batch, codes, near)
        yield from self.edge_parts(w, batch, codes, ends_near(near))

    def node_parts(self, w: np.ndarray, batch: Batch, codes: np.ndarray, near: np.ndarray) -> Iterator[Part]:
        """Features and bias of rows."""
        bias = w[self.blocks["bias"]]
        for t in np.flatnonzero(near).tolist():
            label = int(codes[t])
            yield from self.row_parts("feature", w, batch.rows, t, label, (t,))
            if self.intercept:
                yield Part("bias", (t,), -1, (label,), 1.0, float(bias[label]))

    def edge_parts(self, w: np.ndarray, batch: Batch, codes: np.ndarray, ends: np.ndarray) -> Iterator[Part]:
        """Transitions of the edges that end at these rows."""
        if not self.has_edges:
            return
        table = self.edge_table(w)[0]
        for t in ends.tolist():
            pair = int(codes[t - 1]), int(codes[t])
            yield Part("transition", (t - 1, t), -1, pair, 1.0, float(table[pair]))

    def row_parts(
        self,
        kind: str,
        w: np.ndarray,
        rows: np.ndarray | SparseRows,
        t: int,
        label: int,
        place: tuple[int, ...],
    ) -> Iterator[Part]:
        """The features of row t, with their weights for a label."""
        for column, value in entries(rows, t):
            own = (
                weight_in(self.ptr, self.label, w, column, label)
                if len(self.ptr)
                else float(w[column * self.n_labels + label])
            )
            yield Part(kind, place, column, (label,), value, own)

    # -- persistence and growth ---------------------------------------------------------------------------------

    def carry_over(
        self, old: LinearScorer, w: np.ndarray, labels: np.ndarray, columns: np.ndarray | None = None
    ) -> np.ndarray:
        """Weights of ``old`` in this layout; what is new starts at zero, what is gone is dropped.

        ``labels[k]`` is this scorer's code of old label k, ``columns[a]`` its number of old column a (-1 if gone;
        by default columns keep their numbers).
        """
        out = np.zeros(self.n_params)
        column, label = old.coordinates()
        column = column if columns is None else columns[column]
        kept = column >= 0
        key = column[kept].astype(np.int64) * self.n_labels + labels[label[kept]]
        values = w[old.blocks["node"]][kept]
        if len(self.ptr):
            own_column, own_label = self.coordinates()
            at, there = positions(own_column * self.n_labels + own_label, key)
            out[at] = values[there]
        else:
            out[key] = values
        if self.intercept and old.intercept:
            out[self.blocks["bias"]][labels] = w[old.blocks["bias"]]
        if self.has_edges:
            at, there = positions(self.pairs, moved(old.pairs, 2, old.n_labels, labels, self.n_labels))
            out[self.blocks["edge"]][at] = w[old.blocks["edge"]][there]
        return out

    def used_columns(self, w: np.ndarray) -> np.ndarray:
        """Which columns have a weight that is not 0, bool (n_columns,)."""
        return used_columns(self, w)

    def restricted(self, w: np.ndarray, keep: np.ndarray) -> Self:
        """The layout of the columns that stay; of those that need not have all labels, without weights of 0."""
        new: dict[str, Any] = {"n_columns": int(keep.sum())}
        if len(self.ptr):
            own = self.ptr, self.label, w[self.blocks["node"]]
            new["ptr"], new["label"] = without_zeros(*own, keep, self.n_labels)
        return replace(self, **new)

    def joined(self, old: LinearScorer) -> Self:
        """This layout plus all weights of ``old`` (same labels; columns of ``old`` keep their numbers)."""
        ptr, label = self.ptr, self.label
        if len(ptr):
            keys = [
                c.astype(np.int64) * self.n_labels + k for c, k in (self.coordinates(), old.coordinates())
            ]
            ptr, label = from_keys(np.unique(np.concatenate(keys)), self.n_columns, self.n_labels)
        return replace(self, ptr=ptr, label=label, pairs=np.union1d(self.pairs, old.pairs))

    def check(self) -> None:
        """Raise ValueError unless every index stays within its array."""
        check_whole("n_columns", self.n_columns)
        check_whole("n_labels", self.n_labels, 1)
        for name in ("intercept", "has_edges"):
            check_type(name, getattr(self, name), bool)
        check_layout("node", self.ptr, self.label, self.n_columns, self.n_labels)
        check_ascending("pairs", self.pairs, self.n_labels**2 if self.has_edges else 0)

    def check_inputs(self, n_columns: int, n_more: int) -> None:
        """Raise ValueError unless inputs have these columns, and so many more of edges or segments."""
        if (self.n_columns, 0) != (n_columns, n_more):
            raise ValueError(
                f"the inputs have {n_columns} columns and {n_more} more, the weights are for {self.n_columns} and 0"
            )

    def with_columns(self, n_columns: int) -> Self:
        """The same layout for dense rows of another number of columns."""
        return replace(self, n_columns=n_columns)

    def check_dense(self) -> None:
        """Raise ValueError unless the layout serves dense rows: every column has the same weights."""
        if len(self.ptr):
            raise ValueError("the features are dense, but only some pairs of column and label have a weight")

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Header and arrays for a model file."""
        header = {
            "n_columns": self.n_columns,
            "n_labels": self.n_labels,
            "intercept": self.intercept,
            "has_edges": self.has_edges,
        }
        return header, {"ptr": self.ptr, "label": self.label, "pairs": self.pairs}

    @classmethod
    def from_state(cls, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> LinearScorer:
        """Inverse of :meth:`state`."""
        sizes = [entry(header, name, int, "the scorer") for name in ("n_columns", "n_labels")]
        flags = [entry(header, name, bool, "the scorer") for name in ("intercept", "has_edges")]
        return cls(*sizes, *(needed(arrays, name) for name in ("ptr", "label", "pairs")), *flags)


def columns_in(batch: Batch) -> np.ndarray:
    """Columns that have a value other than 0 in some row."""
    rows = batch.rows
    if isinstance(rows, SparseRows):
        return np.unique(rows.indices[rows.indptr[0] : rows.indptr[-1]])
    return np.flatnonzero(np.any(rows != 0.0, axis=0))


def _observed_states(batch: Batch, codes: np.ndarray, n_labels: int) -> tuple[np.ndarray, np.ndarray]:
    from palmette._kernels.linear import observed_pairs

    if not isinstance(batch.rows, SparseRows):
        raise ValueError(
            "states='observed' needs sparse or string features; dense arrays use every column with every label: "
            "use states='all'"
        )
    seen = np.zeros(batch.n_columns * n_labels, bool)
    observed_pairs(batch.rows.indptr, batch.rows.indices, codes, n_labels, seen)
    return from_keys(np.flatnonzero(seen), batch.n_columns, n_labels)
