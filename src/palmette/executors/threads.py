"""Threads over shards: kernels release the GIL, results come back in the order of the shards."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from numbers import Integral
from threading import Lock
from typing import Any


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


_one_blas_thread = _OneBlasThread()


class ThreadExecutor:
    """Runs one function on many shards.

    The work never depends on the number of threads: whoever cuts shards does so by the data alone, and sums the
    results in order. BLAS is held to one thread meanwhile, so that shards do not compete for the cores.

    >>> with ThreadExecutor(2) as executor:
    ...     executor.map(abs, [-1, 2, -3])
    [1, 2, 3]
    """

    def __init__(self, threads: int = 1) -> None:
        self.threads = threads
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None

    def __enter__(self) -> ThreadExecutor:
        _one_blas_thread.enter()
        return self

    def __exit__(self, *exc_info: object) -> None:
        _one_blas_thread.leave()
        if self._pool is not None:
            self._pool.shutdown()

    def map(self, function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        """Apply ``function`` to every item; the list of results in the order of the items."""
        if self._pool is None or len(items) < 2:
            return [function(item) for item in items]
        return list(self._pool.map(function, items))
