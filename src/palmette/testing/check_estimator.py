"""The contract of structured estimators, as an executable check."""

from __future__ import annotations

import io
import pickle
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from palmette.errors import MissingCapability


def check_structured_estimator(estimator: Any, X: Any, Y: Any) -> list[str]:
    """Check that ``estimator`` keeps the promises of palmette on the data ``X``, ``Y`` (at least 6 samples).

    What scikit-learn's own checks test on tables is tested here on any structure: construction stores and ``fit``
    validates; clone, pickle and model file round trips; refitting gives the same model; threads change nothing; a
    fold without some label; one sample; wrong lengths; inputs left alone; predictions of one sample equal those of
    many; nbest, marginals, scores and log-probabilities agree with each other. Outputs that have no labels (rankings)
    are not asked for ``classes``, nor for the log-probabilities of predictions, which are no annotations.

    Returns
    -------
    list of str
        The names of the checks that ran.

    Examples
    --------
    >>> from palmette import CRF, Chain
    >>> from palmette.datasets import make_chains
    >>> "pickle" in check_structured_estimator(CRF(Chain()), *make_chains(8, 3, 2, random_state=0))
    True
    """
    checks = {
        "parameters": _parameters,
        "refit": _refit,
        "threads": _threads,
        "inputs": _inputs,
        "pickle": _pickle,
        "file": _file,
        "one by one": _one_by_one,
        "consistency": _consistency,
        "declared classes": _declared_classes,
        "one sample": _one_sample,
        "lengths": _lengths,
        "not fitted": _not_fitted,
        "cross validation": _cross_validation,
        "certificate": _certificate,
    }
    for name, check in checks.items():
        try:
            check(clone(estimator), X, Y)
        except Exception as error:
            raise AssertionError(f"{type(estimator).__name__} fails the check {name!r}: {error}") from error
    return list(checks)


def _same(a: Any, b: Any) -> bool:
    return all(np.array_equal(p, q) for p, q in zip(a, b, strict=True))


def _parameters(estimator: Any, X: Any, Y: Any) -> None:
    before = estimator.get_params()
    estimator.fit(X, Y)
    after = estimator.get_params()
    if not all(before[k] is after[k] for k in before):
        raise AssertionError("fit changes constructor parameters")
    if any(k.endswith("_") and not k.startswith("_") for k in vars(clone(estimator))):
        raise AssertionError("an unfitted estimator has fitted attributes")


def _refit(estimator: Any, X: Any, Y: Any) -> None:
    first = estimator.fit(X, Y).coef_.copy()
    if not np.array_equal(first, estimator.fit(X, Y).coef_):
        raise AssertionError("a second fit on the same data gives other weights")


def _threads(estimator: Any, X: Any, Y: Any) -> None:
    weights = [clone(estimator).set_params(n_jobs=n).fit(X, Y).coef_ for n in (1, 2, 3)]
    if not (np.array_equal(weights[0], weights[1]) and np.array_equal(weights[0], weights[2])):
        raise AssertionError("the number of threads changes the weights")


def _inputs(estimator: Any, X: Any, Y: Any) -> None:
    before = pickle.dumps((X, Y))
    estimator.fit(X, Y).predict(X)
    if pickle.dumps((X, Y)) != before:
        raise AssertionError("fit or predict changes its inputs")


def _pickle(estimator: Any, X: Any, Y: Any) -> None:
    estimator.fit(X, Y)
    if not _same(pickle.loads(pickle.dumps(estimator)).predict(X), estimator.predict(X)):
        raise AssertionError("predictions change by pickling")


def _file(estimator: Any, X: Any, Y: Any) -> None:
    estimator.fit(X, Y)
    file = io.BytesIO()
    estimator.save(file)
    file.seek(0)
    if not _same(type(estimator).load(file).predict(X), estimator.predict(X)):
        raise AssertionError("predictions change by saving and loading")


def _one_by_one(estimator: Any, X: Any, Y: Any) -> None:
    together = estimator.fit(X, Y).predict(X)
    for i in range(len(together)):
        if not np.array_equal(estimator.predict(X[i : i + 1])[0], together[i]):
            raise AssertionError(f"sample {i} alone is predicted otherwise than among others")


