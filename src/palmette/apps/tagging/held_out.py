"""Held-out accuracy while a tagger learns."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

SHARE = 10  # scoring may take one part in so many of the time
SECONDS_BETWEEN = 3.0


class HeldOut:
    """A callback that scores held-out sentences now and then, as often as it costs little.

    Parameters
    ----------
    inputs, labels
        Held-out sentences, as the learner takes them; best encoded already.
    watch : callable
        Called with the step and the share of tokens labelled right.
    """

    sees_model = True

    def __init__(self, inputs: Any, labels: Any, watch: Callable[[Any, float], Any]) -> None:
        self._inputs, self._labels, self._watch = inputs, labels, watch
        self._next = 0.0

    def __call__(self, step: Any, model: Callable[[], Any]) -> None:
        """Score the model if it is time to."""
        started = time.monotonic()
        if started < self._next:
            return
        score = model().score(self._inputs, self._labels)
        now = time.monotonic()
        self._next = now + max(SECONDS_BETWEEN, SHARE * (now - started))
        self._watch(step, score)
