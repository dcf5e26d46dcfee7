"""RNA for experiments on folding: folds by clan, a part held out inside, decoding, counts of pairs."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from palmette.apps.folding.evaluation import FoldingReport, evaluate_folds
from palmette.datasets import load_rna, load_rna_parameters
from palmette.structures.folding.brackets import parse_brackets
from palmette.structures.folding.codec import pairs_of

CHUNK = 50  # sequences decoded at once: tables of pair probabilities are large


class Sequences(NamedTuple):
    """Sequences, their structures and the clan, else family, of each."""

    X: list[str]
    Y: list[str]
    groups: np.ndarray

    def take(self, which: Any) -> Sequences:
        """Some of them, by a mask."""
        chosen = np.flatnonzero(which)
        return Sequences([self.X[i] for i in chosen], [self.Y[i] for i in chosen], self.groups[chosen])

    def and_also(self, other: Sequences) -> Sequences:
        """These and others."""
        return Sequences(self.X + other.X, self.Y + other.Y, np.concatenate([self.groups, other.groups]))


def sequences(bunch: Any) -> Sequences:
    """Those of a data set."""
    return Sequences(list(bunch.data), list(bunch.target), bunch.groups)


@cache
def benchmark(fold: int) -> tuple[Sequences, Sequences]:
    """Training and test part of bench1359; every clan and family is in one of them only."""
    bunch: Any = load_rna("bench1359")
    own = sequences(bunch)
    return own.take(bunch.folds != fold), own.take(bunch.folds == fold)


@cache
def more(fold: int) -> Sequences:
    """The best sequence of each family of Rfam 14.2 that bench1359 lacks, clans of the test part left out.

    So are the families of contrafold151, since those models are tested on it, and what has fewer than 3 pairs: such
    families have no known structure.
    """
    bunch, bench, small = (load_rna(name) for name in ("rfam14.2", "bench1359", "contrafold151"))
    known = set(bench.families) | set(small.families) | set(benchmark(fold)[1].groups)
    new = [
        f not in known and g not in known and y.count("(") >= 3
        for f, g, y in zip(bunch.families, bunch.groups, bunch.target)
    ]
    return sequences(bunch).take(bunch.best & np.array(new))


@cache
def contrafold151(fold: int) -> Sequences:
    """The sequences of contrafold151 that no model of the fold has seen the family or clan of; both folds make all.

    A family without relatives in bench1359 is in fold 0.
    """
    bunch, bench, seed = (load_rna(name) for name in ("contrafold151", "bench1359", "rfam14.2"))
    group = dict(zip(seed.families.tolist(), seed.groups.tolist()))
    place = dict(zip(bench.groups.tolist(), bench.folds.tolist()))
    folds = np.array([place.get(group.get(family, family), 0) for family in bunch.families.tolist()])
    return sequences(bunch).take(folds == fold)


def held_out(own: Sequences, first: int = 1) -> tuple[Sequences, Sequences]:
    """Two thirds to learn from and one to choose by: of the groups, the largest first, every third from `first` on."""
    by_size = sorted(Counter(own.groups.tolist()).items(), key=lambda item: (-item[1], item[0]))
    chosen = {group for group, _ in by_size[first::3]}
    held = np.array([group in chosen for group in own.groups.tolist()])
    return own.take(~held), own.take(held)


def decoded(model: Any, X: list[str], gamma: float | None = None) -> list[list[tuple[int, int]]]:
    """Pairs of each sequence: of the best structure (CYK), or of that of maximum expected accuracy for a gamma."""
    found = []
    for start in range(0, len(X), CHUNK):
        batch = model.encoder_.transform(X[start : start + CHUNK])
        theta = model.scorer_.score(model.coef_, batch)
        answer = model.structure_.best(theta) if gamma is None else model.structure_.min_risk(theta, gamma)
        found += [pairs_of(answer.codes[a:b]) for a, b in zip(batch.offsets[:-1], batch.offsets[1:])]
    return found


def measured(model: Any, own: Sequences, gamma: float | None = None) -> FoldingReport:
    """How well a model folds sequences."""
    return evaluate_folds([parse_brackets(y) for y in own.Y], decoded(model, own.X, gamma))


def published(name: str, **settings: Any) -> Any:
    """The model with the parameters of CONTRAfold or EternaFold, hairpins as there."""
    from palmette import Folding
    from palmette.apps.folding.learners import given_weights

    return given_weights(Folding(min_hairpin=0, **settings), load_rna_parameters(name))


def paired_bootstrap(difference: np.ndarray, n: int = 2000, seed: int = 0) -> tuple[float, float]:
    """95 % interval of the mean of paired differences, resampling sequences."""
    rng = np.random.default_rng(seed)
    means = [difference[rng.integers(0, len(difference), len(difference))].mean() for _ in range(n)]
    return float(np.quantile(means, 0.025)), float(np.quantile(means, 0.975))
