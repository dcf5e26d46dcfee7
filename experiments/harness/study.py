"""Studies: many runs of our own, each kept as it ends, summarised in tables and curves.

A file ``experiments/benchmarks/powers.py`` that looks how fast powers grow::

    '''Powers: how fast they grow.'''

    from experiments.harness import Study, StudyTable

    def run(point):
        return {"power": point["base"] ** point["exponent"]}

    def summarise(records):
        rows = [[f"{r['base']}^{r['exponent']}", str(r["power"])] for r in records]
        return [StudyTable("Powers", ["", "power"], rows)]

    BENCHMARK = Study(
        name="powers",
        doc=__doc__,
        points=[{"base": b, "exponent": e} for b in (2, 3) for e in range(10)],
        run=run,
        summarise=summarise,
    )

``palmette bench powers`` makes the runs that are not stored yet; ``--only 3`` those with the base 3.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from experiments.harness.store import Record, RunStore

Point = Mapping[str, Any]
Log = Callable[[str], None]


class StudyTable(NamedTuple):
    """A titled table of text; the first column names the rows."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]

    def markdown(self) -> str:
        """The title in bold, and the table.

        >>> print(StudyTable("Errors", ["", "error %"], [["CRF", "3.1"]]).markdown())
        **Errors**
        <BLANKLINE>
        |  | error % |
        | --- | ---: |
        | CRF | 3.1 |
        """
        from palmette.recipes.tables import markdown_table

        return f"**{self.title}**\n\n{markdown_table(self.header, self.rows)}"


@dataclass(frozen=True)
class Study:
    """Many runs that differ in a few settings.

    Parameters
    ----------
    name : str
        The name of the file without ``.py``.
    doc : str
        What is studied and under which conditions; the first line is the title.
    points : sequence of dict
        The settings of every run, all with the same keys, in the order of running. Values are strings and numbers. All
        that the outcome depends on belongs here, since a stored run counts for the point that it equals.
    run : callable
        ``run(point)`` makes a run and returns what came of it, as a dict for JSON.
    summarise : callable
        ``summarise(records)`` returns tables (:class:`StudyTable`); a record is a point and what came of it.
    draw : callable, optional
        ``draw(figure, records)`` draws on an empty matplotlib figure.
    missed : callable, optional
        ``missed(records)`` names the targets that the runs miss, a sentence each.
    line : callable, optional
        ``line(point)`` names the timed line that a run belongs to when commits are compared; by default all settings
        of the point, so that every run is a line of its own.
    """

    name: str
    doc: str
    points: Sequence[Point]
    run: Callable[[Point], Mapping[str, Any]]
    summarise: Callable[[Sequence[Record]], Sequence[StudyTable]]
    draw: Callable[[Any, Sequence[Record]], None] | None = None
    missed: Callable[[Sequence[Record]], Sequence[str]] | None = None
    line: Callable[[Point], str] = lambda point: " ".join(map(str, point.values()))

    @property
    def title(self) -> str:
        """First line of the description."""
        return self.doc.strip().partition("\n")[0] or self.name

    def select(self, only: Iterable[str]) -> list[Point]:
        """The points that have the values named: of several values of one key any, of every key one.

        >>> study = Study("s", "", [{"set": s, "n": n} for s in "ab" for n in (1, 2)], dict, list)
        >>> study.select(["b"]), study.select(["a", "b", "2"])
        ([{'set': 'b', 'n': 1}, {'set': 'b', 'n': 2}], [{'set': 'a', 'n': 2}, {'set': 'b', 'n': 2}])
        """
        there = {key: list(dict.fromkeys(str(p[key]) for p in self.points)) for key in self.points[0]}
        wanted: dict[str, set[str]] = {}
        for term in only:
            key = next((key for key, values in there.items() if term in values), None)
            if key is None:
                known = "; ".join(f"{key}: {', '.join(values)}" for key, values in there.items())
                raise ValueError(f"study {self.name!r} has no run with {term!r}. It has {known}")
            wanted.setdefault(key, set()).add(term)
        return [p for p in self.points if all(str(p[key]) in values for key, values in wanted.items())]

    def stored(self, records: Iterable[Record]) -> dict[str, Record]:
        """Stored runs of this study by the key of their point, in the order of the points."""
        found: dict[str, Record] = {}
        for record in records:
            found.setdefault(key_of({name: record.get(name) for name in self.points[0]}), record)
        return {key: found[key] for key in map(key_of, self.points) if key in found}


def key_of(point: Point) -> str:
    """What makes two points the same.

    >>> key_of({"size": 5.5, "set": "a"}) == key_of({"set": "a", "size": 5.5})
    True
    """
    return json.dumps(dict(point), sort_keys=True)


