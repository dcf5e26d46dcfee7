"""Compiled loops over forests."""
