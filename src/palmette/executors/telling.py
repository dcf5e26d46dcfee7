"""Runs of functions whose structure notes what it answers approximately, wherever it answers."""

from __future__ import annotations

from collections.abc import Sized
from typing import Any

from palmette.contracts.executor import Executor, ShardFunction, State
from palmette.contracts.structure import Structure


def run_telling(
    executor: Executor, function: ShardFunction, placed: Sized, structure: Structure, *broadcast: Any
) -> list[Any]:
    """``executor.run(function, placed, structure, *broadcast)``; notes that a structure makes elsewhere come back."""
    tally = structure.told()
    if tally is None or executor.shares_memory:
        return executor.run(function, placed, structure, *broadcast)
    found = executor.run(_run_and_tell, placed, function, structure, tally, *broadcast)
    for _, notes in found:
        tally.take(notes)
    return [result for result, _ in found]


def _run_and_tell(
    shard: Any, state: State, function: ShardFunction, structure: Structure, tally: Any, *broadcast: Any
) -> tuple[Any, Any]:
    structure.tell(tally)
    return function(shard, state, structure, *broadcast), tally.given()
