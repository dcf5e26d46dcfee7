"""Enzymes and their places in the hierarchy of functions."""

from __future__ import annotations

import csv
import io
from typing import Literal, TypeAlias, overload

import numpy as np
from sklearn.utils import Bunch

from palmette.datasets import store
from palmette.datasets.registry import get_dataset
from palmette.errors import DataFileError

Path: TypeAlias = tuple[str, ...]
Paths: TypeAlias = list[Path] | list[list[Path]]

NAME = "ec-clean-split10"
_SPLITS = {"train": ("train",), "test": ("test",), "single": ("train", "test"), "all": ("train", "test", "-")}
SUBSETS = (*_SPLITS, "new392", "price149")
_ONE = ("train", "test", "single")


@overload
def load_enzymes(subset: str = ..., *, return_X_y: Literal[False] = ...) -> Bunch: ...


@overload
def load_enzymes(subset: str = ..., *, return_X_y: Literal[True]) -> tuple[list[str], Paths]: ...


def load_enzymes(subset: str = "train", *, return_X_y: bool = False) -> Bunch | tuple[list[str], Paths]:
    """Load protein sequences of enzymes with their EC numbers, paths in a tree of four levels.

    Where the data is taken from see :func:`palmette.datasets.where`.

    Parameters
    ----------
    subset : {"train", "test", "single", "all", "new392", "price149"}, default="train"
        ``"train"`` (2,797) and ``"test"`` (1,755) are the given split, ``"single"`` is both: one complete number for
        each protein, at least three proteins at each leaf. ``"all"`` are all 7,757, ``"new392"`` and ``"price149"``
        further test sets; proteins of these may have several numbers.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a bunch.

    Returns
    -------
    Bunch
        data : list of str
            Sequences of amino acids, in upper case.
        target : list of tuple of str, or list of list of tuple of str
            The number of each protein as a path from the top, such as ``("3", "5", "2", "6")``; of the subsets with
            several numbers a list of such paths.
        entries : ndarray of str, shape (n_samples,)
            Names in UniProt.
        split : ndarray of str, shape (n_samples,)
            ``"train"``, ``"test"`` or ``"-"``.
        DESCR : str

    Examples
    --------
    >>> from palmette.datasets import load_enzymes
    >>> enzymes = load_enzymes("train")  # doctest: +SKIP
    >>> len(enzymes.data), enzymes.target[0]  # doctest: +SKIP
    (2797, ('3', '5', '2', '6'))
    """
    if subset not in SUBSETS:
        raise ValueError(f"subset must be one of {', '.join(map(repr, SUBSETS))}, got {subset!r}")
    source = "split10" if subset in _SPLITS else subset
    rows = _table(source, store.read(NAME, [source])[source].decode())
    if subset in _SPLITS:
        rows = [row for row in rows if row["split"] in _SPLITS[subset]]
    paths = [[tuple(number.split(".")) for number in row["ec"].split(";")] for row in rows]
    data = [row["sequence"] for row in rows]
    target: Paths = [several[0] for several in paths] if subset in _ONE else paths
    if return_X_y:
        return data, target
    return Bunch(
        data=data,
        target=target,
        entries=np.array([row["entry"] for row in rows]),
        split=np.array([row.get("split", "-") for row in rows]),
        DESCR=get_dataset(NAME).DESCR,
    )


def _table(source: str, text: str) -> list[dict[str, str]]:
    """Rows of a tab-separated table by column."""
    rows = list(csv.DictReader(io.StringIO(text), delimiter="\t"))
    for line, row in enumerate(rows, 2):
        if not row["sequence"] or not row["ec"]:
            raise DataFileError(f"{NAME}, {source}, line {line}: a protein needs a sequence and an EC number")
    return rows
