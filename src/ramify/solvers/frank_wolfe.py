"""Block-coordinate pairwise Frank-Wolfe: the dual of the structured hinge, one sample at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from ramify.errors import MissingCapability
from ramify.objectives.problem import require_separable, require_whole
from ramify.scorers.linear import LinearScorer
from ramify.solvers.base import Callback, Recorder, Result, check_settings, warn_unconverged
from ramify.solvers.passes import is_fused, loss_table
from ramify.surrogates.hinge import Hinge

FREE = -1.0  # mass of an unused place, as in the kernel
TIE = 1e-10  # values closer than this are equal, as in the kernel
INNER_STEPS = 2  # pairwise steps a visit; more cost more than they gain


@dataclass
class ActiveSet:
    """The dual variables: for every sample a distribution over a few labelings, and the weights they imply.

    ``w = -(1 / l2) sum_i weight_i (mean counts of block i - true counts)`` at all times.
    """

    w: np.ndarray
    path: np.ndarray  # (places, rows) int32: active labelings
    mass: np.ndarray  # (samples, places): their weights, FREE where unused
    loss: np.ndarray  # (samples,): mean task loss of each block
    trail: np.ndarray  # sum of the weights at the ends of the epochs since the last check
    n_trail: int = 0
    epoch: int = 0
    n_oracle: float = 0.0

    @classmethod
    def at_truth(cls, problem: Any, places: int = 4) -> ActiveSet:
        """All mass on the true labelings: ``w = 0``."""
        codes = problem.samples.codes
        path = np.zeros((places, len(codes)), np.int32)
        path[0] = codes
        mass = np.full((problem.n_samples, places), FREE)
        mass[:, 0] = 1.0
        w = np.zeros(problem.n_params)
        return cls(w, path, mass, np.zeros(problem.n_samples), np.zeros_like(w))

    def copy(self) -> ActiveSet:
        """An independent copy."""
        arrays = {name: getattr(self, name).copy() for name in ("w", "path", "mass", "loss", "trail")}
        return replace(self, **arrays)

    def grow(self) -> None:
        """Twice as many places."""
        self.path = np.concatenate([self.path, np.zeros_like(self.path)])
        self.mass = np.concatenate([self.mass, np.full_like(self.mass, FREE)], axis=1)


class Best(NamedTuple):
    """The best point met, its objective, and the best lower bound proved."""

    w: np.ndarray
    primal: float
    lower: float


@dataclass(frozen=True)
class FrankWolfe:
    """Maximise the dual of ``sum_i hinge_i(w) + sum_j l2_j/2 w_j^2`` block by block.

    With ``mu_i`` a distribution over the outputs of sample i, the dual is
    ``sum_i weight_i E_mu_i[loss] - sum_j (l2_j / 2) w_j^2``. A visit of sample i finds the augmented best output and
    moves mass to the best active output from the worst one with an exact step. The gap between objective and dual
    is exact, computed by a full pass when the sum of the block gaps seen in an epoch says that it is worth it, and at
    least every ``check_every`` epochs. The primal point is the better of the present weights and their mean since the
    last check: the dual settles first, and the mean evens out what the last visits did.

    Parameters
    ----------
    max_iter : int
        Epochs.
    tol : float
        Relative duality gap at which the run stops.
    """

    max_iter: int = 2000
    tol: float = 1e-4
    check_every: int = 10
    random_state: int = 0
    callbacks: Sequence[Callback] = field(default=())

    def __post_init__(self) -> None:
        check_settings(self, positive=("max_iter", "check_every"), not_negative=("tol", "random_state"))

    def solve(self, problem: Any, w0: np.ndarray | None = None, state: dict | None = None) -> Result:
        """Run from the true labelings (``w = 0``), or go on from the ``state`` of an earlier result."""
        self._check(problem)
        if w0 is not None and np.any(w0):
            raise MissingCapability(
                "frank_wolfe cannot start from given weights, only from the state of an earlier result; "
                "use solver='bundle' or 'stochastic' for that"
            )
        active = ActiveSet.at_truth(problem) if state is None else state["active"].copy()
        recorder = Recorder(self.callbacks, () if state is None else state["history"])
        best = Best(active.w.copy(), np.inf, -np.inf) if state is None else state["best"]
        reason = "max_iter"
        plain = is_fused(problem) and type(problem.scorer) is LinearScorer  # its loop knows no edge features
        visit = fused_visits if plain else generic_visits
        last = active.epoch + self.max_iter
        while active.epoch < last:
            order = np.random.default_rng([self.random_state, active.epoch]).permutation(problem.n_samples)
            gaps, crowded = visit(problem, active, order)
            active.epoch += 1
            active.n_oracle += 1
            active.trail += active.w
            active.n_trail += 1
            if crowded:
                active.grow()
            dual = dual_value(problem, active)
            promising = gaps <= self.tol * (dual + gaps)
            early = active.epoch & (active.epoch - 1) == 0  # 1, 2, 4, 8, ...
            if promising or early or active.epoch % self.check_every == 0:
                best = checked(problem, active, best)
            elif active.epoch == last:
                # on a copy: a resumed run goes on as if it had not been checked
                best = checked(problem, active.copy(), best)
            lower = max(best.lower, dual)
            stop = recorder.record(active.epoch, active.n_oracle, best.primal, lower, best.w.copy)
            if best.primal - best.lower <= self.tol * abs(best.primal):
                reason = "gap"
                break
            if stop:
                reason = "callback"
                break
        recorder.history[-1] = recorder.history[-1]._replace(primal=best.primal, lower=best.lower)
        history = tuple(recorder.history)
        if reason == "max_iter":
            warn_unconverged(
                f"frank_wolfe stopped after {active.epoch} epochs with relative gap "
                f"{history[-1].gap / abs(best.primal):.2e} > tol={self.tol:g}. Increase max_iter, tol or l2."
            )
        state = {"active": active, "history": history, "best": best}
        return Result(best.w, history[-1], history, reason == "gap", reason, state)

    @staticmethod
    def can_restart(state: Any) -> bool:
        """Whether ``state`` is one of this solver's."""
        return isinstance(state, dict) and "active" in state

    def restart(self, problem: Any, state: dict) -> dict:
        """The dual variables of an earlier run as the start of this one; only the penalty may have changed."""
        active = state["active"].copy()
        same = active.mass.shape[0] == problem.n_samples and active.path.shape[1] == len(
            problem.samples.codes
        )
        if not same or len(active.w) != problem.n_params:
            raise MissingCapability(
                "frank_wolfe can be warm-started on the same samples only, since its variables belong to them; "
                "use solver='bundle' or 'stochastic' to start from given weights"
            )
        active.w, active.loss = dual_weights(problem, active), block_losses(problem, active)
        active.trail[:], active.n_trail, active.epoch, active.n_oracle = 0.0, 0, 0, 0.0
        return {"active": active, "history": (), "best": Best(active.w.copy(), np.inf, -np.inf)}

    @staticmethod
    def _check(problem: Any) -> None:
        surrogate = getattr(problem, "surrogate", None)
        if not isinstance(surrogate, Hinge):
            raise MissingCapability(
                f"frank_wolfe solves the dual of the hinge, not of {type(surrogate).__name__}; use solver='lbfgs'"
            )
        require_separable(problem, "frank_wolfe")
        require_whole(problem, "frank_wolfe")
        reg = problem.regularizer
        if np.any(reg.l1 > 0) or np.any(reg.l2 <= 0):
            raise MissingCapability(
                "frank_wolfe needs l2 > 0 on every weight and no l1; use solver='stochastic' for l1 or "
                "unpenalised weights"
            )


