"""HTML elements as strings: whatever is not made here is escaped, so that no value can become markup."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from palmette.page.style import STYLE

_VOID = frozenset({"br", "img", "meta"})


class Html(str):
    """Text that is markup already."""

    __slots__ = ()


class Cell(Html):
    """A cell of a table, made by :func:`cell`."""

    __slots__ = ()


def tag(name: str, /, *children: Any, **attributes: Any) -> Html:
    """An element.

    Parameters
    ----------
    name : str
    *children
        Markup (:class:`Html`), lists of children, or values, which are escaped; None is nothing.
    **attributes
        ``cls`` stands for ``class`` and ``_`` for ``-``; None and False leave an attribute out, True gives its name.

    Examples
    --------
    >>> tag("p", "a < b ", tag("b", "&"), cls="note", hidden=True, title=None)
    '<p class="note" hidden>a &lt; b <b>&amp;</b></p>'
    """
    head = name + "".join(_attribute(key, value) for key, value in attributes.items())
    if name in _VOID:
        return Html(f"<{head}>")
    return Html(f"<{head}>{_markup(children)}</{name}>")


def _attribute(key: str, value: Any) -> str:
    if value is None or value is False:
        return ""
    name = "class" if key == "cls" else key.replace("_", "-")
    return f" {name}" if value is True else f' {name}="{html.escape(str(value))}"'


def _markup(children: Iterable[Any]) -> str:
    return "".join(
        child
        if isinstance(child, Html)
        else _markup(child)
        if isinstance(child, list | tuple)
        else html.escape(str(child))
        for child in children
        if child is not None
    )


def cell(
    *children: Any, heat: float | None = None, hue: str = "bad", cls: str | None = None, **attributes: Any
) -> Cell:
    """A cell of a table, coloured by a share.

    Parameters
    ----------
    *children
        As of :func:`tag`.
    heat : float, optional
        Strength of the colour, from 0 to 1.
    hue : {"bad", "good", "cool", "warm"}

    Examples
    --------
    >>> cell(17, heat=0.5)
    '<td class="heat bad" style="--h:0.500">17</td>'
    """
    if heat is not None:
        attributes["style"] = f"--h:{min(max(heat, 0.0), 1.0):.3f}"
        cls = f"heat {hue}" + (f" {cls}" if cls else "")
    return Cell(tag("td", *children, cls=cls, **attributes))


def table(
    header: Sequence[Any], rows: Iterable[Sequence[Any]], *, caption: Any = None, cls: str | None = None,
    row_headers: bool = False,
) -> Html:  # fmt: skip
    """A table; the first column stands to the left and the others to the right unless the class says otherwise.

    Parameters
    ----------
    header : sequence of children
    rows : iterable of sequences of cells
        A cell is made by :func:`cell`, or a child of one.
    caption : child, optional
    cls : str, optional
        Classes of the style: ``text`` (all to the left), ``matrix`` (square cells), ``quiet`` (no rules).
    row_headers : bool, default=False
        Whether the first cell of a row names it (``th``).

    Examples
    --------
    >>> table(["n", "square"], [[2, "<4>"]])
    '<div class="scroll"><table><thead><tr><th scope="col">n</th><th scope="col">square</th></tr></thead><tbody><tr><td>2</td><td>&lt;4&gt;</td></tr></tbody></table></div>'
    """  # noqa: E501
    head = tag("thead", tag("tr", [tag("th", name, scope="col") for name in header]))
    body = tag("tbody", [_row(row, row_headers) for row in rows])
    title = None if caption is None else tag("caption", caption)
    return tag("div", tag("table", title, head, body, cls=cls), cls="scroll")


def _row(row: Sequence[Any], row_headers: bool) -> Html:
    cells = [value if isinstance(value, Cell) else cell(value) for value in row]
    if row_headers:
        cells[0] = Cell(tag("th", row[0], scope="row"))
    return tag("tr", cells)


def bar(share: float, *, hue: str = "cool", low: float | None = None, high: float | None = None) -> Html:
    """A horizontal bar for a share of 1, with a whisker from `low` to `high` if given.

    Examples
    --------
    >>> bar(0.25)
    '<span class="bar cool" style="--w:25.00%"></span>'
    """
    if not math.isfinite(share):
        return Html("")
    whisker = None
    if low is not None and high is not None:
        whisker = tag("i", style=f"--a:{100 * low:.2f}%;--b:{100 * (high - low):.2f}%")
    return tag("span", whisker, cls=f"bar {hue}", style=f"--w:{100 * min(max(share, 0.0), 1.0):.2f}%")


def note(*children: Any, kind: str = "") -> Html:
    """A paragraph set apart; ``kind="warn"`` catches the eye.

    Examples
    --------
    >>> note("so much", kind="warn")
    '<p class="note warn">so much</p>'
    """
    return tag("p", *children, cls=f"note {kind}".strip())


def facts(pairs: Iterable[tuple[str, Any]]) -> Html:
    """Names and values, one below the other.

    Examples
    --------
    >>> facts([("tokens", 7)])
    '<dl class="facts"><dt>tokens</dt><dd>7</dd></dl>'
    """
    return tag("dl", [[tag("dt", name), tag("dd", value)] for name, value in pairs], cls="facts")


@dataclass(frozen=True)
class Part:
    """A part of a page under its heading, to which the list of contents leads.

    Parameters
    ----------
    title : str
    anchor : str
        Its name within the page.
    body : sequence of children
    lead : child, optional
        Explains it in small print.

    Examples
    --------
    >>> part = Part("Scores", "scores", [tag("p", "high")])
    >>> part.html()
    '<section id="scores"><h2>Scores</h2><p>high</p></section>'
    >>> contents([part])
    '<nav><a href="#scores">Scores</a></nav>'
    """

    title: str
    anchor: str
    body: Sequence[Any]
    lead: Any = None

    def html(self, prefix: str = "") -> Html:
        """The part as a section; `prefix` keeps its anchor apart from those of other parts."""
        small = None if self.lead is None else tag("p", self.lead, cls="lead")
        return tag("section", tag("h2", self.title), small, *self.body, id=prefix + self.anchor)


def contents(parts: Iterable[Part], prefix: str = "") -> Html:
    """Links to the parts of a page."""
    return tag("nav", [tag("a", part.title, href=f"#{prefix}{part.anchor}") for part in parts])


def page(title: str, *body: Any) -> str:
    """A whole page, with its style inside.

    Examples
    --------
    >>> page("A & B", tag("h1", "A")).splitlines()[0]
    '<!doctype html>'
    """
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        tag("style", Html(STYLE)),
    )
    main = Html("\n".join(_markup([part]) for part in body))
    return f"<!doctype html>\n{tag('html', head, Html(chr(10)), tag('body', main), lang='en')}\n"
