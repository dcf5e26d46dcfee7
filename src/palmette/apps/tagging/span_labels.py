"""Labels of spans in the encoding of a file and in the one that a model learns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from palmette.apps.tagging.column_text import ColumnText
from palmette.data.span_checks import detect_encoding
from palmette.data.span_encodings import get_encoding
from palmette.data.spans import convert_spans
from palmette.errors import DataFileError, SpanError

Labels = Sequence[Sequence[str]]


def spans_in_words(texts: Sequence[ColumnText], label_column: int) -> str:
    """The encoding of labels that look like spans, and the first place where they do not keep to it.

    >>> import io
    >>> from palmette.apps.tagging.columns import read_columns
    >>> spans_in_words([read_columns("-", stream=io.StringIO("a S-NP\\nb B-NP\\nc E-NP\\n"))], 1)
    'IOBES'
    """
    try:
        own = detect_encoding([y for text in texts for y in text.labels(label_column)])
    except SpanError as error:
        return str(error).split(";")[0]
    for text in texts:
        try:
            convert_spans(text.labels(label_column), own, own, "raise")
        except SpanError as error:
            what = str(error).split(": ", 1)[-1].split(";")[0]
            return f"{own}, but {text.location(error.sentence, error.position)}: {what} (--invalid repair corrects)"
    return own


@dataclass(frozen=True)
class SpanLabels:
    """The two encodings of a tagger's labels; see `palmette.data.span_encodings`.

    Parameters
    ----------
    own : str
        That of the files.
    inner : str
        That of the model.

    Examples
    --------
    >>> spans = SpanLabels("IOB2", "IOBES")
    >>> spans.back([["S-NP", "O", "B-VP", "E-VP"], ["I-NP"]])
    [['B-NP', 'O', 'B-VP', 'I-VP'], ['B-NP']]
    """

    own: str
    inner: str

    @classmethod
    def chosen(cls, labels: Labels, encoding: str | None) -> SpanLabels:
        """For files with these labels and a model with this encoding, by default the same."""
        own = detect_encoding(labels)
        return cls(own, own if encoding is None else get_encoding(encoding.upper()).name)

    def in_words(self) -> str:
        """What the model has and what the files have."""
        return f"learnt in {self.inner}, predicted in {self.own} as the files have them"

    def inwards(self, text: ColumnText, labels: Labels, invalid: str) -> list[list[str]]:
        """The labels of a file as the model learns them.

        Parameters
        ----------
        text : ColumnText
            The file, for messages.
        labels : list of list of str
        invalid : {"raise", "repair"}
            What to do with labels that cannot follow each other.

        Raises
        ------
        DataFileError
            Labels that cannot follow each other, by file and line.
        """
        try:
            return convert_spans(labels, self.own, self.inner, invalid)  # type: ignore[arg-type]
        except SpanError as error:
            place = text.source if error.sentence < 0 else text.location(error.sentence, error.position)
            remedy = "invalid='repair'"
            reason = str(error).replace(remedy, f"{remedy} (on the command line --invalid repair)")
            raise DataFileError(f"{place}: {reason}") from error

    def back(self, labels: Labels) -> list[list[str]]:
        """Labels of the model as the files have them; what is not a valid span is read as the CoNLL script does."""
        return convert_spans(labels, self.inner, self.own, "repair")
