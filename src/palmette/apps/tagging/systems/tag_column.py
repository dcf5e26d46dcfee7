"""A column of tags from a tagger that another corpus taught."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils import Bunch

from palmette.apps.tagging.default_template import default_template
from palmette.apps.tagging.systems.system import System, train
from palmette.estimators import Perceptron
from palmette.structures import Chain


class TagColumn(BaseEstimator):
    """Appends what a tagger says of the words, the first column, to every token.

    Parameters
    ----------
    load : callable
        ``load("train")`` returns tagged words; see `palmette.datasets`.
    max_iter : int, default=5
        Epochs of the averaged perceptron that learns them, on the default template for words.
    random_state : int, default=0

    Examples
    --------
    >>> corpus = Bunch(data=[[("the",), ("cats",)], [("a",), ("dog",)]], target=[["DT", "NNS"], ["DT", "NN"]])
    >>> TagColumn(lambda subset: corpus).fit([]).transform([[("a", "x"), ("cats", "y")]])
    [[('a', 'x', 'DT'), ('cats', 'y', 'NNS')]]
    """

    def __init__(self, load: Callable[[str], Bunch], *, max_iter: int = 5, random_state: int = 0) -> None:
        self.load = load
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> TagColumn:
        """Train the tagger; `X` and `y` are not read."""
        corpus = self.load("train")
        system = System("tagger", Perceptron(Chain(), max_iter=self.max_iter), default_template(2))
        (self.tagger_,) = train(system, corpus.data, corpus.target, seed=self.random_state)
        return self

    def transform(self, X: Sequence[Sequence[tuple[str, ...]]]) -> list[list[tuple[str, ...]]]:
        """Sentences with the column, the last one."""
        words = [[token[:1] for token in sentence] for sentence in X]
        return [[(*token, tag) for token, tag in zip(*pair)] for pair in zip(X, self.tagger_.predict(words))]
