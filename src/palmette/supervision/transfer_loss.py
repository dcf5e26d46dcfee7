"""Sums over domains, each by the loops that are compiled for its structure: the loss, and its curvature."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from palmette.contracts.problem import SampledProblem
from palmette.loops import CompiledLoop, find
from palmette.supervision.transfer_scorer import TransferScorer


class DomainSum(CompiledLoop):
    """What is a sum over domains of the plain problems of their samples."""

    name: ClassVar[str]

    @classmethod
    def accepts(cls, problem: Any) -> bool:
        """Samples in domains whose plain problems have a compiled loop."""
        problem = getattr(problem, "given", problem)  # as it is in the coordinates of the scorer
        if (
            not isinstance(getattr(problem, "scorer", None), TransferScorer)
            or problem.decomposition is not None
        ):
            return False
        return all(find(cls.name, part) is not None for _, part in _parts(problem))

    def __init__(self, problem: SampledProblem) -> None:
        super().__init__(problem)
        parts = _parts(problem)
        self.scorer, self.loops = (
            problem.scorer,
            [(path, find(self.name, part)(part)) for path, part in parts],
        )
        for number, (_, part) in enumerate(parts):  # what they placed is released together with the problem
            problem.placed |= {f"{name} of domain {number}": own for name, own in part.placed.items()}

    def nodes(self, w: np.ndarray) -> np.ndarray:
        """One row of weights for every node."""
        return w.reshape(len(self.scorer.scale), -1)


class DomainLoss(DomainSum):
    """``sum_d loss_d(w^d)`` and its gradient."""

    name = "loss"

    def value(self, w: np.ndarray) -> float:
        """The value alone."""
        return sum(loop.value(self.scorer.summed(self.nodes(w), path)) for path, loop in self.loops)

    def loss(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and gradient."""
        gradient, total = np.zeros_like(w), 0.0
        own = self.nodes(gradient)
        for path, loop in self.loops:
            value, found = loop.loss(self.scorer.summed(self.nodes(w), path))
            total += value
            for node in path:
                own[node] += self.scorer.scale[node] * found
        return total, gradient


class DomainDiagonal(DomainSum):
    """The diagonal of the Hessian: that of a node is the sum of those of the domains below, times its scale squared."""

    name = "diagonal"

    def __call__(self, w: np.ndarray) -> np.ndarray:
        """The diagonal at ``w``, shape (n_params,)."""
        diagonal = np.zeros_like(w)
        own = self.nodes(diagonal)
        for path, loop in self.loops:
            found = loop(self.scorer.summed(self.nodes(w), path))
            for node in path:
                own[node] += self.scorer.scale[node] ** 2 * found
        return diagonal


def _parts(problem: Any) -> list[tuple[tuple[int, ...], Any]]:
    """The nodes and the plain problem of every domain; samples of a domain stand together."""
    surrogate, parts = problem.memory.get("domains", (None, []))
    if surrogate is not problem.surrogate:  # the memory is shared with problems of other losses
        samples, scorer, parts = problem.samples, problem.scorer, []
        bounds = [0, *samples.batch.apart.tolist(), len(samples.batch)]
        for a, b in zip(bounds[:-1], bounds[1:]):
            own = samples.slice(a, b)
            path = scorer.paths[int(own.batch.domain[0])]
            parts.append((path, problem.of(scorer.inner, own._replace(batch=own.batch.inner))))
        problem.memory["domains"] = problem.surrogate, parts
    return parts
