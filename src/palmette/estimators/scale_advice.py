"""The warning for a fit that did not converge on columns of very different scale."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from palmette.errors import warn_caller
from palmette.solvers.driver import ASKED
from palmette.solvers.scaling import column_squares

UNEQUAL = 1e3  # ratio of sizes that slows dual methods and cutting planes down
NAMED = 3  # columns named at most


def advise_scaling(data: Any, result: Any) -> None:
    """Warn and name the columns, if a run did not converge and the columns differ in size by more than 1,000."""
    if result.converged or result.reason in ASKED:
        return
    squares, rows = column_squares(data.samples.batch, data.samples.weight)
    # indicators (flags, transitions, intercepts) have 1
    size = np.sqrt(np.where(squares > 0.0, squares / rows, 1.0))
    ratio = max(size.max(initial=1.0), 1.0) / min(size.min(initial=1.0), 1.0)
    if ratio <= UNEQUAL:
        return
    distance = np.abs(np.log10(size))
    odd = np.argsort(-distance)[: np.count_nonzero(distance >= 0.5 * np.log10(UNEQUAL))]
    names = data.encoder.feature_names
    shown = [f"{a if names is None else names[a]!r} ({size[a]:.2g})" for a in odd[:NAMED].tolist()]
    more = f" and {len(odd) - NAMED} more" if len(odd) > NAMED else ""
    warn_caller(
        f"the fit did not converge, and columns differ in size by a factor of {ratio:.1g} (root mean square of "
        f"column {', '.join(shown)}{more}; indicators have 1): scale them, for example by "
        "sklearn.preprocessing.StandardScaler",
        ConvergenceWarning,
    )
