"""Penalties and tolerances: those given, and the usual ones where none is given."""

from __future__ import annotations

import re
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from palmette.contracts.training import Encoded
from palmette.data.batch import SparseRows
from palmette.data.ragged import offsets_from_lengths
from palmette.regularizers.elastic import ElasticNet

ROWS_AT_ONCE = 4096
_NAMES = {"edge_features": "edge", "edge2": "edge", "factors": "edge"}  # of blocks that share a setting
_TIMES = re.compile(r"\s*((?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)\s*x\s*")


@dataclass(eq=False, repr=False, kw_only=True)
class Penalties:
    """Parameters of learners that have penalties."""

    l2: float | str | None = None
    C: float | None = None
    l1: float = 0.0


@dataclass(eq=False, repr=False, kw_only=True)
class BlockPenalties(Penalties):
    """Parameters of learners whose weights of features, label pairs and intercepts have penalties of their own."""

    l2_node: float | str | None = None
    l2_edge: float | str | None = None
    l2_bias: float | str | None = None


def strength(l2: Any, C: Any) -> tuple[float, bool]:
    """What ``l2`` or ``1 / C`` says, and whether it is a multiple of the usual penalty: 1 if neither is given.

    >>> strength(None, 4.0), strength(None, None), strength("10x", None)
    ((0.25, False), (1.0, True), (10.0, True))
    """
    if l2 is not None and C is not None:
        raise ValueError(f"give l2 or C, not both (C means l2 = 1 / C): got l2={l2!r} and C={C!r}")
    if C is not None:
        if not (isinstance(C, Real) and 0.0 < float(C) < np.inf):
            raise ValueError(f"C must be > 0 and finite (no penalty is l2=0), got C={C!r}")
        return 1.0 / float(C), False
    if l2 is None:
        return 1.0, True
    if isinstance(l2, str):
        return times_usual("l2", l2), True
    return checked_strength("l2", l2), False


def own_strength(estimator: Any, name: str) -> tuple[float, bool]:
    """What ``l2_node`` or its like says, as :func:`strength`; what ``l2`` and ``C`` say where it is None."""
    own, shared = getattr(estimator, name, None), strength(estimator.l2, estimator.C)
    if own is None:  # blocks of some structures have no setting of their own
        return shared
    return (times_usual(name, own), True) if isinstance(own, str) else (checked_strength(name, own), False)


def times_usual(name: str, text: str) -> float:
    """The multiple of the usual penalty that a text such as "10x" names."""
    found = _TIMES.fullmatch(text)
    if found is None or not 0.0 < float(found[1]) < np.inf:
        raise ValueError(
            f"{name} must be a number >= 0, or a multiple of the usual penalty such as '10x', got {text!r}"
        )
    return float(found[1])


def wanted_tol(estimator: Any) -> float:
    """The ``tol`` of an estimator, or what is usual for its loss."""
    return estimator.usual_tol if estimator.tol is None else estimator.tol


def checked_strength(name: str, value: Any) -> float:
    """A finite number >= 0."""
    if not (isinstance(value, Real) and 0.0 <= float(value) < np.inf):
        raise ValueError(f"{name} must be a finite number >= 0, got {value!r}")
    return float(value)


def penalties(estimator: Any, scorer: Any, data: Encoded) -> ElasticNet:
    """One l2 and one l1 per weight, from the blocks' settings. Sets ``l2_`` of the estimator: that of the features."""
    l2, found = np.empty(scorer.n_params), {}
    wanted = {block: own_strength(estimator, f"l2_{_NAMES.get(block, block)}") for block in scorer.blocks}
    relative = any(multiple for _, multiple in wanted.values())
    usual = usual_strengths(scorer, data, estimator.usual_share) if relative else {}
    for block, place in scorer.blocks.items():
        times, multiple = wanted[block]
        l2[place] = found[block] = times * usual.get(block, 1.0) if multiple else times
    # a view: there may be millions
    l1 = np.broadcast_to(checked_strength("l1", estimator.l1), scorer.n_params)
    estimator.l2_ = found["node"]
    return ElasticNet(l2, l1)


