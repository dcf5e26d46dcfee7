"""Entities in biomedical abstracts."""

from __future__ import annotations

from palmette.datasets import splits, store
from palmette.datasets.tokens import blocks, columns

_PUBLISHED = ("train", "test")
_ABSTRACT = "###MEDLINE:"


def load_jnlpba(subset: str = "train", return_X_y: bool = False) -> splits.Loaded:
    """Load the bio-entity data of the JNLPBA 2004 shared task.

    18,546 sentences for training (492,551 tokens of 2,000 abstracts) and 3,856 for testing (101,039 of 404).
    Where the data is taken from see :func:`palmette.datasets.where`.

    Parameters
    ----------
    subset : {"train", "fit", "dev", "test", "all"}, default="train"
        ``"dev"`` is the last tenth of the abstracts of train and ``"fit"`` the rest of it.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a bunch.

    Returns
    -------
    Bunch
        data : list of list of (str,)
            Words.
        target : list of list of str
            Labels (IOB2) of the entities protein, DNA, RNA, cell_type and cell_line.
        groups : ndarray of str, shape (n_sentences,)
            ``"train"`` or ``"test"``.
        documents : list of str
            The MEDLINE number of the abstract of each sentence.
        target_names : list of str
        feature_names : list of str
            ``["word"]``.
        DESCR : str

    Examples
    --------
    >>> from palmette.datasets import load_jnlpba
    >>> train = load_jnlpba("train")  # doctest: +SKIP
    >>> train.data[0][:2], train.target[0][:2]  # doctest: +SKIP
    ([('IL-2',), ('gene',)], ['B-DNA', 'I-DNA'])
    """
    contents = store.read("jnlpba", splits.needed(subset, _PUBLISHED))
    parts = {part: _part(content) for part, content in contents.items()}
    return splits.make_bunch(
        "jnlpba", subset, parts, _PUBLISHED, return_X_y=return_X_y, feature_names=["word"]
    )


def _part(content: bytes) -> splits.Part:
    sentences: list[list[str]] = []
    documents: list[str] = []
    for abstract in content.decode("ascii").split(_ABSTRACT)[1:]:
        number, _, text = abstract.partition("\n")
        found = blocks(text)
        sentences += found
        documents += [number] * len(found)
    data, target = columns(sentences, lambda line: line.split("\t"))
    return splits.Part(data, target, {"documents": documents}, unit="documents")
