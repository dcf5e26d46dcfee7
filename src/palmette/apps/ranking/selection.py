"""Settings chosen by NDCG on validation queries."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from palmette.metrics import ndcg

Part = tuple[Sequence[Any], Sequence[Any]]


@dataclass(frozen=True)
class Selected:
    """The model whose setting was best on validation queries.

    Parameters
    ----------
    model
        Fitted on the training queries.
    setting
        That it was made with.
    scores : dict
        Settings to their NDCG on the validation queries.
    seconds : float
        CPU time of the training of this model.
    all_seconds : float
        CPU time of the training of all.
    """

    model: Any
    setting: Any
    scores: dict[Any, float]
    seconds: float
    all_seconds: float


def select(
    make: Callable[[Any], Any], settings: Sequence[Any], train: Part, validation: Part, k: int = 10
) -> Selected:
    """Train with every setting and choose by NDCG@k on the validation queries; of equals the first.

    Parameters
    ----------
    make : callable
        ``make(setting)`` returns a learner with ``fit(X, y)`` and ``row_scores(X)``.
    settings : list
        Hashable.
    train, validation : pair of X and y
    k : int, default=10

    Returns
    -------
    Selected
    """
    models, scores, seconds = {}, {}, {}
    for setting in settings:
        started = time.process_time()
        models[setting] = make(setting).fit(*train)
        seconds[setting] = time.process_time() - started
        scores[setting] = ndcg(validation[1], models[setting].row_scores(validation[0]), k)
    best = max(settings, key=scores.__getitem__)
    return Selected(models[best], best, scores, seconds[best], sum(seconds.values()))
