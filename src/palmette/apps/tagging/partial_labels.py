"""Marks in column files for tokens whose label is unknown, or one of several."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from palmette.apps.tagging.column_text import ColumnText
from palmette.data.annotation import UNKNOWN, OneOf
from palmette.errors import DataFileError, warn_caller

USUAL = "?"  # what most files write where a label is not known


@dataclass(frozen=True)
class Marks:
    """What stands for an unknown label (``?``), and what separates several possible ones (``B-PER|B-ORG``).

    Parameters
    ----------
    unknown, one_of : str, optional
        None: labels are taken as they are.

    Examples
    --------
    >>> import io
    >>> from palmette.apps.tagging.columns import read_columns
    >>> text = read_columns("-", stream=io.StringIO("the D\\ndog ?\\nbarks N|V\\n\\ndogs N\\n"))
    >>> Marks("?", "|").read([text], -1)
    [['D', UNKNOWN, OneOf('N', 'V')], ['N']]
    """

    unknown: str | None = None
    one_of: str | None = None

    def __post_init__(self) -> None:
        for name in ("unknown", "one_of"):
            mark = getattr(self, name)
            if mark is not None and (not mark or mark.split() != [mark]):
                raise ValueError(
                    f"{name}={mark!r} must be a mark without white space, such as {'?' if name == 'unknown' else '|'}"
                )
        if self.unknown is not None and self.one_of is not None and self.one_of in self.unknown:
            raise ValueError(
                f"unknown={self.unknown!r} contains one_of={self.one_of!r}: choose different marks"
            )

    def __bool__(self) -> bool:
        return self.unknown is not None or self.one_of is not None

    def read(
        self, texts: Sequence[ColumnText], label_column: int, classes: Collection[str] = ()
    ) -> list[list[Any]]:
        """The labels of files, as learners take them; ``classes`` are labels that are known from elsewhere."""
        read = [text.labels(label_column) for text in texts]
        alone = {label for labels in read for y in labels for label in y if not self._is_set(label)}
        alone.update(classes)
        known: dict[str, Any] = {}
        for text, labels in zip(texts, read):
            for i, y in enumerate(labels):
                for t, label in enumerate(y):
                    if label not in known and self._marked(label):
                        known[label] = self._label(label, alone, text.location(i, t))
        return [[known.get(label, label) for label in y] for labels in read for y in labels]

    def _is_set(self, label: str) -> bool:
        return self.one_of is not None and self.one_of in label

    def _marked(self, label: str) -> bool:
        return self._is_set(label) or (self.unknown is not None and self.unknown in label)

    def _label(self, label: str, alone: set[str], place: str) -> Any:
        if label == self.unknown:
            return UNKNOWN
        if not self._is_set(label):
            raise DataFileError(
                f"{place}: the label {label!r} contains {self.unknown!r}, the mark of unknown labels: choose another "
                "mark (--unknown MARK) and change the file accordingly"
            )
        parts = label.split(self.one_of)
        if not all(parts) or self.unknown in parts:
            raise DataFileError(
                f"{place}: {label!r} does not name the possible labels: write {'A' + str(self.one_of) + 'B'}, or "
                f"{self.unknown or 'the mark of --unknown'} for any label"
            )
        if not alone.intersection(parts):
            raise DataFileError(
                f"{place}: the label {label!r} contains {self.one_of!r}, and none of its parts is a label of another "
                "token: if it is one label, choose another mark (--one-of MARK)"
            )
        return OneOf(*parts)


def hint_at_mark(labels: Sequence[Sequence[Any]]) -> None:
    """Warn if ``?`` is learnt as a label like any other."""
    n = sum(label == USUAL for y in labels for label in y)
    if n:
        warn_caller(
            f"{n:,} token{' has' if n == 1 else 's have'} the label {USUAL!r}, which is learnt like any other: give "
            f"--unknown '{USUAL}' (unknown={USUAL!r} in Python) if it says that the label is not known",
            UserWarning,
        )
