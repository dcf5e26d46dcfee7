"""The start of direct descent on a non-convex loss: not zero, where such losses are flat or have many ties."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from palmette.contracts.structure import Structure
from palmette.objectives.problem import first_point, is_convex
from palmette.solvers.bundle import Bundle
from palmette.solvers.cccp import SCALES, best_scale

ROUGHLY = Bundle(max_iter=100, tol=1e-2)


class Start(NamedTuple):
    """First weights, and the passes over the data that it took to find them."""

    w: np.ndarray
    n_oracle: float


def first_weights(problem: Any, w0: np.ndarray | None, *, scaled: bool = True) -> Start:
    """``w0`` if given, and zero for convex and for smooth losses.

    For a difference of convex losses these are the weights provided by the structure (``first_weights``; best scaled,
    unless ``scaled`` is false because the caller sets their length), else a rough minimiser of the convex part, where
    the penalty leaves one.
    """
    structure: Structure | None = getattr(problem, "structure", None)
    if w0 is not None or is_convex(problem) or getattr(problem, "smooth", False):
        return Start(first_point(problem, w0), 0.0)
    if structure is not None and structure.can("first_weights"):
        w = structure.first_weights(problem.scorer, problem.samples)
        return Start(best_scale(problem, w), float(len(SCALES))) if scaled else Start(w, 0.0)
    convex_part = getattr(getattr(problem, "surrogate", None), "convex_part", None)
    if convex_part is None or not problem.regularizer.quadratic:
        return Start(first_point(problem, None), 0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the minimum itself is not what is wanted
        result = ROUGHLY.solve(problem.with_surrogate(convex_part))
    return Start(result.w, float(result.step.n_oracle))
