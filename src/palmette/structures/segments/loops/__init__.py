"""Loops compiled for segmentations."""
