"""Common base of all learners: encode the data, lay out the weights, solve."""

from __future__ import annotations

import copy
import time
from contextlib import closing
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from palmette.contracts.structure import Structure
from palmette.contracts.training import Encoded
from palmette.errors import MissingCapability
from palmette.estimators.class_weight import check_class_weight, class_weighted
from palmette.estimators.emptiness import tell_empty
from palmette.estimators.guidance import Guidance
from palmette.estimators.kernel_features import Keep
from palmette.estimators.loss_checks import check_task_loss
from palmette.estimators.persistence import PersistenceMixin
from palmette.estimators.prediction import Predictions, one_label
from palmette.estimators.progress import progress, tell_end
from palmette.estimators.pruning import prune
from palmette.estimators.regularizers import (
    check_solver,
    regularizers,
    settle_size,
    solver_for,
    structure_of_pieces,
)
from palmette.estimators.scale_advice import advise_scaling
from palmette.estimators.settings import settings_of
from palmette.estimators.strengths import penalties, wanted_tol
from palmette.estimators.training import completed, encode_inputs, encode_training, layout_weights, seed_of
from palmette.executors.choose import executor_for
from palmette.features.encoded import EncodedInputs
from palmette.objectives.risk import Risk
from palmette.solvers.driver import Driven, outcome
from palmette.solvers.registry import check_name, make_solver


