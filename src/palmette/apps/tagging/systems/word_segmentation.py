"""Word segmentation: one feature set for every segmented text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from palmette.apps.tagging.systems.segmentation_columns import CharacterColumns, LexiconColumns
from palmette.apps.tagging.systems.system import System
from palmette.estimators import CRF, Perceptron
from palmette.regularizers import Decomposition
from palmette.structures import Chain

CHARACTERS = """
# Characters, and pairs of them, next to each other or one apart
U00:%x[-2,0]
U01:%x[-1,0]
U02:%x[0,0]
U03:%x[1,0]
U04:%x[2,0]
U05:%x[-2,0]/%x[-1,0]
U06:%x[-1,0]/%x[0,0]
U07:%x[0,0]/%x[1,0]
U08:%x[1,0]/%x[2,0]
U09:%x[-2,0]/%x[0,0]
U0a:%x[-1,0]/%x[1,0]
U0b:%x[0,0]/%x[2,0]

B
"""

KINDS = """
# Kinds of characters
U10:%x[-2,1]
U11:%x[-1,1]
U12:%x[0,1]
U13:%x[1,1]
U14:%x[2,1]
U15:%x[-1,1]/%x[0,1]
U16:%x[0,1]/%x[1,1]
U17:%x[-2,1]/%x[-1,1]/%x[0,1]
U18:%x[-1,1]/%x[0,1]/%x[1,1]
U19:%x[0,1]/%x[1,1]/%x[2,1]
U1a:%x[-2,1]/%x[-1,1]/%x[0,1]/%x[1,1]/%x[2,1]

# Repetition
U20:%x[0,2]
U21:%x[1,2]
U22:%x[0,2]/%x[1,2]
"""

LEXICON = """
# Longest words that begin, end and lie around here and beside
U30:%x[-1,3]
U31:%x[0,3]
U32:%x[1,3]
U33:%x[-1,4]
U34:%x[0,4]
U35:%x[1,4]
U36:%x[-1,5]
U37:%x[0,5]
U38:%x[1,5]
U40:%x[0,3]/%x[0,4]/%x[0,5]
U41:%x[-1,4]/%x[0,3]
U42:%x[0,4]/%x[1,3]
U43:%x[-1,3]/%x[-1,4]/%x[0,3]/%x[0,4]
U44:%x[0,3]/%x[0,4]/%x[1,3]/%x[1,4]

# The same with the character
U50:%x[0,3]/%x[0,4]/%x[0,5]/%x[0,0]
U51:%x[-1,4]/%x[0,3]/%x[0,0]
U52:%x[0,4]/%x[1,3]/%x[0,0]
"""


def word_segmentation_systems(
    *, sizes: Sequence[float] = (2.5, 5.5, 10.5), l2: Sequence[float] = (1.0, 2.0, 4.0)
) -> list[System]:
    """Systems that cut lines of characters into words: a baseline, then those with a lexicon.

    The baseline is an averaged perceptron on characters. The others add kinds of characters and a lexicon of the
    training words: the perceptron, the perceptron with structure regularisation, and a CRF.

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
    rich: Any = {"template": CHARACTERS + KINDS + LEXICON, "columns": (CharacterColumns(), LexiconColumns())}
    perceptron, seeds = Perceptron(Chain()), (0, 1, 2)
    pieces = {"regularizer": tuple(Decomposition(size) for size in sizes)}
    return [
        System("perceptron, characters", perceptron, CHARACTERS, seeds=seeds),
        System("perceptron, lexicon", perceptron, seeds=seeds, **rich),
        System("perceptron, lexicon, in pieces", perceptron, grid=pieces, seeds=seeds, **rich),
        System("CRF, lexicon", CRF(Chain(), tol=2e-2), grid={"l2": tuple(l2)}, seeds=seeds, **rich),
    ]
