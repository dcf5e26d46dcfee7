"""Losses of outputs that are annotated in part: what is not annotated is summed or maximised over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from palmette.contracts.structure import Structure
from palmette.data.samples import told
from palmette.losses.base import BoundLoss
from palmette.losses.zero_one import best_rival
from palmette.surrogates.base import Evaluation, Rivals, by_scores
from palmette.surrogates.difference import Difference
from palmette.surrogates.hinge import Hinge, difference
from palmette.surrogates.perceptron import PerceptronLoss
from palmette.surrogates.soft_hinge import SoftHinge, divided


@dataclass(frozen=True)
class MarginalLogLoss:
    """``log sum_y exp f(y) - log sum_{y in Y*} exp f(y)`` with the outputs Y* that agree with the annotation.

    The negative log-probability of the annotation. Its gradient is the expected counts minus those given the
    annotation. It is smooth and not convex; of complete outputs it is :class:`LogLoss`.
    """

    smooth = True
    convex = False
    needs = ("expectation",)
    compiled_as = "marginal log"

    def evaluate(self, structure: Structure, theta: Any, true: Any, weight: np.ndarray) -> Evaluation:
        """Values and gradient of every sample."""
        agreeing = structure.agreeing(theta, told(true)[0])
        log_z, counts = structure.expectation(theta, weight=weight)
        given, less = structure.expectation(theta, weight=-weight, within=agreeing)
        return Evaluation(log_z - given, by_scores(np.add, counts, less))


@dataclass(frozen=True)
class AnnotatedSoftHinge(SoftHinge):
    """``t log sum_y exp [(f(y) + D(y)) / t] - t log sum_{y in Y*} exp [f(y) / t]``: D counts annotated parts only.

    The soft hinge whose truth is all outputs Y* that agree with the annotation. D is 0 on them, so it is never below 0.
    It is smooth and not convex; with t = 1 and no D it is :class:`MarginalLogLoss`.
    """

    convex = False

    def evaluate(self, structure: Structure, theta: Any, true: Any, weight: np.ndarray) -> Evaluation:
        """Values and gradient of every sample."""
        t, known = self.temperature, told(true)[0]
        cold, cost = divided(theta, t), divided(self.task_loss.cost(theta, known), t)  # type: ignore[attr-defined]
        log_z, counts = structure.expectation(cold, cost=cost, weight=weight)
        given, less = structure.expectation(cold, weight=-weight, within=structure.agreeing(theta, known))
        return Evaluation(t * (log_z - given), by_scores(np.add, counts, less))


@dataclass(frozen=True)
class AnnotatedHinge(Hinge):
    """``max_y [f(y) + D(annotation, y)] - f(y0)``: the hinge whose task loss counts annotated parts.

    ``y0`` is some output that agrees with the annotation. It cancels out of the difference to
    :class:`AgreeingMaximum`.
    """

    compiled_as = "annotated hinge"

    def evaluate(self, structure: Structure, theta: Any, true: Any, weight: np.ndarray) -> Evaluation:
        """Values and a subgradient of every sample."""
        known, whole = told(true)
        return self._evaluate(structure, theta, known, whole, weight)


@dataclass(frozen=True)
class AgreeingMaximum:
    """``max_{y in Y*} f(y) - f(y0)`` for the outputs Y* that agree with an annotation, of which ``y0`` is one."""

    smooth = False
    convex = True
    needs = ("best", "score", "count")

    def evaluate(
        self, structure: Structure, theta: Any, true: Any, weight: np.ndarray, into: Any = None
    ) -> Evaluation:
        """Values and a subgradient of every sample."""
        rivals = self.rivals(structure, theta, true)
        return rivals.evaluation(structure, theta, told(true)[1], weight, into)

    def rivals(self, structure: Structure, theta: Any, true: Any) -> Rivals:
        """The best outputs that agree."""
        known, whole = told(true)
        rival, value = structure.best_agreeing(theta, known)
        return Rivals(rival, value - structure.score(theta, whole), np.ones(len(value)))


@dataclass(frozen=True)
class PartialPerceptronLoss(PerceptronLoss):
    """``max_y f(y) - max_{y in Y*} f(y)``: zero where the prediction agrees with the annotation. It is not convex."""

    convex = False
    compiled_as = "partial perceptron"

    def evaluate(
        self, structure: Structure, theta: Any, true: Any, weight: np.ndarray, into: Any = None
    ) -> Evaluation:
        """Values and a generalised gradient of every sample."""
        rival, value = structure.best(theta)
        closest = structure.best_agreeing(theta, told(true)[0]).codes
        return difference(structure, theta, closest, rival, value, weight, into)


@dataclass(frozen=True)
class AnyMaximum(PerceptronLoss):
    """``max_y f(y) - f(y0)`` where ``y0`` is some output that agrees with an annotation."""

    compiled_as = "any maximum"

    def evaluate(
        self, structure: Structure, theta: Any, true: Any, weight: np.ndarray, into: Any = None
    ) -> Evaluation:
        """Values and a subgradient of every sample."""
        return super().evaluate(structure, theta, told(true)[1], weight, into)

    def rivals(self, structure: Structure, theta: Any, true: Any) -> Rivals:
        """The best outputs."""
        return super().rivals(structure, theta, told(true)[1])


@dataclass(frozen=True)
class IgnoringBridge:
    """The bridge loss as the paper writes it: ``|P - R|_+``, whose gradient is ignored where ``P < R``.

    ``P = max_{y in Yo} [f(y) + D(y)]`` is a maximum over contradicting outputs. Values are those of
    :func:`bridge_loss`; it is there to compare, since it is no difference of convex functions that solvers could use.
    """

    task_loss: BoundLoss

    smooth = False
    convex = False
    needs = ("best", "score", "count")

    def evaluate(self, structure: Structure, theta: Any, true: Any, weight: np.ndarray) -> Evaluation:
        """Values and a generalised gradient of every sample."""
        known, _ = told(true)
        if self.task_loss.way == "contradiction":
            rival, value = best_rival(structure, theta, known)
            value = value + 1.0
        else:
            cost = self.task_loss.cost(theta, known)  # type: ignore[attr-defined]
            rival, value = best_rival(structure, theta.plus(cost), known)
        closest, reward = structure.best_agreeing(theta, known)
        own = np.where(value > reward, weight, 0.0)
        counts = structure.count(theta, rival, weight=own)
        counts = structure.count(theta, closest, weight=-own, into=counts)
        return Evaluation(np.maximum(value - reward, 0.0), counts)


def bridge_loss(task_loss: BoundLoss) -> Difference:
    """``| max_{y in Yo} [f(y) + D(y)] - max_{y in Y*} f(y) |_+``: Y* agrees with an annotation, Yo contradicts it.

    With P and R for the two maxima it is ``max(P, R) - R``. D counts annotated parts only, so it is 0 on all of Y*, and
    ``max(P, R) = max_y [f(y) + D(y)]`` over all outputs: the first part of the difference is the same convex function
    in every round of :class:`~palmette.solvers.CCCP`, and its cuts stay valid.
    """
    return Difference(AnnotatedHinge(task_loss), AgreeingMaximum())


def annotated_ramp(task_loss: BoundLoss) -> Difference:
    """``max_y [f(y) + D(annotation, y)] - max_y f(y)``: the ramp loss whose task loss counts annotated parts.

    No output stands for the truth, so what is not annotated needs no completion.
    """
    return Difference(AnnotatedHinge(task_loss), AnyMaximum())
