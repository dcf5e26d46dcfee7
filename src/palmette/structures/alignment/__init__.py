"""Pairwise alignments: matches in order, gaps with affine costs."""
