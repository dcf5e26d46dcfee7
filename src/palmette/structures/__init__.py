"""Output structures: what an output is, and inference on it."""

from palmette.structures.base import Best, Expectation, Structure, require
from palmette.structures.chain import Chain
from palmette.structures.graph import Graph
from palmette.structures.graph_tables import GraphTables
from palmette.structures.multiclass import Multiclass
from palmette.structures.ranking import Ranking
from palmette.structures.ranking_tables import RankingCost, RankingRestriction, RankingTables
from palmette.structures.segment_tables import SegmentRestriction, SegmentTables
from palmette.structures.semi_markov import SemiMarkov
from palmette.structures.tables import ChainTables, Restriction

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
