"""Inexact maxima: when a run requests better ones, and how it ends if they are not available."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator

from sklearn.exceptions import ConvergenceWarning

INEXACT = "inexact maxima"  # a reason to stop
NOT_KNOWN = "the maxima of the loss are not known more exactly"
REMEDY = (
    "The objective is proven with what the maxima may be at most. Increase tol, or make them exact: "
    "Graph(inference='exact') or a larger memory_limit, rescaling='margin'."
)


def limited(found: float, slack: float, lower: float, tol: float) -> bool:
    """Whether the gap is not closed, but would be if the maxima of the loss were what was found of them.

    ``found`` is the objective by the maxima found, ``found + slack`` by what they may be at most; up to half of the gap
    that is wanted may be slack, since more steps make up for it. Where this is true, a solver asks for better maxima
    (:func:`~palmette.objectives.problem.refine`) and looks at its best point again; where there are none, it ends
    (:data:`INEXACT`), since its own steps have nothing left to gain.
    """
    wanted = tol * abs(found + slack)
    return slack > 0.5 * wanted and found - lower <= wanted < found + slack - lower


@contextlib.contextmanager
def silent_inexact() -> Iterator[None]:
    """For a solver inside another one, which claims nothing about its end."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=f".*{NOT_KNOWN}", category=ConvergenceWarning)
        yield
