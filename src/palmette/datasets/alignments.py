"""Pairs of proteins with reference alignments."""

from __future__ import annotations

import csv
import io
from typing import Any, Literal, TypeAlias, overload

import numpy as np
from sklearn.utils import Bunch

from palmette.datasets import store
from palmette.datasets.registry import get_dataset
from palmette.datasets.two_folds import connected, two_folds
from palmette.errors import DataFileError

Pair: TypeAlias = tuple[str, str]

_PLACES = {"prefab": "aln-prefab4", "homstrad": "aln-homstrad", "ox": "aln-ox", "bali3": "aln-bali3"}
PARAMETERS = ("contralign",)


@overload
def load_alignments(name: str = ..., *, return_X_y: Literal[False] = ...) -> Bunch: ...


@overload
def load_alignments(name: str = ..., *, return_X_y: Literal[True]) -> tuple[list[Pair], list[Pair]]: ...


def load_alignments(
    name: str = "prefab", *, return_X_y: bool = False
) -> Bunch | tuple[list[Pair], list[Pair]]:
    """Load pairs of proteins with their reference alignments.

    Where the data is taken from see :func:`palmette.datasets.where`.

    Parameters
    ----------
    name : {"prefab", "homstrad", "ox", "bali3"}
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a bunch.

    Returns
    -------
    Bunch
        data : list of (str, str)
            Both sequences, in upper case.
        target : list of (str, str)
            Rows of the alignment with gaps ``-``. Columns of two upper-case letters are core columns: they are certain,
            the others are not to be scored.
        names : ndarray of str, shape (n_samples,)
            Of the pairs.
        chains : ndarray of str, shape (n_samples, 2)
        groups : ndarray of str, shape (n_samples,)
            What must not be in training and test at once: the family, and for ``"prefab"``, which has none, the pairs
            that share a chain, directly or by other pairs.
        folds : ndarray of int64, shape (n_samples,)
            Two folds, 0 and 1, of whole groups.
        identity : ndarray of shape (n_samples,)
            Percentage of core columns whose letters are equal.
        secondary_structure, accessible : list of (str, str)
            Of ``"homstrad"`` only: a letter for each residue (H helix, E strand, P positive phi, C coil; T or F).
        DESCR : str

    Examples
    --------
    >>> from palmette.datasets import load_alignments
    >>> proteins = load_alignments("prefab")  # doctest: +SKIP
    >>> len(proteins.data), proteins.names[0], len(set(proteins.groups))  # doctest: +SKIP
    (1681, '12asA_1atiA', 460)
    """
    if name not in _PLACES:
        raise ValueError(f"name must be one of {', '.join(map(repr, _PLACES))}, got {name!r}")
    dataset = _PLACES[name]
    sources = [source.name for source in get_dataset(dataset).sources]
    texts = {key: raw.decode() for key, raw in store.read(dataset, sources).items()}
    target = _rows(texts["pairs"])
    data = [(a.replace("-", "").upper(), b.replace("-", "").upper()) for a, b in target]
    if return_X_y:
        return data, target
    index = list(csv.DictReader(io.StringIO(texts["index"]), delimiter="\t"))
    if len(index) != len(target):
        raise DataFileError(f"{dataset}: the index has {len(index)} pairs, the alignments are {len(target)}")
    chains = [(row["nameA"], row["nameB"]) for row in index]
    groups = connected(chains) if name == "prefab" else np.array([row["group"] for row in index])
    found = Bunch(
        data=data,
        target=target,
        names=np.array([row["pair"] for row in index]),
        chains=np.array(chains),
        groups=groups,
        folds=two_folds(groups),
        identity=np.array([float(row["pid_core"]) for row in index]),
        DESCR=get_dataset(dataset).DESCR,
    )
    if "features" in texts:
        own = {(row["family"], row["name"]): row
               for row in csv.DictReader(io.StringIO(texts["features"]), delimiter="\t")}  # fmt: skip
        for key, column in (
            ("secondary_structure", "secondary_structure"),
            ("accessible", "solvent_accessible"),
        ):
            found[key] = [
                (own[group, a][column], own[group, b][column])
                for group, (a, b) in zip(groups.tolist(), chains)
            ]
    return found


def load_alignment_parameters(name: str = "contralign") -> dict[str, float]:
    """Load the published weights of CONTRAlign by name.

    Parameters
    ----------
    name : {"contralign"}

    Returns
    -------
    dict of str to float
        All 362 weights, in the order of the file.

    Examples
    --------
    >>> from palmette.datasets import load_alignment_parameters
    >>> load_alignment_parameters()["match_to_match"]  # doctest: +SKIP
    4.231317621
    """
    if name not in PARAMETERS:
        raise ValueError(f"name must be one of {', '.join(map(repr, PARAMETERS))}, got {name!r}")
    text = store.read("anchors-params", [name])[name].decode()
    return {key: float(value) for key, value in (line.split() for line in text.splitlines())}


def _rows(text: str) -> list[Pair]:
    """The rows of all pairs: entries of one line each, two for every pair."""
    lines: Any = text.split()
    rows = lines[1::2]
    return list(zip(rows[::2], rows[1::2]))
