"""Scorers: maps, linear in the weights, from encoded inputs to potentials."""

from ramify.scorers.edges import EdgeScorer
from ramify.scorers.graph import GraphScorer
from ramify.scorers.linear import LinearScorer
from ramify.scorers.ranking import RankingScorer
from ramify.scorers.segments import SegmentScorer

__all__ = ["EdgeScorer", "GraphScorer", "LinearScorer", "RankingScorer", "SegmentScorer"]
