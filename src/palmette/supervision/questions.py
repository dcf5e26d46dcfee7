"""What the learner asks."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Question:
    """Parts of one sample whose labels are asked for.

    Attributes
    ----------
    number : int
        Counts the questions of a learner from 0.
    sample : int
        Index in the pool.
    parts : tuple of int
        Positions in the output of the sample: tokens, nodes, documents; of a single label it is 0.
    score : float
        The uncertainty by which it was chosen, higher for more uncertain ones; NaN where it was drawn at random.
    reason : str
        The same in words.
    evaluation : bool
        Drawn at random to evaluate the model; the answer is never trained on.
    """

    number: int
    sample: int
    parts: tuple[int, ...]
    score: float
    reason: str
    evaluation: bool = False

    def as_event(self) -> dict[str, Any]:
        """As JSON values, which know no NaN."""
        return {**asdict(self), "score": None if math.isnan(self.score) else self.score}

    @classmethod
    def from_event(cls, event: dict[str, Any]) -> Question:
        """Inverse of :meth:`as_event`."""
        score = float("nan") if event["score"] is None else float(event["score"])
        return cls(**{**event, "parts": tuple(event["parts"]), "score": score})
