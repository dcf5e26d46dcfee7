"""Structured support vector machines: max-margin learning on any structure that can maximise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from palmette.contracts.structure import require
from palmette.errors import MissingCapability
from palmette.estimators.kernel_learner import LabelEstimator
from palmette.estimators.settings import LossOptions, settings_of
from palmette.estimators.strengths import BlockPenalties, wanted_tol
from palmette.loops import find
from palmette.losses.base import resolve_loss
from palmette.losses.rescaling import Rescaling, resolve_rescaling
from palmette.objectives.problem import is_l1_alone
from palmette.registry import register
from palmette.solvers.multiclass_dual import FEW_WEIGHTS, suits
from palmette.surrogates.difference import Difference
from palmette.surrogates.hinge import Hinge
from palmette.surrogates.partial import AnnotatedSoftHinge, IgnoringBridge, annotated_ramp, bridge_loss
from palmette.surrogates.ramp import ramp_loss
from palmette.surrogates.rescaled import RescaledHinge
from palmette.surrogates.soft_hinge import SoftHinge
from palmette.surrogates.ties import TieLoss

# With few weights the bundle method ends sooner below this tol; with few samples beside it, its results depend on
# neither their order nor their repetition, and both take no time.
DUAL_FROM, FEW_SAMPLES = 1e-4, 100
PARTIAL = ("bridge", "latent", "max")  # that learn from partial annotation
LOSSES = ("hinge", "soft_hinge", "ramp", *PARTIAL)
# Relative gap of the objective beyond which held-out scores do not move (experiments/benchmarks/defaults.py). The ramp
# loss has no gap: its procedure ends by the decrease of a round, and ends too soon at 1e-2.
USUAL_TOL = {"hinge": 1e-2, "soft_hinge": 1e-3, "ramp": 1e-3}


@register("learner")
@dataclass(eq=False, repr=False, kw_only=True)
class SSVM(LabelEstimator, BlockPenalties):
    r"""Structured support vector machine (max-margin Markov network on chains).

    Minimises ``sum_i max_y [f(x_i, y) + D(y_i, y)] - f(x_i, y_i) + (l2/2)|w|^2 + l1|w|_1``, where ``D`` is the task
    loss. On ``Multiclass()`` this is the multiclass SVM of Crammer and Singer.

    Parameters
    ----------
    structure : structure object
        What an output is: ``Chain()``, ``Multiclass()``, ``SemiMarkov(max_length)``, ``Graph()``, ``Ranking()``.
    l2, C : float or str, optional
        L2 penalty, as itself or as ``l2 = 1 / C``. By default the usual one: 1, and for columns of arrays half of their
        number times the geometric mean of their variances. ``l2="10x"`` is ten times that. :class:`SSVMCV` chooses it.
    l1 : float, default=0.0
        L1 penalty, which makes weights exactly 0 (solvers "bundle" and "stochastic"; alone a linear program).
    l2_node, l2_edge, l2_bias : float or str, optional
        L2 of feature, transition and intercept weights; ``l2`` by default.
    loss : {"hinge", "ramp", "soft_hinge", "bridge", "latent", "max"}, default="hinge"
        The surrogate. "ramp" has ``max_y f(x_i, y)`` in place of ``f(x_i, y_i)``: bounded, for noisy labels, and not
        convex. "soft_hinge" smooths the maximum by entropy, for L-BFGS and large graphs with cycles. All but "hinge"
        learn from outputs with parts that are UNKNOWN or OneOf several labels (guide on partial annotation).
    task_loss : {"auto", "hamming", "zero_one", "ndcg", "map", "precision", "pairwise"} or object of ``palmette.losses``
        What a mistake costs; "auto" is NDCG for ``Ranking``, Hamming loss for the others. A table or a mapping of costs
        ``[true, predicted]`` stands for ``Hamming(costs)``.
    kernel : kernel of ``palmette.kernels``, name, function of two tables, or None
        Scores labels at positions by a kernel of their rows instead of weights of features.
    solver : str or solver object, default="auto"
        "auto" is "frank_wolfe" or "multiclass_dual" where these have a compiled loop and weights are many, otherwise
        "bundle"; "cccp" for the ramp loss, "lbfgs" for the soft hinge. The guide on solvers lists all.
    tol : float, optional
        Relative suboptimality to reach; ``result_.reason`` says what was reached. 1e-2 for the hinge, else 1e-3.
    loss_options, kernel_options, encoding : LossOptions, KernelOptions, Encoding, optional
        Rescaling and temperature; kernel of edges and memory; rare features, hashing and which weights exist.
    regularizer, max_iter, edge_features, fit_intercept, classes, class_weight, n_jobs, random_state, verbose, \
    callbacks, warm_start
        As for :class:`CRF`; ``regularizer`` is a :class:`~palmette.Decomposition`.

    Attributes
    ----------
    classes_, coef_, result_, objective_, l2_, fit_seconds_, support_, n_support_, dual_coef_
        As for :class:`CRF`.

    Examples
    --------
    >>> import numpy as np
    >>> from palmette import SSVM, Chain, LossOptions
    >>> X = [np.eye(2)[[0, 0, 1]], np.eye(2)[[1, 0]]]
    >>> Y = [["a", "a", "b"], ["b", "a"]]
    >>> model = SSVM(Chain(), C=10.0, loss_options=LossOptions(rescaling="slack")).fit(X, Y)
    >>> model.predict(X) == Y, model.result_.reason
    (True, 'gap')
    """

    usual_share = 0.5  # a margin needs a stronger penalty than a likelihood where weights are many

    loss: str = "hinge"
    loss_options: LossOptions | None = None
    task_loss: Any = "auto"
    tol: float | None = None

    @property
    def usual_tol(self) -> float:
        """The relative suboptimality to reach where ``tol`` is None."""
        return USUAL_TOL.get(self.loss, 1e-3)

    def _check_loss(self) -> None:
        if self.loss not in LOSSES:
            raise ValueError(f"loss={self.loss!r} is unknown; the surrogates of SSVM are {', '.join(LOSSES)}")

    @property
    def _loss_name(self) -> str:  # type: ignore[override]
        self._check_loss()
        ties = self.structure.ties == "best"
        if self.kernel is not None and self._has_kernel_dual():
            return "kernel"
        if self.loss in PARTIAL:
            return "ramp"
        if self.loss != "hinge" or ties:
            return "ramp" if ties else self.loss
        return "hinge" if self._rescaling().is_margin else "rescaled hinge"

    def _rescaling(self) -> Rescaling:
        return resolve_rescaling(settings_of(self, "loss_options").rescaling)

    def _has_kernel_dual(self) -> bool:
        """Whether the loss is the hinge with margin rescaling, whose dual takes kernels."""
        self._check_loss()
        return self.loss == "hinge" and self._rescaling().is_margin

    @property
    def _takes_groups(self) -> bool:  # type: ignore[override]
        return self.loss == "soft_hinge"

    def _surrogate(self, classes: tuple[Any, ...]) -> Any:
        self._check_loss()
        if self.loss == "soft_hinge":
            require(self.structure, SoftHinge.needs, user="loss='soft_hinge'", remedy="Use loss='hinge'.")
        rescaling = self._rescaling()
        if self.loss in PARTIAL:
            return self._bridge(classes, partial=False)
        task_loss = resolve_loss(self.task_loss, self.structure, classes)
        ties = self.structure.ties == "best"
        if not rescaling.is_margin:
            self._check_rescaling(rescaling.name, ties)
        # With margin rescaling the truth cancels out of the ramp loss, so that ties do not matter.
        if self.loss == "ramp":
            return ramp_loss(task_loss, rescaling)
        if not rescaling.is_margin:
            return RescaledHinge(task_loss, rescaling)
        if self.loss == "soft_hinge":
            return SoftHinge(task_loss, settings_of(self, "loss_options").temperature)
        return Difference(Hinge(task_loss), TieLoss()) if ties else Hinge(task_loss)

    def _partial_surrogate(self, classes: tuple[Any, ...]) -> Any:
        self._check_loss()
        if self.loss in PARTIAL or (self.loss == "hinge" and self.structure.ties == "best"):
            return self._bridge(classes, partial=True)
        if self.loss == "ramp" and self._rescaling().is_margin:
            return annotated_ramp(self._loss_of_parts(self.task_loss, classes))
        if self.loss == "soft_hinge" and self._rescaling().is_margin:
            return self._annotated_soft_hinge(classes)
        raise MissingCapability(
            f"y has parts that are UNKNOWN or OneOf several labels, and loss={self.loss!r} needs complete outputs: use "
            "loss='bridge' or 'ramp', or CRF"
        )

    def _annotated_soft_hinge(self, classes: tuple[Any, ...]) -> AnnotatedSoftHinge:
        """The soft hinge of a partial annotation."""
        require(
            self.structure, AnnotatedSoftHinge.needs, user="loss='soft_hinge'", remedy="Use loss='bridge'."
        )
        task_loss = self._loss_of_parts(self.task_loss, classes)
        if task_loss.way != "parts":
            raise MissingCapability(
                f"loss='soft_hinge' of outputs that are known in part needs a task loss that is a sum over parts, got "
                f"task_loss={self.task_loss!r}: use 'hamming', or loss='bridge'"
            )
        return AnnotatedSoftHinge(task_loss, settings_of(self, "loss_options").temperature)

    def _bridge(self, classes: tuple[Any, ...], partial: bool) -> Any:
        """The loss of a partial annotation; of a complete one that leaves one output it is the hinge."""
        if not self._rescaling().is_margin:
            raise MissingCapability(
                f"loss={self.loss!r} adds the task loss to scores: use rescaling='margin', or complete outputs and "
                "loss='ramp'"
            )
        named = self.task_loss
        if self.loss == "max":
            if not (isinstance(named, str) and named in ("auto", "zero_one")):
                raise ValueError(
                    f"loss='max' has the margin 1 between outputs that agree and others, so that task_loss={named!r} "
                    "has no meaning: leave it out, or use loss='bridge'"
                )
            named = "zero_one"
        task_loss = resolve_loss(named, self.structure, classes)
        if not partial and self.structure.determined:
            return Hinge(task_loss)
        if partial:
            task_loss = self._loss_of_parts(named, classes)
        ignores = settings_of(self, "loss_options").nonnegative == "ignore"
        return IgnoringBridge(task_loss) if ignores else bridge_loss(task_loss)

    def _loss_of_parts(self, named: Any, classes: tuple[Any, ...]) -> Any:
        """The task loss, if it can compare with outputs that are known in part."""
        task_loss = resolve_loss(named, self.structure, classes)
        if task_loss.way not in ("parts", "contradiction"):
            raise MissingCapability(
                f"task_loss={named!r} compares with complete outputs, and y has parts that are UNKNOWN: use "
                "task_loss='zero_one'"
            )
        return task_loss

    def _check_rescaling(self, name: str, ties: bool) -> None:
        if self.loss == "soft_hinge":
            raise MissingCapability(
                f"loss='soft_hinge' sums over outputs, which rescaling={name!r} cannot be added to: use "
                "rescaling='margin', or loss='hinge'"
            )
        if ties:
            raise MissingCapability(
                f"rescaling={name!r} compares with one true output: use rescaling='margin', or "
                f"{type(self.structure).__name__}(ties='given')"
            )

    def _solver_name(self, problem: Any) -> Any:
        if not (isinstance(self.solver, str) and self.solver == "auto"):
            return self.solver
        if problem.smooth:
            return "lbfgs"
        regularizer = problem.regularizer
        if not regularizer.strongly_convex:
            return "linear_program" if problem.convex and is_l1_alone(problem) else "stochastic"
        if not problem.convex:
            return "cccp" if hasattr(problem.surrogate, "concave_part") else "subgradient"
        if regularizer.has_l1:
            return "bundle"
        if self._suits_the_dual(problem):
            return "multiclass_dual"
        # Without a compiled loop a visit costs more than its share of a pass, so whole passes win. Dual variables
        # belong to samples, so that a warm start on others needs a method whose variables are weights.
        others = self.warm_start and not self._same_samples
        loop = find("frank_wolfe", problem)
        if len(regularizer.l2) <= FEW_WEIGHTS or others or not (loop and loop.compiled):
            return "bundle"
        return "frank_wolfe"

    def _suits_the_dual(self, problem: Any) -> bool:
        """Whether the dual of the multiclass hinge ends before the bundle method does."""
        many = wanted_tol(self) >= DUAL_FROM and problem.n_samples > FEW_SAMPLES
        return (many or len(problem.regularizer.l2) > FEW_WEIGHTS) and suits(problem)
