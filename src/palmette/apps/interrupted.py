"""Training that is stopped from outside hands over what it has learnt."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from palmette.apps.task import Application


class TrainingInterrupted(KeyboardInterrupt):
    """Training was stopped by Ctrl-C or by another signal.

    Parameters
    ----------
    application : Application
        With the best weights so far; it predicts and can be saved.
    signal : int
        The number of the signal.
    """

    def __init__(self, application: Application, signal: int) -> None:
        super().__init__(f"training was stopped by signal {signal}")
        self.application = application
        self.signal = signal


@contextmanager
def handing_over(application: Application) -> Iterator[None]:
    """Let a KeyboardInterrupt of the body carry the application whose model is fitted there, if it got that far."""
    try:
        yield
    except KeyboardInterrupt as stop:
        if not hasattr(application.model, "coef_"):
            raise
        raise TrainingInterrupted(application, getattr(stop, "signal", signal.SIGINT)) from stop
