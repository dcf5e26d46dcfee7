"""Pairs of proteins for experiments on alignment: folds of groups, a part held out inside, decoding, core columns."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from palmette.apps.aligning.evaluation import AlignmentReport, evaluate_alignments
from palmette.apps.aligning.records import PairRecord
from palmette.datasets import load_alignments
from palmette.structures.alignment.outputs import matches_of

CHUNK = 40  # pairs decoded at once: tables of posteriors are large


class Pairs(NamedTuple):
    """Pairs of sequences, rows of their references and the group of each."""

    X: list[tuple[str, str]]
    Y: list[tuple[str, str]]
    groups: np.ndarray

    def take(self, which: Any) -> Pairs:
        """Some of them, by a mask."""
        chosen = np.flatnonzero(which)
        return Pairs([self.X[i] for i in chosen], [self.Y[i] for i in chosen], self.groups[chosen])

    @property
    def references(self) -> list[PairRecord]:
        """The references with their core columns."""
        return [PairRecord.from_rows(*rows) for rows in self.Y]


@cache
def benchmark(name: str, fold: int) -> tuple[Pairs, Pairs]:
    """Training and test part of a data set; every group is in one of them only."""
    bunch: Any = load_alignments(name)
    own = Pairs(list(bunch.data), list(bunch.target), bunch.groups)
    return own.take(bunch.folds != fold), own.take(bunch.folds == fold)


def held_out(own: Pairs, first: int = 1) -> tuple[Pairs, Pairs]:
    """Two thirds to learn from and one to choose by: of the groups, the largest first, every third from `first` on."""
    by_size = sorted(Counter(own.groups.tolist()).items(), key=lambda item: (-item[1], item[0]))
    chosen = {group for group, _ in by_size[first::3]}
    held = np.array([group in chosen for group in own.groups.tolist()])
    return own.take(~held), own.take(held)


def decoded(
    models: Any, X: list[tuple[str, str]], gamma: float | None = None, factor: float = 1.0
) -> list[np.ndarray]:
    """Matches of each pair: of the best alignment (Viterbi), or of that of maximum expected accuracy for a gamma.

    ``models`` is one, or a tuple of several whose match probabilities are averaged. ``factor`` multiplies the weights
    before probabilities are taken.
    """
    several = models if isinstance(models, tuple) else (models,)
    structure, found = several[0].structure_, []
    for start in range(0, len(X), CHUNK):
        batch = several[0].encoder_.transform(X[start : start + CHUNK])
        thetas = [model.scorer_.score(factor * model.coef_, batch) for model in several]
        if gamma is None:
            answer = structure.best(thetas[0])
        elif len(several) == 1:
            answer = structure.min_risk(thetas[0], gamma)
        else:
            each = [structure.marginals(theta) for theta in thetas]
            gaps, cells = (
                np.mean([getattr(one, kind) for one in each], axis=0) for kind in ("gaps", "matches")
            )
            answer = structure.min_risk_of(thetas[0], replace(each[0], gaps=gaps, matches=cells), gamma)
        found += [
            np.array(matches_of(answer.codes[a:b]), np.int64).reshape(-1, 2)
            for a, b in zip(batch.offsets[:-1], batch.offsets[1:])
        ]
    return found


def measured(models: Any, own: Pairs, gamma: float | None = None, factor: float = 1.0) -> AlignmentReport:
    """How well a model, or several together, align pairs."""
    return evaluate_alignments(own.references, decoded(models, own.X, gamma, factor))
