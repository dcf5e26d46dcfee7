"""Questions answered by asking several restricted copies of each sample: contradiction, and the k best labelings."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from palmette.data.annotation import Known, pairs_of, possible_codes
from palmette.data.ragged import gather
from palmette.structures.graph.tables import GraphTables

# rows of a sample where the best contradicting labeling is looked for, if they promise equally much
MOST_TIES = 100
ROWS_AT_ONCE = 2**20  # of restricted copies


class Copies(NamedTuple):
    """Restricted copies of samples as a batch of their own, and whose they are."""

    tables: GraphTables
    sample: np.ndarray  # int64 (n_copies,)


def first_contradictions(tables: GraphTables, codes: Known) -> Copies:
    """The labelings that contradict ``codes`` (-1: unknown), parted by the first row or edge where they do.

    A copy agrees with ``codes`` in the known rows before its own and differs there, so that every contradicting
    labeling belongs to exactly one copy. Annotated edges come after all rows.
    """
    agrees, allowed = _annotated(tables, codes)
    row, edge = (np.flatnonzero(~_free(own)) for own in (agrees, allowed))
    row_sample, edge_sample = _samples(tables, row, edge)
    sample = np.concatenate([row_sample, edge_sample])
    copies = tables.take(sample)
    copies = copies.per_edge() if len(edge) else copies
    all_rows, no_edge = np.diff(tables.offsets)[edge_sample], np.full(len(row), -1)
    place = np.concatenate([row - tables.offsets[row_sample], all_rows])
    rows, _ = gather(tables.offsets, sample)
    node = np.where(_forbidden(agrees[rows], place, copies.offsets), -np.inf, copies.node)
    if not len(edge):
        return Copies(replace(copies, node=node), sample)
    place = np.concatenate([no_edge, edge - tables.edge_offsets[edge_sample]])
    edges, _ = gather(tables.edge_offsets, sample)
    table = np.where(_forbidden(allowed[edges], place, copies.edge_offsets), -np.inf, copies.edge)
    return Copies(replace(copies, node=node, edge=table), sample)


def _annotated(tables: GraphTables, codes: Known) -> tuple[np.ndarray, np.ndarray]:
    """Labels of each row, and of each edge of the batch (no edges if none is annotated), that an annotation allows."""
    pairs, labels = pairs_of(codes), tables.n_labels
    edges = np.ones((0, labels, labels), bool) if pairs is None else pairs.on(tables.edges)
    return possible_codes(codes, labels), edges


def _free(allowed: np.ndarray) -> np.ndarray:
    return np.asarray(allowed.all(axis=tuple(range(1, allowed.ndim))))


def _samples(tables: GraphTables, row: np.ndarray, edge: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Whose rows and edges these are."""
    return (
        np.searchsorted(tables.offsets, row, side="right") - 1,
        np.searchsorted(tables.edge_offsets, edge, side="right") - 1,
    )


