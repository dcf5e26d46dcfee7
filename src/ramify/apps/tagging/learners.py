"""The learners of a tagger by name, with their options checked before any data is read."""

from __future__ import annotations

import math
from typing import Any

from ramify.features.door import check_options

_SOLVERS = {
    "crf": ("auto", "dual", "lbfgs", "sag", "stochastic", "bundle"),
    "ssvm": ("auto", "frank_wolfe", "bundle", "stochastic"),
    "perceptron": ("perceptron", "passive_aggressive", "arow"),
}
ALGORITHMS = tuple(_SOLVERS)


def make_learner(algorithm: str = "crf", **options: Any) -> Any:
    """Make an estimator for label sequences.

    Parameters
    ----------
    algorithm : {'crf', 'ssvm', 'perceptron'}
    **options
        Settings of the estimator, such as ``l2``, ``l1`` (not for the perceptron), ``solver``, ``tol``, ``max_iter``,
        ``min_count``, ``n_hash``, ``n_jobs``, ``random_state`` and ``callbacks``. None stands for its default.

    Examples
    --------
    >>> make_learner("ssvm", l2=0.5, max_iter=None)
    SSVM(l2=0.5, structure=Chain())
    """
    from ramify.estimators import CRF, SSVM, Perceptron
    from ramify.structures import Chain

    kinds = {"crf": CRF, "ssvm": SSVM, "perceptron": Perceptron}
    if algorithm not in kinds:
        raise ValueError(f"algorithm={algorithm!r} is unknown; choose one of {', '.join(ALGORITHMS)}")
    given = {name: value for name, value in options.items() if value is not None}
    _check(algorithm, given)
    return kinds[algorithm](Chain(), **given)


def _check(algorithm: str, options: dict[str, Any]) -> None:
    if algorithm == "perceptron":
        for name in ("l2", "l1"):
            if name in options:
                raise ValueError(
                    f"{name}={options[name]!r}: the perceptron has no penalty; leave {name} out, or choose crf or ssvm"
                )
    solver = options.get("solver", _SOLVERS[algorithm][0])
    if isinstance(solver, str) and solver not in _SOLVERS[algorithm]:
        raise ValueError(
            f"solver={solver!r} does not serve {algorithm}; choose one of {', '.join(_SOLVERS[algorithm])}"
        )
    for name in ("l2", "l1", "tol"):
        value = options.get(name, 0.0)
        if not (math.isfinite(value) and value >= 0):
            raise ValueError(f"{name} must be a finite number >= 0, got {value!r}")
    if options.get("max_iter", 1) < 1:
        raise ValueError(f"max_iter must be at least 1, got {options['max_iter']}")
    check_options(options.get("min_count", 1), options.get("n_hash"))
    if options.get("n_jobs", 1) == 0:
        raise ValueError("n_jobs must be a number of threads, or -1 for all cores, got 0")
    if not 0 <= options.get("random_state", 0) < 2**32:
        raise ValueError(f"the seed must be from 0 to {2**32 - 1}, got {options['random_state']}")
