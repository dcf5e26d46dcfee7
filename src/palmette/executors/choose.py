"""Which executor serves a call: the one in use, else threads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from palmette.contracts.executor import Executor
from palmette.errors import MissingCapability
from palmette.executors.threads import ThreadExecutor, n_threads

_in_use: ContextVar[Executor | None] = ContextVar("executor in use", default=None)


@contextmanager
def use(executor: Executor) -> Iterator[Executor]:
    """Within this context learners run on ``executor`` and not on ``n_jobs`` threads; results stay bitwise the same.

    >>> with use(ThreadExecutor(2)) as executor, executor_for(1) as chosen:
    ...     chosen is executor
    True
    """
    before = _in_use.set(executor)
    try:
        yield executor
    finally:
        _in_use.reset(before)


@contextmanager
def executor_for(n_jobs: int | None, *, whole_fits: bool = False) -> Iterator[Executor]:
    """The executor in use, else ``n_jobs`` threads for the time of this context.

    ``whole_fits``: each call is a fit of its own, such as a fold of a cross-validation. On this machine these run one
    after the other, each with threads of its own.
    """
    threads, given = n_threads(n_jobs), _in_use.get()
    if given is None or (whole_fits and given.shares_memory):
        with ThreadExecutor(1 if whole_fits else threads) as own:
            yield own
    else:
        yield given


def require_shared_memory(executor: Executor, what: str, remedy: str) -> None:
    """Refuse an executor that cannot write into the memory of the caller."""
    if not executor.shares_memory:
        raise MissingCapability(
            f"{what} needs threads that share memory, which {type(executor).__name__} has not: {remedy}, or leave the "
            "context of palmette.executors.use"
        )
