"""A structure under cheap supervision: partial annotation against enumeration, active questions, transfer."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from palmette.contracts.structure import Structure
from palmette.data.annotation import Annotation
from palmette.data.samples import Partly
from palmette.errors import MissingCapability
from palmette.losses.zero_one import ContradictionLoss
from palmette.surrogates.base import Evaluation
from palmette.surrogates.partial import (
    IgnoringBridge,
    MarginalLogLoss,
    PartialPerceptronLoss,
    annotated_ramp,
    bridge_loss,
)
from palmette.testing.reference import Reference, reference_for
from palmette.testing.supervision_checks import check_active, check_transfer

LEARNING = {"active questions": check_active, "transfer": check_transfer}
LARGEST_SCORE = 1e4  # beyond, differences of scores have too few digits to compare


@dataclass(frozen=True)
class SupervisionReport:
    """What was checked.

    Parameters
    ----------
    structure : str
    n_annotations : int
        Annotated batches.
    checked : tuple of str
        Losses whose values agree with enumeration; "active questions" and "transfer" where the reference draws samples.
    missing : tuple of str
        What the structure has no answers for, or the reference no samples.
    """

    structure: str
    n_annotations: int
    checked: tuple[str, ...]
    missing: tuple[str, ...]


def check_supervision(
    structure: Structure,
    reference: Reference | None = None,
    *,
    n_instances: int = 5,
    random_state: int = 0,
) -> SupervisionReport:
    """Check a structure under partial annotation, active questions and transfer.

    Every output either agrees with an annotation or contradicts it. With P for the best score plus 1 of outputs that
    contradict, and R for the best score of those that agree, the bridge loss of the 0/1 task loss is ``max(P, R) - R``,
    with or without the exact split; the ramp loss is ``max(P, R) - max_y f(y)``, the perceptron loss
    ``max_y f(y) - R``; the marginal log loss is
    ``log sum_y exp f(y) - log sum_{y agrees} exp f(y)``. They do not depend on the output that stands for the truth.

    On samples that the reference draws, an :class:`~palmette.ActiveLearner` asks for every part exactly once, takes
    answers back, and learns what ``fit`` learns; :class:`~palmette.Transfer` reaches at least the objective of union
    training, reaches just that with a large ``rho``, and balances its weights.

    Parameters
    ----------
    structure : Structure
    reference : Reference, optional
        Enumerates outputs and draws annotations; by default the registered one.
    n_instances : int
        Batches of potentials.
    random_state : int

    Returns
    -------
    SupervisionReport

    Raises
    ------
    AssertionError
        At the first disagreement.

    Examples
    --------
    >>> from palmette import Chain, Ranking
    >>> check_supervision(Chain(), n_instances=1).checked
    ('bridge', 'bridge, ignoring', 'ramp', 'perceptron', 'marginal log', 'active questions', 'transfer')
    >>> check_supervision(Ranking(), n_instances=1).missing
    ('marginal log',)
    """
    reference = reference_for(structure) if reference is None else reference
    rng = np.random.default_rng(random_state)
    sums = structure.can("expectation")
    n_annotations = 0
    for instance in islice(reference.instances(rng), n_instances):
        theta = instance.theta
        outputs = [reference.outputs(theta, s) for s in range(len(theta))]
        scores = [np.array([reference.score(theta, s, y) for y in ys]) for s, ys in enumerate(outputs)]
        if not all(len(own) and np.abs(own).max() < LARGEST_SCORE for own in scores):
            continue
        for annotation in reference.draw_annotations(rng, theta):
            agrees = [
                np.array([not reference.contradicts(y, annotation[s]) for y in ys])
                for s, ys in enumerate(outputs)
            ]
            if all(own.any() for own in agrees):
                known = reference.pack(theta, annotation)
                _check(structure, theta, known, scores, agrees, sums)
                n_annotations += 1
    if not n_annotations:
        raise AssertionError(
            f"{type(structure).__name__}: no annotation of {n_instances} instances could be checked: give more, or "
            "annotations with which some output agrees (Reference.draw_annotations)"
        )
    checked = ["bridge", "bridge, ignoring", "ramp", "perceptron"]
    missing: list[str] = []
    (checked if sums else missing).append("marginal log")
    try:
        X, Y = reference.draw_samples(rng)
    except MissingCapability:
        missing += LEARNING
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # few answers make empty models
            for name, check in LEARNING.items():
                check(structure, X, Y)
                checked.append(name)
    return SupervisionReport(type(structure).__name__, n_annotations, tuple(checked), tuple(missing))


def _check(
    structure: Structure,
    theta: Any,
    known: Any,
    scores: list[np.ndarray],
    agrees: list[np.ndarray],
    sums: bool,
) -> None:
    reward = np.array([own[agree].max() for own, agree in zip(scores, agrees)])
    penalty = np.array([1.0 + own[~agree].max(initial=-np.inf) for own, agree in zip(scores, agrees)])
    expected = {
        "bridge": np.maximum(penalty, reward) - reward,
        "bridge, ignoring": np.maximum(penalty - reward, 0.0),
        "ramp": np.maximum(penalty, reward) - np.array([own.max() for own in scores]),
        "perceptron": np.array([own.max() for own in scores]) - reward,
    }
    surrogates: dict[str, Any] = {
        "bridge": bridge_loss(ContradictionLoss()),
        "bridge, ignoring": IgnoringBridge(ContradictionLoss()),
        "ramp": annotated_ramp(ContradictionLoss()),
        "perceptron": PartialPerceptronLoss(),
    }
    if sums:
        surrogates["marginal log"] = MarginalLogLoss()
        expected["marginal log"] = np.array(
            [np.logaddexp.reduce(own) - np.logaddexp.reduce(own[agree]) for own, agree in zip(scores, agrees)]
        )
    annotation = known if isinstance(known, Annotation) else Annotation(np.asarray(known), None)
    within = structure.agreeing(theta, annotation.plain)
    answers: Any = structure
    truths = [answers.best(theta, within=within)]
    if structure.can("worst"):
        truths.append(answers.worst(theta, within=within))
    for truth in truths:
        whole = Partly(truth.codes, annotation)
        for name, surrogate in surrogates.items():
            found: Evaluation = surrogate.evaluate(structure, theta, whole, np.ones(len(theta)))
            wrong = np.flatnonzero(~np.isclose(found.values, expected[name], rtol=1e-7, atol=1e-6))
            if len(wrong):
                s = int(wrong[0])
                raise AssertionError(
                    f"{type(structure).__name__}: the {name} loss of sample {s} under the annotation {known!r:.200} is "
                    f"{found.values[s]:g}, by enumeration {expected[name][s]:g}"
                )
