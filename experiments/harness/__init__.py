"""Benchmarks against other libraries: fresh processes, alternating runs, ratios, targets.

A benchmark is one file ``benchmarks/<name>.py`` that makes one claim. It declares ``BENCHMARK``, a
:class:`Benchmark` whose first side is ours and whose other sides are peers; :mod:`palmette.bench.spec` has an
example. :func:`run_benchmark` runs one file, :func:`run_suite` several by name; :class:`Report` documents
what comes out. A :class:`Study` has many runs of our own instead, each kept as it ends (:mod:`palmette.bench.study`).
"""

from palmette.bench.measure import Run
from palmette.bench.report import Report, Suite
from palmette.bench.runner import BenchmarkFailed, run_benchmark, run_suite
from palmette.bench.spec import (
    Benchmark,
    Side,
    Target,
    benchmark_names,
    find_benchmark,
    load_benchmark,
    load_beside,
    load_declared,
)
from palmette.bench.study import Study, StudyReport, StudyTable, run_study

__all__ = [
    "Benchmark",
    "BenchmarkFailed",
    "Report",
    "Run",
    "Side",
    "Study",
    "StudyReport",
    "StudyTable",
    "Suite",
    "Target",
    "benchmark_names",
    "find_benchmark",
    "load_benchmark",
    "load_beside",
    "load_declared",
    "run_benchmark",
    "run_study",
    "run_suite",
]
