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
        relaxed = _relaxed(program)
        if relaxed is not None:
            return relaxed
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
    row = np.where(pair | before, first, first)  # the row of a copy has the number of its cell
    column = np.where(pair, last - n_before, np.where(before, n_after + first, first - n_before))
    best: dict[tuple[int, int], int] = {}
    for e in np.argsort(-program.score, kind="stable").tolist():
        best.setdefault((int(row[e]), int(column[e])), e)
    own = np.array(list(best.values()), np.int64)
    copies = own[pair[own]]
    rows = np.concatenate([row[own], last[copies]])
    columns = np.concatenate([column[own], n_after + first[copies]])
    worth = np.concatenate([program.score[own], np.zeros(len(copies))])
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


def matrix(program: Program) -> Any:
    """Cells by events, 1 where an event covers a cell."""
    shape = (program.n_cells, len(program.score))
    return sparse.csc_array((np.ones(len(program.cell)), program.cell, program.ptr), shape=shape)


def _relaxed(program: Program) -> Found | None:
    """The linear relaxation where its solution is whole, which then is the best cover; else None."""
    from scipy.optimize import linprog

    scale = max(1.0, float(np.abs(program.score).max(initial=0.0)))
    ones = np.ones(program.n_cells)
    result = linprog(
        -program.score / scale, A_eq=matrix(program), b_eq=ones, bounds=(0, None), method="highs"
    )
    if result.status == 2:
        return Found(None, -np.inf, True)
    if result.status != 0 or np.any(np.abs(result.x - np.rint(result.x)) > WHOLE):
        return None
    return Found(result.x > 0.5, -float(result.fun) * scale, True)


def _integer(program: Program, time_limit: float | None) -> Found:
    from scipy.optimize import Bounds, LinearConstraint, milp

    n = len(program.score)
    scale = max(1.0, float(np.abs(program.score).max(initial=0.0)))
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
