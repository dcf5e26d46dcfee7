"""Self-contained HTML pages: elements that escape what they are given, one style, no script and no other file."""

from palmette.page.charts import curve, reliability
from palmette.page.elements import Html, Part, bar, cell, contents, facts, note, page, table, tag

__all__ = [
    "Html", "Part", "bar", "cell", "contents", "curve", "facts", "note", "page", "reliability", "table", "tag",
]  # fmt: skip
