"""When to stop asking: the average uncertainty of what is left does not change any more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


def trimmed_mean(values: Sequence[float] | np.ndarray, trim: float = 0.1) -> float:
    """Mean of the values between the quantiles ``trim`` and ``1 - trim``, both included.

    >>> trimmed_mean([0.0, 1.0, 2.0, 3.0, 100.0])
    2.0
    """
    found = np.asarray(values, float)
    low, high = np.quantile(found, [trim, 1.0 - trim])
    kept = found[(found >= low) & (found <= high)]
    return float((kept if len(kept) else found).mean())


@dataclass(frozen=True)
class StoppingRule:
    """Stop when the trimmed mean of the average uncertainty changes by at most ``tol`` from one query to the next.

    ``eta = |mean(q_2..q_{T+1}) - mean(q_1..q_T)|`` over the last ``T + 1`` averages, where ``mean`` leaves out what is
    below the quantile ``trim`` or above ``1 - trim`` (Laws and Schuetze 2008; Vlachos 2008).

    Parameters
    ----------
    window : int, default=80
        T, the number of queries that a mean is over.
    tol : float, default=1e-4
    trim : float, default=0.1
        Share left out at either end, from 0 to below 0.5.

    Examples
    --------
    >>> rule = StoppingRule(window=3, tol=0.01)
    >>> rule.change([0.9, 0.5, 0.4]), rule.stops([0.9, 0.5, 0.4, 0.4, 0.4, 0.4])
    (inf, True)
    """

    window: int = 80
    tol: float = 1e-4
    trim: float = 0.1

    def __post_init__(self) -> None:
        if not isinstance(self.window, int) or self.window < 1:
            raise ValueError(f"StoppingRule: window must be an integer of at least 1, got {self.window!r}")
        if not self.tol >= 0:
            raise ValueError(f"StoppingRule: tol must be at least 0, got {self.tol!r}")
        if not 0 <= self.trim < 0.5:
            raise ValueError(f"StoppingRule: trim must be from 0 to below 0.5, got {self.trim!r}")

    def change(self, averages: Sequence[float]) -> float:
        """``eta`` of a sequence of averages; infinite while there are fewer than ``window + 1``."""
        if len(averages) <= self.window:
            return float("inf")
        last = averages[-self.window - 1 :]
        return abs(trimmed_mean(last[1:], self.trim) - trimmed_mean(last[:-1], self.trim))

    def stops(self, averages: Sequence[float]) -> bool:
        """Whether ``eta <= tol``."""
        return self.change(averages) <= self.tol
