"""Choice of the inference method for a graph: exact if possible, otherwise approximate with a warning."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from palmette.errors import TooWide
from palmette.inference.bounded_max import bounded_max
from palmette.inference.elimination import elimination
from palmette.inference.factor_graph import FactorGraph, Topology
from palmette.inference.graph_cut import graph_cut, is_submodular
from palmette.inference.integer_program import integer_program
from palmette.inference.junction_tree import JunctionTree
from palmette.inference.loopy import loopy_max, loopy_sum
from palmette.inference.results import Maximum, Sum
from palmette.inference.reweighted import reweighted_sum
from palmette.inference.slots import is_forest

MAXIMA = ("auto", "junction_tree", "graph_cut", "bounded", "loopy", "integer_program")
_SECONDS_PER_STATE = 3e-9  # of a junction tree, maximising
_AT_ONCE = 1.0  # seconds that a junction tree may take before messages are tried first
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

    ``"auto"`` follows ``plan``, but tries messages before a junction tree that takes more than a second, and returns
    what they prove; where all that leaves a gap and there is a ``time_limit``, ``integer_program`` gets the rest of it.

    Parameters
    ----------
    graph : FactorGraph
    method : {"auto", "junction_tree", "graph_cut", "bounded", "loopy", "integer_program"}
    memory_limit : float, optional
        Bytes for a junction tree, half of the machine's memory by default.
    time_limit : float, optional
        Seconds for ``integer_program``, and what a junction tree of ``"auto"`` may take by its number of joint states.

    Examples
    --------
    >>> graph = FactorGraph.from_tables([2, 2], [((0,), [0.0, 1.0]), ((0, 1), [[0.0, 0.0], [0.0, 2.0]])])
    >>> maximise(graph).value, maximise(graph).exact
    (3.0, True)
    """
    if method not in MAXIMA:
        raise ValueError(f"method must be one of {', '.join(MAXIMA)}, got {method!r}")
    if method == "auto":
        return _first_proof(graph, memory_limit, time_limit)
    if method == "junction_tree":
        return JunctionTree.of(graph.topology, memory_limit).best(graph)
    if method == "integer_program":
        return integer_program(graph, time_limit=time_limit)
    return {"graph_cut": graph_cut, "bounded": bounded_max, "loopy": loopy_max}[method](graph)


def _first_proof(graph: FactorGraph, memory_limit: float | None, time_limit: float | None) -> Maximum:
    """Methods in the order of what they cost, until one proves its answer."""
    begin, topology = time.perf_counter(), graph.topology
    if not is_forest(topology) and is_submodular(graph):
        return graph_cut(graph)
    seconds = _SECONDS_PER_STATE * 2.0 ** elimination(topology).log2_total
    found = None
    if seconds > _AT_ONCE:
        found = bounded_max(graph)  # often proves its own optimum
        if found.exact:
            return found
    left = np.inf if time_limit is None else time_limit - (time.perf_counter() - begin)
    if seconds <= left:
        with suppress(TooWide):
            return JunctionTree.of(topology, memory_limit).best(graph)
    found = bounded_max(graph) if found is None else found
    if found.exact or time_limit is None or left <= 0:
        return found
    searched = integer_program(graph, time_limit=left)
    best = searched if (searched.exact, searched.value) >= (found.exact, found.value) else found
    return best._replace(bound=min(found.bound, searched.bound))


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
