"""Progress of a fit: a bar on a terminal, log lines elsewhere, and the user's callbacks."""

from __future__ import annotations

import logging
import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from palmette.contracts.solver import Callback, Result, Step

logger = logging.getLogger("palmette")


class _ModelCallback:
    """Passes a user's callback the model as it is at a step, if it asks for it."""

    sees_weights = True

    def __init__(self, callback: Callback, snapshot: Callable[[Any], Any]) -> None:
        self._callback, self._snapshot = callback, snapshot

    def __call__(self, step: Step, weights: Callable[[], Any]) -> Any:
        return self._callback(step, lambda: self._model(step, weights()))

    def _model(self, step: Step, w: Any) -> Any:
        """With what a model file says about training, so that it can be saved."""
        model = self._snapshot(w)
        model.result_, model.objective_ = Result(w, step, (step,), False, "in training"), step.primal
        return model


@contextmanager
def progress(estimator: Any, snapshot: Callable[[Any], Any]) -> Iterator[Sequence[Callback]]:
    """The callbacks of a fit; ``verbose`` adds a progress bar (terminal) or log lines (otherwise).

    ``snapshot(w)`` is the model with weights ``w``, for callbacks that have a true attribute ``sees_model``.
    """
    callbacks = tuple(
        _ModelCallback(callback, snapshot) if getattr(callback, "sees_model", False) else callback
        for callback in estimator.callbacks or ()
    )
    if not estimator.verbose:
        yield callbacks
    elif sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
        with Progress(*columns, console=Console(stderr=True), transient=False) as bar:
            task = bar.add_task(f"{type(estimator).__name__}: first pass", total=None)
            yield (*callbacks, lambda step: bar.update(task, description=describe(estimator, step)))
    else:
        yield (*callbacks, _LogLines(estimator))


class _LogLines:
    """Logs a step at most once per second."""

    def __init__(self, estimator: Any) -> None:
        self._estimator, self._next = estimator, 0.0

    def __call__(self, step: Step) -> None:
        now = time.monotonic()
        if now >= self._next:
            self._next = now + 1.0
            _say(describe(self._estimator, step))


def _say(text: str) -> None:
    if logger.hasHandlers():
        logger.info(text)
    else:  # nobody has set logging up, and verbose was asked for
        print(text, file=sys.stderr)


def tell_end(estimator: Any, result: Result, seconds: float) -> None:
    """With ``verbose``, the last line of a fit: iterations, objective, gap, what ended it and the seconds."""
    if estimator.verbose:
        n = result.step.n_iter
        gap = "no bound on the gap" if math.isnan(result.gap) else f"gap {result.gap:.3g}"
        _say(
            f"{type(estimator).__name__}: ended after {n} iteration{'' if n == 1 else 's'}, objective "
            f"{result.primal:.6g}, {gap}, reason: {result.reason}, {seconds:.2f} s"
        )


def describe(estimator: Any, step: Step) -> str:
    """A step in words."""
    text = f"{type(estimator).__name__}: iteration {step.n_iter}, objective {step.primal:.6g}"
    return text if step.gap != step.gap else f"{text}, gap {step.gap:.3g}"
