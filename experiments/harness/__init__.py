"""Benchmarks against other libraries and other commits: fresh processes, alternating runs, ratios, targets.

A benchmark is one file ``experiments/benchmarks/<name>.py`` that makes one claim. It declares ``BENCHMARK``, a
:class:`Benchmark` whose first side is ours and whose other sides are peers; :mod:`experiments.harness.spec` has an
example. :func:`run_benchmark` runs one file, :func:`run_suite` several by name; :class:`Report` documents what comes
out. :func:`run_against` measures this commit against another. A :class:`Study` has many runs of our own instead, each
kept as it ends (:mod:`experiments.harness.study`).
"""

from experiments.harness.against import AgainstReport, run_against
from experiments.harness.measure import Run, now
from experiments.harness.peers import CRFSUITE, crfsuite_side, letter_errors, palmette_side, train_crfsuite
from experiments.harness.report import Report, Suite
from experiments.harness.runner import BenchmarkFailed, run_benchmark, run_suite
from experiments.harness.spec import (
    Benchmark,
    Side,
    Target,
    benchmark_names,
    find_benchmark,
    load_benchmark,
    load_declared,
)
from experiments.harness.study import Study, StudyReport, StudyTable, check_plot, run_study

__all__ = [
    "CRFSUITE",
    "AgainstReport",
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
    "check_plot",
    "crfsuite_side",
    "find_benchmark",
    "letter_errors",
    "load_benchmark",
    "load_declared",
    "now",
    "palmette_side",
    "run_against",
    "run_benchmark",
    "run_study",
    "run_suite",
    "train_crfsuite",
]
