"""The outcome of a recipe: as text, Markdown, one HTML page, and one object."""

from __future__ import annotations

import base64
import html
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from ramify.recipes.context import Figure, Table, Verdict

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #22304a; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0 2rem; }
caption, figcaption { text-align: left; font-weight: 600; padding: .3rem 0; }
th, td { padding: .3rem .9rem; text-align: right; border-bottom: 1px solid #ddd6c4; }
th:first-child, td:first-child { text-align: left; }
figure { margin: 1rem 0 2rem; } img { max-width: 100%; }
.met { color: #2f7d4b; } .missed { color: #c02a26; font-weight: 600; } .small { color: #777; font-size: .85rem; }
"""


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

    def write_report(self, path: str | PathLike) -> None:
        """Write the report: one HTML page if the name ends in ``.html`` or ``.htm``, Markdown otherwise.

        The page holds its figures. Beside a Markdown file ``report.md`` they are written as ``report-1.png``, ...
        """
        path = Path(path)
        if path.suffix.lower() in (".html", ".htm"):
            path.write_text(self.html(), encoding="utf-8")
            return
        pictures = [path.with_name(f"{path.stem}-{i}.png") for i in range(1, len(self.figures) + 1)]
        for picture, figure in zip(pictures, self.figures):
            picture.write_bytes(figure.png)
        path.write_text(self.markdown([picture.name for picture in pictures]), encoding="utf-8")

    def markdown(self, pictures: list[str]) -> str:
        """The report as Markdown; ``pictures`` are the files of the figures."""
        blocks = [f"# {self.name}", self.doc.strip()]
        for table in self.tables:
            align = ["---", *["---:"] * (len(table.header) - 1)]
            lines = ["| " + " | ".join(row) + " |" for row in [table.header, align, *table.cells()]]
            blocks += [f"## {table.title}", "\n".join(lines)]
        blocks += [f"![{figure.title}]({name})" for figure, name in zip(self.figures, pictures)]
        return "\n\n".join([*blocks, "\n".join(f"- {line}" for line in self._lines())]) + "\n"

    def html(self) -> str:
        """The report as one HTML page without links to other files."""
        text = html.escape
        parts = [f"<h1>{text(self.title)}</h1>"]
        paragraphs = self.doc.strip().split("\n\n")[1:]
        parts += [f"<p>{text(paragraph)}</p>" for paragraph in paragraphs]
        parts += [_html_table(table) for table in self.tables]
        for figure in self.figures:
            data = base64.b64encode(figure.png).decode("ascii")
            caption = f"<figcaption>{text(figure.title)}</figcaption>"
            parts.append(
                f'<figure>{caption}<img alt="{text(figure.title)}" src="data:image/png;base64,{data}"></figure>'
            )
        verdicts = [(str(verdict), "met" if verdict.met else "missed") for verdict in self.verdicts]
        lines = [
            *verdicts,
            *((note, "") for note in self.notes),
            *((line, "small") for line in self._conditions()),
        ]
        items = "".join(f'<li class="{kind}">{text(line)}</li>' for line, kind in lines)
        head = f'<meta charset="utf-8"><title>{text(self.title)}</title><style>{_STYLE}</style>'
        body = "\n".join([*parts, f"<ul>{items}</ul>"])
        return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n{body}\n</body></html>\n'

    def _lines(self) -> list[str]:
        return [*map(str, self.verdicts), *self.notes, *self._conditions()]

    def _conditions(self) -> list[str]:
        return [
            f"{'quick' if self.quick else 'full'} run, {self.seconds:.0f} s",
            "versions: " + ", ".join(f"{name} {value}" for name, value in self.versions.items()),
            "machine: {cpu}, {cores} cores, {platform}".format(**self.machine),
        ]


def _html_table(table: Table) -> str:
    def row(cells: list[str] | tuple[str, ...], kind: str) -> str:
        return "<tr>" + "".join(f"<{kind}>{html.escape(cell)}</{kind}>" for cell in cells) + "</tr>"

    rows = [row(table.header, "th"), *(row(cells, "td") for cells in table.cells())]
    return f"<table><caption>{html.escape(table.title)}</caption>{''.join(rows)}</table>"
