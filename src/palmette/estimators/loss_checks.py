"""Checks of a task loss on the training samples, before the first step."""

from __future__ import annotations

from typing import Any

import numpy as np

from palmette.errors import warn_caller

FEW = 100  # samples on which a loss from elsewhere is tried
ASSIGNMENT = 3e-10  # seconds that an assignment takes, by the cube of the documents
LONG = 3.0  # seconds of a pass over the queries from which on it is told


def check_task_loss(problem: Any) -> None:
    """Refuse a loss that is negative or not 0 for the truth, and tell of one from which nothing can be learnt.

    Bounds of such a loss would be none, nor would the certificate, which relies on losses of at least 0. Those of this
    library keep to it by construction.
    """
    task_loss = getattr(problem.surrogate, "task_loss", None)
    if task_loss is None:
        return
    if task_loss.way == "ranking":
        _look_at_queries(problem, task_loss)
    elif not type(task_loss).__module__.startswith("palmette."):
        _try(problem, task_loss)


def _try(problem: Any, task_loss: Any) -> None:
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


def _look_at_queries(problem: Any, task_loss: Any) -> None:
    """Tell of a loss that is always 0, and of queries so large that another loss would do with far less time."""
    theta = problem.scorer.score(np.zeros(problem.n_params), problem.samples.batch)
    if not task_loss.largest(problem.structure, theta, problem.samples.codes).any():
        warn_caller(
            f"{task_loss.loss!r} is 0 for every order of all {problem.n_samples} queries, so that nothing can be "
            f"learnt from it: choose a cut-off below the {theta.longest} documents of the largest query, and grades of "
            "which some documents of a query are relevant and others not",
            UserWarning,
        )
    slow = np.array(task_loss.ways(problem.structure, theta, problem.samples.codes)) == "assignment"
    seconds = ASSIGNMENT * float(np.sum(np.diff(theta.offsets)[slow] ** 3.0))
    if seconds > LONG:
        warn_caller(
            f"A pass over the queries takes about {seconds:.0f} s, since augmented maxima of {slow.sum()} of them are "
            f"linear assignments (up to {theta.longest} documents): task_loss=NDCG(k=10), or Ranking('letor') with "
            "NDCG(), takes less than a millisecond a query",
            UserWarning,
        )
