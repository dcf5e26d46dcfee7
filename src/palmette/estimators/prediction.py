"""What a fitted model answers: best outputs, probabilities, scores; block by block, on all threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from palmette.contracts.structure import Structure, require
from palmette.data.batch import Batch
from palmette.data.outputs import Outputs
from palmette.data.ragged import Ragged, offsets_from_lengths
from palmette.estimators.blocks import (
    Answer,
    Own,
    Scored,
    answer_block,
    answer_piece,
    best_codes,
    best_values,
    blocks_of,
    k_best,
    log_proba,
    marginals,
    node_scores,
    with_codes,
)
from palmette.estimators.restricted import best_within
from palmette.estimators.training import (
    bound_structure,
    check_outputs,
    checked_weights,
    encode_outputs,
    given_labels,
    positions,
    without_empty,
)
from palmette.executors.choose import executor_for
from palmette.executors.shards import cut
from palmette.executors.telling import run_telling
from palmette.features.encoded import EncodedInputs
from palmette.objectives.risk import ROWS_A_BLOCK

_NO_SUMS = "Sums over outputs are needed; predict works without them."


def one_label(estimator: Any) -> bool:
    """Whether an output is one label, as for scikit-learn's classifiers."""
    return isinstance(estimator.structure, Structure) and estimator.structure.layout == "items"


