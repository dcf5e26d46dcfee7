"""scikit-learn's estimator checks on ``Multiclass``, and ours on every structure."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from palmette import CRF, SSVM, Chain, Multiclass, Perceptron
from palmette.datasets import make_chains, make_tagging
from palmette.testing import check_structured_estimator


def waivers(estimator):
    """What a learner cannot promise, and why; nothing else is waived."""
    if not isinstance(estimator, Perceptron):
        return {}
    why = "the perceptron goes from sample to sample: a weight scales a step, a repetition is another step"
    return {f"check_sample_weight_equivalence_on_{kind}_data": why for kind in ("dense", "sparse")}


@parametrize_with_checks(
    [CRF(Multiclass()), SSVM(Multiclass(), tol=1e-3), Perceptron(Multiclass(), max_iter=50)],
    expected_failed_checks=waivers,
)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("learner", [CRF, SSVM, Perceptron])
@pytest.mark.parametrize("features", ["dense", "names"])
def test_structured_checks(learner, features):
    X, Y = (
        make_chains(12, 3, 3, random_state=1)
        if features == "dense"
        else make_tagging(12, 3, 12, random_state=1)
    )
    assert len(check_structured_estimator(learner(Chain()), X, Y)) > 10


@pytest.mark.parametrize("learner", [CRF, SSVM, Perceptron])
def test_structured_checks_on_items(learner):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 3))
    assert check_structured_estimator(learner(Multiclass()), X, np.argmax(X, axis=1).astype(str))


def test_the_check_can_fail():
    class Forgetful(CRF):
        def predict(self, X):
            return [labels[::-1] for labels in super().predict(X)]

    X, Y = make_chains(12, 3, 3, random_state=1)
    with pytest.raises(AssertionError, match="fails the check"):
        check_structured_estimator(Forgetful(Chain()), X, Y)