class StructuredEstimator(Guidance, Predictions, PersistenceMixin, BaseEstimator):
    """Base of ``CRF``, ``SSVM`` and ``Perceptron``: a learner with a structure as its argument."""

    _loss_name: str  # which solvers serve it, in solvers.registry
    # What learners without labels say where others have parameters.
    fit_intercept: Any = "auto"
    classes: Any = None
    edge_features: Any = None
    class_weight: Any = None
    _same_samples = False  # whether a warm start is known to see the samples of the last fit
    _takes_groups = False  # whether the loss is smooth, so that a group lasso has a solver

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Learn from inputs ``X`` and outputs ``y``.

        Parameters
        ----------
        X : list of sequences (``Chain``), list of graphs (``Graph``) or one table (``Multiclass``)
            Dicts or string lists, 2-D arrays, or sparse matrices; what :meth:`encode` returned; sentences in columns
            (:class:`palmette.features.ColumnSentences`). An iterator of sequences of dicts or string lists is read
            piece by piece, so that the features need not be in memory at the same time.
        y : list of label sequences (``Chain``) or array of labels (``Multiclass``)
            ``SemiMarkov``: list of lists of segments ``(start, stop, label)``, or of IOB2 labels.
        sample_weight : array of shape (n_samples,), optional

        Ctrl-C leaves the model fitted with the best weights so far (``result_.reason`` is ``"interrupted"``), and then
        raises ``KeyboardInterrupt``.

        Returns
        -------
        self
        """
        self._check_structure()
        decomposition, groups = regularizers(self)
        started = time.perf_counter()
        weight = class_weighted(self, y, sample_weight)
        given = encode_training(X, y, self.structure, self.classes, weight, **self._encoding())
        self._note_features(X, reset=True)
        laid_out, scorer, kept = self._lay_out(given)
        data = completed(laid_out, scorer)
        start = self._warm_weights(data, scorer)
        encoded = time.perf_counter()
        decomposition = settle_size(self, decomposition, given)  # whose copies map rows themselves
        penalty = self._regularizer(scorer, data)
        if groups is not None:
            penalty = groups.bind(penalty, scorer, data.encoder)
        simple, weights = data.structure.simplified(data, scorer)
        structure = simple.structure if decomposition is None else structure_of_pieces(simple.structure)
        surrogate = self._surrogate_for(data)
        with (
            executor_for(self.n_jobs) as executor,
            structure.telling() as tally,
            closing(
                Risk(structure, weights, surrogate, simple.samples, penalty, executor, decomposition)
            ) as problem,
        ):
            check_task_loss(problem)
            with progress(self, lambda w: self._snapshot(given, *kept(w))) as callbacks:
                solver = make_solver(
                    solver_for(self.solver, problem) or self._solver_name(problem), tol=wanted_tol(self),
                    max_iter=self.max_iter, random_state=seed_of(self.random_state), callbacks=callbacks,
                )  # fmt: skip
                check_solver(solver, problem)
                result, stop = outcome(self._solve, solver, problem, start)
        if tally is not None:
            result = replace(result, n_unconverged=tally.n_unconverged)
        found, w = kept(result.w)
        self._keep(given, found, result if w is result.w else replace(result, w=w))
        if laid_out is given:  # the scales of features of a kernel are not the user's
            advise_scaling(data, result)
        tell_empty(self, data, result)
        self.fit_seconds_ = {"encode": encoded - started, "solve": time.perf_counter() - encoded}
        tell_end(self, self.result_, sum(self.fit_seconds_.values()))
        if stop is not None:
            raise stop
        return self

    def _lay_out(self, data: Encoded) -> tuple[Encoded, Any, Keep]:
        """The data that weights are for, their scorer, and how to get from their weights to what the model keeps."""
        scorer = layout_weights(self, data)
        return data, scorer, lambda w: (scorer, w)

    def _surrogate_for(self, data: Encoded) -> Any:
        classes = tuple(data.codec.classes_)
        partial = data.samples.annotation is not None
        return self._partial_surrogate(classes) if partial else self._surrogate(classes)

    def _partial_surrogate(self, classes: tuple[Any, ...]) -> Any:
        """What is minimised where parts of ``y`` are UNKNOWN or OneOf several labels."""
        raise MissingCapability(
            f"y has parts that are UNKNOWN or OneOf several labels, and {type(self).__name__} needs complete outputs: "
            "use CRF, SSVM(loss='bridge') or Perceptron"
        )

    def _snapshot(self, data: Encoded, scorer: Any, w: np.ndarray) -> Any:
        """This model as it would be with weights ``w``, for callbacks during the fit."""
        model = copy.copy(self)
        model.encoder_, model.codec_, model.scorer_, model.coef_ = data.encoder, data.codec, scorer, w
        model._structure = data.structure
        return model

    def _solve(self, solver: Any, problem: Risk, start: np.ndarray | None) -> Any:
        if start is None or not isinstance(solver, Driven):
            return solver.solve(problem, w0=start)
        return solver.solve_warm(problem, start, self.result_.state, same_samples=self._same_samples)

    def _keep(self, data: Encoded, scorer: Any, result: Any) -> None:
        self.encoder_, self.codec_, self.scorer_ = data.encoder, data.codec, scorer
        self._structure = data.structure
        self.coef_ = result.w
        self.annotation_ = data.samples.counts
        self.result_ = result if self.warm_start else replace(result, state=None)
        self.objective_ = result.primal
        self.n_iter_ = result.step.n_iter

    def _regularizer(self, scorer: Any, data: Encoded) -> Any:
        return penalties(self, scorer, data)

    def _check_structure(self) -> None:
        if self.callbacks is not None and not hasattr(self.callbacks, "__iter__"):
            raise TypeError(f"callbacks must be a list of callables, got {self.callbacks!r}")
        if not isinstance(self.structure, Structure):
            raise TypeError(
                f"structure must be an object such as Chain() or Multiclass(), got {self.structure!r}"
            )
        check_class_weight(self)
        check_name(self.solver, type(self).__name__, self._loss_name, self.structure)

    def _warm_weights(self, data: Encoded, scorer: Any) -> np.ndarray | None:
        """Earlier weights in the new layout, matched by feature name and label."""
        if not (self.warm_start and hasattr(self, "coef_")):
            return None
        if data.encoder.kind != self.encoder_.kind:
            raise ValueError(
                f"warm_start: the model was fitted on {self.encoder_.kind} features, now X has {data.encoder.kind} ones"
            )
        same = data.encoder is self.encoder_  # as along a path of penalties
        columns, names = None, None if same else data.encoder.feature_names
        if names is not None:
            place = {name: i for i, name in enumerate(names)}
            columns = np.array([place.get(name, -1) for name in self.encoder_.feature_names or ()], np.int64)
        elif data.encoder.n_columns != self.encoder_.n_columns:
            raise ValueError(
                f"warm_start: the model has {self.encoder_.n_columns} columns, now X has {data.encoder.n_columns}"
            )
        labels = label_map(self.codec_, data.codec)
        return scorer.carry_over(self.scorer_, self.coef_, labels, columns)

    def encode(self, X: Any) -> EncodedInputs:
        """Inputs encoded once, for any number of calls of ``fit``, ``predict`` and the like.

        A fitted model encodes with the columns that it knows. Before ``fit`` the columns are taken from ``X``, and
        every learner that is fitted on the result has them.
        """
        if hasattr(self, "coef_"):
            return EncodedInputs(self._transform(X), self.encoder_)
        self._check_structure()
        return encode_inputs(X, self.structure, **self._encoding())

    def prune(self) -> Any:
        """Drop the features whose weights are all 0, as an L1 penalty leaves them; predictions do not change.

        Returns
        -------
        self
        """
        check_is_fitted(self, "coef_")
        prune(self)
        return self

    def _encoding(self) -> dict[str, Any]:
        encoding = settings_of(self, "encoding")
        return {"min_count": encoding.min_count, "n_hash": encoding.n_hash}

    # -- what was learnt ----------------------------------------------------------------------------------------

    @property
    def transitions_(self) -> Any:
        """Weight of each label (row) being followed by each label (column), shape (n_classes, n_classes).

        Of a ``Graph`` with several types of edges: one such table for each type, as a dict.
        """
        check_is_fitted(self, "coef_")
        table = self.scorer_.edge_table(self.coef_)
        if not len(table):
            raise AttributeError(f"{type(self.structure).__name__} has no transitions")
        return table[0] if len(table) == 1 else dict(zip(self.encoder_.edge_types, table))

    @property
    def intercept_(self) -> np.ndarray:
        """Bias of each label (of a ``Graph`` with types of nodes: a row for each type); zeros without an intercept."""
        check_is_fitted(self, "coef_")
        bias = self.coef_[self.scorer_.blocks["bias"]]
        if len(bias) > self.scorer_.n_labels:
            return bias.reshape(-1, self.scorer_.n_labels).copy()
        return bias.copy() if len(bias) else np.zeros(self.scorer_.n_labels)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "coef_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        tags.input_tags.two_d_array = one_label(self)
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
