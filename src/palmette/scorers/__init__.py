"""Scorers: maps, linear in the weights, from encoded inputs to potentials."""

from palmette.scorers.edges import EdgeScorer
from palmette.scorers.graph import GraphScorer
from palmette.scorers.linear import LinearScorer
from palmette.scorers.ranking import RankingScorer
from palmette.scorers.segments import SegmentScorer

__all__ = ["EdgeScorer", "GraphScorer", "LinearScorer", "RankingScorer", "SegmentScorer"]
