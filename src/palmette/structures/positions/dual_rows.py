"""Dual ascent on any structure whose scores are rows of features and shared tables: the variables, and their layout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from palmette._kernels.constants import padded
from palmette.contracts.problem import SampledProblem
from palmette.data.batch import SparseRows
from palmette.loops.table import CompiledLoop, compiled_as, find, why_not
from palmette.memory import check_size

if TYPE_CHECKING:
    from palmette._kernels.dual_rows import Rows, Tables


class ColumnWeights(NamedTuple):
    """Weights of columns: what each multiplies, which place of a row it scores, and where it stands in the vector."""

    column: np.ndarray
    place: np.ndarray
    weight: np.ndarray


class RowLayout(NamedTuple):
    """What a structure tells of its weights.

    ``columns`` are weights of features, ``every`` those that stand in rows whatever their features: (the column that
    each row has, one for all or an array; the weights of these columns). ``table`` is the weight of every entry of the
    tables that a sample reads, -1 where there is none.
    """

    width: int
    columns: Sequence[ColumnWeights]
    every: tuple[np.ndarray, ColumnWeights] | None
    table: np.ndarray


def columns_of(scorer: Any, block: slice, place: int = 0) -> ColumnWeights:
    """The weights of a linear scorer, in a block of the weight vector, for the places from ``place`` on."""
    column, label = scorer.coordinates()
    return ColumnWeights(column, place + label, np.arange(block.start, block.stop))


def bias_of_all(scorer: Any) -> tuple[np.ndarray, ColumnWeights] | None:
    """The intercept as a column that all rows have, if there is one."""
    if not scorer.intercept:
        return None
    block, k = scorer.blocks["bias"], scorer.n_labels
    none = np.zeros(k, np.int64)
    return none[:1], ColumnWeights(none, np.arange(k), np.arange(block.start, block.stop))


class RowSums(CompiledLoop):
    """The sums of one structure over rows and tables: entered in the table of loops under ``"row sums"``."""

    def layout(self) -> RowLayout:
        """Which weights rows and tables have."""
        raise NotImplementedError(f"{type(self).__name__} must have layout()")

    def run(self, x: Rows, tables: Tables, ascent: Any, mode: int, order: np.ndarray) -> int:
        """A pass over the samples of ``order``; returns how many were out of range and left as they are."""
        raise NotImplementedError(f"{type(self).__name__} must have run(x, tables, ascent, mode, order)")


class DualRows(CompiledLoop):
    r"""Marginals ``mu_i`` of every sample, the weights that they imply, and bounds on their entropies.

    As for chains of first order, with ``psi(y)`` the features of an output, the dual of
    ``sum_i c_i loss_i(w) + R(w)`` is

        ``D(mu) = sum_i c_i H(mu_i) - R*(z),   z = sum_i c_i (psi(y_i) - E_mu_i psi),   w = soft(z, l1) / l2``.

    Stored are marginals minus truth of the places of every row, those of the weights of tables summed over a sample,
    and ``entropy[i] <= H(mu_i)``. All start at the truth, where ``D = 0``. Strengths may differ from weight to weight.
    """

    needs: ClassVar[str] = "row sums"
    # On 10,000 tokens of CoNLL-2000: forests break even here, second order a little earlier, segments later.
    short_steps: ClassVar[float] = 20.0
    few_features: ClassVar[int] = 0

    @classmethod
    def why_not(cls, problem: SampledProblem) -> str | None:
        """What it cannot take of a problem, or nothing; None where no structure has sums for it."""
        if compiled_as(problem.surrogate) != "log" or problem.samples.annotation is not None:
            return None
        reason = why_not(cls.needs, problem, "")
        if reason or find(cls.needs, problem) is None:
            return reason or None
        return "" if problem.regularizer.strongly_convex else "needs l2 > 0 on every weight"

    def __init__(self, problem: SampledProblem, dtype: Any) -> None:
        from palmette._kernels.dual_rows import Ascent

        self.dtype = np.dtype(dtype)
        self._bind(problem)
        reg, n_samples, n_table = problem.regularizer, len(self.weight), len(self.place) - self.tables.start
        l2, l1 = np.append(reg.l2, np.inf)[self.place], np.append(reg.l1, 0.0)[self.place]
        n_rows, width = len(self.x.at) - 1, self.x.width
        check_size(
            f"{n_samples:,} samples, {n_rows:,} rows, {n_table:,} weights of tables: this solver keeps marginals",
            self.dtype.itemsize * (n_rows * width + n_samples * n_table) + 24 * len(self.place),
            "solver='lbfgs' or 'stochastic' keeps none",
        )
        has_l1 = reg.has_l1
        self.ascent = Ascent(
            np.zeros(len(l2)), np.zeros(len(l2) * has_l1), 1.0 / l2, l1 if has_l1 else np.empty(0),
            np.zeros(n_rows * width, self.dtype),
            np.zeros((n_samples, n_table), self.dtype), np.zeros(n_samples), np.full(n_samples, np.inf),
        )  # fmt: skip
        self.gap[(self.weight == 0.0) | (np.diff(self.offsets) == 0)] = 0.0

    @property
    def gap(self) -> np.ndarray:
        """What each block lacked when it was last visited."""
        return self.ascent.gap

    def bind(self, problem: SampledProblem) -> None:
        """Take up the samples of ``problem``: a state that was pickled or copied has the variables alone."""
        if self.x is None:
            self._bind(problem)

    def _bind(self, problem: SampledProblem) -> None:
        self.sums: Any = find(self.needs, problem)(problem)
        self.x: Any
        self.x, self.tables, self.place = _pack(problem, self.sums.layout())
        self.weight: Any = problem.samples.weight
        self.offsets: Any = problem.samples.batch.offsets
        self.regularizer: Any = problem.regularizer

    def __getstate__(self) -> dict[str, Any]:
        own = ("x", "tables", "place", "sums", "weight", "offsets", "regularizer")
        return {**vars(self), "ascent": tuple(self.ascent), **dict.fromkeys(own)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        from palmette._kernels.dual_rows import Ascent

        vars(self).update(state, ascent=Ascent(*state["ascent"]))

    def visit(self, order: np.ndarray) -> int:
        """An ascent step on each sample of ``order``; returns how many were out of range and left as they are."""
        from palmette._kernels.dual_rows import VISIT

        return self.sums.run(self.x, self.tables, self.ascent, VISIT, order)

    def start_from(self, w: np.ndarray) -> None:
        """Move from the truth towards the marginals under ``w``, as far as the dual value grows.

        What is out of range under ``w`` stays at the truth.
        """
        from palmette._kernels.dual_rows import PLACE

        ascent = self.ascent
        ascent.w[:] = self._packed(w)
        self.sums.run(self.x, self.tables, ascent, PLACE, np.arange(len(self.weight)))
        steep = 2.0 * self.regularizer.dual_value(self._sums())
        share = min(1.0, self._entropy() / steep) if steep > 0.0 else 1.0
        for part in (ascent.residual, ascent.residual_table, ascent.entropy):
            part *= part.dtype.type(share)
        self.refresh()

    def refresh(self, keep: bool = True) -> tuple[np.ndarray, float]:
        """Weights and dual value computed from the marginals alone, in double precision; ``keep`` stores the weights.

        The value, with the bounds on the entropies, is never above the optimum of the objective, up to the rounding of
        the marginals (relative errors of about 1e-6 in single precision).
        """
        z, reg = self._sums(), self.regularizer
        value = self._entropy() - reg.dual_value(z)
        w = np.sign(z) * np.maximum(np.abs(z) - reg.l1, 0.0) / reg.l2 if reg.has_l1 else z / reg.l2
        if keep:
            self.ascent.w[:] = self._packed(w)
            if reg.has_l1:
                self.ascent.z[:] = self._packed(z)
        return w, value

    def value(self, w: np.ndarray) -> float:
        """The data term at ``w``, NaN where a sample is out of range."""
        from palmette._kernels.dual_rows import VALUE

        ascent = self.ascent._replace(w=self._packed(w), gap=np.zeros(len(self.weight)))
        failed = self.sums.run(self.x, self.tables, ascent, VALUE, np.arange(len(self.weight)))
        return np.nan if failed else float(self.weight @ ascent.gap)

    def weights(self) -> np.ndarray:
        """The present weights."""
        return self._unpacked(self.ascent.w)

    def estimate(self) -> float:
        """The dual value from the stored weights, up to their rounding."""
        return self._entropy() - self.regularizer.l2_value(self.weights())

    def _entropy(self) -> float:
        return float(self.weight @ self.ascent.entropy)

    def _sums(self) -> np.ndarray:
        """``z`` of the marginals, in double precision."""
        from palmette._kernels.dual_rows import pull_back

        ascent, out = self.ascent, np.zeros(len(self.place))
        own = ascent.residual, ascent.residual_table, self.tables.start, out
        pull_back(self.x, self.offsets, self.weight, *own)
        return -self._unpacked(out)

    def _packed(self, w: np.ndarray) -> np.ndarray:
        return np.append(w, 0.0)[self.place]

    def _unpacked(self, packed: np.ndarray) -> np.ndarray:
        out, there = np.zeros(len(self.regularizer.l2)), self.place >= 0
        out[self.place[there]] = packed[there]
        return out


def _pack(problem: SampledProblem, layout: RowLayout) -> tuple[Rows, Tables, np.ndarray]:
    """Rows and tables as kernels read them, and where each packed weight stands in the weight vector (-1: nowhere)."""
    from palmette._kernels.dual_rows import Rows, Tables

    indptr, indices, values = _sparse(problem.samples.batch.rows)
    parts, n_columns = list(layout.columns), problem.samples.batch.n_columns
    if layout.every is not None:
        more, bias = layout.every
        parts.append(bias._replace(column=bias.column + n_columns))
        indices = np.insert(indices, indptr[1:], (more + n_columns).astype(indices.dtype))
        values = np.insert(values, indptr[1:], 1.0) if len(values) else values
        indptr = indptr + np.arange(len(indptr))
        n_columns += int(bias.column.max(initial=-1)) + 1
    weights = ColumnWeights(*(np.concatenate(own).astype(np.int64) for own in zip(*parts)))
    width = padded(layout.width)
    column, place, weight = _filled(weights, n_columns, layout.width, width)
    first = np.zeros(n_columns + 1, np.int64)
    np.cumsum(np.bincount(column, minlength=n_columns), out=first[1:])
    ends = indptr[problem.samples.batch.offsets]
    read = np.append(0, np.cumsum(np.diff(first)[indices]))
    most = int(np.diff(ends).max(initial=0)), int(np.diff(read[ends]).max(initial=0))
    rows = Rows(indptr, indices, values, first, place.astype(np.int32), width, *most)
    of_tables = np.unique(layout.table[layout.table >= 0])
    entry = np.where(layout.table >= 0, np.searchsorted(of_tables, layout.table), -1)
    return rows, Tables(entry, len(weight)), np.concatenate([weight, of_tables])


def _filled(weights: ColumnWeights, n_columns: int, n_places: int, width: int) -> ColumnWeights:
    """Weights column by column; columns with weights for half of the places get all, to be read eight at a time."""
    column, place, weight = weights
    full = np.flatnonzero(2 * np.bincount(column, minlength=n_columns) >= n_places)
    number = np.full(n_columns, -1)
    number[full] = np.arange(len(full))
    own = number[column] >= 0
    table = np.full((len(full), width), -1)
    table[number[column[own]], place[own]] = weight[own]
    column = np.concatenate([column[~own], np.repeat(full, width)])
    place = np.concatenate([place[~own], np.tile(np.arange(width), len(full))])
    weight = np.concatenate([weight[~own], table.ravel()])
    order = np.argsort(column * width + place, kind="stable")
    return ColumnWeights(column[order], place[order], weight[order])


def _sparse(rows: np.ndarray | SparseRows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows as pointers from 0 on, columns and values (empty if all are 1)."""
    if isinstance(rows, SparseRows):
        lo, hi = int(rows.indptr[0]), int(rows.indptr[-1])
        values = rows.values[lo:hi] if len(rows.values) else rows.values
        return rows.indptr - lo, rows.indices[lo:hi], values
    t, a = np.nonzero(rows)
    indptr = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(np.bincount(t, minlength=len(rows)), out=indptr[1:])
    return indptr, a.astype(np.int32), np.asarray(rows, float)[t, a]
