"""Checks for those who write their own structures: every answer against brute force."""

from ramify.testing.chain_reference import ChainReference, MulticlassReference
from ramify.testing.check_estimator import check_structured_estimator
from ramify.testing.check_structure import CHECKS, StructureReport, check_structure
from ramify.testing.graph_reference import GraphReference
from ramify.testing.ranking_reference import RankingReference
from ramify.testing.reference import Cost, Instance, Limit, Reference, reference_for, register_reference
from ramify.testing.segment_reference import SegmentReference

__all__ = [
    "CHECKS",
    "ChainReference",
    "Cost",
    "GraphReference",
    "Instance",
    "Limit",
    "MulticlassReference",
    "RankingReference",
    "Reference",
    "SegmentReference",
    "StructureReport",
    "check_structure",
    "check_structured_estimator",
    "reference_for",
    "register_reference",
]
