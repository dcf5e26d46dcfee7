"""A feature set by its name: from sentences in columns to the inputs of a learner."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from itertools import chain
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from palmette.data.checks import check_type, entry
from palmette.errors import ModelFileError
from palmette.features.column_table import ColumnTable
from palmette.features.sets.checks import check_columns, check_labels
from palmette.features.sets.definitions import DEFINITIONS, Definition
from palmette.features.sets.named_clusters import Text, checked_sizes
from palmette.features.templates import ColumnSentences, Template, as_table
from palmette.registry import find, kind_of
from palmette.stages import stage


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
        Names of the columns of the data, of letters, digits and ``_``. Those that the set does not read are ignored.
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

    def check(self) -> None:
        """Raise ValueError for settings that make no sense."""
        own = self.definition
        check_columns(own, self.columns)
        takes_clusters = any("clusters" in maker.get_params() for maker in own.makers)
        wants_clusters = checked_sizes(self.clusters) not in ("auto", ()) or self.text is not None
        if wants_clusters and not takes_clusters:
            raise ValueError(
                f"the feature set {self.name!r} has no word clusters; leave clusters and text for them "
                "(--cluster-text) out"
            )
        seed = self.random_state
        if not isinstance(seed, Integral) or isinstance(seed, bool) or not 0 <= seed < 2**32:
            raise ValueError(f"random_state must be a whole number from 0 to {2**32 - 1}, got {seed!r:.60}")

    def draft(self) -> Template:
        """The template with every column that the set can have, before there are any."""
        self.check()
        return self._template(
            [*self.columns, *chain.from_iterable(m.column_names for m in self.definition.makers)]
        )

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
        self.makers_ = [self._with_settings(clone(maker)) for maker in self.definition.makers]
        made = self._learn(table, y, everything=True)
        self._name_columns()
        return made

    def relearnt(self, table: ColumnTable, y: Any) -> tuple[Self, ColumnTable]:
        """A copy that has learnt from these labels alone, and their sentences extended.

        What was learnt without labels stays. To the copy other sentences of the training data are new ones.
        """
        again = copy(self)
        again.makers_ = [clone(maker) if _reads_labels(maker) else maker for maker in self.makers_]
        return again, again._learn(table, y, everything=False)

    def _learn(self, table: ColumnTable, y: Any, *, everything: bool) -> ColumnTable:
        """Fit all makers, or those that read labels; and extend the training sentences."""
        sentences, made = self._words(table), []
        if self.definition.reads_labels:
            check_labels(self.name, sentences, y)
        for maker in self.makers_:
            with stage(f"columns {', '.join(maker.column_names)}"):
                if not everything and not _reads_labels(maker):
                    made.append(maker.transform(sentences))
                elif hasattr(maker, "fit_transform"):
                    made.append(maker.fit_transform(sentences, y))
                else:
                    made.append(maker.fit(sentences, y).transform(sentences))
        return _with_columns(table, made)

    def _with_settings(self, maker: Any) -> Any:
        """A maker with those settings of the set that it takes."""
        own = {"clusters": self.clusters, "text": self.text, "random_state": self.random_state}
        return maker.set_params(**{name: own[name] for name in own.keys() & maker.get_params().keys()})

    def summary(self) -> str:
        """The name, and the columns that are read, with the numbers of clusters that there are.

        >>> feature_set("ner", ("word", "chunk")).fit([[("In", "x"), ("Rome", "y")]], [["O", "B-LOC"]]).summary()
        'ner, of word, known, case'
        """
        check_is_fitted(self)
        read = sorted({macro.column for line in self.template_.features for macro in line.macros})
        notes = {name: note for maker in self.makers_ for name, note in getattr(maker, "notes_", {}).items()}
        names = [self.column_names_[k] for k in read]
        return f"{self.name}, of {', '.join(f'{name} ({notes[name]})' if name in notes else name for name in names)}"

    def _name_columns(self) -> None:
        made = chain.from_iterable(getattr(m, "column_names_", m.column_names) for m in self.makers_)
        self.column_names_ = [*self.columns, *made]
        self.template_ = self._template(self.column_names_)

    def _template(self, columns: Sequence[str]) -> Template:
        text = self.definition.template(columns, edges=self.edges)
        return Template.parse(text, f"the feature set {self.name}")

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
        sizes = None if self.clusters is None else checked_sizes(self.clusters)
        settings = {
            "columns": list(self.columns),
            "clusters": list(sizes) if isinstance(sizes, tuple) else sizes,
            "edges": self.edges,
            "random_state": int(self.random_state),
        }
        return {"name": self.name, **settings, "makers": makers}, arrays

    @classmethod
    def from_state(cls, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> FeatureSet:
        """The feature set from what `state` returned."""
        try:
            columns = [check_type("a column", name, str) for name in entry(header, "columns", list)]
            features = cls(entry(header, "name", str), tuple(columns), edges=entry(header, "edges", bool))
            sizes = header["clusters"]
            features.clusters = tuple(sizes) if isinstance(sizes, list) else sizes
            features.random_state = entry(header, "random_state", int)
            features.check()
            features.makers_ = []
            for k, stored in enumerate(entry(header, "makers", list)):
                made: Any = find("columns", entry(stored, "kind", str))
                own = {n.removeprefix(f"{k}."): a for n, a in arrays.items() if n.startswith(f"{k}.")}
                maker = made.from_state(entry(stored, "settings", dict), own)
                features.makers_.append(features._with_settings(maker))
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


def _reads_labels(maker: Any) -> bool:
    return getattr(maker, "reads_labels", False)
