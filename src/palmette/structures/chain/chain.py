"""Label sequences with dependencies between neighbours, of first or second order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from types import MappingProxyType
from typing import Any

import numpy as np

from palmette.contracts.structure import Best, Expectation, Structure
from palmette.contracts.training import Encoded, WeightOptions
from palmette.registry import register
from palmette.structures.chain.contradiction import with_contradiction, without_flag
from palmette.structures.positions.checks import (
    _check_feasible,
    _codes,
    _expected_losses,
    _infeasible,
    _weights,
    how_many,
)
from palmette.structures.positions.edge_features import select_columns
from palmette.structures.positions.edge_scorer import EdgeScorer
from palmette.structures.positions.labelled import LabelledPositions, differ
from palmette.structures.positions.parts import ROW_ENCODERS
from palmette.structures.positions.tables import ChainTables, Restriction, combine


@register("structure")
class Chain(LabelledPositions):
    """Linear chains: one label per position, one potential per position and a pair (or triple) of neighbours.

    The score of a label sequence ``y_1..y_n`` is ``sum_t node[t, y_t] + sum_t edge[t, y_t, y_{t+1}]``, in chains of
    second order ``+ sum_t triple[t, y_t, y_{t+1}, y_{t+2}]``. With K labels, inference takes O(K^2) per position, in
    second order O(K^3).

    Parameters
    ----------
    order : {1, 2}, default=1
        1: learners have weights for label pairs; 2: for pairs and triples. Inference follows the tables it is given.
    allowed : None, str, list of pairs, or tables, default=None
        Which labels may follow each other, in training and in prediction:

        * the name of a span encoding of :mod:`palmette.data.span_encodings` (``"IOB2"``, ``"IOBES"``, ``"BMES"``, ...):
          the transitions valid in it, start and end included;
        * pairs ``(left, right)`` of labels; ``(None, label)`` allows a start and ``(label, None)`` an end, and without
          any such pair every label is allowed there;
        * a bool array (labels, labels), or :class:`palmette.data.Transitions`, in the order of ``classes_``.

        Label names are known only from the data, so learners :meth:`bind` the structure to them.

    Every operation takes a packed batch (:class:`~palmette.structures.ChainTables`), takes ``cost=`` (tables
    added to the potentials) and ``within=`` (a :class:`~palmette.structures.Restriction`), and releases the
    GIL. Among equally good outputs the one with the lexicographically lowest codes wins.

    Examples
    --------
    >>> import numpy as np
    >>> from palmette.structures.positions.tables import ChainTables
    >>> theta = ChainTables(np.array([[1., 0.], [0., 0.5]]), np.array([[[2., 0.], [0., 2.]]]), np.array([0, 2]))
    >>> Chain().best(theta).codes, Chain().best(theta).values
    (array([0, 0], dtype=int32), array([3.]))
    """

    part_kinds = MappingProxyType(
        {"codec": ("labels",), "encoder": ROW_ENCODERS, "scorer": ("linear", "edges")}
    )
    compiled_as = "chain"
    # Whether single edges can be dropped and leave labels (regularizers.Decomposition); a subclass says so anew, too.
    removable_edges = True

    order: int

    def __init__(self, order: int = 1, allowed: Any = None) -> None:
        self.order = order
        self.allowed = allowed

    def bind(self, classes: Sequence[Any]) -> Chain:
        """The same structure for the labels ``classes``, whose codes are their places; ``allowed`` is obeyed from here.

        >>> bound = Chain(allowed="IOB2").bind(["B", "I", "O"])
        >>> flat = ChainTables(np.zeros((2, 3)), np.zeros((1, 3, 3)), np.array([0, 2]))
        >>> len(bound.k_best(flat, 9)[0])  # not I., and not OI
        5
        """
        if self.order not in (1, 2):
            raise ValueError(f"Chain: order must be 1 or 2, got {self.order!r}")
        if self.allowed is None:
            return self
        from palmette.structures.chain.constrained import ConstrainedChain

        return ConstrainedChain(self, classes)

    def adds(self, other: Structure) -> bool:
        """Whether potentials of the other structure have this shape, too."""
        return isinstance(other, Chain) and other.layout == self.layout

    def make_scorer(self, data: Encoded, options: WeightOptions) -> Any:
        """Weights of features, labels and label pairs; edge features and triples on top of them.

        Label pairs that the structure forbids have none.
        """
        scorer = self._linear_scorer(data, options)
        chosen = select_columns(options.edge_features, data.encoder)
        if chosen is not None and not self.has_edges:
            raise ValueError(f"edge_features need the edges of a Chain; {type(self).__name__} has none")
        possible = None if self.rules is None else self.rules.transition
        if possible is not None:
            scorer = replace(scorer, pairs=np.intersect1d(scorer.pairs, np.flatnonzero(possible)))
        if chosen is None and self.order == 1:
            return scorer
        columns, only_edges = (None, False) if chosen is None else chosen
        return EdgeScorer.extending(
            scorer, data.samples.batch, data.samples.codes, states=options.states_of(data.encoder.named),
            transitions=options.label_pairs, order=self.order, edge_columns=columns, only_edges=only_edges,
            possible=possible,
        )  # fmt: skip

    def neighbour_cost(self, theta: Any, node: np.ndarray, pair: np.ndarray) -> ChainTables:
        """Costs of codes at positions (n_rows, n_labels) and of the codes of neighbours (n_edges, n_labels, n_labels).

        >>> import numpy as np
        >>> theta = ChainTables(np.zeros((3, 2)), np.zeros((1, 2, 2)), np.array([0, 3]))
        >>> cost = Chain().neighbour_cost(theta, np.zeros((3, 2)), np.array([[[0.0, 1.0], [0.0, 0.0]], np.eye(2)]))
        >>> Chain().best(theta, cost=cost).codes
        array([0, 1, 1], dtype=int32)
        """
        return ChainTables(np.ascontiguousarray(node), np.ascontiguousarray(pair), theta.offsets)

    def _combine(self, theta: Any, cost: Any, within: Any, sign: float = 1.0) -> ChainTables:
        """Potentials with cost and restriction inside."""
        if self.allowed is not None:
            raise ValueError(
                f"Chain(allowed={self.allowed!r:.60}) speaks of labels, and codes have no names: ask "
                "bind(classes), with the labels in the order of their codes"
            )
        return combine(theta, cost, within, sign)

    def _prepare(self, theta: Any, cost: Any, within: Any, sign: float = 1.0) -> tuple[ChainTables, bool]:
        """Tables for the kernels, and whether labels carry the contradiction flag."""
        tables = self._combine(theta, cost, within, sign)
        if within is not None and within.contradicts is not None:
            return with_contradiction(tables, within.contradicts), True
        return tables, False

    # -- best ---------------------------------------------------------------------------------------------------

    def best(self, theta: ChainTables, *, cost: Any = None, within: Restriction | None = None) -> Best:
        """Highest-scoring labels of every sample; values include the cost."""
        return self._extreme(theta, cost, within, sign=1.0)

    def worst(self, theta: ChainTables, *, cost: Any = None, within: Restriction | None = None) -> Best:
        """Lowest-scoring labels of every sample; values include the cost."""
        return self._extreme(theta, cost, within, sign=-1.0)

    def _extreme(self, theta: Any, cost: Any, within: Any, sign: Any) -> Best:
        tables, flagged = self._prepare(theta, cost, within, sign)
        codes, values = np.empty(len(tables.node), np.int32), np.empty(len(tables))
        if len(tables):
            _kernels("max", tables).best_paths(*tables.arguments, codes, values)
        _check_feasible(values, tables, self)
        return Best(codes // 2 if flagged else codes, sign * values)

    def k_best(
        self, theta: Any, k: int, *, cost: Any = None, within: Any = None
    ) -> list[list[tuple[np.ndarray, float]]]:
        """The k best distinct outputs of every sample, best first; fewer where fewer exist.

        Returns
        -------
        list of list of (codes, value)
        """
        tables, flagged = self._prepare(theta, cost, within)
        states = tables.n_labels if tables.triple is None else tables.n_labels**2
        k = how_many(k, tables, states, 16)
        if not len(tables):
            return []
        paths = np.empty((k, len(tables.node)), np.int32)
        values = np.empty((len(tables), k))
        _kernels("max", tables).k_best_paths(*tables.arguments, k, paths, values)
        _check_feasible(values[:, 0], tables, self)
        if flagged:
            paths //= 2
        offsets = tables.offsets
        return [
            [
                (paths[r, offsets[s] : offsets[s + 1]].copy(), float(values[s, r]))
                for r in range(k)
                if values[s, r] > -np.inf
            ]
            for s in range(len(tables))
        ]

    def best_by_level(
        self,
        theta: ChainTables,
        steps: np.ndarray,
        top: np.ndarray,
        gain: np.ndarray,
        bonus: np.ndarray,
        base: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """``argmax_y gain[c] (f(y) - base) + bonus[c]`` where c, an integer, is what y costs in all.

        Parameters
        ----------
        steps : ndarray of int64, shape (n_rows, n_labels)
            What each label costs at each position, at least 0.
        top : ndarray of int64, shape (n_samples,)
            Largest c of each sample; outputs that cost more are left out.
        gain, bonus : ndarray of shape (n_levels,)
            One number for each c.
        base : ndarray of shape (n_samples,)

        Returns
        -------
        codes, level, value
            The output of each sample, its c, and the maximum (-inf where all outputs cost more than ``top``).
        """
        tables = self._combine(theta, None, None)
        codes, level = np.zeros(len(tables.node), np.int32), np.zeros(len(tables), np.int64)
        value = np.empty(len(tables))
        if len(tables):
            kernels = _kernels("levels", tables)
            kernels.best_by_level(*tables.arguments, steps, top, gain, bonus, base, codes, level, value)
        return codes, level, value

    def parts_at(self, theta: ChainTables) -> tuple[np.ndarray, int]:
        """How many parts each row belongs to, and how many labels a part joins at most."""
        length = np.diff(theta.offsets).repeat(np.diff(theta.offsets))
        place = np.arange(len(theta.node)) - theta.offsets[:-1].repeat(np.diff(theta.offsets))
        arity = 3 if theta.triple is not None else 2 if self.has_edges else 1
        found = np.zeros(len(theta.node), np.int64)
        for size in range(1, arity + 1):  # windows of so many rows that have this one
            last = np.minimum(place, length - size)
            found += np.maximum(last - np.maximum(place - size + 1, 0) + 1, 0)
        return found, arity

    def max_marginals(self, theta: Any, *, cost: Any = None, within: Any = None) -> ChainTables:
        """Best value with each part fixed, one table per part, as in :meth:`marginals`; -inf if impossible."""
        tables, flagged = self._prepare(theta, cost, within)
        out = tables.zeros(per_part=True)
        if len(tables):
            parts = (out.node, out.edge) if out.triple is None else (out.node, out.edge, out.triple)
            _kernels("max", tables).max_marginals(*tables.arguments, *parts)
            _check_feasible(out.node[tables.offsets[:-1]].max(axis=1), tables, self)
        out = without_flag(out, np.max) if flagged else out
        return out if theta.triple is not None else replace(out, triple=None)

    # -- all ----------------------------------------------------------------------------------------------------

    def log_partition(self, theta: Any, *, cost: Any = None, within: Any = None) -> np.ndarray:
        """``log sum_y exp(f(y) + cost(y))`` over the allowed outputs of every sample."""
        tables, _ = self._prepare(theta, cost, within)
        log_z = np.empty(len(tables))
        if len(tables):
            _kernels("sum", tables).log_partitions(*tables.arguments, log_z)
        _check_feasible(log_z, tables, self)
        return log_z

    def expectation(
        self, theta: Any, *, cost: Any = None, within: Any = None, weight: Any = None
    ) -> Expectation:
        """Log-partitions and expected counts in theta's shape; ``weight`` multiplies each sample's counts."""
        return self._expectation(theta, cost, within, weight, per_edge=False)

    def marginals(self, theta: Any, *, cost: Any = None, within: Any = None) -> ChainTables:
        """Probability of every label part: node (rows, labels), edge (edges, labels, labels), in chains of second order
        triple (triples, labels, labels, labels).
        """
        return self._expectation(theta, cost, within, None, per_edge=True).counts

    def _expectation(
        self, theta: Any, cost: Any, within: Any, weight: Any, per_edge: Any, keep_flag: bool = False
    ) -> Expectation:
        tables, flagged = self._prepare(theta, cost, within)
        log_z, weight = np.empty(len(tables)), _weights(tables, weight)
        if per_edge and tables.triple is None:
            tables = tables.per_edge()
        counts = tables.zeros(per_part=per_edge)
        if len(tables):
            into: tuple[Any, ...] = (counts.node, counts.edge)
            if tables.triple is not None:
                into = (counts.node, counts.edge, counts.edge_step, counts.triple, counts.triple_step)
            _kernels("sum", tables).expectations(*tables.arguments, weight, log_z, *into)
        _check_feasible(log_z, tables, self)
        if flagged and not keep_flag:
            counts = without_flag(counts)
        if not per_edge:
            counts = counts.summed_like(theta)
        elif theta.triple is None:
            counts = replace(counts, triple=None)
        return Expectation(log_z, counts)

    def entropy(self, theta: Any, *, cost: Any = None, within: Any = None) -> np.ndarray:
        """Entropy (nats) of every sample's distribution ``p(y) ~ exp(f(y) + cost(y))``."""
        from palmette.structures.chain.kernels.given import chain_entropies

        out = np.empty(len(theta))
        tables, _ = self._prepare(theta, cost, within)
        if tables.triple is not None:
            log_z = np.empty(len(tables))
            if len(tables):
                _kernels("sum", tables).entropies(*tables.arguments, log_z, out)
            _check_feasible(log_z, tables, self)
            return np.maximum(out, 0.0)
        # With the flag of a contradiction: labels alone are then no first-order chain.
        marginals = self._expectation(theta, cost, within, None, per_edge=True, keep_flag=True).counts
        chain_entropies(marginals.node, marginals.edge, marginals.offsets, out)
        return np.maximum(out, 0.0)

    def sample(
        self, theta: Any, n_draws: int = 1, *, random_state: Any = None, cost: Any = None, within: Any = None
    ) -> np.ndarray:
        """Exact samples from ``p(y) ~ exp(f(y) + cost(y))``.

        Returns
        -------
        ndarray of int32, shape (n_draws, n_rows)
        """
        tables, flagged = self._prepare(theta, cost, within)
        if n_draws < 0:
            raise ValueError(f"n_draws must be at least 0, got {n_draws}")
        rng = np.random.default_rng(random_state)
        uniform = rng.random((n_draws, len(tables.node)))
        paths = np.empty(uniform.shape, np.int32)
        if len(tables):
            bad = _kernels("sum", tables).draw_paths(*tables.arguments, uniform, paths)
            if bad >= 0:
                raise _infeasible(bad, tables, self)
        return paths // 2 if flagged else paths

    def min_risk(
        self, theta: Any, risk: np.ndarray | None = None, *, cost: Any = None, within: Any = None
    ) -> Best:
        """Output of least expected loss among the allowed ones; values are the expected losses.

        Parameters
        ----------
        risk : ndarray of shape (n_labels, n_labels), optional
            ``risk[i, j]`` is the loss of answering j where i is true; by default 1 unless i = j (Hamming).
        """
        expected = _expected_losses(self.expectation(theta, cost=cost, within=within).counts.node, risk)
        tables = combine(theta, cost, None)
        node = np.where(np.isneginf(tables.node), -np.inf, expected)
        # What potentials forbid is not an answer either.
        edge = np.where(np.isneginf(tables.edge), -np.inf, 0.0)
        triple = tables.triple
        if triple is not None:
            triple = np.where(np.isneginf(triple), -np.inf, 0.0)
        return self.worst(ChainTables(node, edge, theta.offsets, triple), within=within)

    # -- given --------------------------------------------------------------------------------------------------

    def score(self, theta: Any, codes: Any, *, cost: Any = None, within: Any = None) -> np.ndarray:
        """Score plus cost of given outputs; -inf for one that the restriction forbids."""
        from palmette.structures.chain.kernels.given import path_scores

        tables = self._combine(theta, cost, within)
        codes = _codes(theta, codes)
        values = np.empty(len(tables))
        path_scores(tables.node, tables.edge, tables.edge_step, tables.offsets, codes, values)
        if tables.triple is not None:
            from palmette.structures.chain.kernels.given2 import add_triple_scores

            add_triple_scores(tables.triple, tables.triple_step, tables.offsets, codes, values)
        if within is not None and within.contradicts is not None:
            values[~differ(within.contradicts, codes, theta.offsets)] = -np.inf
        return values

    def count(
        self, theta: Any, codes: Any, *, weight: Any = None, into: ChainTables | None = None
    ) -> ChainTables:
        """Counts of given outputs in theta's shape, each sample's times its ``weight``; added to ``into`` if given."""
        from palmette.structures.chain.kernels.given import add_counts

        theta.check()
        codes, weight = _codes(theta, codes), _weights(theta, weight)
        if into is None:
            into = theta.zeros()
        elif into.shapes != theta.shapes:
            raise ValueError(f"into has tables of shapes {into.shapes}, expected {theta.shapes}")
        add_counts(theta.offsets, theta.edge_step, codes, weight, into.node, into.edge)
        if theta.triple is not None:
            from palmette.structures.chain.kernels.given2 import add_triple_counts

            add_triple_counts(theta.offsets, theta.triple_step, codes, weight, into.triple)
        return into


def _kernels(what: str, tables: ChainTables) -> Any:
    """The kernels for tables of first or of second order; they have the same names."""
    order = "" if tables.triple is None else "2"
    return import_module(f"palmette.structures.chain.kernels.{what}{order}")
