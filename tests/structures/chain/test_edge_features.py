"""Features on edges: potentials by definition, the adjoint, gradients, learners, files, growth, refusals."""

from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pytest
from problems import CLASSES, make_samples
from scipy import sparse

import palmette
from palmette import CRF, SSVM, Chain, Encoding, Multiclass, Perceptron
from palmette.executors.threads import ThreadExecutor
from palmette.loops import find
from palmette.losses import Hamming, resolve_loss
from palmette.objectives.risk import Risk
from palmette.regularizers.elastic import ElasticNet
from palmette.structures.positions.edge_scorer import EdgeScorer
from palmette.structures.positions.linear_scorer import LinearScorer
from palmette.structures.positions.tables import ChainTables
from palmette.surrogates import Hinge, LogLoss

KINDS = ["dense", "sparse", "names"]


def make_scorer(samples, kind, order=1, only_edges=False, possible=None, columns=None):
    observed = "observed" if kind == "names" else "all"
    plain = LinearScorer.for_data(
        samples.batch, samples.codes, 3, states=observed, transitions=observed, intercept=kind != "names",
        has_edges=True,
    )  # fmt: skip
    if columns is None:
        columns = np.arange(samples.batch.n_columns) % 2 == 0
    return EdgeScorer.extending(
        plain, samples.batch, samples.codes, states=observed, transitions=observed, order=order,
        edge_columns=columns, only_edges=only_edges, possible=possible,
    )  # fmt: skip


