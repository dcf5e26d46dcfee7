"""The outcome of a recipe: as text, Markdown, one HTML page, and one object."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from palmette.io import write_atomically
from palmette.page import Html, contents, page, table, tag
from palmette.recipes.context import Figure, Table, Verdict
from palmette.recipes.machine import conditions
from palmette.recipes.tables import markdown_table

if TYPE_CHECKING:
    from palmette.apps.tagging.report import EvaluationReport


@dataclass(frozen=True)
class RecipeReport:
    """What one run of a recipe found.

    Parameters
    ----------
    name, title, doc : str
        Of the recipe; ``doc`` is its whole docstring.
    quick : bool
    seconds : float
    tables : tuple of Table
    figures : tuple of Figure
    evaluations : tuple of EvaluationReport
        Evaluations in full, for the page.
    verdicts : tuple of Verdict
    notes : tuple of str
    versions, machine : dict
    """

    name: str
    title: str
    doc: str
    quick: bool
    seconds: float
    tables: tuple[Table, ...]
    figures: tuple[Figure, ...]
    evaluations: tuple[EvaluationReport, ...]
    verdicts: tuple[Verdict, ...]
    notes: tuple[str, ...]
    versions: dict[str, str]
    machine: dict[str, str | int]

    @property
    def passed(self) -> bool:
        """Whether every target was met."""
        return all(verdict.met for verdict in self.verdicts)

    def to_dict(self) -> dict[str, Any]:
        """One object for JSON.

        ============ ==========================================================================
        key          value
        ============ ==========================================================================
        ``recipe``   name
        ``title``    first line of its description
        ``passed``   whether every target was met
        ``quick``    whether this was the small version
        ``seconds``  of the run
        ``tables``   list of ``title``, ``header``, ``rows``
        ``targets``  list of ``metric``, ``op``, ``bound``, ``value``, ``met``
        ``notes``    list of text
        ``versions`` package to version
        ``machine``  ``cpu``, ``cores``, ``platform``
        ============ ==========================================================================
        """
        return {
            "recipe": self.name,
            "title": self.title,
            "passed": self.passed,
            "quick": self.quick,
            "seconds": self.seconds,
            "tables": [table.to_dict() for table in self.tables],
            "targets": [verdict.to_dict() for verdict in self.verdicts],
            "notes": list(self.notes),
            "versions": self.versions,
            "machine": self.machine,
        }

    def format(self) -> str:
        """Plain text: tables, verdicts, notes."""
        blocks = [f"{self.name}: {self.title}", *(table.format() for table in self.tables)]
        return "\n\n".join([*blocks, "\n".join(self._lines())])

    def write_report(self, path: str | PathLike[str]) -> None:
        """Write the report: one HTML page if the name ends in ``.html`` or ``.htm``, Markdown otherwise.

        The page holds its figures. Beside a Markdown file ``report.md`` they are written as ``report-1.png``, ...
        """
        path = Path(path)
        if path.suffix.lower() in (".html", ".htm"):
            _write(path, self.html().encode("utf-8"))
            return
        pictures = [path.with_name(f"{path.stem}-{i}.png") for i in range(1, len(self.figures) + 1)]
        for picture, figure in zip(pictures, self.figures):
            _write(picture, figure.png)
        _write(path, self.markdown([picture.name for picture in pictures]).encode("utf-8"))

    def markdown(self, pictures: list[str]) -> str:
        """The report as Markdown; ``pictures`` are the files of the figures."""
        blocks = [f"# {self.name}", self.doc.strip()]
        for each in self.tables:
            blocks += [f"## {each.title}", markdown_table(each.header, each.cells())]
        blocks += [f"![{figure.title}]({name})" for figure, name in zip(self.figures, pictures)]
        for report in self.evaluations:
            blocks += [f"## {report.title}", f"```\n{report.evaluation.format()}\n```"]
        return "\n\n".join([*blocks, "\n".join(f"- {line}" for line in self._lines())]) + "\n"

    def html(self) -> str:
        """The report as one HTML page without links to other files."""
        paragraphs = self.doc.strip().split("\n\n")[1:]
        lines = [
            *((str(verdict), "met" if verdict.met else "missed") for verdict in self.verdicts),
            *((note, None) for note in self.notes),
            *((line, "small") for line in self._conditions()),
        ]
        return page(
            self.title,
            tag("header", tag("h1", self.title), [tag("p", paragraph) for paragraph in paragraphs]),
            *(table(each.header, each.cells(), caption=tag("b", each.title)) for each in self.tables),
            *(_picture(figure) for figure in self.figures),
            tag("ul", [tag("li", line, cls=kind) for line, kind in lines]),
            *(_evaluation(i, report) for i, report in enumerate(self.evaluations, 1)),
        )

    def _lines(self) -> list[str]:
        return [*map(str, self.verdicts), *self.notes, *self._conditions()]

    def _conditions(self) -> list[str]:
        run = f"{'quick' if self.quick else 'full'} run, {self.seconds:.0f} s"
        return [run, *conditions(self.versions, self.machine)]


def _picture(figure: Figure) -> Html:
    data = base64.b64encode(figure.png).decode("ascii")
    image = tag("img", alt=figure.title, src=f"data:image/png;base64,{data}")
    return tag("figure", tag("figcaption", figure.title), image)


def _evaluation(number: int, report: EvaluationReport) -> Html:
    """An evaluation in full; its number keeps its anchors apart from those of the others."""
    parts, prefix = report.parts(), f"evaluation-{number}-"
    return tag(
        "article", tag("h1", report.title), contents(parts, prefix), [part.html(prefix) for part in parts]
    )


def _write(path: Path, data: bytes) -> None:
    with write_atomically(path) as file:
        file.write(data)
