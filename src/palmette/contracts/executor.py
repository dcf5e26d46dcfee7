"""Where passes over data run: the contract between what loops over shards and who runs them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence, Sized
from typing import Any, ClassVar, Self

import numpy as np

State = dict[str, Any]
"""What lives with a placed shard from call to call: dual variables, active sets, cached planes, buffers."""

ShardFunction = Callable[..., Any]
"""``f(shard, state, *broadcast) -> result``, module-level and picklable. It may change ``state`` and nothing else."""


class Executor(ABC):
    """Runs functions where shards of data are: in threads of this process, in another process, on another machine.

    Shards travel once, when they are placed. A call sends a function and the arguments that all shards share, and
    returns results; nothing is written into the memory of the caller. Shards are cut by the data alone and results are
    summed in their order, so that a result is bitwise the same for any number of threads and on any executor.

    A result may refer to buffers in the state of its shard, which the next call overwrites: read or copy it before.
    """

    shares_memory: ClassVar[bool] = False
    """Whether functions see the arrays of the caller, as lock-free steps and the filling of Gram matrices need."""

    @abstractmethod
    def place(self, shards: Sequence[Any]) -> Sized:
        """Bring shards to where they are worked on, each with an empty state; the handle that the other calls take."""

    @abstractmethod
    def run(self, function: ShardFunction, placed: Sized, *broadcast: Any) -> list[Any]:
        """``function(shard, state, *broadcast)`` of every shard; results in the order of the shards."""

    def fold(self, function: ShardFunction, placed: Sized, *broadcast: Any) -> Any:
        """The results of :meth:`run`, summed from the first shard to the last; tuples entry by entry."""
        return summed(self.run(function, placed, *broadcast))

    @abstractmethod
    def collect(self, placed: Sized) -> list[State]:
        """Copies of the states of all shards, for a checkpoint or for another place."""

    @abstractmethod
    def restore(self, placed: Sized, states: Sequence[State]) -> None:
        """Give every shard a copy of a state that was collected."""

    @abstractmethod
    def release(self, placed: Sized) -> None:
        """Forget shards and states."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:  # noqa: B027 -- most have nothing to end
        """End what the executor has started."""


def summed(results: Sequence[Any]) -> Any:
    """Numbers, arrays or tuples of them, added from left to right in memory of their own.

    >>> summed([(1.0, np.array([1.0, 2.0])), (3.0, np.array([0.5, 0.5]))])
    (4.0, array([1.5, 2.5]))
    """
    first, *rest = results
    if isinstance(first, tuple):
        return tuple(summed(parts) for parts in zip(*results, strict=True))
    if not isinstance(first, np.ndarray):
        return sum(rest, start=first)
    total = first.copy()
    for part in rest:
        total += part
    return total
