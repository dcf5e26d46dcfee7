"""Tagging with parts of speech: one feature set for every corpus of tagged words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from palmette.apps.tagging.default_template import default_template
from palmette.apps.tagging.systems.more_text import MoreTextClusters
from palmette.apps.tagging.systems.system import System
from palmette.estimators import Perceptron
from palmette.features.clusters import WordClusters
from palmette.structures import Chain

TEMPLATE = """
# Words in a window of five, pairs of neighbours; in lower case
U00:%x[-2,0]
U01:%x[-1,0]
U02:%x[0,0]
U03:%x[1,0]
U04:%x[2,0]
U05:%x[-1,0]/%x[0,0]
U06:%x[0,0]/%x[1,0]
U07:%X[-1,0]
U08:%X[0,0]
U09:%X[1,0]
U0a:%X[-1,0]/%X[1,0]

# How the word begins and ends, and how its neighbours end
U10:%P[0,0,1]
U11:%P[0,0,2]
U12:%P[0,0,3]
U13:%P[0,0,4]
U14:%S[0,0,1]
U15:%S[0,0,2]
U16:%S[0,0,3]
U17:%S[0,0,4]
U18:%S[0,0,5]
U19:%S[-1,0,2]
U1a:%S[1,0,2]
U1b:%S[-1,0,3]
U1c:%S[1,0,3]

# What it and its neighbours look like
U20:%h[0,0]
U21:%H[-1,0]
U22:%H[0,0]
U23:%H[1,0]
U24:%H[0,0]/%S[0,0,2]
U25:%H[0,0]/%S[0,0,3]
U26:%H[-1,0]/%H[0,0]
U27:%H[0,0]/%H[1,0]
U28:%H[-1,0]/%H[0,0]/%H[1,0]
U29:%X[0,0]/%H[-1,0]
U2a:%X[0,0]/%H[1,0]

# Clusters of the word and its neighbours, 64 and 256 of them
U30:%x[-1,1]
U31:%x[0,1]
U32:%x[1,1]
U33:%x[-1,1]/%x[0,1]
U34:%x[0,1]/%x[1,1]
U35:%x[-1,1]/%x[1,1]
U40:%x[-1,2]
U41:%x[0,2]
U42:%x[1,2]
U43:%x[-1,2]/%x[0,2]
U44:%x[0,2]/%x[1,2]

B
"""

# A third column, of finer clusters, which take more text
FINE = """
U50:%x[-1,3]
U51:%x[0,3]
U52:%x[1,3]
"""


def part_of_speech_systems(
    texts: Sequence[str], *, draws: int = 3, seeds: Sequence[int] = (0, 1, 2)
) -> list[System]:
    """Systems that tag words: a baseline, then several perceptrons on the template here.

    The baseline is an averaged perceptron on the default template for words. The others have affixes, shapes and word
    clusters, which are learned from the training text alone, or from more text.

    Parameters
    ----------
    texts : sequence of str
        Other corpora to learn clusters from, see `MoreTextClusters`.
    draws : int, default=3
        Perceptrons of a system, each with its own clusters and order of sentences.
    seeds : sequence of int, default=(0, 1, 2)

    Examples
    --------
    >>> [system.name for system in part_of_speech_systems(["masc"])]
    ['perceptron, default template', '3 perceptrons, clusters', '3 perceptrons, clusters of more text']
    """
    learner: Any = Perceptron(Chain())
    name = f"{draws} perceptrons" if draws > 1 else "perceptron"
    coarse, fine = WordClusters((64, 256)), MoreTextClusters(texts, WordClusters((64, 256, 1000)))
    return [
        System("perceptron, default template", learner, default_template(2), seeds=seeds),
        System(f"{name}, clusters", learner, TEMPLATE, (coarse,), seeds=seeds, draws=draws),
        System(f"{name}, clusters of more text", learner, TEMPLATE + FINE, (fine,), seeds=seeds, draws=draws),
    ]
