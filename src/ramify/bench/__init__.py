"""Benchmarks against other libraries: fresh processes, alternating runs, ratios, targets.

A benchmark is one file ``benchmarks/<name>.py`` that makes one claim. It declares ``BENCHMARK``, a
:class:`Benchmark` whose first side is ours and whose other sides are peers; :mod:`ramify.bench.spec` has an
example. :func:`run_benchmark` runs one file, :func:`run_suite` several by name; :class:`Report` documents
what comes out.
"""

from ramify.bench.measure import Run
from ramify.bench.report import Report, Suite
from ramify.bench.runner import BenchmarkFailed, run_benchmark, run_suite
from ramify.bench.spec import Benchmark, Side, Target, benchmark_names, find_benchmark, load_benchmark

__all__ = [
    "Benchmark",
    "BenchmarkFailed",
    "Report",
    "Run",
    "Side",
    "Suite",
    "Target",
    "benchmark_names",
    "find_benchmark",
    "load_benchmark",
    "run_benchmark",
    "run_suite",
]
