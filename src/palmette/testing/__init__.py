"""Checks for user-defined structures: every operation against brute force."""

from palmette.testing.alignment_reference import AlignmentReference
from palmette.testing.chain_reference import ChainReference, MulticlassReference
from palmette.testing.check_estimator import check_structured_estimator
from palmette.testing.check_structure import CHECKS, StructureReport, check_structure
from palmette.testing.check_supervision import SupervisionReport, check_supervision
from palmette.testing.folding_reference import FoldingReference
from palmette.testing.graph_reference import GraphReference
from palmette.testing.hierarchy_reference import HierarchyReference
from palmette.testing.ranking_reference import RankingReference
from palmette.testing.reference import Cost, Instance, Limit, Reference, reference_for, register_reference
from palmette.testing.segment_reference import SegmentReference
from palmette.testing.tracking_reference import TrackingReference

__all__ = [
    "CHECKS",
    "AlignmentReference",
    "ChainReference",
    "Cost",
    "FoldingReference",
    "GraphReference",
    "HierarchyReference",
    "Instance",
    "Limit",
    "MulticlassReference",
    "RankingReference",
    "Reference",
    "SegmentReference",
    "StructureReport",
    "SupervisionReport",
    "TrackingReference",
    "check_structure",
    "check_structured_estimator",
    "check_supervision",
    "reference_for",
    "register_reference",
]
