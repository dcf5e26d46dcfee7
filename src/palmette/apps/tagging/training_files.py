"""Column files as training data: checks of consistency, and the choice of the template."""

from __future__ import annotations

from collections.abc import Sequence

from palmette.apps.tagging.column_text import ColumnText
from palmette.apps.tagging.default_template import default_template
from palmette.errors import DataFileError
from palmette.features.templates import Template


def common_columns(texts: Sequence[ColumnText]) -> ColumnText:
    """Return the first of some files, after checking that all have the same number of columns."""
    if not texts:
        raise ValueError("there is no data to learn from; give at least one file")
    first = texts[0]
    for text in texts[1:]:
        if text.n_columns != first.n_columns or text.conllu != first.conllu:
            raise DataFileError(
                f"{text.location()}: {_columns(text)}, but {first.source} has {_columns(first)}; "
                f"give files with the same columns"
            )
    return first


def default_template_for(text: ColumnText, label_column: int, n_clusters: int = 0) -> Template:
    """Return the default template for the columns of a file, and for clusters behind them."""
    if text.n_columns < 2:
        raise DataFileError(
            f"{text.location()}: only one column; there must be a label and at least one other column, "
            f"separated by blanks or tabs{_commas(text)}"
        )
    source = "the default template"
    written = default_template(text.n_columns, label_column, conllu=text.conllu, n_clusters=n_clusters)
    return Template.parse(written, source)


def _commas(text: ColumnText) -> str:
    """What to do with a file whose columns are separated by commas or semicolons."""
    first = text.raw.split(b"\n", 1)[0]
    for separator, name in ((b",", "commas"), (b";", "semicolons")):
        if separator in first.strip(separator):
            return (
                f"; it seems to have {name}: replace them by tabs, and put a blank line after each sentence"
            )
    return ""


def word_column(text: ColumnText, label_column: int) -> int:
    """The column of words: the first beside the label, in CoNLL-U the word form."""
    return 1 if text.conllu else int(label_column == 0)


def _columns(text: ColumnText) -> str:
    return f"{text.n_columns} columns{' of CoNLL-U' if text.conllu else ''}"
