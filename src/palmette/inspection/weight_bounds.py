"""The bounds of learners with weights: each takes the samples of a report and answers with a `Bound`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from palmette.bounds import (
    convergence_steps,
    covering_bound,
    level,
    lipschitz_stability,
    max_margin_bound,
    overfit_bound,
    partial_annotation_bound,
    stability_bound,
    to_lambda,
)
from palmette.contracts.structure import can
from palmette.inspection.bound import Bound, DoesNotApplyError
from palmette.inspection.given import Given
from palmette.inspection.margin_loss import margin_loss
from palmette.inspection.model_sizes import ModelSizes
from palmette.inspection.risk_bounds import BoundValues, bound_values
from palmette.losses.base import resolve_loss

MARGINS = (0.01, 0.1, 1.0, 10.0)  # times the norm: of which the best counts, each with its share of delta


@dataclass
class Measured:
    """Training data, held-out data if any, and a model."""

    model: Any
    train: tuple[Any, Any]
    test: tuple[Any, Any] | None
    given: Given = field(default_factory=Given)

    @cached_property
    def sizes(self) -> ModelSizes:
        """Numbers of the training data."""
        return ModelSizes(self.model, *self.train)

    @cached_property
    def test_sizes(self) -> ModelSizes | None:
        """Numbers of the held-out data."""
        return None if self.test is None else ModelSizes(self.model, *self.test)

    @cached_property
    def values(self) -> BoundValues:
        """Convex bound, ramp and task loss of the training samples."""
        self.check_complete()
        return bound_values(self.model, *self.train)

    @cached_property
    def test_values(self) -> BoundValues | None:
        """The same of the held-out samples."""
        return None if self.test is None else bound_values(self.model, *self.test)

    def check_complete(self) -> None:
        """Refuse outputs that are annotated in part."""
        if self.sizes.partial or (self.test_sizes is not None and self.test_sizes.partial):
            raise DoesNotApplyError(
                "it compares predictions with complete outputs, and y is annotated in part"
            )

    @cached_property
    def level(self) -> tuple[float, float]:
        """A bound on ``|w|``, and the ``delta`` that is left for whoever uses it."""
        given, own = self.given, self.sizes.norm
        if given.norm is None:
            return level(own, given.delta) if own > 0.0 else (1.0, given.delta)
        if own > given.norm * (1.0 + 1e-9):
            raise ValueError(f"norm={given.norm!r} is no bound: the weights have norm {own:.6g}")
        return float(given.norm), given.delta

    @cached_property
    def feature_norm(self) -> float:
        """``B >= |phi(x, y)|``."""
        return self._norm("whole", self.given.feature_norm)

    @cached_property
    def lipschitz(self) -> float:
        """``G >= |phi(x, y) - phi(x, true)|``."""
        own = None if self.given.feature_norm is None else 2.0 * self.given.feature_norm
        return self._norm("difference", own)

    @property
    def l2(self) -> float:
        """The penalty of the sum of losses."""
        return self.sizes.l2 if self.given.l2 is None else float(self.given.l2)

    @cached_property
    def missed(self) -> float:
        """Gap of the objective, as a mean over samples."""
        gap = float(self.model.result_.gap)
        if np.isnan(gap):
            raise DoesNotApplyError("nothing is proven of how near the weights are to the minimum (no gap)")
        return max(gap, 0.0) / self.sizes.m

    @cached_property
    def hinge(self) -> tuple[Any, float]:
        """The task loss of a hinge, and how much it is at most."""
        surrogate = self.sizes.surrogate
        task_loss = getattr(surrogate, "task_loss", None)
        if (
            task_loss is None
            or surrogate.smooth
            or getattr(self.model, "loss", "") not in ("hinge", "bridge", "max")
        ):
            raise DoesNotApplyError("it is about the hinge and the bridge loss of SSVM")
        if getattr(surrogate, "rescaling", None) is not None:
            raise DoesNotApplyError("its loss is rescaled by the task loss")
        return task_loss, self.sizes.largest_loss(task_loss)

    def _norm(self, name: str, given: float | None) -> float:
        if given is not None:
            return float(given)
        every = [self.sizes, *([] if self.test_sizes is None else [self.test_sizes])]
        return max(getattr(sizes.norms, name) for sizes in every)


def convex(data: Measured) -> Bound:
    """Lemma 1 of the ramp paper, on the samples that it is computed on."""
    return _of_samples(data, "convex")


def ramp(data: Measured) -> Bound:
    """Lemma 2 of the ramp paper."""
    return _of_samples(data, "ramp")


def _of_samples(data: Measured, kind: str) -> Bound:
    shown = data.values if data.test_values is None else data.test_values
    sizes = data.sizes if data.test_sizes is None else data.test_sizes
    which = "training" if data.test_values is None else "held-out"
    wanted = getattr(data.model, "task_loss", "auto")
    loss = resolve_loss(wanted, sizes.structure, tuple(data.model.codec_.classes_))
    worst = sizes.largest_loss(loss) if can(loss, "largest") else np.inf
    return Bound(
        f"task loss of the {which} samples", value=float(getattr(shown, kind).mean()), worst=worst,
        training=float(getattr(data.values, kind).mean()),
        held_out=np.nan if data.test_values is None else float(data.test_values.loss.mean()),
        note="holds for every sample, and says nothing of others",
    )  # fmt: skip


def max_margin(data: Measured) -> Bound:
    """Theorem 6.1."""
    return _with_margin(data, max_margin_bound)


def covering(data: Measured) -> Bound:
    """The same before its terms are gathered."""
    return _with_margin(data, covering_bound)


def _with_margin(data: Measured, bound: Callable[..., float]) -> Bound:
    sizes, given = data.sizes, data.given
    data.check_complete()
    if not sizes.structure.can("parts_at"):
        raise DoesNotApplyError(
            f"it is about labels that parts join, and the outputs of {type(sizes.structure).__name__} are none"
        )
    every = [sizes, *([] if data.test_sizes is None else [data.test_sizes])]
    norm, delta = data.level
    q, arity = (max(own.parts_at[k] for own in every) for k in (0, 1))
    # Two labellings of a part have no weight in common, or the same entries at it: the angle is at most a right one.
    part = max(own.norms.part for own in every) if given.feature_norm is None else given.feature_norm
    numbers = {
        "m": sizes.m, "r_edge": float(np.sqrt(2.0)) * part, "q": q, "arity": max(arity, 2), "k": max(sizes.n_labels, 2),
        "l": int(max(own.lengths.max() for own in every)),
    }  # fmt: skip
    gammas = [norm * times for times in MARGINS] if given.gamma is None else [given.gamma]
    delta = min(delta / len(gammas), 0.5)
    excess = {gamma: bound(norm, gamma, delta=delta, **numbers) for gamma in gammas}
    # Where all are vacuous a margin loss, which is at most 1, is asked for once.
    useful = [gamma for gamma in gammas if excess[gamma] < 1.0] or [min(gammas, key=excess.__getitem__)]
    losses = {gamma: float(margin_loss(data.model, *data.train, gamma).mean()) for gamma in useful}
    gamma = min(useful, key=lambda own: losses[own] + excess[own])
    test = np.nan if data.test is None else float(margin_loss(data.model, *data.test, 0.0).mean())
    return Bound(
        "share of wrong labels of a sample", value=losses[gamma] + excess[gamma], training=losses[gamma], worst=1.0,
        held_out=test, given=numbers | {"norm": norm, "gamma": gamma, "delta": delta},
        note="the training term is the margin loss",
    )  # fmt: skip


def stability(data: Measured) -> Bound:
    """Theorem 13, with the Lipschitz constant of the loss."""
    sizes, surrogate = data.sizes, data.sizes.convex_surrogate
    if getattr(data.model, "regularizer", None) is not None:
        raise DoesNotApplyError("it was trained on pieces or with groups (regularizer)")
    G, l2 = data.lipschitz, data.l2
    lam = l2 / sizes.m
    most = largest_training_loss(data, surrogate)
    change = lipschitz_stability(G, m=sizes.m, lam=lam, missed=data.missed) if G > 0.0 else 0.0
    own = float(sizes.losses(surrogate).mean())
    excess = stability_bound(change, m=sizes.m, gamma=most, delta=data.given.delta)
    test = np.nan if data.test_sizes is None else float(data.test_sizes.losses(surrogate).mean())
    return Bound(
        "training loss of a sample", value=own + excess, training=own, worst=most, held_out=test,
        given={"m": sizes.m, "lipschitz": G, "lam": lam, "change": change, "gamma": most, "missed": data.missed},
    )  # fmt: skip


def largest_training_loss(data: Measured, surrogate: Any) -> float:
    """The largest loss of a minimiser, for any training set: loss at 0 plus what weights within reach can add."""
    every = [data.sizes, *([] if data.test_sizes is None else [data.test_sizes])]
    zero = max(float(sizes.losses(surrogate, at_zero=True).max()) for sizes in every)
    lam = data.l2 / data.sizes.m
    # (lam/2)|w|^2 is at most the mean loss at 0, and lam w is a mean of slopes.
    reach = min(np.sqrt(2.0 * zero / lam), data.lipschitz / lam)
    return zero + data.lipschitz * float(reach)


def structure_regularisation(data: Measured) -> Bound:
    """Theorem 14, which is (9) and (29)."""
    sizes, given = data.sizes, data.given
    if given.rho is None:
        raise DoesNotApplyError(
            "it asks for rho, the admissibility of scores of positions: |f(x, k) - f'(x, k)| <= rho |w - w'| |x|"
        )
    n = float(sizes.lengths.max())
    d, v = sizes.row_sizes
    size = getattr(getattr(data.model, "decomposition_", None), "size", None)
    size = n if size is None else float(np.clip(size, 1.0, n))
    surrogate = sizes.convex_surrogate
    most = largest_training_loss(data, surrogate) / n
    lam = to_lambda(data.l2, sizes.m, n)
    numbers: dict[str, Any] = {
        "n": n,
        "m": sizes.m,
        "lam": lam,
        "d": d,
        "v": v,
        "gamma": most,
        "tau": given.tau,
        "rho": given.rho,
    }
    excess = overfit_bound(size, delta=given.delta, **numbers)
    own = float((sizes.losses(surrogate) / sizes.lengths).mean())
    other = data.test_sizes
    test = np.nan if other is None else float((other.losses(surrogate) / other.lengths).mean())
    return Bound(
        "training loss of a position", value=own + excess, training=own, worst=most, held_out=test,
        given=numbers | {"size": size}, note="for samples of n positions each, under the rho and tau given",
    )  # fmt: skip


def partial_annotation(data: Measured) -> Bound:
    """Theorem 1.1 (3), corrected."""
    return _partial(data, "corrected")


def sharp_partial_annotation(data: Measured) -> Bound:
    """The same with one-sided steps."""
    return _partial(data, "sharp")


def printed_partial_annotation(data: Measured) -> Bound:
    """Theorem 1.1 (3) as it is printed."""
    return _partial(data, "printed")


def _partial(data: Measured, form: str) -> Bound:
    sizes = data.sizes
    _, most = data.hinge
    norm, delta = data.level
    log_annotations = data.given.log_annotations
    if log_annotations is None and sizes.partial:  # every part has a code, or one of some, or any
        log_annotations = float(sizes.lengths.max() * np.log(2.0 ** min(sizes.n_labels, 1000) - 1.0))
    given: dict[str, Any] = {
        "m": sizes.m, "feature_norm": data.feature_norm, "largest": most, "log_outputs": sizes.log_outputs,
        "log_annotations": log_annotations,
    }  # fmt: skip
    excess = partial_annotation_bound(norm, delta=delta, form=form, **given)
    own = float(sizes.losses(sizes.surrogate).mean())
    test = np.nan if data.test_sizes is None else float(data.test_sizes.losses(sizes.surrogate).mean())
    return Bound(
        "hinge of a sample", value=own + excess, training=own, worst=2.0 * norm * data.feature_norm + most,
        held_out=test, given=given | {"norm": norm, "delta": delta},
        note="not proven: for comparison" if form == "printed" else "",
    )  # fmt: skip


def convergence(data: Measured) -> Bound:
    """Proposition 5."""
    sizes, surrogate = data.sizes, data.sizes.convex_surrogate
    if not surrogate.smooth:
        raise DoesNotApplyError("it needs a loss with a slope, as that of CRF")
    n, c, G = float(sizes.lengths.max()), data.l2 / sizes.m, data.lipschitz
    numbers: dict[str, Any] = {
        "n": n, "eps": data.given.eps, "c": c,
        # The curvature of log sum exp is a variance of features; steps from 0 never leave |w| <= G / c.
        "q": c + data.feature_norm**2, "kappa": 2.0 * G / n,
        "a0": (sizes.norm + np.sqrt(2.0 * data.missed / c)) ** 2,
    }  # fmt: skip
    try:
        steps = convergence_steps(n, **numbers)
    except ValueError as error:
        raise DoesNotApplyError(str(error)) from None
    return Bound(
        f"steps until the objective per sample is within {data.given.eps:g} of its minimum", value=float(steps),
        given=numbers, note="at a fixed rate, from weights of 0, without pieces",
    )  # fmt: skip


BOUNDS: dict[str, Callable[[Measured], Bound]] = {
    "convex bound (ramp, Lemma 1)": convex,
    "ramp bound (ramp, Lemma 2)": ramp,
    "max-margin (M3N, Theorem 6.1)": max_margin,
    "covering numbers (M3N, before 6.1)": covering,
    "stability (structure regularisation, Theorem 13)": stability,
    "structure regularisation (Theorems 4 and 14)": structure_regularisation,
    "partial annotation (Theorem 1.1)": partial_annotation,
    "partial annotation (Theorem 1.1, sharper)": sharp_partial_annotation,
    "stochastic steps (structure regularisation, Proposition 5)": convergence,
}
PRINTED: dict[str, Callable[[Measured], Bound]] = {
    "partial annotation (Theorem 1.1, AS PRINTED)": printed_partial_annotation
}
