"""The warning for a fit with all weights at 0, where every output of a sample has the same score."""

from __future__ import annotations

from typing import Any

import numpy as np

from palmette.errors import EmptyModelWarning, warn_caller
from palmette.estimators.regularisation import regularizers
from palmette.estimators.strengths import column_variances
from palmette.estimators.training import Encoded

RANKINGS = (
    "PlackettLuce() or loss='ramp', which do not collapse to 0 on overlapping documents, or a smaller l2"
)


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
    what = "orders" if _ranks(model) else "predictions"
    warn_caller(
        f"{type(model).__name__}: all {len(result.w)} weights are 0, so that the model has learnt nothing and its "
        f"{what} come from ties alone: {reason}. {remedy}.",
        EmptyModelWarning,
    )


def _why(model: Any, data: Encoded, result: Any, names: dict[str, str]) -> tuple[str, str]:
    """The reason as far as it can be seen, and what to try."""
    classes = data.codec.classes_
    if not _ranks(model) and len(classes) == 1:
        return f"y has one label only, {classes[0]!r}", "Give samples of other labels too"
    where = "within a query" if _ranks(model) else "between positions"
    if not _vary(data, _ranks(model)):
        return f"no feature in X differs {where}", f"Give features that differ {where}"
    if not result.converged and result.step.n_iter <= 1:
        return f"the run ended after {result.step.n_iter} iterations ({result.reason})", "Let it run longer"
    if not hasattr(model, "l2"):
        return (
            "no sample was predicted wrongly on the way, ties included",
            "Give features that differ between labels, and samples of every label",
        )
    penalties = _penalties(model, names)
    vary = "within a query" if _ranks(model) else "between labels"
    check = f"and check that features differ {vary}"
    if _ranks(model) and getattr(model, "loss", None) == "hinge":
        return "no weights improve the hinge loss of w = 0 by more than tol", f"Try {RANKINGS}, {check}"
    return (
        "no weights improve the objective of w = 0 by more than tol, at this penalty",
        f"Try a smaller {penalties}, {check}",
    )


def _ranks(model: Any) -> bool:
    return not getattr(model.structure, "labelled", True)


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


def _vary(data: Encoded, within: bool) -> bool:
    """Whether a feature of positions or edges is not the same everywhere, or within a sample."""
    batch: Any = data.samples.batch
    parts = [(batch.rows[int(batch.offsets[0]) : int(batch.offsets[-1])], batch.lengths)]
    if getattr(batch, "edge_rows", None) is not None:
        parts.append((batch.edge_rows, np.diff(batch.layout.edge_offsets)))
    for rows, lengths in parts:
        weight = np.repeat(data.samples.weight, lengths)
        if np.any(weight) and np.any(column_variances(rows, weight, lengths if within else None)):
            return True
    return False
