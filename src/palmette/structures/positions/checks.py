"""What every answer checks: given outputs and weights before, and that there is an output, after."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from palmette.contracts.structure import Structure
from palmette.errors import InfeasibleError
from palmette.memory import check_size
from palmette.structures.positions.tables import ChainTables

RESTRICTION = "the restriction; allow more labels or pairs"


def _codes(theta: ChainTables, codes: Any) -> np.ndarray:
    """Given outputs as kernels read them: one known label per row."""
    codes = np.ascontiguousarray(codes, np.int32)
    if codes.shape != (len(theta.node),):
        raise ValueError(f"codes have shape {codes.shape}, expected one per row, {(len(theta.node),)}")
    wrong = np.flatnonzero((codes < 0) | (codes >= theta.n_labels))
    if len(wrong):
        row = int(wrong[0])
        raise ValueError(f"codes[{row}] = {codes[row]} is not a label; expected 0..{theta.n_labels - 1}")
    return codes


def how_many(k: int, theta: Any, states: int, n_bytes: int) -> int:
    """How many best outputs to look for: k, or as many as there can be; refused where they do not fit into memory.

    ``states`` of each position are kept for every one of them, ``n_bytes`` each.
    """
    if not isinstance(k, Integral) or isinstance(k, bool):
        raise ValueError(f"k must be an integer, got {k!r}")
    if k < 1:
        raise ValueError(f"k must be at least 1, got {k}")
    rows, samples = len(theta.node), len(theta.offsets) - 1
    longest = int(np.diff(theta.offsets).max(initial=0))
    most = max(states, 1) ** min(longest, 64)  # k is below 2^64, and so many outputs are enough
    k = int(min(k, most))
    check_size(
        f"the {k:,} best outputs of {samples:,} samples, the longest of {longest:,} positions",
        k * (8 * rows + 150 * samples + n_bytes * longest * states),
        "ask for fewer of them (k, n, --nbest), or for fewer samples at a time",
    )
    return k


def _weights(theta: ChainTables, weight: Any) -> np.ndarray:
    """One weight per sample; 1 by default."""
    if weight is None:
        return np.ones(len(theta))
    weight = np.ascontiguousarray(weight, float)
    if weight.shape != (len(theta),):
        raise ValueError(f"weight has shape {weight.shape}, expected one per sample, {(len(theta),)}")
    return weight


def _check_feasible(values: np.ndarray, theta: Any, structure: Structure | None = None) -> None:
    bad = np.flatnonzero(~(values > -np.inf))  # NaN is not an answer either
    if len(bad):
        raise _infeasible(int(bad[0]), theta, structure)


def _infeasible(sample: int, theta: Any, structure: Structure | None = None) -> ValueError:
    """Why a sample has no output: scores overflowed, or the restriction or the structure's ``_limit`` leaves none."""
    start, stop = theta.offsets[sample : sample + 2].tolist()
    own = None if hasattr(theta, "number") else sample
    sample = theta.number(sample) if own is None else sample
    if not (np.all(theta.node[start:stop] < np.inf) and np.all(theta.edge < np.inf)):
        return ValueError(
            f"sample {sample} (length {stop - start}): its scores are NaN or infinite, since feature values or weights "
            "are too large; scale the features to values around 1 and fit again"
        )
    limit = getattr(structure, "_limit", RESTRICTION)
    return InfeasibleError(f"sample {sample} (length {stop - start}): no output satisfies {limit}", own)


def _expected_losses(node: np.ndarray, risk: np.ndarray | None) -> np.ndarray:
    """Expected loss of answering each label, from the marginals of rows (rows, labels) and ``risk[true, answer]``."""
    n_labels = node.shape[1]
    risk = 1.0 - np.eye(n_labels) if risk is None else risk
    if np.shape(risk) != (n_labels, n_labels):
        raise ValueError(f"risk has shape {np.shape(risk)}, expected {(n_labels, n_labels)}")
    # Summed label by label, since a matrix product may round a row differently in another batch.
    return np.asarray(sum(np.multiply.outer(node[:, i], risk[i]) for i in range(n_labels)))
