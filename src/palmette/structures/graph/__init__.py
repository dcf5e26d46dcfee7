"""Labelled graphs of any shape, and the loops that are written for them."""

from palmette.loops.table import register

register("frank_wolfe", "graph", "palmette.structures.graph.loops.relaxed_blocks:RelaxedBlocks")
register("smo", "graph", "palmette.structures.graph.loops.clique_blocks:CliqueBlocks")
register("row sums", "graph", "palmette.structures.graph.loops.dual_sums:ForestSums")
