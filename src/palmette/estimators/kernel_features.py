"""A kernel as a stage between encoding and weights: rows become features, and any learner goes on with those."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from palmette.contracts.training import Encoded
from palmette.errors import MissingCapability
from palmette.estimators.settings import settings_of
from palmette.features.base import Encoder
from palmette.kernels import Nystroem
from palmette.kernels.exact_factor import ExactFactor
from palmette.kernels.feature_map import FeatureMap, KernelValues
from palmette.kernels.rows import as_rows
from palmette.objectives.kernel_scorer import MappedScorer

Keep = Callable[[np.ndarray], tuple[Any, np.ndarray]]
"""From weights of features to the scorer and the weights of inputs as they are given."""


class MappedEncoder:
    """An encoder whose rows a feature map has replaced; what it says of edges, types and segments stays."""

    named = False
    kind = "dense"
    feature_names = None

    def __init__(self, encoder: Encoder, n_features: int) -> None:
        self._encoder, self.n_columns = encoder, n_features

    def __getattr__(self, name: str) -> Any:
        return getattr(self._encoder, name)


def mapped(model: Any, kernel: Any, data: Encoded) -> tuple[Encoded, FeatureMap]:
    """The training data with features of the kernel as rows, and the map that made them."""
    rows = as_rows(data.samples.batch.rows)
    if isinstance(kernel, Nystroem):
        refuse_settings(model)
        own: FeatureMap = clone(kernel).fit(rows)
        features = own.map_rows(rows)
    else:
        refuse_coordinates(model)
        budget = float(settings_of(model, "kernel_options").cache_size)
        own, features = ExactFactor.of(kernel, rows, megabytes=budget)
    batch = replace(data.samples.batch, rows=np.ascontiguousarray(features))
    encoder: Any = MappedEncoder(data.encoder, features.shape[1])
    return replace(data, encoder=encoder, samples=data.samples._replace(batch=batch)), own


def kept(own: FeatureMap, n_columns: int, scorer: Any) -> Keep:
    """How a fitted model scores: by the map, or of an exact factor by coefficients of its landmarks.

    ``K(x, landmarks) (normalization w)`` costs O(landmarks) per row and label, ``(K(x, landmarks) normalization) w``
    O(landmarks^2) per row.
    """

    def by_map(w: np.ndarray) -> tuple[Any, np.ndarray]:
        return MappedScorer(own, n_columns, scorer), w

    def by_landmarks(w: np.ndarray) -> tuple[Any, np.ndarray]:
        parts = [
            own.coefficients(w[place].reshape(own.normalization_.shape[1], -1)).ravel()
            if name in scorer.row_blocks
            else w[place]
            for name, place in scorer.blocks.items()
        ]
        values = KernelValues(own.kernel_, own.landmarks_)
        linear = scorer.with_columns(len(own.normalization_))
        return MappedScorer(values, n_columns, linear), np.concatenate(parts)

    return by_landmarks if isinstance(own, ExactFactor) and hasattr(scorer, "row_blocks") else by_map


def refuse_settings(model: Any) -> None:
    """Settings that do not go with a map, which makes features of its own."""
    for name, given in (
        ("warm_start", bool(model.warm_start)),
        ("edge_features", model.edge_features is not None),
        ("edge_kernel", settings_of(model, "kernel_options").edge_kernel is not None),
        ("states", settings_of(model, "encoding").states not in ("auto", "all")),
    ):
        if given:
            raise MissingCapability(
                f"{name} does not go with kernel={model.kernel!r}, which makes features of its own, dense and without "
                f"names, anew in every fit: leave {name} out"
            )


def refuse_coordinates(model: Any) -> None:
    """Settings that speak of single weights, which a kernel does not have."""
    maps = "kernel=Nystroem(...) or "
    for name, default in (
        ("l1", 0.0), ("regularizer", None), ("edge_features", None), ("warm_start", False), ("l2_bias", None),
    ):  # fmt: skip
        value = getattr(model, name, default)
        if value != default:
            raise MissingCapability(
                f"{name}={value!r} needs weights of features, and kernel={model.kernel!r} has none: leave {name} out, "
                f"or use {maps if name in ('l1', 'regularizer', 'l2_bias') else ''}kernel=None"
            )
    if settings_of(model, "kernel_options").edge_kernel is not None and not model._in_kernel_dual():
        own = settings_of(model, "kernel_options").edge_kernel
        raise MissingCapability(
            f"edge_kernel={own!r} goes with loss='hinge', margin rescaling and solver='frank_wolfe' only: leave it out"
        )
    states = settings_of(model, "encoding").states
    if states not in ("auto", "all"):
        raise MissingCapability(f"states={states!r} needs weights of features; with a kernel leave it out")
    if model.fit_intercept is True:
        raise MissingCapability(
            "fit_intercept=True: a kernel brings its own constant (coef0 of Polynomial, or add one to another); leave "
            "fit_intercept out"
        )
