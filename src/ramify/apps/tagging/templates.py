"""Feature templates: from the columns of a sentence to the attributes of its tokens."""

from __future__ import annotations

import contextlib
import gc
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ramify.apps.tagging.lines import read_lines
from ramify.apps.tagging.template_syntax import Feature, Macro, parse_lines
from ramify.errors import DataFileError

BEGIN, END = "__BOS__", "__EOS__"

# Sentences expanded together: enough to make the loops long, few enough to bound the memory between.
_BLOCK = 2000


@dataclass(frozen=True)
class Template:
    r"""Feature templates in the syntax of CRF++ and Wapiti.

    ==========================  ==========================================================================
    ``U00:%x[-1,0]``            the cell one row up in column 0 of the file
    ``U01:%x[-1,1]/%x[0,1]``    several cells make one attribute
    ``U02:%X[0,0]``             lower-cased
    ``U03:%t[0,0,"^\u"]``       ``true`` or ``false``: the regular expression matches
    ``U04:%m[0,0,"..$"]``       the text that matches first; empty if nothing does
    ``U05``                     the same attribute everywhere: a bias for each label
    ``B``                       label transitions
    ``*``                       a bias for each label, and label transitions
    ``# ...``                   a comment, also after a template
    ``#! boundary = skip``      what to do outside of the sentence
    ==========================  ==========================================================================

    Regular expressions are Python's plus the classes of Wapiti (`ramify.apps.tagging.patterns`).

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

    @classmethod
    def parse(cls, text: str, source: str = "template") -> Template:
        """Read a template from its text; errors start with ``source:line``."""
        lines = parse_lines(text, source)
        return cls(text, source, lines.features, lines.transitions, lines.boundary)

    @classmethod
    def load(cls, path: str | os.PathLike) -> Template:
        """Read a template from a file."""
        return cls.parse("".join(read_lines(path)), os.fspath(path))

    @property
    def n_columns_needed(self) -> int:
        """One more than the highest column that is read."""
        return 1 + max((macro.column for f in self.features for macro in f.macros), default=-1)

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

    def apply(self, sentences: Sequence[Sequence[Sequence[str]]]) -> list[list[list[str]]]:
        """Make the attributes of every token.

        Parameters
        ----------
        sentences : list of list of tuple of str
            Tokens with the columns of the file (`ramify.apps.tagging.columns`).

        Returns
        -------
        list of list of list of str
            For each sentence and token its attributes, in the order of the template. Equal attributes are one
            object, which saves memory and makes counting them fast.
        """
        first = next((sentence[0] for sentence in sentences if sentence), None)
        if first is not None:
            self.check(len(first))
        attributes_of = _Expansion(self)
        with _garbage_collection_paused():
            return [
                attributes
                for start in range(0, len(sentences), _BLOCK)
                for attributes in attributes_of(sentences[start : start + _BLOCK])
            ]


@contextlib.contextmanager
def _garbage_collection_paused() -> Iterator[None]:
    # Millions of new objects without a cycle among them: looking for cycles would double the time.
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class _Memo(dict):
    """A function that computes each answer once; as a dict it is called at the speed of C by ``map``."""

    def __init__(self, compute: Callable[[Any], str | None]):
        super().__init__()
        self._compute = compute

    def __missing__(self, key: Any) -> str | None:
        value = self[key] = self._compute(key)
        return value


class _Expansion:
    """Applies a template to blocks of sentences.

    The sentences of a block are laid end to end with gaps as wide as the template reaches, so that a template
    is a few shifted views of whole columns and every loop over tokens runs inside ``map`` and ``zip``.
    """

    def __init__(self, template: Template):
        self.features = template.features
        rows = [macro.row for f in self.features for macro in f.macros]
        self.before, self.after = max(0, -min(rows, default=0)), max(0, max(rows, default=0))
        self.skip = template.boundary == "skip"
        self.head = [None if self.skip else f"_B-{k}" for k in range(self.before, 0, -1)]
        self.tail = [None if self.skip else f"_B+{k}" for k in range(1, self.after + 1)]
        self.cells = {_reading(m): self._memo_of_cells(m) for f in self.features for m in f.macros}
        self.joined = [_Memo(_joiner(f)) for f in self.features]

    def _memo_of_cells(self, macro: Macro) -> _Memo:
        memo = _Memo(macro.value)
        memo.update((outside, outside) for outside in self.head + self.tail)
        return memo

    def __call__(self, sentences: Sequence[Sequence[Sequence[str]]]) -> list[list[list[str]]]:
        flat = {
            column: self._laid_out(sentences, column) for column in {reading[0] for reading in self.cells}
        }
        read = {
            reading: list(map(memo.__getitem__, flat[reading[0]])) for reading, memo in self.cells.items()
        }
        width = sum(map(len, sentences)) + (len(sentences) - 1) * (self.before + self.after)
        views = [self._attributes(f, memo, read, width) for f, memo in zip(self.features, self.joined)]
        rows = list(map(list, zip(*views)))
        expanded, start = [], 0
        for sentence in sentences:
            tokens = rows[start : start + len(sentence)]
            start += len(sentence) + self.before + self.after
            expanded.append(self._without_outside(tokens) if self.skip else tokens)
        return expanded

    def _laid_out(self, sentences: Sequence[Sequence[Sequence[str]]], column: int) -> list[str | None]:
        flat: list[str | None] = []
        for sentence in sentences:
            flat += self.head
            flat += [token[column] for token in sentence]
            flat += self.tail
        return flat

    def _attributes(self, feature: Feature, memo: _Memo, read: dict, width: int) -> list[str | None]:
        views = []
        for macro in feature.macros:
            first = self.before + macro.row
            views.append(read[_reading(macro)][first : first + width])
        if not views:
            return [feature.text] * width
        return list(map(memo.__getitem__, views[0] if len(views) == 1 else zip(*views)))

    def _without_outside(self, tokens: list[list[str]]) -> list[list[str]]:
        n = len(tokens)
        for t in {*range(min(self.before, n)), *range(max(0, n - self.after), n)}:
            tokens[t] = [attribute for attribute in tokens[t] if attribute is not None]
        if tokens:
            tokens[0].append(BEGIN)
            tokens[-1].append(END)
        return tokens


def _reading(macro: Macro) -> tuple:
    """Return all of a macro but its row: what different rows share."""
    return macro.column, macro.kind, macro.lower, macro.pattern


def _joiner(feature: Feature) -> Callable[[Any], str | None]:
    """Return the function from a feature's cells (one, or a tuple) to its attribute; None if one is None."""
    form = "%s".join(feature.literals)  # literals hold no %, which only begins macros
    if len(feature.macros) == 1:
        return lambda cell: None if cell is None else form % (cell,)
    return lambda cells: None if None in cells else form % cells