def _forbidden(agrees: np.ndarray, place: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """What a copy forbids of its parts: before the place of its own what does not agree, there what does."""
    lengths = np.diff(offsets)
    own = np.repeat(place, lengths)
    here = np.arange(len(agrees)) - np.repeat(offsets[:-1], lengths)
    before, there = (mask.reshape(-1, *(1,) * (agrees.ndim - 1)) for mask in (here < own, here == own))
    return np.where(before, ~agrees, agrees & there)


def per_sample(values: np.ndarray, sample: np.ndarray, n_samples: int) -> tuple[np.ndarray, np.ndarray]:
    """``log sum exp`` of the values of each sample's copies, and the share of every copy in it."""
    top = np.full(n_samples, -np.inf)
    np.maximum.at(top, sample, values)
    shift = np.where(np.isfinite(top), top, 0.0)
    terms = np.exp(values - shift[sample])
    total = np.zeros(n_samples)
    np.add.at(total, sample, terms)
    with np.errstate(divide="ignore"):
        log_z = np.where(total > 0, shift + np.log(total), -np.inf)
    return log_z, terms / np.where(total > 0, total, 1.0)[sample]


def best_contradicting(
    tables: GraphTables, codes: Known, best: Callable[[GraphTables], Any], most: GraphTables
) -> tuple[np.ndarray, np.ndarray]:
    """Best labelings that contradict ``codes``, from the max-marginals ``most``; -inf where there are none."""
    agrees, allowed = _annotated(tables, codes)
    promise = np.where(agrees, -np.inf, most.node).max(axis=1)
    n_rows, sample = len(promise), _samples(tables, np.arange(len(agrees)), np.arange(len(allowed)))
    if len(allowed):
        more = np.where(allowed, -np.inf, most.edge).max(axis=(1, 2))
        promise = np.concatenate([promise, more])
    owner = np.concatenate(sample)
    top = np.full(len(tables), -np.inf)
    np.maximum.at(top, owner, promise)
    floor = top - 1e-9 * (1.0 + np.abs(np.where(np.isfinite(top), top, 0.0)))
    part = np.flatnonzero((promise >= floor[owner]) & (promise > -np.inf))
    part = part[np.argsort(owner[part], kind="stable")]
    rank = np.arange(len(part)) - np.searchsorted(owner[part], owner[part])
    part = part[rank < MOST_TIES]
    out, values = np.zeros(len(tables.node), np.int32), np.full(len(tables), -np.inf)
    if not len(part):
        return out, values
    asked = owner[part]
    of_edge = part >= n_rows
    copies = tables.take(asked)
    copies = copies.per_edge() if of_edge.any() else copies
    row, edge = part[~of_edge], part[of_edge] - n_rows
    node, table = copies.node.copy(), copies.edge.copy()
    at = copies.offsets[:-1][~of_edge] + row - tables.offsets[asked[~of_edge]]
    node[at] = np.where(agrees[row], -np.inf, node[at])
    at = copies.edge_offsets[:-1][of_edge] + edge - tables.edge_offsets[asked[of_edge]]
    table[at] = np.where(allowed[edge], -np.inf, table[at])
    found = best(replace(copies, node=node, edge=table))
    for k, s in enumerate(asked.tolist()):
        own = found.codes[copies.offsets[k] : copies.offsets[k + 1]]
        rows = slice(tables.offsets[s], tables.offsets[s + 1])
        better = found.values[k] > values[s]
        if better or (found.values[k] == values[s] and own.tolist() < out[rows].tolist()):
            out[rows], values[s] = own, found.values[k]
    return out, values


class _Subset(NamedTuple):
    """The best labeling of those that agree with it before ``place`` and have none of ``avoided`` there."""

    order: tuple[Any, ...]  # what it is sorted by: minus the value, then the codes
    codes: np.ndarray
    value: float
    place: int
    avoided: tuple[Any, ...]


def ranked_labelings(
    tables: GraphTables, k: int, best: Callable[[GraphTables], Any]
) -> list[list[tuple[np.ndarray, float]]]:
    """The k best distinct labelings of every sample, best first.

    What is left after a labeling was found is parted by the first row that differs from it, and the best of every part
    is found at once, in one batch for all samples. Among equally good labelings the lexicographically lowest comes
    first, if ``best`` decides ties so.
    """
    n, labels = len(tables), tables.n_labels
    found = best(tables)
    bounds = tables.offsets.tolist()
    heaps: list[list[_Subset]] = [[] for _ in range(n)]
    for s in range(n):
        _push(heaps[s], found.codes[bounds[s] : bounds[s + 1]], float(found.values[s]), 0, ())
    ranked: list[list[tuple[np.ndarray, float]]] = [[] for _ in range(n)]
    for turn in range(k):
        parts: list[tuple[int, _Subset, int]] = []
        for s, heap in enumerate(heaps):
            if not heap:
                continue
            top = heapq.heappop(heap)
            ranked[s].append((top.codes, top.value))
            if turn < k - 1:
                parts += [(s, top, place) for place in range(top.place, len(top.codes))]
        if not parts:
            break
        while parts:
            size = np.cumsum([bounds[s + 1] - bounds[s] for s, _, _ in parts])
            some = max(1, int(np.searchsorted(size, ROWS_AT_ONCE)))
            _ask(tables, labels, parts[:some], best, heaps)
            parts = parts[some:]
    return ranked


def _ask(
    tables: GraphTables, labels: int, parts: list[Any], best: Callable[..., Any], heaps: list[Any]
) -> None:
    copies = tables.take(np.array([s for s, _, _ in parts]))
    node = copies.node.copy()
    bounds = copies.offsets.tolist()
    for (_, top, place), lo in zip(parts, bounds):
        if place:
            fixed = np.arange(lo, lo + place)
            kept = node[fixed, top.codes[:place]]
            node[fixed] = -np.inf
            node[fixed, top.codes[:place]] = kept
        node[lo + place, list(_avoided(top, place))] = -np.inf
    found = best(replace(copies, node=node))
    for k, (s, top, place) in enumerate(parts):
        own = found.codes[bounds[k] : bounds[k + 1]].copy()
        _push(heaps[s], own, float(found.values[k]), place, _avoided(top, place))


def _avoided(top: _Subset, place: int) -> tuple[Any, ...]:
    own = int(top.codes[place])
    return (*top.avoided, own) if place == top.place else (own,)


def _push(heap: list[Any], codes: np.ndarray, value: float, place: int, avoided: tuple[Any, ...]) -> None:
    if value > -np.inf:
        heapq.heappush(heap, _Subset((-value, codes.tolist()), codes, value, place, avoided))
