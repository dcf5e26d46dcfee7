"""Who is told that kernels are being compiled. Imports no Numba: a command asks before any kernel is loaded."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable

PATIENCE = 1.0
"""Seconds of compiling in one process before anyone is told."""


def say_compiling() -> None:
    """One line on standard error, unless ``PALMETTE_QUIET`` is set."""
    if sys.stderr is not None and os.environ.get("PALMETTE_QUIET", "") in ("", "0"):
        print(
            "palmette: compiling, at the first use only ('palmette warmup' does it ahead; PALMETTE_QUIET=1 hides this)",
            file=sys.stderr,
            flush=True,
        )


_told: list[Callable[[], None]] = [say_compiling]


def when_compiling(tell: Callable[[], None] | None) -> None:
    """Call ``tell`` once, if this process compiles kernels for longer than a moment instead of finding them cached.

    Without a call of this function, :func:`say_compiling` is told. ``None``: nobody is.
    """
    _told[:] = [] if tell is None else [tell]


class CompileClock:
    """A listener of Numba's events ``numba:compile``. Events nest, since a kernel compiles those that it calls."""

    def __init__(self, patience: float = PATIENCE) -> None:
        self.left = patience
        self.depth = 0
        self.started = 0.0
        self.timer = threading.Timer(0.0, _tell)

    def notify(self, event: object) -> None:
        """Numba tells that a kernel begins or ends to be compiled."""
        if not _told:
            return
        starts = bool(event.is_start)  # type: ignore[attr-defined]
        self.depth = max(self.depth + (1 if starts else -1), 0)
        if starts and self.depth == 1:
            self.started = time.perf_counter()
            self.timer = threading.Timer(max(self.left, 0.0), _tell)
            self.timer.daemon = True
            self.timer.start()
        elif not starts and self.depth == 0:
            self.timer.cancel()
            self.left -= time.perf_counter() - self.started


def _tell() -> None:
    if _told:
        _told.pop()()
