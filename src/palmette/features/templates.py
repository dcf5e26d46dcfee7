"""Feature templates: which attributes a token has, by the columns of its sentence."""

from __future__ import annotations

import contextlib
import gc
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from palmette.data.batch import SparseRows
from palmette.errors import DataFileError
from palmette.features.column_table import ColumnTable
from palmette.features.template_syntax import Feature, parse_lines
from palmette.io.lines import read_lines

BEGIN, END = "__BOS__", "__EOS__"


@dataclass(frozen=True)
class Template:
    r"""Feature templates in the syntax of CRF++ and Wapiti.

    ==========================  ==========================================================================
    ``U00:%x[-1,0]``            the cell one row up in column 0 of the file
    ``U01:%x[-1,1]/%x[0,1]``    several cells make one attribute
    ``U02:%X[0,0]``             lower-cased
    ``U03:%t[0,0,"^\u"]``       ``true`` or ``false``: the regular expression matches
    ``U04:%m[0,0,"..$"]``       the text that matches first; empty if nothing does
    ``U05:%p[0,0,3]``           the first three characters; ``%s`` the last three
    ``U06:%h[0,0]``             the shape, ``Xxx-00``; ``%H`` with runs cut to one character, ``Xx-0``
    ``U07``                     the same attribute everywhere: a bias for each label
    ``B``                       label transitions
    ``B01:%x[0,1]``             label transitions, and attributes of them
    ``*``                       a bias for each label, and label transitions; with macros both U and B
    ``# ...``                   a comment, also after a template
    ``#! boundary = skip``      what to do outside of the sentence
    ``#! columns = word tag``   names of the columns, for people who read about features
    ==========================  ==========================================================================

    Regular expressions are Python's plus the classes of Wapiti (`palmette.features.patterns`).

    A row outside of the sentence reads as ``_B-1``, ``_B-2``, ... before it and ``_B+1``, ... after it
    (CRF++), in every kind of macro. With ``#! boundary = skip`` a template that reaches outside gives no
    attribute there, and the first token has ``__BOS__``, the last ``__EOS__`` (CRFsuite).

    Parameters
    ----------
    text : str
        The template as written, to be stored in models.
    source : str
        Its name in messages.
    features : tuple of Feature
        The lines that make attributes.
    transitions : bool
        Whether label transitions are asked for.
    boundary : {'pad', 'skip'}
    columns : tuple of str
        Names of the first columns of the data, for people. Features do not depend on them.

    Examples
    --------
    >>> template = Template.parse("U0:%x[0,0]\nU1:%x[-1,1]/%x[0,1]\nB\n")
    >>> for attributes in template.apply([[("the", "DT"), ("cat", "NN")]])[0]:
    ...     print(attributes)
    ['U0:the', 'U1:_B-1/DT']
    ['U0:cat', 'U1:DT/NN']
    """

    text: str
    source: str
    features: tuple[Feature, ...]
    transitions: bool
    boundary: str
    columns: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str, source: str = "template") -> Template:
        """Read a template from its text; errors start with ``source:line``."""
        lines = parse_lines(text, source)
        return cls(text, source, lines.features, lines.transitions, lines.boundary, lines.columns)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Template:
        """Read a template from a file."""
        return cls.parse("".join(read_lines(path)), os.fspath(path))

    @property
    def has_edge_features(self) -> bool:
        """Whether some attributes belong to pairs of neighbouring labels (lines with B and macros)."""
        return any(feature.on_edges for feature in self.features)

    def check(self, n_columns: int, label_column: int | None = None) -> None:
        """Refuse data that the template cannot read, or that it must not.

        Parameters
        ----------
        n_columns : int
            Columns of the data, the label included.
        label_column : int, optional
            Index of the label among them, from 0, if there is one.

        Raises
        ------
        DataFileError
            A macro reads a column that is missing, or the label.
        """
        for feature in self.features:
            for macro in feature.macros:
                if macro.column >= n_columns:
                    raise DataFileError(
                        f"{self.source}:{feature.line}: {feature.text!r} reads column {macro.column}, but "
                        f"the data has {n_columns} columns, 0 to {n_columns - 1}; change one of them"
                    )
                if macro.column == label_column:
                    raise DataFileError(
                        f"{self.source}:{feature.line}: {feature.text!r} reads column {macro.column}, which "
                        f"holds the label to predict; remove the line, or choose another label column"
                    )

    def apply(self, sentences: Sequence[Sequence[Sequence[str]]] | ColumnTable) -> list[list[list[str]]]:
        """Make the attributes of every token, as strings.

        Learners need no strings: give them `ColumnSentences`.

        Parameters
        ----------
        sentences : list of list of tuple of str, or ColumnTable
            Tokens with the columns of the file.

        Returns
        -------
        list of list of list of str
            For each sentence and token its attributes, in the order of the template. Equal attributes are one
            object.
        """
        from palmette.features.columns import ColumnEncoder

        table = as_table(sentences)
        encoder = ColumnEncoder(self).extended(table)
        batch = encoder.transform(table)
        rows = batch.rows
        assert isinstance(rows, SparseRows)
        with _garbage_collection_paused():
            names = np.array([*encoder.feature_names, ""], object)[rows.indices].tolist()
            bounds = rows.indptr.tolist()
            tokens = [names[a:b] for a, b in zip(bounds, bounds[1:])]
            bounds = batch.offsets.tolist()
            return [tokens[a:b] for a, b in zip(bounds, bounds[1:])]


@contextlib.contextmanager
def _garbage_collection_paused() -> Iterator[None]:
    # Millions of references without a cycle among them: looking for cycles would double the time.
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class ColumnSentences:
    """Sentences in columns together with the template that reads them: inputs of a learner on ``Chain()``.

    Parameters
    ----------
    sentences : list of list of tuple of str, or ColumnTable
    template : Template or str

    Examples
    --------
    >>> from palmette import CRF, Chain
    >>> template = "U0:%x[0,0]\\nU1:%s[0,0,1]\\nB"
    >>> X = ColumnSentences([[("the",), ("dog",)], [("the",), ("dogs",)]], template)
    >>> model = CRF(Chain(), l2=0.1).fit(X, [["D", "N"], ["D", "NS"]])
    >>> model.predict(ColumnSentences([[("the",), ("cats",)]], template))
    [['D', 'NS']]
    """

    kind = "columns"

    def __init__(
        self, sentences: Sequence[Sequence[Sequence[str]]] | ColumnTable, template: Template | str
    ) -> None:
        self.table = as_table(sentences)
        self.template = Template.parse(template) if isinstance(template, str) else template

    def __len__(self) -> int:
        return len(self.table)


def as_table(sentences: Sequence[Sequence[Sequence[str]]] | ColumnTable) -> ColumnTable:
    """Sentences by column."""
    return sentences if isinstance(sentences, ColumnTable) else ColumnTable.from_sentences(sentences)
