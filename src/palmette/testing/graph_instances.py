"""Small random batches of graphs that break inference: forests, loops, isolated nodes, mixed label sets, cliques."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import cycle
from typing import Any, NamedTuple

import numpy as np

from palmette.data.ragged import offsets_from_lengths
from palmette.structures.graph.batch import CliqueRows, GraphLayout
from palmette.structures.graph.tables import GraphTables, LabelSets
from palmette.testing.chain_instances import (
    _around_the_switch,
    _forbidding,
    _huge,
    _huge_whole,
    _moderate,
    _whole,
    _zeros,
    permit,
)


class Shape(NamedTuple):
    """A graph: its number of nodes, edges, types of nodes, cliques of three nodes, and structured factors by kind."""

    n: int
    edges: Sequence[tuple[int, int]] = ()
    types: Sequence[int] | None = None
    cliques: Sequence[tuple[int, ...]] = ()
    structured: Mapping[str, Sequence[tuple[int, ...]]] = {}


PATH = Shape(4, [(0, 1), (1, 2), (2, 3)])
# parents have lower numbers, tables are read in both directions
BACKWARD = Shape(4, [(1, 0), (1, 2), (3, 2)])
CORNER = Shape(3, [(1, 0), (0, 2)])
STAR = Shape(5, [(0, 1), (2, 0), (0, 3), (4, 0)])
BROOM = Shape(5, [(0, 1), (0, 2), (2, 3), (4, 2)])
FOREST = Shape(5, [(0, 2), (3, 1)])  # and an isolated node
UNORDERED = Shape(4, [(0, 3), (3, 1), (1, 2)])  # parents have higher numbers
SINGLE, LOOSE = Shape(1), Shape(3)
TRIANGLE = Shape(3, [(0, 1), (1, 2), (2, 0)])
SQUARE = Shape(4, [(0, 1), (1, 2), (2, 3), (3, 0)])
LOOP_AND_TREE = Shape(5, [(0, 1), (1, 2), (2, 0), (3, 4)])
PARALLEL = Shape(3, [(0, 1), (1, 0), (1, 2)])
MIXED = Shape(3, [(0, 1), (2, 1)], (0, 1, 2))
MIXED_LOOP = Shape(3, [(0, 1), (1, 2), (2, 0)], (0, 1, 1))
CLIQUE = Shape(4, [(0, 1)], None, [(0, 2, 3)])
CLIQUES = Shape(4, [(1, 2)], None, [(0, 1, 2), (3, 2, 1)])
PAIR = Shape(2, [(1, 0)], None, [])

COUNTING = Shape(
    4,
    [(0, 1)],
    None,
    [],
    {"parity": [(0, 2, 3)], "at_most_one": [(3, 1, 0)], "agreement": [(1, 2), (0, 1, 3)]},
)
COUNTING_TREE = Shape(3, [(0, 1), (1, 2)], None, [], {"parity": [(2, 0), (0, 1, 2)]})
COUNTING_MIXED = MIXED._replace(
    structured={"parity": [(0, 1, 2)], "agreement": [(2, 0)], "at_most_one": [(0, 1)]}
)

LABELS_OF = {3: ([0, 1, 2], [0, 2], [1]), 2: ([0, 1], [1], [0, 1])}

# name, scores of the samples in turn, labels, graphs, tables: one for all, one each, or of two types
KINDS = [
    ("ties on trees", (_whole,), 3, (CORNER, SINGLE, CORNER), "one"),
    ("moderate trees, edge by edge", (_moderate,), 2, (STAR, BROOM, SINGLE), "own"),
    ("huge trees", (_huge,), 2, (FOREST, UNORDERED, STAR), "one"),
    ("forbidden potentials", (_forbidding,), 2, (BACKWARD, FOREST), "own"),
    ("zeros", (_zeros,), 2, (LOOSE, BROOM, PATH), "two"),
    ("moderate trees of two types of edges", (_moderate,), 2, (UNORDERED, MIXED._replace(types=None)), "two"),
    ("huge ties, edge by edge", (_huge_whole,), 2, (BROOM, BACKWARD), "own"),
    ("moderate beside huge", (_moderate, _huge), 2, (STAR, PATH, FOREST), "own"),
    ("around the switch", (_around_the_switch,), 3, (CORNER, LOOSE), "one"),
    ("around the switch, edge by edge", (_around_the_switch,), 2, (BROOM, STAR), "own"),
    ("loops", (_moderate,), 3, (TRIANGLE, CORNER), "one"),
    ("loops, edge by edge", (_moderate,), 2, (LOOP_AND_TREE, SINGLE, PARALLEL), "own"),
    ("huge loops", (_huge,), 2, (SQUARE, TRIANGLE), "two"),
    ("forbidden potentials on loops", (_forbidding,), 2, (TRIANGLE, SQUARE), "own"),
    ("mixed labels", (_moderate,), 3, (MIXED, MIXED_LOOP), "one"),
    ("mixed labels, ties", (_whole,), 3, (MIXED, MIXED), "own"),
    ("cliques", (_moderate,), 2, (CLIQUE, PAIR, CLIQUES), "one"),
    ("cliques of mixed labels", (_moderate,), 3, (MIXED_LOOP._replace(cliques=[(2, 1, 0)]), MIXED), "own"),
    ("structured factors", (_moderate,), 2, (COUNTING, PAIR, COUNTING_TREE), "one"),
    ("structured factors of mixed labels", (_moderate,), 3, (COUNTING_MIXED, MIXED), "own"),
    ("single label", (_moderate,), 1, (STAR, TRIANGLE), "one"),
    ("no edges at all", (_whole,), 3, (SINGLE, LOOSE), "one"),
]


def layout_of(shapes: Sequence[Shape]) -> GraphLayout:
    """The graphs as a packed layout."""
    offsets = offsets_from_lengths([shape.n for shape in shapes])
    edge_offsets = offsets_from_lengths([len(shape.edges) for shape in shapes])
    edges = np.array([edge for shape in shapes for edge in shape.edges], np.int64).reshape(-1, 2)
    types = np.array([t for shape in shapes for t in (shape.types or [0] * shape.n)])
    cliques: tuple[CliqueRows, ...] = ()
    if any(shape.cliques for shape in shapes):
        nodes = np.array([nodes for shape in shapes for nodes in shape.cliques], np.int64).reshape(-1, 3)
        cliques = (CliqueRows(nodes, offsets_from_lengths([len(shape.cliques) for shape in shapes])),)
    for kind in dict.fromkeys(kind for shape in shapes for kind in shape.structured):
        own = [list(shape.structured.get(kind, ())) for shape in shapes]
        rows = [[*nodes, *[-1] * (3 - len(nodes))] for some in own for nodes in some]
        counts = offsets_from_lengths([len(some) for some in own])
        cliques += (CliqueRows(np.array(rows, np.int64), counts, kind),)
    return GraphLayout(offsets, edge_offsets, edges, types, None, cliques)


def draw_graphs(
    rng: np.random.Generator,
    scores: Sequence[Callable[..., Any]],
    n_labels: int,
    shapes: Sequence[Shape],
    tables: str,
) -> GraphTables:
    """Potentials drawn by ``scores``, one function a sample in turn; some output of each is not forbidden."""
    layout = layout_of(shapes)
    allowed = None
    if any(shape.types for shape in shapes):
        own = np.zeros((3, n_labels), bool)
        for t, labels in enumerate(LABELS_OF[n_labels]):
            own[t, labels] = True
        allowed = LabelSets(own)
    node, edge, factors = [], [], []
    for draw, shape in zip(cycle(scores), shapes):
        node.append(draw(rng, (shape.n, n_labels)))
        edge.append(draw(rng, (len(shape.edges), n_labels, n_labels)))
        factors.append(draw(rng, (len(shape.cliques), *(n_labels,) * 3)))
    edges: Any = np.concatenate(edge)
    table = np.arange(len(edges))
    if tables != "own":
        n_tables = {"one": 1, "two": 2}[tables]
        edges, table = scores[0](rng, (n_tables, n_labels, n_labels)), table % n_tables
    nodes: Any = np.concatenate(node)
    mask = np.ones(nodes.shape, bool) if allowed is None else allowed.rows(layout)
    nodes[~mask] = -np.inf
    planted = np.array([rng.choice(np.flatnonzero(row)) for row in mask])
    permit(nodes, (np.arange(len(nodes)), planted))
    for e, (a, b) in enumerate(layout.edge_rows):
        permit(edges, (table[e], planted[a], planted[b]))
    cliques: list[np.ndarray] = []
    for group in layout.cliques:
        if group.kind == "table":
            cliques.append(
                np.concatenate(factors) if tables == "own" else scores[0](rng, (1, *(n_labels,) * 3))
            )
        elif group.kind == "at_most_one":
            cliques.append(np.array([[0.0, -np.inf]]))
        else:
            cliques.append(
                scores[0](rng, (len(group.nodes) if tables == "own" else 1, *group.shape(n_labels)))
            )
    return GraphTables(
        nodes, edges, layout.offsets, layout=layout, edge_table=table, factors=tuple(cliques), allowed=allowed,
        factor_labels=tuple(0 if group.kind in ("parity", "at_most_one") else -1 for group in layout.cliques),
    )  # fmt: skip
