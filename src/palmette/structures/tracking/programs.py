"""Covers as linear and integer programs: the one place that calls HiGHS."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

WHOLE = 1e-6  # a number this near to 0 or 1 counts as that


class Program(NamedTuple):
    """Events of which each cell must be in exactly one.

    Parameters
    ----------
    score : ndarray of shape (n_events,)
    ptr, cell : ndarrays of int
        Event e covers ``cell[ptr[e]:ptr[e + 1]]``.
    n_cells : int
    n_before : int
        The first cells; an event on one of them and one of the others is an edge between two sides.
    touch : sequence of ndarrays of bool
        Of each of these sets some event must be chosen.
    """

    score: np.ndarray
    ptr: np.ndarray
    cell: np.ndarray
    n_cells: int
    n_before: int
    touch: Sequence[np.ndarray] = ()


class Found(NamedTuple):
    """A cover, and a proven upper bound on the score of the best one."""

    chosen: np.ndarray | None  # bool (n_events,); None: there is none, or none was found in time
    bound: float
    exact: bool


def solve(program: Program, time_limit: float | None = None) -> Found:
    """The best cover: by assignment where events join two sides, else by a linear and then an integer program."""
    if time_limit is not None and time_limit <= 0.0:
        return Found(None, upper_bound(program), False)
    if not program.touch:
        if is_assignment(program):
            return _assigned(program)
        relaxed, fractional = _relaxed(program)
        if relaxed is not None:
            return relaxed
        if fractional is not None:
            return _with_prices(program, *fractional, time_limit)
    return _integer(program, time_limit)


def upper_bound(program: Program) -> float:
    """A bound without a search: every cell gets its share of the best event that explains it.

    >>> upper_bound(Program(np.array([3.0, 1.0]), np.array([0, 2, 3]), np.array([0, 1, 1]), 2, 1))
    3.0
    """
    sizes = np.diff(program.ptr)
    best = np.full(program.n_cells, -np.inf)
    np.maximum.at(best, program.cell, np.repeat(program.score / sizes, sizes))
    return float(best.sum())


def greedy(program: Program) -> np.ndarray | None:
    """A cover that takes events by their share of score where they fit; None if cells are left over."""
    sizes = np.diff(program.ptr)
    taken, chosen = np.zeros(program.n_cells, bool), np.zeros(len(sizes), bool)
    for e in np.argsort(-program.score / sizes, kind="stable").tolist():
        own = program.cell[program.ptr[e] : program.ptr[e + 1]]
        if not taken[own].any():
            taken[own] = chosen[e] = True
    return chosen if taken.all() else None


def is_assignment(program: Program) -> bool:
    """Whether all events cover one cell, or one of each side: then a linear assignment finds the best cover."""
    sizes = np.diff(program.ptr)
    if np.any(sizes > 2):
        return False
    pairs = program.ptr[:-1][sizes == 2]
    first, second = program.cell[pairs], program.cell[pairs + 1]
    return bool(np.all((first < program.n_before) & (second >= program.n_before)))


def _assigned(program: Program) -> Found:
    """A full matching in which cells may also be matched with a copy of their own, at the score of being alone.

    Rows are the cells before and copies of those after, columns the cells after and copies of those before. An event on
    cells a and b is the entry (a, b); an event on a alone is the entry (a, copy of a). Two copies match for nothing
    where their cells are matched with each other.
    """
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching

    n, n_before = program.n_cells, program.n_before
    n_after = n - n_before
    sizes = np.diff(program.ptr)
    first, last = program.cell[program.ptr[:-1]], program.cell[program.ptr[1:] - 1]
    pair = sizes == 2
    before = ~pair & (first < n_before)
    row = first  # the row of a copy has the number of its cell
    column = np.where(pair, last - n_before, np.where(before, n_after + first, first - n_before))
    best: dict[tuple[int, int], int] = {}
    for e in np.argsort(-program.score, kind="stable").tolist():
        best.setdefault((int(row[e]), int(column[e])), e)
    own = np.array(list(best.values()), np.int64)
    copies = own[pair[own]]
    rows = np.concatenate([row[own], last[copies]])
    columns = np.concatenate([column[own], n_after + first[copies]])
    worth = np.concatenate([program.score[own] / _scale(program), np.zeros(len(copies))])
    shifted = worth.max(initial=0.0) - worth + 1.0  # positive; every full matching has as many entries
    table = sparse.csr_array((shifted, (rows, columns)), shape=(n, n))
    try:
        matched = min_weight_full_bipartite_matching(table)
    except ValueError:  # there is no full matching
        return Found(None, -np.inf, True)
    chosen = np.zeros(len(program.score), bool)
    for key in zip(*(each.tolist() for each in matched)):
        if key in best:
            chosen[best[key]] = True
    value = float(program.score[chosen].sum())
    return Found(chosen, value, True)


def _scale(program: Program) -> float:
    """The largest score, so that tolerances are relative to it."""
    return float(np.abs(program.score).max(initial=0.0)) or 1.0


def matrix(program: Program) -> Any:
    """Cells by events, 1 where an event covers a cell."""
    shape = (program.n_cells, len(program.score))
    return sparse.csc_array((np.ones(len(program.cell)), program.cell, program.ptr), shape=shape)


def _relaxed(program: Program) -> tuple[Found | None, tuple[np.ndarray, np.ndarray] | None]:
    """The best cover where the linear relaxation has a whole solution, else that solution and the prices of cells."""
    from scipy.optimize import linprog

    scale = _scale(program)
    ones = np.ones(program.n_cells)
    result = linprog(
        -program.score / scale, A_eq=matrix(program), b_eq=ones, bounds=(0, None), method="highs"
    )
    if result.status == 2:
        return Found(None, -np.inf, True), None
    if result.status != 0:
        return None, None
    if np.any(np.abs(result.x - np.rint(result.x)) > WHOLE):
        return None, (result.x, -result.eqlin.marginals * scale)
    return Found(result.x > 0.5, -float(result.fun) * scale, True), None


def _with_prices(program: Program, share: np.ndarray, price: np.ndarray, time_limit: float | None) -> Found:
    """The integer program without the events that the prices of the linear one rule out.

    A cover scores ``sum_c price[c] - sum_e loss[e]`` over its events, where ``loss[e] = sum_{c in e} price[c] -
    score[e]`` is at least 0. So an event is in no best cover if its loss alone is more than what some cover lacks. Such
    a cover takes events by falling share in the linear program, where they fit.
    """
    from palmette.structures.tracking.kernels.prices import first_fit

    n, m = program.n_cells, len(program.score)
    ptr, cell = program.ptr.astype(np.int64), program.cell.astype(np.int64)
    loss = np.add.reduceat(price[cell], ptr[:-1]) - program.score
    lower, rank = np.full(1, -np.inf), np.empty(m)
    rank[np.lexsort((loss, -share))] = np.arange(m)
    first_fit(
        program.score, ptr, cell, np.arange(m), rank, np.zeros(n, np.int64), np.ones(n, np.uint8), lower
    )
    least = min(0.0, float(loss.min()))  # what the solver's tolerance left below 0
    lacking = float(price.sum()) - n * least - lower[0] + WHOLE * float(np.abs(price).sum())
    kept = np.flatnonzero(loss <= lacking)
    sizes = np.diff(ptr)
    entries = np.repeat(loss <= lacking, sizes)
    small = program._replace(
        score=program.score[kept],
        ptr=np.concatenate([[0], np.cumsum(sizes[kept])]),
        cell=cell[entries],
    )
    found = _integer(small, time_limit)
    if found.chosen is None:
        return found
    chosen = np.zeros(m, bool)
    chosen[kept[found.chosen]] = True
    return Found(chosen, found.bound, found.exact)


def _integer(program: Program, time_limit: float | None) -> Found:
    from scipy.optimize import Bounds, LinearConstraint, milp

    n = len(program.score)
    scale = _scale(program)
    constraints = [LinearConstraint(matrix(program), 1.0, 1.0)]
    if program.touch:
        constraints.append(LinearConstraint(np.array(program.touch, float), 1.0, np.inf))
    options: dict[str, Any] = {"mip_rel_gap": 0.0}
    if time_limit is not None:
        options["time_limit"] = max(time_limit, 1e-3)
    result = milp(
        -program.score / scale,
        integrality=np.ones(n),
        bounds=Bounds(0, 1),
        constraints=constraints,
        options=options,
    )
    dual = getattr(result, "mip_dual_bound", None)
    bound = np.inf if dual is None or not np.isfinite(dual) else -float(dual) * scale
    if result.x is None:
        return Found(
            None, -np.inf if result.status == 2 else min(bound, upper_bound(program)), result.status == 2
        )
    return Found(result.x > 0.5, min(bound, upper_bound(program)), result.status == 0)
