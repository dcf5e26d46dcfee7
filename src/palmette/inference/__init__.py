"""Inference on single factor graphs, used by the structure ``Graph`` and the command ``palmette infer``.

>>> graph = FactorGraph.from_tables([2, 2], [((0,), [0.0, 1.0]), ((0, 1), [[0.0, 0.0], [0.0, 2.0]])])
>>> maximise(graph).codes.tolist(), plan(graph, "max").why
([1, 1], 'the graph is a forest, so messages are exact')
"""

from palmette.inference.choose import Plan, maximise, plan, summarise
from palmette.inference.factor_graph import FactorGraph, Topology
from palmette.inference.junction_tree import JunctionTree
from palmette.inference.results import Maximum, Relaxation, Sum

__all__ = [
    "FactorGraph",
    "JunctionTree",
    "Maximum",
    "Plan",
    "Relaxation",
    "Sum",
    "Topology",
    "maximise",
    "plan",
    "summarise",
]
