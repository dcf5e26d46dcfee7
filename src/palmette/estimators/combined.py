"""Decoding by a complex and a simple model together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from palmette.contracts.structure import Structure, require
from palmette.data.batch import Batch
from palmette.data.outside import checked_csr
from palmette.data.sequences import listed
from palmette.estimators.base import StructuredEstimator
from palmette.estimators.blocks import Answer, best_codes, marginals, node_scores
from palmette.estimators.training import given_labels, without_empty
from palmette.features.encoded import EncodedInputs
from palmette.features.kinds import samples_of

_LEAST = 1e-300  # probability taken for zero: a simple model regularises, it forbids nothing


class CombinedDecoder(BaseEstimator):
    r"""Predict by a model of the whole structure, regularised by simpler models of the same labels.

    The complex model keeps the training error down, the simple one keeps the structure of the output from being
    overfitted (the appendix of Sun's structure regularisation). With fitted models, the output is the best under

    * ``combine="marginals"``: ``f_complex(x, y) + weight sum_t log p_simple(y_t | x)``, the product of the complex
      model and the simple model's probabilities of single labels;
    * ``combine="scores"``: ``f_complex(x, y) + weight f_simple(x, y)``, transitions included.

    Marginals may be combined on all structures with labels that have sums over outputs. Scores may be combined on all
    structures, where the models have the same one: ``Chain``, ``Multiclass``, ``Graph``, ``SemiMarkov`` of one
    ``max_length``, ``Ranking`` of the same ``position_weights``.

    Both are exact wherever prediction is: the simple model is added to the potentials of the complex one. Whatever the
    complex model's structure forbids stays forbidden.

    Parameters
    ----------
    models : sequence of fitted learners
        The complex model, then one or more simple ones: say ``CRF(Chain())`` and
        ``CRF(Chain(), regularizer=Decomposition(1.5))``, or, for ``"marginals"``, a ``Multiclass`` model of single
        positions. They know the same labels, and each has its own features.
    weight : float or sequence of float, default=1.0
        Of the simple models, >= 0: one for all or one each; 0 is the complex model alone. :meth:`tuned` chooses it.
    combine : {"marginals", "scores"}, default="marginals"

    Examples
    --------
    >>> from palmette import CRF, Chain
    >>> from palmette.regularizers import Decomposition
    >>> X, y = [[["w:to"], ["w:be"]], [["w:be"], ["w:to"]]], [["P", "V"], ["V", "P"]]
    >>> whole = CRF(Chain(), l2=0.1).fit(X, y)
    >>> single = CRF(Chain(), l2=0.1, regularizer=Decomposition(1), tol=0.01).fit(X, y)
    >>> CombinedDecoder([whole, single], weight=0.5).predict([[["w:to"], ["w:be"], ["w:be"]]])
    [['P', 'V', 'V']]
    """

    def __init__(self, models: Any, weight: Any = 1.0, combine: Any = "marginals") -> None:
        self.models = models
        self.weight = weight
        self.combine = combine

    def encode(self, X: Any) -> list[EncodedInputs]:
        """Inputs encoded once, as each model sees them, for any number of calls of ``predict`` and the like.

        A list with what the ``encode`` of each model returned is as good; where all models have the same columns, one
        :class:`~palmette.features.EncodedInputs` serves them all.

        >>> from palmette import CRF, Chain
        >>> X, y = [[["w:to"], ["w:be"]]], [["P", "V"]]
        >>> decoder = CombinedDecoder([CRF(Chain(), l2=l2).fit(X, y) for l2 in (0.1, 1.0)])
        >>> decoder.predict(decoder.encode(X)) == decoder.predict(decoder.models[0].encode(X)) == y
        True
        """
        self._checked()
        return [model.encode(own) for model, own in zip(self.models, self._inputs(X))]

    def predict(self, X: Any) -> Any:
        """Best output of every sample, as the complex model would return it; ``[]`` for an empty sequence."""
        codes, _, offsets = self._answers(X, best_codes)
        return self.models[0]._decode(codes, offsets)

    def predict_marginals(self, X: Any) -> Any:
        """Probability of every label at every position under ``p(y) ~ exp(f_complex + weight ...)``."""
        self._checked()
        require(self.models[0].structure, ("expectation",), user="predict_marginals", remedy="Use predict.")
        return self._by_row(X, marginals)

    def row_scores(self, X: Any) -> Any:
        """Scores that all models together give to the rows of every sample; a ``Ranking`` sorts by them."""
        return self._by_row(X, node_scores)

    def score(self, X: Any, y: Any) -> float:
        """Share of positions with the right label; of a ``Ranking`` the mean NDCG."""
        self._checked()
        model, inputs = self.models[0], self.encode(X)
        y = given_labels(listed(y), model.structure.layout)
        right, total = model.structure.measure(_Answering(self, inputs), inputs[0], y)
        if not total.sum():
            raise ValueError("score needs at least one position: X has none")
        return float(right.sum() / total.sum())

    def tuned(
        self,
        X: Any,
        y: Any,
        weights: Sequence[float] = (0.0, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0),
        scoring: Callable[[Any, Any], float] | None = None,
    ) -> CombinedDecoder:
        """The decoder with the best of these weights on held-out samples; of equally good ones the smallest.

        ``scoring(y_true, y_predicted)`` is better the higher; accuracy by default.
        """
        tried = [CombinedDecoder(self.models, weight, self.combine) for weight in sorted(weights)]
        if not tried:
            raise ValueError("weights is empty: give at least one weight to try")
        X, y = self.encode(X), listed(y)
        return max(tried, key=lambda d: d.score(X, y) if scoring is None else scoring(y, d.predict(X)))

    # -- inside -------------------------------------------------------------------------------------------------

    @property
    def classes_(self) -> np.ndarray:
        """The labels, as the complex model has them."""
        return self.models[0].classes_

    def _by_row(self, X: Any, answer: Answer) -> Any:
        node, offsets, _ = self._answers(X, answer)
        if self.models[0].structure.layout == "items":
            return node
        return [node[a:b] for a, b in zip(offsets[:-1], offsets[1:])]

    def _answers(self, X: Any, answer: Answer) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What answers for all samples, and the offsets of their rows and of their codes."""
        weights = self._checked()
        model, *others = self.models
        own, *inputs = self._inputs(X)
        whole = model._transform(own)
        batch, keep = without_empty(whole)
        make = _log_marginals if self.combine == "marginals" else _scores
        parts = [
            make(other, given, batch, _places(model, other), weight)
            for other, given, weight in zip(others, inputs, weights)
            if weight  # what a simple model forbids is allowed where it has no weight
        ]

        found = model._run(
            batch, np.flatnonzero(keep), _combined, answer,
            own=lambda samples, rows: ([part(samples, rows) for part in parts],),
        )  # fmt: skip
        empty = np.empty((0, len(model.classes_)) if model.structure.labelled else 0)
        offsets = model.structure_.output_offsets(whole)
        return (np.concatenate(found) if found else empty), whole.offsets, offsets

    def _inputs(self, X: Any) -> list[Any]:
        """What each model reads; an iterator, which only one of them could read, becomes a list."""
        if isinstance(X, list | tuple) and any(isinstance(each, EncodedInputs) for each in X):
            if len(X) != len(self.models):
                raise ValueError(
                    f"X is a list of {len(X)} encoded inputs, but there are {len(self.models)} models: one for each"
                )
            return list(X)
        X = listed(X)
        layouts = [model.structure.layout for model in self.models]
        if len(set(layouts)) == 1:
            return [X] * len(layouts)
        positions = _positions(self.models[0].structure.admit(X))
        return [X if layout == layouts[0] else positions for layout in layouts]

    def _checked(self) -> list[float]:
        """The weights of the simple models, once everything has been found to fit together."""
        if not isinstance(self.models, list | tuple) or len(self.models) < 2:
            raise ValueError(
                f"CombinedDecoder needs a complex and at least one simple model, got {self.models!r}"
            )
        if self.combine not in ("marginals", "scores"):
            raise ValueError(f"combine must be 'marginals' or 'scores', got {self.combine!r}")
        for k, model in enumerate(self.models):
            if not isinstance(model, StructuredEstimator) or not hasattr(model, "coef_"):
                raise ValueError(
                    f"models[{k}] must be a fitted learner of palmette, got {model!r}: fit it first"
                )
            self._check_structure(k, model.structure)
        n = len(self.models) - 1
        weights = [self.weight] * n if isinstance(self.weight, Real) else list(self.weight)
        if len(weights) != n:
            raise ValueError(f"weight has {len(weights)} entries, but there are {n} simple models")
        for weight in weights:
            if isinstance(weight, bool) or not isinstance(weight, Real) or not 0.0 <= float(weight) < np.inf:
                raise ValueError(f"weight must be a finite number >= 0, got {weight!r}")
        return [float(weight) for weight in weights]

    def _check_structure(self, k: int, structure: Structure) -> None:
        """Refuse a model whose structure does not go with that of the complex model."""
        first = self.models[0].structure
        if self.combine == "scores":
            if not first.adds(structure):
                raise ValueError(
                    f"models[{k}] has the structure {structure!r}, models[0] {first!r}: their scores have no sum that "
                    "is a score of one structure. Use models of one structure, or combine='marginals'"
                    if structure.can("expectation") and first.labelled
                    else f"models[{k}] has the structure {structure!r}, models[0] {first!r}: their scores have no sum "
                    "that is a score of one structure. Use models of one structure"
                )
        elif not (structure.labelled and structure.can("expectation")):
            raise ValueError(
                f"models[{k}] has the structure {structure!r}, which has no probabilities of labels: use "
                "combine='scores'"
            )
        elif first.layout == "items" != structure.layout:
            raise ValueError(
                f"models[0] has single labels ({type(first).__name__}), and models[{k}] has samples of several "
                "positions: give the model of several positions first"
            )


class _Answering(NamedTuple):
    """A decoder with its inputs, in the place of a model."""

    decoder: CombinedDecoder
    inputs: list[EncodedInputs]

    @property
    def codec_(self) -> Any:
        """Of the complex model."""
        return self.decoder.models[0].codec_

    def encode(self, X: Any) -> EncodedInputs:
        """The inputs of the complex model."""
        return self.inputs[0]

    def predict(self, X: Any) -> Any:
        """Best outputs of the inputs."""
        return self.decoder.predict(self.inputs)

    def row_scores(self, X: Any) -> Any:
        """Scores of rows of the inputs."""
        return self.decoder.row_scores(self.inputs)


def _places(model: Any, other: Any) -> np.ndarray:
    """Code in ``other`` of every label of ``model``."""
    place = {label: code for code, label in enumerate(other.codec_.classes_)}
    missing = [label for label in model.codec_.classes_ if label not in place]
    if missing:
        raise ValueError(
            f"the simple model does not know the label {missing[0]!r}: fit it with the classes of the complex one"
        )
    return np.array([place[label] for label in model.codec_.classes_])


def _combined(structure: Structure, theta: Any, parts: list[Any], answer: Answer) -> np.ndarray:
    """The answer on the potentials of a block and what the simple models add to them."""
    for part in parts:
        theta = theta.plus(part.potentials(theta))
    return answer(structure, theta)


class LogMarginals(NamedTuple):
    """Weighted log-probabilities of the labels at the rows of a block."""

    table: np.ndarray

    def potentials(self, theta: Any) -> Any:
        """What they add to the potentials of the block."""
        return theta.label_cost(self.table)


class OtherScores(NamedTuple):
    """The rows of a block as another model sees them, its weights, and its codes of the labels."""

    batch: Batch
    scorer: Any
    w: np.ndarray
    place: np.ndarray

    def potentials(self, theta: Any) -> Any:
        """What they add to the potentials of the block."""
        return self.scorer.score(self.w, self.batch).relabelled(self.place)


Part = Callable[[slice, slice], LogMarginals | OtherScores]


def _log_marginals(other: Any, X: Any, batch: Batch, place: np.ndarray, weight: float) -> Part:
    """Weighted log-probabilities of the labels at the rows of a block."""
    node = other.predict_marginals(X)
    if other.structure.layout == "sequences":
        node = np.concatenate([np.empty((0, len(other.classes_))), *node])
    if len(node) != batch.n_rows:
        raise ValueError(f"the models see different positions: {batch.n_rows} and {len(node)}")
    table = weight * np.log(np.maximum(node[:, place], _LEAST))
    return lambda _, rows: LogMarginals(table[rows])


def _positions(X: Any) -> Any:
    """The positions of all sequences, or the nodes of all graphs, as one table."""
    if isinstance(X, EncodedInputs):
        return X  # which the model refuses unless it made them
    samples = [getattr(sample, "nodes", sample) for sample in samples_of(X)]
    if samples and all(isinstance(sample, np.ndarray) for sample in samples):
        return np.concatenate(samples)
    if any(hasattr(sample, "tocsr") for sample in samples):
        from scipy import sparse

        tables = [checked_csr(x, f"X[{i}]") if sparse.issparse(x) else x for i, x in enumerate(samples)]
        return sparse.vstack(tables).tocsr()
    return list(chain.from_iterable(samples))


def _scores(other: Any, X: Any, batch: Batch, place: np.ndarray, weight: float) -> Part:
    """Weighted potentials of the other model at the rows of a block."""
    own, _ = without_empty(other._transform(X))
    if not np.array_equal(own.offsets, batch.offsets):
        raise ValueError("the models see different positions; give both the same sequences")
    w = weight * other.coef_  # scores are linear in the weights

    return lambda samples, _: OtherScores(own.slice(samples.start, samples.stop), other.scorer_, w, place)
