"""Settings of the whole test run: hypothesis profiles, real data, seeds, and the seconds spent compiling."""

from __future__ import annotations

import importlib.abc
import importlib.util
import io
import os
import sys
import time

os.environ["MPLBACKEND"] = "Agg"
os.environ["PALMETTE_QUIET"] = "1"  # tests read standard error, and which of them compiles is chance
# Read when NumPy is imported. On small matrices two threads of BLAS mostly wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from palmette.errors import DatasetUnavailable

# The first example may compile a kernel, so a deadline per example means nothing here.
# Run by another Python, which has the libraries that it compares with.
collect_ignore = ["helpers/traccuracy_oracle.py"]

settings.register_profile("dev", deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("dev"), derandomize=True, database=None, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "dev")


@pytest.fixture
def rng() -> np.random.Generator:
    """A generator with the same seed in every test."""
    return np.random.default_rng(0)


@pytest.fixture
def run(folder, monkeypatch, capsys):
    """Run a command inside the folder of the module; returns exit code, standard output and standard error."""
    from palmette.cli import main

    monkeypatch.chdir(folder)
    monkeypatch.delenv("PALMETTE_DEBUG", raising=False)

    def run(*arguments, stdin=None):
        if stdin is not None:
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return run


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse names that differ between processes, with which no test would run in two of them."""
    if strange := [item.nodeid for item in items if " at 0x" in item.nodeid]:
        raise pytest.UsageError(f"{strange[0]}: give ids without addresses, since processes compare names")


# ------------------------------------------------------------------------------------------- real data


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip tests on real data where the machine has none."""
    if item.get_closest_marker("data") and not os.environ.get("PALMETTE_DATA"):
        pytest.skip("needs real data: set PALMETTE_DATA to a folder of data sets")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo):
    """Skip a test whose data set is absent; where data is required, fail it instead."""
    report = yield
    if item.get_closest_marker("data") is None or hasattr(report, "wasxfail"):
        return report
    if call.excinfo is not None and call.excinfo.errisinstance(DatasetUnavailable):
        path, line, _ = item.location
        report.outcome, report.longrepr = "skipped", (path, (line or 0) + 1, f"Skipped: {call.excinfo.value}")
    if report.skipped:
        report.data_skipped = True  # travels from an xdist worker with the report
        if os.environ.get("PALMETTE_REQUIRE_DATA") == "1":
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
            report.outcome = "failed"
            report.longrepr = f"PALMETTE_REQUIRE_DATA=1, but this test on real data did not run. {reason}"
    return report


# -------------------------------------------------------------------------------- seconds spent compiling


class CompileClock(importlib.abc.MetaPathFinder):
    """Adds up the time Numba spends compiling in this process, without importing Numba itself.

    It waits on ``sys.meta_path`` for ``numba.core.event`` to be imported, then listens to its compile events.
    A function compiled on behalf of another one lies inside the outer event and is not counted twice.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self.functions = 0
        self._depth = 0
        self._start = 0.0

    def find_spec(self, fullname, path=None, target=None):
        if fullname != "numba.core.event":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        execute = spec.loader.exec_module

        def execute_and_listen(module) -> None:
            execute(module)
            self._listen(module)

        spec.loader.exec_module = execute_and_listen
        return spec

    def _listen(self, event) -> None:
        clock = self

        class Listener(event.Listener):
            def on_start(self, _) -> None:
                if clock._depth == 0:
                    clock._start = time.perf_counter()
                clock._depth += 1

            def on_end(self, _) -> None:
                clock._depth -= 1
                if clock._depth == 0:
                    clock.seconds += time.perf_counter() - clock._start
                    clock.functions += 1

        event.register("numba:compile", Listener())


compile_clock = CompileClock()
compiled_by_workers: list[tuple[float, int]] = []


def pytest_configure(config: pytest.Config) -> None:
    if "numba.core.event" in sys.modules:  # another plugin was first
        compile_clock._listen(sys.modules["numba.core.event"])
    else:
        sys.meta_path.insert(0, compile_clock)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """In an xdist worker: hand the sums to the process that prints the summary."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["numba_compile"] = (compile_clock.seconds, compile_clock.functions)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node, error) -> None:
    """In the controlling process: receive a worker's sums."""
    if "numba_compile" in getattr(node, "workeroutput", {}):
        compiled_by_workers.append(node.workeroutput["numba_compile"])


def pytest_terminal_summary(terminalreporter) -> None:
    parts = [(compile_clock.seconds, compile_clock.functions), *compiled_by_workers]
    seconds, functions = sum(s for s, _ in parts), sum(n for _, n in parts)
    terminalreporter.write_line(f"numba compile: {seconds:.1f} s in {functions} functions")
    reports = (r for outcome in ("skipped", "failed", "error") for r in terminalreporter.getreports(outcome))
    skipped = sum(getattr(report, "data_skipped", False) for report in reports)
    terminalreporter.write_line(f"tests on real data that did not run: {skipped}")
