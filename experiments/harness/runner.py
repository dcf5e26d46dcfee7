"""Runs the sides of a benchmark in turn, each in a fresh process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from experiments.harness.measure import Measurement
from experiments.harness.report import Report, Suite
from experiments.harness.spec import Benchmark, find_benchmark, load_benchmark, load_declared
from experiments.harness.study import Study, StudyReport, run_study

Log = Callable[[str], None]
ROOT = Path(__file__).resolve().parents[2]

# A linear algebra library must not add threads that nobody asked for; palmette's own are set by n_jobs.
# Equal hashes make the order of sets, hence of vocabularies, the same in every run.
ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "VECLIB_MAXIMUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
}
TAIL_LINES = 15


class BenchmarkFailed(RuntimeError):
    """A side crashed, or the sides did not do the same work."""


def run_suite(
    names: Iterable[str],
    *,
    repeat: int = 3,
    log: Log | None = None,
    only: Iterable[str] = (),
    out: str | os.PathLike[str] | None = None,
    run: bool = True,
) -> Suite:
    """Run benchmarks by name; unknown names and missing packages are found before the first one starts.

    Parameters
    ----------
    names : iterable of str
    repeat : int, default=3
        Runs of each side.
    log : callable, optional
        Called with a line of text after every run.
    only, out, run
        For studies: as for :func:`~experiments.harness.run_study`.

    Raises
    ------
    ValueError
        An unknown name, a faulty benchmark file, or ``repeat`` below 1.
    ModuleNotFoundError
        A peer is not installed.
    BenchmarkFailed
        A side crashed or did other work than the others.
    """
    only = list(only)
    declared = {path: load_declared(path) for path in map(find_benchmark, names)}
    for each in declared.values():
        if isinstance(each, Study):
            each.select(only)
            continue
        _check_installed(each)
        if only or out is not None or not run:
            raise ValueError(f"benchmark {each.name!r} is not a study: it keeps no runs to choose from")

    def report(path: Path, each: Benchmark | Study) -> Report | StudyReport:
        if isinstance(each, Study):
            return run_study(each, only=only, out=out, run=run, log=log)
        return run_benchmark(path, repeat=repeat, log=log)

    return Suite(tuple(report(path, each) for path, each in declared.items()))


def run_benchmark(path: Path | str, *, repeat: int = 3, log: Log | None = None) -> Report:
    """Run one benchmark file: all sides in turn, ``repeat`` times.

    The processes share a cache of compiled kernels that is empty at the start, so the first run shows the
    full time of compilation. Linear algebra libraries are held to one thread (see ``Report.environment``).
    Parameters and errors are those of :func:`run_suite`.
    """
    if repeat < 1:
        raise ValueError(f"repeat must be at least 1, got {repeat}")
    benchmark = load_benchmark(path)
    _check_installed(benchmark)
    runs: dict[str, list[Measurement]] = {side: [] for side in benchmark.sides}
    with tempfile.TemporaryDirectory(prefix="palmette-bench-") as cache:
        for turn in range(1, repeat + 1):
            for side in benchmark.sides:
                measurement = run_side(Path(path), side, {"NUMBA_CACHE_DIR": cache})
                _check_same_work(benchmark, side, measurement, runs)
                runs[side].append(measurement)
                if log is not None:
                    wall = measurement.phases[benchmark.main_phase].wall
                    log(f"{benchmark.name} {turn}/{repeat} {side}: {benchmark.main_phase} {wall:.2f} s")
    from palmette.recipes.machine import machine, versions

    packages = versions(side.package for side in benchmark.sides.values())
    return Report(benchmark, {side: tuple(r) for side, r in runs.items()}, packages, machine(), ENVIRONMENT)


def _check_installed(benchmark: Benchmark) -> None:
    missing = {side: names for side, spec in benchmark.sides.items() if (names := spec.missing())}
    if missing:
        listed = "; ".join(f"{side!r} needs {', '.join(names)}" for side, names in missing.items())
        raise ModuleNotFoundError(
            f"benchmark {benchmark.name!r} cannot run: {listed}. "
            "Other libraries come with the extra [peers]: pip install 'palmette[peers]'"
        )


def run_side(
    path: Path, side: str, environment: Mapping[str, str], sources: Sequence[Path] = (ROOT,)
) -> Measurement:
    """Run a side of a benchmark file in a fresh process, with folders put before its ``PYTHONPATH``.

    ``side`` is its name or, of a study, the lines and points to run, as JSON.
    """
    command = [sys.executable, "-m", "experiments.harness.child", str(path), side]
    env = child_environment(environment, sources)
    done = subprocess.run(command, env=env, capture_output=True, text=True, errors="replace")
    if done.returncode != 0:
        tail = "\n".join(done.stderr.splitlines()[-TAIL_LINES:])
        shown = side if len(side) < 100 else f"{side[:100]}..."
        raise BenchmarkFailed(
            f"side {shown!r} of benchmark {path.stem!r} failed with exit code {done.returncode}. "
            f"The end of its output:\n{tail}"
        )
    return Measurement.from_dict(json.loads(done.stdout))


def child_environment(environment: Mapping[str, str], sources: Sequence[Path]) -> dict[str, str]:
    """Variables of a process: threads held to one, ``sources`` before what ``PYTHONPATH`` has."""
    inherited = filter(None, [os.environ.get("PYTHONPATH")])
    paths = os.pathsep.join([*map(str, sources), *inherited])
    own = {
        "PYTHONPATH": paths,
        "PYTHONUNBUFFERED": "1",
    }  # what is printed stands before the error that follows
    return os.environ | ENVIRONMENT | own | dict(environment)


def _check_same_work(
    benchmark: Benchmark, side: str, new: Measurement, runs: dict[str, list[Measurement]]
) -> None:
    if benchmark.main_phase not in new.phases:
        raise BenchmarkFailed(
            f"side {side!r} of benchmark {benchmark.name!r} did not record the main phase "
            f"{benchmark.main_phase!r}; it recorded {list(new.phases)}"
        )
    for other, measurements in runs.items():
        if measurements and measurements[0].sizes != new.sizes:
            raise BenchmarkFailed(
                f"the sides of benchmark {benchmark.name!r} did not do the same work: "
                f"{other!r} reports sizes {measurements[0].sizes}, {side!r} reports {new.sizes}"
            )
