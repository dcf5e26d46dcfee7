"""Compiled loops of folding."""
