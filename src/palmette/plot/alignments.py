"""A coloured alignment, in blocks as on paper: a figure, or an HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from palmette.page import Html, page, tag
from palmette.plot.alignment_columns import FALSE, GREY, INK, TRUE, Columns, fill_of, fills_for
from palmette.plot.axes import axes_to_draw_on

WIDTH = 60
"""Columns of a block."""


class AlignmentDisplay:
    """Two aligned sequences in blocks; letters are coloured by their kind, the more strongly the surer their column is.

    Parameters
    ----------
    a, b : str
    matches : array of shape (k, 2)
        Aligned positions (i, j) from 0, both ascending.
    names : (str, str)
    confidence : array of shape (n_columns,), optional
        How probable each column is, drawn as bars below the letters.
    reference : array of shape (r, 2), optional
        Matches that are known to be right: a green line below columns that agree with them, an orange one below those
        that contradict.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    letters_ : list of matplotlib Text
        Those of both rows, block by block.

    Examples
    --------
    >>> from palmette.plot import AlignmentDisplay
    >>> display = AlignmentDisplay.from_rows("MKV-LA", "M-VWLA").plot()
    >>> "".join(text.get_text() for text in display.letters_)
    'MKV-LAM-VWLA'
    """

    def __init__(
        self,
        a: str,
        b: str,
        matches: Any,
        *,
        names: Sequence[str] = ("a", "b"),
        confidence: Any = None,
        reference: Any = None,
    ) -> None:
        self.columns = Columns.of(a, b, matches)
        if len(names) != 2:
            raise ValueError(f"names must be two, got {len(names)}")
        self.names = (str(names[0]), str(names[1]))
        self.confidence = None if confidence is None else np.asarray(confidence, float)
        if self.confidence is not None and (
            self.confidence.shape != (len(self.columns),)
            or not np.all((self.confidence >= 0) & (self.confidence <= 1))
        ):
            raise ValueError(
                f"confidence must be {len(self.columns)} values from 0 to 1, one for each column; it has shape "
                f"{self.confidence.shape}"
            )
        self.agreement = None if reference is None else self.columns.agreement(reference)

    @classmethod
    def from_rows(cls, row_a: str, row_b: str, **options: Any) -> AlignmentDisplay:
        """An alignment that is given as two rows with gaps ``-``; options are those of the class."""
        if len(row_a) != len(row_b):
            raise ValueError(f"the rows have {len(row_a)} and {len(row_b)} columns; they must have as many")
        is_a, is_b = (np.array([each != "-" for each in row], bool) for row in (row_a, row_b))
        both = is_a & is_b
        matches = np.stack([np.cumsum(is_a)[both] - 1, np.cumsum(is_b)[both] - 1], axis=1)
        return cls(row_a.replace("-", ""), row_b.replace("-", ""), matches, **options)

    @classmethod
    def from_aligned(
        cls, aligned: Any, *, reference: Any = None, ax: Any = None, **options: Any
    ) -> AlignmentDisplay:
        """Draw a result of :meth:`palmette.apps.aligning.Aligner.align`; options are those of :meth:`plot`."""
        return cls.of_aligned(aligned, reference=reference).plot(ax=ax, **options)

    @classmethod
    def of_aligned(cls, aligned: Any, *, reference: Any = None) -> AlignmentDisplay:
        """The same, not drawn yet: for :meth:`to_html`."""
        return cls(
            aligned.a, aligned.b, aligned.matches, names=aligned.names, confidence=aligned.confidence,
            reference=reference,
        )  # fmt: skip

    # -- figures ------------------------------------------------------------------------------------------------

    def plot(self, ax: Any = None, *, width: int = WIDTH, title: str | None = None) -> AlignmentDisplay:
        """Draw the alignment.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            New ones by default, as large as the alignment needs.
        width : int
            Columns of a block.
        title : str, optional

        Returns
        -------
        self
        """
        blocks, new = list(self.columns.blocks(width)), ax is None
        ax = axes_to_draw_on(ax)
        from matplotlib.patches import Rectangle

        high = (
            _HIGH + (1.0 if self.confidence is not None else 0.0) + (0.4 if self.agreement is not None else 0)
        )
        side = 1.2 + 0.62 * max(map(len, self.names))
        wide = min(width, max(len(self.columns), 1))
        total = high * max(len(blocks), 1)
        if new:
            ax.figure.set_size_inches(0.135 * (wide + side + 4), max(0.19 * total + 0.4, 0.8))
        ax.set(xlim=(-side, wide + 3.2), ylim=(total, -0.6))
        ax.axis("off")
        if title:
            ax.set_title(title, color=INK, fontsize=11, loc="left")
        fills, rows, marks = fills_for(self.columns.a, self.columns.b), self.columns.rows, self.columns.marks
        self.letters_ = []
        for number, block in enumerate(blocks):
            top = number * high
            for row, y in zip(rows, (0.0, 2.0)):
                for x, letter in enumerate(row[block]):
                    sure = 1.0 if self.confidence is None else 0.2 + 0.8 * self.confidence[block][x]
                    fill = fill_of(letter, fills)
                    if fill != "none":
                        ax.add_patch(Rectangle((x, top + y), 1, 1, fc=fill, ec="none", alpha=sure))
                    self.letters_.append(
                        ax.text(x + 0.5, top + y + 0.53, letter, ha="center", va="center", fontsize=8,
                                family="monospace", color=GREY if letter == "-" else INK)
                    )  # fmt: skip
            for x, mark in enumerate(marks[block]):
                if mark != " ":
                    ax.text(x + 0.5, top + 1.5, mark, ha="center", va="center", fontsize=7, color=GREY)
            self._below(ax, block, top, Rectangle)
            self._sides(ax, block, top)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _below(self, ax: Any, block: slice, top: float, rectangle: Any) -> None:
        y = top + 3.1
        if self.confidence is not None:
            for x, sure in enumerate(self.confidence[block]):
                ax.add_patch(
                    rectangle((x + 0.1, y + 0.9 * (1 - sure)), 0.8, 0.9 * sure, fc=_shade(sure), ec="none")
                )
            y += 1.0
        if self.agreement is not None:
            for x, kind in enumerate(self.agreement[block]):
                if kind:
                    ax.plot([x + 0.1, x + 0.9], [y + 0.15] * 2, color=TRUE if kind > 0 else FALSE, lw=1.6)

    def _sides(self, ax: Any, block: slice, top: float) -> None:
        for side, y in ((0, 0.53), (1, 2.53)):
            style = {"va": "center", "fontsize": 8, "family": "monospace", "color": GREY}
            ax.text(-0.8, top + y, self.names[side], ha="right", **style)
            last = self.columns.positions[: block.stop, side].max(initial=-1)
            width = len(self.columns.positions[block])
            ax.text(width + 0.5, top + y, str(last + 1), ha="left", **style)

    # -- pages --------------------------------------------------------------------------------------------------

    def to_html(self, *, width: int = WIDTH, title: str = "alignment") -> str:
        """A page without scripts and other files; pointing at a letter shows its position and confidence."""
        return page(title, tag("style", Html(_STYLE)), tag("h1", title), self.html_blocks(width=width))

    def html_blocks(self, *, width: int = WIDTH) -> Html:
        """The blocks alone, for a page of your own (with ``AlignmentDisplay.style``)."""
        fills, rows, marks = fills_for(self.columns.a, self.columns.b), self.columns.rows, self.columns.marks
        aside = max(map(len, self.names))
        found = []
        for block in self.columns.blocks(width):
            lines = []
            for side in (0, 1):
                cells = [
                    self._cell(rows[side][at], side, at, fills) for at in range(*block.indices(len(marks)))
                ]
                last = self.columns.positions[: block.stop, side].max(initial=-1) + 1
                lines.append([tag("i", f"{self.names[side]:<{aside}} "), cells, tag("i", f" {last}"), "\n"])
            middle = [" " * (aside + 1), tag("i", marks[block]), "\n"]
            under = [] if self.confidence is None else [" " * (aside + 1), self._bars(block), "\n"]
            found.append(tag("pre", lines[0], middle, lines[1], under, cls="alignment"))
        return tag("div", found, cls="scroll")

    style = property(lambda self: Html(_STYLE), doc="The style of :meth:`html_blocks`.")

    def _cell(self, letter: str, side: int, at: int, fills: dict[str, str]) -> Html:
        position = int(self.columns.positions[at, side])
        if position < 0:
            return tag("i", letter)
        sure = 1.0 if self.confidence is None else float(self.confidence[at])
        told = f"{self.names[side]} {position + 1}"
        told += "" if self.confidence is None else f", confidence {sure:.2f}"
        red, green, blue = (int(fill_of(letter, fills)[k : k + 2], 16) for k in (1, 3, 5))
        colour = f"rgba({red},{green},{blue},{0.15 + 0.75 * sure:.2f})"
        kind = 0 if self.agreement is None else int(self.agreement[at])
        cls = {1: "right", -1: "wrong"}.get(kind)
        return tag("b", letter, style=f"background:{colour}", title=told, cls=cls)

    def _bars(self, block: slice) -> list[Html]:
        assert self.confidence is not None
        return [
            tag("b", _BARS[round(8 * sure)], style=f"color:{_shade(sure)}")
            for sure in self.confidence[block].tolist()
        ]


_HIGH = 3.9  # of a block without bars
_BARS = " ▁▂▃▄▅▆▇█"
_STYLE = """
pre.alignment { font: 14px/1.35 var(--mono); margin: 0 0 1.2em; }
pre.alignment b { font-weight: normal; } pre.alignment i { font-style: normal; color: var(--faint); }
pre.alignment b.right { box-shadow: inset 0 -2px rgb(var(--good)); }
pre.alignment b.wrong { box-shadow: inset 0 -2px rgb(var(--bad)); }
"""


def _shade(sure: float) -> str:
    """From orange, where nothing is sure, to green."""
    low, high = (np.array([int(each[k : k + 2], 16) for k in (1, 3, 5)]) for each in (FALSE, TRUE))
    return "#" + "".join(f"{round(value):02x}" for value in (1 - sure) * low + sure * high)
