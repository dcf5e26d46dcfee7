"""CONTRAfold's and EternaFold's parameters on real sequences, against an independent scorer."""

from __future__ import annotations

import pytest

from palmette.apps.folding import Folder, evaluate_folds
from palmette.datasets import load_rna, load_rna_parameters
from palmette.structures.folding.brackets import parse_brackets
from palmette.structures.folding.feature_names import LOOP_MOST
from palmette.testing.folding_scores import evaluate, longest_two_sided_loop

pytestmark = pytest.mark.data


@pytest.fixture(scope="module")
def rna():
    return load_rna("contrafold151")


@pytest.fixture(scope="module")
def weights():
    return load_rna_parameters("contrafold")


@pytest.fixture(scope="module")
def folded(rna, weights):
    folder = Folder.from_parameters(weights)
    return list(folder.fold_all(rna.data, decode="viterbi", probabilities=False))


def test_no_structure_scores_higher_than_the_best(rna, weights, folded):
    RNA = pytest.importorskip("RNA")
    for sequence, reference, found in zip(rna.data, rna.target, folded):
        assert found.score == pytest.approx(evaluate(sequence, found.structure, weights), abs=1e-8)
        for other in (reference, RNA.fold(sequence)[0]):
            if longest_two_sided_loop(other) <= LOOP_MOST:
                assert found.score >= evaluate(sequence, other, weights) - 1e-8


def test_accuracy_with_published_parameters(rna, folded):
    report = evaluate_folds([parse_brackets(each) for each in rna.target], [each.pairs for each in folded])
    assert abs(report.f1 - 0.61) < 0.01
