"""Wrong input and wrong combinations: a clear message, before any work, and never a crash inside a kernel."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import palmette
from palmette import CRF, SSVM, UNKNOWN, Chain, Graph, LossOptions, Multiclass, Perceptron, SemiMarkov
from palmette.datasets import make_chains
from palmette.errors import InfeasibleError, MissingCapability, ModelFileError
from palmette.losses import Hamming, ZeroOne
from palmette.solvers import LBFGS, AveragedPerceptron, FrankWolfe, Stochastic
from palmette.structures import ChainTables, Restriction, SegmentRestriction


@pytest.fixture(scope="module")
def chains():
    return make_chains(20, 3, 4, mean_length=5, random_state=0)


def tables(rows=6, labels=3, offsets=(0, 4, 6), n_edge=1, rng=None):
    rng = rng or np.random.default_rng(0)
    return ChainTables(
        rng.normal(size=(rows, labels)), rng.normal(size=(n_edge, labels, labels)), np.array(offsets)
    )


def test_tables_that_do_not_fit_together_never_reach_a_kernel():
    chain, theta = Chain(), tables()
    for offsets in ((0, 4), (0, 400), (1, 6)):
        with pytest.raises(ValueError, match="offsets must be int64 from 0 to the number of rows"):
            chain.best(tables(offsets=offsets))
    with pytest.raises(ValueError, match="sample 1 has no positions"):
        chain.best(tables(offsets=(0, 4, 4, 6)))
    with pytest.raises(TypeError, match="C-contiguous arrays of float64"):
        chain.best(ChainTables(theta.node.astype(np.float32), theta.edge, theta.offsets))
    with pytest.raises(ValueError, match=r"cost\.edge has shape \(3, 3, 3\)"):
        chain.log_partition(theta, cost=tables(n_edge=3))
    with pytest.raises(ValueError, match=r"cost\.node has shape \(1, 3\)"):
        chain.best(theta, cost=tables(rows=1, offsets=(0, 1)))
    with pytest.raises(TypeError, match="cost must be ChainTables"):
        chain.best(theta, cost=theta.node)
    with pytest.raises(TypeError, match="within must be a Restriction"):
        chain.best(theta, within=theta.node > 0)
    with pytest.raises(ValueError, match="into has tables of shape"):
        chain.count(theta, np.zeros(6, int), into=tables(rows=2, offsets=(0, 2)))
    with pytest.raises(ValueError, match="risk has shape"):
        chain.min_risk(theta, np.eye(2))
    assert Restriction(node=[[True, False]] * 2).node.shape == (2, 2)


@pytest.mark.parametrize("structure", [Chain(), Chain(order=2), SemiMarkov(2), Graph()], ids=str)
@pytest.mark.filterwarnings("ignore:lbfgs stopped")
def test_restrictions_of_the_wrong_kind(structure):
    X, Y = make_chains(6, 3, 2, mean_length=4, random_state=0)
    if isinstance(structure, SemiMarkov):
        Y = [[(t, t + 1, label) for t, label in enumerate(y)] for y in Y]
    if isinstance(structure, Graph):
        X = [(x, [(t, t + 1) for t in range(len(x) - 1)]) for x in X]
    model = CRF(structure, max_iter=2).fit(X, Y)
    rows, labels = sum(map(len, Y)), len(model.classes_)
    n_codes = 2 * labels if isinstance(structure, SemiMarkov) else labels

    def complaint(kind, **parts):
        with pytest.raises(kind) as caught:
            model.predict(X, within=Restriction(**parts))
        return str(caught.value)

    codes = np.full(rows, -1)
    codes[2] = n_codes
    message = f"within.contradicts[2] = {n_codes} is not a code; expected 0..{n_codes - 1}, or -1"
    assert message in complaint(ValueError, contradicts=codes)
    codes[2] = -2
    assert "within.contradicts[2] = -2 is not a code" in complaint(ValueError, contradicts=codes)
    for wrong in (0.5, "a", True):
        found = complaint(TypeError, contradicts=np.full(rows, wrong))
        assert "within.contradicts has dtype" in found and "expected integer codes" in found
    for name, shape in (("node", (rows, labels)), ("edge", (1, labels, labels))):
        for kind in (float, int, object):
            assert f"within.{name} has dtype" in complaint(TypeError, **{name: np.ones(shape, kind)})
    if isinstance(structure, SemiMarkov):
        with pytest.raises(TypeError, match=r"within\.segment has dtype float64, expected bool"):
            model.predict(X, within=SegmentRestriction(segment=np.ones((rows, 2, labels))))
    else:
        with pytest.raises(
            TypeError, match="is a SegmentRestriction, which is for segments, but the potentials are"
        ):
            model.predict(X, within=SegmentRestriction(segment=np.ones((rows, 2, labels), bool)))


def test_badly_scaled_features_are_not_called_converged_early(chains):
    X, Y = chains
    rng = np.random.default_rng(1)
    far = [np.hstack([x, 2e6 + 1e5 * rng.normal(size=(len(x), 1))]) for x in X]
    good, model = (CRF(Chain(), l2=1.0).fit(inputs, Y) for inputs in (X, far))
    assert model.objective_ < good.objective_ * 1.2 or not model.result_.converged


def test_history_of_the_stochastic_solver_is_honest(chains):
    best = CRF(Chain(), tol=1e-9).fit(*chains).objective_
    seen = CRF(Chain(), solver="stochastic").fit(*chains).result_.history
    known = [step for step in seen if not np.isnan(step.primal)]
    assert known and all(step.primal >= best - 1e-9 and step.lower <= best + 1e-9 for step in known)


def test_warm_start_across_solvers(chains):
    model = SSVM(Chain(), solver="bundle", warm_start=True).fit(*chains)
    with pytest.raises(MissingCapability, match="does not have them"):
        model.set_params(solver="frank_wolfe").fit(*chains)


def test_zero_one_is_never_silently_hamming():
    class Unlinked(Chain):
        has_edges = False

    assert type(ZeroOne().bind(Unlinked(), ("a", "b"))).__name__ == "ContradictionLoss"
    assert type(ZeroOne().bind(Multiclass(), ("a", "b"))).__name__ == "PartsLoss"


def test_a_subclass_is_honoured_by_sequential_solvers(chains):
    class Counting(Chain):
        calls = 0

        def best(self, theta, **options):
            Counting.calls += 1
            return super().best(theta, **options)

    Perceptron(Counting(), max_iter=1).fit(*chains)
    assert Counting.calls >= len(chains[0])


def test_wrong_combinations_of_learner_and_solver(chains):
    with pytest.raises(MissingCapability, match="perceptron loss only, not LogLoss"):
        CRF(Chain(), solver="perceptron").fit(*chains)
    with pytest.raises(TypeError, match="solver must be one of"):
        CRF(Chain(), solver=LBFGS).fit(*chains)
    with pytest.raises(TypeError, match="task_loss must be a name, a table of costs or an object"):
        SSVM(Chain(), task_loss=Hamming).fit(*chains)
    for wrong in ({"max_iter": 0}, {"tol": -1.0}, {"random_state": -1}):
        for solver in (FrankWolfe, Stochastic, AveragedPerceptron):
            with pytest.raises(ValueError, match=f"{next(iter(wrong))} must be a number"):
                solver(**wrong)
    with pytest.raises(ValueError, match="rate must be a number > 0"):
        Stochastic(rate=0.0)


@pytest.mark.parametrize(
    ("learner", "solvers"),
    [
        (Perceptron(Chain()), ("lbfgs", "smo", "frank_wolfe", "dual")),
        (SSVM(Chain(), loss_options=LossOptions(rescaling="slack")), ("lbfgs", "dual")),
        (SSVM(Chain()), ("lbfgs", "dual")),
        (CRF(Chain(), l2=1.0), ("smo", "frank_wolfe")),
    ],
)
def test_solvers_named_in_a_refusal_are_not_refused(chains, learner, solvers):
    X, Y = chains[0][:6], chains[1][:6]
    for solver in solvers:
        with pytest.raises(MissingCapability) as refusal:
            clone(learner).set_params(solver=solver).fit(X, Y)
        named = re.findall(r"'(\w+)'", str(refusal.value).partition("use solver=")[2])
        assert named
        for other in named:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                clone(learner).set_params(solver=other, max_iter=2).fit(X, Y)


def test_scores_that_are_no_numbers():
    message = r"sample 1 \(length 2\): its scores are NaN or infinite.*scale the features"
    for bad in ([np.nan, np.nan], [np.nan, 0.0]):
        theta = ChainTables(np.array([[0.0, 0.0], bad, bad]), np.zeros((1, 2, 2)), np.array([0, 1, 3]))
        for answer in (Chain().best, Chain().log_partition, Chain().expectation):
            with pytest.raises(ValueError, match=message) as caught:
                answer(theta)
            assert not isinstance(caught.value, InfeasibleError)


def test_numpy_numbers_are_numbers(chains):
    model = CRF(Chain(), max_iter=np.int64(50), tol=np.float32(1e-3), n_jobs=np.int64(2)).fit(*chains)
    assert model.n_iter_ <= 50


def test_arguments_of_the_wrong_kind(chains):
    for argument, message in (
        ({"C": "1"}, "C must be > 0 and finite"),
        ({"C": float("inf")}, "no penalty is l2=0"),
        ({"classes": 3}, "classes must be a list"),
        ({"classes": "AB"}, "classes must be a list"),
        ({"callbacks": print}, "callbacks must be a list"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            CRF(Chain(), **argument).fit(*chains)


def test_files_of_foreign_classes(chains, tmp_path):
    class Mine(CRF):
        pass

    with pytest.raises(TypeError, match="cannot hold a Mine"):
        Mine(Chain()).fit(*chains).save(tmp_path / "m.palmette")
    model = CRF(Chain()).fit(*chains)
    model.structure = Multiclass()
    file = io.BytesIO()
    model.save(file)
    with pytest.raises(ModelFileError, match="do not belong together"):
        palmette.load(file)


def test_labels_keep_their_kind():
    model = CRF(Multiclass()).fit(np.eye(3), ["x", 1.5, (1, 2)])
    assert set(model.classes_.tolist()) == {"x", 1.5, (1, 2)}


def test_unknown_positions_do_not_count_in_the_score(chains):
    X, Y = chains
    model = CRF(Chain()).fit(X, Y)
    predicted = model.predict(X)
    assert model.score(X, [[UNKNOWN, *y[1:]] for y in predicted]) == 1.0


def test_pair_costs_win_over_label_costs():
    one = Hamming({("O", "B"): 5.0, "O": 0.5}).bind(Chain(), ("B", "O")).table
    two = Hamming({"O": 0.5, ("O", "B"): 5.0}).bind(Chain(), ("B", "O")).table
    assert np.array_equal(one, two) and one[1, 0] == 5.0


OVERLAPPING_FITS = """
import threading
from threadpoolctl import threadpool_info
from palmette import CRF, Chain
from palmette.datasets import make_chains

