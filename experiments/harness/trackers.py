"""Trackers that the benchmark of tracking compares: each learns from pairs of frames and predicts events of others.

A tracker is a function ``(train, step) -> (predict, settings)``: ``predict(pairs)`` gives for each pair of frames the
events as keys (``cells.keys``), and ``settings`` is what was chosen inside the training pairs, for the record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from experiments.harness.cells import REACH, Pairs, event_loss, keys, tracking

Predict = Callable[[Pairs], list[set[Any]]]
Learn = Callable[[Pairs], Predict]

FOLDS = 3  # runs of successive pairs, each held out in turn


# -- choosing settings inside the training pairs --------------------------------------------------------------------


def folds(n: int, step: int) -> Iterable[tuple[np.ndarray, np.ndarray]]:
    """Places of training and held-out pairs; a training pair shares no frame with a held-out one.

    >>> [(train.tolist(), held.tolist()) for train, held in folds(9, 1)]
    [([4, 5, 6, 7, 8], [0, 1, 2]), ([0, 1, 7, 8], [3, 4, 5]), ([0, 1, 2, 3, 4], [6, 7, 8])]
    """
    for held in np.array_split(np.arange(n), FOLDS):
        apart = np.maximum(held[0] - np.arange(n), np.arange(n) - held[-1])
        yield np.flatnonzero(apart > step), held


def part(own: Pairs, places: Iterable[int]) -> Pairs:
    """Some of the pairs."""
    at = [int(k) for k in places]
    return Pairs([own.X[k] for k in at], [own.Y[k] for k in at], [own.events[k] for k in at], [])


def counts_of(own: Pairs, found: Sequence[set[Any]]) -> np.ndarray:
    """Of each pair: wrong events, and all events of both sides, shape (n, 2)."""
    return np.array([(len(f ^ t), len(f) + len(t)) for f, t in zip(found, own.events)], float)


def choose(train: Pairs, step: int, settings: Sequence[Any], learn: Callable[[Pairs, Any], Predict]) -> Any:
    """The setting of the least held-out event loss, the first of several. All are tried: their losses go up and down.

    Held-out pairs that are a few frames apart have much in common: of every ``step // 4`` successive ones, one counts.
    """

    def loss(setting: Any) -> float:
        counts = []
        for own, out in folds(len(train.X), step):
            held = part(train, out[:: max(step // 4, 1)])
            counts.append(counts_of(held, learn(part(train, own), setting)(held)))
        return event_loss(np.concatenate(counts))

    return min(settings, key=loss)


# -- without learning -----------------------------------------------------------------------------------------------


def linked(candidates: Any, links: Sequence[tuple[int, int]]) -> set[Any]:
    """Events of links between places of detections; of more than two children the nearest two are kept."""
    from palmette.structures.tracking.truth import true_events

    early, late = candidates.frames
    named = [(int(early.ids[a]), int(late.ids[b])) for a, b in links]
    return keys(true_events(named, early, late, candidates.kinds)[0])


def nearest(train: Pairs, step: int) -> tuple[Predict, Any]:
    """Every later cell comes from the nearest earlier one within reach."""
    from scipy.spatial import cKDTree

    def of(candidates: Any) -> set[Any]:
        early, late = candidates.frames
        far, place = cKDTree(early.position).query(late.position)
        return linked(candidates, [(int(a), b) for b, a in enumerate(place) if far[b] <= REACH[step]])

    return lambda pairs: [of(each) for each in pairs.X], {}


def assignment(train: Pairs, step: int) -> tuple[Predict, Any]:
    """The matching of least total distance; cells stay alone where that is less than the reach. No divisions."""
    from scipy.optimize import linear_sum_assignment
    from scipy.spatial.distance import cdist

    def of(candidates: Any) -> set[Any]:
        early, late = candidates.frames
        n, m = len(early), len(late)
        table = np.full((n + m, n + m), REACH[step] / 2.0)
        table[:n, :m] = cdist(early.position, late.position)
        table[n:, m:] = 0.0
        rows, columns = linear_sum_assignment(table)
        own = (rows < n) & (columns < m) & (table[rows, columns] < REACH[step])
        return linked(candidates, list(zip(rows[own].tolist(), columns[own].tolist())))

    return lambda pairs: [of(each) for each in pairs.X], {}


def by_scores(step: int, score: Callable[[Any], np.ndarray]) -> Predict:
    """The best explanation by given scores of events: ``score(block)`` for the candidates of one kind."""
    from palmette.structures.tracking.tables import EventTables

    structure = tracking(step)

    def of(candidates: Any) -> set[Any]:
        happens = np.concatenate([score(block) for block in candidates.blocks])
        node = np.stack([np.zeros(len(happens)), happens], axis=1)
        best = structure.best(EventTables(node, *candidates.layout))
        return keys(candidates.events_of(best.codes.tolist()))

    return lambda pairs: [of(each) for each in pairs.X]


# Costs of events as sums of weights times features, an empty name for a constant. Lengths are in units of a cell's size
# (about 20 pixels), areas and masses are logs, intensities relative to the frame's median. Set once, by hand.
FLOW = {
    "move": {"distance": 1.0},
    "divide": {"near": 1.0, "far": 1.0, "": 0.5},
    "appear": {"border": 0.5, "": 0.5},
    "disappear": {"border": 0.5, "": 0.5},
    "merge": {"near": 1.0, "far": 1.0, "": 0.5},
}
HAND_SET = {
    "move": {"distance": 1.0, "jump area": 0.5, "jump intensity": 1.0},
    "divide": {"middle": 1.0, "between": 0.3, "angle": 0.5, "unequal area": 1.0, "unequal intensity": 1.0,
               "detour forward": 0.5, "intensity": -0.5, "": 1.5},
    "appear": {"border": 0.5, "": 0.7},
    "disappear": {"border": 0.5, "": 0.7},
    "merge": {"middle": 2.0, "between": 1.0, "": 2.0},
}  # fmt: skip


def fixed(costs: dict[str, dict[str, float]]) -> Callable[[Pairs, int], tuple[Predict, Any]]:
    """Events by given costs, solved exactly."""

    def score(block: Any) -> np.ndarray:
        total = np.zeros(len(block))
        for name, weight in costs[block.kind.name].items():
            total -= weight * (block.values[:, block.names.index(name)] if name else 1.0)
        return total

    return lambda train, step: (by_scores(step, score), {})


# -- with learning --------------------------------------------------------------------------------------------------

LEAVES = (1, 4, 16)  # least number of candidates in a leaf of a tree
TREES = 100
SHARE = 0.3  # of the candidates that a tree sees


def forest(train: Pairs, step: int) -> tuple[Predict, Any]:
    """A random forest for each kind of events; the log odds that an event happens are its score."""
    from sklearn.ensemble import RandomForestClassifier

    def learn(own: Pairs, leaf: int) -> Predict:
        forests = {}
        codes = [np.asarray(y) for y in own.Y]
        for k, block in enumerate(own.X[0].blocks):
            starts = [sum(len(b) for b in x.blocks[:k]) for x in own.X]
            y = np.concatenate([c[a : a + len(x.blocks[k])] for c, a, x in zip(codes, starts, own.X)])
            values = np.concatenate([x.blocks[k].values for x in own.X])
            if y.any():
                forests[block.kind.name] = RandomForestClassifier(
                    TREES, min_samples_leaf=leaf, max_samples=SHARE, random_state=0, n_jobs=1
                ).fit(values, y)

        def score(block: Any) -> np.ndarray:
            if block.kind.name not in forests or not len(block):
                return np.full(len(block), np.log(0.5 / TREES))
            share = forests[block.kind.name].predict_proba(block.values)[:, 1]
            share = (share * TREES + 0.5) / (TREES + 1.0)
            return np.log(share / (1.0 - share))

        return by_scores(step, score)

    leaf = choose(train, step, LEAVES, learn)
    return learn(train, leaf), {"leaf": leaf}


def ssvm(
    l2s: Sequence[float], l1s: Sequence[float] = (), tol: float = 1e-2
) -> Callable[[Pairs, int], tuple[Predict, Any]]:
    """The structured SVM on event features; penalties (per pair) chosen inside the training pairs, L2 first."""
    from palmette import SSVM

    def tracker(train: Pairs, step: int) -> tuple[Predict, Any]:
        models = []

        def learn(own: Pairs, penalties: tuple[float, float], tol: float = 5e-2) -> Predict:
            l2, l1 = (each * len(own.X) for each in penalties)
            solver = "bundle" if l1 else "n_slack"
            model = SSVM(tracking(step, own.X[0].kinds), l2=l2, l1=l1, solver=solver, tol=tol, n_jobs=1)
            model.fit(own.X, own.Y)
            models.append(model)

            def predict(pairs: Pairs) -> list[set[Any]]:
                return [keys(x.events_of(y)) for x, y in zip(pairs.X, model.predict(pairs.X))]

            return predict

        l2, _ = choose(train, step, [(each, 0.0) for each in l2s], learn)
        l1 = choose(train, step, [(l2, each) for each in l1s], learn)[1] if l1s else 0.0
        predict = learn(train, (l2, l1), tol)
        weights = models[-1].coef_
        used = {"weights": int(np.size(weights)), "not zero": int(np.count_nonzero(weights))}
        return predict, {"l2": l2, "l1": l1, "reason": models[-1].result_.reason, **used}

    return tracker


# -- laptrack -------------------------------------------------------------------------------------------------------


def laptrack(train: Pairs, step: int) -> tuple[Predict, Any]:
    """laptrack on every step-th frame, from each of the first frames on; cutoffs chosen on the training movie."""
    from laptrack import LapTrack

    make: Any = LapTrack  # its types ask for every setting

    def track(pairs: Pairs, link: float, split: float, merge: float) -> list[set[Any]]:
        found: list[set[Any]] = [set()] * len(pairs.X)
        tracker = make(
            cutoff=link**2,
            splitting_cutoff=split**2,
            merging_cutoff=merge**2 if merge else False,
            gap_closing_cutoff=False,
        )
        for first in range(min(step, len(pairs.X))):
            places = range(first, len(pairs.X), step)
            frames = [pairs.X[k].frames[0] for k in places] + [pairs.X[places[-1]].frames[1]]
            tree = tracker.predict([frame.position for frame in frames], split_merge_validation=False)
            links: dict[int, list[tuple[int, int]]] = {}
            for (t, a), (_, b) in tree.edges:
                links.setdefault(int(t), []).append((int(a), int(b)))
            for at, k in enumerate(places):
                found[k] = linked(pairs.X[k], links.get(at, []))
        return found

    # There is nothing to learn but the cutoffs, so that the whole training movie chooses them, one after the other.
    def loss(*cutoffs: float) -> float:
        return event_loss(counts_of(train, track(train, *cutoffs)))

    cutoffs = [REACH[step] * share for share in (0.2, 0.3, 0.45, 0.7, 1.0)]
    link = min(cutoffs, key=lambda each: loss(each, each, 0.0))
    split = min(cutoffs, key=lambda each: loss(link, each, 0.0))
    merges = [0.0, *cutoffs] if "merge" in train.X[0].kinds else [0.0]
    merge = min(merges, key=lambda each: loss(link, split, each)) if len(merges) > 1 else 0.0
    return lambda pairs: track(pairs, link, split, merge), {"link": link, "split": split, "merge": merge}
