"""Sets for classification, one row of numbers per sample."""

from __future__ import annotations

import numpy as np
from sklearn.utils import Bunch

from palmette.datasets import statlog_format, store
from palmette.datasets.registry import get_dataset

NAMES = ("dna", "letter", "satimage", "segment", "shuttle", "usps")


def load_statlog(name: str, return_X_y: bool = False) -> Bunch | tuple[np.ndarray, np.ndarray]:
    """Load one of six sets for classification.

    The data is taken from the folder ``PALMETTE_DATA``, else from the user's cache, else downloaded where it has an
    address (letter, segment); see :func:`palmette.datasets.where`.

    Parameters
    ----------
    name : {"dna", "letter", "satimage", "segment", "shuttle", "usps"}
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a bunch.

    Returns
    -------
    Bunch
        data : ndarray of shape (n_samples, n_columns)
            As published: not scaled. ``usps`` has grey levels from -1 to 1.
        target : ndarray of str, shape (n_samples,)
            Names of the classes.
        target_names : list of str
        groups : ndarray of str, shape (n_samples,)
            ``"train"`` or ``"test"`` where there is an official split (satimage, shuttle, usps), else ``"all"``.
        DESCR : str

    Examples
    --------
    >>> from palmette.datasets import load_statlog
    >>> X, y = load_statlog("letter", return_X_y=True)  # doctest: +SKIP
    >>> X.shape, y[0]  # doctest: +SKIP
    ((20000, 16), 'T')
    """
    if name not in NAMES:
        raise ValueError(f"name must be one of {', '.join(NAMES)}, got {name!r}")
    table = statlog_format.parse(store.read("statlog", [name])[name])
    target = np.array(table.classes)[table.codes]
    if return_X_y:
        return table.data, target
    groups = np.full(len(target), "all" if not table.n_train else "test", dtype="<U5")
    groups[: table.n_train] = "train"
    return Bunch(
        data=table.data,
        target=target,
        target_names=list(table.classes),
        groups=groups,
        DESCR=get_dataset("statlog").DESCR,
    )
