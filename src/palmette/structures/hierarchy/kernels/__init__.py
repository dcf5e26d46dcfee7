"""Compiled loops of hierarchies."""
