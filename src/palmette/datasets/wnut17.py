"""Entities in social media."""

from __future__ import annotations

from palmette.datasets import splits, store
from palmette.datasets.tokens import blocks, columns

_PUBLISHED = ("train", "dev", "test")


def load_wnut17(subset: str = "train", return_X_y: bool = False) -> splits.Loaded:
    """Load the data of the WNUT 2017 shared task on novel and emerging entities.

    3,394 sentences for training (62,730 tokens of tweets), 1,009 for development (15,733 tokens of comments on
    videos) and 1,287 for testing (23,394 tokens of several sites). Few names of one part occur in another.
    Where the data is taken from see :func:`palmette.datasets.where`.

    Parameters
    ----------
    subset : {"train", "fit", "dev", "test", "all"}, default="train"
        ``"dev"`` is published: ``"fit"`` is all of train.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a bunch.

    Returns
    -------
    Bunch
        data : list of list of (str,)
            Words.
        target : list of list of str
            Labels (IOB2) of the entities person, location, corporation, product, creative-work and group.
        groups : ndarray of str, shape (n_sentences,)
            ``"train"``, ``"dev"`` or ``"test"``.
        target_names : list of str
        feature_names : list of str
            ``["word"]``.
        DESCR : str

    Examples
    --------
    >>> from palmette.datasets import load_wnut17
    >>> train = load_wnut17("train")  # doctest: +SKIP
    >>> train.data[0][14:16], train.target[0][14:16]  # doctest: +SKIP
    ([('Empire',), ('State',)], ['B-location', 'I-location'])
    """
    contents = store.read("wnut17", splits.needed(subset, _PUBLISHED))
    parts = {part: _part(content) for part, content in contents.items()}
    return splits.make_bunch(
        "wnut17", subset, parts, _PUBLISHED, return_X_y=return_X_y, feature_names=["word"]
    )


def _part(content: bytes) -> splits.Part:
    """The sentences; lines between them are empty, or hold nothing but a tab."""
    data, target = columns(blocks(content.decode()), lambda line: line.split("\t"))
    return splits.Part(data, target, {})