def usual_strengths(scorer: Any, data: Encoded, share: float) -> dict[str, float]:
    """The usual L2 of the blocks whose features are columns of arrays; that of all others is 1.

    It is a share of the spread of the columns, by measurement (benchmarks/defaults.py): that of the learner, or that of
    the structure if it has one.

    Named features, biases, label pairs and the like are there or not. Columns of arrays have scales, and ``x -> a x``
    must change the penalty by ``a^2``, so that scores and predictions stay as they are.
    """
    structure, batch, first = data.structure, data.samples.batch, 0
    usual: dict[str, float] = {}
    share = share if structure.usual_share is None else structure.usual_share
    if all(data.encoder.named_tables):
        return usual
    columns = scorer.weight_columns()
    for (table, offsets), named in zip(batch.feature_tables(), data.encoder.named_tables):
        own = columns - first
        own[own >= table.shape[1]] = -1
        first += table.shape[1]
        if named:
            continue
        lengths, rows = np.diff(offsets), table[int(offsets[0]) : int(offsets[-1])]
        weight = np.repeat(data.samples.weight, lengths)
        variances = column_variances(rows, weight, lengths if structure.compares_rows else None)
        for block, place in scorer.blocks.items():
            used = np.unique(own[place])
            if len(used) and used[-1] >= 0:
                usual[block] = share * spread(variances[used[used >= 0]])
    return usual


def spread(variances: np.ndarray) -> float:
    """Number of columns that vary times the geometric mean of their variances; 1 if none does.

    Where columns have the same scale this is the mean of ``|x - mean|^2``. Their sum would follow a single column in a
    large unit, and leave nothing of the others.

    >>> spread(np.array([1.0, 1.0, 0.0])), spread(np.array([1e6, 1e-6]))
    (2.0, 2.0)
    """
    varying = variances[variances > 0.0]
    return float(len(varying) * np.exp(np.mean(np.log(varying)))) if len(varying) else 1.0


def column_variances(rows: Any, weight: np.ndarray, lengths: np.ndarray | None = None) -> np.ndarray:
    """Variance of every column over weighted rows; with ``lengths`` about the mean of each run of so many rows.

    What rounding leaves of a constant column is 0.

    >>> column_variances(np.array([[0.0, 5.0], [2.0, 5.0]]), np.ones(2))
    array([1., 0.])
    """
    total = float(weight.sum())
    mean = _sums(rows, weight) / total
    square = _sums(rows, weight, 2) / total
    if lengths is not None:
        variances = square - _squared_means(rows, weight, lengths) / total
    elif isinstance(rows, SparseRows):
        variances = square - mean * mean
    else:
        variances = np.zeros(rows.shape[1])
        for a in range(0, len(rows), ROWS_AT_ONCE):
            variances += weight[a : a + ROWS_AT_ONCE] @ (rows[a : a + ROWS_AT_ONCE] - mean) ** 2
        variances /= total
    return np.where(variances > 1e-12 * square, variances, 0.0)


def _sums(rows: Any, weight: np.ndarray, power: int = 1) -> np.ndarray:
    """Weighted sums of the powers of the columns."""
    if not isinstance(rows, SparseRows):
        return sum(
            (
                weight[a : a + ROWS_AT_ONCE] @ rows[a : a + ROWS_AT_ONCE] ** power
                for a in range(0, len(rows), ROWS_AT_ONCE)
            ),
            np.zeros(rows.shape[1]),
        )
    first, last = int(rows.indptr[0]), int(rows.indptr[-1])
    values = np.repeat(weight, np.diff(rows.indptr))
    if len(rows.values):
        values = values * rows.values[first:last] ** power
    return np.bincount(rows.indices[first:last], values, minlength=rows.n_columns)


def _squared_means(rows: Any, weight: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Weighted sums over runs of rows: number of rows times the squared mean of each column."""
    offsets = offsets_from_lengths(lengths)
    out = np.zeros(rows.shape[1])
    for a, b in zip(offsets[:-1], offsets[1:]):
        if b > a and weight[a] > 0.0:
            part = _sums(rows[int(a) : int(b)], np.ones(b - a))
            out += weight[a] * part * part / (b - a)
    return out
