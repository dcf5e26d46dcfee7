"""Progress of a fit: a bar on a terminal, log lines elsewhere, and the user's callbacks."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ramify.solvers.base import Callback, Step

logger = logging.getLogger("ramify")


@contextmanager
def progress(estimator: Any) -> Iterator[Sequence[Callback]]:
    """The callbacks of a fit; ``verbose`` adds a progress bar (terminal) or log lines (otherwise)."""
    callbacks = tuple(estimator.callbacks or ())
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
    """Logs a step at most once a second."""

    def __init__(self, estimator: Any) -> None:
        self._estimator, self._next = estimator, 0.0

    def __call__(self, step: Step) -> None:
        now = time.monotonic()
        if now >= self._next:
            self._next = now + 1.0
            logger.info(describe(self._estimator, step))


def describe(estimator: Any, step: Step) -> str:
    """A step in words."""
    text = f"{type(estimator).__name__}: iteration {step.n_iter}, objective {step.primal:.6g}"
    return text if step.gap != step.gap else f"{text}, gap {step.gap:.3g}"
