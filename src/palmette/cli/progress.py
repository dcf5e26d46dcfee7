"""Progress on standard error: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from palmette.cli.output import log

SECONDS_BETWEEN_LINES = 5.0


class Progress:
    """Tells what is going on; as a solver's callback, how far it is.

    Parameters
    ----------
    show : callable
        Called with a text, and whether a new stage begins with it.
    """

    def __init__(self, show: Any) -> None:
        self._show = show
        self._score = ""

    def stage(self, text: str) -> None:
        """Begin a stage of the work."""
        self._show(text, True)

    def __call__(self, step: Any) -> None:
        """Show a step of a solver; never asks to stop."""
        text = f"iteration {step.n_iter}: objective {step.primal:.6g}"
        if step.gap == step.gap:
            text += f", gap {step.gap:.3g}"
        self._show(text + self._score, False)

    def held_out(self, step: Any, accuracy: float) -> None:
        """Note the accuracy on held-out data, which the steps show from now on."""
        self._score = f", held-out accuracy {accuracy:.2%}"


@contextmanager
def progress() -> Iterator[Progress]:
    """A progress display for the body of a ``with`` statement."""
    if not sys.stderr.isatty():
        yield Progress(_Lines())
        return
    from rich.console import Console
    from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = SpinnerColumn(), BarColumn(20), TextColumn("{task.description}"), TimeElapsedColumn()
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield Progress(lambda text, _: bar.update(task, description=text))


class _Lines:
    """Logs stages at once, and steps every few seconds."""

    def __init__(self) -> None:
        self._next = time.monotonic() + SECONDS_BETWEEN_LINES

    def __call__(self, text: str, is_stage: bool) -> None:
        now = time.monotonic()
        if is_stage or now >= self._next:
            self._next = now + SECONDS_BETWEEN_LINES
            log(text)


@contextmanager
def timed(seconds: dict[str, float], name: str) -> Iterator[None]:
    """Note under a name how long the body of a ``with`` statement took."""
    started = time.perf_counter()
    yield
    seconds[name] = time.perf_counter() - started
