"""What transfer brings: source, target, union and transfer in one comparison, each with as much tuning."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from palmette.estimators.folds import copy_for_folds, splits_of
from palmette.estimators.strengths import wanted_tol
from palmette.estimators.training import encode_inputs, given_labels, seed_of
from palmette.features.encoded import EncodedInputs
from palmette.metrics.significance import Comparison, Interval, bootstrap_interval, compare
from palmette.metrics.tally import Tally
from palmette.supervision.transfer import Transfer
from palmette.supervision.transfer_fit import check_learner
from palmette.supervision.transfer_tree import domain_list

SEARCH_TOL = 0.03  # a relative gap of the objective at which held-out scores hardly move any more
L2S = ("0.01x", "0.03x", "0.1x", "0.3x", "1x", "3x")
# A large rho is union training, which is hard to beat where domains are close.
PAIRS = tuple((l2, rho) for l2 in ("0.03x", "0.3x") for rho in ("1x", "10x", "100x"))
RHOS = ("0.1x", "0.3x", "1x", "3x", "10x", "100x")  # of learners without l2

Setting = Mapping[str, Any]


@dataclass(frozen=True)
class Trained:
    """A strategy and what came of it.

    Parameters
    ----------
    strategy : {"All source", "All target", "Partial target", "Union", "Transfer"}
    share : float
        Of the target's training samples that it was given.
    n_source, n_target : int
        Training samples.
    params : dict
        The parameters that cross-validation on these samples has chosen.
    tally : Tally
        Its score on the test samples.
    """

    strategy: str
    share: float
    n_source: int
    n_target: int
    params: dict[str, Any]
    tally: Tally

    @property
    def score(self) -> float:
        """Score on the test samples."""
        return self.tally.score

    @property
    def interval(self) -> Interval:
        """The score with its 95 % bootstrap interval over test samples."""
        return bootstrap_interval(self.tally, n_resamples=2000)


@dataclass(frozen=True)
class TransferComparison:
    """Strategies on the same test samples; ``print`` shows them as a table.

    Parameters
    ----------
    rows : tuple of Trained
    """

    rows: tuple[Trained, ...]

    def row(self, strategy: str, share: float | None = None) -> Trained:
        """The row of a strategy, and of a share if there are several."""
        found = [row for row in self.rows if row.strategy == strategy and share in (None, row.share)]
        if len(found) != 1:
            known = ", ".join(f"({row.strategy!r}, {row.share})" for row in self.rows)
            raise ValueError(f"there are {len(found)} rows of ({strategy!r}, {share}); the rows are {known}")
        return found[0]

    def difference(self, one: Trained, other: Trained) -> Comparison:
        """The score of one row minus that of another, with its interval and p-value over test samples."""
        return compare(one.tally, other.tally, n_resamples=2000)

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Header and rows of text."""
        header = ["strategy", "share", "source", "target", "score % [95 %]", "chosen"]
        rows = [
            [row.strategy, f"{row.share:.0%}", f"{row.n_source:,}", f"{row.n_target:,}", str(row.interval),
             " ".join(f"{name}={value}" for name, value in row.params.items())]
            for row in self.rows
        ]  # fmt: skip
        return header, rows

    def __str__(self) -> str:
        header, rows = self.table()
        widths = [max(map(len, column)) for column in zip(header, *rows)]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)) for row in (header, *rows)]
        return "\n".join(line.rstrip() for line in lines)


class _Samples(NamedTuple):
    """Numbers of the samples that a strategy learns from."""

    source: np.ndarray
    target: np.ndarray


