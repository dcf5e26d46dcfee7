"""Scores of nodes by a kernel, of everything else by weights; and linear scores of mapped rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from palmette.data.checks import check_array, check_finite, check_whole, entry, group, needed
from palmette.kernels import Kernel, Nystroem
from palmette.kernels.feature_map import FeatureMap, KernelValues
from palmette.kernels.rows import Rows, as_rows
from palmette.kernels.stored import kernel_from_state, kernel_state, rows_from_state, rows_state
from palmette.registry import register, revive, stored

VALUES_A_BLOCK = 2**24  # kernel values computed at once in prediction: 64 MB


def bare(batch: Any) -> Any:
    """A batch whose rows have no columns: what is left for weights where a kernel scores the nodes."""
    return replace(batch, rows=np.empty((batch.n_rows, 0)))


def edge_ends(batch: Any) -> tuple[np.ndarray, np.ndarray]:
    """The rows that each edge of a batch joins, (n_edges, 2), and the edges of each sample: neighbours in chains."""
    if hasattr(batch, "layout"):
        return batch.layout.edge_rows, batch.layout.edge_offsets
    lengths = np.diff(batch.offsets)
    inner = np.ones(batch.n_rows, bool)
    inner[batch.offsets[1:][lengths > 0] - 1] = False
    first = np.flatnonzero(inner)
    offsets = np.concatenate([[0], np.cumsum(np.maximum(lengths - 1, 0))]).astype(np.int64)
    return np.column_stack([first, first + 1]), offsets


def edge_inputs(batch: Any) -> Rows:
    """What an edge kernel compares: features of edges where there are any, else those of both ends side by side."""
    own = getattr(batch, "edge_rows", None)
    if own is not None:
        return as_rows(own)
    rows, (ends, _) = as_rows(batch.rows), edge_ends(batch)
    sides = [rows[ends[:, 0]], rows[ends[:, 1]]]
    return sparse.csr_array(sparse.hstack(sides)) if sparse.issparse(rows) else np.hstack(sides)


@register("scorer", "kernel")
@dataclass(frozen=True)
class KernelScorer:
    """``node[t, k] = sum_u coef[u, k] K(x_u, x_t)``; edges by a kernel likewise, or as ``linear`` scores them.

    The weight vector is ``[coefficients (n_support x n_labels) | coefficients of edges | weights of linear]``.

    Parameters
    ----------
    kernel : Kernel
        Bound to the training rows.
    support : ndarray or CSR array
        Prepared rows x_u; for ``Precomputed`` the numbers of their columns, shape (n_support, 1).
    n_columns : int
        Columns of the inputs, those of edge features included.
    linear : LinearScorer or another scorer of weights
        For rows without columns, so that it scores edges only.
    edge_kernel, edge_support : Kernel and rows, optional
        What scores label pairs at edges, ``sum_e coef[e, i, j] K(z_e, z)``.
    """

    functions: ClassVar[tuple[str, ...]] = ("kernel", "edge_kernel")

    kernel: Kernel
    support: Rows
    n_columns: int
    linear: Any
    edge_kernel: Kernel | None = None
    edge_support: Rows = None

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return self.linear.n_labels

    @property
    def has_edges(self) -> bool:
        """Whether there are edges."""
        return self.linear.has_edges

    @property
    def n_support(self) -> int:
        """Number of support rows."""
        return int(self.support.shape[0])

    @property
    def n_node(self) -> int:
        """Number of coefficients."""
        return self.n_support * self.n_labels

    @property
    def n_kernel(self) -> int:
        """Number of coefficients of nodes and of edges."""
        n_edges = 0 if self.edge_kernel is None else int(self.edge_support.shape[0])
        return self.n_node + n_edges * self.n_labels**2

    @property
    def n_params(self) -> int:
        """Length of the weight vector."""
        return self.n_kernel + self.linear.n_params

    @property
    def blocks(self) -> dict[str, slice]:
        """Where coefficients, biases (none) and the weights of edges stand."""
        a = self.n_kernel
        moved = {name: slice(place.start + a, place.stop + a) for name, place in self.linear.blocks.items()}
        return {**moved, "node": slice(0, self.n_node), "edge_kernel": slice(self.n_node, a)}

    @property
    def rows_a_block(self) -> int:
        """Rows to score at once, so that their kernel values do not fill the memory."""
        return max(64, VALUES_A_BLOCK // max(1, self.n_support))

    def coefficients(self, w: np.ndarray) -> np.ndarray:
        """Coefficient of every support row and label."""
        return w[: self.n_node].reshape(self.n_support, self.n_labels)

    def edge_coefficients(self, w: np.ndarray) -> np.ndarray:
        """Coefficient of every support edge and label pair, shape (edges, labels^2)."""
        return w[self.n_node : self.n_kernel].reshape(-1, self.n_labels**2)

    def edge_table(self, w: np.ndarray) -> np.ndarray:
        """Weights of label pairs as a (1, labels, labels) table."""
        if self.edge_kernel is not None:
            raise AttributeError("with an edge_kernel every edge has transitions of its own")
        return self.linear.edge_table(w[self.n_kernel :])

    def score(self, w: np.ndarray, batch: Any) -> Any:
        """Potentials of a batch."""
        theta = self.linear.score(w[self.n_kernel :], bare(batch))
        rows = as_rows(batch.rows)
        if self.kernel.precomputed:
            values = rows[:, self.support[:, 0]]
            values = values.toarray() if sparse.issparse(values) else values
        else:
            values = self.kernel.cross(self.kernel.prepare(rows), self.support)
        if self.n_support:
            theta.node[:] += values @ self.coefficients(w).astype(values.dtype)
        if self.edge_kernel is not None:
            rows = self.edge_kernel.prepare(edge_inputs(batch))
            values = self.edge_kernel.cross(rows, self.edge_support)
            scores = values @ self.edge_coefficients(w).astype(values.dtype)
            theta = theta.per_edge()
            theta = replace(theta, edge=theta.edge + scores.reshape(-1, self.n_labels, self.n_labels))
        return theta

    def of_support(self, w: np.ndarray) -> tuple[KernelScorer, np.ndarray]:
        """The same scores by the rows that have a coefficient other than 0."""
        coef = self.coefficients(w)
        used = np.flatnonzero(np.any(coef != 0.0, axis=1))
        smaller, parts = replace(self, support=self.support[used]), [coef[used].ravel()]
        if self.edge_kernel is not None:
            coef = self.edge_coefficients(w)
            used = np.flatnonzero(np.any(coef != 0.0, axis=1))
            smaller = replace(smaller, edge_support=self.edge_support[used])
            parts.append(coef[used].ravel())
        return smaller, np.concatenate([*parts, w[self.n_kernel :]])

    # -- persistence --------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Raise ValueError unless every index stays within its array."""
        self.linear.check()
        self.linear.check_dense()  # its rows are empty

    def check_inputs(self, n_columns: int, n_more: int) -> None:
        """Raise ValueError unless the kernels can compare rows of so many columns, and edges of so many."""
        check_whole("n_columns", self.n_columns, n_columns + n_more, n_columns + n_more)
        self.kernel.check_support("the support", self.support, n_columns)
        own = self.edge_kernel
        if own is not None:
            own.check_support("the edges of the support", self.edge_support, n_more or 2 * n_columns)
        self.linear.check_inputs(0, n_more if own is None else 0)

    def check_dense(self) -> None:
        """Kernels compare rows of any kind."""

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Header and arrays for a model file."""
        linear_header, linear_arrays = stored(self.linear)
        support, arrays = rows_state(self.support)
        header = {
            "n_columns": self.n_columns, "kernel": kernel_state(self.kernel)[0], "linear": linear_header,
            "support": support,
        }  # fmt: skip
        arrays |= {f"linear.{k}": v for k, v in linear_arrays.items()}
        if self.edge_kernel is not None:
            header["edge_kernel"] = kernel_state(self.edge_kernel)[0]
            header["edge_support"], edges = rows_state(self.edge_support)
            arrays |= {f"edges.{k}": v for k, v in edges.items()}
        return header, arrays

    @classmethod
    def from_state(
        cls,
        header: dict[str, Any],
        arrays: dict[str, np.ndarray],
        kernel: Any = None,
        edge_kernel: Any = None,
    ) -> KernelScorer:
        """Inverse of :meth:`state`; the kernels are given again where they are functions of the user's."""
        linear = revive("scorer", header.get("linear"), group(arrays, "linear"))
        rows = rows_from_state(header.get("support"), arrays)
        found = cls(
            kernel_from_state(header.get("kernel"), {}, kernel),
            rows,
            entry(header, "n_columns", int, "the scorer"),
            linear,
        )
        if "edge_kernel" not in header:
            return found
        edge_kernel = kernel_from_state(header["edge_kernel"], {}, edge_kernel)
        edges = rows_from_state(header.get("edge_support"), group(arrays, "edges"))
        return replace(found, edge_kernel=edge_kernel, edge_support=edges)


