"""Segmentations (semi-Markov chains), and the loop compiled for them."""

from palmette.loops.table import register

register("row sums", "segments", "palmette.structures.segments.loops.dual_sums:SegmentSums")
