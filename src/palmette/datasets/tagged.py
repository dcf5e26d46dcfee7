"""Parts of speech: UD English EWT, the Brown corpus, MASC and the Penn Treebank sample."""

from __future__ import annotations

import re
from collections.abc import Callable

from palmette.datasets import splits, store, tagged_format
from palmette.datasets.tokens import blocks, columns

_PUBLISHED = ("train", "dev", "test")
_MARKS = re.compile(r"^fw-|(-(tl|hl|nc))+$")


def load_ud_ewt(subset: str = "train", return_X_y: bool = False, *, tags: str = "xpos") -> splits.Loaded:
    """Load the words and part-of-speech tags of Universal Dependencies English EWT (release 2.16).

    12,544 sentences for training (204,577 words), 2,001 for development and 2,077 for testing. Multiword
    tokens and empty nodes are left out. Where the data is taken from see :func:`palmette.datasets.where`.

    Parameters
    ----------
    subset : {"train", "fit", "dev", "test", "all"}, default="train"
        ``"fit"`` is the same as train.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a bunch.
    tags : {"xpos", "upos"}, default="xpos"
        Penn tags or universal ones.

    Returns
    -------
    Bunch
        data : list of list of (str,)
            Words.
        target : list of list of str
        groups : ndarray of str, shape (n_sentences,)
            ``"train"``, ``"dev"`` or ``"test"``.
        documents : list of str
        genres : list of str
            ``"answers"``, ``"email"``, ``"newsgroup"``, ``"reviews"`` or ``"weblog"``: a domain of each sentence.
        target_names, feature_names : list of str
        DESCR : str

    Examples
    --------
    >>> from palmette.datasets import load_ud_ewt
    >>> train = load_ud_ewt("train", tags="upos")  # doctest: +SKIP
    >>> train.data[0][:2], train.target[0][:2]  # doctest: +SKIP
    ([('Al',), ('-',)], ['PROPN', 'PUNCT'])
    """
    if tags not in ("xpos", "upos"):
        raise ValueError(f"tags must be 'xpos' or 'upos', got {tags!r}")
    contents = store.read("ud-ewt", splits.needed(subset, _PUBLISHED))
    parts = {part: _conllu_part(content, 3 if tags == "upos" else 4) for part, content in contents.items()}
    return _bunch("ud-ewt", subset, parts, return_X_y)


def load_brown(subset: str = "train", return_X_y: bool = False, *, base_tags: bool = True) -> splits.Loaded:
    """Load the Brown corpus with its part-of-speech tags.

    57,340 sentences of 500 files, 1,161,192 tokens. Where the data is taken from see
    :func:`palmette.datasets.where`.

    Parameters
    ----------
    subset : {"train", "fit", "dev", "test", "all"}, default="train"
        No split is published. Counting the files from 0 in the order of their names, number 9 of every ten is
        test and number 8 development; ``"fit"`` is the same as train.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a bunch.
    base_tags : bool, default=True
        Leave out the marks of foreign words (``fw-``), titles, headlines and cited words (``-tl``, ``-hl``,
        ``-nc``) and all after ``+``: 104 tags instead of 472.

    Returns
    -------
    Bunch
        As of :func:`load_ud_ewt`, without `genres`; `documents` are file names such as ``"ca01"``.

    Examples
    --------
    >>> from palmette.datasets import load_brown
    >>> train = load_brown("train")  # doctest: +SKIP
    >>> train.data[0][:2], train.target[0][:2]  # doctest: +SKIP
    ([('The',), ('Fulton',)], ['at', 'np'])
    """
    splits.needed(subset, _PUBLISHED)
    content = store.read("brown", ["all"])["all"]
    parts = _file_parts(content, _by_tens, base_tag if base_tags else str)
    return _bunch("brown", subset, parts, return_X_y)


