"""Tagging with parts of speech: one feature set for every corpus of tagged words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sklearn.utils import Bunch

from ramify.apps.tagging.default_template import default_template
from ramify.estimators import CRF
from ramify.features.clusters import WordClusters
from ramify.recipes.tagging.scores import score_tags
from ramify.recipes.tagging.system import System
from ramify.recipes.tagging.task import TaggingTask
from ramify.structures import Chain

CLUSTERS = (64, 256)

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


def parts_of_speech(
    load: Callable[[str], Bunch],
    *,
    target: float,
    quick_target: float,
    l2: Sequence[float] = (1.0, 0.5),
    published: Mapping[str, float] | None = None,
) -> TaggingTask:
    """The task of tagging the words of a corpus.

    The baseline is a CRF on the default template for words; the candidate has the template here, with affixes, shapes
    and word clusters learned from the training text, which are drawn anew with each of three seeds.

    Parameters
    ----------
    load : callable
        Of the corpus, by subset.
    target, quick_target : float
        Accuracy (%) to be reached.
    l2 : sequence of float
        Penalties to try on development data, in both systems.
    published : dict of str to float, optional
        Accuracy (%) of others on the same test part.

    Returns
    -------
    TaggingTask

    Examples
    --------
    >>> from ramify.datasets import load_brown
    >>> task = parts_of_speech(load_brown, target=96.0, quick_target=80.0)
    >>> [system.name for system in (task.baseline, *task.candidates)]
    ['CRF, default template', 'CRF, affixes, shapes and clusters']
    """
    learner: Any = CRF(Chain(), tol=3e-3)
    grid = {"l2": tuple(l2)}
    return TaggingTask(
        load=load,
        scoring=score_tags,
        baseline=System("CRF, default template", learner, default_template(2), grid=grid),
        candidates=(
            System(
                "CRF, affixes, shapes and clusters",
                learner,
                TEMPLATE,
                columns=(WordClusters(CLUSTERS),),
                grid=grid,
                seeds=(0, 1, 2),
            ),
        ),
        target=target,
        quick_target=quick_target,
        published=published or {},
    )
