"""The contract between output-kernel regression and the outputs that it predicts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from palmette.data.checks import check_type, entry, group
from palmette.data.plain_objects import from_json, to_json
from palmette.kernels.objects import as_objects
from palmette.kernels.stored import kernel_from_state, kernel_state


class PreImages(NamedTuple):
    """Outputs that fit predictions in the output space best, and what is proven of them."""

    outputs: list[Any]
    values: np.ndarray  # objective of each output, which is minimised, (n,)
    bounds: np.ndarray  # proven lower bounds of the minima, (n,)
    method: str  # such as "vote", "candidates", "tree", "branch and bound", "beam"

    @property
    def exact(self) -> np.ndarray:
        """Whether each output is proven to be the best, bool (n,)."""
        return self.values <= self.bounds + 1e-9 * np.maximum(1.0, np.abs(self.values))


class OutputSpace(BaseEstimator):
    r"""Outputs as vectors: ``K_Y(y_i, y_j) = <psi_i, psi_j>_M``.

    After :meth:`fit` every training output is a row ``psi_i`` of :attr:`rows`, shape (m, q). With explicit features
    :attr:`metric` is None and ``K_Y = rows rows'``. Of a kernel that is only known as a function the q coordinates are
    the distinct training outputs, and ``K_Y = rows metric rows'`` with their Gram matrix. A regression predicts *votes*
    ``v(x) = sum_i a_i(x) ballot_i``, shape (n, p), and never forms the m x m matrix ``K_Y`` unless it is asked to. The
    :attr:`ballots` are the rows, unless a task loss decodes: then they are what the loss needs to know of ``y_i``.
    """

    functions: ClassVar[tuple[str, ...]] = ("output",)
    """What files cannot hold and loading is given again: a kernel with a function of the user's."""
    kept: ClassVar[tuple[str, ...]] = ()
    """Attributes of a fitted space that predictions need: plain objects and arrays."""

    bounded: ClassVar[bool] = True
    """Whether outputs that may be predicted are no larger than those that are given can be."""

    rows: sparse.csr_array  # (m, q)
    metric: np.ndarray | None = None  # (q, q), or None for the identity
    constant_norm: bool  # whether K_Y(y, y) is the same for all outputs that one input can have

    @property
    def ballots(self) -> sparse.csr_array:
        """What votes are sums of, shape (m, p)."""
        return self.rows

    def fit(self, y: Any, X: Any = None) -> Self:
        """A copy that knows the training outputs; ``X`` for spaces whose outputs depend on the input's size."""
        raise NotImplementedError

    def pre_images(self, votes: np.ndarray, X: Any = None) -> PreImages:
        """``argmin_y K_Y(y, y) - 2 <psi(y), v>_M`` for every row of ``votes``."""
        raise NotImplementedError

    def values(self, votes: np.ndarray, outputs: Any) -> np.ndarray:
        """What pre-images minimise, of given outputs for every row of ``votes``, shape (n, len(outputs))."""
        raise NotImplementedError

    def best_among(self, votes: np.ndarray, outputs: Any) -> PreImages:
        """The best of given outputs for every row of ``votes``; those that cannot be predicted are refused."""
        outputs = as_objects(outputs, "outputs")
        if not outputs:
            raise ValueError("outputs is empty; a prediction needs at least one")
        each = self.values(votes, outputs)
        values = each.min(axis=1)
        return PreImages([outputs[k] for k in each.argmin(axis=1)], values, values, "candidates")

    def gram(self, left: Any, right: Any) -> np.ndarray:
        """``K_Y`` of all pairs of given outputs, shape (len(left), len(right))."""
        raise NotImplementedError

    def norms(self, outputs: Any) -> np.ndarray:
        """``K_Y(y, y)`` of given outputs."""
        raise NotImplementedError

    def pairs(self, left: Any, right: Any) -> np.ndarray:
        """``K_Y(left_i, right_i)``, shape (len(left),)."""
        raise NotImplementedError

    def kernel_losses(self, true: Any, predicted: Any) -> np.ndarray:
        r"""Output-kernel loss of each prediction.

        Where ``K(y, y)`` is the same for all outputs of an input it is ``(K(y, y) + K(y', y')) / 2 - K(y, y')``, which
        is the 0/1 loss of Dirac's kernel and the Hamming loss of that of Hamming. Elsewhere half is not enough: "ab"
        and "abcd" have the Hamming distance 2, and half of the squared distance of their features is 1. So then it is
        ``K(y, y) + K(y', y') - 2 K(y, y')``, which is at least the loss.
        """
        squared = self.norms(true) + self.norms(predicted) - 2.0 * self.pairs(true, predicted)
        return 0.5 * squared if self.constant_norm else squared

    def check_given(self, outputs: list[Any], X: Any) -> None:
        """Raise an error that names the first of the outputs ``y`` that cannot be those of the inputs ``X``.

        What only the kernel can judge it judges when it compares them.
        """

    def task_losses(self, true: Any, predicted: Any) -> np.ndarray:
        """What predictions are to keep low: the loss that this space decodes for, here that of the kernel."""
        return self.kernel_losses(true, predicted)

    # -- model files --------------------------------------------------------------------------------------------

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Header and arrays of a fitted space for a model file: what predictions need, not the training rows."""
        plain, arrays = {}, {}
        for name in ("constant_norm", *self.kept):
            value = getattr(self, name)
            if isinstance(value, np.ndarray):
                arrays[f"kept.{name}"] = value
            else:
                plain[name] = to_json(value)
        header: dict[str, Any] = {"kept": plain}
        if hasattr(self, "kernel_"):
            header["kernel"], own = kernel_state(self.kernel_)
            arrays |= {f"kernel.{name}": array for name, array in own.items()}
        return header, arrays

    @classmethod
    def from_state(cls, header: Any, arrays: Mapping[str, np.ndarray], output: Any = None) -> Self:
        """Inverse of :meth:`state`; ``output`` is given again where it is, or has, a function of the user's."""
        own: Any = cls.__new__(cls)
        for name in cls._get_param_names():
            setattr(own, name, None)
        plain = {name: from_json(value) for name, value in entry(header, "kept", dict, "the output").items()}
        kept = plain | group(arrays, "kept")
        if set(kept) != {"constant_norm", *cls.kept}:
            raise ValueError(
                f"an output of the kind {cls.__name__} keeps {sorted(cls.kept)}, found {sorted(kept)}"
            )
        for name, value in kept.items():
            setattr(own, name, value)
        check_type("constant_norm", own.constant_norm, bool)
        if "kernel" in header:
            given = getattr(output, "kernel", output)
            found = kernel_from_state(header["kernel"], group(arrays, "kernel"), given)
            own.kernel_ = own.kernel = found.calling("y")
        own.check_kept()
        return own

    def check_rows(self) -> None:
        """Raise ValueError unless :attr:`rows`, which a file kept, are vectors of this space."""
        if self.metric is not None and len(self.metric) != self.rows.shape[1]:
            raise ValueError(
                f"{len(self.metric)} outputs are kept, but rows have {self.rows.shape[1]} columns"
            )

    def check_kept(self) -> None:
        """Raise ValueError unless what a file kept can be used; complete what follows from it."""
