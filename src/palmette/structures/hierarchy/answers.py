"""Answers about paths and subtrees of a tree, on packed batches: all are recurrences over one walk."""

from __future__ import annotations

from typing import Any

import numpy as np

from palmette.contracts.structure import Best, Expectation, Structure
from palmette.data.annotation import Known
from palmette.errors import InfeasibleError
from palmette.memory import check_size
from palmette.structures.hierarchy.tables import (
    HierarchyRestriction,
    HierarchyTables,
    NodeCodes,
    NodeCost,
    known_codes,
)
from palmette.structures.hierarchy.tree import Tree
from palmette.structures.hierarchy.walk import Walk
from palmette.structures.positions.checks import _weights


class HierarchyAnswers(Structure):
    """The answers of :class:`~palmette.Hierarchy`, given its tree and the walks over it."""

    @property
    def nodes(self) -> Tree:
        """The tree: that of ``classes_`` once the structure is bound to them, else the one that is given."""
        return self._bound[0]

    @property
    def _bound(self) -> tuple[Tree, Walk]:
        raise NotImplementedError

    # -- best ---------------------------------------------------------------------------------------------------

    def best(self, theta: Any, *, cost: Any = None, within: Any = None) -> Best:
        """Highest-scoring output of every sample; values include the cost."""
        return self._extreme(theta, cost, within, 1.0)

    def worst(self, theta: Any, *, cost: Any = None, within: Any = None) -> Best:
        """Lowest-scoring output of every sample; values include the cost."""
        return self._extreme(theta, cost, within, -1.0)

    def _extreme(self, theta: Any, cost: Any, within: Any, sign: float) -> Best:
        from palmette.structures.hierarchy.kernels.best import best_outputs

        arguments, constant = self._question(theta, cost, within, sign)
        codes, values = np.zeros(theta.node.shape, np.int32), np.empty(len(theta))
        best_outputs(*arguments, codes, values)
        _check_feasible(values)
        return Best(codes.ravel(), sign * values + constant)

    def k_best(
        self, theta: Any, k: int, *, cost: Any = None, within: Any = None
    ) -> list[list[tuple[np.ndarray, float]]]:
        """The k best distinct outputs of every sample, best first; fewer where fewer exist.

        Returns
        -------
        list of list of (codes, value)
        """
        from palmette.structures.hierarchy.kernels.best import k_best_outputs

        if not isinstance(k, int | np.integer) or isinstance(k, bool) or k < 1:
            raise ValueError(f"k must be an integer of at least 1, got {k!r}")
        arguments, constant = self._question(theta, cost, within)
        n, walk = theta.n_nodes, self._bound[1]
        k = int(min(k, walk.n_outputs))
        check_size(
            f"the {k:,} best outputs of {len(theta):,} samples in a tree of {n:,} nodes",
            k * (len(theta) * (4 * n + 150) + 50 * len(walk)),
            "ask for fewer of them (k, n, --nbest), or for fewer samples at a time",
        )
        codes, values = np.zeros((k, len(theta), n), np.int32), np.empty((len(theta), k))
        k_best_outputs(*arguments, codes, values)
        _check_feasible(values[:, 0])
        return [
            [(codes[q, s].copy(), float(v + constant[s])) for q, v in enumerate(values[s]) if v > -np.inf]
            for s in range(len(theta))
        ]

    def max_marginals(self, theta: Any, *, cost: Any = None, within: Any = None) -> NodeCodes:
        """Best value of an output without and with each node; -inf if there is none."""
        from palmette.structures.hierarchy.kernels.best import node_maxima

        arguments, constant = self._question(theta, cost, within)
        out = np.full((*theta.node.shape, 2), -np.inf)
        node_maxima(*arguments, out)
        _check_feasible(out[:, 0].max(axis=1))
        return NodeCodes((out + constant[:, None, None]).reshape(-1, 2))

    def min_risk(
        self, theta: Any, risk: np.ndarray | None = None, *, cost: Any = None, within: Any = None
    ) -> Best:
        """Output of least expected loss among the allowed ones; values are the expected losses.

        Parameters
        ----------
        risk : ndarray of shape (2, 2), optional
            ``risk[i, j]`` is the loss of a node with the code j where i is true; by default 1 unless i = j, the
            symmetric difference.
        """
        risk = 1.0 - np.eye(2) if risk is None else np.asarray(risk, float)
        if risk.shape != (2, 2):
            raise ValueError(f"risk has shape {risk.shape}, expected (2, 2)")
        chance = self.expectation(theta, cost=cost, within=within).counts.node[..., None]
        expected = chance * risk[1] + (1.0 - chance) * risk[0]
        nothing = HierarchyTables(np.where(np.isneginf(theta.node), -np.inf, 0.0), theta.offsets)
        return self.worst(nothing, cost=theta.position_cost(expected), within=within)

    # -- all ----------------------------------------------------------------------------------------------------

    def log_partition(self, theta: Any, *, cost: Any = None, within: Any = None) -> np.ndarray:
        """``log sum_y exp(f(y) + cost(y))`` over the allowed outputs of every sample."""
        from palmette.structures.hierarchy.kernels.sums import log_sums

        arguments, constant = self._question(theta, cost, within)
        log_z = np.empty(len(theta))
        log_sums(*arguments, log_z)
        _check_feasible(log_z)
        return log_z + constant

    def expectation(
        self, theta: Any, *, cost: Any = None, within: Any = None, weight: Any = None
    ) -> Expectation:
        """Log-partitions and expected counts in theta's shape; ``weight`` multiplies each sample's counts."""
        log_z, _, counts = self._sums(theta, cost, within, weight)
        return Expectation(log_z, counts)

    def marginals(self, theta: Any, *, cost: Any = None, within: Any = None) -> NodeCodes:
        """Probability that an output is without and with each node."""
        taken = self._sums(theta, cost, within, None)[2].node.ravel()
        return NodeCodes(np.stack([1.0 - taken, taken], axis=1))

    def part_marginals(self, theta: Any, *, within: Any = None) -> np.ndarray:
        """Probability that an output is without and with each node, shape (n_samples * n_nodes, 2)."""
        return self.marginals(theta, within=within).node

    def entropy(self, theta: Any, *, cost: Any = None, within: Any = None) -> np.ndarray:
        """Entropy (nats) of every sample's distribution ``p(y) ~ exp(f(y) + cost(y))``."""
        return np.maximum(self._sums(theta, cost, within, None)[1], 0.0)

    def _sums(
        self, theta: Any, cost: Any, within: Any, weight: Any
    ) -> tuple[np.ndarray, np.ndarray, HierarchyTables]:
        from palmette.structures.hierarchy.kernels.sums import expected_counts

        arguments, constant = self._question(theta, cost, within)
        log_z, entropy, counts = np.empty(len(theta)), np.empty(len(theta)), theta.zeros()
        expected_counts(*arguments, _weights(theta, weight), log_z, entropy, counts.node)
        _check_feasible(log_z)
        return log_z + constant, entropy, counts

    def sample(
        self, theta: Any, n_draws: int = 1, *, random_state: Any = None, cost: Any = None, within: Any = None
    ) -> np.ndarray:
        """Exact samples from ``p(y) ~ exp(f(y) + cost(y))``.

        Returns
        -------
        ndarray of int32, shape (n_draws, n_samples * n_nodes)
        """
        from palmette.structures.hierarchy.kernels.sums import draw_outputs

        arguments, _ = self._question(theta, cost, within)
        if n_draws < 0:
            raise ValueError(f"n_draws must be at least 0, got {n_draws}")
        uniform = np.random.default_rng(random_state).random((n_draws, *theta.node.shape))
        codes = np.zeros(uniform.shape, np.int32)
        bad = draw_outputs(*arguments, uniform, codes)
        if bad >= 0:
            raise _infeasible(int(bad))
        return codes.reshape(n_draws, -1)

    # -- given --------------------------------------------------------------------------------------------------

    def score(self, theta: Any, codes: Any, *, cost: Any = None, within: Any = None) -> np.ndarray:
        """Score plus cost of given outputs; -inf for one that the restriction forbids."""
        (node, *_), constant = self._question(theta, cost, within)
        codes = self._codes(theta, codes)
        values = np.where(codes == 1, node, 0.0).sum(axis=1) + constant
        return values if within is None else np.where(within.allows(codes), values, -np.inf)

    def log_proba(self, theta: Any, codes: Any, *, cost: Any = None, within: Any = None) -> np.ndarray:
        """Log-probability of given outputs under ``p(y) ~ exp(f(y) + cost(y))``."""
        value = self.score(theta, codes, cost=cost, within=within)
        return value - self.log_partition(theta, cost=cost, within=within)

    def count(self, theta: Any, codes: Any, *, weight: Any = None, into: Any = None) -> HierarchyTables:
        """Counts of given outputs in theta's shape, each sample's times its ``weight``; added to ``into`` if given."""
        theta.check(len(self.nodes))
        codes = self._codes(theta, codes)
        if into is None:
            into = theta.zeros()
        elif into.shapes != theta.shapes:
            raise ValueError(f"into has scores of shapes {into.shapes}, expected {theta.shapes}")
        into.node[...] += _weights(theta, weight)[:, None] * codes
        return into

    def agreeing(self, theta: Any, codes: Known) -> HierarchyRestriction:
        """The restriction to outputs that agree with an annotation of nodes."""
        return HierarchyRestriction.fixed(codes, len(self.nodes))

    def contradicting(self, theta: Any, codes: Known) -> HierarchyRestriction:
        """The restriction to outputs that differ from an annotation at a known node."""
        return HierarchyRestriction(contradicts=known_codes(codes, len(self.nodes)))

    # -- inside -------------------------------------------------------------------------------------------------

    def _question(
        self, theta: Any, cost: Any, within: Any, sign: float = 1.0
    ) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
        """What kernels ask, checked, and the constant of the cost."""
        tree, walk = self._bound
        for name, given, kind in (
            ("theta", theta, HierarchyTables), ("cost", cost, NodeCost), ("within", within, HierarchyRestriction),
        ):  # fmt: skip
            if given is not None and not isinstance(given, kind):
                raise TypeError(f"{name} must be {kind.__name__}, got {type(given).__name__}")
        theta.check(len(tree))
        node, constant = theta.node, np.zeros(len(theta))
        if cost is not None:
            cost.check(theta)
            node, constant = node + cost.node, cost.constant
        if sign != 1.0:
            node = np.where(np.isneginf(node), -np.inf, sign * node)
        may, known = np.empty((0, len(tree), 2), bool), np.empty((0, len(tree)), np.int64)
        if within is not None:
            within.check(theta)
            may = may if within.node is None else np.ascontiguousarray(within.node)
            if within.contradicts is not None:
                known = np.ascontiguousarray(within.contradicts, np.int64)
        return (node, may, known, *walk.arguments), constant

    def _codes(self, theta: Any, codes: Any) -> np.ndarray:
        """Given outputs as rows, checked."""
        found = np.ascontiguousarray(codes, np.int32)
        if found.shape != (theta.node.size,):
            raise ValueError(f"codes have shape {found.shape}, expected one per node, {(theta.node.size,)}")
        found = found.reshape(theta.node.shape)
        if np.any((found < 0) | (found > 1)):
            s, v = (int(k) for k in np.argwhere((found < 0) | (found > 1))[0])
            raise ValueError(f"sample {s}, node {v}: its code is {found[s, v]}, expected 0 or 1")
        return found


def _check_feasible(values: np.ndarray) -> None:
    bad = np.flatnonzero(~(values > -np.inf))
    if len(bad):
        raise _infeasible(int(bad[0]))


def _infeasible(sample: int) -> InfeasibleError:
    text = f"sample {sample}: no output of the tree satisfies the restriction; allow more of its nodes"
    return InfeasibleError(text, sample)
