"""Tables over the label parts of chains: potentials, costs, counts and marginals all have this shape."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from palmette.contracts.structure import Allowed
from palmette.data.annotation import Annotation, Known, possible_codes
from palmette.data.ragged import gather, offsets_from_lengths
from palmette.memory import check_size


@dataclass(frozen=True)
class ChainTables:
    """One number per (position, label), per (edge, label, label) and perhaps per triple of a batch of chains.

    Parameters
    ----------
    node : ndarray of float64, shape (n_rows, n_labels)
        Rows of all samples one after the other.
    edge : ndarray of float64, shape (n_tables, n_labels, n_labels)
        ``n_tables`` is 1 (one table shared by all edges), or ``n_rows - n_samples`` (one per edge), or 0 for
        structures without edges. ``edge[e, i, j]`` belongs to label i followed by label j.
    offsets : ndarray of int64, shape (n_samples + 1,)
    triple : ndarray of float64, shape (n_tables, n_labels, n_labels, n_labels), optional
        For chains of second order: 1 table for all triples of neighbours, or one each. ``None`` means zero.

    Notes
    -----
    The same class serves as potentials ``theta``, as counts and expected counts (theta's shape), as cost, and as
    marginals; ``f(x, y) = <theta, count(y)>`` is :meth:`dot`.
    """

    node: np.ndarray
    edge: np.ndarray
    offsets: np.ndarray
    triple: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return self.node.shape[1]

    @property
    def n_codes(self) -> int:
        """Codes that a position may have; those of segments also say where one goes on."""
        return self.n_labels

    @property
    def shapes(self) -> tuple[Any, ...]:
        """Shapes of the tables of nodes, edges and (if any) triples."""
        return tuple(table.shape for table in (self.node, self.edge, self.triple) if table is not None)

    @property
    def n_edges(self) -> int:
        """Number of edges of all samples together."""
        return len(self.node) - len(self)

    @property
    def edge_step(self) -> int:
        """1 if every edge has its own table, 0 if all share one."""
        return 0 if len(self.edge) == 1 and self.n_edges != 1 else 1

    @property
    def n_triples(self) -> int:
        """Number of triples of neighbouring positions of all samples together."""
        return int(np.maximum(np.diff(self.offsets) - 2, 0).sum())

    @property
    def triple_step(self) -> int:
        """1 if every triple of positions has its own table, 0 if all share one."""
        return 0 if self.triple is not None and len(self.triple) == 1 and self.n_triples != 1 else 1

    @property
    def arguments(self) -> tuple[Any, ...]:
        """The tables as the kernels of their order take them."""
        if self.triple is None:
            return self.node, self.edge, self.edge_step, self.offsets
        return self.node, self.edge, self.edge_step, self.triple, self.triple_step, self.offsets

    def check(self) -> None:
        """Refuse what would let a kernel read past an array: offsets, shapes and types that do not fit together."""
        for name in ("node", "edge", "triple"):
            array = getattr(self, name)
            if name == "triple" and array is None:
                continue
            if not isinstance(array, np.ndarray) or array.dtype != np.float64 or not array.flags.c_contiguous:
                raise TypeError(f"{name} tables must be C-contiguous arrays of float64")
        if self.node.ndim != 2 or self.edge.ndim != 3:
            raise ValueError(
                f"node and edge tables have {self.node.ndim} and {self.edge.ndim} dimensions, expected 2 and 3"
            )
        if self.offsets.dtype != np.int64 or self.offsets[0] != 0 or self.offsets[-1] != len(self.node):
            raise ValueError(
                f"offsets must be int64 from 0 to the number of rows, {len(self.node)}; got {self.offsets.dtype} from "
                f"{self.offsets[0]} to {self.offsets[-1]}"
            )
        empty = np.flatnonzero(np.diff(self.offsets) < 1)
        if len(empty):
            raise ValueError(f"sample {empty[0]} has no positions; leave empty samples out")
        labels = self.n_labels
        if self.edge.shape[1:] != (labels, labels) or len(self.edge) not in (1, self.n_edges):
            raise ValueError(
                f"edge tables have shape {self.edge.shape}, expected (1 or {self.n_edges}, {labels}, {labels})"
            )
        _check_triple("triple tables have", self.triple, self)

    def dot(self, other: ChainTables) -> float:
        """Inner product; ``-inf`` times 0 counts as 0, so forbidden parts that are absent do no harm."""
        total = _dot(self.node, other.node) + _dot(self.edge, other.edge)
        if self.triple is None or other.triple is None:
            return total
        return total + _dot(self.triple, other.triple)

    def per_edge(self) -> ChainTables:
        """The same potentials with one edge table for every edge."""
        if len(self.edge) == self.n_edges:
            return self
        self._check_parts()
        return replace(self, edge=np.repeat(self.edge, self.n_edges, axis=0))

    def any(self) -> bool:
        """Whether two outputs differ, given the difference of their counts."""
        return bool(np.any(self.node))

    def distance(self) -> float:
        """How many positions of two outputs differ, given the difference of their counts."""
        return 0.5 * float(np.abs(self.node).sum())

    def position_cost(self, cost: np.ndarray) -> ChainTables:
        """A cost for every code at every position, shape (n_rows, n_labels), as tables to add to potentials."""
        return ChainTables(cost, np.empty((0, self.n_labels, self.n_labels)), self.offsets)

    def label_cost(self, cost: np.ndarray) -> ChainTables:
        """A cost for every label at every position, shape (n_rows, n_labels), as tables to add to potentials."""
        return self.position_cost(cost)

    def plus(self, cost: ChainTables) -> ChainTables:
        """These potentials with a cost inside."""
        return combine(self, cost, None)

    def relabelled(self, place: np.ndarray) -> ChainTables:
        """The tables of labels in another order: label k has the numbers of label ``place[k]`` here."""
        triple = self.triple
        if triple is not None:
            triple = triple[:, place][:, :, place][:, :, :, place]
        return ChainTables(self.node[:, place], self.edge[:, place][:, :, place], self.offsets, triple)

    def zeros(self, *, per_part: bool = False) -> ChainTables:
        """Zeros in this shape; with ``per_part`` a table for every edge and every triple."""
        if per_part:
            self._check_parts()
        n_edges = self.n_edges if per_part else len(self.edge)
        triple = None
        if self.triple is not None:
            triple = np.zeros((self.n_triples if per_part else len(self.triple), *self.triple.shape[1:]))
        edge = np.zeros((n_edges, *self.edge.shape[1:]))
        return ChainTables(np.zeros_like(self.node), edge, self.offsets, triple)

    def _check_parts(self) -> None:
        """Refuse one table per edge and a triple where they do not fit into memory."""
        labels, triples = self.n_labels, 0 if self.triple is None else self.n_triples
        check_size(
            f"a table of {labels:,} x {labels:,} labels for each of {self.n_edges:,} edges",
            8 * (self.n_edges + triples * labels) * labels**2,
            "ask for fewer samples at a time",
        )

    def take(self, samples: np.ndarray) -> ChainTables:
        """Copies of the samples of these numbers, in their order; a sample may be taken more than once."""
        samples = np.asarray(samples, np.int64)
        rows, offsets = gather(self.offsets, samples)
        edge, triple = self.edge, self.triple
        if len(edge) > 1:
            edge = edge[gather(self.offsets - np.arange(len(self.offsets)), samples)[0]]
        if triple is not None and len(triple) > 1:
            n_triples = np.maximum(np.diff(self.offsets) - 2, 0)
            triple = triple[gather(offsets_from_lengths(n_triples), samples)[0]]
        return ChainTables(self.node[rows], edge, offsets, triple)

    def summed_like(self, theta: ChainTables) -> ChainTables:
        """These counts in the shape of ``theta``: tables of parts that share one there are added up."""
        edge, triple = self.edge, self.triple
        if len(theta.edge) == 1 and len(edge) != 1:
            edge = edge.sum(axis=0, keepdims=True)
        if theta.triple is None:
            triple = None
        elif triple is not None and len(theta.triple) == 1 and len(triple) != 1:
            triple = triple.sum(axis=0, keepdims=True)
        return replace(self, edge=edge, triple=triple)


def _check_triple(what: str, triple: np.ndarray | None, theta: ChainTables) -> None:
    labels = theta.n_labels
    if triple is not None and (triple.shape[1:] != (labels,) * 3 or len(triple) not in (1, theta.n_triples)):
        raise ValueError(
            f"{what} shape {triple.shape}, expected (1 or {theta.n_triples}, {labels}, {labels}, {labels})"
        )


def _dot(a: np.ndarray, b: np.ndarray) -> float:
    with np.errstate(invalid="ignore"):
        return float(np.sum(np.where((a == 0) | (b == 0), 0.0, a * b)))


@dataclass(frozen=True)
class Restriction(Allowed):
    """Which label parts an output may use; ``None`` leaves that kind of part free.

    Parameters
    ----------
    node : ndarray of bool, shape (n_rows, n_labels), optional
        Allowed labels at each position (a fixed label is a row with one true entry).
    edge : ndarray of bool, shape (1 or n_edges, n_labels, n_labels), optional
        Allowed label pairs, for all edges alike or for each.
    contradicts : ndarray of int, shape (n_rows,), or Annotation, optional
        A partial annotation (-1 where unknown) that the output must contradict at least once.
    triple : ndarray of bool, shape (1 or n_triples, n_labels, n_labels, n_labels), optional
        Allowed labels of three neighbours; chains of any order obey it.

    Examples
    --------
    >>> import numpy as np
    >>> Restriction.fixed(np.array([1, -1]), n_labels=2).node
    array([[False,  True],
           [ True,  True]])
    """

    node: np.ndarray | None = None
    edge: np.ndarray | None = None
    contradicts: Any = None  # Known
    triple: np.ndarray | None = None

    def __post_init__(self) -> None:
        for name in ("node", "edge", "contradicts", "triple"):
            if getattr(self, name) is not None and not isinstance(getattr(self, name), Annotation):
                object.__setattr__(self, name, np.asarray(getattr(self, name)))

    @classmethod
    def fixed(cls, codes: Known, n_labels: int) -> Restriction:
        """Agree with a partial annotation: codes, -1 where any label will do."""
        return cls(node=possible_codes(codes, n_labels))

    def __and__(self, other: Restriction) -> Restriction:
        """What both allow; only one of them may name an annotation to contradict."""
        if self.contradicts is not None and other.contradicts is not None:
            raise ValueError("within.contradicts names a second annotation to contradict; give one, as codes")
        own, more = ({f.name: getattr(each, f.name) for f in fields(each)} for each in (self, other))
        both = {
            name: value if more.get(name) is None else more[name] if value is None else value & more[name]
            for name, value in own.items()
        }
        return replace(self, **both)

    def check(self, theta: ChainTables) -> None:
        """Compare shapes, kinds and codes with the potentials before any work starts."""
        rows, labels = theta.node.shape
        pair = (labels, labels)
        for name in ("node", "edge", "triple"):
            check_mask(f"within.{name}", getattr(self, name))
        if self.node is not None and self.node.shape != (rows, labels):
            raise ValueError(f"within.node has shape {self.node.shape}, expected {(rows, labels)}")
        if self.edge is not None:
            found = self.edge.shape
            if found[1:] != pair or found[0] not in (1, theta.n_edges):
                raise ValueError(
                    f"within.edge has shape {found}, expected (1 or {theta.n_edges}, {labels}, {labels})"
                )
        if self.contradicts is not None:
            _check_partial(self.contradicts, rows, theta.n_codes)
        _check_triple("within.triple has", self.triple, theta)


def check_mask(what: str, mask: np.ndarray | None) -> None:
    """Raise TypeError for numbers and the like where it is said what is allowed."""
    if mask is not None and mask.dtype != bool:
        raise TypeError(f"{what} has dtype {mask.dtype}, expected bool: True for what is allowed")


def _check_partial(annotation: Known, n_rows: int, n_codes: int) -> None:
    codes: Any = annotation
    n_sets = 0
    if isinstance(annotation, Annotation):
        codes, n_sets = annotation.codes, len(annotation.sets)
        if annotation.n_kinds != n_codes:
            raise ValueError(
                f"within.contradicts is about {annotation.n_kinds} codes, the potentials about {n_codes}"
            )
    if codes.shape != (n_rows,):
        raise ValueError(f"within.contradicts has shape {codes.shape}, expected {(n_rows,)}")
    if not n_rows:
        return
    if codes.dtype.kind not in "iu":
        raise TypeError(
            f"within.contradicts has dtype {codes.dtype}, expected integer codes, -1 where unknown"
        )
    wrong = np.flatnonzero((codes < -1) | (codes >= n_codes + n_sets))
    if len(wrong):
        row = int(wrong[0])
        raise ValueError(
            f"within.contradicts[{row}] = {codes[row]} is not a code; expected 0..{n_codes - 1}, or -1 where unknown"
        )


def combine(
    theta: ChainTables, cost: ChainTables | None, within: Restriction | None, sign: float = 1.0
) -> ChainTables:
    """``sign * (theta + cost)`` with -inf on forbidden parts: all that inference needs to know of the three."""
    theta.check()
    if cost is None and within is None and sign == 1.0:
        return theta
    _check_added(theta, cost, within)
    node, edge, triple = theta.node, theta.edge, theta.triple
    if cost is not None:
        node = node + cost.node
        if len(cost.edge):
            edge = edge + cost.edge
        if cost.triple is not None and theta.n_triples:
            triple = cost.triple if triple is None else triple + cost.triple
    if sign != 1.0:
        # Forbidden stays forbidden: only finite potentials change sign.
        node = np.where(np.isneginf(node), node, sign * node)
        edge = np.where(np.isneginf(edge), edge, sign * edge)
        if triple is not None:
            triple = np.where(np.isneginf(triple), triple, sign * triple)
    if within is not None:
        if within.node is not None:
            node = np.where(within.node, node, -np.inf)
        if within.edge is not None and theta.n_edges:
            edge = np.where(within.edge, edge, -np.inf)
        if within.triple is not None and theta.n_triples:
            triple = np.where(within.triple, 0.0 if triple is None else triple, -np.inf)
    if triple is not None:
        triple = np.ascontiguousarray(triple)
    return ChainTables(np.ascontiguousarray(node), np.ascontiguousarray(edge), theta.offsets, triple)


def _check_added(theta: ChainTables, cost: ChainTables | None, within: Restriction | None) -> None:
    if cost is not None:
        if not isinstance(cost, ChainTables):
            raise TypeError(f"cost must be ChainTables, got {type(cost).__name__}")
        if cost.node.shape != theta.node.shape:
            raise ValueError(f"cost.node has shape {cost.node.shape}, expected {theta.node.shape}")
        if len(cost.edge) not in (0, 1, theta.n_edges) or cost.edge.shape[1:] != (
            theta.n_labels,
            theta.n_labels,
        ):
            raise ValueError(
                f"cost.edge has shape {cost.edge.shape}, which fits none of {theta.n_edges} edges"
            )
        _check_triple("cost.triple has", cost.triple, theta)
    if within is not None:
        if not isinstance(within, Restriction):
            raise TypeError(f"within must be a Restriction, got {type(within).__name__}")
        within.check(theta)
