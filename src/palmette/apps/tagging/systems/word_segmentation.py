"""Word segmentation: one feature set for every segmented text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sklearn.utils import Bunch

from palmette.estimators import CRF, Perceptron
from palmette.recipes.tagging.scores import score_words
from palmette.recipes.tagging.segmentation_columns import CharacterColumns, LexiconColumns
from palmette.recipes.tagging.system import System
from palmette.recipes.tagging.task import TaggingTask
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


def word_segmentation(
    load: Callable[[str], Bunch],
    *,
    target: float,
    quick_target: float,
    sizes: Sequence[float] = (2.5, 5.5, 10.5),
    l2: Sequence[float] = (1.0, 2.0, 4.0),
    published: Mapping[str, float] | None = None,
) -> TaggingTask:
    """The task of cutting lines of characters into words.

    The baseline is an averaged perceptron on characters. Candidates add kinds of characters and a lexicon of the
    training words: the perceptron and a CRF, and the perceptron with structure regularisation.

    Parameters
    ----------
    load : callable
        Of the segmented text, by subset.
    target, quick_target : float
        F1 of words (%) to be reached.
    sizes : sequence of float
        Of the pieces, to try on development data.
    l2 : sequence of float
        Penalties of the CRF to try on development data.
    published : dict of str to float, optional
        F1 (%) of others on the same test part.

    Returns
    -------
    TaggingTask

    Examples
    --------
    >>> from palmette.datasets import load_cws_udc
    >>> task = word_segmentation(load_cws_udc, target=90.0, quick_target=80.0)
    >>> [system.name for system in (task.baseline, *task.candidates)]
    ['perceptron, characters', 'perceptron, lexicon', 'perceptron, lexicon, in pieces', 'CRF, lexicon']
    """
    columns = (CharacterColumns(), LexiconColumns())
    template = CHARACTERS + KINDS + LEXICON
    perceptron, seeds = Perceptron(Chain()), (0, 1, 2)
    pieces = {"regularizer": tuple(Decomposition(size) for size in sizes)}
    return TaggingTask(
        load=load,
        scoring=score_words,
        baseline=System("perceptron, characters", perceptron, CHARACTERS, seeds=seeds),
        candidates=(
            System("perceptron, lexicon", perceptron, template, columns, seeds=seeds),
            System("perceptron, lexicon, in pieces", perceptron, template, columns, grid=pieces, seeds=seeds),
            System(
                "CRF, lexicon", CRF(Chain(), tol=2e-2), template, columns, grid={"l2": tuple(l2)}, seeds=seeds
            ),
        ),
        target=target,
        quick_target=quick_target,
        published=published or {},
        test_all=True,
    )
