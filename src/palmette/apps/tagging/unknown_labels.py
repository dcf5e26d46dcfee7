"""Labels of a file that a model has never seen: they can only be counted as wrong, which the user should know."""

from __future__ import annotations

from typing import TYPE_CHECKING

from palmette.errors import warn_caller

if TYPE_CHECKING:
    from palmette.apps.tagging.column_text import ColumnText
    from palmette.apps.tagging.tagger import Tagger

_SHOWN = 5


def warn_of_unknown_labels(tagger: Tagger, text: ColumnText) -> None:
    """Warn of the first label that the model does not know, by file and line, and say how many tokens have such labels.

    Where the model has another encoding of spans than the file, labels are known by the types of their spans.
    """

    def known_by(label: str) -> str:
        return label if tagger.spans is None else label.partition("-")[2]

    known = {known_by(str(label)) for label in tagger.model.codec_.classes_}
    first, n, unknown = "", 0, set()
    for i, labels in enumerate(tagger.true_labels(text)):
        for t, label in enumerate(labels):
            if isinstance(label, str) and known_by(label) not in known:
                first, n = first or text.location(i, t), n + 1
                unknown.add(label)
    if n:
        names = sorted(unknown)
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        warn_caller(
            f"{first}: {n:,} token{' has a label' if n == 1 else 's have labels'} that the model does not know and "
            f"cannot predict: {', '.join(names[:_SHOWN])}{more}; train on data with these labels, or check that the "
            f"labels are in column {tagger.label_column}{_or_a_mark(names)}",
            UserWarning,
        )


def _or_a_mark(labels: list[str]) -> str:
    """What to do if a label without letters or digits marks tokens without annotation; nothing if there is none."""
    marks = [label for label in labels if not any(map(str.isalnum, label))]
    return (
        f"; or, if {marks[0]} marks tokens without annotation, give --unknown '{marks[0]}'" if marks else ""
    )
