"""Questions answered by asking several restricted copies of each sample: contradiction, and the k best labelings."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from palmette.data.annotation import Known, possible_codes
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
    """The labelings that contradict ``codes`` (-1: unknown), parted by the first row where they do.

    A copy agrees with ``codes`` in the known rows before its own and differs there, so that every contradicting
    labeling belongs to exactly one copy.
    """
    agrees = possible_codes(codes, tables.n_labels)
    row = np.flatnonzero(~agrees.all(axis=1))
    sample = np.searchsorted(tables.offsets, row, side="right") - 1
    copies = tables.take(sample)
    place = row - tables.offsets[sample]
    rows, _ = gather(tables.offsets, sample)
    own = np.repeat(place, np.diff(copies.offsets))
    here = np.arange(len(rows)) - np.repeat(copies.offsets[:-1], np.diff(copies.offsets))
    same = agrees[rows]
    forbidden = np.where((here < own)[:, None], ~same, same & (here == own)[:, None])
    return Copies(replace(copies, node=np.where(forbidden, -np.inf, copies.node)), sample)


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
    tables: GraphTables, codes: Known, best: Callable[[GraphTables], Any], max_node: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Best labelings that contradict ``codes``, from the max-marginals of the nodes; -inf where there are none."""
    contra = ~possible_codes(codes, tables.n_labels)
    promise = np.where(contra, max_node, -np.inf).max(axis=1)
    most = np.maximum.reduceat(promise, tables.offsets[:-1]) if len(tables) else np.empty(0)
    floor = most - 1e-9 * (1.0 + np.abs(np.where(np.isfinite(most), most, 0.0)))
    lengths = np.diff(tables.offsets)
    row = np.flatnonzero((promise >= np.repeat(floor, lengths)) & (promise > -np.inf))
    sample = np.searchsorted(tables.offsets, row, side="right") - 1
    rank = np.arange(len(row)) - np.searchsorted(sample, sample)
    row, sample = row[rank < MOST_TIES], sample[rank < MOST_TIES]
    out, values = np.zeros(len(tables.node), np.int32), np.full(len(tables), -np.inf)
    if not len(row):
        return out, values
    copies = tables.take(sample)
    at = copies.offsets[:-1] + row - tables.offsets[sample]
    node = copies.node.copy()
    node[at] = np.where(contra[row], node[at], -np.inf)
    found = best(replace(copies, node=node))
    for k, s in enumerate(sample.tolist()):
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
