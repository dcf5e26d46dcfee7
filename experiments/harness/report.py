"""The outcome of a benchmark: best runs, ratios, verdicts; as text, Markdown and JSON."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from experiments.harness.compare import Verdict, compare, judge, ratio
from experiments.harness.measure import Measurement
from experiments.harness.spec import Benchmark
from experiments.harness.study import StudyReport

COLD_PHASE = "compile"


@dataclass(frozen=True)
class Report:
    """All runs of one benchmark and what follows from them.

    Of several runs of a side the one with the least wall time in the benchmark's main phase counts. Only the
    phase ``compile`` is taken from the first run, which started with an empty cache of compiled kernels, and the
    peak memory is the least of all runs, since a compiler adds to that of the first.

    Parameters
    ----------
    benchmark : Benchmark
    runs : dict of str to tuple of Measurement
        For each side, in the order of running.
    versions, machine : dict
        Of Python and the packages; processor, cores and operating system.
    environment : dict of str to str
        Variables that were set for every process, the thread limits among them.
    """

    benchmark: Benchmark
    runs: dict[str, tuple[Measurement, ...]]
    versions: dict[str, str]
    machine: dict[str, str | int]
    environment: dict[str, str]
    best: dict[str, Measurement] = field(init=False)
    verdicts: list[Verdict] = field(init=False)

    def __post_init__(self) -> None:
        best = {side: self._best(runs) for side, runs in self.runs.items()}
        object.__setattr__(self, "best", best)
        object.__setattr__(self, "verdicts", judge(self.benchmark, best))

    def _best(self, runs: Sequence[Measurement]) -> Measurement:
        best = min(runs, key=lambda run: run.phases[self.benchmark.main_phase].wall)
        cold = {name: phase for name, phase in runs[0].phases.items() if name == COLD_PHASE}
        return best._replace(phases={**best.phases, **cold}, peak_mb=min(run.peak_mb for run in runs))

    @property
    def name(self) -> str:
        """Name of the benchmark."""
        return self.benchmark.name

    @property
    def ok(self) -> bool:
        """Whether every target was met."""
        return all(verdict.met for verdict in self.verdicts)

    @property
    def sizes(self) -> dict[str, int]:
        """The amount of work, the same for all sides."""
        return self.best[self.benchmark.ours].sizes

    @property
    def repeat(self) -> int:
        """Runs of each side."""
        return len(self.runs[self.benchmark.ours])

    def to_dict(self) -> dict[str, Any]:
        """One object for JSON; a number that does not exist (a ratio to zero) is null.

        ============== ===================================================================================
        key            value
        ============== ===================================================================================
        ``benchmark``  name
        ``title``      first line of its description
        ``ok``         whether every target was met
        ``repeat``     runs of each side
        ``sizes``      amount of work: name to number
        ``sides``      side to ``phases`` (name to ``wall`` and ``cpu`` seconds), ``figures``, ``peak_mb``,
                       ``import_mb`` of the best run, and ``runs``: the same of every run, with ``sizes``
        ``ratios``     peer to metric to value; metrics as explained in :class:`~experiments.harness.Target`
        ``targets``    list of ``metric``, ``op``, ``bound``, ``peer``, ``value``, ``met``
        ``versions``   package to version
        ``machine``    ``cpu``, ``cores``, ``platform``
        ``environment`` variables set for every run
        ============== ===================================================================================
        """
        ours, peers = self.benchmark.ours, self.benchmark.peers
        sides = {}
        for side, best in self.best.items():
            record = best.to_dict()
            del record["sizes"]
            sides[side] = {**record, "runs": [run.to_dict() for run in self.runs[side]]}
        plain: dict[str, Any] = _without_nan(
            {
                "benchmark": self.name,
                "title": self.benchmark.title,
                "ok": self.ok,
                "repeat": self.repeat,
                "sizes": self.sizes,
                "sides": sides,
                "ratios": {peer: compare(self.best[ours], self.best[peer]) for peer in peers},
                "targets": [verdict.to_dict() for verdict in self.verdicts],
                "versions": self.versions,
                "machine": self.machine,
                "environment": self.environment,
            }
        )
        return plain

    def format(self) -> str:
        """Plain text: a table of sides and ratios, the verdicts, the conditions."""
        from palmette.recipes.tables import aligned_table

        table = aligned_table(*self._table())
        return "\n".join([f"{self.name}: {self.benchmark.title}", "", table, "", *self._notes()])

    def markdown(self) -> str:
        """A section for ``experiments/RESULTS.md``."""
        from palmette.recipes.tables import markdown_table

        notes = [f"- {note}" for note in self._notes()]
        table = markdown_table(*self._table())
        return "\n".join([f"## {self.name}", "", self.benchmark.doc.strip(), "", table, "", *notes, ""])

    def _table(self) -> tuple[list[str], list[list[str]]]:
        """Header and rows: a label, one cell for each side, one ratio for each peer."""
        peers, best = self.benchmark.peers, list(self.best.values())
        header = ["", *self.best, *("ratio" if len(peers) == 1 else f"ratio to {peer}" for peer in peers)]
        rows: list[list[str]] = []

        def add(label: str, values: list[Any], show: Callable[[Any], str]) -> None:
            ours, *others = values
            rows.append([label, *map(show, values), *(_figure(_ratio(ours, other), 3) for other in others)])

        for name in _union(m.phases for m in best):
            phases = [m.phases.get(name) for m in best]
            when = ", first run" if name == COLD_PHASE else ""
            add(f"{name} wall s{when}", [p and p.wall for p in phases], _seconds)
            add(f"{name} cpu s{when}", [p and p.cpu for p in phases], _seconds)
        add("peak memory MB", [m.peak_mb for m in best], _megabytes)
        add("of it bare import MB", [m.import_mb for m in best], _megabytes)
        for name in _union(m.figures for m in best):
            add(name, [m.figures.get(name) for m in best], _figure)
        return header, rows

    def _notes(self) -> list[str]:
        from palmette.recipes.machine import conditions

        notes = []
        for verdict in self.verdicts:
            outcome = "met" if verdict.met else "MISSED"
            notes.append(f"{outcome}: {verdict.target} ({verdict.peer}): {_figure(verdict.value, 4)}")
        if self.sizes:
            notes.append("sizes: " + ", ".join(f"{value:,} {name}" for name, value in self.sizes.items()))
        phase = self.benchmark.main_phase
        notes.append(f"best of {self.repeat} by wall time of {phase}, each run a fresh process")
        notes += conditions(self.versions, self.machine)
        notes.append("set for every run: " + " ".join(f"{k}={v}" for k, v in self.environment.items()))
        return notes


@dataclass(frozen=True)
class Suite:
    """Reports of several benchmarks and studies."""

    reports: tuple[Report | StudyReport, ...]

    @property
    def ok(self) -> bool:
        """Whether every target of every benchmark was met."""
        return all(report.ok for report in self.reports)

    def to_dict(self) -> dict[str, Any]:
        """Keys ``ok`` and ``benchmarks`` (name to :meth:`Report.to_dict` or :meth:`StudyReport.to_dict`)."""
        return {"ok": self.ok, "benchmarks": {report.name: report.to_dict() for report in self.reports}}

    def format(self) -> str:
        """The plain texts one after the other."""
        return "\n\n".join(report.format() for report in self.reports)


def _union(groups: Iterable[Iterable[str]]) -> list[str]:
    """Names of all groups, each once, in order of appearance."""
    return list(dict.fromkeys(name for group in groups for name in group))


def _ratio(ours: Any, peer: Any) -> float | None:
    """Ratio of two cells, None unless both hold a number."""
    numbers = all(isinstance(value, int | float) for value in (ours, peer))
    return ratio(ours, peer) if numbers else None


def _megabytes(value: float) -> str:
    return f"{value:,.0f}"


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _figure(value: float | str | None, digits: int = 7) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.{digits}g}"
    return "" if value is None else f"{value:,}" if isinstance(value, int) else value


def _without_nan(value: Any) -> Any:
    """Replace numbers that JSON does not have by None, at any depth."""
    if isinstance(value, dict):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_nan(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
