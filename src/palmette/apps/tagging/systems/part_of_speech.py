"""Tagging with parts of speech: one feature set for every corpus of tagged words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from palmette.apps.tagging.default_template import default_template
from palmette.apps.tagging.systems.more_text import MoreTextClusters
from palmette.apps.tagging.systems.system import System
from palmette.apps.tagging.template_lines import affixes, cells, grams, template
from palmette.estimators import Perceptron
from palmette.features.clusters import WordClusters
from palmette.structures import Chain

# Words in a window of five, pairs of neighbours; in lower case.
WORDS = [*grams(), cells(-1, 0), cells(0, 1), *grams(reach=1, macro="X"), cells(-1, 1, macro="X")]
# How the word begins and ends, and how its neighbours end.
AFFIXES = [*affixes("P", (1, 2, 3, 4)), *affixes("S", (1, 2, 3, 4, 5)), *affixes("S", (2, 3), -1)]
AFFIXES += affixes("S", (2, 3), 1)
# What it and its neighbours look like.
SHAPES = [cells(0, macro="h"), *grams(0, (1, 2, 3), reach=1, macro="H")]
SHAPES += [f"{cells(0, macro='H')}/{ending}" for ending in affixes("S", (2, 3))]
SHAPES += [f"{cells(0, macro='X')}/{cells(row, macro='H')}" for row in (-1, 1)]
# Clusters of the word and its neighbours, 64 and 256 of them.
CLUSTERS = [*grams(1, (1, 2), reach=1), cells(-1, 1, column=1), *grams(2, (1, 2), reach=1)]
FEATURES = [*WORDS, *AFFIXES, *SHAPES, *CLUSTERS]
FINE = grams(3, reach=1)  # a third column, of finer clusters, which take more text


def part_of_speech_systems(
    texts: Sequence[str], *, draws: int = 3, seeds: Sequence[int] = (0, 1, 2)
) -> list[System]:
    """Systems that tag words: a baseline, then several perceptrons on the features here.

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
        System(f"{name}, clusters", learner, template(FEATURES), (coarse,), seeds=seeds, draws=draws),
        System(
            f"{name}, clusters of more text",
            learner,
            template(FEATURES + FINE),
            (fine,),
            seeds=seeds,
            draws=draws,
        ),
    ]
