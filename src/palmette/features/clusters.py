"""Word clusters: words in similar contexts get the same number, which a tagger can use as a column.

Counts ``n(w, c)`` of a word and a context, which is another word at a given distance, become positive pointwise mutual
information ``max(0, log(n(w, c) n / (n(w) n(c))))``; a truncated singular value decomposition leaves a short vector
a word, and k-means groups the directions of these vectors.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from palmette.data.checks import check_array, check_type, entry, needed
from palmette.errors import ModelFileError
from palmette.features.texts import TextIndex
from palmette.registry import register
from palmette.stages import stage

Sentences = Sequence[Sequence[str | tuple[str, ...]]]

_BOUNDARY, _RARE, _FIRST = 0, 1, 2  # codes of contexts: outside of the sentence, a rare word, the known words
_DIGIT = re.compile(r"\d")
_REPEATED = re.compile(r"(.)\1+")
_LONGEST_SHAPE = 6


@register("columns", "clusters")
class WordClusters(BaseEstimator):
    """Clusters of words, learned from sentences without labels.

    Parameters
    ----------
    n_clusters : int or tuple of int, default=(64, 256)
        Numbers of clusters; each gives a column.
    n_components : int, default=50
        Dimensions of the word vectors.
    window : int, default=2
        Contexts are the words at distances up to this, each distance and side apart.
    min_count : int, default=3
        Words that occur less often are unknown; see `clusters_of`.
    lowercase : bool, default=True
        Whether words that differ only in case are one. Digits are always one.
    random_state : int, default=0
        Equal seeds give equal clusters.

    Attributes
    ----------
    vocabulary_ : dict of str to int
        Row of each known word, the most frequent first.
    labels_ : ndarray of int32, shape (n_words, n_columns)
        Clusters of the known words.
    column_names_ : list of str
        Such as ``["cluster64", "cluster256"]``.

    Examples
    --------
    >>> text = [f"{who} {did} the {what}".split() for who in ("he", "she") for did in ("saw", "heard")
    ...         for what in ("cat", "dog", "bird")]
    >>> clusters = WordClusters(n_clusters=4, n_components=3).fit(text)
    >>> clusters.clusters_of("cat") == clusters.clusters_of("Dog") != clusters.clusters_of("saw")
    True
    >>> clusters.clusters_of("zebra")
    ('?x',)
    >>> [token[0] for token in clusters.transform([["the", "zebra"]])[0]]
    ['the', 'zebra']
    """

    def __init__(
        self,
        n_clusters: int | tuple[int, ...] = (64, 256),
        *,
        n_components: int = 50,
        window: int = 2,
        min_count: int = 3,
        lowercase: bool = True,
        random_state: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_components = n_components
        self.window = window
        self.min_count = min_count
        self.lowercase = lowercase
        self.random_state = random_state

    def fit(self, X: Sentences, y: Any = None) -> WordClusters:
        """Learn clusters of the words of some sentences.

        Parameters
        ----------
        X : list of list of str, or of tuples of str
            Words, or tokens whose first column is the word.
        y : ignored
        """
        sizes = self._check()
        sentences = self._normal_words(X)
        words = self._known(sentences)
        needed = max(*sizes, self.n_components)
        if len(words) < needed:
            raise ValueError(
                f"{len(words)} different words occur at least {self.min_count} times, but {needed} are needed; "
                "give more text, or lower min_count, n_clusters or n_components"
            )
        self.vocabulary_ = {word: row for row, word in enumerate(words)}
        with stage("vectors of words"):
            vectors = self._vectors(_positive_information(self._counts(sentences)))
        self.labels_ = np.column_stack([self._group(vectors, size) for size in sizes]).astype(np.int32)
        self.column_names_ = [f"cluster{size}" for size in sizes]
        return self

    def n_known(self, X: Sentences) -> int:
        """How many different words of some sentences are frequent enough to be clustered."""
        return len(self._known(self._normal_words(X)))

    def _normal_words(self, X: Sentences) -> list[list[str]]:
        return [[self._normal(_word(token)) for token in sentence] for sentence in X]

    def _known(self, sentences: list[list[str]]) -> list[str]:
        """The words that are frequent enough, the most frequent first."""
        counts = Counter(chain.from_iterable(sentences))
        return [word for word, count in counts.most_common() if count >= self.min_count]

    def clusters_of(self, word: str) -> tuple[str, ...]:
        """Clusters of one word, a string for each number of clusters.

        An unknown word gets ``?`` and its shape: capitals ``X``, small letters ``x``, digits ``0``, other
        characters as they are, repetitions once.
        """
        check_is_fitted(self)
        row = self.vocabulary_.get(self._normal(word))
        if row is None:
            return (f"?{_shape(word)}",) * self.labels_.shape[1]
        return tuple(map(str, self.labels_[row].tolist()))

    def transform(self, X: Sentences) -> list[list[tuple[str, ...]]]:
        """Sentences of tokens with the clusters of the words as further columns, the last ones."""
        return append_clusters(X, self)

    def fit_transform(self, X: Sentences, y: Any = None) -> list[list[tuple[str, ...]]]:
        """`fit` and `transform` on the same sentences."""
        return self.fit(X).transform(X)

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Header (JSON values) and arrays, from which `from_state` makes the clusters again."""
        check_is_fitted(self)
        parameters = self.get_params()
        parameters["n_clusters"] = self._check()
        return parameters, {"labels": self.labels_, **TextIndex(list(self.vocabulary_)).state("words")}

    @classmethod
    def from_state(cls, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> WordClusters:
        """Clusters from what `state` returned."""
        try:
            clusters = cls(
                **{**header, "n_clusters": tuple(entry(header, "n_clusters", list, "the clusters"))}
            )
            sizes = clusters._check()
            check_type("lowercase", clusters.lowercase, bool)
            words = TextIndex.from_state(arrays, "words").strings()
            labels = check_array("labels", needed(arrays, "labels"), np.int32, 2, len(words))
            if labels.shape[1] != len(sizes):
                raise ValueError(f"the words have {labels.shape[1]} clusters each, expected {len(sizes)}")
        except (TypeError, ValueError) as error:
            raise ModelFileError(f"damaged word clusters in a model file: {error}") from error
        clusters.vocabulary_ = {word: row for row, word in enumerate(words)}
        clusters.labels_ = labels
        clusters.column_names_ = [f"cluster{size}" for size in sizes]
        return clusters

    def _check(self) -> list[int]:
        """The numbers of clusters as a list, after checking all parameters."""
        sizes = list(self.n_clusters) if isinstance(self.n_clusters, Iterable) else [self.n_clusters]
        numbers = [("n_clusters", size) for size in sizes]
        numbers += [(name, getattr(self, name)) for name in ("n_components", "window", "min_count")]
        for name, value in numbers:
            if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
                raise ValueError(f"{name} must be an integer >= 1, got {value!r}")
        if not sizes:
            raise ValueError("n_clusters is empty; give at least one number of clusters")
        return [int(size) for size in sizes]

    def _normal(self, word: str) -> str:
        return _DIGIT.sub("0", word.lower() if self.lowercase else word)

    def _counts(self, sentences: list[list[str]]) -> sparse.csr_array:
        """How often each known word has each context: (n_words, n_contexts)."""
        lengths = np.array([len(sentence) for sentence in sentences])
        row_of = self.vocabulary_
        codes = np.fromiter(
            (row_of.get(word, _RARE - _FIRST) + _FIRST for word in chain.from_iterable(sentences)),
            np.int64,
            int(lengths.sum()),
        )
        # sentences lie `window` boundaries apart, so that no context reaches into another
        places = np.arange(len(codes)) + self.window * (1 + np.repeat(np.arange(len(lengths)), lengths))
        text = np.full(len(codes) + self.window * (1 + len(lengths)), _BOUNDARY)
        text[places] = codes
        known = codes >= _FIRST
        rows, n_codes = codes[known] - _FIRST, len(row_of) + _FIRST
        distances = [d for d in range(-self.window, self.window + 1) if d]
        contexts = [text[places[known] + d] + k * n_codes for k, d in enumerate(distances)]
        pairs = np.tile(rows, len(distances)), np.concatenate(contexts)
        shape = len(row_of), len(distances) * n_codes
        return sparse.coo_array((np.ones(len(pairs[0])), pairs), shape=shape).tocsr()

    def _vectors(self, information: sparse.csr_array) -> np.ndarray:
        """Directions of the words in the space of the largest singular values."""
        from sklearn.utils.extmath import randomized_svd
        from threadpoolctl import threadpool_limits

        with threadpool_limits(1):  # sums in a fixed order: equal seeds shall give equal clusters
            left, values, _ = randomized_svd(
                information, self.n_components, n_iter=4, random_state=self.random_state
            )
        vectors = left * values
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors / np.where(norms > 0, norms, 1.0)

    def _group(self, vectors: np.ndarray, size: int) -> np.ndarray:
        from sklearn.cluster import KMeans
        from threadpoolctl import threadpool_limits

        with threadpool_limits(1), stage(f"{size:,} word clusters"):
            return KMeans(size, n_init=1, max_iter=50, random_state=self.random_state).fit_predict(vectors)


def append_clusters(
    sentences: Sentences, clusters: WordClusters, *, column: int = 0, at: int | None = None
) -> list[list[tuple[str, ...]]]:
    """Sentences of tokens with the clusters of a column as further columns.

    Parameters
    ----------
    sentences : list of list of tuple of str, or of str
        Tokens with their columns; a string is a token of one column.
    clusters : WordClusters
    column : int, default=0
        The column that holds the word.
    at : int, optional
        Index of the first new column, negative from the end; the last by default.

    Examples
    --------
    >>> clusters = WordClusters(n_clusters=2, n_components=2, min_count=1).fit([["a", "b"], ["b", "a"]])
    >>> append_clusters([[("z9", "NN", "B-NP")]], clusters, at=-1)
    [[('z9', 'NN', '?x0', 'B-NP')]]
    """

    def extend(token: str | tuple[str, ...]) -> tuple[str, ...]:
        cells = (token,) if isinstance(token, str) else tuple(token)
        cut = len(cells) if at is None else at
        return cells[:cut] + clusters.clusters_of(cells[column]) + cells[cut:]

    extended = {token: extend(token) for token in set(chain.from_iterable(sentences))}
    return [[extended[token] for token in sentence] for sentence in sentences]


def _positive_information(counts: sparse.csr_array) -> sparse.csr_array:
    """Positive pointwise mutual information of rows and columns."""
    table = counts.tocoo()
    rows, columns = np.asarray(counts.sum(axis=1)).ravel(), np.asarray(counts.sum(axis=0)).ravel()
    values = np.log(table.data * counts.sum() / (rows[table.row] * columns[table.col]))
    kept = values > 0
    return sparse.csr_array((values[kept], (table.row[kept], table.col[kept])), shape=counts.shape)


def _word(token: str | tuple[str, ...]) -> str:
    return token if isinstance(token, str) else token[0]


def _shape(word: str) -> str:
    """Shape of a word, short.

    >>> _shape("NF-kappa"), _shape("1,234.5"), _shape("IL-2")
    ('X-x', '0,0.0', 'X-0')
    """
    letters = ("0" if c.isdigit() else "X" if c.isupper() else "x" if c.isalpha() else c for c in word)
    return _REPEATED.sub(r"\1", "".join(letters))[:_LONGEST_SHAPE]
