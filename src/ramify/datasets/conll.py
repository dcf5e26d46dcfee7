"""Text chunking."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import Bunch

from ramify.datasets import store
from ramify.datasets.registry import get_dataset

_SUBSETS = {"train": ("train",), "test": ("test",), "all": ("train", "test")}


def load_conll2000(subset: str = "train", return_X_y: bool = False) -> Bunch | tuple[list, list[list[str]]]:
    """Load the chunking data of the CoNLL-2000 shared task.

    8,936 sentences for training (211,727 tokens) and 2,012 for testing (47,377). The data is taken from the
    folder ``RAMIFY_DATA``, else from the user's cache, else downloaded; see :func:`ramify.datasets.where`.
    What is compared with the checksums are the bytes of the uncompressed ``train.txt`` and ``test.txt``.

    Parameters
    ----------
    subset : {"train", "test", "all"}, default="train"
        ``"all"`` is train followed by test.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a bunch.

    Returns
    -------
    Bunch
        data : list of list of (str, str)
            Words with their part-of-speech tags.
        target : list of list of str
            Chunk labels, such as ``"B-NP"`` (IOB2).
        groups : ndarray of str, shape (n_sentences,)
            ``"train"`` or ``"test"``.
        target_names : list of str
            The chunk labels that occur, sorted. The label ``"I-LST"`` occurs in test only.
        feature_names : list of str
            ``["word", "pos"]``.
        DESCR : str

    Examples
    --------
    >>> from ramify.datasets import load_conll2000
    >>> train = load_conll2000("train")  # doctest: +SKIP
    >>> train.data[0][:2], train.target[0][:2]  # doctest: +SKIP
    ([('Confidence', 'NN'), ('in', 'IN')], ['B-NP', 'B-PP'])
    """
    if not isinstance(subset, str) or subset not in _SUBSETS:
        raise ValueError(f"subset must be one of {', '.join(map(repr, _SUBSETS))}, got {subset!r}")
    contents = store.read("conll2000", _SUBSETS[subset])
    data: list[list[tuple[str, str]]] = []
    target: list[list[str]] = []
    groups: list[str] = []
    for part, content in contents.items():
        sentences = _parse(content)
        data += [[(word, tag) for word, tag, _ in sentence] for sentence in sentences]
        target += [[label for _, _, label in sentence] for sentence in sentences]
        groups += [part] * len(sentences)
    if return_X_y:
        return data, target
    return Bunch(
        data=data,
        target=target,
        groups=np.array(groups),
        target_names=sorted({label for labels in target for label in labels}),
        feature_names=["word", "pos"],
        DESCR=get_dataset("conll2000").DESCR,
    )


def _parse(content: bytes) -> list[list[Any]]:
    blocks = content.decode("ascii").strip("\n").split("\n\n")
    return [[line.split(" ") for line in block.split("\n")] for block in blocks]
