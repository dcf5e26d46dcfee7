"""Where work runs: threads now, clusters later."""

from palmette.executors.threads import ThreadExecutor, n_threads

__all__ = ["ThreadExecutor", "n_threads"]
