"""What a recipe is given, and what it leaves there: tables, figures, targets, notes."""

from __future__ import annotations

import io
import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from palmette.plot.axes import MISSING, has_matplotlib
from palmette.recipes.tables import aligned_table

if TYPE_CHECKING:
    from palmette.apps.tagging.report import EvaluationReport

Cell = str | int | float | None
_OPERATORS = {"<=": operator.le, ">=": operator.ge}


@dataclass(frozen=True)
class Table:
    """A titled table; the first column names the rows.

    Examples
    --------
    >>> print(Table("Errors", ("model", "error %"), (("CRF", 20.125), ("SSVM", None))).format())
    Errors
    model  error %
    -----  -------
    CRF      20.12
    SSVM
    """

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def cells(self) -> list[list[str]]:
        """Rows as text; None is empty."""
        return [[_shown(value) for value in row] for row in self.rows]

    def format(self) -> str:
        """Plain text: names to the left, the rest to the right."""
        return f"{self.title}\n{aligned_table(self.header, self.cells())}"

    def to_dict(self) -> dict[str, Any]:
        """Keys ``title``, ``header``, ``rows``."""
        return {"title": self.title, "header": list(self.header), "rows": [list(row) for row in self.rows]}


@dataclass(frozen=True)
class Figure:
    """A titled picture."""

    title: str
    png: bytes


@dataclass(frozen=True)
class Verdict:
    """A bound on a value, and the value that was reached."""

    metric: str
    op: str
    bound: float
    value: float

    def __post_init__(self) -> None:
        if self.op not in _OPERATORS:
            raise ValueError(f"target {self.metric!r}: op must be '<=' or '>=', got {self.op!r}")

    @property
    def met(self) -> bool:
        """Whether the value satisfies the bound; NaN never does."""
        return bool(_OPERATORS[self.op](self.value, self.bound))

    def to_dict(self) -> dict[str, Any]:
        """Keys ``metric``, ``op``, ``bound``, ``value``, ``met``."""
        return {**asdict(self), "met": self.met}

    def __str__(self) -> str:
        outcome = "met" if self.met else "MISSED"
        return f"{outcome}: {self.metric} {self.op} {self.bound:g}: {_shown(self.value)}"


class Context:
    """The notebook of one run of a recipe.

    Parameters
    ----------
    quick : bool
        Whether the recipe shall take less than a minute, on less data or with fewer settings.
    log : callable, optional
        Called with lines of progress.

    Examples
    --------
    >>> context = Context(quick=True)
    >>> context.add_table("Squares", ["n", "square"], [[n, n * n] for n in range(3)])
    >>> context.add_target("largest square", 4, ">=", 3)
    >>> context.verdicts[0].met
    True
    """

    def __init__(self, *, quick: bool = False, log: Callable[[str], None] | None = None) -> None:
        self.quick = quick
        self.tables: list[Table] = []
        self.figures: list[Figure] = []
        self.evaluations: list[EvaluationReport] = []
        self.verdicts: list[Verdict] = []
        self.notes: list[str] = []
        self._log = log

    def log(self, line: str) -> None:
        """Tell how far the run is."""
        if self._log is not None:
            self._log(line)

    def add_table(self, title: str, header: Sequence[str], rows: Sequence[Sequence[Cell]]) -> None:
        """Add a table; a cell is text, a number or None."""
        for i, row in enumerate(rows):
            if len(row) != len(header):
                raise ValueError(
                    f"table {title!r}: row {i} has {len(row)} cells, the header has {len(header)}"
                )
        self.tables.append(Table(title, tuple(header), tuple(map(tuple, rows))))

    def add_figure(
        self, title: str, draw: Callable[[Any], Any], *, size: tuple[float, float] = (8, 4.5)
    ) -> None:
        """Draw a figure: ``draw`` gets an empty matplotlib figure of ``size`` inches.

        Without matplotlib nothing is drawn, and a note says what to install.
        """
        if not has_matplotlib():
            self.add_note(f"no figure {title!r}: {MISSING}")
            return
        from matplotlib.figure import Figure as Canvas

        canvas = Canvas(figsize=size, layout="constrained")
        draw(canvas)
        file = io.BytesIO()
        canvas.savefig(file, format="png", dpi=120)
        self.figures.append(Figure(title, file.getvalue()))

    def add_evaluation(self, report: EvaluationReport) -> None:
        """Add an evaluation in full (``palmette.apps.tagging.report``) to the page that the recipe may write."""
        self.evaluations.append(report)

    def add_target(self, metric: str, value: float, op: str, bound: float) -> None:
        """Check a value against a bound; ``op`` is ``"<="`` or ``">="``."""
        self.verdicts.append(Verdict(metric, op, bound, float(value)))

    def add_note(self, text: str) -> None:
        """Add a line of text to the report."""
        self.notes.append(text)


def _shown(value: Cell) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.4g}"
    if value is None:
        return ""
    return f"{value:,}" if isinstance(value, int) else str(value)
