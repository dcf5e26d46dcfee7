"""The dual of the multiclass hinge: its variables, and the compiled visits of samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from palmette._kernels.constants import NEVER, padded
from palmette.contracts.problem import SampledProblem
from palmette.data.batch import SparseRows
from palmette.loops.block_state import FORGET, BlockState
from palmette.loops.table import CompiledLoop, compiled_as

MASS_BYTES = 2e9  # the most that the masses may take
# Mean of weight |x|^2 / l2. The larger, the shorter the steps: features that are not scaled (wine: 7e5), say.
STEEP = 1000.0


@dataclass(kw_only=True)
class LabelMasses(BlockState):
    """A distribution over labels for every sample, the label whose score its loss subtracts, and the proximal centre.

    ``w = (pull centre + z / l2) / (pull + 1)`` with ``z = sum_i weight_i ([target_i] - mass_i) x_i``.
    """

    mass: np.ndarray  # (samples x width,)
    target: np.ndarray  # (samples,) int64
    l2: np.ndarray  # of the problem they belong to
    centre: np.ndarray
    last: np.ndarray  # weights at the end of the last round
    slope: np.ndarray  # running mean of z, times ``trail_share``
    cost: float = 0.0  # running mean of the weighted losses, times ``trail_share``
    momentum: float = 1.0
    inner: int = 0  # epochs of the present round
    rounds: int = 0
    pull: float = 0.0  # strength of the proximal term relative to l2

    solver = "multiclass_dual"
    travels = (*BlockState.travels, "target", "l2", "centre", "last", "slope")

    @classmethod
    def at_truth(cls, problem: SampledProblem, target: np.ndarray) -> LabelMasses:
        """All mass on the targets: ``z = 0``."""
        mass = np.zeros((problem.n_samples, padded(problem.scorer.n_labels)))
        mass[np.arange(len(mass)), target] = 1.0
        own: dict[str, Any] = {name: np.zeros(problem.n_params) for name in ("centre", "last", "slope")}
        zero = cls.at_zero(problem)
        return cls(mass=mass.ravel(), target=target.copy(), l2=problem.regularizer.l2, **own, **zero)

    def fits(self, problem: SampledProblem) -> bool:
        """Whether these variables have the shape of ``problem``."""
        width = padded(problem.scorer.n_labels)
        return super().fits(problem) and len(self.mass) == problem.n_samples * width

    def belongs_to(self, problem: SampledProblem, target: np.ndarray) -> bool:
        """Whether a run on exactly this problem can go on."""
        return np.array_equal(self.l2, problem.regularizer.l2) and np.array_equal(self.target, target)

    def begin(self, target: np.ndarray, l2: np.ndarray, centre: np.ndarray, pull: float) -> None:
        """Begin another problem: samples with a new target have all mass there, the others keep theirs."""
        moved = np.flatnonzero(target != self.target)
        rows = self.mass.reshape(len(target), -1)
        rows[moved] = 0.0
        rows[moved, target[moved]] = 1.0
        self.target, self.l2, self.pull = target.copy(), l2, pull
        self.centre, self.last = centre.copy(), centre.copy()
        self.slope[:], self.cost, self.momentum, self.inner, self.rounds = 0.0, 0.0, 1.0, 0, 0
        self.restart()

    def total(self) -> np.ndarray:
        """``z`` of the masses, from the weights."""
        return self.l2 * ((1.0 + self.pull) * self.w - self.pull * self.centre)

    def weights(self, z: np.ndarray) -> np.ndarray:
        """Inverse of :meth:`total`."""
        return (self.pull * self.centre + z / self.l2) / (1.0 + self.pull)

    def note_round(self, slope: np.ndarray, cost: float) -> None:
        """Take the end of a round into the running means."""
        self.note()
        self.slope += FORGET * (slope - self.slope)
        self.cost += FORGET * (cost - self.cost)


class MulticlassBlocks(CompiledLoop):
    """Visits by the compiled loop, of a problem to which ``pull (l2/2)|w - centre|^2`` is added.

    Parameters
    ----------
    target : ndarray of int64, shape (n_samples,)
        The label whose score is subtracted from the augmented maximum.
    """

    variables = LabelMasses

    @classmethod
    def why_not(cls, problem: SampledProblem) -> str | None:
        """What the compiled visits cannot take of a problem, or nothing; None without weights of features."""
        scorer, surrogate, reg = problem.scorer, problem.surrogate, problem.regularizer
        if compiled_as(surrogate) != "hinge":
            return f"solves the hinge with margin rescaling, not {type(surrogate).__name__}"
        if compiled_as(scorer) != "linear":
            return None
        if compiled_as(surrogate.task_loss) != "parts":
            return "needs a task loss that is a table of costs"
        if len(scorer.ptr):
            return "needs weights of every label for every feature: use states='all'"
        if not reg.quadratic:
            return "needs l2 > 0 on every weight and no l1"
        l2 = reg.l2.reshape(-1, scorer.n_labels)
        if np.any(l2 != l2[:, :1]):
            return "needs an l2 that is the same for all labels"
        if 8 * problem.n_samples * padded(scorer.n_labels) > MASS_BYTES:
            return f"would take more than {MASS_BYTES / 1e9:g} GB, one number per sample and label"
        return ""

    @classmethod
    def quick(cls, problem: SampledProblem) -> bool:
        """Whether its steps are not too short."""
        return cls(problem, problem.samples.codes.astype(np.int64)).mean_curvature <= STEEP

    def __init__(self, problem: SampledProblem, target: np.ndarray) -> None:
        from palmette.structures.chain.kernels.multiclass_dual import Rows

        super().__init__(problem)
        self.target = target
        scorer, rows = problem.scorer, problem.samples.batch.rows
        self.n_labels, self.width = scorer.n_labels, padded(scorer.n_labels)
        self.codes = problem.samples.codes.astype(np.int64)
        self.l2 = np.ascontiguousarray(problem.regularizer.l2.reshape(-1, self.n_labels)[:, 0])
        inverse = 1.0 / self.l2
        if isinstance(rows, SparseRows):
            own = _without_twins(rows)
            squares = own.multiply(own) @ inverse[: rows.n_columns]
            given = np.empty(0), own.indptr.astype(np.int64), own.indices.astype(np.int64), own.data
            self.values_a_row = own.nnz / max(len(rows), 1)
        else:
            squares = np.einsum("ij,ij,j->i", rows, rows, inverse[: rows.shape[1]])
            empty = np.empty(0, np.int64)
            flat = np.ascontiguousarray(rows).ravel()
            flat = flat if flat.flags.writeable else flat.copy()  # another type for the compiler otherwise
            given = flat, empty, empty, np.empty(0)
            self.values_a_row = float(rows.shape[1])
        self.curvature = squares + (inverse[-1] if scorer.intercept else 0.0)
        cost = np.full((self.n_labels, self.width), NEVER)
        cost[:, : self.n_labels] = problem.surrogate.task_loss.table
        self.cost = cost.ravel()
        self.rows = Rows(*given, rows.shape[1], self.n_labels, self.width, bool(scorer.intercept))

    @property
    def mean_curvature(self) -> float:
        """Mean over samples of ``weight_i |x_i|^2 / l2``."""
        return float(np.mean(self.curvature * self.problem.samples.weight))

    def pull(self) -> float:
        """Strength of the proximal term relative to l2.

        Steps are as long as they should be where the mean curvature is about
        ``2 sqrt(a) (values per row / samples)^(1/3)``, ``a`` being the mean curvature without it: measured on the
        Statlog sets for C from 0.01 to 10.
        """
        mean = self.mean_curvature
        wanted = 2.0 * np.sqrt(mean) * np.cbrt(self.values_a_row / len(self.curvature))
        return max(mean / wanted - 1.0, 0.0) if wanted > 0.0 else 0.0

    def anew(self, state: LabelMasses, centre: np.ndarray) -> None:
        """Begin a run of this problem at a centre."""
        state.begin(self.target, self.problem.regularizer.l2, centre, self.pull())
        self.refresh(state)

    def _pack(self, w: np.ndarray) -> np.ndarray:
        out = np.zeros((len(self.l2), self.width))
        out[:, : self.n_labels] = w.reshape(-1, self.n_labels)
        return out.ravel()

    def _unpack(self, w: np.ndarray) -> np.ndarray:
        return w.reshape(-1, self.width)[:, : self.n_labels].ravel()

    def visit(self, state: LabelMasses, order: np.ndarray) -> None:
        """Visit the samples of ``order``."""
        from palmette.structures.chain.kernels.multiclass_dual import dual_pass

        w = self._pack(state.w)
        inverse, curvature = 1.0 / (self.l2 * (1.0 + state.pull)), self.curvature / (1.0 + state.pull)
        dual_pass(
            self.rows, w, inverse, curvature, self.cost, self.codes, self.problem.samples.weight,
            np.asarray(order, np.int64), state.mass, state.loss, state.gap,
        )  # fmt: skip
        state.w = self._unpack(w)

    def refresh(self, state: LabelMasses) -> np.ndarray:
        """``z``, weights and losses from the masses alone: what visits added up has rounding errors."""
        from palmette.structures.chain.kernels.multiclass_dual import dual_weights

        z = np.zeros(len(self.l2) * self.width)
        ones, weight = np.ones(len(self.l2)), self.problem.samples.weight
        dual_weights(self.rows, z, ones, self.cost, self.codes, state.target, weight, state.mass, state.loss)
        slope = self._unpack(z)
        state.w = state.weights(slope)
        return slope

    def value(self, w: np.ndarray) -> float:
        """The data term at ``w``."""
        from palmette.structures.chain.kernels.multiclass_dual import hinge_value

        weight = self.problem.samples.weight
        return float(hinge_value(self.rows, self._pack(w), self.cost, self.codes, self.target, weight))


def _without_twins(rows: SparseRows) -> sparse.csr_array:
    """A copy in which a column stands in a row once at most."""
    lo, hi = int(rows.indptr[0]), int(rows.indptr[-1])
    values = rows.values[lo:hi].copy() if len(rows.values) else np.ones(hi - lo)
    own = sparse.csr_array((values, rows.indices[lo:hi].copy(), rows.indptr - lo), shape=rows.shape)
    own.sum_duplicates()
    return own
