"""The learners of paths by name, with their options checked before any data is read."""

from __future__ import annotations

from typing import Any

from palmette.apps.settings import check_settings
from palmette.executors.threads import n_threads

ALGORITHMS = ("crf", "ssvm", "perceptron")
LOSSES = ("common_path", "symmetric_difference", "first_mistakes", "zero_one")
_TAKES = {
    "crf": ("l2", "l1", "solver", "tol", "max_iter"),
    "ssvm": ("l2", "task_loss", "solver", "tol", "max_iter"),
    "perceptron": ("max_iter",),
}
_SOLVERS = {
    "crf": ("lbfgs", "proximal", "stochastic"),
    "ssvm": ("bundle", "one_slack", "n_slack", "frank_wolfe", "subgradient", "pegasos", "stochastic"),
    "perceptron": (),
}


def make_learner(
    algorithm: str = "crf", *, tree: Any = None, inner_ends: bool = False, multi_label: bool = False,
    separator: str = ".", n_jobs: int | None = None, **options: Any,
) -> Any:  # fmt: skip
    """Make an estimator of paths.

    >>> make_learner("ssvm", l2=0.1, task_loss="zero_one")
    SSVM(l2=0.1, structure=Hierarchy(), task_loss='zero_one')
    """
    given = {name: value for name, value in options.items() if value is not None}
    n_threads(n_jobs)  # refuses what is not a number of threads
    if n_jobs is not None:
        given["n_jobs"] = n_jobs
    shared = {name: given.pop(name) for name in ("callbacks", "n_jobs", "random_state") if name in given}
    if algorithm not in ALGORITHMS:
        raise ValueError(f"algorithm={algorithm!r} learns no paths; choose one of {', '.join(ALGORITHMS)}")
    for name, value in given.items():
        if name not in _TAKES[algorithm]:
            raise ValueError(
                f"{name}={value!r}: {algorithm} has no option {name}; it has {', '.join(_TAKES[algorithm])}"
            )
    check_settings(algorithm, given, _SOLVERS[algorithm])
    if given.get("task_loss", LOSSES[0]) not in LOSSES:
        raise ValueError(f"task_loss must be one of {', '.join(LOSSES)}, got {given['task_loss']!r}")
    from palmette.estimators import CRF, SSVM, Perceptron
    from palmette.structures import Hierarchy

    structure = Hierarchy(tree, inner_ends=inner_ends, multi_label=multi_label, separator=separator)
    learner: Any = {"crf": CRF, "ssvm": SSVM, "perceptron": Perceptron}[algorithm]
    return learner(structure, **given, **shared)
