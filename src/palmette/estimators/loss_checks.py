"""Checks of a task loss on the training samples, before the first step."""

from __future__ import annotations

from typing import Any

import numpy as np

from palmette.contracts.problem import SampledProblem
from palmette.contracts.structure import can

FEW = 100  # samples on which a loss from elsewhere is tried


def check_task_loss(problem: SampledProblem) -> None:
    """Refuse a loss that is negative or not 0 for the truth, and tell of one from which nothing can be learnt.

    Bounds of such a loss would be none, nor would the certificate, which relies on losses of at least 0. Those of this
    library keep to it by construction.
    """
    task_loss = getattr(problem.surrogate, "task_loss", None)
    if task_loss is None:
        return
    if can(task_loss, "advise"):
        task_loss.advise(problem)
    elif not type(task_loss).__module__.startswith("palmette."):
        _try(problem, task_loss)


def _try(problem: SampledProblem, task_loss: Any) -> None:
    structure, some = problem.structure, problem.samples.slice(0, min(FEW, problem.n_samples))
    theta = problem.scorer.score(np.zeros(problem.n_params), some.batch)
    name = type(task_loss).__name__
    own = np.asarray(task_loss.value(structure, theta, some.codes, some.codes), float)
    wrong = np.flatnonzero(~(np.abs(own) <= 1e-12))
    if len(wrong):
        raise ValueError(
            f"task_loss {name}: the true output of sample {wrong[0]} has the loss {own[wrong[0]]:g}; it must be 0: "
            "subtract it from the loss"
        )
    for codes in (structure.best(theta).codes, task_loss.augmented_best(structure, theta, some.codes).codes):
        found = np.asarray(task_loss.value(structure, theta, some.codes, codes), float)
        wrong = np.flatnonzero(~(np.isfinite(found) & (found >= 0.0)))
        if len(wrong):
            raise ValueError(
                f"task_loss {name}: an output of sample {wrong[0]} has the loss {found[wrong[0]]:g}; losses must be "
                "finite and at least 0, larger for worse outputs"
            )
