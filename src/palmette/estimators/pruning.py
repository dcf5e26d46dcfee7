"""Dropping features without weight, after a fit with an L1 penalty."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from palmette.contracts.structure import can
from palmette.features.rows import renumbered


def prune(model: Any) -> None:
    """Drop the columns of a fitted model whose weights are all 0; in sparse layouts, every weight that is 0."""
    old, w = model.scorer_, model.coef_
    if model.kernel is not None:
        raise TypeError(f"prune drops weights of features, and kernel={model.kernel!r} has none")
    if not can(old, "used_columns", "restricted"):
        raise TypeError(
            f"prune needs a scorer with used_columns() and restricted(), and {type(old).__name__} has not both"
        )
    keep = old.used_columns(w)
    if not keep.any():
        raise ValueError("prune: every feature weight is 0; fit with a smaller l1")
    encoder = model.encoder_.restricted(keep)
    new = old.restricted(w, keep)
    columns = renumbered(keep)[:-1].astype(np.int64)
    model.coef_ = new.carry_over(old, w, np.arange(old.n_labels), columns)
    model.encoder_, model.scorer_ = encoder, new
    vars(model).pop("_pass_state", None)  # of a perceptron, which goes on from its averaged weights
    model.result_ = replace(model.result_, w=model.coef_, state=None)
