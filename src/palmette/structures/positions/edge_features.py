"""The parameter ``edge_features`` of learners: which feature columns also (or only) apply to edges."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import Any

import numpy as np

from palmette.features.base import Encoder


def select_columns(which: Any, encoder: Encoder) -> tuple[np.ndarray, bool] | None:
    """The columns that ``edge_features`` means, and whether they stand on edges only; None if it means none.

    Parameters
    ----------
    which : None, "all", callable, or sequence of str or int
        See :class:`palmette.CRF`.
    encoder : Encoder

    Returns
    -------
    columns : ndarray of bool, shape (n_columns,)
    only_edges : bool

    Examples
    --------
    >>> from palmette.features.names import NamesEncoder
    >>> encoder = NamesEncoder("sequences", ["w:the", "B:the", "B:cat"])
    >>> select_columns(["B:"], encoder)
    (array([False,  True,  True]), True)
    """
    if which is None:
        return None
    n_columns = encoder.n_columns
    if isinstance(which, str):
        if which != "all":
            raise ValueError(
                f"edge_features={which!r} is unknown: give 'all', a list of prefixes such as [{which!r}], or a function"
            )
        return np.ones(n_columns, bool), False
    names = encoder.feature_names
    if names is None:
        return _numbered(which, n_columns), False
    if callable(which):
        return np.fromiter((bool(which(name)) for name in names), bool, n_columns), False
    if not isinstance(which, Iterable):
        raise TypeError(f"edge_features must be None, 'all', a list of prefixes or a function, got {which!r}")
    prefixes = tuple(which)
    if not all(isinstance(prefix, str) and prefix for prefix in prefixes):
        raise TypeError(
            f"edge_features of named features are prefixes, strings that are not empty; got {which!r:.80}"
        )
    chosen = np.fromiter((name.startswith(prefixes) for name in names), bool, n_columns)
    for prefix in prefixes:
        if not any(name.startswith(prefix) for name in names):
            raise ValueError(
                f"edge_features: no feature name starts with {prefix!r}; one that there is: {names[0]!r}"
            )
    return chosen, True


def _numbered(which: Any, n_columns: int) -> np.ndarray:
    """Columns of arrays, by number."""
    numbers = list(which) if isinstance(which, Iterable) else None
    if numbers is None or not all(isinstance(k, Integral) and not isinstance(k, bool) for k in numbers):
        raise TypeError(
            f"edge_features of arrays and hashed features, which have no names, are 'all' or a list of column numbers, "
            f"got {which!r:.80}"
        )
    chosen = np.zeros(n_columns, bool)
    for k in numbers:
        if not 0 <= k < n_columns:
            raise ValueError(f"edge_features names column {k}; X has the columns 0..{n_columns - 1}")
        chosen[k] = True
    return chosen
