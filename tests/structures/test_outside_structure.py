"""A structure that palmette does not know: every learner, every generic solver, predictions, scores, files, checks."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from matching import CodeLoss, Matching, PairRestriction, PairTables, all_matchings, make_points
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score

from palmette import CRF, SSVM, LossOptions, Perceptron, load
from palmette.errors import MissingCapability
from palmette.solvers.registry import serving
from palmette.testing import Cost, Instance, Limit, Reference, check_structure

X, Y = make_points(10)


class MatchingReference(Reference):
    """Matchings from their definition; outputs are tuples of codes."""

    def instances(self, rng: np.random.Generator) -> Iterator[Instance]:
        for name, scale in (("moderate", 1.0), ("zeros", 0.0), ("large", 50.0)):
            left, right = np.array([2, 1, 3]), np.array([2, 0, 2])
            pair = scale * rng.normal(size=int((left * (right + 1)).sum()))
            yield Instance(name, PairTables(pair, left, right))

    def outputs(self, theta: PairTables, s: int) -> list[tuple[int, ...]]:
        return list(all_matchings(int(theta.n_left[s]), int(theta.n_right[s])))

    def score(self, theta: PairTables, s: int, y: tuple[int, ...]) -> float:
        return float(sum(theta.table(s)[i, code] for i, code in enumerate(y)))

    def counts(self, theta: PairTables, weights: Sequence[Mapping[tuple[int, ...], float]]) -> PairTables:
        out = theta.zeros()
        for s, outputs in enumerate(weights):
            for y, weight in outputs.items():
                for i, code in enumerate(y):
                    out.table(s)[i, code] += weight
        return out

    def pack(self, theta: PairTables, outputs: Sequence[tuple[int, ...]]) -> np.ndarray:
        return np.array([code for y in outputs for code in y], np.int32)

    def unpack(self, theta: PairTables, codes: np.ndarray) -> list[tuple[int, ...]]:
        bounds = theta.code_offsets.tolist()
        return [tuple(np.asarray(codes)[a:b].tolist()) for a, b in zip(bounds, bounds[1:])]

    def select(self, theta: PairTables, samples: Sequence[int]) -> PairTables:
        return theta.take(np.array(samples, np.int64))

    def zeros(self, theta: PairTables) -> PairTables:
        return theta.zeros()

    def parts(self, theta: PairTables, s: int, y: tuple[int, ...]) -> list[tuple[int, int]]:
        return list(enumerate(y))

    def draw_cost(self, rng: np.random.Generator, theta: PairTables, whole: bool) -> Cost:
        given = PairTables(rng.normal(size=len(theta.pair)), theta.n_left, theta.n_right)
        parts = [{place: float(v) for place, v in np.ndenumerate(given.table(s))} for s in range(len(theta))]
        return Cost("cost", given, parts)

    def select_cost(self, theta: PairTables, given: PairTables, samples: Sequence[int]) -> PairTables:
        return given.take(np.array(samples, np.int64))

    def draw_limits(self, rng: np.random.Generator, theta: PairTables) -> Iterator[Limit]:
        """Nothing is left: the output of the second sample, which has only one, is contradicted."""
        empty = np.zeros(int(theta.code_offsets[-1]), int)
        within = PairRestriction(contradicts=(empty,))
        yield Limit("within nothing", within, lambda s, y: any(y), contradicting=True)

    def select_within(
        self, theta: PairTables, given: PairRestriction, samples: Sequence[int]
    ) -> PairRestriction:
        rows = [r for s in samples for r in range(theta.code_offsets[s], theta.code_offsets[s + 1])]
        return PairRestriction(
            tuple(a[rows] for a in given.agrees), tuple(a[rows] for a in given.contradicts)
        )

    def draw_annotations(
        self, rng: np.random.Generator, theta: PairTables
    ) -> Iterator[list[tuple[int, ...]]]:
        outputs = [self.outputs(theta, s) for s in range(len(theta))]
        full = [own[rng.integers(len(own))] for own in outputs]
        yield full
        yield [tuple(code if rng.random() < 0.5 else -1 for code in y) for y in full]

    def contradicts(self, y: tuple[int, ...], annotation: Sequence[int]) -> bool:
        return any(known not in (-1, code) for code, known in zip(y, annotation))


def fitted(learner: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return learner.fit(X, Y)


def test_every_answer_against_enumeration():
    report = check_structure(Matching(), MatchingReference())
    assert set(report.checked) >= {"best", "worst", "best_contradicting", "expectation", "log_proba", "count"}
    assert {"k_best", "marginals", "sample"} <= set(report.missing)


LEARNERS = {
    "crf": CRF(Matching(), l2=0.1),
    "hinge": SSVM(Matching(), C=10.0),
    "zero_one": SSVM(Matching(), C=10.0, task_loss="zero_one"),
    "ramp": SSVM(Matching(), C=10.0, loss="ramp"),
    "soft_hinge": SSVM(Matching(), C=10.0, loss="soft_hinge"),
    "soft zero_one": SSVM(Matching(), C=10.0, loss="soft_hinge", task_loss="zero_one", tol=1e-2),
    "slack": SSVM(Matching(), C=10.0, loss_options=LossOptions(rescaling="slack")),
    "slack zero_one": SSVM(
        Matching(), C=10.0, task_loss="zero_one", loss_options=LossOptions(rescaling="slack")
    ),
    "perceptron": Perceptron(Matching()),
}


@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner(name):
    model = fitted(clone(LEARNERS[name]))
    assert model.score(X, Y) > 0.8
    test_X, test_Y = make_points(12, seed=1)
    predicted = model.predict(test_X)
    assert model.score(test_X, test_Y) > 0.8 and [sorted(y) for y in predicted[:3]] == predicted[:3]
    assert model.predict_score(test_X).shape == (12,)
    assert model.predict(model.encode(test_X)) == predicted
    assert model.predict([test_X[4], (np.empty((0, 2)), np.empty((0, 2)))]) == [predicted[4], []]


@pytest.mark.parametrize(
    ("name", "solver"),
    [
        (name, solver)
        for name, loss in (("crf", "log"), ("hinge", "hinge"), ("ramp", "ramp"), ("soft_hinge", "soft_hinge"),
                           ("slack", "rescaled hinge"), ("perceptron", "perceptron"))
        for solver in serving(loss, Matching())
        if solver not in ("auto", "linear_program")
    ],
)  # fmt: skip
def test_every_generic_solver(name, solver):
    """Whatever the registry says serves it reaches the optimum, or something that predicts as well."""
    learner = clone(LEARNERS[name]).set_params(solver=solver)
    if solver in ("subgradient", "pegasos"):
        learner.set_params(max_iter=200)
    assert fitted(learner).score(X, Y) > 0.8


def test_convex_solvers_agree():
    for name, solvers in (
        ("crf", ("lbfgs", "bundle")),
        ("hinge", ("bundle", "frank_wolfe", "one_slack", "n_slack")),
    ):
        found = [fitted(clone(LEARNERS[name]).set_params(solver=s, tol=1e-5)).objective_ for s in solvers]
        assert found == pytest.approx([found[0]] * len(found), rel=1e-4)


def test_probabilities_and_restrictions():
    model = fitted(CRF(Matching(), l2=0.1))
    assert np.all(model.log_proba(X, Y) <= 0.0)
    offsets = np.cumsum([0, *(len(left) for left, _ in X)])
    alone = np.zeros(offsets[-1], int)
    assert model.predict(X, within=PairRestriction(agrees=(alone,))) == [[] for _ in X]
    assert model.predict(X[:1], within=[PairRestriction(agrees=(alone[: offsets[1]],))]) == [[]]
    with pytest.raises(MissingCapability, match=r"k_best\(\)"):
        model.predict_nbest(X)
    with pytest.raises(MissingCapability, match=r"marginals\(\)"):
        model.predict_marginals(X)


def test_searches_and_warm_starts():
    assert cross_val_score(CRF(Matching(), l2=0.1), X, Y, cv=3).min() > 0.7
    model = CRF(Matching(), l2=0.1, warm_start=True).fit(X, Y)
    assert model.fit(X, Y).n_iter_ <= 2
    online = Perceptron(Matching())
    for _ in range(5):
        online.partial_fit(X, Y)
    assert online.score(X, Y) > 0.8


@pytest.mark.parametrize("name", ["crf", "hinge", "perceptron"])
def test_files(name):
    model = fitted(clone(LEARNERS[name]))
    file = io.BytesIO()
    model.save(file)
    file.seek(0)
    again = load(file)
    assert isinstance(again.structure, Matching) and again.predict(X) == model.predict(X)
    assert CodeLoss() == Matching.default_loss
