"""One bound of a report, or why there is none."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np


class DoesNotApplyError(Exception):
    """Why a bound says nothing of a model; the message is what a report shows."""


@dataclass(frozen=True)
class Bound:
    """A bound of a model.

    Attributes
    ----------
    quantity : str
        What it bounds.
    value : float
        The bound; NaN where it does not apply.
    training : float
        The quantity, or the term of the bound that stands for it, on the training data.
    worst : float
        What the quantity can be at most. A bound that is not below says nothing: it is *vacuous*.
    held_out : float
        The quantity on held-out data; NaN without any.
    given : dict of str to float
        All numbers that it was computed from.
    note : str
        What a reader must know, such as that it is a formula as printed.
    why_not : str
        Why it does not apply, or which argument it asks for; empty if it was computed.
    name : str
        The result that it is, such as ``"max-margin (M3N, Theorem 6.1)"``.
    """

    quantity: str
    value: float = np.nan
    training: float = np.nan
    worst: float = np.inf
    held_out: float = np.nan
    given: dict[str, Any] = field(default_factory=dict)
    note: str = ""
    why_not: str = ""
    name: str = ""

    @property
    def applies(self) -> bool:
        """Whether it was computed."""
        return not self.why_not

    @property
    def vacuous(self) -> bool:
        """Whether it says no more than what the quantity can be at most."""
        return self.applies and not self.value < self.worst

    @property
    def verdict(self) -> str:
        """``"vacuous"``, ``"holds"`` or ``"FAILS"`` against the held-out value, or ``"does not apply"``."""
        if not self.applies:
            return "does not apply"
        if self.vacuous:
            return "vacuous"
        return (
            ""
            if np.isnan(self.held_out)
            else "holds"
            if self.held_out <= self.value * (1.0 + 1e-9)
            else "FAILS"
        )

    def to_dict(self) -> dict[str, Any]:
        """All of it for JSON."""
        names = ("name", "quantity", "value", "training", "worst", "held_out", "given", "note", "why_not")
        return {name: getattr(self, name) for name in names} | {
            "vacuous": self.vacuous,
            "verdict": self.verdict,
        }
