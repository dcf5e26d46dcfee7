"""Compiled loops over rankings."""
