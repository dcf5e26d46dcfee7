"""Progress on standard error: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import os
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from threading import Thread
from typing import Any

from palmette.cli.output import log
from palmette.stages import heard_by

SECONDS_BETWEEN_LINES = 5.0
PATIENCE = 1.0  # seconds that a part lasts before it is told


class Progress:
    """Tells what is going on: a listener of `palmette.stages`, whose steps are those of solvers.

    Parameters
    ----------
    show : callable
        Called with a text, and what it is of: a ``"stage"``, a ``"part"`` of it, a ``"step"``, or the stage again at
        the ``"end"`` of a part.
    """

    def __init__(self, show: Callable[[str, str], object]) -> None:
        self._show = show
        self._stage = self._part = self._score = ""

    def stage(self, text: str) -> None:
        """Begin a stage of the work."""
        self._stage, self._part, self._score = text, "", ""
        self._show(text, "stage")

    def part(self, text: str) -> None:
        """Begin a part of a stage, or end one."""
        self._part, self._score = text, ""
        self._show(text or self._stage, "part" if text else "end")

    def __call__(self, step: Any) -> None:
        """Show a step of a solver; never asks to stop."""
        text = f"iteration {step.n_iter}: objective {step.primal:.6g}"
        if step.gap == step.gap:
            text += f", gap {step.gap:.3g}"
        text += self._score
        self._show(f"{self._part}: {text}" if self._part else text, "step")

    def held_out(self, step: Any, accuracy: float) -> None:
        """Note the accuracy on held-out data, which the steps show until another part begins."""
        self._score = f", held-out accuracy {accuracy:.2%}"


@contextmanager
def progress() -> Iterator[Progress]:
    """A progress display for the body of a ``with`` statement, whose work is heard."""
    if not sys.stderr.isatty():
        with closing(_Lines()) as lines:
            shown = Progress(lines.show)
            with heard_by(shown):
                yield shown
        return
    from rich.console import Console
    from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (
        SpinnerColumn(),
        BarColumn(20),
        TextColumn("{task.description}", markup=False),
        TimeElapsedColumn(),
    )
    # Results go above the bar where both are on one screen, and else where they belong.
    above = sys.stdout.isatty()
    with Bar(*columns, console=Console(stderr=True), transient=True, redirect_stdout=above) as bar:
        task = bar.add_task("", total=None)
        shown = Progress(lambda text, _: bar.update(task, description=text))
        with heard_by(shown):
            yield shown


def progress_beside(data: str, *, results: bool = False) -> AbstractContextManager[object]:
    """A progress display, unless a bar would run through what else is on the screen.

    Parameters
    ----------
    data : str
        A file, or ``-`` for what a person may be typing.
    results : bool
        Whether results go to standard output meanwhile: to the screen, or through a pipe that may end there.
    """
    typed = data == "-" and sys.stdin.isatty()
    spoilt = typed or (results and not _is_file(1))
    return nullcontext() if spoilt and sys.stderr.isatty() else progress()


def _is_file(descriptor: int) -> bool:
    try:
        return stat.S_ISREG(os.fstat(descriptor).st_mode)
    except OSError:  # closed
        return False


class _Lines:
    """Logs stages at once, their parts if they last, and steps every few seconds.

    A thread looks now and then whether a part lasts. Nothing is locked: Ctrl-C may come while a lock is held.
    """

    def __init__(self) -> None:
        self._next = time.monotonic() + SECONDS_BETWEEN_LINES
        self._last = ""
        self._waiting: tuple[str, float] | None = None  # a part, and when it has lasted
        self._open = True
        Thread(target=self._watch, daemon=True).start()

    def show(self, text: str, kind: str) -> None:
        self._waiting = None
        if kind == "end":
            return
        if kind == "stage" or time.monotonic() >= self._next:
            self._log(text)
        elif kind == "part":
            self._waiting = text, time.monotonic() + PATIENCE

    def close(self) -> None:
        """Nothing is waiting to be told any more."""
        self._open, self._waiting = False, None

    def _watch(self) -> None:
        while self._open:
            time.sleep(PATIENCE / 10)
            waiting = self._waiting
            if waiting is not None and time.monotonic() >= waiting[1]:
                self._waiting = None
                self._log(waiting[0])

    def _log(self, text: str) -> None:
        if not self._last.startswith(text):  # else the line before says it, and a part of it as well
            self._next, self._last = time.monotonic() + SECONDS_BETWEEN_LINES, text
            log(text)


@contextmanager
def timed(seconds: dict[str, float], name: str) -> Iterator[None]:
    """Note under a name how long the body of a ``with`` statement took."""
    started = time.perf_counter()
    yield
    seconds[name] = time.perf_counter() - started
