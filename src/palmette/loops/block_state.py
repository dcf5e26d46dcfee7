"""Dual variables with one block a sample, and how their solvers visit samples."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from palmette.contracts.problem import SampledProblem
from palmette.errors import MissingCapability
from palmette.loops.table import Loop

FORGET = 0.2  # share of the current weights in their running mean


@dataclass(kw_only=True)
class BlockState:
    """Dual variables of a run (in subclasses), the weights they imply, and what goes with them from epoch to epoch.

    ``w = -(1 / l2) sum_i weight_i (mean counts of block i - true counts)`` at all times.
    """

    w: np.ndarray
    loss: np.ndarray  # (samples,): mean task loss of each block
    gap: np.ndarray  # (samples,): what each block lacked when it was last visited
    trail: np.ndarray  # running mean of the weights at the ends of the epochs, times ``trail_share``
    trail_share: float = 0.0
    epoch: int = 0
    n_oracle: float = 0.0

    solver: ClassVar[str]  # the name of the solver that they belong to
    # arrays that do not stay with the samples
    travels: ClassVar[tuple[str, ...]] = ("w", "loss", "gap", "trail")

    @staticmethod
    def at_zero(problem: SampledProblem) -> dict[str, Any]:
        """What every block lacks at ``w = 0``, where all mass is on the truth."""
        n = problem.n_samples
        w = np.zeros(problem.n_params)
        return {"w": w, "loss": np.zeros(n), "gap": np.full(n, np.inf), "trail": np.zeros_like(w)}

    def copy(self) -> Self:
        """An independent copy."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        own: dict[str, Any] = {k: v.copy() for k, v in values.items() if isinstance(v, np.ndarray)}
        return replace(self, **own)

    def kept(self) -> dict[str, Any]:
        """The dual variables: what stays with the samples."""
        values = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in self.travels}
        return {name: value for name, value in values.items() if isinstance(value, np.ndarray | list)}

    def joined(self, kept: dict[str, Any]) -> Self:
        """The same with these dual variables."""
        return replace(self, **kept)

    def travelling(self) -> Self:
        """The same without the dual variables."""
        return replace(self, **{name: value[:0].copy() for name, value in self.kept().items()})

    def note(self) -> None:
        """Take the current weights into the running mean."""
        self.trail += FORGET * (self.w - self.trail)
        self.trail_share += FORGET * (1.0 - self.trail_share)

    def mean(self) -> np.ndarray:
        """Mean of the weights of the last epochs: the dual settles first, and it evens out what the last visits did."""
        return self.trail / self.trail_share

    def restart(self) -> None:
        """Forget what belongs to an earlier run: its epochs, gaps and mean."""
        self.trail[:], self.trail_share, self.epoch, self.n_oracle = 0.0, 0.0, 0, 0.0
        self.gap[:] = np.inf

    def fits(self, problem: SampledProblem) -> bool:
        """Whether these variables belong to the samples of ``problem``."""
        return len(self.gap) == problem.n_samples and len(self.w) == problem.n_params


class Blocks(Protocol):
    """How a solver of the dual visits samples: generic, or a loop of the table."""

    variables: type[Any]  # a BlockState; ``at_truth(problem)`` makes those of ``w = 0``

    def visit(self, state: Any, order: np.ndarray) -> None:
        """Take the steps of the samples of ``order``, and note what their blocks lacked in ``state.gap``."""

    def refresh(self, state: Any) -> None:
        """Compute weights and losses from the dual variables: what visits added up has rounding errors."""

    def follow(self, state: Any, before: np.ndarray, after: np.ndarray, factor: np.ndarray) -> None:
        """Move the dual variables with a linear term, which preferred the outputs ``before`` and now others.

        The term of sample i is ``factor_i (f(after_i) - f(true_i))``, and no more than its loss. Weights and losses are
        not computed. Any distributions are dual variables: these are a better start.
        """

    def value(self, w: np.ndarray) -> tuple[float, float]:
        """The data term at ``w`` by the maxima found, and what they may add to it."""


class SampleBlocks(Loop):
    """Visits one sample at a time, through the answers of its structure."""

    def _visit(self, state: Any, s: int) -> Any:
        raise NotImplementedError

    def visit(self, state: Any, order: np.ndarray) -> None:
        """Visit the samples of ``order``."""
        for s in order:
            self._visit(state, int(s))

    def follow(self, state: Any, before: np.ndarray, after: np.ndarray, factor: np.ndarray) -> None:
        """Leave the dual variables as they are."""

    def value(self, w: np.ndarray) -> tuple[float, float]:
        """The data term at ``w``, by exact maxima."""
        return self.problem.value(w), 0.0

    def _step(self, state: BlockState, direction: np.ndarray, rise: float, limit: float) -> float:
        """Move mass along ``direction``, whose slope is ``rise``, to the maximum of the dual; at most ``limit``.

        The weights follow. Returns the mass that moves.
        """
        l2 = self.problem.regularizer.l2
        curvature = float(np.sum(direction * direction / l2))
        step = min(limit, rise / curvature) if curvature > 0 else limit
        state.w -= step * direction / l2
        return step


def require_parts(problem: SampledProblem, solver: str) -> None:
    """Refuse a loss that marginals of nodes and edges do not determine."""
    task_loss = problem.surrogate.task_loss
    if getattr(task_loss, "way", None) != "parts":
        raise MissingCapability(
            f"{solver} needs a task loss that is a sum over positions here, not "
            f"{type(task_loss).__name__}: its dual variables are marginals, which know no other; use "
            "solver='bundle', or task_loss='hamming' where outputs have labels"
        )
