"""Which kind of features an input holds: names (dicts, strings), dense or sparse arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import numpy as np
from scipy import sparse

from palmette.features.attributes import COLLECTIONS, describe

Kind = Literal["names", "dense", "sparse", "hashed", "columns", "hashed columns"]
Layout = Literal["sequences", "items"]

DESCRIPTION: dict[str, str] = {
    "names": "named features (dicts or lists of strings)",
    "dense": "dense arrays",
    "sparse": "sparse matrices",
    "columns": "sentences in columns (ColumnSentences)",
}

_ACCEPTED = {
    "sequences": (
        "X must be a list of sequences, each a list of dicts, a list of lists of strings, "
        "a 2-D array or a sparse matrix"
    ),
    "items": "X must be a 2-D array, a sparse matrix, a list of dicts or a list of lists of strings",
}


def samples_of(X: Any) -> Any:
    """`X` of layout "sequences" as a list of samples."""
    is_matrix = isinstance(X, np.ndarray) and X.dtype != object and X.ndim == 2
    if is_matrix or sparse.issparse(X) or hasattr(X, "columns"):
        raise ValueError(
            f"X is one table of shape {X.shape}, but sequences are needed; "
            "cut it into sequences with palmette.as_sequences(X, y, groups)"
        )
    listable = hasattr(X, "__len__") and (hasattr(X, "__iter__") or hasattr(X, "__getitem__"))
    if isinstance(X, (str, bytes, Mapping, set, frozenset, Iterator)) or not listable:
        raise TypeError(f"{_ACCEPTED['sequences']}; found {describe(X)}")
    return X if isinstance(X, (list, tuple)) else list(X)


def kind_of(X: Any, layout: Layout) -> Kind | None:
    """The kind of the first features met in `X`, which is free of iterators; None if there are none."""
    own = getattr(type(X), "kind", None)  # of columns and streams, which hold one kind only
    if own is not None:
        return own
    if layout == "sequences":
        found = (_kind_of_sample(sample, f"X[{i}]") for i, sample in enumerate(samples_of(X)))
        return next(filter(None, found), None)
    if sparse.issparse(X):  # also a dict of keys, which is a Mapping
        return "sparse"
    if isinstance(X, (str, bytes, Mapping, set, frozenset, Iterator)) or X is None:
        raise TypeError(f"{_ACCEPTED['items']}; found {describe(X)}")
    return _kind_of_sample(X, "X")


def _kind_of_sample(sample: Any, where: str) -> Kind | None:
    """The kind of a table of positions, given as an array or as a list of rows."""
    if sparse.issparse(sample):
        return "sparse"
    if isinstance(sample, np.ndarray) and sample.dtype == object and sample.ndim == 1:
        sample = sample.tolist()
    if isinstance(sample, (list, tuple)):
        found = (_kind_of_row(row, f"{where}[{t}]") for t, row in enumerate(sample))
        return next(filter(None, found), None)
    if hasattr(sample, "__array__"):
        return "dense"
    raise TypeError(
        f"{where} must be a list of dicts, of lists of strings, or an array; found {describe(sample)}"
    )


def _kind_of_row(row: Any, where: str) -> Kind | None:
    if isinstance(row, Mapping):
        return "names"
    if isinstance(row, (str, bytes)):
        raise TypeError(
            f"{where} is the string {row!r:.60}, but a position is a dict or a list of strings: "
            f"write [{row!r:.60}], or {{'word': {row!r:.60}}}"
        )
    if isinstance(row, COLLECTIONS):
        if not row:
            return None
        first = next(iter(row))
        if isinstance(first, (str, bytes)):
            return "names"
        if isinstance(first, (Mapping, *COLLECTIONS)):
            raise TypeError(
                f"{where} is a {type(row).__name__} of {type(first).__name__}s, one level too deep: "
                "it should be one dict, one list of strings or one row of numbers"
            )
        return "dense"
    if isinstance(row, Iterator):
        raise TypeError(f"{where} is an iterator ({type(row).__name__}); make it a list")
    return "dense"


def require_kind(X: Any, layout: Layout, kind: Kind) -> None:
    """Raise TypeError if `X` holds another kind of features than `kind`, what the encoder was fitted on."""
    found = kind_of(X, layout)
    if found not in (None, kind):
        raise TypeError(
            f"the model was fitted on {DESCRIPTION[kind]}, but X holds {DESCRIPTION[found]}; "
            "give the same kind of features to fit and predict"
        )