@register("scorer", "mapped")
@dataclass(frozen=True)
class MappedScorer:
    """Linear scores of rows that a feature map has been applied to.

    Parameters
    ----------
    feature_map : FeatureMap
        Fitted: :class:`~palmette.kernels.Nystroem`, or kernel values with the landmarks of an exact factor.
    n_columns : int
        Columns of the rows before the map.
    linear : scorer
        Of the mapped rows.
    """

    functions: ClassVar[tuple[str, ...]] = ("kernel",)

    feature_map: FeatureMap
    n_columns: int
    linear: Any

    n_labels = property(lambda self: self.linear.n_labels)
    n_params = property(lambda self: self.linear.n_params)
    has_edges = property(lambda self: self.linear.has_edges)
    blocks = property(lambda self: self.linear.blocks)

    @property
    def rows_a_block(self) -> int:
        """Rows to score at once, so that their kernel values do not fill the memory."""
        own = getattr(self.feature_map, "landmarks_", None)
        return max(64, VALUES_A_BLOCK // max(1, 0 if own is None else own.shape[0]))

    def edge_table(self, w: np.ndarray) -> np.ndarray:
        """Weights of label pairs as a (1, labels, labels) table."""
        return self.linear.edge_table(w)

    def score(self, w: np.ndarray, batch: Any) -> Any:
        """Potentials of a batch."""
        features = self.feature_map.map_rows(as_rows(batch.rows))
        return self.linear.score(w, replace(batch, rows=np.ascontiguousarray(features)))

    def check(self) -> None:
        """Raise ValueError unless every index stays within its array."""
        self.linear.check()
        self.linear.check_dense()

    def check_inputs(self, n_columns: int, n_more: int) -> None:
        """Raise ValueError unless the map takes rows of so many columns, and the weights what it makes of them."""
        check_whole("n_columns", self.n_columns, n_columns, n_columns)
        own = self.feature_map
        n_landmarks = own.landmarks_.shape[0]
        own.kernel_.check_support("the landmarks", own.landmarks_, n_columns)
        if isinstance(own, KernelValues):
            return self.linear.check_inputs(n_landmarks, n_more)
        check_array("normalization", own.normalization_, np.float64, 2, n_landmarks)
        check_finite("normalization", own.normalization_)
        return self.linear.check_inputs(own.normalization_.shape[1], n_more)

    def check_dense(self) -> None:
        """The map takes rows of any kind."""

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Header and arrays for a model file."""
        own: Any = self.feature_map
        if not hasattr(own, "landmarks_"):
            raise TypeError(
                f"a model file cannot hold {own.kernel!r}, a transformer of another library: pickle the model"
            )
        linear_header, arrays = stored(self.linear)
        exact = isinstance(own, KernelValues)
        support, landmarks = rows_state(own.landmarks_)
        header = {
            "n_columns": self.n_columns, "kernel": kernel_state(own.kernel_)[0], "linear": linear_header,
            "n_components": None if exact else int(own.n_components), "support": support,
        }  # fmt: skip
        arrays = {f"linear.{k}": v for k, v in arrays.items()} | landmarks
        return header, arrays if exact else {**arrays, "normalization": own.normalization_}

    @classmethod
    def from_state(
        cls, header: dict[str, Any], arrays: dict[str, np.ndarray], kernel: Any = None
    ) -> MappedScorer:
        """Inverse of :meth:`state`; the kernel is given again where it is a function of the user's."""
        given = kernel.kernel if isinstance(kernel, Nystroem) else kernel
        kernel = kernel_from_state(header.get("kernel"), {}, given)
        landmarks = rows_from_state(header.get("support"), arrays)
        own: FeatureMap = KernelValues(kernel, landmarks)
        if header.get("n_components") is not None:
            own = Nystroem(kernel, check_whole("n_components", header["n_components"], 1))
            own.kernel_, own.landmarks_ = kernel, landmarks
            own.normalization_ = check_array("normalization", needed(arrays, "normalization"), np.float64, 2)
            own.n_features_out_ = own.normalization_.shape[1]
        linear = revive("scorer", header.get("linear"), group(arrays, "linear"))
        return cls(own, entry(header, "n_columns", int, "the scorer"), linear)
