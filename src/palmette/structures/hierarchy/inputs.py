"""Inputs: a sample is one row of features, in one table of all samples or a list with those of each."""

from __future__ import annotations

from typing import Any

import numpy as np

from palmette.data.outside import checked_csr
from palmette.data.sequences import listed
from palmette.features.encoded import EncodedInputs
from palmette.features.kinds import kind_of


class Rows(list[Any]):
    """Samples of one row each, as encoders of sequences take them."""


def one_row_each(X: Any) -> Any:
    """Every row of a table, and every set of named features, as a sample; what is encoded already stays as it is.

    >>> [row.tolist() for row in one_row_each(np.array([[1.0, 2.0], [3.0, 4.0]]))]
    [[[1.0, 2.0]], [[3.0, 4.0]]]
    >>> one_row_each([["warm", "furry"], ["green"]])
    [[['warm', 'furry']], [['green']]]
    """
    if isinstance(X, EncodedInputs | Rows):
        return X
    X = listed(X)
    kind = kind_of(X, "items")
    if kind == "names":
        return Rows([each] for each in X)
    table = checked_csr(X, "X") if kind == "sparse" else np.asarray(X)
    if table.ndim != 2:
        raise ValueError(
            f"X has shape {table.shape}; a Hierarchy needs a table of shape (n_samples, n_features), or a list with "
            "the named features of each sample"
        )
    return Rows(table[i : i + 1] for i in range(table.shape[0]))
