"""What dual ascent asks of the loop that keeps its variables. There is no generic one: marginals belong to a layout."""

from __future__ import annotations

import copy
from typing import Any, ClassVar, Protocol

import numpy as np

from palmette.contracts.executor import State
from palmette.contracts.problem import SampledProblem
from palmette.loops.table import find


class DualVariables(Protocol):
    """Marginals of every sample, the weights they imply, and bounds on their entropies.

    Attributes
    ----------
    weight, gap : ndarray of shape (n_samples,)
        Weights of the samples, and what each block lacked when it was last visited (inf before).
    short_steps : float
        Steps shorten with ``x^2 / l2``; about here dual ascent alone and L-BFGS break even.
    few_features : int
        With so few features in all samples L-BFGS takes less than compiling these steps would take a new user.
    """

    weight: np.ndarray
    gap: np.ndarray
    short_steps: ClassVar[float]
    few_features: ClassVar[int]

    def __init__(self, problem: SampledProblem, dtype: Any) -> None:
        """The variables of a problem at ``w = 0``, in this precision."""

    def bind(self, problem: SampledProblem) -> None:
        """Take up the samples of ``problem``: a state that was pickled or copied has the variables alone."""

    def start_from(self, w: np.ndarray) -> None:
        """Move towards the marginals under ``w``, as far as the dual value grows."""

    def visit(self, order: np.ndarray) -> int:
        """An ascent step on each sample of ``order``; returns how many were out of range and left as they are."""

    def value(self, w: np.ndarray) -> float:
        """The data term at ``w`` where no loop of shards is compiled for it; NaN if it is not known."""

    def weights(self) -> np.ndarray:
        """The present weights."""

    def estimate(self) -> float:
        """The dual value up to rounding."""

    def refresh(self, keep: bool = True) -> tuple[np.ndarray, float]:
        """Weights and dual value computed from the variables alone; ``keep`` stores the weights."""


class PlacedVariables:
    """The variables of dual ascent where the samples are; ``gap`` travels, and answers of single calls.

    Parameters
    ----------
    problem : Risk
    dtype : dtype
    state : DualVariables, optional
        To go on from; it is left as it is.
    """

    def __init__(
        self, problem: SampledProblem, dtype: Any = None, state: DualVariables | None = None
    ) -> None:
        self.problem, self.weight = problem, problem.samples.weight
        self.gap = problem.in_sequence(_begin, dtype, copy.deepcopy(state))

    def ask(self, what: str, *arguments: Any) -> Any:
        """The answer of a method of the variables, which may change them."""
        answer, self.gap = self.problem.in_sequence(_ask, what, *arguments)
        return answer

    def collect(self) -> DualVariables:
        """The variables themselves, which leave the samples."""
        return self.problem.in_sequence(_give_away)


def _begin(problem: SampledProblem, state: State, dtype: Any, given: DualVariables | None) -> np.ndarray:
    state["dual"] = find("dual", problem)(problem, dtype) if given is None else given
    state["dual"].bind(problem)
    return state["dual"].gap


def _ask(problem: SampledProblem, state: State, what: str, *arguments: Any) -> tuple[Any, np.ndarray]:
    variables = state["dual"]
    variables.bind(problem)
    return getattr(variables, what)(*arguments), variables.gap


def _give_away(problem: SampledProblem, state: State) -> DualVariables:
    return copy.copy(state.pop("dual"))
