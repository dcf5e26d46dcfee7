"""Column files as training data: checks of consistency, and the choice of the template."""

from __future__ import annotations

from collections.abc import Sequence

from palmette.apps.tagging.column_text import ColumnText
from palmette.apps.tagging.default_template import default_template
from palmette.errors import DataFileError
from palmette.features.clusters import WordClusters
from palmette.features.templates import Template

UPOS = 3
"""The column of CoNLL-U that holds universal parts of speech."""


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
    if first.n_columns < 2:
        raise DataFileError(
            f"{first.location()}: only one column; there must be a label and at least one other column, "
            f"separated by blanks or tabs{first.hint_at_separator()}"
        )
    return first


def label_index(text: ColumnText, label_column: int | None) -> int:
    """Index of the label column, from 0; by default the last, in CoNLL-U that of universal parts of speech."""
    if label_column is None:
        label_column = UPOS if text.conllu and text.n_columns > UPOS else -1
    return text.label_index(label_column)


def default_template_for(text: ColumnText, label_column: int, n_clusters: int = 0) -> Template:
    """Return the default template for the columns of a file, and for clusters behind them."""
    source = "the default template"
    written = default_template(text.n_columns, label_column, conllu=text.conllu, n_clusters=n_clusters)
    return Template.parse(written, source)


def word_column(text: ColumnText, label_column: int) -> int:
    """The column of words: the first beside the label, in CoNLL-U the word form."""
    return 1 if text.conllu else int(label_column == 0)


def word_clusters(
    sizes: int | tuple[int, ...],
    texts: Sequence[ColumnText],
    column: int,
    more: Sequence[Sequence[str]],
    seed: int,
) -> WordClusters:
    """Word clusters of some files and more sentences."""
    words = [sentence for text in texts for sentence in text.table.column(column)]
    try:
        return WordClusters(sizes, random_state=seed).fit([*words, *more])
    except ValueError as error:
        reason = str(error).split("; ")[0]
        raise ValueError(
            f"{texts[0].source}: cannot learn {sizes} word clusters: {reason}; give more text, or fewer clusters if "
            "they are more than 50, or in Python WordClusters(...) with other settings, fitted"
        ) from error


def _columns(text: ColumnText) -> str:
    return f"{text.n_columns} columns{' of CoNLL-U' if text.conllu else ''}"
