"""The loss of samples in domains as a sum over domains, each by the loop that is compiled for its structure."""

from __future__ import annotations

from typing import Any

import numpy as np

from palmette.contracts.problem import SampledProblem
from palmette.loops import CompiledLoop, find
from palmette.supervision.transfer_scorer import TransferScorer


class DomainLoss(CompiledLoop):
    """``sum_d loss_d(w^d)`` and its gradient; ``loss_d`` is the plain problem of the samples of a domain."""

    @classmethod
    def accepts(cls, problem: SampledProblem) -> bool:
        """Samples in domains whose plain problems have a compiled loop."""
        if not isinstance(problem.scorer, TransferScorer) or problem.decomposition is not None:
            return False
        return all(find("loss", part) is not None for _, part in _parts(problem))

    def __init__(self, problem: SampledProblem) -> None:
        super().__init__(problem)
        parts = _parts(problem)
        self.scorer, self.loops = problem.scorer, [(path, find("loss", part)(part)) for path, part in parts]
        for number, (_, part) in enumerate(parts):  # what they placed is released together with the problem
            problem.placed |= {f"{name} of domain {number}": own for name, own in part.placed.items()}

    def value(self, w: np.ndarray) -> float:
        """The value alone."""
        parts = w.reshape(len(self.scorer.scale), -1)
        return sum(loop.value(self.scorer.summed(parts, path)) for path, loop in self.loops)

    def loss(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and gradient."""
        gradient, total = np.zeros_like(w), 0.0
        parts, own = (vector.reshape(len(self.scorer.scale), -1) for vector in (w, gradient))
        for path, loop in self.loops:
            value, found = loop.loss(self.scorer.summed(parts, path))
            total += value
            for node in path:
                own[node] += self.scorer.scale[node] * found
        return total, gradient


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
