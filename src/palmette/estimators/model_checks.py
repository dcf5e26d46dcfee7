"""Whether the parts of a model from a file belong together, so that no compiled loop ever reads past an array."""

from __future__ import annotations

from typing import Any

import numpy as np

from palmette.data.checks import check_array, check_finite
from palmette.estimators.training import bound_structure
from palmette.executors.threads import n_threads
from palmette.structures import Chain, Graph, Multiclass, Ranking, SemiMarkov
from palmette.structures.graph.encoder import GraphEncoder
from palmette.structures.graph.scorer import GraphScorer
from palmette.structures.positions.linear_scorer import LinearScorer
from palmette.structures.ranking.codec import RankingCodec
from palmette.structures.ranking.scorer import RankingScorer
from palmette.structures.segments.codec import SegmentCodec
from palmette.structures.segments.encoder import SegmentEncoder
from palmette.structures.segments.scorer import SegmentScorer

STRUCTURES = (Chain, Multiclass, SemiMarkov, Graph, Ranking)


def check_settings(model: Any) -> None:
    """The settings of a model that prediction reads."""
    if type(model.structure) not in STRUCTURES:
        raise ValueError(f"the structure is {model.structure!r:.60}")
    n_threads(model.n_jobs)


def check_model(model: Any) -> None:
    """Sizes and kinds that must agree."""
    structure, encoder, scorer, codec = model.structure, model.encoder_, model.scorer_, model.codec_
    weights: Any = getattr(scorer, "linear", scorer)
    kinds = {Graph: GraphScorer, SemiMarkov: SegmentScorer, Ranking: RankingScorer}
    wanted: Any = kinds.get(type(structure), LinearScorer)
    chain = wanted is LinearScorer
    if not isinstance(weights, wanted) or (chain and isinstance(weights, RankingScorer)):
        raise ValueError(f"{structure!r:.60} and weights of {type(weights).__name__} do not belong together")
    if structure.layout != encoder.layout or structure.has_edges != scorer.has_edges:
        raise ValueError("structure, features and weights of the model do not belong together")
    for owner, part, kind in (
        (Graph, encoder, GraphEncoder), (SemiMarkov, codec, SegmentCodec), (Ranking, codec, RankingCodec),
    ):  # fmt: skip
        if isinstance(structure, owner) != isinstance(part, kind):
            raise ValueError(f"{structure!r:.60} does not belong together with a {type(part).__name__}")
    scorer.check()
    if scorer.n_labels != len(codec.classes_):
        raise ValueError(f"there are {len(codec.classes_)} labels, but weights for {scorer.n_labels}")
    scorer.check_inputs(*_columns(encoder))
    if encoder.kind == "dense" and len(getattr(encoder, "node_types", ())) < 2:
        scorer.check_dense()  # nodes of several types have sparse rows
    coef = check_array("coef", model.coef_, np.float64)
    if coef.shape != (scorer.n_params,):
        raise ValueError(f"the weights have shape {coef.shape}, expected ({scorer.n_params},)")
    check_finite("coef", coef)
    if isinstance(structure, SemiMarkov):
        _check_segments(structure, encoder, weights, codec)
    if isinstance(structure, Graph):
        _check_graph(structure, encoder, weights, codec)
    if isinstance(structure, Ranking):
        structure.weights(1)
    model._structure = bound_structure(structure, codec)  # which checks its settings


def _columns(encoder: Any) -> tuple[int, int]:
    """Columns of positions or nodes, and of segments or edges."""
    if isinstance(encoder, GraphEncoder):
        return encoder.n_node_columns, encoder.n_edge_columns
    if isinstance(encoder, SegmentEncoder):
        return encoder.tokens.n_columns, encoder.segments.n_columns
    return encoder.n_columns, 0


def _check_segments(structure: SemiMarkov, encoder: Any, weights: SegmentScorer, codec: SegmentCodec) -> None:
    longest = structure.longest(codec.classes_)
    if not (np.array_equal(longest, codec.longest) and np.array_equal(longest, weights.longest)):
        raise ValueError("structure, labels and weights have different longest segments")
    if isinstance(encoder, SegmentEncoder) and encoder.max_length < longest.max():
        raise ValueError(
            f"features know segments of up to {encoder.max_length} positions, labels {longest.max()}"
        )


def _check_graph(structure: Graph, encoder: GraphEncoder, weights: GraphScorer, codec: Any) -> None:
    structure._check_settings()
    structure.check_encoder(encoder)
    if len(weights.allowed) != max(len(encoder.node_types), 1):
        raise ValueError(
            f"there are {len(encoder.node_types)} types of nodes, but weights for {len(weights.allowed)}"
        )
    if not np.array_equal(weights.symmetric, encoder.symmetric_types):
        raise ValueError("features and weights have different types of edges")
    labels = structure.factor_labels(encoder, codec.classes_)
    known = [(t.kind, t.arity, label) for t, label in zip(encoder.factor_types, labels)]
    if known != [tuple(factor) for factor in weights.factors]:
        raise ValueError("features and weights have different types of factors")
