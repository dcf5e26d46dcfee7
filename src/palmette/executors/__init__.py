"""Where passes over data run: threads of this process, or an executor that leaves it."""

from palmette.contracts.executor import Executor
from palmette.executors.choose import executor_for, use
from palmette.executors.threads import ThreadExecutor, n_threads

__all__ = ["Executor", "ThreadExecutor", "executor_for", "n_threads", "use"]
