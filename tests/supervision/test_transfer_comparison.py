"""Source, target, union and transfer in one comparison."""

from __future__ import annotations

import numpy as np
import pytest

from palmette import CRF, CRFCV, Multiclass, Perceptron, compare_transfer

RNG = np.random.default_rng(0)
X = RNG.normal(size=(240, 4))
DOMAINS = np.array(["old", "new", "older"])[np.arange(240) % 3]
SLOPE = np.where((DOMAINS == "new")[:, None], [2.0, -2.0, 0.0, 0.0], [2.0, 2.0, 0.0, 0.0])
Y = (X * SLOPE).sum(axis=1) + 0.3 * RNG.normal(size=240) > 0
FEW = {
    "settings": [{"l2": 0.1}, {"l2": 1.0}],
    "transfer_settings": [{"model__l2": 1.0, "rho": 0.1}, {"model__l2": 1.0, "rho": 1e6}],
    "cv": 2,
}


def test_strategies_and_their_samples():
    found = compare_transfer(CRF(Multiclass()), X, Y, DOMAINS, "new", share=(0.25, 0.5), **FEW)
    assert [(row.strategy, row.share, row.n_source, row.n_target) for row in found.rows] == [
        ("All source", 0.0, 160, 0), ("All target", 1.0, 0, 40),
        ("Partial target", 0.25, 0, 10), ("Union", 0.25, 160, 10), ("Transfer", 0.25, 160, 10),
        ("Partial target", 0.5, 0, 20), ("Union", 0.5, 160, 20), ("Transfer", 0.5, 160, 20),
    ]  # fmt: skip
    assert found.row("Transfer", 0.5).params["rho"] == 0.1  # domains contradict each other: not as one
    assert found.row("Transfer", 0.5).score > found.row("Union", 0.5).score + 0.1
    assert len(found.rows[0].tally) == 40
    difference = found.difference(found.row("Transfer", 0.5), found.row("Union", 0.5))
    assert difference.difference > 0.1 and difference.p_value < 0.05
    lines = str(found).splitlines()
    assert len(lines) == 9 and lines[0].split()[:4] == ["strategy", "share", "source", "target"]
    with pytest.raises(ValueError, match=r"2 rows of \('Union', None\)"):
        found.row("Union")


def test_test_samples_choose_nothing():
    """Other labels of test samples change scores, and neither settings nor weights."""
    test = np.flatnonzero(DOMAINS == "new")[:30]
    other = Y.copy()
    other[test] = ~Y[test]
    one, two = (
        compare_transfer(CRF(Multiclass()), X, labels, DOMAINS, "new", test=test, **FEW)
        for labels in (Y, other)
    )
    for a, b in zip(one.rows, two.rows):
        assert a.params == b.params
        assert a.score == pytest.approx(1.0 - b.score)


def test_the_same_seed_gives_the_same():
    one, two = (
        compare_transfer(CRF(Multiclass()), X, Y, DOMAINS, "new", random_state=3, tree={"old": "past", "older": "past",
                         "new": None, "past": None}, **FEW)
        for _ in range(2)
    )  # fmt: skip
    assert [row.score for row in one.rows] == [row.score for row in two.rows]


def test_a_learner_without_penalty_chooses_rho_alone():
    found = compare_transfer(Perceptron(Multiclass(), max_iter=3), X, Y, DOMAINS, "new", share=0.5, cv=2)
    assert found.row("Union").params == {} and set(found.row("Transfer").params) == {"rho"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"target": "future"},
            "target='future' and other domains need samples; the domains are 'old', 'new', 'older'",
        ),
        ({"domains": ["new"] * 240}, "target='new' and other domains need samples"),
        ({"domains": DOMAINS[:9]}, "domains has 9 entries, but there are 240 samples"),
        ({"share": 0.0}, "share must be above 0 and at most 1, got 0.0"),
        ({"share": 0.02}, "fewer than cv=2 folds: take a larger share"),
        ({"test": 1.0}, "test must be a share between 0 and 1"),
        ({"test": [0]}, "test has the sample 0, which is not of the target"),
        ({"test": [1, 999]}, "test must be a share, a mask of all 240 samples or numbers"),
        ({"test": np.zeros(240, bool)}, "test must be a share, a mask"),
        ({"settings": [{"l2": 1.0}]}, "there are 1 settings and 2 of Transfer: try as many of each"),
        ({"model": CRFCV(Multiclass())}, "does not take CRFCV"),
    ],
)
def test_refusals(options, message):
    given = {
        "model": CRF(Multiclass()),
        "X": X,
        "y": Y,
        "domains": DOMAINS,
        "target": "new",
        **FEW,
        **options,
    }
    with pytest.raises((ValueError, TypeError), match=message):
        compare_transfer(**given)
