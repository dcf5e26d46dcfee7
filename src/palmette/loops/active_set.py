"""Dual variables of Frank-Wolfe: for every sample a distribution over a few active labelings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from palmette._kernels.constants import FREE
from palmette.contracts.problem import SampledProblem
from palmette.executors.shards import blocks
from palmette.loops.block_state import BlockState


@dataclass(kw_only=True)
class ActiveSet(BlockState):
    """For every sample a distribution over a few labelings, and the weights they imply."""

    path: np.ndarray  # (places, rows) int32: active labelings; any output where a place is unused
    mass: np.ndarray  # (samples, places): their weights, FREE behind the last

    solver = "frank_wolfe"

    @classmethod
    def at_truth(cls, problem: SampledProblem, places: int = 4) -> ActiveSet:
        """All mass on the true labelings: ``w = 0``."""
        codes = problem.samples.codes
        path = np.repeat(np.asarray(codes, np.int32)[None], places, axis=0)
        mass = np.full((problem.n_samples, places), FREE)
        mass[:, 0] = 1.0
        return cls(path=path, mass=mass, **cls.at_zero(problem))

    def grow(self) -> None:
        """Twice as many places."""
        self.path = np.concatenate([self.path, self.path])
        self.mass = np.concatenate([self.mass, np.full_like(self.mass, FREE)], axis=1)

    def follow(self, offsets: np.ndarray, before: np.ndarray, after: np.ndarray) -> None:
        """Give the outputs ``after`` the mass of the outputs ``before``; ``offsets`` are those of codes."""
        changed = np.concatenate([[0], np.cumsum(before != after)])[offsets]
        for s in np.flatnonzero(np.diff(changed)):
            own, mass = slice(offsets[s], offsets[s + 1]), self.mass[s]
            path = self.path[: np.sum(mass != FREE), own]
            old, new = (_place(path, codes[own]) for codes in (before, after))
            if old >= 0 and new >= 0:  # the last active labeling takes the place that is free now
                mass[new] += mass[old]
                path[old], mass[old], mass[len(path) - 1] = path[-1], mass[len(path) - 1], FREE
            elif old >= 0:
                path[old] = after[own]

    def fits(self, problem: SampledProblem) -> bool:
        """Whether these variables belong to the samples of ``problem``."""
        return super().fits(problem) and self.path.shape[1] == len(problem.samples.codes)


def _place(path: np.ndarray, codes: np.ndarray) -> int:
    """Where an output stands among the active ones; -1 if nowhere."""
    found = np.flatnonzero(np.all(path == codes, axis=1))
    return int(found[0]) if len(found) else -1


def dual_weights(problem: SampledProblem, active: ActiveSet) -> np.ndarray:
    """The weights that the active labelings imply, from scratch."""
    batch = problem.samples.batch
    return -excess_counts(problem, problem.scorer, batch, active.w, active) / problem.regularizer.l2


def excess_counts(problem: Any, scorer: Any, batch: Any, w: np.ndarray, active: Any) -> np.ndarray:
    """``sum_i weight_i (mean counts of the active labelings - true counts)``, pulled back to the weights ``w``."""
    samples, structure, counts = problem.samples, problem.structure, np.zeros_like(w)
    for a, b in blocks(batch):
        some, part, own = batch.slice(a, b), slice(a, b), slice(*samples.code_offsets[[a, b]])
        theta, weight = scorer.score(w, some), samples.weight[part]
        for m, path in enumerate(active.path):
            mass = weight * np.maximum(active.mass[part, m], 0.0)
            if np.any(mass):
                scorer.pull_back(structure.count(theta, path[own], weight=mass), some, counts)
        scorer.pull_back(structure.count(theta, samples.codes[own], weight=-weight), some, counts)
    return counts


def block_losses(problem: SampledProblem, active: ActiveSet) -> np.ndarray:
    """Mean task loss of every block, from scratch."""
    samples, task_loss, out = problem.samples, problem.surrogate.task_loss, np.zeros(problem.n_samples)
    for a, b in blocks(samples.batch):
        some, own = samples.slice(a, b), slice(*samples.code_offsets[[a, b]])
        theta = problem.scorer.score(active.w, some.batch)
        out[a:b] = sum(
            np.maximum(active.mass[a:b, m], 0.0)
            * task_loss.value(problem.structure, theta, some.known, path[own])
            for m, path in enumerate(active.path)
        )
    return out