def checked(problem: Any, active: ActiveSet, best: Best) -> Best:
    """The better of ``best`` and the present state, by full passes; rounding errors of the weights are removed."""
    active.w = dual_weights(problem, active)
    lower = max(best.lower, dual_value(problem, active))
    for w in (active.w.copy(), active.trail / active.n_trail):
        primal = problem.loss(w)[0] + problem.regularizer.value(w)
        active.n_oracle += 1
        if primal < best.primal:
            best = Best(w, primal, lower)
    active.trail[:], active.n_trail = 0.0, 0
    return best._replace(lower=lower)


def dual_value(problem: Any, active: ActiveSet) -> float:
    """Lower bound on the optimum that the active set proves."""
    return float(problem.samples.weight @ active.loss - problem.regularizer.l2_value(active.w))


def dual_weights(problem: Any, active: ActiveSet) -> np.ndarray:
    """The weights that the active labelings imply, from scratch."""
    samples, structure, scorer = problem.samples, problem.structure, problem.scorer
    theta = scorer.score(active.w, samples.batch)
    counts = np.zeros(problem.n_params)
    for m in range(len(active.path)):
        mass = samples.weight * np.maximum(active.mass[:, m], 0.0)
        if np.any(mass):
            scorer.pull_back(structure.count(theta, active.path[m], weight=mass), samples.batch, counts)
    scorer.pull_back(structure.count(theta, samples.codes, weight=-samples.weight), samples.batch, counts)
    return -counts / problem.regularizer.l2


