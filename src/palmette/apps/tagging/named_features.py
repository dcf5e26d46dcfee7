"""Feature sets by name for column files: which column is what, and what goes together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.base import clone

from palmette.apps.tagging.column_text import ColumnText
from palmette.apps.tagging.training_files import word_column
from palmette.estimators.folds import Fold, Part, splits_of
from palmette.features.column_table import ColumnTable
from palmette.features.encoded import EncodedInputs
from palmette.features.sets import DEFINITIONS, FeatureSet, feature_set
from palmette.features.templates import ColumnSentences
from palmette.io.lines import read_lines
from palmette.stages import stage

LABEL, SKIPPED = "label", "_"
CONLLU = ("id", "word", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")


def skipping(names: Sequence[str]) -> tuple[str, ...]:
    """Names of columns, with some that no set reads and nobody can type for those called ``_``.

    >>> skipping(("word", "_", "_", "label"))
    ('word', '1_skipped', '2_skipped', 'label')
    """
    return tuple(f"{k}_skipped" if name == SKIPPED else name for k, name in enumerate(names))


def check_columns(names: Sequence[str], text: ColumnText, label_column: int | None) -> int:
    """The label column of a file whose columns have names; ValueError if they do not fit."""
    if len(names) != text.n_columns:
        raise ValueError(
            f"{text.location()}: {text.n_columns} columns, and --columns names {len(names)}: {','.join(names)}; name "
            f"every column, those to skip _{text.hint_at_separator()}"
        )
    if list(names).count(LABEL) != 1:
        raise ValueError(
            f"columns {','.join(names)} must name one column {LABEL!r}, the one that holds the label of a token"
        )
    place = list(names).index(LABEL)
    if label_column not in (None, place, place - len(names)):
        raise ValueError(
            f"--label-column {label_column} and --columns {','.join(names)} do not agree; leave one out"
        )
    return place


def default_columns(text: ColumnText, label_column: int) -> tuple[str, ...]:
    """Names of the columns of a file: word and label, else a number, in CoNLL-U the name of the field."""
    if text.conllu:
        names = [*CONLLU, *(f"column{k}" for k in range(len(CONLLU), text.n_columns))][: text.n_columns]
    else:
        names = [f"column{k}" for k in range(text.n_columns)]
    if text.n_columns > 1:
        names[word_column(text, label_column)] = "word"
    names[label_column] = LABEL
    return tuple(names)


def unread_columns(tagger: Any) -> list[int]:
    """Columns of the files, from 0, that neither hold the label nor are read by the template."""
    read = {macro.column for line in tagger.template.features for macro in line.macros}
    word = set() if tagger.clusters is None else {tagger.word_column}
    return sorted(set(range(tagger.n_columns)) - read - word - {tagger.label_column})


def check_named(features: str, columns: Sequence[str] | None, clusters: Any, more_text: bool) -> None:
    """Refuse settings of a feature set by name that make no sense with any file."""
    names = DEFINITIONS[features].needs if columns is None else skipping(columns)
    text: Any = [] if more_text else None
    feature_set(features, names, clusters="auto" if clusters is None else clusters, text=text)


def bound_features(
    features: FeatureSet | str,
    columns: Sequence[str],
    clusters: Any,
    text: Any,
    edges: bool | None,
    usual: bool,
    seed: int,
) -> FeatureSet:
    """A feature set for these columns; one that was made in Python keeps all its settings but the columns.

    ``usual`` is what ``edges=None`` means for a set by name, whose word clusters are drawn with ``seed``.
    """
    if isinstance(features, FeatureSet):
        given = {"clusters": clusters, "cluster_text": text, "edges": edges}
        for name, value in given.items():
            if value is not None:
                raise ValueError(f"features is a FeatureSet, which has settings of its own: leave {name} out")
        own: FeatureSet = clone(features).set_params(columns=tuple(columns))
        own.check()
        return own
    return feature_set(
        features,
        columns,
        clusters="auto" if clusters is None else clusters,
        text=text,
        edges=usual if edges is None else edges,
        random_state=seed,
    )


def folds_apart(
    features: FeatureSet,
    table: ColumnTable,
    given: Sequence[Any],
    learner: Any,
    labels: Sequence[Any],
    n_folds: int,
) -> list[Fold]:
    """Folds for a fitted set that reads labels: what it knows of sentences held out comes from the others alone.

    Parameters
    ----------
    features : FeatureSet
        Fitted to all of `table`.
    table : ColumnTable
        The training sentences without the columns of the set.
    given : list of list of str
        Their labels as the set reads them.
    learner : CRF or SSVM
    labels : list of list
        Their labels as the learner has them.
    n_folds : int
    """
    splits = splits_of(n_folds, labels, None, items=False, random_state=learner.random_state)
    folds = []
    for k, (train, held) in enumerate(splits, 1):
        with stage(f"features of fold {k} of {len(splits)}"):
            again, sentences = features.relearnt(table.taken(train), [given[i] for i in train])
            inputs = learner.encode(ColumnSentences(sentences, features.template_))
            batch = inputs.encoder.transform(again.extended(table.taken(held)))
        others = EncodedInputs(batch, inputs.encoder)
        folds.append(
            Fold(
                Part(inputs, [labels[i] for i in train], None), Part(others, [labels[i] for i in held], None)
            )
        )
    return folds


def read_text(path: str) -> list[list[str]]:
    """The sentences of a text with one per line, words between blanks."""
    return [words for line in read_lines(path) if (words := line.split())]
