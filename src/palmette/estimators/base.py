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

from palmette.data.batch import Batch
from palmette.data.labels import UNKNOWN
from palmette.data.ragged import Ragged, offsets_from_lengths
from palmette.data.sequences import check_same_length
from palmette.estimators.loss_checks import check_task_loss
from palmette.estimators.persistence import PersistenceMixin
from palmette.estimators.progress import progress
from palmette.estimators.pruning import prune
from palmette.estimators.regularisation import (
    check_solver,
    regularizers,
    settle_size,
    solver_for,
    structure_of_pieces,
)
from palmette.estimators.simpler import simplified
from palmette.estimators.strengths import penalties, wanted_tol
from palmette.estimators.training import (
    Encoded,
    admitted_to,
    bound_structure,
    check_outputs,
    checked_weights,
    encode_inputs,
    encode_outputs,
    encode_training,
    given_labels,
    layout_weights,
    positions,
    seed_of,
    telling,
    without_empty,
)
from palmette.executors.threads import ThreadExecutor, n_threads
from palmette.features.encoded import EncodedInputs
from palmette.objectives.risk import ROWS_A_BLOCK, Risk
from palmette.objectives.shards import cut
from palmette.solvers.base import proven
from palmette.solvers.registry import make_solver
from palmette.structures.base import require

_NO_SUMS = "Sums over outputs are needed; predict works without them."


