"""Explanation of a prediction: the difference of two scores, term by term."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from palmette.contracts.structure import can
from palmette.data.annotation import UNKNOWN_CODE
from palmette.data.batch import Batch
from palmette.errors import InfeasibleError, MissingCapability
from palmette.estimators import CRF
from palmette.features.encoded import EncodedInputs
from palmette.inspection.contests import Contest, Explanation, Term

NO_LABEL = -2  # the code of a true label that the model does not know, so that no output has it


def explain(model: Any, x: Any, *, against: Any = None, truth: Sequence[Any] | None = None) -> Explanation:
    """Say which features, biases and transitions made the predicted labels of one sample win.

    At each position the predicted output ``y`` meets the best output ``y'`` with another label there. Scores
    are linear in the weights, so their difference is a sum of terms::

        f(x, y) - f(x, y') = sum_t sum_a x_ta (w[a, y_t] - w[a, y'_t])          features and bias
                           + sum_t v[y_t, y_(t+1)] - v[y'_t, y'_(t+1)]          transitions

    in which all that both outputs share cancels. Edge features, label triples, segments and factors give further terms,
    where the model has them. Of a ``SemiMarkov`` there is one comparison per predicted segment, with the best output
    that differs within its positions.

    Parameters
    ----------
    model : CRF, SSVM or Perceptron
        Fitted, on ``Chain``, ``Multiclass``, ``Graph`` or ``SemiMarkov``.
    x : one sequence, one row (``Multiclass``), one graph, or what ``model.encode`` makes of one of them
    against : label, optional
        Compare with this label instead of the runner-up. Positions that have it are compared with their
        runner-up. Of segments: with the best output in which a segment of this label begins there.
    truth : sequence of labels, optional
        The true output, as for ``fit``.
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
    """Explains samples of one model; names of features and labels are looked up once.

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
        check_is_fitted(model, "coef_")
        if not model.structure.labelled:
            raise MissingCapability(
                f"explanations compare labels, and {type(model.structure).__name__} has none: the terms of a "
                "document's score are its features times coef_"
            )
        if not can(model.scorer_, "parts"):
            raise MissingCapability(
                f"explanations are sums over features, and the scores of {type(model.scorer_).__name__} are not: fit "
                "with kernel=None"
            )
        self.model = model
        self.labels: tuple[Any, ...] = tuple(model.codec_.classes_)
        self._codes = {label: code for code, label in enumerate(self.labels)}

    def explain(self, x: Any, *, against: Any = None, truth: Sequence[Any] | None = None) -> Explanation:
        """As :func:`explain`."""
        if against is not None and truth is not None:
            raise ValueError("against= and truth= exclude each other; give one of them")
        batch = self._batch(x)
        wanted = self._wanted(against, truth, batch.n_rows)
        if not batch.n_rows:
            return Explanation([], 0.0, 0.0, isinstance(self.model, CRF), ())
        model = self.model
        theta, structure = model.scorer_.score(model.coef_, batch), model.structure_
        with structure.telling():
            best, sums = structure.best(theta), structure.expectation(theta)
            codes, score = best.codes, float(best.values[0])
            contests = []
            for rows, name in structure.units(codes, self.labels):
                rival = self._rival(theta, rows, codes, wanted, against is not None)
                chance = self._probability(theta, sums, rows, codes)
                if rival is None:
                    contests.append(Contest(rows.start, name, None, [], float("inf"), (), chance, 0.0))
                    continue
                units = structure.units(rival, self.labels)
                there = (n for own, n in units if own.start <= rows.start < own.stop)
                other = next(there, self.model.codec_.decode(rival))  # which may have nothing there
                contests.append(
                    Contest(
                        rows.start, name, other, self.model.codec_.decode(rival),
                        score - float(structure.score(theta, rival)[0]), self._ranked(batch, codes, rival), chance,
                        self._probability(theta, sums, rows, rival),
                    )
                )  # fmt: skip
        labels = self.model.codec_.decode(codes)
        log_probability = score - float(sums.log_z[0])
        return Explanation(labels, score, log_probability, isinstance(self.model, CRF), tuple(contests))

    def compare(self, x: Any, labels: Sequence[Any], rival: Sequence[Any]) -> tuple[Term, ...]:
        """Terms of ``f(x, labels) - f(x, rival)``, strongest first."""
        batch = self._batch(x)
        pair = [
            self._given(output, batch.n_rows, name) for name, output in (("labels", labels), ("rival", rival))
        ]
        return self._ranked(batch, *pair)

    # -- inside -------------------------------------------------------------------------------------------------

    def _batch(self, x: Any) -> Batch:
        return (x if isinstance(x, EncodedInputs) else self.model.encode([x])).of(self.model.encoder_)

    def _code(self, label: Any) -> int:
        if label not in self._codes:
            known = ", ".join(map(str, self.labels[:20]))
            raise ValueError(f"the model has no label {label!r}; it has {known}")
        return self._codes[label]

    def _given(self, output: Sequence[Any], n_rows: int, name: str, strict: bool = True) -> np.ndarray:
        """Codes of an output; of a label that the model does not know NO_LABEL, unless that is an error."""
        if not self.model.structure.label_per_row:
            return self.model.codec_.encode_outputs([output], np.array([n_rows]))
        if len(output) != n_rows:
            raise ValueError(f"{name} has {len(output)} labels, x has {n_rows} positions; give one each")
        codes = [self._code(label) if strict else self._codes.get(label, NO_LABEL) for label in output]
        return np.array(codes, np.int32)

    def _wanted(self, against: Any, truth: Sequence[Any] | None, n_rows: int) -> np.ndarray | None:
        """For each position the code of the rival that was asked for, if any."""
        if truth is None:
            return None if against is None else np.full(n_rows, self._code(against))
        return self._given(truth, n_rows, "truth", strict=False)

    def _rival(
        self, theta: Any, rows: slice, codes: np.ndarray, wanted: np.ndarray | None, first: bool
    ) -> np.ndarray | None:
        """Codes of the best output with other codes at ``rows``, or with the wanted ones; None if there is none.

        With ``first`` only the first of the rows is wanted.
        """
        structure, annotation = self.model.structure_, np.full(len(codes), UNKNOWN_CODE)
        restricted, asked = structure.contradicting, slice(rows.start, rows.start + 1) if first else rows
        annotation[rows] = codes[rows]
        if wanted is not None and np.any(wanted[asked] != codes[asked]):
            if np.any(wanted[asked] == NO_LABEL):
                return None
            annotation[rows] = UNKNOWN_CODE
            annotation[asked] = wanted[asked]
            restricted = structure.agreeing
        try:
            return structure.best(theta, within=restricted(theta, annotation)).codes
        except InfeasibleError:
            return None

    def _probability(self, theta: Any, sums: Any, rows: slice, codes: np.ndarray) -> float:
        """Probability of the codes at these rows."""
        structure = self.model.structure_
        if structure.label_per_row:
            return float(sums.counts.node[rows.start, codes[rows.start]])
        annotation = np.full(len(codes), UNKNOWN_CODE)
        annotation[rows] = codes[rows]
        log_z = structure.log_partition(theta, within=structure.agreeing(theta, annotation))
        return float(np.exp(log_z[0] - sums.log_z[0]))

    def _ranked(self, batch: Batch, codes: np.ndarray, rival: np.ndarray) -> tuple[Term, ...]:
        scorer, w, near = self.model.scorer_, self.model.coef_, codes != rival
        found: dict[tuple[Any, ...], list[Any]] = {}
        for k, output in enumerate((codes, rival)):
            for part in scorer.parts(w, batch, output, near):
                found.setdefault((part.kind, part.place, part.column, part.name), [None, None])[k] = part
        terms = [self._term(*pair) for pair in found.values()]
        kept = [term for term in terms if term.contribution]
        return tuple(sorted(kept, key=lambda term: -abs(term.contribution)))

    def _term(self, own: Any, other: Any) -> Term:
        """What two outputs have at one place; one of them may have nothing there."""
        part = other if own is None else own
        ours, theirs = (
            () if one is None else tuple(self.labels[k] for k in one.labels) for one in (own, other)
        )
        weight, rival_weight = (0.0 if one is None else one.weight for one in (own, other))
        name = part.name if part.column < 0 and part.kind in ("length", "factor") else ""
        if part.column >= 0:
            name = f"column {part.column}" if self._names is None else self._names[part.column]
        place = part.place
        return Term(part.kind, place[-1], name, ours, theirs, part.value, weight, rival_weight, place)

    @cached_property
    def _names(self) -> Sequence[str] | None:
        return self.model.encoder_.readable_names
