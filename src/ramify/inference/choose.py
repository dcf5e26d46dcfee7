"""Which method answers for a graph: exact where the graph allows it, approximate and said so where not."""

from __future__ import annotations

import time
from typing import NamedTuple

from ramify.errors import TooWide
from ramify.inference.bounded_max import bounded_max
from ramify.inference.factor_graph import FactorGraph, Topology
from ramify.inference.graph_cut import graph_cut, is_submodular
from ramify.inference.integer_program import integer_program
from ramify.inference.junction_tree import JunctionTree
from ramify.inference.loopy import loopy_max, loopy_sum
from ramify.inference.results import Maximum, Sum
from ramify.inference.reweighted import is_forest, reweighted_sum

MAXIMA = ("auto", "junction_tree", "graph_cut", "bounded", "loopy", "integer_program")
# A junction tree with larger cliques than this costs more than trying messages first, which are often proven exact.
_TRY_MESSAGES = 16.0
SUMS = ("auto", "junction_tree", "reweighted", "bethe")


class Plan(NamedTuple):
    """The method that ``"auto"`` takes, whether its answer is exact for certain, and why, in one sentence."""

    method: str
    exact: bool
    why: str


def plan(graph: FactorGraph | Topology, task: str, memory_limit: float | None = None) -> Plan:
    """What ``maximise`` (``task="max"``) or ``summarise`` (``task="sum"``) does with a graph.

    A topology alone says nothing about potentials, so a graph cut is chosen only for a ``FactorGraph``.

    Examples
    --------
    >>> plan(Topology.from_scopes([2, 2, 2], [(0, 1), (1, 2)]), "sum")
    Plan(method='junction_tree', exact=True, why='the graph is a forest, so messages are exact')
    """
    if task not in ("max", "sum"):
        raise ValueError(f"task must be 'max' or 'sum', got {task!r}")
    topology = graph if isinstance(graph, Topology) else graph.topology
    if is_forest(topology):
        return Plan("junction_tree", True, "the graph is a forest, so messages are exact")
    if task == "max" and isinstance(graph, FactorGraph) and is_submodular(graph):
        return Plan(
            "graph_cut", True, "labels are binary and pairs favour agreement, so a minimum cut is exact"
        )
    try:
        tree = JunctionTree.of(topology, memory_limit)
    except TooWide as error:
        size = f"exact sums need cliques of 2^{error.log2_size:.1f} entries, more than memory allows"
        if task == "max":
            return Plan("bounded", False, f"{size}: messages with a proven bound, which may leave a gap")
        return Plan("reweighted", False, f"{size}: a tree-reweighted upper bound and its marginals instead")
    return Plan(
        "junction_tree", True, f"the largest clique has 2^{tree.log2_size:.1f} entries, which fit into memory"
    )


def maximise(
    graph: FactorGraph,
    method: str = "auto",
    *,
    memory_limit: float | None = None,
    time_limit: float | None = None,
) -> Maximum:
    """The best assignment by a method of choice; ``exact`` in the answer says whether it is proven.

    ``"auto"`` follows ``plan``, but tries messages before a junction tree with large cliques, and returns what they
    prove; where that leaves a gap and there is a ``time_limit``, ``integer_program`` gets the rest of the time.

    Parameters
    ----------
    graph : FactorGraph
    method : {"auto", "junction_tree", "graph_cut", "bounded", "loopy", "integer_program"}
    memory_limit : float, optional
        Bytes for a junction tree, half of the machine's memory by default.
    time_limit : float, optional
        Seconds for ``integer_program``.

    Examples
    --------
    >>> graph = FactorGraph.from_tables([2, 2], [((0,), [0.0, 1.0]), ((0, 1), [[0.0, 0.0], [0.0, 2.0]])])
    >>> maximise(graph).value, maximise(graph).exact
    (3.0, True)
    """
    if method not in MAXIMA:
        raise ValueError(f"method must be one of {', '.join(MAXIMA)}, got {method!r}")
    begin = time.perf_counter()
    wanted = plan(graph, "max", memory_limit).method if method == "auto" else method
    if wanted == "junction_tree":
        tree = JunctionTree.of(graph.topology, memory_limit)
        if method == "auto" and tree.log2_size > _TRY_MESSAGES:
            quick = bounded_max(graph, max_iter=100)
            if quick.exact:
                return quick
        return tree.best(graph)
    if wanted == "graph_cut":
        return graph_cut(graph)
    if wanted == "loopy":
        return loopy_max(graph)
    if wanted == "integer_program":
        return integer_program(graph, time_limit=time_limit)
    found = bounded_max(graph)
    if method == "bounded" or found.exact or time_limit is None:
        return found
    left = time_limit - (time.perf_counter() - begin)
    if left <= 0:
        return found
    better = integer_program(graph, time_limit=left)
    return better if (better.exact, better.value) >= (found.exact, found.value) else found


def summarise(graph: FactorGraph, method: str = "auto", *, memory_limit: float | None = None) -> Sum:
    """Log-partition and marginals by a method of choice; ``exact`` in the answer says whether they are.

    Parameters
    ----------
    graph : FactorGraph
    method : {"auto", "junction_tree", "reweighted", "bethe"}
    memory_limit : float, optional
        Bytes for a junction tree, half of the machine's memory by default.

    Examples
    --------
    >>> import numpy as np
    >>> graph = FactorGraph.from_tables([2, 2], [((0, 1), np.log([[1.0, 2.0], [3.0, 4.0]]))])
    >>> round(summarise(graph).log_z - float(np.log(10)), 12), summarise(graph).exact
    (0.0, True)
    """
    if method not in SUMS:
        raise ValueError(f"method must be one of {', '.join(SUMS)}, got {method!r}")
    wanted = plan(graph.topology, "sum", memory_limit).method if method == "auto" else method
    if wanted == "junction_tree":
        return JunctionTree.of(graph.topology, memory_limit).sum(graph)
    return loopy_sum(graph) if wanted == "bethe" else reweighted_sum(graph)
