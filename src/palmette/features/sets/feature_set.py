"""A feature set by its name: from sentences in columns to the inputs of a learner."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from palmette.data.checks import check_type, entry
from palmette.errors import ModelFileError
from palmette.features.clusters import WordClusters
from palmette.features.column_table import ColumnTable
from palmette.features.sets.definitions import CLUSTERS, DEFINITIONS, Definition
from palmette.features.templates import ColumnSentences, Template, as_table
from palmette.registry import find, kind_of

Text = Sequence[Sequence[Any]]


class FeatureSet(BaseEstimator):
    """Makes the inputs of a learner on ``Chain()`` from sentences in columns; made by `feature_set`.

    ``fit_transform(X, y)`` learns what the set has to learn (word clusters, words seen in names, a lexicon) and returns
    the training inputs; ``transform(X)`` returns those of other sentences. It may stand in a scikit-learn pipeline
    before a learner.

    Parameters
    ----------
    name : str
        One of `DEFINITIONS`.
    columns : sequence of str, default=("word",)
        Names of the columns of the data. Those that the set does not read are ignored.
    clusters : "auto", None, int or tuple of int, default="auto"
        Numbers of word clusters, fewest first, at most three; "auto" those of the set, without numbers that the
        text has too few words for.
    text : list of list of str, or callable, optional
        More sentences to learn clusters from, or what returns them.
    edges : bool, default=False
        Whether some features belong to pairs of labels too; the learner then takes ``edge_features=["B"]``.
    random_state : int, default=0
        Of word clusters.

    Attributes
    ----------
    template_ : Template
    makers_ : list
        Fitted makers of the columns behind those of the data.
    column_names_ : list of str
        All columns, in the order of the template.
    """

    def __init__(
        self,
        name: str,
        columns: Sequence[str] = ("word",),
        *,
        clusters: Any = "auto",
        text: Text | Callable[[], Text] | None = None,
        edges: bool = False,
        random_state: int = 0,
    ) -> None:
        self.name = name
        self.columns = columns
        self.clusters = clusters
        self.text = text
        self.edges = edges
        self.random_state = random_state

    @property
    def definition(self) -> Definition:
        """What the set contains."""
        if self.name not in DEFINITIONS:
            raise ValueError(f"there is no feature set {self.name!r}; choose one of {', '.join(DEFINITIONS)}")
        return DEFINITIONS[self.name]

    def check(self) -> list[str]:
        """Raise ValueError for settings that make no sense; returns the columns that `fit` can make at most."""
        own, names = self.definition, list(self.columns)
        made = [name for maker in own.makers for name in maker.column_names]
        twice = [name for name, count in Counter([*names, *made]).items() if count > 1]
        if twice:
            why = "the feature set makes a column of this name" if twice[0] in made else "it is there twice"
            raise ValueError(
                f"columns {','.join(names)}: {twice[0]!r} cannot be used, {why}; name it otherwise"
            )
        for name in own.needs:
            if name not in names:
                raise ValueError(
                    f"the feature set {self.name!r} needs a column {name!r}, and the columns are "
                    f"{','.join(names)}; name the column that holds it, as in --columns "
                    f"{','.join([*own.needs, 'label'])} (in Python columns={tuple(own.needs)!r}), or choose another set"
                )
        return [*names, *made, *(f"cluster{size}" for size in self._sizes())]

    def draft(self) -> Template:
        """The template with every column that `fit` can make, before there are any."""
        names = self.check()
        n_clusters = len(self._sizes())
        return self._template(names, names[len(names) - n_clusters :])

    def fit(self, X: Any, y: Any = None) -> FeatureSet:
        """Learn the further columns from sentences and, for some sets, their labels."""
        self.extended_fit(self._table(X), y)
        return self

    def transform(self, X: Any) -> ColumnSentences:
        """Sentences as a learner takes them.

        Parameters
        ----------
        X : list of list of tuple of str, list of list of str, or ColumnTable
            Tokens with the columns, or words alone.
        """
        check_is_fitted(self)
        return ColumnSentences(self.extended(self._table(X)), self.template_)

    def fit_transform(self, X: Any, y: Any = None) -> ColumnSentences:
        """The training inputs; what is learnt from labels comes from other sentences than the one it is used in."""
        return ColumnSentences(self.extended_fit(self._table(X), y), self.template_)

    def extended(self, table: ColumnTable) -> ColumnTable:
        """The columns of a table, followed by those of the set."""
        if not table.n_tokens:
            return table
        sentences = self._words(table)
        return _with_columns(table, [maker.transform(sentences) for maker in self.makers_])

    def extended_fit(self, table: ColumnTable, y: Any) -> ColumnTable:
        """Fit, and extend the training sentences."""
        self.check()
        own, sentences = self.definition, self._words(table)
        if own.reads_labels and y is None:
            raise ValueError(f"the feature set {self.name!r} learns from labels too: give y")
        self.makers_ = [clone(maker) for maker in own.makers]
        clusters = self._fitted_clusters(sentences)
        made = [
            maker.fit_transform(sentences, y)
            if hasattr(maker, "fit_transform")
            else maker.fit(sentences, y).transform(sentences)
            for maker in self.makers_
        ]
        if clusters is not None:
            self.makers_.append(clusters)
            made.append(clusters.transform(sentences))
        self._name_columns()
        return _with_columns(table, made)

    def _name_columns(self) -> None:
        names = [list(getattr(m, "column_names_", None) or m.column_names) for m in self.makers_]
        clusters = [
            name for m, own in zip(self.makers_, names) if isinstance(m, WordClusters) for name in own
        ]
        self.column_names_ = [*self.columns, *chain.from_iterable(names)]
        self.template_ = self._template(self.column_names_, clusters)

    def _template(self, columns: Sequence[str], clusters: Sequence[str]) -> Template:
        text = self.definition.template(columns, clusters, edges=self.edges)
        return Template.parse(text, f"the feature set {self.name}")

    def _sizes(self) -> list[int]:
        """Numbers of clusters, at most."""
        own = self.definition.clusters
        given = (own and own.n_clusters) if isinstance(self.clusters, str) else self.clusters
        if isinstance(self.clusters, str) and self.clusters != "auto":
            raise ValueError(f"clusters must be 'auto', None or numbers, got {self.clusters!r}")
        if given is None:
            return []
        sizes = [given] if isinstance(given, int) else list(given)
        if own is None:
            raise ValueError(f"the feature set {self.name!r} has no word clusters; leave clusters out")
        if len(sizes) > len(CLUSTERS) or sizes != sorted(set(sizes)):
            raise ValueError(
                f"clusters={self.clusters!r}: give at most {len(CLUSTERS)} numbers, the smallest first"
            )
        return sizes

    def _fitted_clusters(self, sentences: Text) -> WordClusters | None:
        own, sizes = self.definition.clusters, self._sizes()
        if own is None or not sizes:
            return None
        clusters = clone(own).set_params(random_state=self.random_state)
        more = self.text() if callable(self.text) else self.text
        text = [*sentences, *(more or [])]
        if self.clusters == "auto":
            known = clusters.n_known(text)
            sizes = [size for size in sizes if max(size, clusters.n_components) <= known]
        if not sizes:
            return None
        try:
            return clusters.set_params(n_clusters=tuple(sizes)).fit(text)
        except ValueError as error:
            reason = str(error).split("; ")[0]
            raise ValueError(
                f"cannot learn {tuple(sizes)} word clusters: {reason}; give more text (--cluster-text), or leave "
                "clusters out, so that the feature set takes as many as the text allows"
            ) from error

    def _table(self, X: Any) -> ColumnTable:
        if isinstance(X, ColumnTable):
            return X
        if len(self.columns) == 1 and any(isinstance(token, str) for sentence in X for token in sentence[:1]):
            X = [[(word,) for word in sentence] for sentence in X]
        table = as_table(X)
        if table.n_tokens and table.n_columns != len(self.columns):
            raise ValueError(
                f"tokens have {table.n_columns} columns, and {len(self.columns)} have names: "
                f"{', '.join(self.columns)}; name every column"
            )
        return table

    def _words(self, table: ColumnTable) -> list[list[tuple[str, ...]]]:
        return [[(word,) for word in words] for words in table.column(list(self.columns).index("word"))]

    # -- files --------------------------------------------------------------------------------------------

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Header (JSON values) and arrays, from which `from_state` makes the feature set again."""
        check_is_fitted(self)
        makers: list[dict[str, Any]] = []
        arrays: dict[str, np.ndarray] = {}
        for k, maker in enumerate(self.makers_):
            header, own = maker.state()
            makers.append({"kind": kind_of(maker), "settings": header})
            arrays |= {f"{k}.{name}": array for name, array in own.items()}
        settings = {"columns": list(self.columns), "edges": self.edges, "random_state": self.random_state}
        return {"name": self.name, **settings, "makers": makers}, arrays

    @classmethod
    def from_state(cls, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> FeatureSet:
        """The feature set from what `state` returned."""
        try:
            columns = [check_type("a column", name, str) for name in entry(header, "columns", list)]
            features = cls(entry(header, "name", str), tuple(columns), edges=entry(header, "edges", bool))
            features.set_params(random_state=entry(header, "random_state", int)).check()
            features.makers_ = []
            for k, stored in enumerate(entry(header, "makers", list)):
                made: Any = find("columns", entry(stored, "kind", str))
                own = {n.removeprefix(f"{k}."): a for n, a in arrays.items() if n.startswith(f"{k}.")}
                features.makers_.append(made.from_state(entry(stored, "settings", dict), own))
            features._name_columns()
        except (KeyError, TypeError, ValueError) as error:
            raise ModelFileError(f"damaged feature set in a model file: {error}") from error
        return features


def feature_set(name: str, columns: Sequence[str] = ("word",), **settings: Any) -> FeatureSet:
    """A feature set by its name.

    ================  ==============================================================================================
    ``ner``           names in text: words, affixes, shapes, clusters, words seen in names, usual case
    ``bio-ner``       names of genes, proteins and cells: also stems, parts at hyphens, Greek letters and other signs
    ``chunking``      phrases of words with parts of speech (column ``pos``)
    ``pos``           parts of speech
    ``segmentation``  words of text without spaces, one character per token
    ================  ==============================================================================================

    Parameters
    ----------
    name : str
    columns : sequence of str, default=("word",)
        Names of the columns of the data, ``word`` among them.
    **settings
        Of `FeatureSet`: ``clusters``, ``text``, ``edges``, ``random_state``.

    Returns
    -------
    FeatureSet

    Examples
    --------
    >>> from palmette import CRF, Chain
    >>> X = [[("Ann", "NNP"), ("sleeps", "VBZ")], [("Bob", "NNP"), ("eats", "VBZ")]]
    >>> y = [["B-NP", "B-VP"], ["B-NP", "B-VP"]]
    >>> features = feature_set("chunking", ("word", "pos"))
    >>> model = CRF(Chain(), l2=0.1).fit(features.fit_transform(X, y), y)
    >>> model.predict(features.transform([[("Eve", "NNP"), ("runs", "VBZ")]]))
    [['B-NP', 'B-VP']]
    >>> [name for name in model.encoder_.feature_names if name.startswith("U.pos[-1]|pos[0]=")]
    ['U.pos[-1]|pos[0]=_B-1|NNP', 'U.pos[-1]|pos[0]=NNP|VBZ']
    """
    features = FeatureSet(name, columns, **settings)
    features.check()
    return features


def _with_columns(table: ColumnTable, made: Sequence[Sequence[Sequence[tuple[str, ...]]]]) -> ColumnTable:
    """A table, followed by the columns of some sentences without the first, which is the word."""
    for sentences in made:
        others = ColumnTable.from_sentences(sentences)
        table = ColumnTable(
            (*table.codes, *others.codes[1:]), (*table.cells, *others.cells[1:]), table.offsets
        )
    return table
