"""The door: from whatever users hold to the encoder for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ramify.errors import ModelFileError
from ramify.features.arrays import DenseEncoder, SparseEncoder
from ramify.features.base import Encoder
from ramify.features.kinds import Layout, kind_of
from ramify.features.names import NamesEncoder


def make_encoder(X: Any, layout: Layout) -> Encoder:
    """The encoder for the kind of features that `X` holds, not fitted yet.

    Parameters
    ----------
    X : the inputs of some samples
        Free of iterators, since looking at one would use it up: pass iterators through `ramify.data.listed`.
    layout : {"sequences", "items"}
        "sequences": `X` is a list of sequences, each a list of dicts or of lists of strings, a 2-D array or a
        sparse matrix. "items": `X` is one such sequence, whose rows are the samples.

    Examples
    --------
    >>> encoder = make_encoder([[{"w": "a"}], [{"w": "b"}, {"w": "a"}]], "sequences")
    >>> encoder.kind, encoder.fit_transform([[["w:a"]]]).n_columns
    ('names', 1)
    >>> make_encoder(np.eye(2), "items").kind
    'dense'
    """
    kind = kind_of(X, layout)
    if kind == "dense":
        return DenseEncoder(layout)
    if kind == "sparse":
        return SparseEncoder(layout)
    return NamesEncoder(layout)  # also where nothing is there to look at, which its fit_transform explains


def encoder_from_state(header: Any, arrays: Mapping[str, np.ndarray]) -> Encoder:
    """The encoder whose ``state()`` returned `header` and `arrays`."""
    if not isinstance(header, dict):
        raise ModelFileError(f"the encoder of a model file must be an object, found {type(header).__name__}")
    kind, layout, n_columns = (header.get(key) for key in ("kind", "layout", "n_columns"))
    if layout not in ("sequences", "items") or type(n_columns) is not int or n_columns < 1:
        raise ModelFileError(f"damaged encoder in a model file: layout {layout!r}, n_columns {n_columns!r}")
    if kind == "names":
        return NamesEncoder.from_state(header, arrays)
    if kind == "dense":
        return DenseEncoder(layout, n_columns)
    if kind == "sparse":
        return SparseEncoder(layout, n_columns)
    raise ModelFileError(f"a model file with features of kind {kind!r}, which this ramify does not know")
