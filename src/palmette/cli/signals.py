"""SIGTERM as an exception, so that what was learnt can be saved."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Terminated(KeyboardInterrupt):
    """A signal asked the process to end.

    Parameters
    ----------
    signal : int
        Its number.
    """

    def __init__(self, signal: int) -> None:
        super().__init__(f"signal {signal}")
        self.signal = signal


@contextmanager
def terminable() -> Iterator[None]:
    """Let SIGTERM raise `Terminated` in the body of a ``with`` statement; only the main thread gets signals."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _terminate(number: int, frame: FrameType | None) -> None:
    raise Terminated(number)


def number_of(stop: KeyboardInterrupt) -> int:
    """The signal behind an interrupt: that which it carries, else SIGINT."""
    return int(getattr(stop, "signal", signal.SIGINT))


def in_words(number: int) -> str:
    """What a signal did to the command."""
    return "interrupted" if number == signal.SIGINT else "terminated"
