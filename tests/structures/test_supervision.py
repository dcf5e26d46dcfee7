"""Every structure under partial annotation, against enumeration; and structures that lie."""

from dataclasses import replace

import pytest

from palmette import (
    ActiveLearner,
    Alignment,
    Chain,
    Folding,
    Graph,
    Multiclass,
    Ranking,
    SemiMarkov,
    Tracking,
    Transfer,
)  # fmt: skip
from palmette.data import Annotation
from palmette.structures import Best
from palmette.testing import check_supervision
from palmette.testing.reference import reference_for


@pytest.mark.parametrize(
    "structure",
    [
        Multiclass(), Chain(), Chain(order=2), Graph(), SemiMarkov(3), Ranking(), Folding(), Alignment(),
        Tracking(("move", "appear", "disappear"), max_distance=4.0),
    ],
    ids=str,
)  # fmt: skip
def test_every_structure_learns_from_cheap_data(structure):
    report = check_supervision(structure, n_instances=8, random_state=1)
    assert report.n_annotations >= 5
    assert {"bridge", "perceptron", "active questions", "transfer"} <= set(report.checked)


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


ASKABLE = ActiveLearner._askable


def leaves_one_out(learner):
    return ASKABLE(learner)[1:]


def keeps_the_answer(learner):
    return [learner._state.open[max(learner._state.open)]]


@pytest.mark.parametrize(
    "name, lie, words",
    [("_askable", leaves_one_out, "parts are asked"), ("undo", keeps_the_answer, "undo")],
)
def test_learners_that_ask_wrongly_are_found(name, lie, words, monkeypatch):
    monkeypatch.setattr(ActiveLearner, name, lie)
    with pytest.raises(AssertionError, match=words):
        check_supervision(Chain(), n_instances=1)


def test_weights_out_of_balance_are_found(monkeypatch):
    keep = Transfer._keep

    def doubled(self, learner, tree):
        keep(self, learner, tree)
        self.coef_[1:] *= 2.0

    monkeypatch.setattr(Transfer, "_keep", doubled)
    with pytest.raises(AssertionError, match="l2 w differs from rho sum v"):
        check_supervision(Chain(), n_instances=1)


def test_a_check_of_no_annotation_is_no_check(monkeypatch):
    monkeypatch.setattr(type(reference_for(Chain())), "draw_annotations", lambda self, rng, theta: [])
    with pytest.raises(AssertionError, match="no annotation of 1 instances could be checked: give more"):
        check_supervision(Chain(), n_instances=1)
