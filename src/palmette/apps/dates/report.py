"""What the demo found, as text and as one object."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from palmette.apps.dates.models import Reading

_HEADER = ("reader", "digits wrong", "dates wrong", "l2", "training s", "objective", "relative gap")


@dataclass(frozen=True)
class DemoReport:
    """Errors of all readers on the test dates.

    Parameters
    ----------
    readings : tuple of Reading
    sizes : dict of str to int
        Dates for training, development and test.
    seed : int
    seconds : float
        Of the whole demo.
    figure : Path or None
        The file of the figure; None if it could not be drawn.
    note : str
        Why there is no figure; empty if there is one.
    """

    readings: tuple[Reading, ...]
    sizes: dict[str, int]
    seed: int
    seconds: float
    figure: Path | None
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """One object for JSON.

        ============ ==================================================================================
        key          value
        ============ ==================================================================================
        ``models``   name to ``digit_error``, ``date_error`` (shares), ``seconds``, ``l2``, ``objective``,
                     ``relative_gap`` (the last three are null for models without them)
        ``sizes``    ``train``, ``dev`` and ``test`` dates
        ``seed``     as given
        ``seconds``  of the whole demo
        ``figure``   path of the figure, or null
        ============ ==================================================================================
        """
        return {
            "models": {reading.name: reading.to_dict() for reading in self.readings},
            "sizes": self.sizes,
            "seed": self.seed,
            "seconds": self.seconds,
            "figure": None if self.figure is None else str(self.figure),
        }

    def format(self) -> str:
        """A table, and where the figure is."""
        rows = [_HEADER, *(_row(reading) for reading in self.readings)]
        widths = [max(map(len, column)) for column in zip(*rows)]
        lines = [
            "  ".join([row[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:]))])
            for row in rows
        ]
        lines.insert(1, "  ".join("-" * w for w in widths))
        parts = "{train} dates for training, {dev} to choose the penalty, {test} for the test".format
        whole = f"{parts(**self.sizes)}; {self.seconds:.0f} s in all"
        last = self.note if self.figure is None else f"figure: {self.figure}"
        return "\n".join([*(line.rstrip() for line in lines), "", whole, last])


def _row(reading: Reading) -> tuple[str, ...]:
    record = reading.to_dict()

    def number(key: str, form: str) -> str:
        value = record[key]
        return "" if value is None or math.isnan(value) else format(value, form)

    return (
        reading.name,
        f"{100 * reading.digit_error:.1f} %",
        f"{100 * reading.date_error:.1f} %",
        number("l2", "g"),
        f"{reading.seconds:.1f}",
        number("objective", ".5g"),
        number("relative_gap", ".1e"),
    )
