"""Compiled loops over chains."""
