"""Sequential minimal optimisation of max-margin Markov networks: the factored dual, two labelings at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from palmette.contracts.problem import SampledProblem
from palmette.errors import MissingCapability
from palmette.loops import find
from palmette.loops.block_state import Blocks, require_parts
from palmette.registry import register
from palmette.solvers.block_ascent import BlockAscent


@register("solver")
@dataclass(frozen=True)
class SMO(BlockAscent):
    r"""Maximise the factored dual of a max-margin Markov network by steps on pairs of labelings.

    The dual variables are the marginals ``mu_i`` of the nodes and edges of each sample, nothing else (B. Taskar,
    C. Guestrin and D. Koller, "Max-margin Markov networks", NIPS 2003), here with blocks that sum to 1:

        ``max_mu sum_i weight_i <cost_i, mu_i> - sum_j (l2_j / 2) w_j^2``,
        ``w = -(1 / l2) sum_i weight_i (counts of mu_i - true counts)``.

    A visit of sample i finds the labelings ``y1``, of highest ``f + D``, and ``y2``, of lowest ``f + D`` among those
    all of whose parts have ``mu > 0``. Where they differ in value the optimality conditions are violated, and mass

        ``v = min(weight (value(y1) - value(y2)) / |phi(y1) - phi(y2)|^2_{1/l2}, least mu of parts of y2 not in y1)``

    moves from ``y2`` to ``y1``, the first being the maximiser of the dual along that line. Marginals of forests that
    stay locally consistent are those of a distribution, so this is the exact dual; on a ``Graph`` the variables are the
    marginals of the cliques of its triangulation, which makes it exact for every shape. Certificate, order of visits
    and primal point are those of :class:`~palmette.solvers.frank_wolfe.FrankWolfe`, which is faster: it need not go
    through the marginals of all label pairs (8 bytes for each edge and label pair are kept here).

    Parameters
    ----------
    max_iter : int
        Epochs.
    tol : float
        Relative duality gap at which the run stops.
    """

    max_iter: int = 5000

    name: ClassVar[str] = "smo"

    def blocks_of(self, problem: SampledProblem) -> Blocks:
        """The fastest steps that serve a problem."""
        require_parts(problem, self.name)
        loop = find(self.name, problem)
        if loop is None:
            raise MissingCapability(
                f"smo has no dual variables for {problem.structure!r:.80}: use it with chains of order 1, Multiclass "
                "or Graph; use solver='frank_wolfe'"
            )
        return loop(problem)
