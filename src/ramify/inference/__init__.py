"""Inference on single factor graphs: what the structure ``Graph`` and the command ``ramify infer`` stand on."""

from ramify.inference.factor_graph import FactorGraph, Topology
from ramify.inference.results import Maximum, Relaxation, Sum

__all__ = ["FactorGraph", "Maximum", "Relaxation", "Sum", "Topology"]
