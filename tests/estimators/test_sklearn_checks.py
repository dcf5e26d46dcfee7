"""scikit-learn's estimator checks on ``Multiclass``, and ours on every structure."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from palmette import CRF, SSVM, Chain, Multiclass, Perceptron
from palmette.datasets import make_chains, make_tagging
from palmette.testing import check_structured_estimator

EQUIVALENCE = [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")]


def waivers(estimator):
    """What a learner cannot promise, and why; nothing else is waived."""
    if isinstance(estimator, Perceptron):
        why = (
            "the perceptron goes from sample to sample: a weight scales a step, a repetition is another step"
        )
        return dict.fromkeys(EQUIVALENCE, why)
    if estimator.kernel is not None:
        why = "weights and repetitions have one optimum, which is reached to tol, not to the seventh digit"
        single = "kernels are computed in single precision, whose last digit depends on the rows beside"
        return {**dict.fromkeys(EQUIVALENCE, why), "check_methods_subset_invariance": single}
    if getattr(estimator, "loss", "") == "ramp":
        why = "the ramp loss is not convex: which minimum is found depends on the order of the samples"
        return dict.fromkeys(EQUIVALENCE, why)
    return {}


LEARNERS = [
    CRF(Multiclass()), SSVM(Multiclass(), tol=1e-3), SSVM(Multiclass(), loss="ramp", tol=1e-3),
    SSVM(Multiclass(), kernel="rbf", tol=1e-3), CRF(Multiclass(), kernel="rbf"), Perceptron(Multiclass(), max_iter=50),
]  # fmt: skip


@parametrize_with_checks(LEARNERS, expected_failed_checks=waivers)
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
