"""Chunking: one feature set for words with parts of speech."""

from __future__ import annotations

from typing import Any

from palmette.apps.tagging.default_template import crfsuite_chunking_template
from palmette.apps.tagging.systems.system import System
from palmette.apps.tagging.template_lines import affixes, cells, grams, template
from palmette.estimators import CRF, Perceptron
from palmette.features.clusters import WordClusters
from palmette.structures import Chain

WORDS = [*grams(), cells(-1, 0), cells(0, 1), *grams(reach=1, macro="X")]
TAGS = [*grams(1, reach=3), *grams(1, (2, 3, 4))]
PAIRS = [f"{cells(0)}/{cells(row, column=1)}" for row in (-1, 0, 1)]
PAIRS += [f"{cells(row)}/{cells(0, column=1)}" for row in (-1, 1)]
SPELLING = [
    *affixes("P", (2, 3)),
    *affixes("S", (1, 2, 3, 4)),
    *affixes("S", (2, 3), -1),
    *affixes("S", (2, 3), 1),
]
SPELLING += [cells(0, macro="h"), *grams(reach=1, macro="H")]
EDGES = [cells(0, column=1), cells(-1, 0, column=1)]


def with_clusters(column: int) -> list[str]:
    """Features of the column of a cluster, some of them with parts of speech."""
    near = ((-1, 0), (0, -1), (0, 0), (0, 1), (1, 0))
    return [
        *grams(column, (1, 2), reach=1),
        *(f"{cells(row, column=column)}/{cells(tag, column=1)}" for row, tag in near),
    ]


FEATURES = [*WORDS, *TAGS, *PAIRS, *SPELLING, *with_clusters(2), *with_clusters(3)]


def chunking_systems() -> list[System]:
    """Systems that find chunks: a baseline, then several models with affixes, shapes and word clusters.

    Column 0 is the word, 1 its part of speech. The baseline is a CRF on the 19 templates of CRFsuite's tutorial. The
    others learn spans in IOBES. Clusters are learned from the words of the training text alone. They are random, and
    so is the order in which a perceptron sees the sentences: several models are drawn.

    Examples
    --------
    >>> [system.name for system in chunking_systems()]
    ['CRF, 19 templates', '3 CRFs', '5 perceptrons', '5 perceptrons, features of edges']
    """
    spans: Any = {"columns": (WordClusters((64, 256)),), "encoding": "IOBES", "seeds": (0, 1, 2)}
    rich, perceptron = template(FEATURES), Perceptron(Chain())
    return [
        System("CRF, 19 templates", CRF(Chain(), l2=2.0, tol=1e-3), crfsuite_chunking_template()),
        System("3 CRFs", CRF(Chain(), l2=4.0, tol=1e-2), rich, draws=3, **spans),
        System("5 perceptrons", perceptron, rich, draws=5, **spans),
        System("5 perceptrons, features of edges", perceptron, template(FEATURES, EDGES), draws=5, **spans),
    ]
