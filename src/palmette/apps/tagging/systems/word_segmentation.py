"""Word segmentation, the same for every segmented text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from palmette.apps.tagging.systems.system import System
from palmette.estimators import CRF, Perceptron
from palmette.features.sets import feature_set
from palmette.features.sets.definitions import CHARACTERS
from palmette.features.template_lines import named_template
from palmette.regularizers import Decomposition
from palmette.structures import Chain


def word_segmentation_systems(
    *, sizes: Sequence[float] = (2.5, 5.5, 10.5), l2: Sequence[float] = (1.0, 2.0, 4.0)
) -> list[System]:
    """Systems that cut lines of characters into words: a baseline, then those with a lexicon.

    The baseline is an averaged perceptron on characters. The others have the feature set ``segmentation``, which adds
    kinds of characters and a lexicon of the training words: the perceptron, the perceptron with structure
    regularisation, and a CRF.

    Parameters
    ----------
    sizes : sequence of float
        Of the pieces, to try on development data.
    l2 : sequence of float
        Penalties of the CRF to try on development data.

    Examples
    --------
    >>> [system.name for system in word_segmentation_systems()]
    ['perceptron, characters', 'perceptron, lexicon', 'perceptron, lexicon, in pieces', 'CRF, lexicon']
    """
    rich: Any = {"features": feature_set("segmentation")}
    perceptron, seeds = Perceptron(Chain()), (0, 1, 2)
    pieces = {"regularizer": tuple(Decomposition(size) for size in sizes)}
    return [
        System("perceptron, characters", perceptron, named_template(CHARACTERS, (), ["word"]), seeds=seeds),
        System("perceptron, lexicon", perceptron, seeds=seeds, **rich),
        System("perceptron, lexicon, in pieces", perceptron, grid=pieces, seeds=seeds, **rich),
        System("CRF, lexicon", CRF(Chain(), tol=2e-2), grid={"l2": tuple(l2)}, seeds=seeds, **rich),
    ]
