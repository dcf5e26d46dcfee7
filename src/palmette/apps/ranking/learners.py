"""The learners of rankings by name, with their options checked before any data is read."""

from __future__ import annotations

from typing import Any

from palmette.apps.settings import check_settings
from palmette.executors.threads import n_threads

ALGORITHMS = ("plackett-luce", "ramp", "ssvm")
RADIUS = 4.0
TOP = 10
L2 = 10.0  # of the likelihood; NDCG@10 on OHSUMED with 1, 10, 100, 1,000: .444, .453, .452, .443; the ramp has .454
_TAKES = {
    "ramp": ("radius", "top", "l2", "solver", "tol", "max_iter"),
    "ssvm": ("top", "l2", "solver", "tol", "max_iter"),
    "plackett-luce": ("l2", "l1", "solver", "tol", "max_iter"),
}
_SOLVERS = {
    "ramp": ("cccp", "subgradient", "pegasos", "stochastic"),
    "ssvm": ("bundle", "one_slack", "n_slack", "frank_wolfe", "subgradient", "pegasos", "stochastic"),
    "plackett-luce": ("lbfgs", "proximal", "bundle", "subgradient", "pegasos", "stochastic"),
}


def make_ranker(
    algorithm: str = "plackett-luce", *, n_jobs: int | None = None, tuned: bool = False, **options: Any
) -> Any:
    """Make an estimator for rankings.

    Parameters
    ----------
    algorithm : {'plackett-luce', 'ramp', 'ssvm'}
        * ``plackett-luce``: maximum likelihood of the orders by grade. Best or nearly so on most data, and the fastest.
        * ``ramp``: the ramp loss of ``1 - NDCG@top``, by descent on a sphere, ``|w| = radius``, from the difference of
          the best and the worst rankings. The loss cannot grow with the scores, so that only the length of the weights
          holds it back: one number to choose. With ``l2`` a penalty does so instead, and the solver is CCCP.
        * ``ssvm``: the convex bound, with the ranks of the score weighted as in the NDCG of all ranks. With other
          weights, or a cut-off, the best weights tend to be 0, and on much data with these too.
    n_jobs : int, optional
    tuned : bool, default=False
        Whether ``l2`` will be chosen later: it has no default then.
    **options
        ``l2`` (10 by default) and ``l1`` of plackett-luce; ``radius`` (4) or ``l2``, and ``top`` (10) of ramp; ``l2``
        (1) and ``top`` (all) of ssvm; ``solver``, ``tol``, ``max_iter``; ``callbacks``, ``random_state``. None stands
        for the default. Defaults are for features between 0 and 1.

    Examples
    --------
    >>> make_ranker(l2=0.1)
    PlackettLuce(l2=0.1)
    >>> make_ranker("ramp", radius=2.0).solver.radius
    2.0
    """
    given = {name: value for name, value in options.items() if value is not None}
    n_threads(n_jobs)  # refuses what is not a number of threads
    if n_jobs is not None:
        given["n_jobs"] = n_jobs
    shared: dict[str, Any] = {
        name: given.pop(name) for name in ("callbacks", "n_jobs", "random_state") if name in given
    }
    _check(algorithm, given)
    from palmette.estimators import SSVM
    from palmette.losses import NDCG
    from palmette.solvers import Subgradient
    from palmette.structures import Ranking
    from palmette.structures.ranking.plackett_luce import PlackettLuce

    if algorithm == "plackett-luce":
        return PlackettLuce(**{"l2": None if tuned else L2, **given, **shared})
    if algorithm == "ssvm":
        loss = NDCG(given.pop("top", None))
        return SSVM(Ranking("letor"), task_loss=loss, **given, **shared)
    shared |= {"loss": "ramp", "task_loss": NDCG(given.pop("top", TOP))}
    if "l2" in given or "solver" in given:
        return SSVM(Ranking(), **given, **shared)
    settings = {"max_iter": 300, "tol": 0.01, "radius": RADIUS} | given
    return SSVM(Ranking(), l2=0.0, solver=Subgradient(sphere=True, **settings), **shared)


def _check(algorithm: str, given: dict[str, Any]) -> None:
    if algorithm not in ALGORITHMS:
        raise ValueError(f"algorithm={algorithm!r} does not rank; choose one of {', '.join(ALGORITHMS)}")
    for name, value in given.items():
        if name not in _TAKES[algorithm]:
            others = [other for other in ALGORITHMS if name in _TAKES[other]]
            raise ValueError(
                f"{name}={value!r}: {algorithm} has no option {name}; it has {', '.join(_TAKES[algorithm])}"
                + (f" (algorithm {' or '.join(others)} has {name})" if others else "")
            )
    check_settings(algorithm, given, _SOLVERS[algorithm])
    if "radius" in given and ("l2" in given or "solver" in given):
        other = "l2" if "l2" in given else "solver"
        raise ValueError(
            f"radius={given['radius']:g} and {other}={given[other]} exclude each other: descent on a sphere has no "
            "penalty and a solver of its own; give one of them"
        )
