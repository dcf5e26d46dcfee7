"""Inference tasks on a network by a suitable method: the work of ``palmette infer``."""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from palmette.inference.choose import maximise, summarise
from palmette.inference.elimination import THOROUGH, elimination
from palmette.inference.factor_graph import FactorGraph
from palmette.inference.junction_tree import JunctionTree
from palmette.inference.reduction import Reduction, reduced
from palmette.inference.results import Maximum, Sum

TASKS = ("map", "mar", "pr")


class Answer(NamedTuple):
    """What was found.

    ``value`` is the highest score (``map``) or the log-partition, ``bound`` a proven upper bound on it (inf where there
    is none). ``codes`` is the assignment of ``map``, ``marginals`` those of the variables in ``mar``, laid out as
    ``FactorGraph.unary``; None else, and where nothing is possible (``value`` is -inf).
    """

    task: str
    value: float
    bound: float
    exact: bool
    method: str
    codes: np.ndarray | None
    marginals: np.ndarray | None
    seconds: float


def answer(
    graph: FactorGraph,
    task: str,
    *,
    method: str = "auto",
    memory_limit: float | None = None,
    time_limit: float | None = None,
) -> Answer:
    """Answer a question after removing all that evidence decides.

    Parameters
    ----------
    graph : FactorGraph
    task : {"map", "mar", "pr"}
        The best assignment, the marginals of all variables, or the partition function alone.
    method : str, default="auto"
        ``"junction_tree"``, a name that :mod:`palmette.inference.choose` knows, or ``"auto"``: a junction tree where it
        takes a second at most; for ``map`` else a graph cut, messages with a bound, a larger junction tree or an
        integer program, whichever proves its answer first; for sums a junction tree that fits into memory or a refusal,
        since no other method is exact.
    memory_limit, time_limit : float, optional
        Bytes (half of the machine's memory by default), and seconds for ``map``: of a search that can stop early, and
        what a junction tree may take by its number of joint states. Without, the search for a proof is left out.

    Raises
    ------
    TooWide
        No exact answer within memory.

    Examples
    --------
    >>> graph = FactorGraph.from_tables([2, 2], [((0, 1), np.log([[1.0, 2.0], [3.0, 4.0]]))])
    >>> found = answer(graph, "mar")
    >>> round(float(np.exp(found.value)), 6), found.marginals.round(6)
    (10.0, array([0.3, 0.7, 0.4, 0.6]))
    """
    if task not in TASKS:
        raise ValueError(f"task must be one of {', '.join(TASKS)}, got {task!r}")
    begin = time.perf_counter()
    small = reduced(graph)
    if not small.feasible:
        return Answer(task, -np.inf, -np.inf, True, "propagation", None, None, time.perf_counter() - begin)
    elimination(small.graph.topology, THOROUGH)  # one question only: a good order is worth a search
    if task == "map":
        best = maximise(small.graph, method, memory_limit=memory_limit, time_limit=time_limit)
        return _maximum(small, best, begin)
    if method in ("auto", "junction_tree") and task == "pr":
        log_z = JunctionTree.of(small.graph.topology, memory_limit).log_partition(small.graph)
        value = small.constant + log_z
        return Answer(task, value, value, True, "junction_tree", None, None, time.perf_counter() - begin)
    method = "junction_tree" if method == "auto" else method  # nothing else is exact
    return _sum(task, small, summarise(small.graph, method, memory_limit=memory_limit), begin)


def _maximum(small: Reduction, best: Maximum, begin: float) -> Answer:
    value, bound = small.constant + best.value, small.constant + best.bound
    codes = small.codes(best.codes) if value > -np.inf else None
    return Answer("map", value, bound, best.exact, best.method, codes, None, time.perf_counter() - begin)


def _sum(task: str, small: Reduction, found: Sum, begin: float) -> Answer:
    value, bound = small.constant + found.log_z, small.constant + found.bound
    marginals = small.unary(found.unary) if task == "mar" and value > -np.inf else None
    seconds = time.perf_counter() - begin
    return Answer(task, value, bound, found.exact, found.method, None, marginals, seconds)