def load_masc(subset: str = "train", return_X_y: bool = False) -> splits.Loaded:
    """Load the part-of-speech tags of the Manually Annotated Sub-Corpus (MASC).

    34,533 sentences of 392 files, 592,469 tokens with Penn tags, less a few sentences without tokens and tokens
    without a word. Where the data is taken from see :func:`palmette.datasets.where`.

    Parameters
    ----------
    subset : {"train", "fit", "dev", "test", "all"}, default="train"
        No split is published; files are split as in :func:`load_brown`.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a bunch.

    Returns
    -------
    Bunch
        As of :func:`load_ud_ewt`, without `genres`; `documents` are file names such as ``"written/chapter-10.txt"``.

    Examples
    --------
    >>> from palmette.datasets import load_masc
    >>> test = load_masc("test")  # doctest: +SKIP
    """
    splits.needed(subset, _PUBLISHED)
    parts = _file_parts(store.read("masc", ["all"])["all"], _by_tens)
    return _bunch("masc", subset, parts, return_X_y)


def load_ptb_sample(subset: str = "train", return_X_y: bool = False) -> splits.Loaded:
    """Load the part-of-speech tags of the Penn Treebank sample.

    3,914 sentences of 199 files of the Wall Street Journal, 94,084 tokens. Where the data is taken from see
    :func:`palmette.datasets.where`.

    Parameters
    ----------
    subset : {"train", "fit", "dev", "test", "all"}, default="train"
        No split is published; here files 0160 to 0199 are test, the others train. ``"dev"`` is the last tenth of
        train and ``"fit"`` the rest of it.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a bunch.

    Returns
    -------
    Bunch
        As of :func:`load_ud_ewt`, without `genres`; `documents` are file names such as ``"wsj_0001"``.

    Examples
    --------
    >>> from palmette.datasets import load_ptb_sample
    >>> train = load_ptb_sample("train")  # doctest: +SKIP
    """
    published = ("train", "test")
    splits.needed(subset, published)
    parts = _file_parts(store.read("ptb-sample", ["all"])["all"], _by_160)
    return _bunch("ptb-sample", subset, parts, return_X_y, published)


def base_tag(tag: str) -> str:
    """A tag of the Brown corpus without the marks that say where its word stands.

    >>> [base_tag(tag) for tag in ("np-tl", "fw-in+at-tl", "---hl", "pps+bez-nc", "nn$-tl-hl", "bedz*")]
    ['np', 'in', '--', 'pps', 'nn$', 'bedz*']
    """
    return _MARKS.sub("", tag.partition("+")[0])


def _bunch(
    name: str,
    subset: str,
    parts: dict[str, splits.Part],
    return_X_y: bool,
    published: tuple[str, ...] = _PUBLISHED,
) -> splits.Loaded:
    return splits.make_bunch(name, subset, parts, published, return_X_y=return_X_y, feature_names=["word"])


def _conllu_part(content: bytes, tag_column: int) -> splits.Part:
    def split(line: str) -> tuple[str, str]:
        cells = line.split("\t")
        return cells[1], cells[tag_column]

    sentences, documents, document = [], [], ""
    for lines in blocks(content.decode("utf-8")):
        names = [line.partition(" = ")[2] for line in lines if line.startswith("# newdoc id")]
        document = names[0] if names else document
        sentences.append([line for line in lines if line.partition("\t")[0].isdigit()])
        documents.append(document)
    data, target = columns(sentences, split)
    genres = [name.partition("-")[0] for name in documents]
    return splits.Part(data, target, {"documents": documents, "genres": genres})


def _file_parts(
    content: bytes, part_of: Callable[[int, str], str], change: Callable[[str], str] = str
) -> dict[str, splits.Part]:
    """Parts of a corpus of files, by the number and the name of each; tags are changed by a function."""

    def split(line: str) -> tuple[str, str]:
        word, tag = line.split("\t")
        return word, change(tag)

    files, sentences = zip(*tagged_format.parse(content))
    data, target = columns(sentences, split)
    numbers = {file: number for number, file in enumerate(dict.fromkeys(files))}
    parts = {part: splits.Part([], [], {"documents": []}) for part in ("train", "dev", "test")}
    for file, tokens, tags in zip(files, data, target):
        part = parts[part_of(numbers[file], file)]
        part.data.append(tokens)
        part.target.append(tags)
        part.details["documents"].append(file)
    return parts


def _by_tens(number: int, file: str) -> str:
    return {8: "dev", 9: "test"}.get(number % 10, "train")


def _by_160(number: int, file: str) -> str:
    return "test" if file >= "wsj_0160" else "train"
