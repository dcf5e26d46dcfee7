"""How curved the log loss of packed chains is in every weight: the diagonal of its Hessian."""

from __future__ import annotations

from typing import Any

import numpy as np

from palmette.data.batch import SparseRows
from palmette.structures.positions.linear_scorer import LinearScorer
from palmette.surrogates.log import LogLoss


def has_diagonal(problem: Any) -> bool:
    """Whether ``hessian_diagonal`` serves this problem: the log loss of plain chains with sparse features."""
    plain = type(getattr(problem, "scorer", None)) is LinearScorer and type(problem.surrogate) is LogLoss
    return plain and problem.can_pack and isinstance(problem.samples.batch.rows, SparseRows)


def hessian_diagonal(problem: Any, w: np.ndarray) -> np.ndarray:
    """``h_j = sum_i c_i sum_t x_tj^2 p_t (1 - p_t)``: variances of the model at ``w``.

    ``p_t`` are marginals of labels (node weights) and label pairs (transitions) at the positions t of sample i. That
    is the diagonal of the Hessian of the data term but for the covariances between positions of a sample.

    Returns
    -------
    ndarray of shape (n_params,)
    """
    from palmette.structures.chain.kernels.packed_diagonal import diagonal_pass

    chains = problem.pack(float)
    packed, h = chains.pack_weights(w), chains.zeros()
    factor, transposed, _ = chains.edge_factors(packed)
    diagonal_pass(
        chains.inputs, packed, chains.base, factor, transposed, chains.offsets, problem.samples.weight,
        chains.n_labels, chains.width, h,
    )  # fmt: skip
    return chains.unpack(h)
