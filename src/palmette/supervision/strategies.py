"""How questions are chosen: a measure of uncertainty by name, chance, or a function of the user's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from palmette.supervision.expectations import (
    ExpectedModelChange,
    ExpectedPredictionChange,
    LeastConfidence,
    TokenEntropy,
)
from palmette.supervision.margins import BestVsSecond, BestVsWorst, Scoring
from palmette.supervision.measures import STRATEGIES, Strategy, strategy

__all__ = [
    "STRATEGIES", "BestVsSecond", "BestVsWorst", "ExpectedModelChange", "ExpectedPredictionChange", "Given",
    "LeastConfidence", "Random", "Scoring", "Strategy", "TokenEntropy", "resolve_strategy", "strategy",
]  # fmt: skip


@strategy("random")
class Random(Strategy):
    """``q ~ uniform(0, 1)``: nothing is computed."""

    part_needs = ()

    def reason(self, key: float, unit: str) -> str:
        """There is none."""
        return "drawn at random"


class Given(Strategy):
    """A function of the user's: ``function(model, encoded)`` returns keys of all samples, or of all parts."""

    name = "function"

    def __init__(self, function: Callable[[Any, Any], Any]) -> None:
        self.function = function

    def reason(self, key: float, unit: str) -> str:
        """The value."""
        return f"{getattr(self.function, '__name__', 'the given function')} is {key:.3g}"


def resolve_strategy(given: Any) -> Strategy:
    """A measure from its name, from a measure, or from a function.

    >>> resolve_strategy("random").name
    'random'
    """
    if isinstance(given, Strategy):
        return given
    if callable(given):
        return Given(given)
    if given not in STRATEGIES:
        raise ValueError(
            f"strategy={given!r} is unknown; the measures are {', '.join(STRATEGIES)}, or give a function of model and "
            "encoded pool"
        )
    return STRATEGIES[given]()
