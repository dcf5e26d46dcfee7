"""The weights of a model by name: feature, label, label pair."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.utils.validation import check_is_fitted

from palmette.contracts.structure import can
from palmette.errors import MissingCapability

INTERCEPT = "(intercept)"


@dataclass(frozen=True)
class Weight:
    """One weight, of a feature with a label or a label pair, or of labels that follow each other (no `feature`)."""

    feature: str
    labels: tuple[Any, ...]
    value: float


def is_nameable(model: Any) -> bool:
    """Whether all weights are of features, labels, label pairs and triples: no types, no segments, no kernel."""
    return can(model.scorer_, "coordinates", "edge_coordinates", "triple_table")


class NamedWeights:
    """Weights of a fitted model, looked up by column and label and ranked by strength.

    Parameters
    ----------
    model : CRF, SSVM or Perceptron
        Fitted.
    names : list of str, optional
        Names of the feature columns; by default those that the model was given, and numbers for arrays.

    Attributes
    ----------
    labels : tuple
    features : csr_array of shape (n_columns, n_labels)
        Weight of each feature with each label; 0 where the model has none.
    more : dict of str to csr_array
        Other weights of features with labels: of a ``SemiMarkov`` "begin", "end" and "segment".
    bias : ndarray of shape (n_labels,), of a ``Graph`` with types of nodes (n_types, n_labels)
    transitions : ndarray of shape (n_labels, n_labels), or (0, 0) without edges
        Of a ``Graph`` with types of edges: (n_types, n_labels, n_labels).
    edge_features : csr_array of shape (n_columns, n_labels^2), or None
        Weight of each feature with each label pair (``i * n_labels + j``), if the model has such features.
    triples : ndarray of shape (n_labels, n_labels, n_labels), or None
        Weights of label triples, in chains of second order.

    Examples
    --------
    >>> from palmette import CRF, Chain
    >>> model = CRF(Chain(), l2=0.1).fit([[["the"], ["dog"]], [["a"], ["dog"]]], [["D", "N"], ["D", "N"]])
    >>> weights = NamedWeights(model)
    >>> for_n, against_n = weights.of_label("N", top=1)
    >>> for_n[0].feature, against_n
    ('dog', [])
    >>> weights.strongest_transitions(top=1)[0][0].labels
    ('D', 'N')
    """

    def __init__(self, model: Any, names: Sequence[str] | None = None) -> None:
        check_is_fitted(model, "coef_")
        scorer, coef = model.scorer_, model.coef_
        if not can(scorer, "coordinates", "edge_coordinates"):
            raise MissingCapability(
                f"{type(scorer).__name__} has no weights of single features: fit with kernel=None"
            )
        self.labels: tuple[Any, ...] = tuple(model.codec_.classes_)
        node = coef[scorer.blocks["node"]]
        self.features = csr_array((node, scorer.coordinates()), shape=(scorer.n_columns, len(self.labels)))
        more = scorer.more_coordinates() if can(scorer, "more_coordinates") else {}
        self.more = {
            name: csr_array((coef[scorer.blocks[name]], own), shape=self.features.shape)
            for name, own in more.items()
        }
        self.bias: np.ndarray = model.intercept_
        table = scorer.edge_table(coef)
        self.transitions: np.ndarray = (
            table if len(table) > 1 else table[0] if len(table) else np.empty((0, 0))
        )
        self.edge_features = None
        column, left, right = scorer.edge_coordinates()
        if len(column):
            own = coef[scorer.blocks["edge_features"]], (column, left * len(self.labels) + right)
            self.edge_features = csr_array(own, shape=(scorer.n_columns, len(self.labels) ** 2))
        triples = scorer.triple_table(coef) if can(scorer, "triple_table") else None
        self.triples = None if triples is None else triples[0]
        self._encoder, self._given_names = model.encoder_, names

    @cached_property
    def _names(self) -> Sequence[str] | None:
        return self._encoder.readable_names if self._given_names is None else self._given_names

    def _types(self, of: str) -> Sequence[Any]:
        """Types of nodes or edges of a graph."""
        return getattr(self._encoder, f"{of}_types")

    def name(self, column: int) -> str:
        """Name of a feature column; arrays have only numbers."""
        return f"column {column}" if self._names is None else self._names[column]

    def strongest_features(self, top: int = 10) -> tuple[list[Weight], list[Weight]]:
        """The largest weights of features and intercepts, and the smallest; zeros are not listed."""
        tables = {"": self.features.tocoo(), **{name: table.tocoo() for name, table in self.more.items()}}
        starts = np.cumsum([0, *(len(table.data) for table in tables.values())])

        def weight(place: int, value: float) -> Weight:
            if place >= starts[-1]:
                *kind, label = np.unravel_index(place - starts[-1], self.bias.shape)
                name = " ".join([INTERCEPT, *(f"({self._types('node')[int(k)]})" for k in kind)])
                return Weight(name, (self.labels[label],), value)
            k = int(np.searchsorted(starts, place, side="right")) - 1
            prefix, table, at = list(tables)[k], list(tables.values())[k], place - starts[k]
            prefix = "" if prefix in ("", "segment") else f"{prefix} "  # names of features of segments say so
            return Weight(prefix + self.name(int(table.row[at])), (self.labels[table.col[at]],), value)

        values = [table.data for table in tables.values()]
        return _ranked(np.concatenate([*values, self.bias.ravel()]), top, weight)

    def of_label(self, label: Any, top: int = 10) -> tuple[list[Weight], list[Weight]]:
        """The features that speak most for a label, and those that speak most against it."""
        code = self.labels.index(label)
        own = self._by_label[:, [code]].tocoo()

        def weight(place: int, value: float) -> Weight:
            return Weight(self.name(int(own.row[place])), (label,), value)

        return _ranked(own.data, top, weight)

    @cached_property
    def _by_label(self) -> Any:
        return self.features.tocsc()

    def strongest_transitions(self, top: int = 10) -> tuple[list[Weight], list[Weight]]:
        """The label pairs (and triples) of the largest weights, and of the smallest; zeros are not listed."""
        pairs = self.transitions.ravel()
        triples = np.empty(0) if self.triples is None else self.triples.ravel()

        def weight(place: int, value: float) -> Weight:
            if place < len(pairs):
                *kind, left, right = np.unravel_index(place, self.transitions.shape)
                name = "".join(str(self._types("edge")[int(k)]) for k in kind)
                return Weight(name, (self.labels[left], self.labels[right]), value)
            return Weight("", self._labels_at(place - len(pairs), (len(self.labels),) * 3), value)

        return _ranked(np.concatenate([pairs, triples]), top, weight)

    def strongest_edge_features(self, top: int = 10) -> tuple[list[Weight], list[Weight]]:
        """The (feature, label pair) combinations of the largest weights, and of the smallest."""
        if self.edge_features is None:
            return [], []
        own = self.edge_features.tocoo()
        pair = (len(self.labels),) * 2

        def weight(place: int, value: float) -> Weight:
            return Weight(self.name(int(own.row[place])), self._labels_at(int(own.col[place]), pair), value)

        return _ranked(own.data, top, weight)

    def _labels_at(self, place: int, shape: tuple[int, ...]) -> tuple[Any, ...]:
        return tuple(self.labels[code] for code in np.unravel_index(place, shape))


def _ranked(
    values: np.ndarray, top: int, weight: Callable[[int, float], Weight]
) -> tuple[list[Weight], list[Weight]]:
    """The `top` largest positive values and the `top` smallest negative ones, strongest first, first come first."""
    order = np.argsort(-values, kind="stable")
    positive = [weight(int(i), float(values[i])) for i in order[:top] if values[i] > 0]
    rising = np.argsort(values, kind="stable")[:top]
    negative = [weight(int(i), float(values[i])) for i in rising if values[i] < 0]
    return positive, negative
