"""Tables over the label parts of chains: potentials, costs, counts and marginals all have this shape."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True)
class ChainTables:
    """One number per (position, label) and per (edge, label, label) of a batch of chains.

    Parameters
    ----------
    node : ndarray of float64, shape (n_rows, n_labels)
        Rows of all samples one after the other.
    edge : ndarray of float64, shape (n_tables, n_labels, n_labels)
        ``n_tables`` is 1 (one table shared by all edges), or ``n_rows - n_samples`` (one an edge), or 0 for
        structures without edges. ``edge[e, i, j]`` belongs to label i followed by label j.
    offsets : ndarray of int64, shape (n_samples + 1,)

    Notes
    -----
    The same class serves as potentials ``theta``, as counts and expected counts (theta's shape), as cost, and as
    marginals; ``f(x, y) = <theta, count(y)>`` is :meth:`dot`.
    """

    node: np.ndarray
    edge: np.ndarray
    offsets: np.ndarray

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return self.node.shape[1]

    @property
    def n_edges(self) -> int:
        """Number of edges of all samples together."""
        return len(self.node) - len(self)

    @property
    def edge_step(self) -> int:
        """1 if every edge has its own table, 0 if all share one."""
        return 0 if len(self.edge) == 1 and self.n_edges != 1 else 1

    def check(self) -> None:
        """Refuse what would let a kernel read past an array: offsets, shapes and types that do not fit together."""
        for name, array, dtype in (("node", self.node, np.float64), ("edge", self.edge, np.float64)):
            if not isinstance(array, np.ndarray) or array.dtype != dtype or not array.flags.c_contiguous:
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

    def dot(self, other: ChainTables) -> float:
        """Inner product; ``-inf`` times 0 counts as 0, so forbidden parts that are absent do no harm."""
        return _dot(self.node, other.node) + _dot(self.edge, other.edge)

    def per_edge(self) -> ChainTables:
        """The same potentials with one edge table for every edge."""
        if len(self.edge) == self.n_edges:
            return self
        return replace(self, edge=np.repeat(self.edge, self.n_edges, axis=0))


def _dot(a: np.ndarray, b: np.ndarray) -> float:
    with np.errstate(invalid="ignore"):
        return float(np.sum(np.where((a == 0) | (b == 0), 0.0, a * b)))


@dataclass(frozen=True)
class Restriction:
    """Which label parts an output may use; ``None`` leaves that kind of part free.

    Parameters
    ----------
    node : ndarray of bool, shape (n_rows, n_labels), optional
        Allowed labels at each position (a fixed label is a row with one true entry).
    edge : ndarray of bool, shape (1 or n_edges, n_labels, n_labels), optional
        Allowed label pairs, for all edges alike or for each.
    contradicts : ndarray of int, shape (n_rows,), optional
        A partial annotation (-1 where unknown) that the output must contradict at least once.

    Examples
    --------
    >>> import numpy as np
    >>> Restriction.fixed(np.array([1, -1]), n_labels=2).node
    array([[False,  True],
           [ True,  True]])
    """

    node: np.ndarray | None = None
    edge: np.ndarray | None = None
    contradicts: np.ndarray | None = None

    def __post_init__(self) -> None:
        for name in ("node", "edge", "contradicts"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, np.asarray(getattr(self, name)))

    @classmethod
    def fixed(cls, codes: np.ndarray, n_labels: int) -> Restriction:
        """Agree with a partial annotation: codes, -1 where any label will do."""
        codes = np.asarray(codes)
        node = np.arange(n_labels) == codes[:, None]
        node[codes < 0] = True
        return cls(node=node)

    def check(self, theta: ChainTables) -> None:
        """Compare shapes with the potentials before any work starts."""
        rows, labels = theta.node.shape
        pair = (labels, labels)
        if self.node is not None and self.node.shape != (rows, labels):
            raise ValueError(f"within.node has shape {self.node.shape}, expected {(rows, labels)}")
        if self.edge is not None:
            found = self.edge.shape
            if found[1:] != pair or found[0] not in (1, theta.n_edges):
                raise ValueError(
                    f"within.edge has shape {found}, expected (1 or {theta.n_edges}, {labels}, {labels})"
                )
        if self.contradicts is not None and self.contradicts.shape != (rows,):
            raise ValueError(f"within.contradicts has shape {self.contradicts.shape}, expected {(rows,)}")


def combine(
    theta: ChainTables, cost: ChainTables | None, within: Restriction | None, sign: float = 1.0
) -> ChainTables:
    """``sign * (theta + cost)`` with -inf on forbidden parts: all that inference needs to know of the three."""
    theta.check()
    if cost is None and within is None and sign == 1.0:
        return theta
    _check_added(theta, cost, within)
    node, edge = theta.node, theta.edge
    if cost is not None:
        node = node + cost.node
        if len(cost.edge):
            edge = edge + cost.edge
    if sign != 1.0:
        # Forbidden stays forbidden: only finite potentials change sign.
        node = np.where(np.isneginf(node), node, sign * node)
        edge = np.where(np.isneginf(edge), edge, sign * edge)
    if within is not None:
        if within.node is not None:
            node = np.where(within.node, node, -np.inf)
        if within.edge is not None and theta.n_edges:
            edge = np.where(within.edge, edge, -np.inf)
    return replace(theta, node=np.ascontiguousarray(node), edge=np.ascontiguousarray(edge))


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
    if within is not None:
        if not isinstance(within, Restriction):
            raise TypeError(f"within must be a Restriction, got {type(within).__name__}")
        within.check(theta)


def with_contradiction(theta: ChainTables, codes: np.ndarray) -> ChainTables:
    """Chains that must contradict ``codes``: every label doubled by a flag "has contradicted already".

    State ``2 * label + flag`` keeps the order of labels, and an output has exactly one state path, so every answer
    (best, k best, sums, samples) carries over.
    """
    rows, labels = theta.node.shape
    contra = (codes[:, None] >= 0) & (codes[:, None] != np.arange(labels))
    node = np.stack([theta.node, theta.node], axis=2)
    node[contra, 0] = -np.inf
    starts, ends = theta.offsets[:-1], theta.offsets[1:] - 1
    node[starts, :, 1] = np.where(contra[starts], node[starts, :, 1], -np.inf)
    node[ends, :, 0] = -np.inf
    plain = theta.per_edge().edge
    edge = np.full((len(plain), labels, 2, labels, 2), -np.inf)
    right = np.delete(np.arange(rows), starts)  # the row on the right of each edge
    edge[:, :, 0, :, 0] = edge[:, :, 1, :, 1] = plain
    edge[:, :, 0, :, 1] = np.where(contra[right][:, None, :], plain, -np.inf)
    return ChainTables(
        node.reshape(rows, 2 * labels), edge.reshape(len(plain), 2 * labels, 2 * labels), theta.offsets
    )


def without_flag(tables: ChainTables, reduce=np.sum) -> ChainTables:
    """Fold the flag of :func:`with_contradiction` away: marginals add (max-marginals: ``reduce=np.max``)."""
    rows, doubled = tables.node.shape
    labels = doubled // 2
    return replace(
        tables,
        node=reduce(tables.node.reshape(rows, labels, 2), axis=2),
        edge=reduce(tables.edge.reshape(-1, labels, 2, labels, 2), axis=(2, 4)),
    )
