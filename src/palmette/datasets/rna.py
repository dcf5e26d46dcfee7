"""RNA sequences with their structures."""

from __future__ import annotations

import csv
import io
from typing import Any, Literal, overload

import numpy as np
from sklearn.utils import Bunch

from palmette.datasets import store
from palmette.datasets.registry import get_dataset
from palmette.datasets.two_folds import two_folds

_PLACES = {
    "bench1359": ("rna-rfam14.2-seed", "bench1359"),
    "contrafold151": ("rna-contrafold151", "table"),
    "rfam14.2": ("rna-rfam14.2-seed", "seed"),
    "rfam5": ("rna-rfam5-seed", "seed"),
    "s-processed": ("rna-sprocessed-tes", "table"),
}
PARAMETERS = ("contrafold", "contrafold-noncomplementary", "eternafold")


@overload
def load_rna(name: str = ..., *, return_X_y: Literal[False] = ...) -> Bunch: ...


@overload
def load_rna(name: str = ..., *, return_X_y: Literal[True]) -> tuple[list[str], list[str]]: ...


def load_rna(name: str = "bench1359", *, return_X_y: bool = False) -> Bunch | tuple[list[str], list[str]]:
    """Load RNA sequences with their structures.

    Where the data is taken from see :func:`palmette.datasets.where`.

    Parameters
    ----------
    name : {"bench1359", "contrafold151", "rfam14.2", "rfam5", "s-processed"}
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a bunch.

    Returns
    -------
    Bunch
        data : list of str
            Sequences, in upper case and with U.
        target : list of str
            Structures in dot-bracket, nested.
        names, families, clans : ndarray of str, shape (n_samples,)
            The clan is empty where there is none. The family of ``"s-processed"`` is the type of RNA.
        groups : ndarray of str, shape (n_samples,)
            The clan, else the family: what must not be in training and test at once.
        folds : ndarray of int64, shape (n_samples,)
            Two folds, 0 and 1, of whole groups (:func:`two_folds`).
        published : ndarray of bool, shape (n_samples,)
            Whether the structure of the family was published, or else predicted.
        best : ndarray of bool, shape (n_samples,)
            Whether the sequence is the best of its family: the least gaps and non-canonical pairs. True where the table
            does not tell.
        DESCR : str

    Examples
    --------
    >>> from palmette.datasets import load_rna
    >>> rna = load_rna("bench1359")  # doctest: +SKIP
    >>> len(rna.data), rna.data[0][:10], rna.target[0][:10], rna.clans[0]  # doctest: +SKIP
    (1359, 'GUUGGCGGCC', '(((((((((.', 'CL00113')
    """
    if name not in _PLACES:
        raise ValueError(f"name must be one of {', '.join(map(repr, _PLACES))}, got {name!r}")
    dataset, source = _PLACES[name]
    rows = list(csv.DictReader(io.StringIO(store.read(dataset, [source])[source].decode()), delimiter="\t"))
    data, target = [row["sequence"] for row in rows], [row["structure"] for row in rows]
    if return_X_y:
        return data, target

    def column(key: str, default: str = "") -> Any:
        return np.array([row.get(key, default) for row in rows])

    families, clans = column("family"), column("clan", "-")
    clans = np.where(clans == "-", "", clans)
    groups = np.where(clans == "", families, clans)
    return Bunch(
        data=data,
        target=target,
        names=column("name"),
        families=families,
        clans=clans,
        groups=groups,
        folds=two_folds(groups),
        published=column("ss_evidence", "published") == "published",
        best=column("best_in_family", "1") == "1",
        DESCR=get_dataset(dataset).DESCR,
    )


def load_rna_parameters(name: str = "contrafold") -> dict[str, float]:
    """Load the published weights of CONTRAfold or EternaFold by name.

    Parameters
    ----------
    name : {"contrafold", "contrafold-noncomplementary", "eternafold"}
        The first and the last know canonical pairs alone.

    Returns
    -------
    dict of str to float
        All 708 weights, in the order of the file.

    Examples
    --------
    >>> from palmette.datasets import load_rna_parameters
    >>> load_rna_parameters("contrafold")["base_pair_CG"]  # doctest: +SKIP
    1.544290641
    """
    if name not in PARAMETERS:
        raise ValueError(f"name must be one of {', '.join(map(repr, PARAMETERS))}, got {name!r}")
    text = store.read("anchors-params", [name])[name].decode()
    return {key: float(value) for key, value in (line.split() for line in text.splitlines())}
