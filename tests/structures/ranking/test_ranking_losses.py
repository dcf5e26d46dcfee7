"""Losses of rankings: their values and augmented maxima against enumeration, whichever way finds them."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palmette import SSVM, LossOptions
from palmette.errors import MissingCapability
from palmette.losses import NDCG, Hamming, MeanAveragePrecision, Pairwise, PrecisionAt, ZeroOne, resolve_loss
from palmette.metrics import mean_average_precision, ndcg, precision_at
from palmette.structures import Chain, Ranking, RankingTables
from palmette.structures.ranking import augmented_maximum as bound
from palmette.structures.ranking.codec import RankingCodec, grades_of, ranks_of

LOSSES = [
    NDCG(),
    NDCG(k=2),
    NDCG(k=3, gain="linear", discount="standard"),
    NDCG(gain=[0.0, 0.0, 1.0, 5.0], discount=0.5),
    MeanAveragePrecision(),
    MeanAveragePrecision(relevant=2),
    PrecisionAt(1),
    PrecisionAt(3),
    Pairwise(),
    Pairwise(levels_at=(2,)),
]
STRUCTURES = [Ranking(), Ranking("letor"), Ranking("standard"), Ranking(0.0), Ranking(lambda r: 1.0 / r**2)]
NAMES = ["quarter", "letor", "standard", "flat", "callable"]


def plain_loss(loss, grades, ranks):
    """The loss from its definition; ranks from 0."""
    order = [grades[d] for d in np.argsort(ranks)]
    best = sorted(grades, reverse=True)
    if isinstance(loss, NDCG):
        n = len(grades)
        gain = {"exponential": lambda g: 2.0**g - 1, "linear": float}.get(str(loss.gain)) or (
            lambda g: loss.gain[g]
        )
        discount = {
            "letor": lambda r: 1.0 if r <= 2 else 1 / np.log2(r),
            "standard": lambda r: 1 / np.log2(1 + r),
        }.get(str(loss.discount)) or (lambda r: r**-loss.discount)
        top = range(min(loss.k or n, n))
        dcg, ideal = (sum(gain(found[r]) * discount(r + 1) for r in top) for found in (order, best))
        return 1 - dcg / ideal if ideal else 0.0
    if isinstance(loss, Pairwise):
        level = [sum(g >= at for at in loss.levels_at) if loss.levels_at else g for g in order]
        pairs = [(a, b) for i, a in enumerate(level) for b in level[i + 1 :] if a != b]
        return sum(a < b for a, b in pairs) / len(pairs) if pairs else 0.0
    hits = [g >= loss.relevant for g in order]
    if isinstance(loss, PrecisionAt):
        return (min(loss.k, sum(hits)) - sum(hits[: loss.k])) / loss.k
    if not any(hits):
        return 0.0
    return 1 - np.mean([sum(hits[: r + 1]) / (r + 1) for r, hit in enumerate(hits) if hit])


@st.composite
def queries(draw):
    """Scores (with ties, zeros and large ones) and grades of a few queries."""
    sizes = draw(st.lists(st.integers(1, 5), min_size=1, max_size=3))
    n = sum(sizes)
    scale = draw(st.sampled_from([0.0, 0.1, 1.0, 30.0]))
    scores = draw(st.lists(st.integers(-4, 4), min_size=n, max_size=n))
    grades = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    offsets = np.cumsum([0, *sizes])
    theta = RankingTables(scale * np.array(scores, float), offsets)
    true = RankingCodec().encode_outputs([grades[a:b] for a, b in zip(offsets, offsets[1:])], sizes)
    return theta, true


def enumerated(structure, loss, theta, true, weight):
    """The highest ``f + weight D`` of each query."""
    found = []
    for lo, hi in zip(theta.offsets[:-1], theta.offsets[1:]):
        score, grades, c = theta.node[lo:hi], grades_of(true[lo:hi]), structure.weights(hi - lo)
        found.append(
            max(
                score @ c[list(p)] + weight * plain_loss(loss, grades, p)
                for p in permutations(range(hi - lo))
            )
        )
    return np.array(found)


@pytest.mark.parametrize("structure", STRUCTURES, ids=NAMES)
@pytest.mark.parametrize("loss", LOSSES, ids=str)
@settings(max_examples=15)
@given(query=queries(), weight=st.sampled_from([0.0, 0.3, 1.0, 7.0]))
def test_augmented_maximum(structure, loss, query, weight):
    """Value, loss and maximum are those of the definition; the truth loses nothing."""
    theta, true = query
    fixed = loss.bind(structure, ())
    best = fixed.weighted_best(structure, theta, true, weight)
    expected = enumerated(structure, loss, theta, true, weight)
    np.testing.assert_allclose(best.values, expected, atol=1e-9)
    lost = fixed.value(structure, theta, true, best.codes)
    np.testing.assert_allclose(structure.score(theta, best.codes) + weight * lost, best.values, atol=1e-9)
    for s, (lo, hi) in enumerate(zip(theta.offsets[:-1], theta.offsets[1:])):
        plain = plain_loss(loss, grades_of(true[lo:hi]), best.codes[lo:hi])
        assert lost[s] == pytest.approx(plain, abs=1e-12)
    assert np.array_equal(fixed.value(structure, theta, true, true), np.zeros(len(theta)))
    if weight == 1.0:
        assert np.array_equal(fixed.augmented_best(structure, theta, true).values, best.values)
    if weight == 0.0:
        np.testing.assert_allclose(best.values, structure.best(theta).values, atol=1e-9)


@pytest.mark.parametrize("loss", [NDCG(), NDCG(discount="standard"), NDCG(k=4), PrecisionAt(4)], ids=str)
def test_every_way_has_the_same_maximum(loss, monkeypatch):
    """Sort, merge and assignment agree on larger queries, where nobody can enumerate."""
    rng = np.random.default_rng(0)
    offsets = np.array([0, 30, 31, 60])
    theta = RankingTables(rng.normal(size=60), offsets)
    grades = rng.integers(0, 4, 60)
    true = RankingCodec().encode_outputs(
        [grades[a:b] for a, b in zip(offsets, offsets[1:])], np.diff(offsets)
    )
    structure = Ranking("letor" if loss == NDCG() else "standard")
    fixed, found = loss.bind(structure, ()), {}
    usual = fixed.ways(structure, theta, true)
    assert set(usual) == ({"sort"} if loss in (NDCG(), NDCG(discount="standard")) else {"merge"})
    for name, way in ("sort", bound.SORT), ("merge", bound.MERGE), ("assignment", bound.ASSIGN):
        if name == "sort" and "sort" not in usual:
            continue
        monkeypatch.setattr(bound.BoundRankingLoss, "_ways", lambda *_, way=way: np.full(3, way))
        found[name] = fixed.weighted_best(structure, theta, true, np.array([1.0, 2.0, 0.5])).values
    assert len(found) >= 2
    for values in found.values():
        np.testing.assert_allclose(values, found["merge"], rtol=1e-12)


def test_the_way_follows_the_query():
    """Few grades merge, many grades are assigned, and pairs of many grades are refused before memory is taken."""
    n = 60
    theta = RankingTables(np.arange(n, dtype=float), np.array([0, n]))
    few, many = (RankingCodec().encode_outputs([np.arange(n) % m], [n]) for m in (3, 30))
    loss = NDCG().bind(Ranking(), ())
    assert (loss.ways(Ranking(), theta, few), loss.ways(Ranking(), theta, many)) == (
        ["merge"],
        ["assignment"],
    )
    with pytest.raises(MissingCapability, match=r"query 0 has 60 documents of 30 grades.*levels_at"):
        Pairwise().bind(Ranking(), ()).augmented_best(Ranking(), theta, many)


@settings(max_examples=30)
@given(query=queries())
def test_losses_are_one_minus_the_measures(query):
    """NDCG, MAP and precision of the metrics, where a query has relevant documents."""
    theta, true = query
    structure = Ranking()
    codes = structure.best(theta).codes
    for (lo, hi), which in zip(zip(theta.offsets[:-1], theta.offsets[1:]), range(len(theta))):
        grades, scores = grades_of(true[lo:hi]), -ranks_of(codes[lo:hi]).astype(float)
        if not grades.any():
            continue
        for loss, measure in (
            (NDCG(k=3), ndcg([grades], [scores], 3)),
            (NDCG(discount="standard"), ndcg([grades], [scores], convention="standard")),
            (NDCG(gain="linear", discount="standard"), ndcg([grades], [scores], convention="linear")),
            (MeanAveragePrecision(), mean_average_precision([grades], [scores])),
        ):
            value = loss.bind(structure, ()).value(structure, theta, true, codes)[which]
            assert value == pytest.approx(1 - measure, abs=1e-12)
        best = precision_at([grades], [grades.astype(float)], 2)
        value = PrecisionAt(2).bind(structure, ()).value(structure, theta, true, codes)[which]
        assert value == pytest.approx(best - precision_at([grades], [scores], 2), abs=1e-12)


def test_names_and_pairs():
    """Losses of rankings by name; what does not fit is refused before any work."""
    assert resolve_loss("auto", Ranking(), ()).loss == NDCG()
    for name, kind in (
        ("ndcg", NDCG),
        ("map", MeanAveragePrecision),
        ("precision", PrecisionAt),
        ("pairwise", Pairwise),
    ):
        assert isinstance(resolve_loss(name, Ranking(), ()).loss, kind)
    with pytest.raises(MissingCapability, match="NDCG has no augmented maximum on Chain"):
        resolve_loss("ndcg", Chain(), ("a", "b"))
    with pytest.raises(MissingCapability, match="a Ranking has none: use task_loss='ndcg'"):
        resolve_loss(Hamming(), Ranking(), ())


def test_zero_one_counts_queries_out_of_the_order_of_their_grades(rng):
    """By enumeration: any order of equal grades is right, and the augmented maximum is over all orders."""
    structure, loss = Ranking(1.0), resolve_loss(ZeroOne(), Ranking(), ())
    grades = [[0, 2, 1, 1], [1, 1], [0, 1, 0]]
    true = RankingCodec().encode_outputs(grades, [4, 2, 3])
    offsets = np.array([0, 4, 6, 9])
    for scale in (0.1, 1.0, 5.0):
        theta = RankingTables(scale * rng.normal(size=9), offsets)
        found = loss.augmented_best(structure, theta, true)
        assert structure.score(theta, found.codes) + loss.value(
            structure, theta, true, found.codes
        ) == pytest.approx(found.values)
        for s, own in enumerate(grades):
            one = theta.take(np.array([s]))
            best = -np.inf
            for ranks in permutations(range(len(own))):
                by_rank = [grade for _, grade in sorted(zip(ranks, own))]
                wrong = by_rank != sorted(own, reverse=True)
                best = max(best, structure.score(one, np.array(ranks, np.int32))[0] + wrong)
            assert found.values[s] == pytest.approx(best)


def test_zero_one_trains_rankings(rng):
    X = [rng.normal(size=(4, 3)) for _ in range(30)]
    y = [x[:, 0].argsort().argsort() for x in X]
    for options in ({}, {"loss": "ramp"}, {"loss_options": LossOptions(rescaling="slack")}):
        model = SSVM(Ranking(), C=10.0, task_loss="zero_one", **options).fit(X, y)
        assert model.score(X, y) > 0.95


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (NDCG(k=0), "k must be a rank of at least 1"),
        (NDCG(gain="cubic"), "gain='cubic' is unknown"),
        (NDCG(gain=[1.0, 0.0]), "not 0 for the best order"),
        (NDCG(gain=[-1.0, 0.0]), "the loss would be negative"),
        (NDCG(discount=[1.0, 2.0]), None),
        (NDCG(discount="log"), "discount='log' is unknown"),
        (MeanAveragePrecision(relevant=0), "relevant must be a grade of at least 1"),
        (PrecisionAt(k=None), "PrecisionAt needs k"),
        (Pairwise(levels_at=(2, 1)), "levels_at must be increasing"),
        (Pairwise(levels_at=2), "levels_at must be increasing grades of at least 1, got 2"),
    ],
    ids=str,
)
def test_bad_settings(loss, message):
    """Settings are refused when the loss is bound, or with the first query that shows the flaw."""
    if message is not None:
        with pytest.raises(ValueError, match=message):
            loss.bind(Ranking(), ())
        return
    theta = RankingTables(np.zeros(2), np.array([0, 2]))
    with pytest.raises(ValueError, match=r"rank 2 has 2\.0, more than rank 1"):
        loss.bind(Ranking(), ()).augmented_best(Ranking(), theta, np.array([0 | 1 << 20, 1], np.int32))


def test_gains_must_reach_the_highest_grade():
    """A list of gains that is too short, and gains beyond a double."""
    theta = RankingTables(np.zeros(1), np.array([0, 1]))
    true = np.array([2 << 20], np.int32)
    with pytest.raises(ValueError, match="gain has 2 numbers, but there is grade 2"):
        NDCG(gain=[0.0, 1.0]).bind(Ranking(), ()).value(Ranking(), theta, true, true)
    with pytest.raises(ValueError, match="grade 1100 is too large; use gain='linear'"):
        NDCG().bind(Ranking(), ()).value(Ranking(), theta, np.array([1100 << 20], np.int32), true)


def test_cut_off_beyond_the_documents_is_none():
    """NDCG@k with k above the number of documents is NDCG."""
    rng = np.random.default_rng(1)
    theta = RankingTables(rng.normal(size=8), np.array([0, 8]))
    true = RankingCodec().encode_outputs([rng.integers(0, 3, 8)], [8])
    whole = NDCG().bind(Ranking(), ())
    cut = replace(NDCG(), k=50).bind(Ranking(), ())
    assert np.array_equal(
        whole.augmented_best(Ranking(), theta, true).values, cut.augmented_best(Ranking(), theta, true).values
    )


@pytest.mark.data
def test_ways_agree_on_ohsumed(monkeypatch):
    """Queries of up to 200 documents: merge and assignment, NDCG@10 and NDCG, and the sort where it serves."""
    from palmette.datasets import load_letor_ohsumed

    X, y = load_letor_ohsumed(1, "validation", return_X_y=True)
    X, y = X[:6], y[:6]
    theta = RankingTables(
        np.concatenate([x @ np.linspace(-1, 1, 45) for x in X]), np.cumsum([0, *map(len, X)]).astype(np.int64)
    )
    true = RankingCodec().encode_outputs(y, np.diff(theta.offsets))
    for structure, loss in ((Ranking(), NDCG(10)), (Ranking(), NDCG()), (Ranking("letor"), NDCG())):
        fixed = loss.bind(structure, ())
        usual = fixed.augmented_best(structure, theta, true).values
        with monkeypatch.context() as patched:
            patched.setattr(bound.BoundRankingLoss, "_ways", lambda *_: np.full(6, bound.ASSIGN))
            np.testing.assert_allclose(usual, fixed.augmented_best(structure, theta, true).values, rtol=1e-12)
