"""Measures by differences of scores; they need maxima only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from palmette.errors import InfeasibleError
from palmette.supervision.measures import Strategy, strategy, within

if TYPE_CHECKING:
    from palmette.contracts.structure import Structure


class _Margin(Strategy):
    """``q = exp(-gap)``; keys are ``-gap``."""

    between: ClassVar[str]

    def uncertainty(self, keys: np.ndarray) -> np.ndarray:
        """``exp(key)``, finite for every key."""
        return np.exp(np.minimum(keys, 700.0))

    def reason(self, key: float, unit: str) -> str:
        """The gap."""
        return f"{self.between} {-key:.3g}"


@strategy("scoring")
class Scoring(_Margin):
    """``q(x) = exp(-max_y f(x, y))``: a low score of the best output. Whole samples only."""

    sample_needs = ("best",)
    part_needs = None
    between = "the best output scores only"

    def samples(self, structure: Structure, theta: Any, known: Any, squares: np.ndarray) -> np.ndarray:
        """``-max_y f(x, y)``."""
        return -structure.best(theta, within=within(structure, theta, known)).values


@strategy("best_vs_worst")
class BestVsWorst(_Margin):
    """``q(x) = exp(-(max_y f(x, y) - min_y f(x, y)))``; of a part: the max-marginals of its best and worst label."""

    sample_needs = ("best", "worst")
    part_needs = ("max_marginals",)
    between = "the best output leads the worst by only"

    def samples(self, structure: Structure, theta: Any, known: Any, squares: np.ndarray) -> np.ndarray:
        """``min_y f(x, y) - max_y f(x, y)``."""
        limit = within(structure, theta, known)
        return structure.worst(theta, within=limit).values - structure.best(theta, within=limit).values

    def parts(self, structure: Structure, theta: Any, known: Any, squares: np.ndarray) -> np.ndarray:
        """``min_k m_tk - max_k m_tk`` over the labels that are possible."""
        table = _max_marginals(structure, theta, known)
        return np.where(np.isneginf(table), np.inf, table).min(axis=1) - table.max(axis=1)


@strategy("best_vs_second")
class BestVsSecond(_Margin):
    """``q(x) = exp(-(f(x, y1) - f(x, y2)))`` of the two best outputs; of a part: of its two best labels.

    The value of a label at a part is its max-marginal ``m_tk = max_{y: y_t = k} f(x, y)``.
    """

    sample_needs = ("best", "contradicting")
    part_needs = ("max_marginals",)
    between = "the best output leads the second best by only"

    def samples(self, structure: Structure, theta: Any, known: Any, squares: np.ndarray) -> np.ndarray:
        """``f(x, y2) - f(x, y1)``; -inf where there is one output only."""
        limit = within(structure, theta, known)
        if structure.exact and structure.can("k_best"):
            found = structure.k_best(theta, 2, within=limit)
            return np.array([own[1][1] - own[0][1] if len(own) > 1 else -np.inf for own in found])
        best = structure.best(theta, within=limit)
        try:
            return np.minimum(
                structure.best_contradicting(theta, best.codes, within=limit).values - best.values, 0.0
            )
        except InfeasibleError:
            if len(theta) == 1:
                return np.array([-np.inf])
        offsets = structure.output_offsets(theta)
        return np.concatenate(
            [
                self.samples(
                    structure,
                    theta.take(np.array([s])),
                    None if known is None else known[offsets[s] : offsets[s + 1]],
                    squares,
                )
                for s in range(len(theta))
            ]
        )

    def parts(self, structure: Structure, theta: Any, known: Any, squares: np.ndarray) -> np.ndarray:
        """``m_t2 - m_t1`` of the two best labels; -inf where there is one label only."""
        table = _max_marginals(structure, theta, known)
        if table.shape[1] < 2:
            return np.full(len(table), -np.inf)
        two = np.partition(table, -2, axis=1)[:, -2:]
        return two[:, 0] - two[:, 1]

    def reason(self, key: float, unit: str) -> str:
        """The gap."""
        if unit == "sample":
            return super().reason(key, unit)
        return f"the best label leads the second best by only {-key:.3g}"


def _max_marginals(structure: Structure, theta: Any, known: Any) -> np.ndarray:
    return structure.max_marginals(theta, within=within(structure, theta, known)).node
