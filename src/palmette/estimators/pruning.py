"""Dropping features without weight, after a fit with an L1 penalty."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from palmette.features.rows import renumbered
from palmette.structures.chain.edge_scorer import EdgeScorer
from palmette.structures.positions.layout import from_keys, keys_of
from palmette.structures.positions.linear_scorer import LinearScorer


def prune(model: Any) -> None:
    """Drop the columns of a fitted model whose weights are all 0; in sparse layouts, every weight that is 0."""
    old, w = model.scorer_, model.coef_
    if getattr(model, "kernel", None) is not None:
        raise TypeError(f"prune drops weights of features, and kernel={model.kernel!r} has none")
    if not isinstance(old, LinearScorer):
        raise TypeError(f"prune works on chains and single labels, not on {type(model.structure).__name__}")
    keep = used_columns(old, w)
    if not keep.any():
        raise ValueError("prune: every feature weight is 0; fit with a smaller l1")
    encoder = model.encoder_.restricted(keep)
    new = restricted_scorer(old, w, keep)
    columns = renumbered(keep)[:-1].astype(np.int64)
    model.coef_ = new.carry_over(old, w, np.arange(old.n_labels), columns)
    model.encoder_, model.scorer_ = encoder, new
    vars(model).pop("_pass_state", None)  # of a perceptron, which goes on from its averaged weights
    model.result_ = replace(model.result_, w=model.coef_, state=None)


def used_columns(scorer: LinearScorer, w: np.ndarray) -> np.ndarray:
    """Which columns (bool) have a weight that is not 0."""
    blocks = scorer.blocks
    keep = np.zeros(scorer.n_columns, bool)
    keep[scorer.coordinates()[0][w[blocks["node"]] != 0]] = True
    if isinstance(scorer, EdgeScorer):
        keep[scorer.edge_coordinates()[0][w[blocks["edge_features"]] != 0]] = True
    return keep


def restricted_scorer(scorer: LinearScorer, w: np.ndarray, keep: np.ndarray) -> Any:
    """The layout of the columns that stay; of those that need not have all labels, without weights of 0."""
    blocks, n = scorer.blocks, scorer.n_labels
    new: dict[str, Any] = {"n_columns": int(keep.sum())}
    if len(scorer.ptr):
        new["ptr"], new["label"] = _restricted(scorer.ptr, scorer.label, w[blocks["node"]], keep, n)
    if isinstance(scorer, EdgeScorer) and len(scorer.edge_ptr):
        edge = scorer.edge_ptr, scorer.edge_pair, w[blocks["edge_features"]]
        new["edge_ptr"], new["edge_pair"] = _restricted(*edge, keep, n * n)
    return replace(scorer, **new)


def _restricted(
    ptr: np.ndarray, code: np.ndarray, w: np.ndarray, keep: np.ndarray, n_codes: int
) -> tuple[np.ndarray, np.ndarray]:
    column, code = np.divmod(keys_of(ptr, code, n_codes)[w != 0], n_codes)
    return from_keys(renumbered(keep)[column].astype(np.int64) * n_codes + code, int(keep.sum()), n_codes)
