"""Segmentations (semi-Markov chains)."""
