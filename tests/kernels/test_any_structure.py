"""Any learner takes a kernel on any structure: a linear kernel is the linear model, files and refusals."""

from __future__ import annotations

import io

import numpy as np
import pytest
from matrix import data

import palmette
from palmette import CRF, SSVM, Chain, Multiclass, Perceptron, PlackettLuce
from palmette.errors import MissingCapability
from palmette.kernels import RBF, Linear, Nystroem
from palmette.objectives.kernel_scorer import KernelScorer, MappedScorer

DATA = {name: own for name, own in data().items() if "kernel" not in own[0].lacks}
SUMS = [name for name in DATA if name not in ("Ranking", "Tracking")]
pytestmark = pytest.mark.filterwarnings("ignore::palmette.errors.EmptyModelWarning")


def fitted(learner, name, **options):
    structure, _, X, y = DATA[name]
    first = () if learner is PlackettLuce else (structure,)
    return learner(*first, **options).fit(X, y)


def outputs(model, name):
    return [np.asarray(y, object).tolist() for y in model.predict(DATA[name][2])]


@pytest.mark.parametrize(
    ("learner", "name", "options"),
    [
        *((CRF, name, {"l2": 0.5, "tol": 1e-7}) for name in SUMS),
        *((SSVM, name, {"l2": 0.5, "tol": 1e-5, "solver": "bundle"}) for name in DATA),
        *((SSVM, name, {"l2": 0.5, "tol": 1e-6, "loss": "soft_hinge"}) for name in SUMS),
        (PlackettLuce, "Ranking", {"l2": 0.5, "tol": 1e-7}),
    ],
    ids=lambda value: (
        getattr(value, "__name__", value) if not isinstance(value, dict) else value.get("loss", "")
    ),
)
def test_a_linear_kernel_is_the_linear_model(learner, name, options):
    own = {} if learner is PlackettLuce else {"fit_intercept": False}
    plain = fitted(learner, name, **options, **own)
    kernel = fitted(learner, name, **options, kernel=Linear())
    assert kernel.objective_ == pytest.approx(plain.objective_, rel=1e-4)
    assert outputs(kernel, name) == outputs(plain, name)


@pytest.mark.parametrize("name", DATA)
def test_a_perceptron_takes_the_same_steps_in_any_coordinates(name):
    plain = fitted(Perceptron, name, fit_intercept=False, max_iter=3)
    kernel = fitted(Perceptron, name, kernel=Linear(), max_iter=3)
    assert outputs(kernel, name) == outputs(plain, name)
    X = DATA[name][2]
    np.testing.assert_allclose(kernel.predict_score(X), plain.predict_score(X), atol=1e-6)


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("kernel", ["rbf", Nystroem(RBF(0.3), n_components=4)], ids=["exact", "nystroem"])
def test_files_keep_models_with_kernels(name, kernel):
    model = fitted(SSVM, name, kernel=kernel, C=1.0, tol=0.1)
    file = io.BytesIO()
    model.save(file)
    again, X = palmette.load(file), DATA[name][2]
    np.testing.assert_array_equal(again.predict_score(X), model.predict_score(X))


@pytest.mark.parametrize("name", ["Multiclass", "Chain", "Graph"])
def test_smo_and_every_other_solver_of_the_hinge_take_kernels(name):
    dual = fitted(SSVM, name, kernel="rbf", C=2.0, tol=1e-5, solver="frank_wolfe")
    assert isinstance(dual.scorer_, KernelScorer)
    for solver in ("smo", "bundle", "n_slack"):
        other = fitted(SSVM, name, kernel="rbf", C=2.0, tol=1e-5, solver=solver)
        assert isinstance(other.scorer_, MappedScorer), solver
        assert other.objective_ == pytest.approx(dual.objective_, rel=1e-4), solver


def test_a_perceptron_with_a_kernel_separates_what_no_line_does():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = (np.hypot(*X.T) > 1.1).astype(int)
    linear = Perceptron(Multiclass(), max_iter=20).fit(X, y)
    kernel = Perceptron(Multiclass(), kernel=RBF(1.0), max_iter=20).fit(X, y)
    assert linear.score(X, y) < 0.75 < 0.97 < kernel.score(X, y)


def test_partial_fit_with_a_kernel_is_refused():
    _, _, X, y = DATA["Chain"]
    with pytest.raises(MissingCapability, match=r"partial_fit sees one batch.*use fit"):
        Perceptron(Chain(), kernel="rbf").partial_fit(X, y, classes=["a", "b"])
