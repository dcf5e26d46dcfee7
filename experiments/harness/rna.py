"""RNA for experiments on folding: folds by clan, a part held out inside, decoding, counts of pairs."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from palmette.apps.folding.evaluation import FoldingReport, evaluate_folds
from palmette.datasets import load_rna, load_rna_parameters
from palmette.structures.folding.brackets import parse_brackets
from palmette.structures.folding.codec import pairs_of

CANONICAL = ("AU", "UA", "CG", "GC", "GU", "UG")
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


def relatives(own: Sequences, k: int, held: Sequences | None = None, seed: int = 0) -> Sequences:
    """Up to k further sequences of Rfam 14.2 of each family with a published structure whose group is in ``own``.

    As bench1359 has them: letters A, C, G and U, at least 5 pairs, at most a tenth of them non-canonical, and four
    fifths of the pairs that any sequence of the family has. None of them is in ``held``.
    """
    bunch, groups = load_rna("rfam14.2"), set(own.groups.tolist())
    known = {*own.X, *(held.X if held is not None else ())}
    rows: dict[str, list[int]] = {}
    for i, (group, x, family) in enumerate(zip(bunch.groups.tolist(), bunch.data, bunch.families.tolist())):
        if group in groups and bunch.published[i] and x not in known and set(x) <= set("ACGU"):
            rows.setdefault(family, []).append(i)
    chosen: list[int] = []
    rng = np.random.default_rng(seed)
    for family in sorted(rows):
        most = max(bunch.target[i].count("(") for i in rows[family])
        fit = (i for i in rng.permutation(rows[family]).tolist() if _like_bench(bunch, i, most))
        chosen += islice(fit, k)
    return sequences(bunch).take(np.isin(np.arange(len(bunch.data)), chosen))


def _like_bench(bunch: Any, i: int, most: int) -> bool:
    x, pairs = bunch.data[i], parse_brackets(bunch.target[i])
    odd = sum(x[a] + x[b] not in CANONICAL for a, b in pairs)
    return len(pairs) >= max(5, 0.8 * most) and odd <= 0.1 * len(pairs)


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


def decoded(models: Any, X: list[str], gamma: float | None = None) -> list[list[tuple[int, int]]]:
    """Pairs of each sequence: of the best structure (CYK), or of that of maximum expected accuracy for a gamma.

    ``models`` is one, or a tuple of several whose pair probabilities are averaged.
    """
    several = models if isinstance(models, tuple) else (models,)
    structure, found = several[0].structure_, []
    for start in range(0, len(X), CHUNK):
        batch = several[0].encoder_.transform(X[start : start + CHUNK])
        thetas = [model.scorer_.score(model.coef_, batch) for model in several]
        if gamma is None:
            answer = structure.best(thetas[0])
        elif len(several) == 1:
            answer = structure.min_risk(thetas[0], gamma)
        else:
            each = [structure.marginals(theta) for theta in thetas]
            free, pairs = (
                np.mean([getattr(one, kind) for one in each], axis=0) for kind in ("unpaired", "pairs")
            )
            answer = structure.min_risk_of(thetas[0], replace(each[0], unpaired=free, pairs=pairs), gamma)
        found += [pairs_of(answer.codes[a:b]) for a, b in zip(batch.offsets[:-1], batch.offsets[1:])]
    return found


def measured(models: Any, own: Sequences, gamma: float | None = None) -> FoldingReport:
    """How well a model, or several together, fold sequences."""
    return evaluate_folds([parse_brackets(y) for y in own.Y], decoded(models, own.X, gamma))


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
