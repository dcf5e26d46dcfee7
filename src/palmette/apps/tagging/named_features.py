"""Feature sets by name for column files: which column is what, and what goes together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from palmette.apps.tagging.column_text import ColumnText
from palmette.apps.tagging.training_files import word_column
from palmette.features.sets import FeatureSet, feature_set
from palmette.io.lines import read_lines

LABEL = "label"
_CONLLU = ("id", "word", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")


def check_columns(names: Sequence[str], text: ColumnText, label_column: int) -> int:
    """The label column of a file whose columns have names; ValueError if they do not fit."""
    if len(names) != text.n_columns:
        raise ValueError(
            f"{text.location()}: {text.n_columns} columns, and --columns names {len(names)}: {','.join(names)}; name "
            "every column"
        )
    place = list(names).index(LABEL)
    if label_column not in (-1, place, place - len(names)):
        raise ValueError(
            f"--label-column {label_column} and --columns {','.join(names)} do not agree; leave one out"
        )
    return place


def default_columns(text: ColumnText, label_column: int) -> tuple[str, ...]:
    """Names of the columns of a file: word and label, else a number, in CoNLL-U the name of the field."""
    if text.conllu:
        names = [*_CONLLU, *(f"column{k}" for k in range(len(_CONLLU), text.n_columns))][: text.n_columns]
    else:
        names = [f"column{k}" for k in range(text.n_columns)]
    if text.n_columns > 1:
        names[word_column(text, label_column)] = "word"
    names[label_column] = LABEL
    return tuple(names)


def bound_features(
    features: FeatureSet | str, columns: Sequence[str], clusters: Any, text: Any, edges: bool
) -> FeatureSet:
    """A feature set for these columns; one that was made in Python keeps all its settings but the columns."""
    if isinstance(features, FeatureSet):
        if clusters is not None or text is not None:
            raise ValueError(
                "features is a FeatureSet, which has clusters and text of its own: leave the others out"
            )
        features = FeatureSet(**{**features.get_params(), "columns": tuple(columns)})
        features.check()
        return features
    return feature_set(
        features, columns, clusters="auto" if clusters is None else clusters, text=text, edges=edges
    )


def read_text(path: str) -> list[list[str]]:
    """The sentences of a text with one per line, words between blanks."""
    return [words for line in read_lines(path) if (words := line.split())]
