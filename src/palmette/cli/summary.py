"""Facts of a training in words, whatever was trained."""

from __future__ import annotations

import math
from typing import Any


def fit_facts(model: Any) -> dict[str, Any]:
    """How far a solver came, and why it stopped."""
    result = model.result_
    return {
        "iterations": result.step.n_iter,
        "objective": result.primal,
        "gap": result.gap,
        "converged": bool(result.converged),
        "reason": result.reason,
    }


def outcome_rows(record: dict[str, Any]) -> list[list[str]]:
    """Rows for objective, iterations and seconds.

    A perceptron has no optimum to reach: it takes so many epochs, or stops before.

    >>> record = {"objective": 2.0, "gap": 0.5, "iterations": 7, "converged": True, "reason": "gap",
    ...           "seconds": {"solve": 1.0}, "algorithm": "crf"}
    >>> outcome_rows(record)[0]
    ['objective', '2, at most 0.5 (2.5e-01 of it) above the optimum']
    >>> outcome_rows(record | {"algorithm": "perceptron", "converged": False, "reason": "max_iter"})[1]
    ['iterations', '7 epochs (its limit)']
    """
    n = record["iterations"]
    if record["algorithm"] == "perceptron":
        count = f"{n} epoch" if n == 1 else f"{n} epochs"
        by = "" if record["reason"] == "max_iter" else f", stopped by {record['reason']}"
        end = f"{count}{by or ' (its limit)'}"
    else:
        stop = (
            f"stopped by {record['reason']}" if record["converged"] else f"NOT CONVERGED: {record['reason']}"
        )
        end = f"{n}, {stop}"
    objective = record["objective"]
    shown = [["objective", f"{objective:.8g}{above_optimum(record['gap'], objective)}"]]
    return [
        *([] if math.isnan(objective) else shown),  # of several models as one it is not known
        ["iterations", end],
        ["seconds", ", ".join(f"{name} {value:.1f}" for name, value in record["seconds"].items())],
    ]


def count_of_weights(record: dict[str, Any]) -> str:
    """How many weights there are, and how many of them are 0."""
    zeros = record["weights"] - record["nonzero_weights"]
    return f"{record['weights']:,} weights" + (f" ({zeros:,} of them 0)" if zeros else "")


def above_optimum(gap: float, objective: float) -> str:
    """How far the objective may be above the optimum, in words; nothing is proven where the gap is NaN."""
    if math.isnan(gap):
        return ""
    gap = max(gap, 0.0)  # below 0 by rounding only
    share = f" ({gap / abs(objective):.1e} of it)" if objective else ""
    return f", at most {gap:.4g}{share} above the optimum"


def size_in_words(n_bytes: int) -> str:
    """The size of a file.

    >>> size_in_words(2048), size_in_words(3 * 2**20)
    ('2.0 kB', '3.0 MB')
    """
    return f"{n_bytes / 2**10:.1f} kB" if n_bytes < 2**20 else f"{n_bytes / 2**20:.1f} MB"
