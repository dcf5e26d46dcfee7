"""Compiled loops over segmentations."""
