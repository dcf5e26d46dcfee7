"""Measures of alignments against their definitions."""

import numpy as np
import pytest

from palmette.apps.aligning.evaluation import evaluate_alignments
from palmette.apps.aligning.records import PairRecord, SequenceRecord


def random_pair(rng, n=9, m=8):
    letters = np.array(list("ACDEFG"))
    k = int(rng.integers(1, 7))
    matches = np.stack([np.sort(rng.choice(length, k, replace=False)) for length in (n, m)], axis=1)
    a, b = ("".join(rng.choice(letters, length)) for length in (n, m))
    return PairRecord(SequenceRecord("a", a), SequenceRecord("b", b), matches, rng.random(k) < 0.6)


def test_measures_are_their_definitions():
    rng = np.random.default_rng(0)
    for _ in range(30):
        reference, other = random_pair(rng), random_pair(rng)
        core, found = {tuple(c) for c in reference.core_matches}, {tuple(c) for c in other.matches}
        report = evaluate_alignments([reference], [other.matches])
        assert report.right[0] == len(core & found)
        assert report.recall == (len(core & found) / len(core) if core else 1.0)
        of_a, of_b = {i for i, _ in core}, {j for _, j in core}
        claimed = [c for c in found if c[0] in of_a or c[1] in of_b]
        assert report.precision == pytest.approx(len(core & found) / len(claimed) if claimed else 1.0)
        matched = {i for i, _ in reference.matches.tolist()}, {j for _, j in reference.matches.tolist()}
        gaps = [(0, i) for i in range(9) if i not in matched[0]] + [
            (1, j) for j in range(8) if j not in matched[1]
        ]
        filled = [g for g in gaps if any(c[g[0]] == g[1] for c in found)]
        assert report.over_alignment == pytest.approx(len(filled) / len(gaps) if gaps else 0.0)


def test_the_reference_itself_is_right():
    rng = np.random.default_rng(1)
    pairs = [random_pair(rng) for _ in range(20)]
    report = evaluate_alignments(pairs, [each.matches for each in pairs])
    assert (report.recall, report.precision, report.over_alignment) == (1.0, 1.0, 0.0)
    assert report.pooled == {"recall": 1.0, "precision": 1.0, "over_alignment": 0.0}


def test_bands_partition_the_pairs():
    rng = np.random.default_rng(2)
    pairs = [each for each in (random_pair(rng) for _ in range(60)) if each.core.any()]
    report = evaluate_alignments(pairs, [np.empty((0, 2), int)] * len(pairs))
    assert sum(n for _, n, _ in report.bands()) == len(pairs)
    assert report.recall == 0.0 and report.to_dict()["predicted_matches"] == 0
    assert "identity of columns" in report.format() and report.headline().startswith("recall 0.0000")


def test_bad_comparisons_are_refused():
    pair = PairRecord.from_rows("AC", "AC", name="p")
    with pytest.raises(ValueError, match="there are 1 references, but 0 predictions"):
        evaluate_alignments([pair], [])
    with pytest.raises(ValueError, match="nothing to compare"):
        evaluate_alignments([], [])
    with pytest.raises(ValueError, match=r"p: the match \(0, 2\) is outside"):
        evaluate_alignments([pair], [[(0, 2)]])
    with pytest.raises(ValueError, match="p: the reference has no alignment"):
        evaluate_alignments([PairRecord(pair.a, pair.b, name="p")], [[]])
