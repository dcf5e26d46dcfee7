"""Explanation of a prediction: the difference of two scores, term by term."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from palmette.data.batch import Batch, SparseRows
from palmette.data.labels import UNKNOWN_CODE
from palmette.errors import InfeasibleError, MissingCapability
from palmette.estimators import CRF
from palmette.features.encoded import EncodedInputs
from palmette.inspection.contests import Contest, Explanation, Term
from palmette.inspection.weights import NamedWeights

NO_LABEL = -1  # the code of a true label that the model does not know, so that no output has it


def explain(model: Any, x: Any, *, against: Any = None, truth: Sequence[Any] | None = None) -> Explanation:
    """Say which features, biases and transitions made the predicted labels of one sample win.

    At each position the predicted output ``y`` meets the best output ``y'`` with another label there. Scores
    are linear in the weights, so their difference is a sum of terms::

        f(x, y) - f(x, y') = sum_t sum_a x_ta (w[a, y_t] - w[a, y'_t])          features and bias
                           + sum_t v[y_t, y_(t+1)] - v[y'_t, y'_(t+1)]          transitions

    in which all that both outputs share cancels. Edge features and label triples give further terms, where the model
    has them.

    Parameters
    ----------
    model : CRF, SSVM or Perceptron
        Fitted, on ``Chain`` or ``Multiclass``.
    x : one sequence (``Chain``), one row (``Multiclass``), or what ``model.encode`` makes of one of them
    against : label, optional
        Compare with this label instead of the runner-up. Positions that have it are compared with their
        runner-up.
    truth : sequence of labels, optional
        Compare with the true label where the predicted one is wrong; elsewhere with the runner-up.

    Returns
    -------
    Explanation

    Examples
    --------
    >>> from palmette import CRF, Chain
    >>> X, Y = [[["the"], ["dog"], ["barks"]], [["a"], ["cat"]]], [["D", "N", "V"], ["D", "N"]]
    >>> model = CRF(Chain(), l2=0.1).fit(X, Y)
    >>> why = explain(model, [["the"], ["cat"]])
    >>> contest = why.contests[1]
    >>> contest.label, contest.rival, [term.kind for term in contest.terms]
    ('N', 'V', ['transition', 'feature', 'feature'])
    >>> bool(np.isclose(contest.margin, sum(term.contribution for term in contest.terms)))
    True
    """
    return Explainer(model).explain(x, against=against, truth=truth)


class Explainer:
    """Explains samples of one model; the weights are looked up once.

    Parameters
    ----------
    model : CRF, SSVM or Perceptron
        Fitted.

    Examples
    --------
    >>> from palmette import Chain, Perceptron
    >>> model = Perceptron(Chain()).fit([[["cold"], ["hot"]]], [["out", "in"]])
    >>> explainer = Explainer(model)
    >>> [term.name for term in explainer.compare([["cold"]], ["out"], ["in"])]
    ['cold']
    """

    def __init__(self, model: Any) -> None:
        if not model.structure.labelled:
            raise MissingCapability(
                f"explanations compare labels, and {type(model.structure).__name__} has none: the terms of a "
                "document's score are its features times coef_"
            )
        self.model = model
        self.weights = NamedWeights(model)
        self._codes = {label: code for code, label in enumerate(self.weights.labels)}

    def explain(self, x: Any, *, against: Any = None, truth: Sequence[Any] | None = None) -> Explanation:
        """As :func:`explain`."""
        if against is not None and truth is not None:
            raise ValueError("against= and truth= exclude each other; give one of them")
        batch = self._batch(x)
        wanted = self._wanted(against, truth, batch.n_rows)
        if not batch.n_rows:
            return Explanation([], 0.0, 0.0, isinstance(self.model, CRF), ())
        theta = self._score(batch)
        structure = self.model.structure_
        best, sums = structure.best(theta), structure.expectation(theta)
        codes, score, marginals = best.codes, float(best.values[0]), sums.counts.node
        rows = _rows(batch)
        contests = []
        for t, code in enumerate(codes):
            rival = self._rival(theta, t, code, wanted[t])
            if rival is None:
                contests.append(
                    Contest(t, self._label(code), None, [], float("inf"), (), float(marginals[t, code]), 0.0)
                )
                continue
            margin = score - float(structure.score(theta, rival)[0])
            contests.append(
                Contest(
                    t, self._label(code), self._label(rival[t]), self.model.codec_.decode(rival), margin,
                    self._ranked(rows, codes, rival), float(marginals[t, code]), float(marginals[t, rival[t]]),
                )
            )  # fmt: skip
        labels = self.model.codec_.decode(codes)
        log_probability = score - float(sums.log_z[0])
        return Explanation(labels, score, log_probability, isinstance(self.model, CRF), tuple(contests))

    def compare(self, x: Any, labels: Sequence[Any], rival: Sequence[Any]) -> tuple[Term, ...]:
        """Terms of ``f(x, labels) - f(x, rival)``, strongest first."""
        batch = self._batch(x)
        pair = [np.array([self._code(label) for label in output], np.int32) for output in (labels, rival)]
        for name, codes in zip(("labels", "rival"), pair):
            if len(codes) != batch.n_rows:
                raise ValueError(
                    f"{name} has {len(codes)} labels, x has {batch.n_rows} positions; give one each"
                )
        return self._ranked(_rows(batch), *pair)

    # -- inside -------------------------------------------------------------------------------------------------

    def _batch(self, x: Any) -> Batch:
        return (x if isinstance(x, EncodedInputs) else self.model.encode([x])).of(self.model.encoder_)

    def _score(self, batch: Batch) -> Any:
        return self.model.scorer_.score(self.model.coef_, batch)

    def _label(self, code: int) -> Any:
        return self.weights.labels[code]

    def _code(self, label: Any) -> int:
        if label not in self._codes:
            known = ", ".join(map(str, self.weights.labels[:20]))
            raise ValueError(f"the model has no label {label!r}; it has {known}")
        return self._codes[label]

    def _wanted(self, against: Any, truth: Sequence[Any] | None, n_rows: int) -> list[int | None]:
        """For each position the code of the rival that was asked for, if any."""
        if truth is None:
            return [None if against is None else self._code(against)] * n_rows
        if len(truth) != n_rows:
            raise ValueError(f"truth has {len(truth)} labels, x has {n_rows} positions; give one each")
        return [self._codes.get(label, NO_LABEL) for label in truth]

    def _rival(self, theta: Any, t: int, code: int, wanted: int | None) -> np.ndarray | None:
        """Codes of the best output with another label at `t`, or with the wanted one; None if there is none."""
        if wanted == NO_LABEL:
            return None
        structure, annotation = self.model.structure_, np.full(len(theta.node), UNKNOWN_CODE)
        other = wanted is None or wanted == code
        annotation[t] = code if other else wanted
        restricted = structure.contradicting if other else structure.agreeing
        try:
            return structure.best(theta, within=restricted(theta, annotation)).codes
        except InfeasibleError:
            return None

    def _ranked(self, rows: csr_array, codes: np.ndarray, rival: np.ndarray) -> tuple[Term, ...]:
        terms = [term for term in self._terms(rows, codes, rival) if term.contribution]
        return tuple(sorted(terms, key=lambda term: -abs(term.contribution)))

    def _terms(self, rows: csr_array, codes: np.ndarray, rival: np.ndarray) -> Iterator[Term]:
        """Terms at positions, then those of label pairs, then those of triples."""
        weights, labels = self.weights, self.weights.labels
        for t in np.flatnonzero(codes != rival).tolist():
            mine, its = codes[t], rival[t]
            own, other = (labels[mine],), (labels[its],)
            for name, value, w, v in self._of_features(weights.features, rows, t, mine, its):
                yield Term("feature", t, name, own, other, value, w, v)
            yield Term("bias", t, "", own, other, 1.0, float(weights.bias[mine]), float(weights.bias[its]))
        if len(weights.transitions):
            for t, ours, theirs in _tuples(codes, rival, 2):
                own, other = self._labels(ours), self._labels(theirs)
                w, v = weights.transitions[ours], weights.transitions[theirs]
                yield Term("transition", t, "", own, other, 1.0, float(w), float(v))
                if weights.edge_features is not None:
                    pair = (left * len(labels) + right for left, right in (ours, theirs))
                    for name, value, w, v in self._of_features(weights.edge_features, rows, t, *pair):
                        yield Term("edge feature", t, name, own, other, value, w, v)
        if weights.triples is not None:
            for t, ours, theirs in _tuples(codes, rival, 3):
                w, v = weights.triples[ours], weights.triples[theirs]
                yield Term(
                    "transition", t, "", self._labels(ours), self._labels(theirs), 1.0, float(w), float(v)
                )

    def _labels(self, codes: tuple[int, ...]) -> tuple[Any, ...]:
        return tuple(map(self._label, codes))

    def _of_features(
        self, table: csr_array, rows: csr_array, t: int, own: int, other: int
    ) -> Iterator[tuple[str, float, float, float]]:
        """Name, value and the two weights of every feature of a row."""
        here = slice(rows.indptr[t], rows.indptr[t + 1])
        columns = rows.indices[here]
        both = table[columns][:, [own, other]].toarray()
        for column, value, (w, v) in zip(columns, rows.data[here], both):
            if w != v:
                yield self.weights.name(int(column)), float(value), float(w), float(v)


def _tuples(
    codes: np.ndarray, rival: np.ndarray, n: int
) -> Iterator[tuple[int, tuple[Any, ...], tuple[Any, ...]]]:
    """Right end and both codes of all `n` neighbours whose codes differ in the two outputs."""
    for t in range(n - 1, len(codes)):
        ours, theirs = (tuple(output[t - n + 1 : t + 1].tolist()) for output in (codes, rival))
        if ours != theirs:
            yield t, ours, theirs


def _rows(batch: Batch) -> csr_array:
    """Feature rows as one matrix, equal columns of a row added."""
    rows = batch.rows
    if not isinstance(rows, SparseRows):
        return csr_array(rows)
    start, stop = rows.indptr[0], rows.indptr[-1]
    values = rows.values[start:stop] if len(rows.values) else np.ones(stop - start)
    matrix = csr_array((values, rows.indices[start:stop], rows.indptr - start), shape=rows.shape)
    matrix.sum_duplicates()
    return matrix
