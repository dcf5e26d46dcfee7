"""What every answer checks: given outputs and weights before, and that there is an output, after."""

from __future__ import annotations

import numpy as np

from ramify.errors import InfeasibleError
from ramify.structures.tables import ChainTables


def _codes(theta: ChainTables, codes) -> np.ndarray:
    """Given outputs as kernels read them: one known label a row."""
    codes = np.ascontiguousarray(codes, np.int32)
    if codes.shape != (len(theta.node),):
        raise ValueError(f"codes have shape {codes.shape}, expected one a row, {(len(theta.node),)}")
    wrong = np.flatnonzero((codes < 0) | (codes >= theta.n_labels))
    if len(wrong):
        row = int(wrong[0])
        raise ValueError(f"codes[{row}] = {codes[row]} is no label; expected 0..{theta.n_labels - 1}")
    return codes


def _weights(theta: ChainTables, weight) -> np.ndarray:
    """One weight a sample; 1 by default."""
    if weight is None:
        return np.ones(len(theta))
    weight = np.ascontiguousarray(weight, float)
    if weight.shape != (len(theta),):
        raise ValueError(f"weight has shape {weight.shape}, expected one a sample, {(len(theta),)}")
    return weight


def _check_feasible(values: np.ndarray) -> None:
    bad = np.flatnonzero(np.isneginf(values))
    if len(bad):
        raise _infeasible(int(bad[0]))


def _infeasible(sample: int) -> InfeasibleError:
    return InfeasibleError(
        f"sample {sample}: no output satisfies the restriction; allow more labels or label pairs there"
    )
