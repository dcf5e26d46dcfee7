"""``palmette inspect --why``: which features led to each predicted label of a sentence."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from palmette.apps.options import readable
from palmette.data.annotation import is_partial

if TYPE_CHECKING:
    from palmette.apps.tagging.tagger import Tagger


class Place(NamedTuple):
    """A file and perhaps one of its sentences and one token of that, both counted from 1."""

    path: str
    sentence: int | None = None
    token: int | None = None


def parse_place(text: str) -> Place:
    """Read ``FILE[:SENTENCE[:TOKEN]]``; a file whose own name ends in ``:n`` is taken as it is.

    >>> parse_place("test.txt:12:3")
    Place(path='test.txt', sentence=12, token=3)
    >>> parse_place("-")
    Place(path='-', sentence=None, token=None)
    """
    found = re.fullmatch(r"(.+?)(?::(\d+))?(?::(\d+))?", text, re.DOTALL)
    if found is None or os.path.exists(text):
        return Place(text)
    path, *numbers = found.groups()
    return Place(path, *(None if number is None else int(number) for number in numbers))


def explain_sentences(
    tagger: Tagger, where: str, *, against: str | None, against_truth: bool, top: int
) -> tuple[list[dict[str, Any]], str]:
    """Explain the sentences that `where` names; returns the objects for JSON and the text."""
    place = parse_place(where)
    readable(place.path)

    from palmette.apps.tagging.columns import read_columns
    from palmette.apps.tagging.report import words_of
    from palmette.inspection import Explainer

    text = read_columns(place.path)
    labelled = text.n_columns == tagger.n_columns
    if against_truth and not labelled:
        raise ValueError(
            f"{text.location()}: --against-truth needs the true labels, and there is no column for them"
        )
    spans, known = tagger.spans, list(map(str, tagger.model.classes_))
    if against is not None and spans is not None and against not in known:
        raise ValueError(
            f"--against {against}: the model learnt spans in {spans.inner} (the files have {spans.own}), and has the "
            f"labels {', '.join(known)}; give one of these"
        )
    explainer = Explainer(tagger.model)
    encoded = tagger.model.encode(tagger.columns(text))
    truth = tagger.labels_for_model(text) if labelled else None
    words = words_of(text)
    records, blocks = [], []
    for i in _chosen(place.sentence, len(words), "sentence", text.source):
        true = None if truth is None else truth[i]
        if true is not None and is_partial(true):
            if against_truth:
                raise ValueError(
                    f"{text.location(i)}: --against-truth needs the true labels of the sentence, and not all are known"
                )
            true = text.labels(tagger.label_column)[i]  # as they are written
        tokens = _chosen(place.token, len(words[i]), "token", f"sentence {i + 1} of {text.source}")
        found = explainer.explain(encoded[i : i + 1], against=against, truth=true if against_truth else None)
        found = replace(found, contests=tuple(found.contests[t] for t in tokens))
        head = {"sentence": i + 1, "place": text.location(i), "tokens": words[i], "true": true}
        records.append({**head, **found.to_dict()})
        blocks.append(f"sentence {i + 1} ({text.location(i)}): {found.format(words[i], top, true)}")
    return records, "\n\n\n".join(blocks)


def _chosen(number: int | None, n: int, what: str, owner: str) -> range:
    """All places, or the one with this number."""
    if number is None:
        return range(n)
    if not 1 <= number <= n:
        raise ValueError(f"{owner} has no {what} {number}; it has {n}, counted from 1")
    return range(number - 1, number)
