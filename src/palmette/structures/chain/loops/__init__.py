"""Solver loops compiled for chains and single labels."""
