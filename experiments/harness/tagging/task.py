"""What a recipe of sequence labelling declares."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from sklearn.utils import Bunch

from experiments.harness.tagging.scores import Scoring, score_tags, score_words
from palmette.apps.tagging.systems import System, part_of_speech_systems, word_segmentation_systems


@dataclass(frozen=True)
class TaggingTask:
    """A data set, its scores, what to compare, and what should be reached.

    Parameters
    ----------
    load : callable
        ``load(subset)`` returns the bunch of ``"fit"``, ``"dev"``, ``"train"`` or ``"test"``; see
        `palmette.datasets`.
    scoring : callable
        One of `experiments.harness.tagging.scores`; its first score is the one that choices and targets are about.
    baseline : System
        What the candidates are compared with.
    candidates : sequence of System
        The one that is best on development data is trained on all training data and tested.
    target : float
        Lower bound (%) of the candidate's mean score on the test part.
    quick_target : float
        The same for the quick run.
    published : dict of str to float
        Scores (%) of others on the same test part.
    test_all : bool, default=False
        Test every candidate, each at its best setting, not only the best one; the target is about the best one.
    quick_size : int, default=1000
        Sequences of every part that the quick run uses.
    """

    load: Callable[[str], Bunch]
    scoring: Scoring
    baseline: System
    candidates: Sequence[System]
    target: float
    quick_target: float
    published: Mapping[str, float] = field(default_factory=dict)
    test_all: bool = False
    quick_size: int = 1000

    def part(self, subset: str, quick: bool) -> Bunch:
        """A part of the data; the quick run takes its first sequences."""
        bunch = self.load(subset)
        return first(bunch, self.quick_size) if quick else bunch


def parts_of_speech(
    load: Callable[[str], Bunch], *, texts: Sequence[str], target: float, quick_target: float
) -> TaggingTask:
    """The task of tagging the words of a corpus with parts of speech; all candidates are tested.

    ``texts`` go to `part_of_speech_systems`, the rest to `TaggingTask`.
    """
    baseline, *candidates = part_of_speech_systems(texts)
    return TaggingTask(load, score_tags, baseline, candidates, target, quick_target, test_all=True)


def word_segmentation(
    load: Callable[[str], Bunch],
    *,
    target: float,
    quick_target: float,
    l2: Sequence[float] = (1.0, 2.0, 4.0),
    published: Mapping[str, float] | None = None,
) -> TaggingTask:
    """The task of cutting lines of characters into words; all candidates are tested.

    ``l2`` goes to `word_segmentation_systems`, the rest to `TaggingTask`.
    """
    baseline, *candidates = word_segmentation_systems(l2=l2)
    return TaggingTask(
        load, score_words, baseline, candidates, target, quick_target, published or {}, test_all=True
    )


def first(bunch: Bunch, n: int) -> Bunch:
    """The first samples of a bunch, with all that it says of them.

    >>> small = first(Bunch(data=[[1], [2]], target=[["A"], ["B"]], words=["x", "y"], target_names=["A", "B"]), 1)
    >>> small.data, small.words, small.target_names
    ([[1]], ['x'], ['A', 'B'])
    """
    whole, size = ("target_names", "feature_names", "DESCR"), len(bunch.data)
    cut = {key: value if key in whole or len(value) != size else value[:n] for key, value in bunch.items()}
    return Bunch(**cut)
