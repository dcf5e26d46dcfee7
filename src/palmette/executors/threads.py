"""Threads over shards: kernels release the GIL, results come back in the order of the shards."""

from __future__ import annotations

import copy
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from numbers import Integral
from threading import Lock
from typing import Any

from palmette.contracts.executor import Executor, ShardFunction, State


def n_threads(n_jobs: int | None) -> int:
    """Threads meant by ``n_jobs``: a positive number itself, None one, -1 all cores.

    "All" is no more than OMP_NUM_THREADS, if that is set, as joblib does in the workers of a parallel grid search.

    >>> n_threads(3), n_threads(None)
    (3, 1)
    """
    from joblib import cpu_count

    if n_jobs is None:
        return 1
    if not isinstance(n_jobs, Integral) or n_jobs == 0:
        raise ValueError(f"n_jobs must be a non-zero integer or None, got {n_jobs!r}")
    if n_jobs > 0:
        return int(n_jobs)
    limit = os.environ.get("OMP_NUM_THREADS", "")
    cores = min(cpu_count(), int(limit)) if limit.isdigit() and int(limit) else cpu_count()
    return max(1, cores + 1 + n_jobs)


class _OneBlasThread:
    """Holds BLAS to one thread while any executor of the process is at work; the last one to leave restores it."""

    def __init__(self) -> None:
        self._lock, self._inside = Lock(), 0
        self._limits: Any = None
        self._controller: Any = None
        self._n_modules = 0

    def enter(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._limits = self._found().limit(limits=1, user_api="blas")
                _let_others_set_threads()
            self._inside += 1

    def _found(self) -> Any:
        """The libraries of the process; looking for them takes milliseconds, so only after imports."""
        from threadpoolctl import ThreadpoolController

        if self._controller is None or self._n_modules != len(sys.modules):
            self._controller, self._n_modules = ThreadpoolController(), len(sys.modules)
        return self._controller

    def leave(self) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._limits.restore_original_limits()
                _let_others_set_threads()


def _let_others_set_threads() -> None:
    """From 3.8 on threadpoolctl ignores all threads but the first to set a limit; the last to leave is another one."""
    from threadpoolctl import OpenBLASController

    getattr(OpenBLASController, "clear_controlling_thread", lambda: None)()


_one_blas_thread = _OneBlasThread()


@dataclass
class PlacedHere:
    """Shards in this process, and their states."""

    shards: list[Any]
    states: list[State]

    def __len__(self) -> int:
        return len(self.shards)


class ThreadExecutor(Executor):
    """Runs functions on shards in threads of this process; a single shard runs in the thread of the caller.

    BLAS is held to one thread meanwhile, so that shards do not compete for the cores.

    >>> def scaled(shard, state, factor):
    ...     return factor * sum(shard)
    >>> with ThreadExecutor(2) as executor:
    ...     placed = executor.place([[1, 2], [3]])
    ...     executor.run(scaled, placed, 10), executor.fold(scaled, placed, 10)
    ([30, 30], 60)
    """

    shares_memory = True

    def __init__(self, threads: int = 1) -> None:
        self.threads = threads
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> ThreadExecutor:
        _one_blas_thread.enter()
        return self

    def __exit__(self, *exc_info: object) -> None:
        _one_blas_thread.leave()
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

    def place(self, shards: Sequence[Any]) -> PlacedHere:
        """The shards as they are, each with an empty state."""
        return PlacedHere(list(shards), [{} for _ in shards])

    def run(self, function: ShardFunction, placed: Any, *broadcast: Any) -> list[Any]:
        """``function(shard, state, *broadcast)`` of every shard; results in the order of the shards."""
        pairs = list(zip(placed.shards, placed.states))
        if self.threads < 2 or len(pairs) < 2:
            return [function(shard, state, *broadcast) for shard, state in pairs]
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.threads)
        return list(self._pool.map(lambda pair: function(*pair, *broadcast), pairs))

    def collect(self, placed: Any) -> list[State]:
        """Copies of the states."""
        return copy.deepcopy(placed.states)

    def restore(self, placed: Any, states: Sequence[State]) -> None:
        """Copies of collected states in place of the present ones."""
        placed.states[:] = copy.deepcopy(list(states))

    def release(self, placed: Any) -> None:
        """Forget shards and states."""
        placed.shards.clear()
        placed.states.clear()