def block_losses(problem: Any, active: ActiveSet) -> np.ndarray:
    """Mean task loss of every block, from scratch."""
    samples, task_loss = problem.samples, problem.surrogate.task_loss
    theta = problem.scorer.score(active.w, samples.batch)
    return sum(
        np.maximum(active.mass[:, m], 0.0) * task_loss.value(problem.structure, theta, samples.codes, path)
        for m, path in enumerate(active.path)
    )


def fused_visits(problem: Any, active: ActiveSet, order: np.ndarray) -> tuple[float, int]:
    """Visit the samples of ``order``; the sum of their gaps and how often no place was free."""
    from ramify._kernels.chain_frank_wolfe import frank_wolfe_pass

    samples = problem.samples
    return frank_wolfe_pass(
        *problem.scorer.raw(samples.batch), samples.batch.offsets, samples.codes, samples.weight,
        loss_table(problem), order, problem.scorer.n_columns, active.w, problem.regularizer.l2, active.path,
        active.mass, active.loss, INNER_STEPS,
    )  # fmt: skip


def generic_visits(problem: Any, active: ActiveSet, order: np.ndarray) -> tuple[float, int]:
    """The same visits through one-sample shards, for structures or losses without a compiled loop."""
    gaps, crowded = 0.0, 0
    for s in order:
        gap, full = _generic_visit(problem, active, int(s))
        gaps += gap
        crowded += full
    return gaps, crowded


def _generic_visit(problem: Any, active: ActiveSet, s: int) -> tuple[float, bool]:
    structure, scorer, task_loss = problem.structure, problem.scorer, problem.surrogate.task_loss
    one = problem.samples.slice(s, s + 1)
    rows = slice(problem.samples.batch.offsets[s], problem.samples.batch.offsets[s + 1])
    weight, mass, l2 = float(one.weight[0]), active.mass[s], problem.regularizer.l2
    gap, full = 0.0, False
    for visit in range(INNER_STEPS):
        theta = scorer.score(active.w, one.batch)
        used = np.flatnonzero(mass != FREE)
        losses = np.zeros(len(mass))
        values = np.full(len(mass), np.nan)
        for m in used:
            losses[m] = task_loss.value(structure, theta, one.codes, active.path[m, rows])[0]
            values[m] = structure.score(theta, active.path[m, rows])[0] + losses[m]
        if visit == 0:
            rival, (value,) = task_loss.augmented_best(structure, theta, one.codes)
            gap = weight * max(value - float(mass[used] @ values[used]), 0.0)
            if value > values[_first_best(values)] + TIE * (1.0 + abs(value)):
                free = np.flatnonzero(mass == FREE)
                full = not len(free)
                if len(free):
                    m = free[0]
                    active.path[m, rows], mass[m], values[m] = rival, 0.0, value
                    losses[m] = task_loss.value(structure, theta, one.codes, rival)[0]
        best, worst = _first_best(values), _first_best(-np.where(mass > 0.0, values, np.nan))
        rise = weight * (values[best] - values[worst])
        if best == worst or rise <= weight * TIE * (1.0 + abs(values[best])):
            break
        counts = structure.count(theta, active.path[best, rows], weight=one.weight)
        counts = structure.count(theta, active.path[worst, rows], weight=-one.weight, into=counts)
        direction = np.zeros(problem.n_params)
        scorer.pull_back(counts, one.batch, direction)
        curvature = float(np.sum(direction * direction / l2))
        step = min(mass[worst], rise / curvature) if curvature > 0 else mass[worst]
        active.w -= step * direction / l2
        mass[best] += step
        mass[worst] = FREE if step >= mass[worst] else mass[worst] - step
        active.loss[s] += step * (losses[best] - losses[worst])
    mass[mass == 0.0] = FREE
    return gap, full


def _first_best(values: np.ndarray) -> int:
    """Position of the maximum, the first of those that are equal up to rounding; NaN is no value."""
    best = -1
    for m, value in enumerate(values):
        if not np.isnan(value) and (best < 0 or value > values[best] + TIE * (1.0 + abs(value))):
            best = m
    return best
