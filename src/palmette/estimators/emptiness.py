"""The warning for a fit with all weights at 0, where every output of a sample has the same score."""

from __future__ import annotations

from typing import Any

import numpy as np

from palmette.contracts.training import Encoded
from palmette.errors import EmptyModelWarning, warn_caller
from palmette.estimators.regularizers import regularizers
from palmette.estimators.strengths import column_variances


def tell_empty(model: Any, data: Encoded, result: Any, **names: str) -> None:
    """Warn if all weights are 0, and name what to try.

    Parameters
    ----------
    model : learner
    data : Encoded
        What it was fitted on.
    result : Result
    **names : str
        What the user calls the settings ``l1`` and ``l2``, if not so.
    """
    if np.any(result.w):
        return
    reason, remedy = _why(model, data, result, names)
    warn_caller(
        f"{type(model).__name__}: all {len(result.w)} weights are 0, so that the model has learnt nothing and its "
        f"{model.structure.words.outputs} come from ties alone: {reason}. {remedy}.",
        EmptyModelWarning,
    )


def _why(model: Any, data: Encoded, result: Any, names: dict[str, str]) -> tuple[str, str]:
    """The reason as far as it can be seen, and what to try."""
    classes, words = data.codec.classes_, model.structure.words
    if model.structure.labelled and len(classes) == 1:
        return f"y has one label only, {classes[0]!r}", "Give samples of other labels too"
    if not _vary(data):
        where = words.between_rows
        return f"no feature in X differs {where}", f"Give features that differ {where}"
    if not result.converged and result.step.n_iter <= 1:
        return f"the run ended after {result.step.n_iter} iterations ({result.reason})", "Let it run longer"
    if not hasattr(model, "l2"):
        return (
            "no sample was predicted wrongly on the way, ties included",
            "Give features that differ between labels, and samples of every label",
        )
    penalties = _penalties(model, names)
    check = f"and check that features differ {words.between_labels}"
    if words.hinge_remedy and getattr(model, "loss", None) == "hinge":
        return (
            "no weights improve the hinge loss of w = 0 by more than tol",
            f"Try {words.hinge_remedy}, {check}",
        )
    return (
        "no weights improve the objective of w = 0 by more than tol, at this penalty",
        f"Try a smaller {penalties}, {check}",
    )


def _penalties(model: Any, names: dict[str, str]) -> str:
    """The settings that hold weights at 0, the likeliest first."""
    found = [] if regularizers(model)[1] is None else ["GroupLasso"]
    if getattr(model, "l1", 0.0):
        found.append(names.get("l1", "l1"))
    if "l2" in names:
        found.append(names["l2"])
    else:
        found.append("l2 (a larger C)" if getattr(model, "C", None) is None else "l2, which is 1 / C")
    return " or ".join(found)


def _vary(data: Encoded) -> bool:
    """Whether a feature is not the same everywhere, or in all rows of a sample where only they are compared."""
    for rows, offsets in data.samples.batch.feature_tables():
        lengths = np.diff(offsets)
        weight = np.repeat(data.samples.weight, lengths)
        own = rows[int(offsets[0]) : int(offsets[-1])]
        if np.any(weight) and np.any(
            column_variances(own, weight, lengths if data.structure.compares_rows else None)
        ):
            return True
    return False