def compare_transfer(
    model: Any,
    X: Any,
    y: Any,
    domains: Any,
    target: Any,
    *,
    share: float | Sequence[float] = 0.2,
    test: Any = 0.5,
    tree: Mapping[Any, Any] | None = None,
    settings: Sequence[Setting] | None = None,
    transfer_settings: Sequence[Setting] | None = None,
    cv: int = 3,
    random_state: Any = 0,
) -> TransferComparison:
    """Compare what a target domain gains from samples of other domains.

    ================  ==========================================  =========================
    strategy          learns from                                 parameters chosen on
    ================  ==========================================  =========================
    All source        all samples of the other domains            folds of these
    All target        all training samples of the target          folds of these
    Partial target    a share of the target's training samples    folds of these
    Union             all other domains, and the same share       folds of the target's
    Transfer          the same, as :class:`Transfer`              folds of the target's
    ================  ==========================================  =========================

    Every strategy tries as many settings in as many folds, all on its own training samples, and learns from all of
    them with the best setting; test samples choose nothing.

    Parameters
    ----------
    model : learner
        As for :class:`Transfer`.
    X, y, domains
        As for ``fit`` of :class:`Transfer`.
    target : domain
        The others are sources.
    share : float or sequence of float, default=0.2
        Share of the target's training samples that have labels in the last three strategies; smaller ones are contained
        in larger ones.
    test : float, mask or list of numbers, default=0.5
        Test samples, all of the target: a share of its samples drawn at random, or which ones.
    tree : mapping, optional
        As for :class:`Transfer`.
    settings, transfer_settings : sequence of dict, optional
        Parameters to try: of the model (``{"l2": "3x"}``), and of Transfer (``{"model__l2": "3x", "rho": 1.0}``); as
        many of each. By default six penalties, and six pairs of ``l2`` and ``rho``. A learner without ``l2`` has
        nothing to choose but ``rho``.
    cv : int, default=3
        Folds.
    random_state : int, RandomState or None, default=0
        Draws test samples, shares and folds.

    Returns
    -------
    TransferComparison

    Examples
    --------
    >>> import numpy as np
    >>> from palmette import CRF, Multiclass, compare_transfer
    >>> rng = np.random.default_rng(0)
    >>> X, domains = rng.normal(size=(600, 5)), np.array(["old", "new"])[np.arange(600) % 2]
    >>> slope = np.where((domains == "old")[:, None], [2.0, 2.0, 0.0, 0.0, 0.0], [2.0, 1.0, 1.0, 0.0, 0.0])
    >>> y = (X * slope).sum(axis=1) + rng.normal(size=600) > 0
    >>> found = compare_transfer(CRF(Multiclass()), X, y, domains, "new", share=0.1)
    >>> [row.strategy for row in found.rows]
    ['All source', 'All target', 'Partial target', 'Union', 'Transfer']
    >>> found.row("Transfer").score > found.row("Partial target").score
    True
    """
    check_learner(model)
    names = domain_list(domains, len(X) if hasattr(X, "__len__") else None, needed="domains=[...] is needed")
    own = np.array([name == target for name in names], bool)
    if own.all() or not own.any():
        there = ", ".join(repr(name) for name in dict.fromkeys(names))
        raise ValueError(f"target={target!r} and other domains need samples; the domains are {there}")
    rng = np.random.default_rng(seed_of(random_state))
    held = _test_samples(test, own, rng)
    train = rng.permutation(np.setdiff1d(np.flatnonzero(own), held))
    shares = _shares(share, len(train), cv)
    plain, joint = _settings(model, settings, transfer_settings)
    inputs = X if isinstance(X, EncodedInputs) else encode_inputs(X, model.structure, **model._encoding())
    runner = _Runner(model, inputs, given_labels(y, model.structure.layout), names, tree, held, cv, rng)
    source, nothing = np.flatnonzero(~own), np.empty(0, np.int64)
    rows = [
        runner.run("All source", 0.0, _Samples(source, nothing), plain),
        runner.run("All target", 1.0, _Samples(nothing, train), plain),
    ]
    for part in shares:
        some = train[: round(part * len(train))]
        rows.append(runner.run("Partial target", part, _Samples(nothing, some), plain))
        rows.append(runner.run("Union", part, _Samples(source, some), plain))
        rows.append(runner.run("Transfer", part, _Samples(source, some), joint))
    return TransferComparison(tuple(rows))


