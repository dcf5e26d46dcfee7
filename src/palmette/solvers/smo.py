"""Sequential minimal optimisation of max-margin Markov networks: the factored dual, two labelings at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from palmette.contracts.structure import require
from palmette.errors import MissingCapability
from palmette.solvers.block_ascent import BlockAscent
from palmette.structures.chain.loops.hinge_blocks import is_compiled
from palmette.structures.chain.loops.marginal_blocks import (
    ChainMarginals,
    Marginals,
    PackedMarginals,
    require_parts,
)
from palmette.structures.graph.graph import Graph
from palmette.structures.graph.loops.clique_blocks import CliqueBlocks, CliqueSet


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
    variables: ClassVar = (Marginals, CliqueSet)

    def blocks_of(self, problem: Any) -> tuple[Any, Any]:
        """The fastest steps that serve a problem, and the kind of variables they work on."""
        require_parts(problem, self.name)
        structure = problem.structure
        if is_compiled(problem):
            return PackedMarginals(problem), Marginals
        if type(structure) is Graph:
            return CliqueBlocks(problem), CliqueSet
        require(structure, ("worst",), user=self.name, remedy="Use solver='frank_wolfe'.")
        if getattr(structure, "order", None) != 1 or getattr(structure, "layout", None) not in (
            "sequences",
            "items",
        ):
            raise MissingCapability(
                f"smo has no dual variables for {structure!r:.80}: it serves chains of order 1, Multiclass and Graph; "
                "use solver='frank_wolfe'"
            )
        return ChainMarginals(problem), Marginals
