"""The parts of the score of the labels of one graph, for explanations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from palmette.structures.graph.batch import GraphBatch
from palmette.structures.graph.states import states
from palmette.structures.graph.tables import GraphTables
from palmette.structures.positions.score_parts import Part

if TYPE_CHECKING:
    from palmette.structures.graph.scorer import GraphScorer


def score_parts(
    scorer: GraphScorer, w: np.ndarray, batch: GraphBatch, codes: np.ndarray, near: np.ndarray
) -> Iterator[Part]:
    """The summands of the score of the labels of one graph, as far as they touch the rows ``near`` (bool)."""
    layout, blocks = batch.layout, scorer.blocks
    bias = w[blocks["bias"]].reshape(-1, scorer.n_labels)
    for t in np.flatnonzero(near).tolist():
        label = int(codes[t])
        yield from scorer.nodes.row_parts("feature", w[blocks["node"]], batch.rows, t, label, (t,))
        if scorer.intercept:
            own = bias[layout.node_type[t] if len(bias) > 1 else 0, label]
            yield Part("bias", (t,), -1, (label,), 1.0, float(own))
    table = scorer.edge_table(w)
    for e in np.flatnonzero(near[layout.edge_rows].any(axis=1)).tolist():
        kind, place = int(layout.edge_type[e]), tuple(layout.edge_rows[e].tolist())
        pair = int(codes[place[0]]), int(codes[place[1]])
        yield Part("transition", place, -1, pair, 1.0, float(table[kind][pair]), str(kind))
        if scorer.edge_weights is not None and batch.edge_rows is not None:
            own_code = int(scorer.pair_codes[kind, pair[0] * scorer.n_labels + pair[1]])
            own_weights = w[blocks["edge_features"]]
            for part in scorer.edge_weights.row_parts(
                "edge feature", own_weights, batch.edge_rows, e, own_code, place
            ):
                yield part._replace(column=part.column + scorer.nodes.n_columns, labels=pair, name=str(kind))
    if scorer.factors:
        yield from _factor_parts(scorer, scorer.score(w, batch), codes, near)


def _factor_parts(
    scorer: GraphScorer, theta: GraphTables, codes: np.ndarray, near: np.ndarray
) -> Iterator[Part]:
    for k, factor in enumerate(scorer.factors):
        rows, table = theta.layout.clique_rows(k), theta.factors[k][0]
        found = codes[rows] if factor.kind == "table" else states(theta, k, codes)[:, None]
        for row, state in zip(rows.tolist(), found.tolist()):
            place = tuple(t for t in row if t >= 0)
            if near[list(place)].any():
                labels = tuple(codes[list(place)].tolist())
                yield Part("factor", place, -1, labels, 1.0, float(table[tuple(state)]), factor.kind)
