"""Minimum cuts of all graphs of a batch that have two labels and submodular edges."""

from __future__ import annotations

from palmette._kernels.jit import kernel
from palmette._kernels.pair_cuts import cut_pairs, is_submodular, pair_score


@kernel()
def pair_kinds(node, table, which, offsets, edge_offsets, samples, kinds):
    """What ``is_submodular`` says of each sample; 0 where a node has a forbidden label, too."""
    for k in range(len(samples)):
        s = samples[k]
        total = 0.0
        for t in range(offsets[s], offsets[s + 1]):
            total += abs(node[t, 0]) + abs(node[t, 1])
        kinds[k] = is_submodular(table, which, edge_offsets[s], edge_offsets[s + 1])
        if not total < float("inf"):
            kinds[k] = 0


@kernel()
def cut_graphs(node, table, which, offsets, edge_offsets, edges, samples, codes, values, bounds):
    """Best labels, their scores and bounds of samples whose edges are submodular; ``edges`` count inside samples."""
    # One cut after the other, each from the start: what a sample gets does not depend on the others.
    for k in range(len(samples)):
        s = samples[k]
        own, of = slice(offsets[s], offsets[s + 1]), slice(edge_offsets[s], edge_offsets[s + 1])
        bound = cut_pairs(node[own], table, which[of], edges[of], codes[own])
        values[s] = pair_score(node[own], table, which[of], edges[of], codes[own])
        bounds[s] = max(values[s], bound)
