"""Active questions and transfer on samples of any structure: what holds whatever the structure is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from palmette.contracts.structure import Structure
from palmette.errors import MissingCapability
from palmette.estimators import SSVM, Perceptron
from palmette.supervision import ActiveLearner, Transfer
from palmette.supervision.units import UNITS

EPOCHS = 3
TOL, SLACK = 1e-3, 1e-6
L2, RHO = 0.5, 2.0


def check_active(structure: Structure, X: Any, Y: Sequence[Any]) -> None:
    """Ask for all of a pool by samples, parts and patches.

    Every part is asked exactly once, the most uncertain first; a skipped part is not asked again; undoing an answer
    gives back the model; and the model of all answers is the one that ``fit`` makes of them.
    """
    whole = Perceptron(structure, max_iter=EPOCHS, random_state=0).fit(X, Y)
    for unit in UNITS:
        learner = _learner(structure, X, unit)
        seen: set[Any] = set()
        while questions := learner.query():
            _check_order(structure, questions)
            for question in questions:
                own = {(question.sample, part) for part in question.parts}
                _holds(
                    bool(own) and not own & seen,
                    structure,
                    f"a part of sample {question.sample} is asked again",
                )
                seen |= own
            _check_undo(structure, learner, questions[0], Y)
            learner.tell_all(questions, [_answer(Y, q) for q in questions])
        parts = {(i, part) for i, y in enumerate(Y) for part in range(_n_parts(y))}
        _holds(seen == parts, structure, f"by {unit} {len(seen)} of {len(parts)} parts are asked")
        found = learner.finish().coef_
        _holds(np.allclose(found, whole.coef_), structure, f"answers by {unit} give another model than fit")
        _check_skip(structure, X, unit)


def check_transfer(structure: Structure, X: Any, Y: Sequence[Any]) -> None:
    """Two domains: transfer against union training, the stationarity of the shared weights, and answers.

    The weights of union training are a point of the problem of transfer, so its minimum is not above theirs; with a
    very large ``rho`` both are equal. At the minimum ``l2 w = rho sum_d v^d``. All within the duality gaps.
    """
    domains = [k % 2 for k in range(len(Y))]
    model = SSVM(structure, l2=L2, tol=TOL, n_jobs=1)
    transfer = Transfer(model, rho=RHO).fit(X, Y, domains=domains)
    union = model.fit(X, Y)
    large = Transfer(SSVM(structure, l2=L2, tol=TOL, n_jobs=1), rho=1e9).fit(X, Y, domains=domains)
    far = _gap(transfer) + _gap(union)
    _holds(
        transfer.objective_ <= union.objective_ + far, structure,
        f"transfer reaches {transfer.objective_:g}, union training {union.objective_:g}",
    )  # fmt: skip
    _holds(
        abs(large.objective_ - union.objective_) <= _gap(large) + _gap(union), structure,
        f"rho = 1e9 reaches {large.objective_:g}, union training {union.objective_:g}",
    )  # fmt: skip
    # A duality gap g of a problem with penalties of at least l2 bounds the distance to the optimum by sqrt(2 g / l2).
    shared, added = transfer.coef_[0], transfer.coef_[1:].sum(axis=0)
    distance = np.sqrt(2.0 * _gap(transfer) / min(L2, RHO))
    off = float(np.linalg.norm(L2 * shared - RHO * added))
    _holds(off <= (L2 + 2.0 * RHO) * distance, structure, f"l2 w differs from rho sum v by {off:g}")
    answers = transfer.predict(X, domains=domains)
    for domain in (0, 1):
        own = [i for i, d in enumerate(domains) if d == domain]
        alone = transfer.model_of(domain).predict([X[i] for i in own])
        same = all(_equal(answers[i], found) for i, found in zip(own, alone))
        _holds(same, structure, f"the model of domain {domain} alone answers otherwise")


def _learner(structure: Structure, X: Any, unit: str) -> ActiveLearner:
    """The best against the second where the structure has them for parts, else at random."""
    settings = {"unit": unit, "batch_size": 3, "patch_size": 2, "update": "refit", "random_state": 0}
    model = Perceptron(structure, max_iter=EPOCHS, random_state=0)
    try:
        return ActiveLearner(model, X, "best_vs_second", **settings)  # type: ignore[arg-type]
    except MissingCapability:
        return ActiveLearner(model, X, "random", **settings)  # type: ignore[arg-type]


def _answer(Y: Sequence[Any], question: Any) -> Any:
    whole = Y[question.sample]
    return whole if isinstance(whole, str) else [whole[part] for part in question.parts]


def _n_parts(y: Any) -> int:
    return 1 if isinstance(y, str) else len(y)


def _check_order(structure: Structure, questions: Sequence[Any]) -> None:
    scores = np.array([question.score for question in questions])
    ordered = bool(np.isnan(scores).all() or (np.diff(scores) <= 0.0).all())
    _holds(ordered, structure, f"questions are not in the order of their scores: {scores}")


def _check_undo(structure: Structure, learner: ActiveLearner, question: Any, Y: Sequence[Any]) -> None:
    """An answer changes the model, or not; without it the model is the one before."""
    before = learner.model_.coef_.copy() if learner.answers_ else None
    learner.tell(question, _answer(Y, question))
    reopened = learner.undo()
    _holds(question in reopened, structure, "undo does not open the question again")
    if before is not None:
        _holds(np.array_equal(before, learner.model_.coef_), structure, "undo leaves another model")


def _check_skip(structure: Structure, X: Any, unit: str) -> None:
    learner = _learner(structure, X, unit)
    (first, *_) = learner.query()
    learner.tell(first, "skip")
    skipped = {(first.sample, part) for part in first.parts}
    later = {(q.sample, part) for q in learner.query(10**6) for part in q.parts}
    _holds(not skipped & later, structure, f"a skipped {unit} is asked again")


def _equal(one: Any, other: Any) -> bool:
    """Whether two outputs are equal; lists of tuples of several lengths are no arrays."""
    return bool(np.array_equal(one, other)) if isinstance(one, np.ndarray) else bool(one == other)


def _gap(model: Any) -> float:
    """What is proven about the distance to the minimum, with some room for rounding."""
    return max(float(model.result_.step.gap), 0.0) + SLACK * abs(model.objective_)


def _holds(condition: bool, structure: Structure, words: str) -> None:
    if not condition:
        raise AssertionError(f"{type(structure).__name__}: {words}")
