"""What all estimators share: encode, lay out, solve, predict."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from ramify.data.batch import Batch
from ramify.data.labels import UNKNOWN
from ramify.data.sequences import check_same_length, listed
from ramify.estimators.persistence import PersistenceMixin
from ramify.estimators.progress import progress
from ramify.estimators.training import (
    Encoded,
    checked_weights,
    encode_outputs,
    encode_training,
    given_labels,
    layout_weights,
    penalties,
    seed_of,
    without_empty,
)
from ramify.executors.threads import ThreadExecutor, n_threads
from ramify.objectives.risk import ROWS_A_BLOCK, Risk, cut
from ramify.solvers.registry import make_solver
from ramify.structures.base import require

_NO_SUMS = "Sums over outputs are needed; predict works without them."


class StructuredEstimator(PersistenceMixin, BaseEstimator):
    """Base of ``CRF``, ``SSVM`` and ``Perceptron``: a learner with a structure as its argument."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Learn from inputs ``X`` and outputs ``y``.

        Parameters
        ----------
        X : list of sequences (``Chain``) or one table (``Multiclass``)
            Dicts or string lists, 2-D arrays, or sparse matrices.
        y : list of label sequences (``Chain``) or array of labels (``Multiclass``)
        sample_weight : array of shape (n_samples,), optional

        Returns
        -------
        self
        """
        self._check_structure()
        started = time.perf_counter()
        X = listed(X)
        data = encode_training(X, y, self.structure, self.classes, sample_weight)
        self._note_features(X, reset=True)
        scorer = layout_weights(self, data)
        start = self._warm_weights(data, scorer)
        encoded = time.perf_counter()
        with ThreadExecutor(n_threads(self.n_jobs)) as executor:
            surrogate = self._surrogate(tuple(data.codec.classes_))
            problem = Risk(
                self.structure, scorer, surrogate, data.samples, self._regularizer(scorer), executor
            )
            with progress(self, lambda w: self._snapshot(data, scorer, w)) as callbacks:
                solver = make_solver(
                    self._solver_name(problem.regularizer), tol=self.tol, max_iter=self.max_iter,
                    random_state=seed_of(self.random_state), callbacks=callbacks,
                )  # fmt: skip
                result = self._solve(solver, problem, start)
        self._keep(data, scorer, result)
        self.fit_seconds_ = {"encode": encoded - started, "solve": time.perf_counter() - encoded}
        return self

    def _snapshot(self, data: Encoded, scorer: Any, w: np.ndarray) -> Any:
        """This model as it would be with weights ``w``, for callbacks during the fit."""
        model = copy.copy(self)
        model.encoder_, model.codec_, model.scorer_, model.coef_ = data.encoder, data.codec, scorer, w
        return model

    def _solve(self, solver: Any, problem: Risk, start: np.ndarray | None) -> Any:
        return solver.solve(problem, w0=start)

    def _keep(self, data: Encoded, scorer: Any, result: Any) -> None:
        self.encoder_, self.codec_, self.scorer_ = data.encoder, data.codec, scorer
        self.coef_ = result.w
        self.result_ = result if self.warm_start else replace(result, state=None)
        self.objective_ = result.primal
        self.n_iter_ = result.step.n_iter

    def _regularizer(self, scorer: Any) -> Any:
        return penalties(self, scorer)

    def _check_structure(self) -> None:
        if self.callbacks is not None and not hasattr(self.callbacks, "__iter__"):
            raise TypeError(f"callbacks must be a list of callables, got {self.callbacks!r}")
        if isinstance(self.structure, type) or not hasattr(self.structure, "best"):
            raise TypeError(
                f"structure must be an object such as Chain() or Multiclass(), got {self.structure!r}"
            )

    def _warm_weights(self, data: Encoded, scorer: Any) -> np.ndarray | None:
        """Earlier weights in the new layout, matched by feature name and label."""
        if not (self.warm_start and hasattr(self, "coef_")):
            return None
        if data.encoder.kind != self.encoder_.kind:
            raise ValueError(
                f"warm_start: the model was fitted on {self.encoder_.kind} features, now X has {data.encoder.kind} ones"
            )
        columns = None
        if data.encoder.kind == "names":
            place = {name: i for i, name in enumerate(data.encoder.feature_names or ())}
            columns = np.array([place.get(name, -1) for name in self.encoder_.feature_names or ()], np.int64)
        elif data.encoder.n_columns != self.encoder_.n_columns:
            raise ValueError(
                f"warm_start: the model has {self.encoder_.n_columns} columns, now X has {data.encoder.n_columns}"
            )
        labels = label_map(self.codec_, data.codec)
        return scorer.carry_over(self.scorer_, self.coef_, labels, columns)

    # -- prediction ---------------------------------------------------------------------------------------------

    def predict(self, X: Any) -> Any:
        """Highest-scoring output of every sample.

        Returns
        -------
        list of list of labels (``Multiclass``: array of labels); ``[]`` for an empty sequence.
        """
        codes, offsets = self._codes(X, lambda theta: self.structure.best(theta).codes)
        return self._decode(codes, offsets)

    def predict_marginals(self, X: Any) -> Any:
        """Probability of every label at every position under ``p(y) ~ exp f(x, y)``.

        For ``CRF`` these are the model's probabilities; ``SSVM`` and ``Perceptron`` scores are not calibrated, so
        take theirs as a ranking of how sure the model is.

        Returns
        -------
        list of arrays of shape (n_positions, n_classes), columns as ``classes_``
        (``Multiclass``: one array of shape (n_samples, n_classes)).
        """
        require(self.structure, ("expectation",), user="predict_marginals", remedy=_NO_SUMS)
        node, offsets = self._codes(X, lambda theta: self.structure.expectation(theta).counts.node)
        if self.structure.layout == "items":
            return node
        return [node[a:b] for a, b in zip(offsets[:-1], offsets[1:])]

    def predict_nbest(self, X: Any, n: int = 10) -> list[list[tuple[Any, float]]]:
        """The n best distinct outputs of every sample with their scores, best first (fewer where fewer exist)."""
        if not isinstance(n, int | np.integer) or n < 1:
            raise ValueError(f"n must be an integer of at least 1, got {n!r}")
        require(self.structure, ("k_best",), user="predict_nbest", remedy="Use predict.")
        batch, keep = without_empty(self._transform(X))
        found = chain.from_iterable(self._map(batch, lambda theta: self.structure.k_best(theta, int(n))))
        decode = self._decode_item if self.structure.layout == "items" else self.codec_.decode
        return [
            [(decode(codes), value) for codes, value in next(found)] if kept else [([], 0.0)] for kept in keep
        ]

    def decision_function(self, X: Any) -> np.ndarray:
        """Score of the best output of every sample, shape (n_samples,); 0 for an empty sequence."""
        batch, keep = without_empty(self._transform(X))
        out = np.zeros(len(keep))
        found = self._map(batch, lambda theta: self.structure.best(theta).values)
        out[keep] = np.concatenate(found) if found else []
        return out

    def log_proba(self, X: Any, y: Any) -> np.ndarray:
        """Log-probability of given outputs under ``p(y) ~ exp f(x, y)``, shape (n_samples,)."""
        require(self.structure, ("log_proba",), user="log_proba", remedy=_NO_SUMS)
        X, y = listed(X), given_labels(y, self.structure.layout)
        whole = self._transform(X)
        check_same_length(whole if self.structure.layout == "items" else X, y, self.structure.layout)
        codes = encode_outputs(self.codec_, y, whole.offsets, self.structure.layout)
        batch, keep = without_empty(whole)
        out = np.zeros(len(keep))
        found = self._run(
            batch,
            lambda block, rows: self.structure.log_proba(self.scorer_.score(self.coef_, block), codes[rows]),
        )
        out[keep] = np.concatenate(found) if found else []
        return out

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy over all parts: the share of positions with the right label.

        A true label that the model does not know counts as an error of the model; UNKNOWN positions do not count.
        """
        predicted = self.predict(X)
        true = given_labels(y, self.structure.layout)
        if self.structure.layout == "items":
            predicted, true = [[label] for label in predicted.tolist()], [[label] for label in true]
        check_same_length(predicted, true)
        right = np.array([sum(p == t for p, t in zip(ps, ts)) for ps, ts in zip(predicted, true)], float)
        total = np.array([sum(label is not UNKNOWN for label in labels) for labels in true], float)
        weight = checked_weights(sample_weight, len(right))
        if not total @ weight:
            raise ValueError("score needs at least one position: X has no positions with a positive weight")
        return float(right @ weight / (total @ weight))

    # -- inside -------------------------------------------------------------------------------------------------

    def _transform(self, X: Any) -> Batch:
        check_is_fitted(self, "coef_")
        X = listed(X)
        batch = self.encoder_.transform(X, allow_empty=True)
        self._note_features(X, reset=False)
        return batch

    def _note_features(self, X: Any, reset: bool) -> None:
        """scikit-learn's record of the number and names of columns, for tables."""
        if reset:
            for name in ("n_features_in_", "feature_names_in_"):
                self.__dict__.pop(name, None)
        if self.structure.layout == "items" and hasattr(X, "shape"):
            validate_data(self, X, reset=reset, skip_check_array=True)

    def _map(self, batch: Batch, answer: Callable[[Any], Any]) -> list[Any]:
        """Answers of the structure for blocks of samples, in order."""
        return self._run(batch, lambda block, _: answer(self.scorer_.score(self.coef_, block)))

    def _run(self, batch: Batch, function: Callable[[Batch, slice], Any]) -> list[Any]:
        """``function`` of every block of samples and of its rows, in order, on all threads."""
        pieces = _blocks(batch)

        def one(piece: tuple[int, int]) -> Any:
            rows = slice(int(batch.offsets[piece[0]]), int(batch.offsets[piece[1]]))
            return function(batch.slice(*piece), rows)

        if len(pieces) < 2:  # one sentence should not wait for threads to be set up
            return [one(piece) for piece in pieces]
        with ThreadExecutor(n_threads(self.n_jobs)) as executor:
            return executor.map(one, pieces)

    def _codes(self, X: Any, answer: Callable[[Any], np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Row-wise answers of all samples, and the offsets of the samples, empty ones included."""
        whole = self._transform(X)
        batch, _ = without_empty(whole)
        found = self._map(batch, answer)
        if not found:
            return np.empty((0, len(self.codec_.classes_))), whole.offsets
        return np.concatenate(found), whole.offsets

    def _decode(self, codes: np.ndarray, offsets: np.ndarray) -> Any:
        if self.structure.layout == "items":
            return self.classes_[codes.astype(np.intp)] if len(codes) else self.classes_[:0]
        labels = self.codec_.decode(codes) if len(codes) else []
        return [labels[a:b] for a, b in zip(offsets[:-1], offsets[1:])]

    def _decode_item(self, codes: np.ndarray) -> Any:
        return self.codec_.decode(codes)[0]

    # -- what was learnt ----------------------------------------------------------------------------------------

    @property
    def classes_(self) -> np.ndarray:
        """The labels, in the order of codes and of marginal columns."""
        labels = self.codec_.classes_
        if len({type(c) for c in labels}) == 1 and isinstance(labels[0], str | int | float | bool):
            return np.array(labels)
        out = np.empty(len(labels), dtype=object)
        out[:] = labels
        return out

    @property
    def transitions_(self) -> np.ndarray:
        """Weight of each label (row) being followed by each label (column), shape (n_classes, n_classes)."""
        check_is_fitted(self, "coef_")
        table = self.scorer_.edge_table(self.coef_)
        if not len(table):
            raise AttributeError(f"{type(self.structure).__name__} has no transitions")
        return table[0]

    @property
    def intercept_(self) -> np.ndarray:
        """Bias of each label; zeros without an intercept."""
        check_is_fitted(self, "coef_")
        bias = self.coef_[self.scorer_.blocks["bias"]]
        return bias.copy() if len(bias) else np.zeros(self.scorer_.n_labels)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        tags.input_tags.two_d_array = getattr(self.structure, "layout", None) == "items"
        if tags.input_tags.two_d_array:
            from sklearn.utils import ClassifierTags

            tags.estimator_type = "classifier"
            tags.classifier_tags = ClassifierTags()
        return tags


def label_map(old: Any, new: Any) -> np.ndarray:
    """Code in ``new`` of every label of ``old``; all must be there."""
    missing = [c for c in old.classes_ if c not in new.classes_]
    if missing:
        raise ValueError(f"the model knows the label {missing[0]!r}, the new data does not: pass classes=...")
    place = {c: i for i, c in enumerate(new.classes_)}
    return np.array([place[c] for c in old.classes_], np.int64)


def _blocks(batch: Batch) -> list[tuple[int, int]]:
    if not len(batch):
        return []
    return cut(batch.offsets, max(1, batch.n_rows // ROWS_A_BLOCK))
