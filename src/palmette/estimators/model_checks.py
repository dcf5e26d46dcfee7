"""Checks that the parts of a model from a file are consistent, so that no compiled loop reads past an array."""

from __future__ import annotations

from typing import Any

import numpy as np

from palmette.data.checks import check_array, check_finite
from palmette.estimators.training import bound_structure
from palmette.executors.threads import n_threads
from palmette.registry import group_of, is_registered, kind_of


def check_settings(model: Any) -> None:
    """The settings of a model that prediction reads."""
    if not is_registered(model.structure) or group_of(model.structure) != "structure":
        raise ValueError(f"the structure is {model.structure!r:.60}")
    n_threads(model.n_jobs)


def check_model(model: Any) -> None:
    """Sizes and kinds that must agree."""
    structure, encoder, scorer, codec = model.structure, model.encoder_, model.scorer_, model.codec_
    weights: Any = getattr(scorer, "linear", scorer)
    for group, part in (("codec", codec), ("encoder", encoder), ("scorer", weights)):
        kinds = structure.part_kinds.get(group)
        if kinds is not None and kind_of(part) not in kinds:
            raise ValueError(f"{structure!r:.60} and a {type(part).__name__} do not belong together")
    if structure.layout != encoder.layout or structure.has_edges != scorer.has_edges:
        raise ValueError("structure, features and weights of the model do not belong together")
    scorer.check()
    if scorer.n_labels != len(codec.classes_):
        raise ValueError(f"there are {len(codec.classes_)} labels, but weights for {scorer.n_labels}")
    scorer.check_inputs(*encoder.column_counts)
    if encoder.makes_dense_rows:
        scorer.check_dense()
    coef = check_array("coef", model.coef_, np.float64)
    if coef.shape != (scorer.n_params,):
        raise ValueError(f"the weights have shape {coef.shape}, expected ({scorer.n_params},)")
    check_finite("coef", coef)
    structure.check_model(encoder, weights, codec)
    model._structure = bound_structure(structure, codec)  # which checks its settings
