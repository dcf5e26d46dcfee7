"""Handwritten words."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from sklearn.utils import Bunch

from palmette.datasets import ocr_format, splits, store
from palmette.datasets.registry import get_dataset


def load_ocr_letters(
    subset: str | int | Iterable[int] | None = "all", return_X_y: bool = False
) -> Bunch | tuple[list[np.ndarray], list[list[str]]]:
    """Load the handwritten words of Kassel and Taskar.

    6,877 words of 52,152 letters, each a binary image of 16 x 8 pixels, in ten folds. The data is taken
    from the folder ``PALMETTE_DATA``, else from the user's cache, else downloaded; see
    :func:`palmette.datasets.where`.
    What is compared with the checksum is the canonical text of :mod:`palmette.datasets.ocr_format`.

    Parameters
    ----------
    subset : {"all"}, int, iterable of int or None, default="all"
        The folds (0 to 9) to load. None means all.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a bunch.

    Returns
    -------
    Bunch
        data : list of ndarray of shape (length, 128)
            Pixels (0.0 or 1.0) of a word, row by row of each image.
        target : list of list of str
            Letters ``"a"`` to ``"z"``.
        folds : ndarray of int64, shape (n_words,)
            Fold of each word.
        target_names : list of str
            The 26 letters.
        feature_names : list of str
            ``"p_i_j"``, the pixel in row i and column j.
        image_shape : tuple of int
            ``(16, 8)``.
        DESCR : str

    Examples
    --------
    >>> from palmette.datasets import load_ocr_letters
    >>> words = load_ocr_letters(subset=0)  # doctest: +SKIP
    >>> "".join(words.target[0]), words.data[0].shape  # doctest: +SKIP
    ('ommanding', (9, 128))
    """
    n_folds = ocr_format.N_FOLDS
    chosen = splits.chosen("all" if subset is None else subset, range(n_folds), "fold", f"0 to {n_folds - 1}")
    words, folds, pixels = ocr_format.parse(store.read("ocr-letters", ["letters"])["letters"])
    ends = np.cumsum([len(word) for word in words])
    kept = np.flatnonzero(np.isin(folds, chosen))
    data = [pixels[ends[i] - len(words[i]) : ends[i]].astype(np.float64) for i in kept]
    target = [list(words[i]) for i in kept]
    if return_X_y:
        return data, target
    n_rows, n_columns = ocr_format.IMAGE_SHAPE
    return Bunch(
        data=data,
        target=target,
        folds=folds[kept],
        target_names=list(ocr_format.LETTERS),
        feature_names=[f"p_{i}_{j}" for i in range(n_rows) for j in range(n_columns)],
        image_shape=ocr_format.IMAGE_SHAPE,
        DESCR=get_dataset("ocr-letters").DESCR,
    )
