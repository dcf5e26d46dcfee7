"""Any kernel of outputs: the best of a set of candidates."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import clone

from palmette.data.checks import check_type
from palmette.data.sequences import n_items
from palmette.kernels import Kernel, resolve_kernel
from palmette.kernels.definite import check_definite
from palmette.kernels.objects import as_objects, hashable
from palmette.memory import check_size
from palmette.outputs.base import OutputSpace, PreImages
from palmette.outputs.hamming import input_sizes
from palmette.registry import register

_AT_ONCE = 2**22  # values computed at once: 32 MB


@register("output")
class CandidateOutputs(OutputSpace):
    """Outputs under any kernel; predictions are among candidates, all of which are tried.

    Parameters
    ----------
    kernel : kernel, name or function
        Of outputs; a function of two tables needs ``Custom(function, of="objects")`` or ``of="pairs"``.
    candidates : list, optional
        By default the distinct training outputs.
    lengths : {"free", "known"}, default="free"
        Whether any candidate may be predicted, or those that have as many symbols as the input has rows.

    Examples
    --------
    >>> from palmette.kernels import NGram
    >>> space = CandidateOutputs(NGram(2)).fit(["abc", "bcd"])
    >>> space.metric
    array([[2., 1.],
           [1., 2.]])
    >>> space.pre_images(np.array([[0.2, 0.9]])).outputs
    ['bcd']
    """

    kept: ClassVar[tuple[str, ...]] = ("outputs_", "candidates", "lengths")

    def __init__(self, kernel: Any, candidates: Any = None, lengths: str = "free") -> None:
        self.kernel = kernel
        self.candidates = candidates
        self.lengths = lengths

    def make_kernel(self) -> Kernel:
        """The kernel, not bound yet."""
        kernel = resolve_kernel(self.kernel, "output")
        if not isinstance(kernel, Kernel) or kernel.precomputed:
            raise TypeError(f"output must be a kernel that compares outputs, got {self.kernel!r}")
        return kernel

    def fit(self, y: Any, X: Any = None) -> Self:
        """A copy that knows the training outputs and their Gram matrix, which is checked."""
        own, outputs = clone(self), as_objects(y, "y")
        if not outputs:
            raise ValueError("y has no outputs; a regression needs at least one")
        if own.candidates is not None:
            own.candidates = as_objects(own.candidates, "candidates")
        own.outputs_, number = distinct_outputs(outputs)
        own.rows = indicators(number, len(own.outputs_))
        kernel = own.make_kernel().calling("y")
        try:
            own.kernel_ = kernel.bind(kernel.admit(own.outputs_))
        except (TypeError, ValueError):
            kernel.bind(kernel.admit(outputs))  # which names its place among all
            raise
        own._compare()
        return own

    def check_kept(self) -> None:
        """Compare the kept outputs anew."""
        check_type("outputs_", self.outputs_, list)
        check_type("lengths", self.lengths, str)
        self._compare()

    def _compare(self) -> None:
        """Kernel values of training outputs and candidates."""
        if self.lengths not in ("free", "known"):
            raise ValueError(f"CandidateOutputs: lengths must be 'free' or 'known', got {self.lengths!r}")
        q = len(self.outputs_)
        remedy = "take a kernel with features ('dirac', 'hamming', 'path'), or give fewer samples"
        check_size(f"kernel values of {q:,} x {q:,} different outputs", 8.0 * q * q, remedy)
        support = self.kernel_.prepare(self.kernel_.admit(self.outputs_))
        check_definite(
            self.kernel_, support, what="training output", name=lambda i: f"{self.outputs_[i]!r:.60}"
        )
        self.metric = np.asarray(self.kernel_.cross(support, support), float)
        self.candidates_ = self.outputs_ if self.candidates is None else self.candidates
        if not self.candidates_:
            raise ValueError("candidates is empty; a prediction needs at least one")
        if self.candidates is None:
            self.cross_, self.norms_ = self.metric, np.diag(self.metric).copy()
        else:
            n = len(self.candidates_)
            what = f"kernel values of {n:,} candidates and {q:,} different outputs"
            check_size(what, 8.0 * n * q, "give fewer candidates")
            prepared = self._prepared(self.candidates_)
            self.cross_ = np.asarray(self.kernel_.cross(prepared, support), float)
            self.norms_ = np.asarray(self.kernel_.diagonal(prepared), float)
        self.sizes_ = np.array([n_items(each) if self.lengths == "known" else 0 for each in self.candidates_])
        first = np.unique(self.sizes_, return_index=True, return_inverse=True)[1:]
        self.constant_norm = bool(np.allclose(self.norms_, self.norms_[first[0]][first[1]], rtol=1e-9))

    def _prepared(self, candidates: list[Any], where: str = "candidates") -> Any:
        """Candidates as the kernel takes them; one that it cannot compare is named."""
        try:
            return self.kernel_.prepare(self.kernel_.admit(candidates))
        except (TypeError, ValueError):
            for i, candidate in enumerate(candidates):
                try:
                    self.kernel_.prepare(self.kernel_.admit([candidate]))
                except (TypeError, ValueError) as error:
                    raise ValueError(
                        f"{where}[{i}] = {candidate!r:.60} cannot be compared with the training outputs by "
                        f"{self.kernel_!r}: {error}"
                    ) from error
            raise

    def pre_images(self, votes: np.ndarray, X: Any = None) -> PreImages:
        """The candidate with the lowest value, of those that an input may have; of several the first."""
        n = len(votes)
        wanted = np.array(input_sizes(X, n) if self.lengths == "known" else [0] * n, np.int64)
        best, values = np.empty(n, np.int64), np.empty(n)
        for size in np.unique(wanted):
            here, there = np.flatnonzero(wanted == size), np.flatnonzero(self.sizes_ == size)
            if not len(there):
                raise ValueError(
                    f"X[{here[0]}] has {size} rows, and no candidate has as many symbols: add one, or take "
                    "lengths='free'"
                )
            found, values[here] = best_of(votes[here], -2.0 * self.cross_[there], self.norms_[there])
            best[here] = there[found]
        return PreImages([self.candidates_[k] for k in best], values, values, "candidates")

    def values(self, votes: np.ndarray, outputs: Any) -> np.ndarray:
        """``K_Y(y, y) - 2 <psi(y), v>`` of given outputs for every row of ``votes``, shape (n, len(outputs))."""
        prepared = self._prepared(as_objects(outputs, "outputs"), "outputs")
        support = self.kernel_.prepare(self.kernel_.admit(self.outputs_))
        cross = np.asarray(self.kernel_.cross(prepared, support), float)
        return np.asarray(self.kernel_.diagonal(prepared), float) - 2.0 * np.asarray(votes, float) @ cross.T

    def gram(self, left: Any, right: Any) -> np.ndarray:
        """Kernel values of all pairs, of any outputs."""
        return np.asarray(self.kernel_(left, right), float)

    def norms(self, outputs: Any) -> np.ndarray:
        """``K_Y(y, y)`` of given outputs."""
        return np.asarray(self.kernel_.diagonal(self.kernel_.prepare(self.kernel_.admit(outputs))), float)

    def pairs(self, left: Any, right: Any) -> np.ndarray:
        """``K_Y(left_i, right_i)``, of any outputs: all pairs of some at once."""
        left, right = as_objects(left), as_objects(right)
        parts = (slice(i, i + 32) for i in range(0, len(left), 32))
        return np.concatenate(
            [np.empty(0), *(np.diagonal(self.gram(left[part], right[part])) for part in parts)]
        )


def best_of(votes: np.ndarray, table: np.ndarray, constant: Any = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """For every row of votes the candidate with the lowest ``table @ v + constant``, and that value."""
    best, values = np.empty(len(votes), np.int64), np.empty(len(votes))
    step = max(1, _AT_ONCE // max(1, len(table)))
    for i in range(0, len(votes), step):
        each = np.asarray(votes[i : i + step], float) @ table.T + constant
        best[i : i + step] = each.argmin(axis=1)
        values[i : i + step] = each.min(axis=1)
    return best, values


def distinct_outputs(outputs: list[Any]) -> tuple[list[Any], np.ndarray]:
    """The distinct outputs in order of appearance, and the number of each output; what is not hashable is distinct."""
    seen: dict[Any, int] = {}
    first: list[Any] = []
    number = np.empty(len(outputs), np.int64)
    for i, output in enumerate(outputs):
        try:
            number[i] = seen.setdefault(hashable(output), len(first))
        except TypeError:
            number[i] = len(first)
        if number[i] == len(first):
            first.append(output)
    return first, number


def indicators(number: np.ndarray, n: int) -> sparse.csr_array:
    """Rows with a 1 at their number."""
    return sparse.csr_array(
        (np.ones(len(number)), number, np.arange(len(number) + 1)), shape=(len(number), n)
    )
