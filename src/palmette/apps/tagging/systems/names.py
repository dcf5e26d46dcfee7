"""Names of persons, places, organisations and other things."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from palmette.apps.tagging.default_template import default_template
from palmette.apps.tagging.systems.more_text import words_of_corpora
from palmette.apps.tagging.systems.system import System
from palmette.estimators import CRF, Perceptron
from palmette.features.sets import feature_set
from palmette.structures import Chain


def name_systems(tags: Any, texts: Sequence[str]) -> list[System]:
    """Systems that find names: a baseline, then those with the feature set ``ner``.

    The baseline is a CRF on the default template for words. The others are CRFs, and perceptrons that have some
    features on label pairs too, each learnt from the training text alone, and with parts of speech and clusters of
    more text.

    Parameters
    ----------
    tags : transformer
        Makes the column of the parts of speech, such as `TagColumn`.
    texts : sequence of str
        Other corpora to learn clusters from, see `words_of_corpora`.

    Examples
    --------
    >>> from palmette.apps.tagging.systems import TagColumn
    >>> from palmette.datasets import load_ud_ewt
    >>> [system.name for system in name_systems(TagColumn(load_ud_ewt), ["masc"])][1:]
    ['CRF', 'CRF, parts of speech, more text', '5 perceptrons', '5 perceptrons, parts of speech, more text']
    """
    crf, grid, seeds = CRF(Chain(), tol=1e-2), {"l2": (0.3, 1.0, 3.0)}, (0, 1, 2)
    text = partial(words_of_corpora, tuple(texts))

    def systems(name: str, **own: Any) -> list[System]:
        edges = own.pop("edges", False)
        more = feature_set("ner", ("word", "pos"), edges=edges, text=text)
        return [
            System(name, features=feature_set("ner", edges=edges), seeds=seeds, **own),
            System(f"{name}, parts of speech, more text", features=more, columns=(tags,), seeds=seeds, **own),
        ]

    return [
        System("CRF, default template", crf, default_template(2), grid=grid),
        *systems("CRF", learner=crf, grid=grid),
        *systems("5 perceptrons", learner=Perceptron(Chain(), max_iter=8), edges=True, draws=5),
    ]
