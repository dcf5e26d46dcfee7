"""A convex problem with a linear term taken off: what each round of the concave-convex procedure minimises."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from palmette.contracts.executor import State
from palmette.contracts.problem import SampledProblem
from palmette.objectives.problem import bounded_loss, refine
from palmette.objectives.risk import Tangent


class Linearised:
    """``loss(w) - <slope, w>`` with the penalty of another problem.

    The slope is that of the tangent of a concave part, ``sum_i weight_i factor_i (counts of target_i - true counts)``,
    so that the losses of single samples have a linear term of their own, too.

    Parameters
    ----------
    plain : Risk
        With a convex surrogate.
    tangent : Tangent
        Of the concave part, such that the difference is not negative.
    """

    decomposition = None
    sample_of_piece = None

    def __init__(self, plain: Any, tangent: Tangent) -> None:
        self.plain, self.slope = plain, tangent.slope
        self.targets, self.factor = tangent.targets, tangent.factor
        self.regularizer, self.smooth, self.convex = plain.regularizer, plain.smooth, True
        self.n_params, self.n_samples = plain.n_params, plain.n_samples
        self.executor = plain.executor
        self.samples, self.scorer, self.surrogate = plain.samples, plain.scorer, plain.surrogate

    def loss(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and (sub)gradient of the data term at ``w``."""
        return self.bounded_loss(w)[:2]

    def bounded_loss(self, w: np.ndarray) -> tuple[float, np.ndarray, float]:
        """What was found of the value, with its (sub)gradient, and what may be missing."""
        value, gradient, slack = bounded_loss(self.plain, w)
        gradient -= self.slope
        return value - float(self.slope @ w), gradient, slack

    def refine(self) -> bool:
        """Find maxima to a higher accuracy from now on; False if that is not possible."""
        return refine(self.plain)

    def sample_loss(self, i: int, w: np.ndarray) -> tuple[float, Any, Any]:
        """One sample: its unweighted value, its weighted gradient in theta's shape, and its inputs."""
        structure, one = self.plain.structure, self.samples.slice(i, i + 1)
        lo, hi = self.samples.code_offsets[i : i + 2]
        target, factor = self.targets[lo:hi], self.factor[i : i + 1]
        theta = self.scorer.score(w, one.batch)
        found = self.surrogate.evaluate(structure, theta, one.truth, one.weight)
        less = factor * (structure.score(theta, target) - structure.score(theta, one.codes))
        counts = structure.count(theta, target, weight=-factor * one.weight, into=found.counts)
        counts = structure.count(theta, one.codes, weight=factor * one.weight, into=counts)
        return float(found.values[0] - less[0]), counts, one.batch

    def in_sequence(self, function: Callable[..., Any], *broadcast: Any) -> Any:
        """``function(problem, state, *broadcast)`` where the samples are: a pass sample by sample, as one call."""
        tangent = Tangent(0.0, self.slope, self.targets, self.factor)
        return self.plain.in_sequence(_in_sequence, tangent, function, *broadcast)

    def cut_anew(self, seed: int, epoch: int) -> Linearised:
        """The problem itself: there is no decomposition."""
        return self

    def visits(self, rng: np.random.Generator) -> np.ndarray:
        """A random order to visit the samples in."""
        return rng.permutation(self.n_samples)


def _in_sequence(
    problem: SampledProblem, state: State, tangent: Tangent, function: Callable[..., Any], *broadcast: Any
) -> Any:
    return function(Linearised(problem, tangent), state, *broadcast)


def plain(problem: SampledProblem) -> Any:
    """The problem without its linear term, if it has one."""
    return getattr(problem, "plain", problem)
