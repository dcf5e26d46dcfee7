"""Tagging with parts of speech, the same for every corpus of tagged words."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from palmette.apps.tagging.default_template import default_template
from palmette.apps.tagging.systems.more_text import words_of_corpora
from palmette.apps.tagging.systems.system import System
from palmette.estimators import Perceptron
from palmette.features.sets import feature_set
from palmette.structures import Chain


def part_of_speech_systems(
    texts: Sequence[str], *, draws: int = 3, seeds: Sequence[int] = (0, 1, 2)
) -> list[System]:
    """Systems that tag words: a baseline, then several perceptrons with the feature set ``pos``.

    The baseline is an averaged perceptron on the default template for words. The clusters of the others are learned
    from the training text alone, or from more text, and are then finer too.

    Parameters
    ----------
    texts : sequence of str
        Other corpora to learn clusters from, see `words_of_corpora`.
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
    fine = feature_set("pos", clusters=(64, 256, 1000), text=partial(words_of_corpora, tuple(texts)))
    drawn: Any = {"seeds": seeds, "draws": draws}
    return [
        System("perceptron, default template", learner, default_template(2), seeds=seeds),
        System(f"{name}, clusters", learner, features=feature_set("pos"), **drawn),
        System(f"{name}, clusters of more text", learner, features=fine, **drawn),
    ]
