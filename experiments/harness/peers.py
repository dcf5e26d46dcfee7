"""What benchmarks share: sides of palmette and of CRFsuite, CRFsuite's training, and errors of handwritten words."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from experiments.harness.measure import Phase, Run, now
from experiments.harness.spec import Side

CRFSUITE = "python-crfsuite"


def palmette_side(run: Callable[[Run], None]) -> Side:
    """A side of our own."""
    return Side(run, imports=("palmette", "numba", "sklearn"), package="palmette")


def crfsuite_side(run: Callable[[Run], None]) -> Side:
    """A side of python-crfsuite."""
    return Side(run, imports=("pycrfsuite",), package=CRFSUITE)


class CrfsuiteModel(NamedTuple):
    """A tagger of CRFsuite, the last entry of its training log, and the time it took to encode and to train."""

    tagger: Any
    log: Mapping[str, Any]
    encode: Phase
    train: Phase

    @property
    def fit(self) -> Phase:
        """Encoding and training together."""
        return Phase(self.encode.wall + self.train.wall, self.encode.cpu + self.train.cpu)

    def tag(self, X: Iterable[Any]) -> list[list[str]]:
        """Labels of sequences of attributes."""
        return [self.tagger.tag(x) for x in X]


def train_crfsuite(
    X: Iterable[Any], Y: Iterable[Any], options: Mapping[str, Any], algorithm: str = "lbfgs"
) -> CrfsuiteModel:
    """Train CRFsuite on sequences of attributes, with weights for all pairs of labels."""
    import pycrfsuite

    trainer = pycrfsuite.Trainer(algorithm=algorithm, verbose=False)
    trainer.set_params({"feature.possible_transitions": True, **options})
    start = now()
    for x, y in zip(X, Y):
        trainer.append(x, y)
    ready = now()
    with tempfile.TemporaryDirectory() as folder:
        trainer.train(f"{folder}/model")
        done = now()
        tagger = pycrfsuite.Tagger()
        tagger.open(f"{folder}/model")
    return CrfsuiteModel(tagger, trainer.logparser.last_iteration, ready - start, done - ready)


def letter_errors(truth: Sequence[Any], predicted: Sequence[Any]) -> tuple[float, float]:
    """Share of wrong letters, and of words with a wrong letter.

    >>> letter_errors(["cat", "dog"], [list("cab"), list("dog")])
    (0.16666666666666666, 0.5)
    """
    wrong = [[a != b for a, b in zip(true, found)] for true, found in zip(truth, predicted)]
    return sum(map(sum, wrong)) / sum(map(len, wrong)), sum(map(any, wrong)) / len(wrong)
