"""Chunking of words with parts of speech."""

from __future__ import annotations

from typing import Any

from palmette.apps.tagging.default_template import crfsuite_chunking_template
from palmette.apps.tagging.systems.system import System
from palmette.estimators import CRF, Perceptron
from palmette.features.sets import feature_set
from palmette.structures import Chain


def chunking_systems() -> list[System]:
    """Systems that find chunks: a baseline, then several models with the feature set ``chunking``.

    Column 0 is the word, 1 its part of speech. The baseline is a CRF on the 19 templates of CRFsuite's tutorial. The
    others learn spans in IOBES. Clusters are learned from the words of the training text alone. They are random, and
    so is the order in which a perceptron sees the sentences: several models are drawn.

    Examples
    --------
    >>> [system.name for system in chunking_systems()]
    ['CRF, 19 templates', '3 CRFs', '5 perceptrons', '5 perceptrons, features of edges']
    """
    rich, pairs = (feature_set("chunking", ("word", "pos"), edges=edges) for edges in (False, True))
    spans: Any = {"encoding": rich.definition.encoding, "seeds": (0, 1, 2)}
    perceptron = Perceptron(Chain())
    return [
        System("CRF, 19 templates", CRF(Chain(), l2=2.0, tol=1e-3), crfsuite_chunking_template()),
        System("3 CRFs", CRF(Chain(), l2=4.0, tol=1e-2), features=rich, draws=3, **spans),
        System("5 perceptrons", perceptron, features=rich, draws=5, **spans),
        System("5 perceptrons, features of edges", perceptron, features=pairs, draws=5, **spans),
    ]
