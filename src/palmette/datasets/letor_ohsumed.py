"""Medical abstracts to be ranked."""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
from sklearn.utils import Bunch

from palmette.data.letor import read_letor
from palmette.datasets import store
from palmette.datasets.registry import get_dataset

PARTS = ("train", "validation", "test", "all")
VERSIONS = ("querylevelnorm", "featurenull")
N_FOLDS = 5


def load_letor_ohsumed(
    fold: int = 1,
    part: str = "train",
    *,
    version: str = "querylevelnorm",
    missing: float | Literal["error", "minimum"] = "minimum",
    return_X_y: bool = False,
) -> Bunch | tuple[list[np.ndarray], list[np.ndarray]]:
    """Load OHSUMED as LETOR 3.0 has it: queries, and documents with grades of relevance.

    Where the data is taken from see :func:`palmette.datasets.where`.

    Parameters
    ----------
    fold : {1, 2, 3, 4, 5}, default=1
        Fold f is trained on parts f, f+1, f+2, validated on f+3 and tested on f+4 (after 5 comes 1).
    part : {"train", "validation", "test", "all"}, default="train"
        63 or 64 queries, 21 or 22, 21 or 22, or all 106.
    version : {"querylevelnorm", "featurenull"}, default="querylevelnorm"
        Features scaled to [0, 1] within each query, or as they were computed.
    missing : float or {"minimum", "error"}, default="minimum"
        What NULL stands for (only raw values have it), see :func:`palmette.data.letor.read_letor`.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a bunch.

    Returns
    -------
    Bunch
        data : list of ndarray of float64, shape (n_documents, 45)
        target : list of ndarray of int64, shape (n_documents,)
            Grades: 0 not relevant, 1 possibly relevant, 2 relevant. One query has no relevant document.
        queries : list of str
        documents : list of list of str
            Numbers of the documents.
        parts : ndarray of str, shape (n_queries,)
            ``"S1"`` to ``"S5"``.
        DESCR : str

    Examples
    --------
    >>> from palmette.datasets import load_letor_ohsumed
    >>> train = load_letor_ohsumed(1, "train")  # doctest: +SKIP
    >>> len(train.data), train.data[0].shape, train.target[0][:5]  # doctest: +SKIP
    (63, (138, 45), array([0, 2, 0, 0, 1]))
    """
    chosen = _chosen(fold, part)
    if version not in VERSIONS:
        raise ValueError(f"version must be one of {', '.join(map(repr, VERSIONS))}, got {version!r}")
    contents = store.read("letor-ohsumed", [f"{version}_{name}" for name in chosen])
    read = [
        read_letor("-", missing=missing, stream=io.BytesIO(contents[f"{version}_{name}"])) for name in chosen
    ]
    data, target = _joined(queries.X for queries in read), _joined(queries.y for queries in read)
    if return_X_y:
        return data, target
    return Bunch(
        data=data,
        target=target,
        queries=_joined(queries.ids for queries in read),
        documents=[
            [text.rpartition("=")[2].strip() for text in texts]
            for queries in read
            for texts in queries.comments
        ],
        parts=np.repeat(chosen, [len(queries) for queries in read]),
        DESCR=get_dataset("letor-ohsumed").DESCR,
    )


def _joined(lists: Iterable[list[Any]]) -> list[Any]:
    return [each for one in lists for each in one]


def _chosen(fold: Any, part: str) -> list[str]:
    """Names of the parts of a fold."""
    if isinstance(fold, bool) or fold not in range(1, N_FOLDS + 1):
        raise ValueError(f"fold must be a number from 1 to {N_FOLDS}, got {fold!r}")
    if part not in PARTS:
        raise ValueError(f"part must be one of {', '.join(map(repr, PARTS))}, got {part!r}")
    if part == "all":
        return [f"S{i}" for i in range(1, N_FOLDS + 1)]
    places = {"train": (0, 1, 2), "validation": (3,), "test": (4,)}[part]
    return [f"S{(fold - 1 + place) % N_FOLDS + 1}" for place in places]
