"""Chinese word segmentation: a label for each character."""

from __future__ import annotations

import string
from collections.abc import Iterable

from palmette.data.words import tag_words
from palmette.datasets import splits, store
from palmette.datasets.tokens import blocks

# from full-width characters
_NARROW = {ord(c) + 0xFEE0: c for c in string.digits + string.ascii_letters + "."}


def load_cws_pd199801(
    subset: str = "train",
    return_X_y: bool = False,
    *,
    encoding: str = "BMES",
    normalize_widths: bool = True,
) -> splits.Loaded:
    """Load the People's Daily of January 1998 for training and the PKU gold of SIGHAN 2005 for testing.

    19,484 lines for training (1,121,447 words, 1,841,657 characters) and 1,944 for testing (104,372 words,
    172,733 characters). Where the data is taken from see :func:`palmette.datasets.where`.

    Parameters
    ----------
    subset : {"train", "fit", "dev", "test", "all"}, default="train"
        ``"dev"`` is the last tenth of train and ``"fit"`` the rest of it.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a bunch.
    encoding : {"BMES", "BMES6", "IOB2", ...}, default="BMES"
        Labels of characters; see :mod:`palmette.data.span_encodings`.
    normalize_widths : bool, default=True
        Write full-width digits, letters and decimal points as ASCII characters. The training text has only the
        full-width ones and the test text, almost everywhere, the others.

    Returns
    -------
    Bunch
        data : list of list of (str,)
            Characters.
        target : list of list of str
            Their labels, such as ``"B"``.
        words : list of list of str
            The words of each line.
        groups : ndarray of str, shape (n_lines,)
            ``"train"`` or ``"test"``.
        target_names, feature_names : list of str
        DESCR : str

    Examples
    --------
    >>> from palmette.datasets import load_cws_pd199801
    >>> train = load_cws_pd199801("train")  # doctest: +SKIP
    >>> train.words[0][:3], train.target[0][:6]  # doctest: +SKIP
    (['迈向', '充满', '希望'], ['B', 'E', 'B', 'E', 'B', 'E'])
    """
    published = ("train", "test")
    contents = store.read("cws-pd199801", splits.needed(subset, published))
    parts = {}
    for part, content in contents.items():
        text = content.decode("utf-8")
        lines = (text.translate(_NARROW) if normalize_widths else text).split("\n")
        sentences = [line.split() for line in lines]
        if part == "train":  # the words have part-of-speech tags
            sentences = [[word.rpartition("/")[0] for word in words] for words in sentences]
        parts[part] = _part(filter(None, sentences), encoding)
    return splits.make_bunch(
        "cws-pd199801", subset, parts, published, return_X_y=return_X_y, feature_names=["character"]
    )


def load_cws_udc(subset: str = "train", return_X_y: bool = False, *, encoding: str = "BMES") -> splits.Loaded:
    """Load the words of a Universal Dependencies Chinese treebank in simplified characters.

    3,997 sentences for training (98,608 words, 156,360 characters), 500 for development and 500 for testing.
    Where the data is taken from see :func:`palmette.datasets.where`.

    Parameters
    ----------
    subset : {"train", "fit", "dev", "test", "all"}, default="train"
        ``"fit"`` is the same as train.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a bunch.
    encoding : {"BMES", "BMES6", "IOB2", ...}, default="BMES"
        Labels of characters; see :mod:`palmette.data.span_encodings`.

    Returns
    -------
    Bunch
        As of :func:`load_cws_pd199801`.

    Examples
    --------
    >>> from palmette.datasets import load_cws_udc
    >>> train = load_cws_udc("train", encoding="BMES6")  # doctest: +SKIP
    """
    published = ("train", "dev", "test")
    contents = store.read("cws-udc", splits.needed(subset, published))
    parts = {}
    for part, content in contents.items():
        sentences = blocks(content.decode("utf-8"))
        parts[part] = _part(([line.split("\t")[1] for line in lines] for lines in sentences), encoding)
    return splits.make_bunch(
        "cws-udc", subset, parts, published, return_X_y=return_X_y, feature_names=["character"]
    )


def _part(sentences: Iterable[list[str]], encoding: str) -> splits.Part:
    words = list(sentences)
    tokens: dict[str, tuple[str]] = {}
    data = [[tokens.setdefault(c, (c,)) for word in sentence for c in word] for sentence in words]
    return splits.Part(data, tag_words(words, encoding), {"words": words})
