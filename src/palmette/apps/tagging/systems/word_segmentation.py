"""Word segmentation: one feature set for every segmented text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from palmette.apps.tagging.systems.segmentation_columns import CharacterColumns, LexiconColumns
from palmette.apps.tagging.systems.system import System
from palmette.apps.tagging.template_lines import cells, grams, template
from palmette.estimators import CRF, Perceptron
from palmette.regularizers import Decomposition
from palmette.structures import Chain

# Characters, and pairs of them, next to each other or one apart.
CHARACTERS = [*grams(0, (1, 2)), *(cells(row, row + 2) for row in (-2, -1, 0))]
# Kinds of characters, and repetition.
KINDS = [*grams(1), *grams(1, (2,), reach=1), *grams(1, (3, 5))]
KINDS += [cells(*rows, column=2) for rows in ((0,), (1,), (0, 1))]
# Longest words that begin (column 3), end (4) and lie around (5) here and beside; some of it with the character.
HERE, END, BEGIN = "%x[0,3]/%x[0,4]/%x[0,5]", "%x[-1,4]/%x[0,3]", "%x[0,4]/%x[1,3]"
LEXICON = [feature for column in (3, 4, 5) for feature in grams(column, reach=1)]
LEXICON += [HERE, END, BEGIN, "%x[-1,3]/%x[-1,4]/%x[0,3]/%x[0,4]", "%x[0,3]/%x[0,4]/%x[1,3]/%x[1,4]"]
LEXICON += [f"{lengths}/%x[0,0]" for lengths in (HERE, END, BEGIN)]


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
    rich: Any = {
        "template": template(CHARACTERS + KINDS + LEXICON),
        "columns": (CharacterColumns(), LexiconColumns()),
    }
    perceptron, seeds = Perceptron(Chain()), (0, 1, 2)
    pieces = {"regularizer": tuple(Decomposition(size) for size in sizes)}
    return [
        System("perceptron, characters", perceptron, template(CHARACTERS), seeds=seeds),
        System("perceptron, lexicon", perceptron, seeds=seeds, **rich),
        System("perceptron, lexicon, in pieces", perceptron, grid=pieces, seeds=seeds, **rich),
        System("CRF, lexicon", CRF(Chain(), tol=2e-2), grid={"l2": tuple(l2)}, seeds=seeds, **rich),
    ]
