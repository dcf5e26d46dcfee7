"""What the studies of output-kernel regression make of their runs."""

import pytest

from experiments.benchmarks import enzymes, sorr_ocr


def test_wrong_letters_are_counted_by_place():
    found = sorr_ocr.errors(["abc", "de", "f"], ["abd", "d", "fgh"])
    assert found == {"words": 1.0, "letters": pytest.approx((1 + 1 + 2) / 6)}
    assert sorr_ocr.errors(["ab"], ["ab"]) == {"words": 0.0, "letters": 0.0}


def test_a_target_is_judged_when_all_folds_are_there():
    run = {"protocol": "one", "learner": "SORR", "output": "dirac", "features": "pixels", "seconds": 1.0}
    runs = [{**run, "fold": fold, "words decoded": 0.06, "letters decoded": 0.04} for fold in range(10)]
    assert sorr_ocr.judged(runs[:9]) == [] and sorr_ocr.missed(runs) == []
    runs[0]["words decoded"] = 0.5
    assert sorr_ocr.missed(runs) == ["one, SORR, dirac, pixels: words %: 10.40, the bound is <= 7"]
    assert [table.title for table in sorr_ocr.summarise(runs)][:1] == ["Trained on one fold, tested on nine"]


def test_differences_are_paired_over_folds():
    run = {"protocol": "one", "output": "dirac", "features": "pixels", "seconds": 1.0}
    runs = [
        {**run, "learner": learner, "fold": fold, "words decoded": fold / 100 + more, "letters decoded": 0.01}
        for learner, more in (("SORR", 0.0), ("SOSC", 0.01))
        for fold in range(3)
    ]
    (row,) = sorr_ocr.pairs(sorr_ocr.by_kind(runs)).rows
    assert row == ["one, dirac, pixels", "3", "+1.00 ± 0.00", "+0.00 ± 0.00"]


def test_binomial_tails():
    """At the bounds of the interval the observed number is just in the tails."""
    from scipy.stats import binom

    low, high = enzymes.binomial_interval(30, 100)
    assert binom.sf(29, 100, low) == pytest.approx(0.05) and binom.cdf(30, 100, high) == pytest.approx(0.05)
    assert enzymes.binomial_interval(0, 10)[0] == 0.0


def test_regressions_must_beat_all_baselines():
    run = {"split": "given", "n": 100, "chosen": "", "seconds": 1.0}
    runs = [
        {**run, "learner": "nearest protein", "levels": 2.0, "wrong": 60},
        {**run, "learner": "SORR, dirac", "levels": 1.8, "wrong": 55},
    ]
    assert enzymes.missed(runs) == []
    runs[1] |= {"levels": 2.1}
    assert len(enzymes.missed(runs)) == 2
    runs[1] |= {"wrong": 61}
    assert len(enzymes.missed(runs)) == 4
    assert (
        enzymes.missed(runs)[3]
        == "given: regressions below all others, 0/1 risk %: 61.0, the bound is < 60.0"
    )
    (first, *_) = enzymes.summarise(runs)
    assert first.title == "Given split" and first.rows[0][2].startswith("60.0 (51.")


def test_bounds_of_random_splits_are_those_of_the_worst_regression():
    run = {"split": "random 0", "n": 100, "chosen": "", "seconds": 1.0}
    runs = [
        {**run, "learner": learner, "levels": levels, "wrong": wrong}
        for learner, levels, wrong in (
            ("SORR, dirac", 1.8, 57),
            ("SOSC, path", 1.7, 50),
            ("nearest protein", 2.0, 60),
        )
    ]
    assert enzymes.missed(runs) == ["random 0, all regressions: 0/1 risk %: 57.0, the bound is <= 56"]
    assert [row[2] for row in enzymes.judged(runs)] == ["1.800", "1.800", "57.0", "57.0"]


def test_all_spellings_of_new_words_are_free():
    run = {"protocol": "disjoint", "output": "letters", "features": "directions", "seconds": 1.0, "fold": 0}
    runs = [
        {**run, "learner": "letters", "words decoded": 0.5, "letters decoded": 0.1},
        {**run, "learner": "M3N", "words free": 0.8, "letters free": 0.2},
    ]
    (table, *_) = sorr_ocr.summarise(runs)
    assert table.header[2:4] == ["words", "letters"]
    assert [row[2:4] for row in table.rows] == [["50.00", "10.00"], ["80.00", "20.00"]]
