"""Output structures: what an output is, and inference on it."""

from ramify.structures.base import Best, Expectation, Structure, require
from ramify.structures.chain import Chain
from ramify.structures.graph import Graph
from ramify.structures.graph_tables import GraphTables
from ramify.structures.multiclass import Multiclass
from ramify.structures.ranking import Ranking
from ramify.structures.ranking_tables import RankingCost, RankingRestriction, RankingTables
from ramify.structures.segment_tables import SegmentRestriction, SegmentTables
from ramify.structures.semi_markov import SemiMarkov
from ramify.structures.tables import ChainTables, Restriction

__all__ = [
    "Best",
    "Chain",
    "ChainTables",
    "Expectation",
    "Graph",
    "GraphTables",
    "Multiclass",
    "Ranking",
    "RankingCost",
    "RankingRestriction",
    "RankingTables",
    "Restriction",
    "SegmentRestriction",
    "SegmentTables",
    "SemiMarkov",
    "Structure",
    "require",
]
