"""Every answer about segmentations, on packed batches of :class:`~palmette.structures.SegmentTables`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from palmette.contracts.structure import Best, Expectation
from palmette.data.annotation import Known
from palmette.structures.positions.checks import _check_feasible, _infeasible, _weights, how_many
from palmette.structures.positions.labelled import LabelledPositions, differ
from palmette.structures.positions.tables import Restriction
from palmette.structures.segments.tables import (
    Prepared,
    SegmentRestriction,
    SegmentTables,
    code_costs,
    combined,
    prepare,
    without_flags,
)


class SegmentInference(LabelledPositions):
    """Inference on segmentations, in O(n_rows (max_length n_labels + n_labels^2)).

    Every answer takes ``cost=`` (tables added to the potentials) and ``within=`` (a
    :class:`~palmette.structures.segments.tables.SegmentRestriction`). Among equally good segmentations the one with the
    lexicographically lowest codes wins: the lower label first, then the shorter segment.
    """

    # -- best ---------------------------------------------------------------------------------------------------

    def best(self, theta: SegmentTables, *, cost: Any = None, within: Restriction | None = None) -> Best:
        """Highest-scoring segmentation of every sample; values include the cost."""
        return self._extreme(theta, cost, within, sign=1.0)

    def worst(self, theta: SegmentTables, *, cost: Any = None, within: Restriction | None = None) -> Best:
        """Lowest-scoring segmentation of every sample; values include the cost."""
        return self._extreme(theta, cost, within, sign=-1.0)

    def _extreme(self, theta: Any, cost: Any, within: Any, sign: Any) -> Best:
        from palmette.structures.segments.kernels.max import best_segmentations

        ready = prepare(theta, cost, within, sign)
        codes, values = np.empty(len(theta.node), np.int32), np.empty(len(ready))
        if len(ready):
            best_segmentations(*ready.tables, codes, values)
        _check_feasible(values, theta)
        return Best(ready.labels(codes), sign * values)

    def agreeing(self, theta: SegmentTables, codes: Known) -> SegmentRestriction:  # type: ignore[override]
        """The restriction to segmentations with these codes; -1 where anything will do."""
        return SegmentRestriction.fixed(codes, theta.n_labels, theta.max_length)

    def contradicting(self, theta: SegmentTables, codes: Known) -> SegmentRestriction:  # type: ignore[override]
        """The restriction to segmentations that differ from these codes somewhere; -1 cannot be contradicted."""
        return SegmentRestriction(contradicts=codes)

    def k_best(
        self, theta: Any, k: int, *, cost: Any = None, within: Any = None
    ) -> list[list[tuple[np.ndarray, float]]]:
        """The k best distinct segmentations of every sample as (codes, value), best first; fewer where fewer exist."""
        from palmette.structures.segments.kernels.max import k_best_segmentations

        ready = prepare(theta, cost, within)
        k = how_many(k, theta, 2 * ready.tables[0].shape[2], 16)
        if not len(ready):
            return []
        paths, values = np.empty((k, len(theta.node)), np.int32), np.empty((len(ready), k))
        k_best_segmentations(*ready.tables, k, paths, values)
        _check_feasible(values[:, 0], theta)
        paths = ready.labels(paths)
        rows = [slice(a, b) for a, b in zip(ready.offsets[:-1], ready.offsets[1:])]
        return [
            [(paths[r, rows[s]].copy(), float(values[s, r])) for r in range(k) if values[s, r] > -np.inf]
            for s in range(len(ready))
        ]

    def level_costs(self, theta: SegmentTables) -> tuple[np.ndarray, int]:
        """What :meth:`best_by_level` takes: numbers per level in the table of each sample, and steps per number."""
        return np.diff(theta.offsets) * theta.n_labels, theta.n_labels + theta.max_length

    def best_by_level(
        self, theta: Any, steps: Any, top: Any, gain: Any, bonus: Any, base: Any
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """``argmax_y gain[c] (f(y) - base) + bonus[c]`` where c is what y costs in all.

        As :meth:`Chain.best_by_level <palmette.structures.Chain.best_by_level>`, with ``steps`` for every code of a
        row, int64 (n_rows, 2 n_labels).
        """
        from palmette.structures.segments.kernels.levels import best_by_level

        ready = prepare(theta, None, None)
        codes, level = np.zeros(len(theta.node), np.int32), np.zeros(len(ready), np.int64)
        value = np.empty(len(ready))
        if len(ready):
            best_by_level(*ready.tables, steps, top, gain, bonus, base, codes, level, value)
        return codes, level, value

    def max_marginals(self, theta: Any, *, cost: Any = None, within: Any = None) -> SegmentTables:
        """Best value with each part fixed, in the shapes of :meth:`marginals`; -inf if impossible."""
        from palmette.structures.segments.kernels.max import max_marginals
        from palmette.structures.segments.kernels.parts import best_over_rows

        ready = prepare(theta, cost, within)
        segment, edge = np.empty_like(ready.whole), np.empty((theta.n_edges, *ready.edge.shape[1:]))
        if len(ready):
            max_marginals(*ready.tables, segment, edge)
        out = _tables(theta, ready, segment, edge, best_over_rows, np.max)
        _check_feasible(out.node[theta.offsets[:-1]].max(axis=1, initial=-np.inf), theta)
        return out

    # -- all ----------------------------------------------------------------------------------------------------

    def log_partition(self, theta: Any, *, cost: Any = None, within: Any = None) -> np.ndarray:
        """``log sum_y exp(f(y) + cost(y))`` over the allowed segmentations of every sample."""
        from palmette.structures.segments.kernels.sum import log_partitions

        ready = prepare(theta, cost, within)
        log_z = np.empty(len(ready))
        if len(ready):
            log_partitions(*ready.tables, log_z)
        _check_feasible(log_z, theta)
        return log_z

    def expectation(
        self, theta: Any, *, cost: Any = None, within: Any = None, weight: Any = None
    ) -> Expectation:
        """Log-partitions and expected counts in theta's shape; ``weight`` multiplies each sample's counts."""
        from palmette.structures.segments.kernels.parts import sum_over_rows

        ready = prepare(theta, cost, within)
        log_z, segment, edge = _expected(theta, ready, _weights(theta, weight))
        counts = _tables(theta, ready, segment, edge, sum_over_rows, np.sum)
        if len(theta.edge) == 1 and len(edge) != 1:  # the cost or the restriction had a table an edge
            counts = replace(counts, edge=counts.edge.sum(axis=0, keepdims=True))
        return Expectation(log_z, counts)

    def marginals(self, theta: Any, *, cost: Any = None, within: Any = None) -> SegmentTables:
        """Probability of every part.

        Returns
        -------
        SegmentTables
            ``node`` (rows, labels): a segment of that label covers the position; ``segment`` (rows, max_length,
            labels): this very segment; ``edge`` (edges, labels, labels): a boundary between segments of these labels.
        """
        from palmette.structures.segments.kernels.parts import sum_over_rows

        ready = _per_edge(prepare(theta, cost, within), theta)
        _, segment, edge = _expected(theta, ready, np.ones(len(theta)))
        return _tables(theta, ready, segment, edge, sum_over_rows, np.sum)

    def entropy(self, theta: Any, *, cost: Any = None, within: Any = None) -> np.ndarray:
        """Entropy (nats) of every sample's distribution ``p(y) ~ exp(f(y) + cost(y))``."""
        from palmette.structures.segments.kernels.given import segmentation_entropies

        # With the flags of a contradiction: labels alone are then not Markov.
        ready = _per_edge(prepare(theta, cost, within), theta)
        _, segment, edge = _expected(theta, ready, np.ones(len(theta)))
        out = np.empty(len(theta))
        segmentation_entropies(segment, edge, ready.offsets, out)
        return np.maximum(out, 0.0)

    def sample(
        self, theta: Any, n_draws: int = 1, *, random_state: Any = None, cost: Any = None, within: Any = None
    ) -> np.ndarray:
        """Exact samples from ``p(y) ~ exp(f(y) + cost(y))``: codes, int32, shape (n_draws, n_rows)."""
        from palmette.structures.segments.kernels.sum import draw_segmentations

        if n_draws < 0:
            raise ValueError(f"n_draws must be at least 0, got {n_draws}")
        ready = prepare(theta, cost, within)
        uniform = np.random.default_rng(random_state).random((2, n_draws, len(theta.node)))
        paths = np.empty(uniform.shape[1:], np.int32)
        if len(ready):
            bad = draw_segmentations(*ready.tables, uniform, paths)
            if bad >= 0:
                raise _infeasible(bad, theta)
        return ready.labels(paths)

    def min_risk(
        self, theta: Any, risk: np.ndarray | None = None, *, cost: Any = None, within: Any = None
    ) -> Best:
        """Segmentation of least expected loss among the allowed ones; values are the expected losses.

        Parameters
        ----------
        risk : ndarray of shape (2 n_labels, 2 n_labels) or (n_labels, n_labels), optional
            ``risk[i, j]`` is the loss of a position with code j where i is true; by default 1 unless i = j. A table of
            labels is extended by the cost of wrong boundaries (``code_costs``).
        """
        labels = theta.n_labels
        risk = 1.0 - np.eye(2 * labels) if risk is None else np.asarray(risk, float)
        if risk.shape == (labels, labels):
            risk = code_costs(risk)
        if risk.shape != (2 * labels, 2 * labels):
            raise ValueError(
                f"risk has shape {risk.shape}, expected {(labels, labels)} for labels or {(2 * labels,) * 2} for codes"
            )
        found = self.marginals(theta, cost=cost, within=within)
        begins = found.segment.sum(axis=1)
        chances = np.concatenate([begins, np.maximum(found.node - begins, 0.0)], axis=1)
        # Summed code by code, since a matrix product may round a row differently in another batch.
        expected = sum(np.multiply.outer(chances[:, c], risk[c]) for c in range(2 * labels))
        losses, tables = theta.position_cost(expected), combined(theta, cost, None)
        masked = [  # what potentials forbid is not an answer either
            np.where(np.isneginf(table), -np.inf, loss)
            for table, loss in (
                (tables.node, losses.node),
                (tables.edge, 0.0),
                (tables.segment, losses.segment),
            )
        ]
        return self.worst(replace(tables, node=masked[0], edge=masked[1], segment=masked[2]), within=within)

    # -- given --------------------------------------------------------------------------------------------------

    def score(self, theta: Any, codes: Any, *, cost: Any = None, within: Any = None) -> np.ndarray:
        """Score plus cost of given segmentations; -inf for one that the restriction forbids."""
        from palmette.structures.segments.kernels.given import segmentation_scores

        tables = combined(theta, cost, within)
        codes, values = theta.codes(codes), np.empty(len(theta))
        segmentation_scores(
            tables.node, tables.segment, tables.edge, tables.edge_step, tables.offsets, codes, values
        )
        if within is not None and within.contradicts is not None:
            values[~differ(within.contradicts, codes, theta.offsets)] = -np.inf
        return values

    def count(
        self, theta: Any, codes: Any, *, weight: Any = None, into: SegmentTables | None = None
    ) -> SegmentTables:
        """Counts of given segmentations in theta's shape, times ``weight``; added to ``into`` if given."""
        from palmette.structures.segments.kernels.given import add_counts

        theta.check()
        codes, weight = theta.codes(codes), _weights(theta, weight)
        if into is None:
            into = replace(
                theta,
                node=np.zeros_like(theta.node),
                edge=np.zeros_like(theta.edge),
                segment=np.zeros_like(theta.segment),
            )
        shapes = [[t.node.shape, t.edge.shape, t.segment.shape] for t in (into, theta)]
        if shapes[0] != shapes[1]:
            raise ValueError(f"into has tables of shapes {shapes[0]}, expected {shapes[1]}")
        add_counts(theta.offsets, theta.edge_step, codes, weight, into.node, into.edge, into.segment)
        return into


