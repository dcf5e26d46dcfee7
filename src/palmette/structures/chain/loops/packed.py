"""Chains packed for the compiled loops: weights in padded rows, occurrences sorted by kind."""

from __future__ import annotations

import copy
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from palmette._kernels.constants import NEVER, padded
from palmette.contracts.problem import SampledProblem
from palmette.data.annotation import UNKNOWN_CODE, Annotation, confusion_costs
from palmette.data.batch import Batch, SparseRows
from palmette.loops.table import compiled_as

if TYPE_CHECKING:
    from palmette.data.span_encodings import Transitions
    from palmette.structures.chain.kernels.packed import Chains, Limits, Weights
    from palmette.structures.positions.linear_scorer import LinearScorer


def packs(problem: SampledProblem) -> bool:
    """Whether samples can be packed: chains of order 1, scored by weights of features, of edges too."""
    kind = compiled_as(problem.scorer)
    linear = kind == "linear" or (kind == "edges" and not len(problem.scorer.triples))
    return linear and problem.structure.order == 1


def packs_plain(problem: SampledProblem) -> bool:
    """The same without features of edges."""
    return packs(problem) and compiled_as(problem.scorer) == "linear"


def packed(problem: SampledProblem, dtype: Any) -> PackedChains:
    """The samples of a problem packed, in this precision; kept with the problem."""
    memory, wanted = problem.memory, ("packed", np.dtype(dtype))
    if wanted not in memory:
        # From others only if these have all digits: what is rounded once would make results depend on who asked first.
        there = (chains for chains in memory.values() if isinstance(chains, PackedChains))
        whole = next((chains for chains in there if chains.dtype == float or not chains.valued), None)
        if whole is None:
            rules = getattr(problem.structure, "rules", None)
            memory[wanted] = PackedChains(problem.scorer, problem.whole, dtype, rules)
        else:
            memory[wanted] = whole.astype(dtype)
    return memory[wanted]


def are_even(problem: SampledProblem) -> bool:
    """Whether the weights of each column have one strength, and so have intercepts and transitions."""
    scorer = problem.scorer
    for strengths in (problem.regularizer.l2, problem.regularizer.l1):
        node, *others = (strengths[scorer.blocks[name]] for name in ("node", "bias", "edge"))
        if any(np.any(own != own[:1]) for own in others):
            return False
        if np.any(node != node[:1]):
            column, of_column = scorer.coordinates()[0], np.empty(scorer.n_columns)
            of_column[column] = node
            if np.any(of_column[column] != node):
                return False
    return True


def cost_table(problem: SampledProblem, chains: PackedChains) -> np.ndarray:
    """Cost of each confusion, flat with padded rows; zero where the surrogate has no task loss."""
    out = np.zeros((chains.n_labels, chains.width), chains.dtype)
    loss = getattr(problem.surrogate, "task_loss", None)
    if loss is not None:
        out[:, : chains.n_labels] = loss.table
    return out.ravel()


def told_costs(problem: SampledProblem, chains: PackedChains) -> tuple[np.ndarray, np.ndarray]:
    """A cost table with a row for all that may be known of a position, and the row of each position.

    Without annotation these are :func:`cost_table` and the codes; with one, rows of sets of labels and of nothing
    follow.
    """
    table, annotation = cost_table(problem, chains), problem.samples.annotation
    if annotation is None:
        return table, problem.samples.codes
    k = chains.n_labels
    sets = np.empty((0, k), bool) if annotation.sets is None else annotation.sets
    every = np.append(np.arange(k + len(sets)), UNKNOWN_CODE)
    out = np.zeros((len(every), chains.width), chains.dtype)
    out[:, :k] = confusion_costs(table.reshape(k, -1)[:, :k], Annotation(every, sets))
    rows = np.where(annotation.codes == UNKNOWN_CODE, len(every) - 1, annotation.codes)
    return out.ravel(), rows.astype(problem.samples.codes.dtype)


