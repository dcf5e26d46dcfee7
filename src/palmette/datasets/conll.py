"""Text chunking."""

from __future__ import annotations

from palmette.datasets import splits, store
from palmette.datasets.tokens import blocks, columns

_PUBLISHED = ("train", "test")


def load_conll2000(subset: str = "train", return_X_y: bool = False) -> splits.Loaded:
    """Load the chunking data of the CoNLL-2000 shared task.

    8,936 sentences for training (211,727 tokens) and 2,012 for testing (47,377). The data is taken from the
    folder ``PALMETTE_DATA``, else from the user's cache, else downloaded; see :func:`palmette.datasets.where`.
    What is compared with the checksums are the bytes of the uncompressed ``train.txt`` and ``test.txt``.

    Parameters
    ----------
    subset : {"train", "fit", "dev", "test", "all"}, default="train"
        ``"dev"`` is the last tenth of train and ``"fit"`` the rest of it; ``"all"`` is train followed by test.
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
    >>> from palmette.datasets import load_conll2000
    >>> train = load_conll2000("train")  # doctest: +SKIP
    >>> train.data[0][:2], train.target[0][:2]  # doctest: +SKIP
    ([('Confidence', 'NN'), ('in', 'IN')], ['B-NP', 'B-PP'])
    """
    contents = store.read("conll2000", splits.needed(subset, _PUBLISHED))
    parts = {part: _part(content) for part, content in contents.items()}
    return splits.make_bunch(
        "conll2000", subset, parts, _PUBLISHED, return_X_y=return_X_y, feature_names=["word", "pos"]
    )


def _part(content: bytes) -> splits.Part:
    data, target = columns(blocks(content.decode("ascii")), lambda line: line.split(" "))
    return splits.Part(data, target, {})