def blas():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

before = blas()
data = make_chains(20, 3, 4, mean_length=5, random_state=0)
threads = [threading.Thread(target=CRF(Chain(), n_jobs=2).fit, args=data) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(set(before), set(blas()))
"""


FIRST_THREAD_LIVES_ON = """
import threading
from threadpoolctl import threadpool_info
from palmette.executors.threads import ThreadExecutor

def blas():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

before, inside, done = blas(), threading.Event(), threading.Event()
second = ThreadExecutor()

def first():
    with ThreadExecutor():
        inside.set()
        done.wait()
    left.set()
    end.wait()

left, end = threading.Event(), threading.Event()
thread = threading.Thread(target=first)
thread.start()
inside.wait()
with second:
    done.set()
    left.wait()
print(set(before), set(blas()))
end.set()
"""


@pytest.mark.parametrize("program", [OVERLAPPING_FITS, FIRST_THREAD_LIVES_ON])
def test_overlapping_fits_leave_blas_as_it_was(program):
    """In a process of its own, since BLAS has one thread in this one."""
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "2"}
    result = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert result.stdout.split() == ["{2}", "{2}"], result.stderr


def test_partial_fit_hears_callbacks_and_refuses_other_classes(chains):
    X, Y = chains
    seen = []
    model = Perceptron(Chain(), callbacks=[seen.append])
    labels = sorted({label for y in Y for label in y})
    model.partial_fit(X, Y, classes=labels).partial_fit(X, Y)
    assert len(seen) == 2
    with pytest.raises(ValueError, match="differs from the labels of the earlier calls"):
        model.partial_fit(X, Y, classes=[*labels, "new"])
    with pytest.raises(ValueError, match="X is empty"):
        model.partial_fit([], [])


def test_a_stopped_frank_wolfe_goes_on_as_if_it_had_not_stopped(chains):
    from problems import make_problem
    from sklearn.exceptions import ConvergenceWarning

    with make_problem(np.random.default_rng(0), "dense", surrogate="hinge", l2=0.05) as problem:
        with pytest.warns(ConvergenceWarning):
            whole = FrankWolfe(max_iter=30, tol=1e-12).solve(problem)
            part = FrankWolfe(max_iter=13, tol=1e-12).solve(problem)
            rest = FrankWolfe(max_iter=17, tol=1e-12).solve(problem, state=part.state)
    # The same path; stopping looked at one more point on it, which can only have helped.
    assert np.array_equal(whole.state.active.w, rest.state.active.w)
    assert rest.primal <= whole.primal and rest.lower >= whole.lower