def _is_labelled(estimator: Any) -> bool:
    """Whether outputs are made of labels, so that a prediction is also an annotation (a ranking is none)."""
    return bool(getattr(estimator.structure, "labelled", True))


def _marginals(estimator: Any, X: Any) -> Any:
    """The marginals, or none where the structure cannot sum over its outputs."""
    try:
        return estimator.predict_marginals(X)
    except MissingCapability:
        if _is_labelled(estimator):
            raise
        return []


def _consistency(estimator: Any, X: Any, Y: Any) -> None:
    estimator.fit(X, Y)
    predicted = estimator.predict(X)
    best = estimator.predict_nbest(X, 2)
    values = estimator.predict_score(X)
    labelled = _is_labelled(estimator)
    given = estimator.log_proba(X, predicted) if labelled else []
    for i, ranked in enumerate(best):
        if not np.array_equal(ranked[0][0], predicted[i]):
            raise AssertionError(f"sample {i}: the first of predict_nbest is not the prediction")
        np.testing.assert_allclose(ranked[0][1], values[i], err_msg=f"sample {i}: score of the best output")
        if len(ranked) > 1 and labelled:
            other = estimator.log_proba(X[i : i + 1], [ranked[1][0]])[0]
            np.testing.assert_allclose(
                given[i] - other,
                ranked[0][1] - ranked[1][1],
                atol=1e-6,
                err_msg=f"sample {i}: log-probabilities",
            )
    for i, marginal in enumerate(np.atleast_2d(m) for m in _marginals(estimator, X)):
        np.testing.assert_allclose(marginal.sum(axis=1), 1.0, atol=1e-9, err_msg=f"sample {i}: marginals")
        if labelled and marginal.shape[1] != len(estimator.classes_):
            raise AssertionError(f"sample {i}: marginals have {marginal.shape[1]} columns")
    if not 0.0 <= estimator.score(X, Y) <= 1.0:
        raise AssertionError("score is not an accuracy")


def _declared_classes(estimator: Any, X: Any, Y: Any) -> None:
    if not _is_labelled(estimator):
        return
    known = list(estimator.fit(X, Y).classes_)
    wider = clone(estimator).set_params(classes=[*known, "a label that never occurs"]).fit(X, Y)
    if len(wider.classes_) != len(known) + 1:
        raise AssertionError("classes= is not honoured")


def _one_sample(estimator: Any, X: Any, Y: Any) -> None:
    estimator.fit(X[:1], Y[:1]).predict(X)


def _lengths(estimator: Any, X: Any, Y: Any) -> None:
    try:
        estimator.fit(X, Y[:-1])
    except ValueError as error:
        if str(len(Y)) in str(error) and str(len(Y) - 1) in str(error):
            return
        raise AssertionError(f"the message does not name both lengths: {error}") from error
    raise AssertionError("fit accepts X and y of different lengths")


def _not_fitted(estimator: Any, X: Any, Y: Any) -> None:
    from sklearn.exceptions import NotFittedError

    for method in ("predict", "predict_marginals", "predict_nbest", "predict_score"):
        answer = _marginals if method == "predict_marginals" else getattr(type(estimator), method)
        try:
            found = answer(estimator, X)
        except NotFittedError:
            continue
        if len(found) or _is_labelled(estimator):
            raise AssertionError(f"{method} works before fit")


def _cross_validation(estimator: Any, X: Any, Y: Any) -> None:
    if _is_labelled(estimator):
        estimator.set_params(classes=list(clone(estimator).fit(X, Y).classes_))
    scores = cross_val_score(estimator, X, Y, cv=2, error_score="raise")
    if not np.all((scores >= 0) & (scores <= 1)):
        raise AssertionError(f"cross_val_score gives {scores}")


def _certificate(estimator: Any, X: Any, Y: Any) -> None:
    result = estimator.fit(X, Y).result_
    if not result.history or not result.reason:
        raise AssertionError("result_ has no history or reason")
    if np.isfinite(result.gap) and result.gap < -1e-9 * abs(result.primal):
        raise AssertionError(f"the gap is negative: {result.gap}")
    if estimator.objective_ != result.primal:
        raise AssertionError("objective_ is not the primal value of the result")
