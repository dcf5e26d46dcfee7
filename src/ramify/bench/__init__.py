"""Benchmarks against other libraries: fresh processes, alternating runs, ratios, targets.

A benchmark is one file ``benchmarks/<name>.py`` that makes one claim. It declares ``BENCHMARK``, a
:class:`Benchmark` whose first side is ours and whose other sides are peers; :mod:`ramify.bench.spec` has an
example. :func:`run_benchmark` runs one file, :func:`run_suite` several by name; :class:`Report` documents
what comes out. A :class:`Study` has many runs of our own instead, each kept as it ends (:mod:`ramify.bench.study`).
"""

from ramify.bench.measure import Run
from ramify.bench.report import Report, Suite
from ramify.bench.runner import BenchmarkFailed, run_benchmark, run_suite
from ramify.bench.spec import (
    Benchmark,
    Side,
    Target,
    benchmark_names,
    find_benchmark,
    load_benchmark,
    load_beside,
    load_declared,
)
from ramify.bench.study import Study, StudyReport, StudyTable, run_study

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