def _per_edge(ready: Prepared, theta: SegmentTables) -> Prepared:
    """The same with one edge table for every pair of neighbouring positions."""
    if len(ready.edge) == theta.n_edges:
        return ready
    return replace(ready, edge=np.repeat(ready.edge, theta.n_edges, axis=0), step=1)


def _expected(
    theta: SegmentTables, ready: Prepared, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Log-partitions, and expected segments and pairs with their flags, each sample times its weight."""
    from palmette.structures.segments.kernels.sum import expectations

    log_z, segment, edge = np.empty(len(ready)), np.zeros_like(ready.whole), np.zeros_like(ready.edge)
    if len(ready):
        expectations(*ready.tables, weight, log_z, segment, edge)
    _check_feasible(log_z, theta)
    return log_z, segment, edge


def _tables(
    theta: Any, ready: Prepared, segment: Any, edge: Any, over_rows: Any, reduce: Any
) -> SegmentTables:
    """Numbers of segments and edges without flags, and of nodes, which follow from the segments."""
    segment = np.ascontiguousarray(without_flags(segment, ready.n_flags, 1, reduce))
    node = np.empty_like(theta.node)
    over_rows(segment, ready.offsets, node)
    edge = without_flags(edge, ready.n_flags, 2, reduce)
    return SegmentTables(node, edge, ready.offsets, segment=segment, longest=theta.longest)
