"""Output structures: what an output is, and inference on it. One folder per structure; none knows another.

``positions`` is what those with labels at positions share. Names are imported when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from palmette.contracts.reductions import REDUCTIONS

_HOME = {
    "palmette.contracts.structure": ("Best", "Expectation", "Structure", "require"),
    "palmette.structures.alignment.alignment": ("Alignment",),
    "palmette.structures.alignment.cost": ("MatchCost",),
    "palmette.structures.alignment.encoder": ("SequencePair",),
    "palmette.structures.alignment.losses": ("ColumnLoss",),
    "palmette.structures.alignment.outputs": ("Core",),
    "palmette.structures.alignment.restrictions": ("AlignmentRestriction",),
    "palmette.structures.alignment.tables": ("AlignmentTables",),
    "palmette.structures.chain.chain": ("Chain",),
    "palmette.structures.chain.multiclass": ("Multiclass",),
    "palmette.structures.folding.encoder": ("RNA",),
    "palmette.structures.folding.folding": ("Folding",),
    "palmette.structures.folding.losses": ("PairLoss",),
    "palmette.structures.folding.restrictions": ("FoldingRestriction",),
    "palmette.structures.folding.tables": ("FoldingTables", "PairCost"),
    "palmette.structures.graph.batch": ("GraphBatch", "GraphLayout"),
    "palmette.structures.graph.cliques": ("Agreement", "AtMostOne", "Clique", "Parity"),
    "palmette.structures.graph.graph": ("Graph",),
    "palmette.structures.graph.inputs": ("GraphInput", "chain_graph", "grid_graph", "tree_graph"),
    "palmette.structures.graph.tables": ("GraphTables",),
    "palmette.structures.hierarchy.hierarchy": ("Hierarchy",),
    "palmette.structures.hierarchy.losses": ("CommonPath", "FirstMistakes", "SymmetricDifference"),
    "palmette.structures.hierarchy.tables": ("HierarchyRestriction", "HierarchyTables", "NodeCost"),
    "palmette.structures.hierarchy.tree": ("Tree", "tree_from_edges"),
    "palmette.structures.positions.tables": ("ChainTables", "Restriction"),
    "palmette.structures.ranking.codec": ("RankingCodec", "by_query", "top_k"),
    "palmette.structures.ranking.losses": ("NDCG", "MeanAveragePrecision", "Pairwise", "PrecisionAt"),
    "palmette.structures.ranking.ranking": ("Ranking",),
    "palmette.structures.ranking.tables": ("RankingCost", "RankingRestriction", "RankingTables"),
    "palmette.structures.segments.semi_markov": ("SemiMarkov",),
    "palmette.structures.segments.tables": ("SegmentRestriction", "SegmentTables"),
    "palmette.structures.tracking.candidates": ("Candidates", "Event"),
    "palmette.structures.tracking.detections": ("Detections",),
    "palmette.structures.tracking.event_kinds": ("EventKind",),
    "palmette.structures.tracking.lineage": ("Lineage", "Track"),
    "palmette.structures.tracking.losses": ("WeightedEvents",),
    "palmette.structures.tracking.tables": ("EventRestriction", "EventTables"),
    "palmette.structures.tracking.tracking": ("Tracking",),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = sorted(_MODULE_OF)

if TYPE_CHECKING:
    from palmette.contracts.structure import Best as Best
    from palmette.contracts.structure import Expectation as Expectation
    from palmette.contracts.structure import Structure as Structure
    from palmette.contracts.structure import require as require
    from palmette.structures.alignment.alignment import Alignment as Alignment
    from palmette.structures.alignment.cost import MatchCost as MatchCost
    from palmette.structures.alignment.encoder import SequencePair as SequencePair
    from palmette.structures.alignment.losses import ColumnLoss as ColumnLoss
    from palmette.structures.alignment.outputs import Core as Core
    from palmette.structures.alignment.restrictions import AlignmentRestriction as AlignmentRestriction
    from palmette.structures.alignment.tables import AlignmentTables as AlignmentTables
    from palmette.structures.chain.chain import Chain as Chain
    from palmette.structures.chain.multiclass import Multiclass as Multiclass
    from palmette.structures.folding.encoder import RNA as RNA
    from palmette.structures.folding.folding import Folding as Folding
    from palmette.structures.folding.losses import PairLoss as PairLoss
    from palmette.structures.folding.restrictions import FoldingRestriction as FoldingRestriction
    from palmette.structures.folding.tables import FoldingTables as FoldingTables
    from palmette.structures.folding.tables import PairCost as PairCost
    from palmette.structures.graph.batch import GraphBatch as GraphBatch
    from palmette.structures.graph.batch import GraphLayout as GraphLayout
    from palmette.structures.graph.cliques import Agreement as Agreement
    from palmette.structures.graph.cliques import AtMostOne as AtMostOne
    from palmette.structures.graph.cliques import Clique as Clique
    from palmette.structures.graph.cliques import Parity as Parity
    from palmette.structures.graph.graph import Graph as Graph
    from palmette.structures.graph.inputs import GraphInput as GraphInput
    from palmette.structures.graph.inputs import chain_graph as chain_graph
    from palmette.structures.graph.inputs import grid_graph as grid_graph
    from palmette.structures.graph.inputs import tree_graph as tree_graph
    from palmette.structures.graph.tables import GraphTables as GraphTables
    from palmette.structures.hierarchy.hierarchy import Hierarchy as Hierarchy
    from palmette.structures.hierarchy.losses import CommonPath as CommonPath
    from palmette.structures.hierarchy.losses import FirstMistakes as FirstMistakes
    from palmette.structures.hierarchy.losses import SymmetricDifference as SymmetricDifference
    from palmette.structures.hierarchy.tables import HierarchyRestriction as HierarchyRestriction
    from palmette.structures.hierarchy.tables import HierarchyTables as HierarchyTables
    from palmette.structures.hierarchy.tables import NodeCost as NodeCost
    from palmette.structures.hierarchy.tree import Tree as Tree
    from palmette.structures.hierarchy.tree import tree_from_edges as tree_from_edges
    from palmette.structures.positions.tables import ChainTables as ChainTables
    from palmette.structures.positions.tables import Restriction as Restriction
    from palmette.structures.ranking.codec import RankingCodec as RankingCodec
    from palmette.structures.ranking.codec import by_query as by_query
    from palmette.structures.ranking.codec import top_k as top_k
    from palmette.structures.ranking.losses import NDCG as NDCG
    from palmette.structures.ranking.losses import MeanAveragePrecision as MeanAveragePrecision
    from palmette.structures.ranking.losses import Pairwise as Pairwise
    from palmette.structures.ranking.losses import PrecisionAt as PrecisionAt
    from palmette.structures.ranking.ranking import Ranking as Ranking
    from palmette.structures.ranking.tables import RankingCost as RankingCost
    from palmette.structures.ranking.tables import RankingRestriction as RankingRestriction
    from palmette.structures.ranking.tables import RankingTables as RankingTables
    from palmette.structures.segments.semi_markov import SemiMarkov as SemiMarkov
    from palmette.structures.segments.tables import SegmentRestriction as SegmentRestriction
    from palmette.structures.segments.tables import SegmentTables as SegmentTables
    from palmette.structures.tracking.candidates import Candidates as Candidates
    from palmette.structures.tracking.candidates import Event as Event
    from palmette.structures.tracking.detections import Detections as Detections
    from palmette.structures.tracking.event_kinds import EventKind as EventKind
    from palmette.structures.tracking.lineage import Lineage as Lineage
    from palmette.structures.tracking.lineage import Track as Track
    from palmette.structures.tracking.losses import WeightedEvents as WeightedEvents
    from palmette.structures.tracking.tables import EventRestriction as EventRestriction
    from palmette.structures.tracking.tables import EventTables as EventTables
    from palmette.structures.tracking.tracking import Tracking as Tracking


def _paths_as_chains(data: Any, scorer: Any) -> tuple[Any, Any]:
    """Graphs that are paths are trained as chains; imported when a graph is first trained."""
    from palmette.structures.paths_as_chains import simplified

    return simplified(data, scorer)


REDUCTIONS["palmette.structures.graph.graph.Graph"] = _paths_as_chains


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        return getattr(importlib.import_module(_MODULE_OF[name]), name)
    raise AttributeError(f"module 'palmette.structures' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
