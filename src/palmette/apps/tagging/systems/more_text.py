"""Word clusters learned from the training text and from words of other corpora."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from sklearn.base import BaseEstimator, clone

from palmette.datasets import load_brown, load_masc, load_ud_ewt
from palmette.features.clusters import WordClusters

Sentences = Sequence[Sequence[tuple[str, ...]]]

# MASC has files of the Wall Street Journal, some of which are in the Penn Treebank sample: they are left out.
_LOADERS: dict[str, Callable[[str], Any]] = {"brown": load_brown, "masc": load_masc, "ud-ewt": load_ud_ewt}
_LEFT_OUT = "wsj_"


class MoreTextClusters(BaseEstimator):
    """Columns of word clusters that are learned from more text than the training sentences.

    The text is the words, without their tags, of the training parts of other corpora.

    Parameters
    ----------
    texts : sequence of {"brown", "masc", "ud-ewt"}
        The other corpora.
    clusters : WordClusters
        With the numbers of clusters and how to make them.
    random_state : int, default=0
        Goes before that of `clusters`.

    Attributes
    ----------
    clusters_ : WordClusters

    Examples
    --------
    >>> MoreTextClusters(["brown"], WordClusters(64)).fit([[("a",)]]).clusters_.column_names_  # doctest: +SKIP
    ['cluster64']
    """

    def __init__(self, texts: Sequence[str], clusters: WordClusters, *, random_state: int = 0) -> None:
        self.texts = texts
        self.clusters = clusters
        self.random_state = random_state

    def fit(self, X: Sentences, y: Any = None) -> MoreTextClusters:
        """Learn clusters of the words of these sentences and of the other corpora."""
        sentences = [sentence for text in self.texts for sentence in _words(text)]
        clusters = clone(self.clusters).set_params(random_state=self.random_state)
        self.clusters_ = clusters.fit([*X, *sentences])
        return self

    def transform(self, X: Sentences) -> list[list[tuple[str, ...]]]:
        """Sentences with the clusters of the first column as further columns, the last ones."""
        return self.clusters_.transform(X)


@lru_cache
def _words(text: str) -> Sentences:
    """The sentences of the training part of a corpus."""
    if text not in _LOADERS:
        raise ValueError(f"texts: there is no text {text!r}; choose from {', '.join(_LOADERS)}")
    corpus = _LOADERS[text]("train")
    return [x for x, document in zip(corpus.data, corpus.documents) if _LEFT_OUT not in document]
