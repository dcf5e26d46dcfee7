"""Visits in the dual where the samples are: dual variables stay there, weights and gaps travel."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from palmette.contracts.executor import State
from palmette.loops.block_state import Blocks, BlockState

if TYPE_CHECKING:
    from palmette.contracts.problem import SampledProblem

Make = Callable[[Any], Blocks]


class PlacedBlocks:
    """The visits that ``make(problem)`` gives, where the samples are; calls are those of :class:`Blocks`.

    Parameters
    ----------
    problem : Risk
    make : callable
        Of a problem; it can be pickled.
    """

    def __init__(self, problem: SampledProblem, make: Make) -> None:
        self.problem, self.make = problem, make
        problem.in_sequence(_make_anew, make)

    def begin(self, *arguments: Any) -> Any:
        """``blocks.variables.at_truth(problem, *arguments)``, of which the dual variables stay with the samples."""
        return self.problem.in_sequence(_begin, self.make, *arguments)

    def place(self, active: BlockState) -> Any:
        """What travels of a state; its dual variables go to the samples."""
        self.problem.in_sequence(_keep, active.kept())
        return active.travelling()

    def collect(self, active: BlockState) -> Any:
        """The state with its dual variables, which leave the samples."""
        return active.joined(self.problem.in_sequence(_give_away))

    def visit(self, active: BlockState, order: np.ndarray) -> None:
        """Take the steps of the samples of ``order``, and note what their blocks lacked in ``active.gap``."""
        self.change("visit", active, order)

    def refresh(self, active: BlockState) -> Any:
        """Compute weights and losses from the dual variables: what visits added up has rounding errors."""
        return self.change("refresh", active)

    def change(self, what: str, active: BlockState, *arguments: Any) -> Any:
        """The answer of a method of the blocks that changes ``active``."""
        after, answer = self.problem.in_sequence(_change, self.make, what, active, *arguments)
        vars(active).update(vars(after))
        return answer

    def value(self, w: np.ndarray) -> Any:
        """The data term at ``w`` by the maxima found, and what they may add to it."""
        return self.problem.in_sequence(_value, self.make, w)

    def ask(self, what: str) -> Any:
        """The answer of a method of the blocks that changes nothing."""
        return self.problem.in_sequence(_ask, self.make, what)


def _make_anew(problem: SampledProblem, state: State, make: Make) -> None:
    problem.memory["blocks"] = make(problem)


def _blocks(problem: SampledProblem, make: Make) -> Any:
    if "blocks" not in problem.memory:  # a state that came from elsewhere
        problem.memory["blocks"] = make(problem)
    blocks = problem.memory["blocks"]
    blocks.problem = problem  # its structure may have been refined
    return blocks


def _begin(problem: SampledProblem, state: State, make: Make, *arguments: Any) -> BlockState:
    active = _blocks(problem, make).variables.at_truth(problem, *arguments)
    state["dual"] = active.kept()
    return active.travelling()


def _keep(problem: SampledProblem, state: State, kept: dict[str, Any]) -> None:
    state["dual"] = kept


def _give_away(problem: SampledProblem, state: State) -> dict[str, Any]:
    problem.memory.pop("blocks", None)
    return state.pop("dual")


def _change(
    problem: SampledProblem, state: State, make: Make, what: str, active: BlockState, *arguments: Any
) -> tuple[BlockState, Any]:
    active = BlockState.copy(active).joined(state["dual"])
    answer = getattr(_blocks(problem, make), what)(active, *arguments)
    state["dual"] = active.kept()
    return active.travelling(), answer


def _ask(problem: SampledProblem, state: State, make: Make, what: str) -> Any:
    return getattr(_blocks(problem, make), what)()


def _value(problem: SampledProblem, state: State, make: Make, w: np.ndarray) -> Any:
    return _blocks(problem, make).value(w)