class StructuredEstimator(PersistenceMixin, BaseEstimator):
    """Base of ``CRF``, ``SSVM`` and ``Perceptron``: a learner with a structure as its argument."""

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

        Returns
        -------
        self
        """
        self._check_structure()
        decomposition, groups = regularizers(self)
        started = time.perf_counter()
        data = encode_training(X, y, self.structure, self.classes, sample_weight, **self._encoding())
        self._note_features(X, reset=True)
        scorer = layout_weights(self, data)
        start = self._warm_weights(data, scorer)
        encoded = time.perf_counter()
        decomposition = settle_size(self, decomposition, data)
        penalty = self._regularizer(scorer, data)
        if groups is not None:
            penalty = groups.bind(penalty, scorer, data.encoder)
        simple, weights = simplified(data, scorer)
        structure = simple.structure if decomposition is None else structure_of_pieces(simple.structure)
        with ThreadExecutor(n_threads(self.n_jobs)) as executor, telling(structure) as tally:
            surrogate = self._surrogate(tuple(data.codec.classes_))
            problem = Risk(structure, weights, surrogate, simple.samples, penalty, executor, decomposition)
            check_task_loss(problem)
            with progress(self, lambda w: self._snapshot(data, scorer, w)) as callbacks:
                solver = make_solver(
                    solver_for(self.solver, problem) or self._solver_name(problem), tol=wanted_tol(self),
                    max_iter=self.max_iter, random_state=seed_of(self.random_state), callbacks=callbacks,
                )  # fmt: skip
                check_solver(solver, problem)
                result = proven(self._solve(solver, problem, start), problem)
        if tally is not None:
            result = replace(result, n_unconverged=tally.n_unconverged)
        self._keep(data, scorer, result)
        self.fit_seconds_ = {"encode": encoded - started, "solve": time.perf_counter() - encoded}
        return self

    def _snapshot(self, data: Encoded, scorer: Any, w: np.ndarray) -> Any:
        """This model as it would be with weights ``w``, for callbacks during the fit."""
        model = copy.copy(self)
        model.encoder_, model.codec_, model.scorer_, model.coef_ = data.encoder, data.codec, scorer, w
        model._structure = data.structure
        return model

    def _solve(self, solver: Any, problem: Risk, start: np.ndarray | None) -> Any:
        return solver.solve(problem, w0=start)

    def _keep(self, data: Encoded, scorer: Any, result: Any) -> None:
        self.encoder_, self.codec_, self.scorer_ = data.encoder, data.codec, scorer
        self._structure = data.structure
        self.coef_ = result.w
        self.result_ = result if self.warm_start else replace(result, state=None)
        self.objective_ = result.primal
        self.n_iter_ = result.step.n_iter

    def _regularizer(self, scorer: Any, data: Encoded) -> Any:
        return penalties(self, scorer, data)

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
        every estimator that is fitted on the result has them.
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
        return {"min_count": getattr(self, "min_count", 1), "n_hash": getattr(self, "n_hash", None)}

    # -- prediction ---------------------------------------------------------------------------------------------

    def predict(self, X: Any) -> Any:
        """Highest-scoring output of every sample.

        Returns
        -------
        list of list of labels (``Multiclass``: array of labels; ``SemiMarkov``: as ``fit`` was given); ``[]`` for an
        empty sequence.
        """
        codes, offsets = self._codes(X, lambda theta: self.structure_.best(theta).codes)
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
        node, offsets = self._codes(X, lambda theta: self.structure_.expectation(theta).counts.node)
        if self.structure.layout == "items":
            return node
        return [node[a:b] for a, b in zip(offsets[:-1], offsets[1:])]

    def predict_nbest(self, X: Any, n: int = 10) -> list[list[tuple[Any, float]]]:
        """The n best distinct outputs of every sample with their scores, best first (fewer where fewer exist)."""
        if not isinstance(n, int | np.integer) or n < 1:
            raise ValueError(f"n must be an integer of at least 1, got {n!r}")
        require(self.structure, ("k_best",), user="predict_nbest", remedy="Use predict.")
        batch, keep = without_empty(self._transform(X))
        found = chain.from_iterable(self._map(batch, lambda theta: self.structure_.k_best(theta, int(n))))
        decode = self._decode_item if self.structure.layout == "items" else self.codec_.decode
        return [
            [(decode(codes), value) for codes, value in next(found)] if kept else [([], 0.0)] for kept in keep
        ]

    def decision_function(self, X: Any) -> np.ndarray:
        """Score of the best output of every sample, shape (n_samples,); 0 for an empty sequence."""
        batch, keep = without_empty(self._transform(X))
        out = np.zeros(len(keep))
        found = self._map(batch, lambda theta: self.structure_.best(theta).values)
        out[keep] = np.concatenate(found) if found else []
        return out

    def row_scores(self, X: Any) -> list[np.ndarray]:
        """Scores that features give to the rows of every sample, before any dependence between them.

        Returns
        -------
        list of arrays of shape (n_positions, n_classes); of a ``Ranking`` (n_documents,), by which it sorts.
        """
        node, offsets = self._codes(X, lambda theta: theta.node)
        return [node[a:b] for a, b in zip(offsets[:-1], offsets[1:])]

    def log_proba(self, X: Any, y: Any) -> np.ndarray:
        """Log-probability of given outputs under ``p(y) ~ exp f(x, y)``, shape (n_samples,)."""
        require(self.structure, ("log_proba",), user="log_proba", remedy=_NO_SUMS)
        return self._of_outputs(X, y, lambda theta, codes: self.structure_.log_proba(theta, codes))

    def _of_outputs(self, X: Any, y: Any, answer: Callable[[Any, np.ndarray], np.ndarray]) -> np.ndarray:
        """A number for each sample and its given output, from potentials and codes; 0 for an empty sample."""
        batch, codes, keep = self._with_outputs(X, y)
        out = np.zeros(len(keep))
        found = self._run(
            batch,
            lambda block, rows: answer(self.scorer_.score(self.coef_, block), codes[rows]),
        )
        out[keep] = np.concatenate(found) if found else []
        return out

    def _with_outputs(self, X: Any, y: Any) -> tuple[Batch, np.ndarray, np.ndarray]:
        """The samples that have positions, the codes of all given outputs, and a mask of the samples kept."""
        y = given_labels(y, self.structure.layout)
        whole = self._transform(X)
        check_outputs(whole if self.structure.layout == "items" else positions(whole), y, self.structure)
        codes = encode_outputs(self.codec_, y, whole.offsets, self.structure.layout)
        batch, keep = without_empty(whole)
        return batch, codes, keep

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy over all parts: the share of positions with the right label.

        A true label that the model does not know counts as an error of the model; UNKNOWN positions do not count.
        Of a ``Ranking``: the mean NDCG of the queries (:func:`palmette.metrics.ndcg`).
        """
        if hasattr(self.structure, "measure"):
            values = self.structure.measure(self.row_scores(X), given_labels(y, self.structure.layout))
            return float(np.average(values, weights=checked_weights(sample_weight, len(values))))
        X = self.encode(X)
        predicted = self.predict(X)
        true = given_labels(y, self.structure.layout)
        if hasattr(self.codec_, "positions"):
            check_outputs(predicted, true, self.structure)
            predicted, true = (self.codec_.positions(each, X.lengths.tolist()) for each in (predicted, true))
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
        if isinstance(X, EncodedInputs):
            return X.of(self.encoder_)
        X = admitted_to(self.structure, X)
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
        pieces = _blocks(batch, getattr(self.scorer_, "rows_a_block", ROWS_A_BLOCK))

        def one(piece: tuple[int, int]) -> Any:
            rows = slice(int(batch.offsets[piece[0]]), int(batch.offsets[piece[1]]))
            return function(batch.slice(*piece), rows)

        with telling(self.structure_):
            if len(pieces) < 2:  # one sentence should not wait for threads to be set up
                return [one(piece) for piece in pieces]
            with ThreadExecutor(n_threads(self.n_jobs)) as executor:
                return executor.map(one, pieces)

    def _codes(self, X: Any, answer: Callable[[Any], np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Row-wise answers of all samples, and the offsets of the samples, empty ones included."""
        check_is_fitted(self, "coef_")
        pieces = _pieces(X) if self.encoder_.named and self.structure.layout == "sequences" else [X]
        if len(pieces) < 2:
            return self._piece_codes(X, answer)
        try:  # each thread encodes its own samples: most of that happens in kernels, while another has the interpreter
            with ThreadExecutor(n_threads(self.n_jobs)) as executor, telling(self.structure_):
                found = executor.map(lambda piece: self._piece_codes(piece, answer), pieces)
        except (TypeError, ValueError):
            self._piece_codes(X, answer)  # names the sample by its place in X
            raise
        lengths = np.concatenate([np.diff(offsets) for _, offsets in found])
        return np.concatenate([codes for codes, _ in found if len(codes)]), offsets_from_lengths(lengths)

    def _piece_codes(self, X: Any, answer: Callable[[Any], np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        whole = self._transform(X)
        batch, _ = without_empty(whole)
        found = self._map(batch, answer)
        if not found:
            # One number a document of a ranking, one for each label elsewhere.
            labelled = getattr(self.structure, "labelled", True)
            return np.empty((0, len(self.codec_.classes_)) if labelled else 0), whole.offsets
        return np.concatenate(found), whole.offsets

    def _decode(self, codes: np.ndarray, offsets: np.ndarray) -> Any:
        if self.structure.layout == "items":
            return self.classes_[codes.astype(np.intp)] if len(codes) else self.classes_[:0]
        return self.codec_.decode_sequences(Ragged(codes, offsets))

    def _decode_item(self, codes: np.ndarray) -> Any:
        return self.codec_.decode(codes)[0]

    # -- what was learnt ----------------------------------------------------------------------------------------

    @property
    def structure_(self) -> Any:
        """The structure on the codes of ``classes_``: what its ``allowed`` forbids is known from here on."""
        check_is_fitted(self, "coef_")
        if "_structure" not in vars(self):  # read from a file
            self._structure = bound_structure(self.structure, self.codec_)
        return self._structure

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


def _pieces(X: Any) -> list[Any]:
    """Lists of sequences cut into runs of about as many positions as a block has; anything else stays whole."""
    if not isinstance(X, list) or not set(map(type, X)) <= {list, tuple}:
        return [X]
    offsets = offsets_from_lengths(list(map(len, X)))
    if offsets[-1] < 2 * ROWS_A_BLOCK:
        return [X]
    return [X[a:b] for a, b in cut(offsets, int(offsets[-1]) // ROWS_A_BLOCK)]


def _blocks(batch: Batch, n_rows: int) -> list[tuple[int, int]]:
    if not len(batch):
        return []
    return cut(batch.offsets, max(1, batch.n_rows // min(n_rows, ROWS_A_BLOCK)))