class PackedChains:
    """A batch of chains and the layout of its weights, as the kernels of ``chain.kernels.packed`` read them.

    A column seen with one label has one weight; the others have a row of weights, one for each label, padded to
    ``width``, a multiple of eight. The intercept is a column that stands in every row. What ``rules`` forbid scores
    ``NEVER``: label pairs in the table of transitions, starts and ends in two columns that stand in the first and the
    last row of a sample. None of these entries is a weight.

    Parameters
    ----------
    scorer : LinearScorer
    batch : Batch
    dtype : dtype
        Of packed weights and of feature values.
    rules : palmette.data.span_encodings.Transitions, optional
        Which labels may begin a sample, follow each other and end it.
    """

    def __init__(
        self, scorer: LinearScorer, batch: Batch, dtype: Any, rules: Transitions | None = None
    ) -> None:
        self.scorer, self.offsets, self.dtype = scorer, batch.offsets, np.dtype(dtype)
        self.n_labels = scorer.n_labels
        self.width = padded(self.n_labels)
        self.rules = rules
        self.inputs = self._split(self._place_weights(), *_sparse(batch))
        if rules is not None:
            self.inputs = _with_ends(self.inputs, self.offsets, self.n_rows - 2)
        self.base = np.where(np.arange(self.width) < self.n_labels, 0.0, NEVER).astype(self.dtype)
        bounds = self.inputs.multi_at[self.offsets]
        self.most = int(np.diff(bounds).max(initial=0))  # occurrences of multi columns in one sample

    def astype(self, dtype: Any) -> PackedChains:
        """The same in another precision; what does not depend on it is shared."""
        other = copy.copy(self)
        other.dtype, other.base = np.dtype(dtype), self.base.astype(dtype)
        values = {
            name: getattr(self.inputs, name).astype(dtype)
            for name in ("multi_value", "single_value", "edge_value")
        }
        other.inputs = self.inputs._replace(**values)
        return other

    @property
    def valued(self) -> bool:
        """Whether features have values other than 1."""
        inputs = self.inputs
        return any(len(part) for part in (inputs.multi_value, inputs.single_value, inputs.edge_value))

    def slice(self, start: int, stop: int) -> PackedChains:
        """Samples ``start:stop``; the long arrays are views, and what does not depend on samples is shared."""
        lo, hi = int(self.offsets[start]), int(self.offsets[stop])
        part, inputs = copy.copy(self), self.inputs
        part.offsets = self.offsets[start : stop + 1] - lo
        for at, *arrays in (("multi_at", "multi", "multi_value"), ("single_at", "single", "single_value"),
                            ("edge_at", "edge_column", "edge_value")):  # fmt: skip
            place = getattr(inputs, at)
            if len(place) > 1:
                first, last = int(place[lo]), int(place[hi])
                views = {name: getattr(inputs, name)[first:last] for name in arrays}
                inputs = inputs._replace(**{at: place[lo : hi + 1] - first}, **views)
        part.inputs = inputs
        return part

    def _place_weights(self) -> np.ndarray:
        """Note where each weight goes, as in ``rows[row_position] = w[row_weight]``; return where each column does."""
        scorer, k = self.scorer, self.n_labels
        if len(scorer.ptr):
            n_labels_of = np.diff(scorer.ptr)
        else:
            n_labels_of = np.full(scorer.n_columns, k)
        multi, single = np.flatnonzero(n_labels_of > 1), np.flatnonzero(n_labels_of == 1)
        place = np.full(scorer.n_columns, np.iinfo(np.int64).min)
        place[multi] = np.arange(len(multi))
        place[single] = -1 - np.arange(len(single))
        self.n_multi, self.n_single = len(multi), len(single)
        self.bias_row = self.n_multi if scorer.intercept else -1
        column, label = scorer.coordinates()
        row = place[column]
        in_row = np.flatnonzero(row >= 0)
        self.row_weight = in_row
        self.row_position = row[in_row] * self.width + label[in_row]
        self.single_weight = np.flatnonzero((row < 0) & (row >= -1 - self.n_single))
        self.single_label = label[self.single_weight].astype(np.int32)
        blocks = scorer.blocks
        if scorer.intercept:
            bias = np.arange(blocks["bias"].start, blocks["bias"].stop)
            self.row_weight = np.concatenate([self.row_weight, bias])
            self.row_position = np.concatenate([self.row_position, self.bias_row * self.width + np.arange(k)])
        i, j = np.divmod(scorer.pairs, k)
        allowed = slice(None) if self.rules is None else self.rules.transition[i, j]
        self.edge_pair = scorer.pairs[allowed]
        self.edge_weight = np.arange(blocks["edge"].start, blocks["edge"].stop)[allowed]
        self.edge_position = (i * self.width + j)[allowed]
        self._place_rules()
        features = blocks.get("edge_features", slice(0, 0))
        self.feature_weight = np.arange(features.start, features.stop)
        if max(scorer.n_params, self.n_rows * self.width) < np.iinfo(np.int32).max:
            for name in ("row_weight", "row_position", "single_weight"):  # the long ones
                setattr(self, name, getattr(self, name).astype(np.int32))
        return place

    def _place_rules(self) -> None:
        """Note which entries of rows and of transitions say that something is forbidden."""
        self.forbidden_row = self.forbidden_edge = np.empty(0, np.int64)
        if self.rules is not None:
            rows, labels = np.nonzero(~np.stack([self.rules.start, self.rules.end]))
            self.forbidden_row = (self.n_rows - 2 + rows) * self.width + labels
            i, j = np.nonzero(~self.rules.transition)
            self.forbidden_edge = i * self.width + j

    @property
    def edge_features(self) -> bool | None:
        """True or None, as the kernels want it."""
        return True if len(self.feature_weight) else None

    @property
    def n_rows(self) -> int:
        """Rows of weights, the intercept's included, and those of starts and ends."""
        return self.n_multi + (self.bias_row >= 0) + 2 * (self.rules is not None)

    def _split(self, place: np.ndarray, indptr: np.ndarray, indices: np.ndarray, values: np.ndarray) -> Any:
        from palmette.structures.chain.kernels.packed import Inputs, count_kinds, split_columns

        n_multi, n_single = count_kinds(indices, place)
        n_multi += (len(indptr) - 1) * (self.bias_row >= 0)
        valued = len(values) > 0
        at = (np.zeros(len(indptr), np.int64) for _ in range(2))
        inputs = Inputs(
            next(at), np.empty(n_multi, np.int32), np.empty(n_multi * valued, self.dtype),
            next(at), np.empty(n_single, np.int32), np.empty(n_single * valued, self.dtype), self.single_label,
            *self._edge_inputs(indptr, indices, values),
        )  # fmt: skip
        split_columns(indptr, indices, values, place, self.bias_row, *inputs[:6])
        return inputs

    def _edge_inputs(self, indptr: np.ndarray, indices: np.ndarray, values: np.ndarray) -> list[np.ndarray]:
        """Occurrences of the columns with edge features, and the layout of these."""
        from palmette.structures.chain.kernels.packed import keep_columns

        ptr = getattr(self.scorer, "edge_ptr", np.empty(0, np.int64))
        at, column, value = np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, self.dtype)
        if len(ptr):
            kept = np.flatnonzero(np.diff(ptr))
            place = np.full(self.scorer.n_columns, -1)
            place[kept] = np.arange(len(kept))
            at = np.zeros(len(indptr), np.int64)
            n = keep_columns(indptr, indices, values, place, at, column, value)
            column, value = np.empty(n, np.int32), np.empty(n * (len(values) > 0), self.dtype)
            keep_columns(indptr, indices, values, place, at, column, value)
            ptr = np.append(ptr[kept], ptr[-1])  # the columns between have no weights
        i, j = np.divmod(
            getattr(self.scorer, "edge_pair", np.empty(0, np.int64)).astype(np.int64), self.n_labels
        )
        return [at, column, value, ptr, i * self.width + j]

    def view(self, samples: Any) -> Chains:
        """What kernels read of these samples, or of pieces of them."""
        from palmette.structures.chain.kernels.packed import Chains

        given = samples.batch.offsets, samples.codes, samples.weight
        return Chains(self.inputs, self.base, *given, self.n_labels, self.width)

    def rows_of_longest(self, count: int) -> list[np.ndarray]:
        """Room for kernels to work in: some flat arrays for the rows of labels of any one sample."""
        size = int(np.diff(self.offsets).max(initial=0)) * self.width
        return [np.empty(size, self.dtype) for _ in range(count)]

    def limits(self, annotation: Annotation | None) -> Limits | None:
        """What an annotation allows, as kernels read it."""
        from palmette.structures.chain.kernels.packed import Limits

        if annotation is None:
            return None
        possible = np.concatenate([np.eye(self.n_labels), annotation.sets, np.ones((1, self.n_labels))])
        table = np.zeros((len(possible), self.width), self.dtype)
        table[:, : self.n_labels] = np.where(possible, 0.0, NEVER)
        row = np.where(annotation.codes < 0, len(table) - 1, annotation.codes).astype(np.int64)
        return Limits(row, table.ravel())

    # -- weights ------------------------------------------------------------------------------------------------

    def zeros(self) -> Weights:
        """Packed weights, all zero."""
        from palmette.structures.chain.kernels.packed import Weights

        return Weights(
            np.zeros(self.n_rows * self.width, self.dtype),
            np.zeros(self.n_single, self.dtype),
            np.zeros(self.n_labels * self.width, self.dtype),
            np.zeros(len(self.feature_weight), self.dtype),
        )

    def pack_weights(self, w: np.ndarray) -> Weights:
        """A weight vector, packed, with what is forbidden."""
        packed = self.pack(w)
        packed.rows[self.forbidden_row] = NEVER
        packed.edge[self.forbidden_edge] = NEVER
        return packed

    def pack(self, w: np.ndarray) -> Weights:
        """A vector with an entry for each weight, packed."""
        packed = self.zeros()
        packed.rows[self.row_position] = w[self.row_weight]
        packed.singles[:] = w[self.single_weight]
        packed.edge[self.edge_position] = w[self.edge_weight]
        packed.edge_features[:] = w[self.feature_weight]
        return packed

    def unpack(self, packed: Weights, out: np.ndarray | None = None) -> np.ndarray:
        """The weight vector of packed weights, added to ``out`` if given."""
        out = np.zeros(self.scorer.n_params) if out is None else out
        out[self.row_weight] += packed.rows[self.row_position]
        out[self.single_weight] += packed.singles
        out[self.edge_weight] += packed.edge[self.edge_position]
        out[self.feature_weight] += packed.edge_features
        return out

    @cached_property
    def mask(self) -> np.ndarray:
        """Which entries of the rows are weights, a bit each."""
        there = np.zeros(self.n_rows * self.width, bool)
        there[self.row_position] = True
        return np.packbits(there, bitorder="little")

    @cached_property
    def edge_mask(self) -> np.ndarray:
        """The same for label pairs; empty for structures without edges."""
        there = np.zeros(self.n_labels * self.width if self.scorer.has_edges else 0, bool)
        there[self.edge_position] = True
        return np.packbits(there, bitorder="little")

    def per_row(self, strengths: np.ndarray) -> Weights:
        """One number per row, single weight, row of label pairs and edge feature, from numbers equal in a row."""
        from palmette.structures.chain.kernels.packed import Weights

        rows, edge = np.zeros(self.n_rows, self.dtype), np.zeros(self.n_labels, self.dtype)
        rows[self.row_position // self.width] = strengths[self.row_weight]
        edge[self.edge_position // self.width] = strengths[self.edge_weight]
        rest = (strengths[part].astype(self.dtype) for part in (self.single_weight, self.feature_weight))
        return Weights(rows, next(rest), edge, next(rest))

    def edge_factors(self, packed: Weights) -> tuple[np.ndarray, np.ndarray, float]:
        """``exp(edge - shift)`` (width x width, flat), its transpose, and the shift."""
        table = packed.edge.reshape(self.n_labels, self.width)[:, : self.n_labels]
        shift = table.max()
        factor = np.zeros((self.width, self.width), self.dtype)
        factor[: self.n_labels, : self.n_labels] = np.exp(table - shift)
        return factor.ravel(), factor.T.ravel(), float(shift)


def _with_ends(inputs: Any, offsets: np.ndarray, row: int) -> Any:
    """The inputs with the column ``row`` in the first row of every sample, and ``row + 1`` in the last."""
    filled = np.diff(offsets) > 0
    ends = np.concatenate([offsets[:-1][filled], offsets[1:][filled] - 1])
    codes = np.repeat(np.array([row, row + 1], np.int32), filled.sum())
    more = np.zeros(len(inputs.multi_at), np.int64)
    np.add.at(more, ends + 1, 1)
    behind = inputs.multi_at[ends + 1]
    values = np.insert(inputs.multi_value, behind, 1.0) if len(inputs.multi_value) else inputs.multi_value
    return inputs._replace(
        multi_at=inputs.multi_at + np.cumsum(more),
        multi=np.insert(inputs.multi, behind, codes),
        multi_value=values,
    )


def _sparse(batch: Batch) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of a batch as pointers, columns and values (empty if all are 1)."""
    rows = batch.rows
    if isinstance(rows, SparseRows):
        return rows.indptr, rows.indices, rows.values
    t, a = np.nonzero(rows)
    indptr = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(np.bincount(t, minlength=len(rows)), out=indptr[1:])
    values = np.asarray(rows, float)[t, a]
    return indptr, a.astype(np.int32), values[:0] if np.all(values == 1.0) else values
