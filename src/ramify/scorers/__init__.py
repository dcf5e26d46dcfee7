"""Scorers: maps, linear in the weights, from encoded inputs to potentials."""

from ramify.scorers.linear import LinearScorer

__all__ = ["LinearScorer"]