def default_store(name: str) -> Path:
    """Where the runs of a study are kept: ``bench/<name>.jsonl`` in the user's cache folder (``PALMETTE_CACHE``)."""
    from palmette.datasets.store import cache_dir

    return cache_dir().parent / "bench" / f"{name}.jsonl"


def run_study(
    study: Study,
    *,
    only: Iterable[str] = (),
    out: str | os.PathLike[str] | None = None,
    run: bool = True,
    log: Log | None = None,
) -> StudyReport:
    """Make the runs of a study that are not stored yet, one after the other in this process.

    Parameters
    ----------
    study : Study
    only : iterable of str
        Values of points: only runs that have them are made (see :meth:`Study.select`).
    out : path, optional
        File of the runs; :func:`default_store` if not given. Processes that make different runs can share it.
    run : bool, default=True
        False makes no runs and reports on those that are there.
    log : callable, optional
        Called with a line after every run.

    Returns
    -------
    StudyReport
        On all stored runs of the study, whatever ``only`` says.
    """
    store = RunStore(default_store(study.name) if out is None else out)
    chosen = study.select(only)
    for number, point in enumerate(chosen if run else (), 1):
        stored = study.stored(store.read())  # anew: another process may have made the run meanwhile
        if key_of(point) in stored:
            continue
        outcome = study.run(point)
        store.append({**point, **outcome})
        if log is not None:
            settings = " ".join(map(str, point.values()))
            shown = (f"{name} {v:.6g}" for name, v in outcome.items() if isinstance(v, int | float))
            log(f"{study.name} {number}/{len(chosen)} {settings}: {', '.join(shown)}")
    return StudyReport(study, list(study.stored(store.read()).values()), store.path)


@dataclass(frozen=True)
class StudyReport:
    """The stored runs of a study and what follows from them.

    Parameters
    ----------
    study : Study
    records : list of dict
        Points and what came of them, in the order of the points.
    path : Path
        The file that they are in.
    """

    study: Study
    records: list[Record]
    path: Path
    tables: Sequence[StudyTable] = field(init=False)
    missed: Sequence[str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "tables", self.study.summarise(self.records) if self.records else ())
        object.__setattr__(self, "missed", self.study.missed(self.records) if self.study.missed else ())

    @property
    def ok(self) -> bool:
        """Whether no target was missed; most studies have none."""
        return not self.missed

    @property
    def name(self) -> str:
        """Name of the study."""
        return self.study.name

    def to_dict(self) -> dict[str, Any]:
        """One object for JSON.

        ============= ==============================================================
        key           value
        ============= ==============================================================
        ``benchmark`` name
        ``title``     first line of its description
        ``ok``        whether no target was missed
        ``missed``    targets that were missed, in words
        ``runs``      number of stored runs
        ``missing``   number of runs that are not stored yet
        ``path``      the file of the runs
        ``tables``    title to list of rows, each an object by column
        ``versions``  package to version
        ``machine``   ``cpu``, ``cores``, ``platform``
        ============= ==============================================================
        """
        from palmette.recipes.machine import machine, versions

        return {
            "benchmark": self.name,
            "title": self.study.title,
            "ok": self.ok,
            "missed": list(self.missed),
            "runs": len(self.records),
            "missing": len(self.study.points) - len(self.records),
            "path": str(self.path),
            "tables": {t.title: [dict(zip(t.header, row)) for row in t.rows] for t in self.tables},
            "versions": versions(),
            "machine": machine(),
        }

    def format(self) -> str:
        """The tables in Markdown, and the conditions."""
        from palmette.recipes.machine import conditions, machine, versions

        notes = [
            *(f"- MISSED: {each}" for each in self.missed),
            f"- {len(self.records)} of {len(self.study.points)} runs, one thread",
            *(f"- {line}" for line in conditions(versions(), machine())),
        ]
        return "\n\n".join([*(table.markdown() for table in self.tables), "\n".join(notes)])

    def markdown(self) -> str:
        """A section for ``experiments/RESULTS.md``."""
        return f"## {self.name}\n\n{self.study.doc.strip()}\n\n{self.format()}\n"

    def plot(self, path: str | os.PathLike[str]) -> None:
        """Draw the curves of the study into a file, whose name says the format (``.png``, ``.svg``, ``.pdf``)."""
        check_plot(self.study, path)
        from matplotlib.figure import Figure

        from palmette.plot.axes import save_figure

        if not self.records or self.study.draw is None:
            raise ValueError(f"study {self.name!r} has no stored runs to draw")
        figure = Figure(layout="constrained")
        self.study.draw(figure, self.records)
        save_figure(figure, os.fspath(path))


def check_plot(study: Study, path: str | os.PathLike[str]) -> None:
    """Refuse what :meth:`StudyReport.plot` could not do, before any run."""
    from palmette.apps.options import picture_name

    if study.draw is None:
        raise ValueError(f"study {study.name!r} has no curves to draw")
    picture_name(os.fspath(path))
