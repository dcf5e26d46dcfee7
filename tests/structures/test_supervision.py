"""Every structure under partial annotation, against enumeration; and structures that lie."""

from dataclasses import replace

import pytest

from palmette import Chain, Graph, Multiclass, Ranking, SemiMarkov
from palmette.data import Annotation
from palmette.structures import Best
from palmette.testing import check_supervision


@pytest.mark.parametrize(
    "structure", [Multiclass(), Chain(), Chain(order=2), Graph(), SemiMarkov(3), Ranking()], ids=str
)
def test_losses_of_partial_annotation(structure):
    report = check_supervision(structure, n_instances=8, random_state=1)
    assert report.n_annotations >= 5
    assert {"bridge", "perceptron"} <= set(report.checked)


class ForgetsSets(Chain):
    def agreeing(self, theta, codes):
        return super().agreeing(theta, getattr(codes, "known", codes))


class ForgetsUnknown(Chain):
    def best_agreeing(self, theta, codes):
        found = self.best(theta)
        return Best(found.codes, self.score(theta, found.codes))


class ForgetsPairs(Graph):
    def agreeing(self, theta, codes):
        return super().agreeing(theta, without_pairs(codes))


class ForgetsRivalsByPairs(Graph):
    def contradicting(self, theta, codes):
        return super().contradicting(theta, without_pairs(codes))


def without_pairs(codes):
    return replace(codes, pairs=None) if isinstance(codes, Annotation) else codes


@pytest.mark.parametrize("lie", [ForgetsSets, ForgetsUnknown, ForgetsPairs, ForgetsRivalsByPairs])
def test_lies_are_found(lie):
    with pytest.raises(AssertionError, match="by enumeration"):
        check_supervision(lie(), n_instances=8)
