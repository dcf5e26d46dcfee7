"""What an output-kernel regression learns from: inputs as a kernel compares them, outputs as vectors, weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import eigh

from palmette.data.outside import refuse_masked, refuse_missing, refuse_unordered
from palmette.data.sequences import n_items
from palmette.errors import MissingCapability
from palmette.estimators.training import checked_weights
from palmette.kernels import Kernel, Nystroem, resolve_kernel
from palmette.kernels.definite import check_definite
from palmette.kernels.objects import as_objects
from palmette.kernels.rows import Rows
from palmette.memory import check_size, memory_limit
from palmette.outputs import OutputSpace, output_space
from palmette.regression.spectra import above_rounding

BLOCK = 2**22  # kernel values computed at once: 32 MB
FEWER = "use kernel=Nystroem(...), or fewer samples"


class Outputs(NamedTuple):
    """Training outputs in their space, and the weights of samples."""

    y: list[Any]
    space: OutputSpace
    weight: np.ndarray
    given_as: str  # "list", "array" or, of an array of objects, "objects"

    @classmethod
    def of(cls, output: Any, task_loss: Any, X: Any, y: Any, sample_weight: Any) -> Outputs:
        """Check the outputs and weights of the samples ``X``, and fit the output space."""
        y, given_as = paired(X, y)
        weight = checked_weights(sample_weight, len(y))
        return cls(y, output_space(output, task_loss).fit(y, X), weight, given_as)

    @property
    def rows(self) -> np.ndarray:
        """The outputs as vectors, (m, q)."""
        return dense(self.space.rows, "outputs")

    @property
    def ballots(self) -> np.ndarray:
        """What votes are sums of, (m, p)."""
        return dense(self.space.ballots, "votes")

    def losses(self, predicted: list[Any], task_loss: Any, chosen: Any = slice(None)) -> np.ndarray:
        """Task loss of predictions of some of the samples."""
        own = self.y[chosen] if isinstance(chosen, slice) else [self.y[i] for i in chosen]
        return losses(self.space, task_loss, own, predicted)


def paired(X: Any, y: Any) -> tuple[list[Any], str]:
    """The outputs ``y`` of the samples ``X`` as a list, one for each and none missing; and how they were given."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    refuse_unordered(X, "X")
    if not hasattr(X, "__len__") and not hasattr(X, "shape"):
        raise TypeError(f"X must be a table or a list, got a {type(X).__name__}: give list(X)")
    refuse_masked(y, "y")  # whose mask NumPy's conversion would drop
    given_as = "list"
    if hasattr(y, "__array__"):
        y = np.asarray(y)
        given_as = "objects" if y.dtype == object and y.ndim == 1 else "array"
    y, n = as_objects(y, "y"), n_items(X)
    refuse_missing(y, "y")
    if n == 0:
        raise ValueError("X has no samples: a regression needs at least one")
    if len(y) != n:
        raise ValueError(f"y has {len(y)} outputs, but X has {n} samples: one output per sample")
    return y, given_as


def as_given(outputs: list[Any], given_as: str) -> Any:
    """Predictions in the form of the training outputs.

    >>> as_given([["a"], ["a", "b"]], "objects").shape
    (2,)
    """
    if given_as == "objects":
        found = np.empty(len(outputs), object)
        for i, output in enumerate(outputs):  # at once NumPy would look inside of them
            found[i] = output
        return found
    return np.array(outputs) if given_as == "array" else outputs


def losses(space: OutputSpace, task_loss: Any, true: list[Any], predicted: list[Any]) -> np.ndarray:
    """Loss of each prediction: the task loss, or without one that of the output kernel."""
    if task_loss is None:
        return space.kernel_losses(true, predicted)
    if not callable(task_loss) or hasattr(task_loss, "bind"):  # a loss of a structure, by name or object
        return space.task_losses(true, predicted)
    each = enumerate(zip(true, predicted, strict=True))
    return np.array([_loss_of(task_loss, i, a, b) for i, (a, b) in each], float)


def _loss_of(task_loss: Any, i: int, true: Any, predicted: Any) -> float:
    """One loss; what is no number is named."""
    pair = f"the true output y[{i}] = {true!r:.60} and the predicted one {predicted!r:.60}"
    try:
        found = float(task_loss(true, predicted))
    except Exception as error:
        raise ValueError(f"task_loss cannot compare {pair}: {type(error).__name__}: {error}") from error
    if not np.isfinite(found):
        raise ValueError(f"task_loss is {found} for {pair}")
    return found


def dense(table: sparse.csr_array, what: str) -> np.ndarray:
    """A sparse table as an array, if it fits."""
    n, q = table.shape
    check_size(f"{n:,} {what} as vectors of {q:,} coordinates", 8.0 * n * q, "use another output kernel")
    return np.asarray(table.toarray(), float)


