"""An alignment in the terminal: coloured letters, and how sure each column is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from palmette.plot.alignment_columns import FILLS, Columns, fill_of, fills_for

if TYPE_CHECKING:
    from rich.text import Text

_BARS = " ▁▂▃▄▅▆▇█"
_COLOURS = dict(
    zip(
        dict.fromkeys(FILLS.values()),
        (
            "bright_blue",
            "bright_cyan",
            "bright_red",
            "bright_magenta",
            "bright_green",
            "yellow",
            "bright_yellow",
        ),
    )
)


def plain_text(aligned: Any, width: int = 60) -> str:
    """The alignment in blocks without colours.

    >>> from types import SimpleNamespace
    >>> some = dict(a="MKV", b="MV", matches=[(0, 0), (2, 1)], names=("x", "yy"), confidence=[1.0, 0.5, 0.9])
    >>> print(plain_text(SimpleNamespace(**some)))
    x  MKV 3
       | |
    yy M-V 2
       █▄▇
    """
    return "\n\n".join("\n".join(line.plain.rstrip() for line in block) for block in _blocks(aligned, width))


def coloured_text(aligned: Any, width: int = 60) -> Text:
    """The same for Rich: letters in the colours of their kind, pale where a column is not sure."""
    from rich.text import Text

    return Text("\n\n").join(Text("\n").join(block) for block in _blocks(aligned, width))


def _blocks(aligned: Any, width: int) -> list[list[Text]]:
    from rich.text import Text

    columns = Columns.of(aligned.a, aligned.b, aligned.matches)
    fills, rows, marks = fills_for(aligned.a, aligned.b), columns.rows, columns.marks
    sure = aligned.confidence
    aside = max(map(len, aligned.names))
    found = []
    for block in columns.blocks(width):
        lines = []
        for side in (0, 1):
            line = Text(f"{aligned.names[side]:<{aside}} ", style="bold")
            for at in range(*block.indices(len(columns))):
                line.append(rows[side][at], _style(rows[side][at], fills, None if sure is None else sure[at]))
            last = columns.positions[: block.stop, side].max(initial=-1) + 1
            lines.append(line.append(f" {last}", "dim"))
        lines.insert(1, Text(" " * (aside + 1) + marks[block], "dim"))
        if sure is not None:
            bars = Text(" " * (aside + 1))
            for value in sure[block]:
                bars.append(
                    _BARS[round(8 * float(value))],
                    "green" if value >= 0.8 else "yellow" if value >= 0.5 else "red",
                )
            lines.append(bars)
        found.append(lines)
    return found


def _style(letter: str, fills: dict[str, str], sure: float | None) -> str:
    """Letters on their colour, one of the 16 that every terminal has; letters in it where the column is not sure."""
    if letter == "-":
        return "dim"
    colour = _COLOURS.get(fill_of(letter, fills), "white")
    return f"black on {colour}" if sure is None or sure >= 0.5 else colour
