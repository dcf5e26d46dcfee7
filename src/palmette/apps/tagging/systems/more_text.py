"""Words of other corpora, to learn word clusters from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from palmette.datasets import load_brown, load_masc, load_ud_ewt

Sentences = Sequence[Sequence[tuple[str, ...]]]

# MASC has files of the Wall Street Journal, some of which are in the Penn Treebank sample: they are left out.
_LOADERS: dict[str, Callable[[str], Any]] = {"brown": load_brown, "masc": load_masc, "ud-ewt": load_ud_ewt}
_LEFT_OUT = "wsj_"


def words_of_corpora(texts: Sequence[str]) -> Sentences:
    """The sentences, words without tags, of the training parts of "brown", "masc" or "ud-ewt"."""
    return [sentence for text in texts for sentence in _words(text)]


@lru_cache
def _words(text: str) -> Sentences:
    """The sentences of the training part of a corpus."""
    if text not in _LOADERS:
        raise ValueError(f"texts: there is no text {text!r}; choose from {', '.join(_LOADERS)}")
    corpus = _LOADERS[text]("train")
    return [x for x, document in zip(corpus.data, corpus.documents) if _LEFT_OUT not in document]
