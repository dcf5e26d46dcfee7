"""Groups of kernels in two processes: Numba compiles under a lock, so that threads would wait for each other."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

from palmette.compiling import when_compiling

Record = dict[str, float]
Tell = Callable[[str, Record], None]


def run_groups(names: Iterable[str], tell: Tell, jobs: int | None = None) -> dict[str, Record]:
    """Run groups and measure them, ``jobs`` at a time: 1 in this process or 2 in others; None: by the cores.

    Neighbours among the groups share kernels, and two processes that need the same kernel both compile it. So one
    process goes through the names from the first on, the other from the last on. ``tell`` hears of each that is done.
    """
    pending = deque(names)
    order, records = list(pending), dict[str, Record]()

    def work_off(take: Callable[[], str], run: Callable[[str], Record]) -> None:
        while True:
            try:
                name = take()
            except IndexError:
                return
            records[name] = run(name)
            tell(name, records[name])

    def in_a_process(take: Callable[[], str]) -> None:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
            try:
                work_off(take, lambda name: process.submit(measured, name).result())
            except BaseException:
                pending.clear()  # the other process need not go on
                raise

    if (jobs or min(2, os.cpu_count() or 1, len(pending))) < 2:
        work_off(pending.popleft, measured)
    else:
        with ThreadPoolExecutor(2) as threads:
            list(threads.map(in_a_process, (pending.popleft, pending.pop)))
    return {name: records[name] for name in order}


def measured(name: str) -> Record:
    """Run one group: seconds, those of the processor, and the number of kernels that were not found in the cache."""
    from numba.core import event

    from palmette.warmup.groups import groups

    when_compiling(None)
    started, cpu = time.perf_counter(), time.process_time()
    with event.install_recorder("numba:compile") as recorder:
        groups()[name]()
    return {
        "seconds": time.perf_counter() - started,
        "cpu_seconds": time.process_time() - cpu,
        "compiled": sum(happening.is_end for _, happening in recorder.buffer),
    }
