"""Dual variables of the structured hinge: for every sample a distribution over a few active labelings."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

FREE = -1.0  # mass of an unused place, as in the kernel
FORGET = 0.2  # share of the present weights in their running mean


@dataclass
class ActiveSet:
    """The dual variables: for every sample a distribution over a few labelings, and the weights they imply.

    ``w = -(1 / l2) sum_i weight_i (mean counts of block i - true counts)`` at all times.
    """

    w: np.ndarray
    path: np.ndarray  # (places, rows) int32: active labelings
    mass: np.ndarray  # (samples, places): their weights, FREE behind the last
    loss: np.ndarray  # (samples,): mean task loss of each block
    gap: np.ndarray  # (samples,): what each block lacked when it was last visited
    trail: np.ndarray  # running mean of the weights at the ends of the epochs, times ``trail_share``
    trail_share: float = 0.0
    epoch: int = 0
    n_oracle: float = 0.0

    @classmethod
    def at_truth(cls, problem: Any, places: int = 4) -> ActiveSet:
        """All mass on the true labelings: ``w = 0``."""
        codes, n = problem.samples.codes, problem.n_samples
        path = np.zeros((places, len(codes)), np.int32)
        path[0] = codes
        mass = np.full((n, places), FREE)
        mass[:, 0] = 1.0
        w = np.zeros(problem.n_params)
        return cls(w, path, mass, np.zeros(n), np.full(n, np.inf), np.zeros_like(w))

    def copy(self) -> ActiveSet:
        """An independent copy."""
        names = ("w", "path", "mass", "loss", "gap", "trail")
        return replace(self, **{name: getattr(self, name).copy() for name in names})

    def grow(self) -> None:
        """Twice as many places."""
        self.path = np.concatenate([self.path, np.zeros_like(self.path)])
        self.mass = np.concatenate([self.mass, np.full_like(self.mass, FREE)], axis=1)

    def note(self) -> None:
        """Take the present weights into the running mean."""
        self.trail += FORGET * (self.w - self.trail)
        self.trail_share += FORGET * (1.0 - self.trail_share)

    def mean(self) -> np.ndarray:
        """Mean of the weights of the last epochs: the dual settles first, and it evens out what the last visits did."""
        return self.trail / self.trail_share

    def restart(self) -> None:
        """Forget what belongs to an earlier run: its epochs, gaps and mean."""
        self.trail[:], self.trail_share, self.epoch, self.n_oracle = 0.0, 0.0, 0, 0.0
        self.gap[:] = np.inf


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
