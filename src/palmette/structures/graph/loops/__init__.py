"""Dual blocks of graphs."""