class _Runner:
    """Chooses parameters for a strategy, learns, and counts what is right on the test samples."""

    def __init__(
        self, model: Any, X: Any, y: Any, names: list[Any], tree: Any, held: np.ndarray, cv: int, rng: Any
    ) -> None:
        self.model, self.X, self.y, self.names, self.tree = model, X, y, names, tree
        self.held, self.cv, self.seed = held, cv, int(rng.integers(2**31))

    def run(self, strategy: str, share: float, samples: _Samples, settings: Sequence[Setting]) -> Trained:
        joint = strategy == "Transfer"
        best = settings[0]
        if len(settings) > 1:
            folds = list(self._folds(samples))
            means = [np.mean([self._score(joint, s, *fold) for fold in folds]) for s in settings]
            best = settings[int(np.argmax(means))]
        fitted = self._fitted(joint, best, np.concatenate(samples))
        right, total = self._measured(fitted, self.held)
        tally = Tally("score", right, total)
        return Trained(strategy, share, len(samples.source), len(samples.target), dict(best), tally)

    def _folds(self, samples: _Samples) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Training and held-out samples: folds of the target's where there are any, with all of the source's."""
        cut = samples.target if len(samples.target) else samples.source
        always = samples.source if len(samples.target) else samples.target
        items = self.model.structure.layout == "items"
        folds = splits_of(self.cv, [self.y[i] for i in cut], None, items=items, random_state=self.seed)
        for train, held in folds:
            yield np.concatenate([always, cut[train]]), cut[held]

    def _score(self, joint: bool, setting: Setting, train: np.ndarray, held: np.ndarray) -> float:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            right, total = self._measured(self._fitted(joint, setting, train, search=True), held)
        return float(right.sum() / max(total.sum(), 1.0))

    def _fitted(self, joint: bool, setting: Setting, train: np.ndarray, search: bool = False) -> Any:
        model = copy_for_folds(self.model)
        if search and hasattr(model, "l2"):
            model.set_params(tol=max(wanted_tol(model), SEARCH_TOL), verbose=0)
        X, y = self.X[train], [self.y[i] for i in train]
        if not joint:
            return model.set_params(**setting).fit(X, y)
        transfer = Transfer(model, tree=self.tree).set_params(**setting)
        return transfer.fit(X, y, domains=[self.names[i] for i in train])

    def _measured(self, fitted: Any, held: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What predictions reach, and could reach."""
        X, y = self.X[held], [self.y[i] for i in held]
        if isinstance(fitted, Transfer):
            return fitted.measure(X, y, [self.names[i] for i in held])
        return fitted.structure.measure(fitted, X, y)


def _test_samples(test: Any, own: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Numbers of the test samples: some of the target's, and not all."""
    if isinstance(test, Real) and not isinstance(test, bool):
        if not 0.0 < float(test) < 1.0:
            raise ValueError(f"test must be a share between 0 and 1, or test samples, got {test!r}")
        there = rng.permutation(np.flatnonzero(own))
        return np.sort(there[: max(1, round(float(test) * len(there)))])
    chosen = np.asarray(test)
    numbers = np.flatnonzero(chosen) if chosen.dtype == bool else np.unique(chosen)
    fits = (
        chosen.shape == own.shape if chosen.dtype == bool else chosen.dtype.kind in "iu" and chosen.ndim == 1
    )
    if not fits or not len(numbers) or numbers[0] < 0 or numbers[-1] >= len(own):
        raise ValueError(
            f"test must be a share, a mask of all {len(own)} samples or numbers of samples, got {test!r:.60}"
        )
    if not own[numbers].all():
        wrong = numbers[~own[numbers]][0]
        raise ValueError(f"test has the sample {wrong}, which is not of the target: leave it out")
    return numbers


def _shares(share: Any, n_train: int, cv: int) -> list[float]:
    """The shares, each of enough samples for the folds."""
    shares = [share] if isinstance(share, Real) else list(share)
    for part in shares:
        if isinstance(part, bool) or not isinstance(part, Real) or not 0.0 < float(part) <= 1.0:
            raise ValueError(f"share must be above 0 and at most 1, got {part!r}")
        n = round(float(part) * n_train)
        if n < cv:
            raise ValueError(
                f"share={part} of {n_train} training samples of the target are {n}, fewer than cv={cv} folds: take a "
                "larger share, fewer test samples or fewer folds"
            )
    return [float(part) for part in shares]


def _settings(model: Any, plain: Any, joint: Any) -> tuple[list[Setting], list[Setting]]:
    """Settings to try for plain models and for Transfer."""
    has_l2 = hasattr(model, "l2")
    if plain is None:
        plain = [{"l2": l2} for l2 in L2S] if has_l2 else [{}]
    if joint is None:
        pairs = [{"model__l2": l2, "rho": rho} for l2, rho in PAIRS]
        joint = pairs if has_l2 else [{"rho": rho} for rho in RHOS]
    if not plain or not joint or (has_l2 and len(plain) != len(joint)):
        raise ValueError(
            f"there are {len(plain)} settings and {len(joint)} of Transfer: try as many of each, at least one, so that "
            "no strategy is tuned better than another"
        )
    return list(plain), list(joint)
