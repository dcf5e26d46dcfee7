"""Block-coordinate pairwise Frank-Wolfe: the dual of the structured hinge, one sample at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from palmette.contracts.problem import SampledProblem
from palmette.loops import find
from palmette.loops.block_state import Blocks
from palmette.loops.hinge_blocks import GenericBlocks
from palmette.registry import register
from palmette.solvers.block_ascent import BlockAscent


@register("solver")
@dataclass(frozen=True)
class FrankWolfe(BlockAscent):
    """Maximise the dual of ``sum_i hinge_i(w) + sum_j l2_j/2 w_j^2`` block by block.

    With ``mu_i`` a distribution over the outputs of sample i, the dual is
    ``sum_i weight_i E_mu_i[loss] - sum_j (l2_j / 2) w_j^2``. A visit of sample i finds the augmented best output and
    moves mass to the best active output from the worst one by exact steps; samples with small gaps are visited every
    third epoch only. The gap between objective and dual is exact, computed by a full pass when the sum of the
    block gaps seen in an epoch says that it is worth it, and at least every ``check_every`` epochs. The primal point
    is the better of the current weights and the running mean of those of the last epochs.

    Graphs whose best labels are not known exactly (``Graph`` beyond its ``memory_limit``) have the relaxed dual: the
    active set then holds vertices of the local polytope, perhaps fractional ones, which a linear program finds.

    Parameters
    ----------
    max_iter : int
        Epochs.
    tol : float
        Relative duality gap at which the run stops.
    """

    name: ClassVar[str] = "frank_wolfe"

    def blocks_of(self, problem: SampledProblem) -> Blocks:
        """The fastest visits that serve a problem."""
        loop = find(self.name, problem) or GenericBlocks
        return loop(problem)
