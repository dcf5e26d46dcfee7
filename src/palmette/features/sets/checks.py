"""What a feature set asks of the names of columns, and of labels that it learns from."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from palmette.features.sets.definitions import Definition

_NAME = re.compile(r"\w+")


def check_columns(own: Definition, columns: Sequence[str]) -> None:
    """Refuse names of columns that are none, that are taken, or that lack what the set reads."""
    names = list(columns)
    for name in names:
        if isinstance(columns, str) or not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ValueError(
                f"columns must be names of letters, digits and _ such as ('word', 'pos'), got {columns!r:.80}"
            )
    made = [name for maker in own.makers for name in maker.column_names]
    twice = [name for name, count in Counter([*names, *made]).items() if count > 1]
    if twice:
        why = "the feature set makes a column of this name" if twice[0] in made else "it is there twice"
        raise ValueError(f"columns {','.join(names)}: {twice[0]!r} cannot be used, {why}; name it otherwise")
    for name in own.needs:
        if name not in names:
            raise ValueError(
                f"the feature set {own.name!r} needs a column {name!r}, and the columns are "
                f"{','.join(names)}; name the column that holds it, as in --columns "
                f"{','.join([*own.needs, 'label'])} (in Python columns={tuple(own.needs)!r}), or choose another set"
            )


def check_labels(name: str, sentences: Sequence[Sequence[Any]], y: Any) -> None:
    """Refuse labels that are not a string for each token."""
    if y is None:
        raise ValueError(f"the feature set {name!r} learns from labels too: give y")
    if len(y) != len(sentences):
        raise ValueError(
            f"X has {len(sentences)} sentences, and y has labels of {len(y)}; give labels of each"
        )
    for i, (sentence, labels) in enumerate(zip(sentences, y)):
        if isinstance(labels, str) or not hasattr(labels, "__len__"):
            raise TypeError(f"sentence {i}: labels must be a list of strings, got {labels!r:.60}")
        if len(labels) != len(sentence):
            raise ValueError(
                f"sentence {i} has {len(sentence)} tokens and {len(labels)} labels; give a label for each token"
            )
        for t, label in enumerate(labels):
            if not isinstance(label, str):
                raise TypeError(
                    f"sentence {i}, token {t}: the feature set {name!r} learns from labels, which must be strings; "
                    f"got {label!r:.60}. Give whole labels, or choose a set that does not read them, such as bio-ner"
                )