def dense_rows(batch):
    """Feature rows as an array, from the definition of sparse rows."""
    if isinstance(batch.rows, np.ndarray):
        return batch.rows
    out = np.zeros(batch.rows.shape)
    for t in range(len(out)):
        for p in range(batch.rows.indptr[t], batch.rows.indptr[t + 1]):
            out[t, batch.rows.indices[p]] += batch.rows.values[p] if len(batch.rows.values) else 1.0
    return out


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("only_edges", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_potentials_by_definition(rng, kind, only_edges, order):
    if kind == "dense" and only_edges:
        pytest.skip("columns of dense arrays always stand on positions")
    samples = make_samples(rng, kind, Chain())
    scorer = make_scorer(samples, kind, order, only_edges)
    w = rng.normal(size=scorer.n_params)
    theta = scorer.score(w, samples.batch)
    theta.check()
    x, blocks, n = dense_rows(samples.batch), scorer.blocks, 3
    node = np.zeros_like(theta.node)
    for a, k, weight in zip(*scorer.coordinates(), w[blocks["node"]]):
        node[:, k] += x[:, a] * weight
    if scorer.intercept:
        node += w[blocks["bias"]]
    np.testing.assert_allclose(theta.node, node, atol=1e-12)
    e = 0
    for lo, hi in zip(samples.batch.offsets, samples.batch.offsets[1:]):
        for t in range(lo + 1, hi):
            table = scorer.edge_table(w)[0].copy()
            for a, i, j, weight in zip(*scorer.edge_coordinates(), w[blocks["edge_features"]]):
                table[i, j] += x[t, a] * weight
            np.testing.assert_allclose(theta.edge[e], table, atol=1e-12)
            e += 1
    assert e == len(theta.edge)
    if order == 2:
        for code, weight in zip(scorer.triples, w[blocks["edge2"]]):
            assert theta.triple[0, code // n // n, code // n % n, code % n] == weight
        assert np.count_nonzero(theta.triple) == len(scorer.triples)
    assert [block.stop for block in blocks.values()][:-1] == [block.start for block in blocks.values()][1:]


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_pull_back_is_the_adjoint_of_score(rng, kind, order):
    samples = make_samples(rng, kind, Chain())
    scorer = make_scorer(samples, kind, order)
    w = rng.normal(size=scorer.n_params)
    theta = scorer.score(w, samples.batch)
    triple = None if order == 1 else rng.normal(size=theta.triple.shape)
    counts = ChainTables(
        rng.normal(size=theta.node.shape), rng.normal(size=theta.edge.shape), theta.offsets, triple
    )
    back = np.zeros(scorer.n_params)
    scorer.pull_back(counts, samples.batch, back)
    assert theta.dot(counts) == pytest.approx(w @ back, rel=1e-12)
    for i in range(len(samples.batch)):  # and what a sample can change is named
        one = samples.batch.slice(i, i + 1)
        free = scorer.score(np.zeros(scorer.n_params), one).zeros()
        shapes = ChainTables(np.ones_like(free.node), np.ones_like(free.edge), free.offsets)
        alone = np.zeros(scorer.n_params)
        if triple is not None:
            shapes = replace(shapes, triple=np.ones_like(triple))
        scorer.pull_back(shapes, one, alone)
        at = scorer.touched(one)
        assert len(np.unique(at)) == len(at)
        assert set(np.flatnonzero(alone)) <= set(at)


def test_observed_pairs_are_those_of_edges_into_a_column():
    X = [[["a"], ["b"], ["a", "c"]], [["c"]]]
    model = CRF(Chain(), edge_features="all").fit(X, [["x", "y", "y"], ["y"]])
    scorer, names = model.scorer_, model.encoder_.feature_names
    found = {(names[a], model.classes_[i], model.classes_[j]) for a, i, j in zip(*scorer.edge_coordinates())}
    assert found == {
        ("b", "x", "y"),
        ("a", "y", "y"),
        ("c", "y", "y"),
    }  # neither the first a nor the single c


def test_a_prefix_stands_on_edges_only():
    X, Y = [[["w:a", "B:a"], ["w:b", "B:b"]]], [["x", "y"]]
    model = CRF(Chain(), edge_features=["B:"], encoding=Encoding(states="all")).fit(X, Y)
    names = model.encoder_.feature_names
    on_nodes = {names[a] for a in model.scorer_.coordinates()[0]}
    on_edges = {names[a] for a in model.scorer_.edge_coordinates()[0]}
    assert on_nodes == {"w:a", "w:b"} and on_edges == {"B:a", "B:b"}
    both = CRF(
        Chain(), edge_features=lambda name: name.startswith("B:"), encoding=Encoding(states="all")
    ).fit(X, Y)
    assert len(both.coef_) == len(model.coef_) + 4
    assert both.predict(X) == model.predict(X) == Y


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("order", [1, 2])
def test_gradient_of_the_log_loss(rng, kind, order):
    samples = make_samples(rng, kind, Chain())
    scorer = make_scorer(samples, kind, order)
    n = scorer.n_params
    with ThreadExecutor(1) as executor:
        problem = Risk(
            Chain(order), scorer, LogLoss(), samples, ElasticNet(np.ones(n), np.zeros(n)), executor
        )
        assert order == 1 or find("stochastic", problem) is None
        w, v = rng.normal(size=(2, n))
        slope = problem.loss(w)[1] @ v
        eps = 1e-4
        values = [problem.loss(w + h * eps * v)[0] for h in (-2, -1, 1, 2)]
        assert (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * eps) == pytest.approx(
            slope, abs=1e-6
        )
        hinge = Hinge(resolve_loss(Hamming(), Chain(order), CLASSES))
        rough = Risk(Chain(order), scorer, hinge, samples, problem.regularizer, executor)
        value, gradient = rough.loss(w)
        for _ in range(5):
            u = rng.normal(size=n)
            assert rough.loss(u)[0] >= value + gradient @ (u - w) - 1e-9


# ---------------------------------------------------------------------------------------------------- learners


def switches(rng, n=40):
    """Labels that keep or change as the word says: only an edge feature can know."""
    X, Y = [], []
    for _ in range(n):
        words = [rng.choice(["same", "other"]) for _ in range(6)]
        label, labels = int(rng.integers(2)), []
        for t, word in enumerate(words):
            label = label if t == 0 or word == "same" else 1 - label
            labels.append("ab"[label])
        X.append([["first:" + labels[0]] * (t == 0) + ["w:" + word] for t, word in enumerate(words)])
        Y.append(labels)
    return X, Y


@pytest.mark.parametrize(
    "learner",
    [
        CRF(Chain(), edge_features="all", l2=0.1),
        CRF(Chain(), edge_features=["w:"], l2=0.1, solver="stochastic"),
        CRF(Chain(order=2), edge_features="all", l2=0.1),
        SSVM(Chain(), edge_features="all", C=10.0),
        SSVM(Chain(), edge_features="all", C=10.0, solver="frank_wolfe"),
        SSVM(Chain(), edge_features="all", C=10.0, task_loss="zero_one", tol=0.05),
        Perceptron(Chain(), edge_features="all", max_iter=20),
    ],
)
@pytest.mark.filterwarnings("ignore:stochastic stopped")
def test_learners_use_them(rng, learner):
    X, Y = switches(rng)
    X_test, Y_test = switches(np.random.default_rng(1))
    assert learner.fit(X, Y).score(X_test, Y_test) == 1.0
    assert type(learner)(Chain()).fit(X, Y).score(X_test, Y_test) < 0.9
    file = io.BytesIO()
    learner.save(file)
    again = palmette.load(file)
    assert np.array_equal(again.coef_, learner.coef_) and again.predict(X_test) == learner.predict(X_test)
    assert type(again.scorer_) is EdgeScorer


def test_values_of_arrays_scale_the_weights(rng):
    lengths = rng.integers(1, 5, 20)
    dense = [np.round(rng.normal(size=(m, 3)), 1) * (rng.random((m, 3)) < 0.6) for m in lengths]
    Y = [rng.integers(0, 2, m).tolist() for m in lengths]
    settings = {"edge_features": [0, 2], "tol": 1e-10, "fit_intercept": False}
    one = CRF(Chain(), **settings).fit(dense, Y)
    other = CRF(Chain(), **settings).fit([sparse.csr_array(x) for x in dense], Y)
    np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-5)
    np.testing.assert_allclose(one.predict_score(dense), other.predict_score(dense), atol=1e-5)
    assert len(one.coef_[one.scorer_.blocks["edge_features"]]) == 2 * 4


def test_edge_penalty_is_theirs(rng):
    X, Y = switches(rng, 10)
    free = CRF(Chain(), edge_features="all", l2_edge=0.01).fit(X, Y)
    tight = CRF(Chain(), edge_features="all", l2_edge=100.0).fit(X, Y)
    block = free.scorer_.blocks["edge_features"]
    assert np.abs(tight.coef_[block]).max() < 0.1 * np.abs(free.coef_[block]).max()


def test_warm_start_matches_names_and_labels(rng):
    X, Y = switches(rng, 10)
    model = CRF(Chain(order=2), edge_features="all", warm_start=True, tol=1e-9).fit(X, Y)
    renamed = [[[*names, "new"] for names in reversed(sentence)][::-1] for sentence in X]
    wider = CRF(Chain(order=2), edge_features="all", classes=["z", "b", "a"], tol=1e-9)
    data_scorer = wider.fit(renamed, Y).scorer_
    names = {name: k for k, name in enumerate(wider.encoder_.feature_names)}
    columns = np.array([names[name] for name in model.encoder_.feature_names])
    carried = data_scorer.carry_over(model.scorer_, model.coef_, np.array([2, 1]), columns)
    wider.coef_ = carried
    np.testing.assert_allclose(wider.log_proba(renamed[:1], Y[:1]) < 0, True)
    theta = wider.scorer_.score(carried, wider.encoder_.transform(renamed))
    old = model.scorer_.score(model.coef_, model.encoder_.transform(X))
    swap = np.array([2, 1])  # codes of a and b
    np.testing.assert_allclose(theta.node[:, swap], old.node, atol=1e-12)
    np.testing.assert_allclose(theta.edge[:, swap][:, :, swap], old.edge, atol=1e-12)
    np.testing.assert_allclose(theta.triple[0][np.ix_(swap, swap, swap)], old.triple[0], atol=1e-12)
    cold = model.n_iter_
    assert model.fit(X, Y).n_iter_ < cold


def test_partial_fit_grows_the_layout(rng):
    X, Y = switches(rng, 30)
    model = Perceptron(Chain(order=2), edge_features="all", encoding=Encoding(transitions="observed"))
    for start in range(0, 30, 3):
        model.partial_fit(X[start : start + 3], Y[start : start + 3], classes=["a", "b"])
    for _ in range(3):
        model.partial_fit(X, Y)
    assert model.score(X, Y) == 1.0
    whole = Perceptron(Chain(order=2), edge_features="all", encoding=Encoding(transitions="observed")).fit(
        X, Y
    )
    assert np.array_equal(model.scorer_.triples, whole.scorer_.triples)
    assert len(model.scorer_.edge_pair) == len(whole.scorer_.edge_pair)


def test_blocks_of_rows_change_nothing(rng, monkeypatch):
    from palmette.structures.positions import edge_scorer

    X, Y = switches(rng, 40)
    model = CRF(Chain(), edge_features="all").fit(X, Y)
    whole = model.predict_marginals(X)
    monkeypatch.setattr(edge_scorer, "TABLES_A_BLOCK", 4 * 12)
    assert model.scorer_.rows_a_block == 12
    for one, other in zip(whole, model.predict_marginals(X), strict=True):
        np.testing.assert_array_equal(one, other)


# --------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (
            CRF(Chain(), edge_features="w:"),
            "edge_features='w:' is unknown: give 'all', a list of prefixes such as",
        ),
        (CRF(Chain(), edge_features=["q:"]), "no feature name starts with 'q:'; one that there is: 'first:"),
        (SSVM(Chain(), edge_features=[3]), r"prefixes, strings that are not empty; got \[3\]"),
        (
            Perceptron(Chain(), edge_features=7),
            "must be None, 'all', a list of prefixes or a function, got 7",
        ),
    ],
)
def test_bad_selections_are_refused(rng, learner, message):
    with pytest.raises((TypeError, ValueError), match=message):
        learner.fit(*switches(rng, 3))


