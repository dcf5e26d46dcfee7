"""A way to label sequences, from columns to labels, and the models that come of it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from palmette.data.span_checks import detect_encoding
from palmette.data.spans import convert_spans
from palmette.estimators import CombinedDecoder
from palmette.features.encoded import EncodedInputs
from palmette.features.sets import FeatureSet
from palmette.features.templates import ColumnSentences, Template


@dataclass(frozen=True)
class System:
    """A way to label sequences.

    Parameters
    ----------
    name : str
    learner : CRF, SSVM or Perceptron
        Not fitted; lines ``B`` with macros in the template become its ``edge_features``.
    template : str, optional
        Feature template (`palmette.features.Template`), with label transitions. Without one the data are what the
        learner takes: arrays, dicts or lists of names.
    features : FeatureSet, optional
        Instead of a template (`palmette.features.feature_set`); its random columns are drawn with the seed.
    columns : sequence of transformers
        Makers of further columns, one after the other, such as `palmette.features.WordClusters`: ``fit(X, y)`` sees the
        training sentences and their labels as the data set has them, ``transform(X)`` returns sentences. If there is
        a ``fit_transform(X, y)``, the training sentences come from it, and may differ: a dictionary of the training
        words, say, should not know the words of the very sentence that is learned from.
    encoding : str, optional
        Of spans, to learn in (`palmette.data.span_encodings`); predictions are in that of the data.
    grid : dict of str to sequence
        Parameters of the learner to try on development data. Those that change how inputs are encoded
        (``encoding__min_count``, ``encoding__n_hash``) cannot be in it.
    seeds : sequence of int
        For the learner and the makers of columns; more than one where something is random. The first is used
        while choosing.
    draws : int, default=1
        Models, each with seeds of its own for learner and columns; labels are chosen by the sum of their scores.

    Examples
    --------
    >>> from palmette import CRF, Chain
    >>> system = System("CRF", CRF(Chain()), "U0:%x[0,0]\\nU1:%s[0,0,1]\\nB", grid={"l2": (0.1, 1.0)})
    >>> system.settings()
    [{'l2': 0.1}, {'l2': 1.0}]
    """

    name: str
    learner: Any
    template: str | None = None
    columns: Sequence[Any] = ()
    features: FeatureSet | None = None
    encoding: str | None = None
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    seeds: Sequence[int] = (0,)
    draws: int = 1

    def __post_init__(self) -> None:
        if self.draws < 1:
            raise ValueError(f"system {self.name!r}: draws must be at least 1, got {self.draws!r}")
        if not self.seeds:
            raise ValueError(f"system {self.name!r}: seeds is empty; give at least one, such as (0,)")
        unknown = sorted(set(self.grid) - set(self.learner.get_params()))
        fixed = sorted({"encoding", "encoding__min_count", "encoding__n_hash"} & set(self.grid))
        if unknown or fixed:
            why = (
                f"{type(self.learner).__name__} has no such parameter"
                if unknown
                else "it changes the encoding"
            )
            raise ValueError(f"system {self.name!r}: grid cannot have {(unknown or fixed)[0]!r}: {why}")
        if self.features is not None and self.template is not None:
            raise ValueError(
                f"system {self.name!r}: features and template exclude each other; give one of them"
            )
        if self._template is not None and not self._template.transitions:
            raise ValueError(f"system {self.name!r}: the template has no label transitions; add a line B")

    @cached_property
    def _template(self) -> Template | None:
        if self.features is not None:
            return self.features.draft()
        return None if self.template is None else Template.parse(self.template, f"template of {self.name}")

    def settings(self) -> list[dict[str, Any]]:
        """All points of the grid; one empty one without a grid."""
        return list(ParameterGrid(dict(self.grid)))

    def inputs(self, columns: Iterable[Any], X: Sequence[Any]) -> Any:
        """What the learner takes, from sentences and fitted makers of columns."""
        for maker in columns:
            X = maker.transform(X)
        if self._template is None or isinstance(X, ColumnSentences):
            return X
        return ColumnSentences(X, self._template)

    def seeded_learner(self, seed: int) -> Any:
        """A copy of the learner, to be fitted with this seed."""
        learner = _seeded(self.learner, seed)
        if self._template is not None and self._template.has_edge_features:
            learner.set_params(edge_features=["B"])
        return learner

    def fitted_columns(
        self, X: Sequence[Any], y: Sequence[Sequence[str]], seed: int
    ) -> tuple[list[Any], Sequence[Any]]:
        """Copies of the makers of columns, fitted one after the other; and the training sentences with the columns."""
        fitted: list[Any] = []
        last = () if self.features is None else (self.features,)
        for maker in (*self.columns, *last):
            fitted.append(_seeded(maker, seed))
            if hasattr(maker, "fit_transform"):
                X = fitted[-1].fit_transform(X, y)
            else:
                X = fitted[-1].fit(X, y).transform(X)
        return fitted, X


@dataclass(frozen=True)
class Trained:
    """A system that has learnt.

    Parameters
    ----------
    system : System
    setting : dict
        The point of the grid.
    model : fitted learner
    columns : list of fitted transformers
    own : str or None
        Encoding of the data set's spans, if the model has another.
    seconds : float
        CPU time of columns, encoding and fit; the share of the former two is counted for every setting.
    others : sequence of Trained
        The further draws of the system.
    """

    system: System
    setting: dict[str, Any]
    model: Any
    columns: Sequence[Any]
    own: str | None
    seconds: float
    others: Sequence[Trained] = ()

    @property
    def template(self) -> str | None:
        """The template that the model reads columns by, if it does."""
        return self.system.template if self.system.features is None else self.columns[-1].template_.text

    def encode(self, X: Sequence[Any]) -> Any:
        """Sentences of the data set as the model takes them."""
        return self.model.encode(self.system.inputs(self.columns, X))

    def predict(self, X: Sequence[Any]) -> list[list[Any]]:
        """Labels in the encoding of the data set."""
        draws = [self, *self.others]
        inputs = [draw.encode(X) for draw in draws]
        if len(draws) == 1:
            labels = self.model.predict(inputs[0])
        else:
            labels = CombinedDecoder([draw.model for draw in draws], combine="scores").predict(inputs)
        if self.own is None or self.system.encoding is None:
            return labels
        return convert_spans(labels, self.system.encoding, self.own, "repair")

    def labels_for_model(self, y: Sequence[Sequence[str]]) -> Sequence[Sequence[str]]:
        """Labels of the data set in the encoding of the model."""
        if self.own is None or self.system.encoding is None:
            return y
        return convert_spans(y, self.own, self.system.encoding, "repair")


def train(
    system: System,
    X: Sequence[Any],
    y: Sequence[Sequence[Any]],
    *,
    settings: Iterable[Mapping[str, Any]] = ({},),
    seed: int = 0,
) -> Iterator[Trained]:
    """Train a system once for each setting, with columns and encoding made once.

    Parameters
    ----------
    system : System
    X, y : list
        Sentences and labels of the data set.
    settings : iterable of dict
        Parameters of the learner.
    seed : int, default=0

    Yields
    ------
    Trained

    Examples
    --------
    >>> from palmette import CRF, Chain
    >>> system = System("CRF", CRF(Chain(), l2=0.1), "U:%x[0,0]\\nB", encoding="IOBES")
    >>> X, y = [[("the",), ("cat",), ("sat",)]], [["B-NP", "I-NP", "B-VP"]]
    >>> (trained,) = train(system, X, y)
    >>> trained.model.classes_.tolist(), trained.predict(X)
    (['B-NP', 'E-NP', 'S-VP'], [['B-NP', 'I-NP', 'B-VP']])
    """
    started = time.process_time()
    draws = [_prepared(system, X, y, seed * system.draws + k) for k in range(system.draws)]
    own = None if system.encoding is None else detect_encoding(y)
    labels = y if own is None else convert_spans(y, own, str(system.encoding), "raise")
    shared = time.process_time() - started
    for setting in settings:
        started = time.process_time()
        models = [clone(learner).set_params(**setting).fit(encoded, labels) for _, learner, encoded in draws]
        seconds = shared + time.process_time() - started
        trained, *others = (
            Trained(system, dict(setting), model, columns, own, seconds)
            for model, (columns, _, _) in zip(models, draws)
        )
        yield replace(trained, others=others)


def _prepared(
    system: System, X: Sequence[Any], y: Sequence[Sequence[Any]], seed: int
) -> tuple[list[Any], Any, EncodedInputs]:
    """Fitted makers of columns, the learner, and the training sentences as it takes them."""
    columns, extended = system.fitted_columns(X, y, seed)
    learner = system.seeded_learner(seed)
    return columns, learner, learner.encode(system.inputs([], extended))


def _seeded(estimator: Any, seed: int) -> Any:
    """A copy of an estimator with the seed, if it takes one."""
    copy = clone(estimator)
    return copy.set_params(random_state=seed) if "random_state" in copy.get_params() else copy
