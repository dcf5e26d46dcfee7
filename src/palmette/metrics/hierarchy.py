"""How good predicted paths are: by nodes, and level by level."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from palmette.data.annotation import UNKNOWN
from palmette.data.paths import Path, nodes_of, read_path, read_paths
from palmette.data.sequences import check_same_length


class HierarchicalScores(NamedTuple):
    """Precision, recall and F1 over nodes."""

    precision: float
    recall: float
    f1: float


def hierarchical_scores(
    y_true: Sequence[Any], y_pred: Sequence[Any], *, multi_label: bool = False, separator: str = "."
) -> HierarchicalScores:
    r"""Hierarchical precision, recall and F1: of the nodes on all paths, over all samples.

    With the sets of nodes ``T_i`` and ``P_i`` of sample i: precision ``sum |T_i & P_i| / sum |P_i|``, recall
    ``sum |T_i & P_i| / sum |T_i|``, and F1 their harmonic mean. Nodes below the known levels of a true path
    (``UNKNOWN``) do not count.

    Parameters
    ----------
    y_true, y_pred : list of paths (tuples, or strings with a separator), or with ``multi_label`` of lists of paths
    separator : str

    Examples
    --------
    >>> hierarchical_scores(["a.b.c", "a.d"], ["a.b.e", "a.d"])
    HierarchicalScores(precision=0.8, recall=0.8, f1=0.8)
    """
    common, true, found = node_counts(y_true, y_pred, multi_label=multi_label, separator=separator).sum(
        axis=0
    )
    return HierarchicalScores(
        float(common / found) if found else 0.0,
        float(common / true) if true else 0.0,
        float(2.0 * common / (true + found)) if true + found else 0.0,
    )


def hierarchical_f1(
    y_true: Sequence[Any], y_pred: Sequence[Any], *, multi_label: bool = False, separator: str = "."
) -> float:
    """The F1 of :func:`hierarchical_scores`.

    >>> hierarchical_f1([("a", "b")], [("a", "c")])
    0.5
    """
    return hierarchical_scores(y_true, y_pred, multi_label=multi_label, separator=separator).f1


def node_counts(
    y_true: Sequence[Any], y_pred: Sequence[Any], *, multi_label: bool = False, separator: str = "."
) -> np.ndarray:
    """Nodes of each sample that both have, that the truth has, and that the prediction has, shape (n_samples, 3).

    >>> node_counts(["a.b"], ["a.c"]).tolist()
    [[1, 2, 2]]
    """
    check_same_length(y_pred, y_true, "items")
    counts = np.zeros((len(y_true), 3), np.int64)
    for i, (true, found) in enumerate(zip(y_true, y_pred)):
        known = _paths(true, multi_label, separator, f"y_true[{i}]")
        open_ = [path.labels for path in known if path.open]
        own = nodes_of(known)
        answered = nodes_of(_paths(found, multi_label, separator, f"y_pred[{i}]"))
        told = [n for n in answered if n in own or not any(n[: len(top)] == top for top in open_)]
        counts[i] = sum(node in own for node in told), len(own), len(told)
    return counts


def level_accuracies(y_true: Sequence[Any], y_pred: Sequence[Any], *, separator: str = ".") -> np.ndarray:
    """At each level the share of paths that are right down to it, of those that have it; shape (n_levels,).

    >>> level_accuracies(["a.b", "a.c", "d"], ["a.b", "a.b", "d"])
    array([1. , 0.5])
    """
    check_same_length(y_pred, y_true, "items")
    right: list[int] = []
    total: list[int] = []
    for i, (true, found) in enumerate(zip(y_true, y_pred)):
        known = read_path(true, separator, f"y_true[{i}]").labels
        answer = read_path(found, separator, f"y_pred[{i}]").labels
        for k in range(len(known)):
            if k == len(right):
                right.append(0)
                total.append(0)
            right[k] += known[: k + 1] == answer[: k + 1]
            total[k] += 1
    return np.array(right, float) / np.maximum(total, 1)


def _paths(given: Any, multi_label: bool, separator: str, where: str) -> list[Path]:
    if multi_label or given is UNKNOWN:
        return read_paths(given, separator, where)
    return [read_path(given, separator, where)]
