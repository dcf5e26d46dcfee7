"""How curved the log loss of packed chains is in every weight: the diagonal of its Hessian."""

from __future__ import annotations

import numpy as np

from palmette.contracts.executor import State
from palmette.contracts.problem import SampledProblem
from palmette.data.batch import SparseRows
from palmette.loops.table import CompiledLoop, compiled_as
from palmette.structures.chain.loops.packed import packed, packs_plain


class PackedDiagonal(CompiledLoop):
    """``h_j = sum_i c_i sum_t x_tj^2 p_t (1 - p_t)``: variances of the model.

    ``p_t`` are marginals of labels (node weights) and label pairs (transitions) at the positions t of sample i. That
    is the diagonal of the Hessian of the data term but for the covariances between positions of a sample.
    """

    @classmethod
    def accepts(cls, problem: SampledProblem) -> bool:
        """The log loss of plain chains with sparse features."""
        sparse = isinstance(problem.samples.batch.rows, SparseRows)
        return sparse and compiled_as(problem.surrogate) == "log" and packs_plain(problem)

    def __call__(self, w: np.ndarray) -> np.ndarray:
        """The diagonal at ``w``, shape (n_params,)."""
        return self.problem.in_sequence(_diagonal, w)


def _diagonal(problem: SampledProblem, state: State, w: np.ndarray) -> np.ndarray:
    from palmette.structures.chain.kernels.packed_diagonal import diagonal_pass

    chains = packed(problem, float)
    weights, h = chains.pack_weights(w), chains.zeros()
    factor, transposed, _ = chains.edge_factors(weights)
    room = chains.rows_of_longest(3)
    diagonal_pass(chains.view(problem.samples), weights, factor, transposed, *room, h)
    return chains.unpack(h)