class Inputs(NamedTuple):
    """Training inputs as a kernel compares them.

    Attributes
    ----------
    kernel : Kernel
        Bound to the training inputs.
    support : rows
        The inputs as ``kernel.cross`` takes them, in double precision; of a precomputed kernel the Gram matrix. They
        are the model's own: a user who changes ``X`` after the fit does not change the model.
    """

    kernel: Kernel
    support: Rows

    @classmethod
    def of(cls, kernel: Any, X: Any) -> Inputs:
        """Bind a kernel to the training inputs."""
        given = kernel.admit(X)
        bound = kernel.bind(given).in_double()
        if kernel.precomputed:
            given = np.asarray(given.toarray() if sparse.issparse(given) else given, float)
            if given.shape[0] != given.shape[1]:
                raise ValueError(
                    f"Precomputed: X has shape {given.shape}; for training it is the square matrix of kernel values of "
                    "all pairs of samples"
                )
        support = bound.prepare(given)
        if support is given:  # perhaps the very array that the user holds
            if kernel.precomputed:
                check_size(
                    f"a copy of {len(given):,} x {len(given):,} kernel values", 8.0 * given.size, FEWER
                )
            support = given.copy()  # in C order, as a loaded model has it
        return cls(bound, support)

    def gram(self, copies: int, what: str, remedy: str = FEWER) -> np.ndarray:
        """Kernel values of all pairs, (m, m), if as many copies fit into memory and they are those of a kernel."""
        m = self.support.shape[0]
        check_size(
            f"{what} of {m:,} samples holds {copies} matrices of {m:,} x {m:,} numbers", 8.0 * copies * m * m, remedy,
        )  # fmt: skip
        gram = np.asarray(self.kernel.cross(self.support, self.support), float)
        check_definite(self.kernel, self.support, what="input", name=_place, gram=gram)
        if not np.all(np.isfinite(gram)):
            i, j = np.argwhere(~np.isfinite(gram))[0]
            raise ValueError(f"{self.kernel!r} of X[{i}] and X[{j}] is {gram[i, j]}; scale the features")
        return (gram + gram.T) / 2.0

    def values(self, X: Any) -> Iterator[tuple[slice, np.ndarray]]:
        """Kernel values of new inputs with the training inputs, block by block."""
        return kernel_blocks(self.kernel, self.kernel.prepare(self.kernel.admit(X)), self.support)


def _place(i: int) -> str:
    return f"X[{i}]"


def kernel_blocks(kernel: Any, rows: Rows, support: Rows) -> Iterator[tuple[slice, np.ndarray]]:
    """Runs of rows and their kernel values with the support."""
    n, step = rows.shape[0], max(1, BLOCK // max(1, support.shape[0]))
    for start in range(0, n, step):
        part = slice(start, min(start + step, n))
        yield part, np.asarray(kernel.cross(rows[part], support), float)


class Landmarks(NamedTuple):
    """Many inputs by their kernel values with some of them.

    Attributes
    ----------
    inputs : Inputs
        The landmarks.
    normalization : ndarray of shape (n_landmarks, n_features)
    blocks : callable
        Runs of samples and their kernel values with the landmarks.
    """

    inputs: Inputs
    normalization: np.ndarray
    blocks: Callable[[], Any]

    @classmethod
    def of(cls, nystroem: Nystroem, X: Any) -> Landmarks:
        """Choose landmarks among the training inputs ``X``."""
        nystroem.check()
        kernel = resolve_kernel(nystroem.kernel)
        if not isinstance(kernel, Kernel):
            raise MissingCapability(
                f"{nystroem!r} makes features by a transformer: a regression needs Nystroem of a kernel, or transform X"
            )
        given = kernel.admit(X)
        bound = kernel.bind(given).in_double()
        rows = bound.prepare(given)
        chosen = nystroem.choose(rows)
        n_landmarks, n = len(chosen), rows.shape[0]
        check_size(
            f"{n_landmarks:,} landmarks", 3.0 * 8.0 * n_landmarks**2, "use a smaller n_components of Nystroem"
        )
        support = rows[chosen]
        gram = np.asarray(bound.cross(support, support), float)
        check_definite(bound, support, what="input", name=lambda i: _place(chosen[i]), gram=gram)
        values, vectors = above_rounding(*eigh(gram))
        kept: list[Any] = []
        if 8.0 * n * n_landmarks <= memory_limit() / 2.0:
            kept = list(kernel_blocks(bound, rows, support))
        blocks = (lambda: kept) if kept else (lambda: kernel_blocks(bound, rows, support))
        return cls(Inputs(bound, support), vectors / np.sqrt(values), blocks)