class Predictions:
    """The answers of a fitted learner; what it learnt is brought by :class:`StructuredEstimator`."""

    structure: Structure
    n_jobs: Any
    encode: Callable[[Any], EncodedInputs]
    encoder_: Any
    codec_: Any
    scorer_: Any
    coef_: np.ndarray

    def predict(self, X: Any, within: Any = None) -> Any:
        """Highest-scoring output of every sample, of all outputs or of those that are allowed.

        Parameters
        ----------
        X : inputs as for ``fit``
        within : optional
            What an output may be:

            * a list of allowed outputs, such as a word list: ``argmax_{y in within} f(x, y)`` over those whose length
              fits, found by scoring each of them. A string stands for its characters. Outputs with labels that the
              model does not know are passed over. ``Multiclass``: a list of labels, all of them known;
              ``Ranking``: orders, as ``predict`` returns them. Ties go to the lowest codes.
            * a list with one :class:`~palmette.structures.Restriction` (or None) per sample;
            * one :class:`~palmette.structures.Restriction` of the rows of all samples, one sample after the other
              (``SegmentRestriction`` of a ``SemiMarkov``, ``RankingRestriction`` of a ``Ranking``). The samples are
              then answered together, all in memory at once.

            A sample without any allowed output is an :class:`~palmette.errors.InfeasibleError`. Empty sequences have
            one output and are not restricted.

        Returns
        -------
        list of list of labels (``Multiclass``: array of labels; ``SemiMarkov``: as ``fit`` was given); ``[]`` for an
        empty sequence. The list is an :class:`~palmette.data.Outputs`, which ``cross_val_predict`` can put together.

        Examples
        --------
        >>> from palmette import CRF, Chain
        >>> X, y = [[["loop"], ["hook"]], [["bar"], ["loop"]]], [["a", "n"], ["t", "a"]]
        >>> model = CRF(Chain(), l2=0.1).fit(X, y)
        >>> model.predict([[["bar"], ["loop"]]]), model.predict([[["bar"], ["loop"]]], within=["an", "at", "tan"])
        ([['t', 'a']], [['a', 'n']])
        """
        if within is None:
            codes, offsets = self._codes(X, best_codes)
        else:
            codes, offsets = best_within(self, X, within)
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
        require(self.structure, ("expectation", "marginals"), user="predict_marginals", remedy=_NO_SUMS)
        node, offsets = self._by_row(X, marginals)
        if self.structure.layout == "items":
            return node
        return [node[a:b] for a, b in zip(offsets[:-1], offsets[1:])]

    def predict_nbest(self, X: Any, n: int = 10) -> list[list[tuple[Any, float]]]:
        """The n best distinct outputs of every sample with their scores, best first (fewer where fewer exist)."""
        if not isinstance(n, int | np.integer) or n < 1:
            raise ValueError(f"n must be an integer of at least 1, got {n!r}")
        require(self.structure, ("k_best",), user="predict_nbest", remedy="Use predict.")
        batch, keep = without_empty(self._transform(X))
        found = chain.from_iterable(self._run(batch, np.flatnonzero(keep), k_best, int(n)))
        decode = self._decode_item if self.structure.layout == "items" else self.codec_.decode
        return [
            [(decode(codes), value) for codes, value in next(found)] if kept else [([], 0.0)] for kept in keep
        ]

    @available_if(one_label)
    def decision_function(self, X: Any) -> np.ndarray:
        """Scores ``f_k(x)`` of the classes, of ``Multiclass`` models only; the highest one is predicted.

        Of other structures :meth:`predict_score` is the score of the best output.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), columns as ``classes_``
            Of two classes ``f_1(x) - f_0(x)``, shape (n_samples,): positive where ``classes_[1]`` is predicted.

        Examples
        --------
        >>> from palmette import SSVM, Multiclass
        >>> model = SSVM(Multiclass(), C=10.0).fit([[-1.0], [1.0]], ["left", "right"])
        >>> model.decision_function([[-1.0], [3.0]]).round(2)
        array([-1.,  3.])
        """
        scores, _ = self._by_row(X, node_scores)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict_score(self, X: Any) -> np.ndarray:
        """Score ``max_y f(x, y)`` of the best output of every sample, shape (n_samples,); 0 for an empty sequence."""
        batch, keep = without_empty(self._transform(X))
        out = np.zeros(len(keep))
        found = self._run(batch, np.flatnonzero(keep), best_values)
        out[keep] = np.concatenate(found) if found else []
        return out

    def row_scores(self, X: Any) -> list[np.ndarray]:
        """Scores that features give to the rows of every sample, before any dependence between them.

        Returns
        -------
        list of arrays of shape (n_positions, n_classes); of a ``Ranking`` (n_documents,), by which it sorts.
        """
        node, offsets = self._by_row(X, node_scores)
        return [node[a:b] for a, b in zip(offsets[:-1], offsets[1:])]

    def log_proba(self, X: Any, y: Any) -> np.ndarray:
        """Log-probability of given outputs under ``p(y) ~ exp f(x, y)``, shape (n_samples,)."""
        require(self.structure, ("log_proba",), user="log_proba", remedy=_NO_SUMS)
        return self._of_outputs(X, y, log_proba)

    def _of_outputs(self, X: Any, y: Any, answer: Answer, *arguments: Any) -> np.ndarray:
        """``answer(structure, theta, codes, *arguments)`` of given outputs, a number per sample; 0 for an empty one."""
        batch, codes, keep = self._with_outputs(X, y)
        out = np.zeros(len(keep))
        own = with_codes(self.structure_, batch, codes)
        found = self._run(batch, np.flatnonzero(keep), answer, *arguments, own=own)
        out[keep] = np.concatenate(found) if found else []
        return out

    def _with_outputs(self, X: Any, y: Any) -> tuple[Batch, np.ndarray, np.ndarray]:
        """The samples that have positions, the codes of all given outputs, and a mask of the samples kept."""
        y = given_labels(y, self.structure.layout)
        whole = self._transform(X)
        check_outputs(whole if self.structure.layout == "items" else positions(whole), y, self.structure)
        y = self.structure.admit_outputs(y, whole)
        codes = encode_outputs(self.codec_, y, self.structure_.output_offsets(whole), self.structure.layout)
        batch, keep = without_empty(whole)
        return batch, codes, keep

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy over all parts: the share of positions with the right label.

        A true label that the model does not know counts as an error of the model; UNKNOWN positions do not count.
        Of a ``Ranking``: the mean NDCG of the queries (:func:`palmette.metrics.ndcg`).
        """
        right, total = self.structure.measure(self, X, given_labels(y, self.structure.layout))
        weight = checked_weights(sample_weight, len(right))
        if not total @ weight:
            raise ValueError(
                "score needs at least one position: no sample of positive weight has a position whose label is known"
            )
        return float(right @ weight / (total @ weight))

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

    # -- inside -------------------------------------------------------------------------------------------------

    def _transform(self, X: Any) -> Batch:
        check_is_fitted(self, "coef_")
        if isinstance(X, EncodedInputs):
            return X.of(self.encoder_)
        X = self.structure.admit(X)
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

    @property
    def _scored(self) -> Scored:
        return Scored(self.scorer_, self.coef_)

    def _run(
        self, batch: Batch, places: np.ndarray, answer: Answer, *arguments: Any, own: Own | None = None
    ) -> list[Any]:
        """``answer(structure, theta, *own(samples, rows), *arguments)`` of every block of samples, in order.

        ``places`` are the numbers of the samples in X, for messages.
        """
        blocks = blocks_of(self._scored, batch, places, own)
        if len(blocks) < 2:  # one sentence should not wait for threads to be set up
            with self.structure_.telling():
                broadcast = self.structure_, self._scored, answer, *arguments
                return [answer_block(block, {}, *broadcast) for block in blocks]
        scored = self._scored.for_many_rows(batch.n_rows)
        return self._placed_run(blocks, answer_block, scored, answer, *arguments)

    def _placed_run(self, shards: Sequence[Any], function: Answer, *broadcast: Any) -> list[Any]:
        with executor_for(self.n_jobs) as executor, self.structure_.telling():
            placed = executor.place(shards)
            try:
                return run_telling(executor, function, placed, self.structure_, *broadcast)
            finally:
                executor.release(placed)

    def _codes(self, X: Any, answer: Answer, *arguments: Any) -> tuple[np.ndarray, np.ndarray]:
        """Codes that answer for all samples, and where those of each sample stand, empty ones included."""
        codes, _, offsets = self._answers(X, answer, *arguments)
        return codes, offsets

    def _by_row(self, X: Any, answer: Answer, *arguments: Any) -> tuple[np.ndarray, np.ndarray]:
        """Answers for the rows of all samples, and where those of each sample stand, empty ones included."""
        answers, offsets, *_ = self._answers(X, answer, *arguments)
        return answers, offsets

    def _answers(self, X: Any, answer: Answer, *arguments: Any) -> tuple[np.ndarray, ...]:
        """What answers for all samples, and the offsets of their rows and of their codes."""
        check_is_fitted(self, "coef_")
        pieces = _pieces(X) if self.encoder_.named and self.structure.layout == "sequences" else [X]
        if len(pieces) < 2:
            found, *offsets = self._whole_answers(X, answer, *arguments)
        else:
            n_rows = sum(map(len, chain.from_iterable(pieces)))
            broadcast = self.encoder_, self._scored.for_many_rows(n_rows), answer, *arguments
            try:  # samples are encoded where they are: most of that happens in kernels
                parts = self._placed_run(pieces, answer_piece, *broadcast)
            except (TypeError, ValueError):
                self._whole_answers(X, answer, *arguments)  # names the sample by its place in X
                raise
            answers, *lengths = zip(*parts)
            found = list(chain.from_iterable(answers))
            offsets = [offsets_from_lengths(np.concatenate(each)) for each in lengths]
        if not found:
            # One number per document of a ranking, one for each label elsewhere.
            return np.empty((0, len(self.codec_.classes_)) if self.structure.labelled else 0), *offsets
        return np.concatenate(found), *offsets

    def _whole_answers(
        self, X: Any, answer: Answer, *arguments: Any
    ) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
        whole = self._transform(X)
        batch, keep = without_empty(whole)
        found = self._run(batch, np.flatnonzero(keep), answer, *arguments)
        return found, whole.offsets, self.structure_.output_offsets(whole)

    def _decode(self, codes: np.ndarray, offsets: np.ndarray) -> Any:
        if self.structure.layout == "items":
            return self.classes_[codes.astype(np.intp)] if len(codes) else self.classes_[:0]
        return Outputs(self.codec_.decode_sequences(Ragged(codes, offsets)))

    def _decode_item(self, codes: np.ndarray) -> Any:
        return self.codec_.decode(codes)[0]


def _pieces(X: Any) -> list[Any]:
    """Lists of sequences cut into runs of about as many positions as a block has; anything else stays whole."""
    if not isinstance(X, list) or not set(map(type, X)) <= {list, tuple}:
        return [X]
    offsets = offsets_from_lengths(list(map(len, X)))
    if offsets[-1] < 2 * ROWS_A_BLOCK:
        return [X]
    return [X[a:b] for a, b in cut(offsets, int(offsets[-1]) // ROWS_A_BLOCK)]