@pytest.mark.parametrize(
    ("which", "message"),
    [
        (["a"], "list of column numbers, got"),
        ([0, 5], r"names column 5; X has the columns 0..1"),
        (len, "column numbers"),
    ],
)
def test_bad_columns_are_refused(which, message):
    with pytest.raises((TypeError, ValueError), match=message):
        CRF(Chain(), edge_features=which).fit([np.eye(2)], [["a", "b"]])


def test_no_edges_no_edge_features():
    with pytest.raises(ValueError, match="edge_features need the edges of a Chain; Multiclass has none"):
        CRF(Multiclass(), edge_features="all").fit(np.eye(2), [0, 1])


def test_damaged_layouts_are_refused(rng):
    model = CRF(Chain(order=2), edge_features="all").fit(*switches(rng, 5))
    scorer = model.scorer_
    scorer.check()
    for damage in (
        {"edge_ptr": scorer.edge_ptr[:-1]},
        {"edge_ptr": scorer.edge_ptr[::-1]},
        {"edge_pair": scorer.edge_pair + 4},
        {"triples": scorer.triples - 1},
    ):
        with pytest.raises(ValueError, match=r"edge_features|triples"):
            replace(scorer, **damage).check()


def test_functions_cannot_be_saved(rng):
    model = CRF(Chain(), edge_features=lambda name: True).fit(*switches(rng, 3))
    with pytest.raises(TypeError, match=r"edge_features=.* cannot be saved in a model file"):
        model.save(io.BytesIO())
    file = io.BytesIO()
    model.set_params(edge_features=None).save(file)  # the layout is kept apart from the parameter
    assert type(palmette.load(file).scorer_) is EdgeScorer
