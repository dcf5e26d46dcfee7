"""Learning on graphs: special cases agree, gradients fit, types and cliques do what they say, models keep."""

from __future__ import annotations

import io
import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

import palmette
from palmette import CRF, SSVM, Chain, Clique, Decomposition, Graph, GraphInput, Perceptron
from palmette.datasets import make_chains
from palmette.errors import ApproximateInferenceWarning
from palmette.estimators.strengths import penalties
from palmette.estimators.training import encode_training, layout_weights
from palmette.executors.threads import ThreadExecutor
from palmette.losses import Hamming
from palmette.objectives.risk import Risk
from palmette.structures import Agreement, AtMostOne, Parity, chain_graph, grid_graph, tree_graph
from palmette.structures.paths_as_chains import simplified
from palmette.surrogates import Hinge, LogLoss
from palmette.testing import check_structured_estimator


def chains(n=12, seed=0):
    X, Y = make_chains(n, 5, 3, random_state=seed)
    return X, Y, [chain_graph(x) for x in X]


def trees(n=8, seed=0, labels=3):
    rng = np.random.default_rng(seed)
    graphs, outputs = [], []
    for _ in range(n):
        size = int(rng.integers(3, 7))
        y = rng.integers(0, labels, size)
        nodes = np.eye(labels)[y] + rng.normal(scale=0.8, size=(size, labels))
        graphs.append(tree_graph(nodes, [-1] + [int(rng.integers(k)) for k in range(1, size)]))
        outputs.append(y.tolist())
    return graphs, outputs


def grids(n=6, seed=0, side=3, labels=2):
    rng = np.random.default_rng(seed)
    Y = [rng.integers(0, labels, side * side) for _ in range(n)]
    X = [
        grid_graph((np.eye(labels)[y] + rng.normal(size=(side * side, labels))).reshape(side, side, -1))
        for y in Y
    ]
    return X, [y.tolist() for y in Y]


def turned(graph):
    """The same graph with its edges in another order: no chain in the eyes of the compiled loops."""
    return GraphInput(graph.nodes, np.asarray(graph.edges)[::-1])


def problem_of(learner, X, Y, surrogate=None):
    data = encode_training(X, Y, learner.structure, None, None)
    scorer = layout_weights(learner, data)
    surrogate = surrogate or learner._surrogate(tuple(data.codec.classes_))
    return Risk(
        data.structure, scorer, surrogate, data.samples, penalties(learner, scorer, data), ThreadExecutor(1)
    )


# -- special cases ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("learner", [CRF, SSVM, Perceptron])
def test_chains_as_graphs_have_the_weights_of_chains(learner):
    X, Y, G = chains()
    options = {} if learner is Perceptron else {"l2": 0.5, "tol": 1e-8}
    plain = learner(Chain(), **options).fit(X, Y)
    same = learner(Graph(), **options).fit(G, Y)
    np.testing.assert_array_equal(plain.coef_, same.coef_)
    assert same.predict(G) == plain.predict(X)
    other = learner(Graph(), **options).fit(
        [turned(graph) for graph in G], Y
    )  # by message passing on forests
    np.testing.assert_allclose(plain.coef_, other.coef_, atol=1e-4 if learner is Perceptron else 1e-6)
    np.testing.assert_allclose(
        np.vstack(other.predict_marginals(G)), np.vstack(plain.predict_marginals(X)), atol=1e-4
    )


def test_what_is_trained_as_chains():
    X, Y, G = chains()
    for graphs, structure, wanted in (
        (G, Graph(), Chain),
        ([turned(graph) for graph in G], Graph(), Graph),
        (G, Graph(symmetric=True), Graph),
        ([GraphInput(x, g.edges, np.ones((len(x) - 1, 1))) for x, g in zip(X, G)], Graph(), Graph),
        ([GraphInput(x, g.edges, node_types=np.arange(len(x)) % 2) for x, g in zip(X, G)], Graph(), Graph),
    ):
        learner = CRF(structure)
        data = encode_training(graphs, Y, structure, None, None)
        assert type(simplified(data, layout_weights(learner, data))[0].structure) is wanted


def test_named_features_and_chains():
    X = [[["a"], ["b", "c"]], [["c"], ["a"], ["b"]]]
    Y = [["x", "y"], ["y", "x", "x"]]
    plain = CRF(Chain(), l2=0.3, tol=1e-8, solver="lbfgs").fit(X, Y)
    graph = CRF(Graph(), l2=0.3, tol=1e-8, solver="lbfgs").fit([turned(chain_graph(x)) for x in X], Y)
    np.testing.assert_allclose(plain.coef_, graph.coef_, atol=1e-6)
    assert graph.encoder_.feature_names == plain.encoder_.feature_names


def test_own_parameters_without_edges_are_single_regressions():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 3))
    y = (x @ rng.normal(size=(3, 2)) + 0.3 * rng.normal(size=(40, 2)) > 0).astype(int)
    X = [GraphInput(np.tile(row, (2, 1)), []) for row in x]
    model = CRF(Graph(parameters="own"), l2=1.0, fit_intercept=False, tol=1e-10).fit(X, y.tolist())
    p = np.array([m[:, 1] for m in model.predict_marginals(X)])
    for k in range(2):
        # two weight vectors w, -w with |w|^2 each are one with l2 / 2
        single = LogisticRegression(C=2.0, fit_intercept=False, tol=1e-10).fit(x, y[:, k])
        np.testing.assert_allclose(p[:, k], single.predict_proba(x)[:, 1], atol=1e-4)


def test_constant_edge_feature_is_an_edge_bias():
    X, Y = trees()
    bias = CRF(Graph(), l2=0.5, tol=1e-9).fit(X, Y)
    with_feature = [GraphInput(g.nodes, g.edges, np.ones((g.n_edges, 1))) for g in X]
    feature = CRF(Graph(edge_bias=False), l2=0.5, tol=1e-9).fit(with_feature, Y)
    np.testing.assert_allclose(bias.coef_, feature.coef_, atol=1e-6)
    scaled = [GraphInput(g.nodes, g.edges, np.full((g.n_edges, 1), 2.0)) for g in X]
    half = CRF(Graph(edge_bias=False), l2=0.5, l2_edge=2.0, tol=1e-9).fit(scaled, Y)  # w / 2 at four times l2
    np.testing.assert_allclose(half.objective_, bias.objective_, rtol=1e-7)


def test_edge_types_are_indicator_features():
    X, Y = grids()
    typed = SSVM(Graph(), l2=0.5, tol=1e-6).fit(X, Y)
    named = [GraphInput(g.nodes, g.edges, np.eye(2)[g.edge_types]) for g in X]
    feature = SSVM(Graph(edge_bias=False), l2=0.5, tol=1e-6).fit(named, Y)
    np.testing.assert_allclose(typed.objective_, feature.objective_, rtol=1e-5)
    assert set(typed.transitions_) == {0, 1} and typed.transitions_[0].shape == (2, 2)


def test_symmetric_edges_do_not_know_their_direction():
    X, Y = trees()
    rng = np.random.default_rng(1)
    flipped = []
    for g in X:
        edges = np.asarray(g.edges).copy()
        turn = rng.random(len(edges)) < 0.5
        edges[turn] = edges[turn][:, ::-1]
        flipped.append(GraphInput(g.nodes, edges))
    a, b = (CRF(Graph(symmetric=True), l2=0.5, tol=1e-9).fit(graphs, Y) for graphs in (X, flipped))
    np.testing.assert_allclose(a.coef_, b.coef_, atol=1e-6)
    np.testing.assert_array_equal(a.transitions_, a.transitions_.T)
    assert len(a.coef_) == len(CRF(Graph()).fit(X, Y).coef_) - 3
    mixed = [GraphInput(g.nodes, g.edges, edge_types=["s", *"d" * (g.n_edges - 1)]) for g in X]
    tables = CRF(Graph(symmetric=["s"])).fit(mixed, Y).transitions_
    assert np.array_equal(tables["s"], tables["s"].T) and not np.allclose(tables["d"], tables["d"].T)


# -- gradients --------------------------------------------------------------------------------------------------


def rich_graphs(seed=0):
    """Types of nodes with labels of their own, types of edges, edge features, cliques, cycles."""
    rng = np.random.default_rng(seed)
    X, Y = [], []
    for n in (5, 6, 4):
        types = ["page", "author", *rng.choice(["page", "author"], n - 2)]
        y = [int(rng.integers(0, 3)) if t == "page" else int(rng.integers(2, 4)) for t in types]
        y[:2] = [n % 3, 3 - n % 2]  # all labels occur
        edges = [(0, 1), (1, 2), (2, 0), (3, 1)]
        X.append(
            GraphInput(
                rng.normal(size=(n, 2)), edges, rng.normal(size=(4, 2)), types, ["a", "b", "b", "a"],
                [Clique([[0, 2, 3]]), Clique([[1, 2, 3]], type="other")],
            )
        )  # fmt: skip
        Y.append(y)
    return X, Y


@pytest.mark.parametrize("symmetric", [False, True, ["b"]])
def test_scores_and_their_adjoint(symmetric):
    X, Y = rich_graphs()
    problem = problem_of(CRF(Graph(symmetric=symmetric)), X, Y, LogLoss())
    rng = np.random.default_rng(1)
    scorer, batch, w = problem.scorer, problem.samples.batch, rng.normal(size=problem.n_params)
    theta = scorer.score(w, batch)
    counts = problem.structure.expectation(theta, weight=rng.random(len(batch))).counts
    out = np.zeros_like(w)
    scorer.pull_back(counts, batch, out)
    np.testing.assert_allclose(theta.dot(counts), w @ out)
    touched = np.zeros(len(w), bool)
    touched[scorer.touched(batch)] = True
    assert not out[~touched].any()
    parts = sum(
        problem.structure.log_partition(scorer.score(w, batch.slice(i, i + 1)))[0] for i in range(len(batch))
    )
    np.testing.assert_allclose(problem.structure.log_partition(theta).sum(), parts)


@pytest.mark.parametrize("structure", [Graph(), Graph(symmetric=True), Graph(sums="reweighted")])
def test_gradients_of_log_loss(structure):
    X, Y = rich_graphs()
    problem = problem_of(CRF(structure), X, Y, LogLoss())
    rng = np.random.default_rng(2)
    w, v = 0.5 * rng.normal(size=(2, problem.n_params))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ApproximateInferenceWarning)
        slope, eps = problem.loss(w)[1] @ v, 1e-4
        difference = (problem.loss(w + eps * v)[0] - problem.loss(w - eps * v)[0]) / (2 * eps)
    np.testing.assert_allclose(difference, slope, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("limit", [None, 10])
def test_subgradients_of_the_hinge_also_relaxed(limit):
    X, Y = grids(4, labels=3)
    learner = SSVM(Graph(memory_limit=limit))
    problem = problem_of(learner, X, Y, Hinge(Hamming().bind(learner.structure, (0, 1, 2))))
    exact = problem_of(SSVM(Graph()), X, Y)
    rng = np.random.default_rng(3)
    points = [rng.normal(size=problem.n_params) for _ in range(5)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ApproximateInferenceWarning)
        found = [problem.loss(w) for w in points]
    slack = 1e-9 if limit is None else 2e-2  # the tolerance of four linear programs
    for w, (value, gradient) in zip(points, found):
        assert value >= exact.loss(w)[0] - slack
        for u, (there, _) in zip(points, found):
            assert there >= value + gradient @ (u - w) - slack


# -- types, cliques ---------------------------------------------------------------------------------------------


def test_labels_of_types_are_kept_apart():
    X, Y = rich_graphs()
    model = CRF(Graph(), l2=0.1).fit(X, Y)
    for graph, y, p in zip(X, model.predict(X), model.predict_marginals(X)):
        for t, kind in enumerate(graph.node_types):
            assert y[t] in ((0, 1, 2) if kind == "page" else (2, 3))
            assert np.all(p[t, [3] if kind == "page" else [0, 1]] == 0.0)
    assert model.intercept_.shape == (2, 4)
    limited = CRF(Graph(labels={"author": [2, 3], "page": [0, 1, 2]})).fit(X, Y)
    assert limited.scorer_.allowed.tolist() == model.scorer_.allowed.tolist()
    names = [GraphInput([[str(k)] for k in range(len(g))], g.edges, node_types=g.node_types) for g in X]
    assert CRF(Graph()).fit(names, Y).encoder_.feature_names[0] == "author: 0"


def test_cliques_learn_what_pairs_cannot():
    """The parity of three nodes without features: every pair is independent."""
    odd = [[a, b, (1 + a + b) % 2] for a in (0, 1) for b in (0, 1)]
    nodes = np.ones((3, 1))
    X = [GraphInput(nodes, [], factors=Clique([0, 1, 2])) for _ in odd]
    model = CRF(Graph(), l2=0.05, fit_intercept=False).fit(X, odd)
    assert np.all(model.log_proba(X, odd) > np.log(0.2))
    assert set(map(tuple, (y for y, _ in model.predict_nbest(X[:1], 4)[0]))) == set(map(tuple, odd))
    pairs = CRF(Graph(), l2=0.05, fit_intercept=False).fit(
        [GraphInput(nodes, [(0, 1), (1, 2), (0, 2)])] * 4, odd
    )
    assert np.all(pairs.log_proba([GraphInput(nodes, [(0, 1), (1, 2), (0, 2)])] * 4, odd) < np.log(0.13))


def test_structured_factors_learn_and_constrain():
    rng = np.random.default_rng(0)
    nodes = [np.column_stack([rng.normal(size=6), np.ones(6)]) for _ in range(12)]
    odd = [[int(v > 0) for v in x[:5, 0]] for x in nodes]
    odd = [[*y, (1 + sum(y)) % 2] for y in odd]  # the last node makes the number of ones odd
    X = [GraphInput(x, [], factors=Parity(range(6), label=1)) for x in nodes]
    model = CRF(Graph(), l2=0.01).fit(X, odd)
    even, more = model.coef_[model.scorer_.blocks["factors"]]
    assert more > even + 1.0
    assert all(sum(y) % 2 for y in model.predict(X))
    constrained = [GraphInput(x, [(0, 1)], factors=[AtMostOne([0, 1, 2, 3, 4, 5], label=1)]) for x in nodes]
    single = SSVM(Graph(), l2=0.1, tol=1e-2).fit(
        constrained, [[int(k == x[:, 0].argmax()) for k in range(6)] for x in nodes]
    )
    assert all(sum(y) <= 1 for y in single.predict(constrained))
    assert single.score(constrained, [[int(k == x[:, 0].argmax()) for k in range(6)] for x in nodes]) > 0.9
    alike = [GraphInput(x, [], factors=Agreement([[0, 1, 2], [3, 4, 5]])) for x in nodes]
    Y = [[int(x[0, 0] > 0)] * 3 + [int(x[3, 0] > 0)] * 3 for x in nodes]
    agreeing = CRF(Graph(), l2=0.01).fit(alike, Y)
    assert all(y[0] == y[1] == y[2] and y[3] == y[4] == y[5] for y in agreeing.predict(alike))
    for learner, inputs in ((model, X), (single, constrained), (agreeing, alike)):
        file = io.BytesIO()
        learner.save(file)
        file.seek(0)
        assert palmette.load(file).predict(inputs) == learner.predict(inputs)
    with pytest.raises(
        ValueError, match=r"sample 0: at_most_one factors for the label 0 of type 0 do not occur"
    ):
        model.predict([GraphInput(nodes[0], [], factors=AtMostOne([0, 1], label=0))])
    with pytest.raises(ValueError, match="the label does not occur in y"):
        CRF(Graph()).fit([GraphInput(nodes[0], [], factors=Parity([0, 1], label="one"))], odd[:1])


# -- approximate training ---------------------------------------------------------------------------------------


def test_reweighted_training_is_convex_and_counted():
    X, Y = grids(4)
    exact = CRF(Graph(), l2=1.0).fit(X, Y)
    with pytest.warns(ApproximateInferenceWarning, match="sums of 4 graphs are by reweighted") as told:
        model = CRF(Graph(sums="reweighted"), l2=1.0).fit(X, Y)
    assert len(told) == 1
    assert model.result_.reason == "gap" and model.result_.n_unconverged == 0
    assert model.objective_ >= exact.objective_ - 1e-6  # an upper bound on the log-partition
    with pytest.warns(ApproximateInferenceWarning) as told:
        model.predict_marginals(X)
    assert len(told) == 1


def test_relaxed_training_bounds_the_exact_objective():
    X, Y = grids(4, labels=3)
    exact = SSVM(Graph(), l2=1.0, tol=1e-3).fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loose = SSVM(Graph(memory_limit=10), l2=1.0, tol=1e-2).fit(X, Y)
    # proven from above, though its linear programs are solved to a tolerance
    assert loose.objective_ >= exact.result_.lower and loose.objective_ >= loose.result_.lower
    assert loose.result_.history[-1] == loose.result_.step


# -- structure regularisation -----------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [trees, grids])
def test_dropped_edges_have_no_gradient_and_nodes_stay(make):
    X, Y = make()
    with_features = [
        GraphInput(g.nodes, g.edges, np.ones((g.n_edges, 1)), edge_types=g.edge_types) for g in X
    ]
    learner = CRF(Graph(), regularizer=Decomposition(2.0))
    problem = problem_of(learner, with_features, Y, LogLoss())
    problem.decomposition = learner.regularizer
    cut = problem.pieces(seed=0, epoch=1)
    before, after = problem.samples.batch, cut.samples.batch
    assert 0 < after.layout.n_edges < before.layout.n_edges
    np.testing.assert_array_equal(before.rows, after.rows)
    np.testing.assert_array_equal(before.offsets, after.offsets)
    assert len(after.edge_rows) == after.layout.n_edges
    nothing = Decomposition(1.0)
    problem.decomposition = nothing
    alone = problem.pieces(seed=0, epoch=0)
    w, gradient = np.random.default_rng(0).normal(size=problem.n_params), np.zeros(problem.n_params)
    for i in range(alone.n_samples):
        _, counts, batch = alone.sample_loss(i, w)
        problem.scorer.pull_back(counts, batch, gradient)
    blocks = problem.scorer.blocks
    assert not gradient[blocks["edge"]].any() and not gradient[blocks["edge_features"]].any()
    assert gradient[blocks["node"]].any()


@pytest.mark.parametrize("learner", [CRF, Perceptron])
def test_pieces_of_size_one_learn_nodes_alone(learner):
    X, Y = trees()
    model = learner(Graph(), regularizer=Decomposition(1.0), max_iter=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, Y)
    assert not model.coef_[model.scorer_.blocks["edge"]].any() and model.coef_.any()


def test_pieces_with_cycles_count_as_their_graphs():
    X, Y = grids(4, side=4, labels=3)
    structure = Graph(memory_limit=10, max_sweeps=1)  # no messages converge
    with pytest.warns(ApproximateInferenceWarning, match="messages of 4 graphs did not converge"):
        learnt = CRF(structure, regularizer=Decomposition(12), solver="stochastic", max_iter=5, tol=1.0).fit(
            X, Y
        )
    assert learnt.result_.n_unconverged == 4


def test_cliques_across_pieces_are_dropped():
    X, Y = rich_graphs()
    problem = problem_of(CRF(Graph()), X, Y, LogLoss())
    problem.decomposition = Decomposition(1.0)
    cut = problem.pieces(seed=0, epoch=0)
    assert [len(group.nodes) for group in cut.samples.batch.layout.cliques] == [0, 0]
    problem.decomposition = Decomposition(100.0)
    whole = problem.pieces(seed=0, epoch=0)
    assert [len(group.nodes) for group in whole.samples.batch.layout.cliques] == [3, 3]


# -- the public face --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("learner", [CRF(Graph()), SSVM(Graph(), tol=1e-2), Perceptron(Graph(), max_iter=2)])
@pytest.mark.parametrize("make", [trees, grids])
def test_promises_of_estimators(learner, make):
    check_structured_estimator(learner, *make())


def test_model_files_keep_types_and_cliques():
    X, Y = rich_graphs()
    for structure in (Graph(symmetric=["b"]), Graph(labels={"author": [2, 3]}, memory_limit=1e6)):
        model = CRF(structure, l2=0.5).fit(X, Y)
        file = io.BytesIO()
        model.save(file)
        file.seek(0)
        loaded = palmette.load(file)
        np.testing.assert_array_equal(loaded.coef_, model.coef_)
        assert loaded.predict(X) == model.predict(X)
        assert loaded.structure.get_params() == structure.get_params()


def test_weights_of_samples_and_encoded_inputs():
    X, Y = trees()
    twice = CRF(Graph(), l2=0.5, tol=1e-8).fit(X + X[:3], Y + Y[:3])
    weighted = CRF(Graph(), l2=0.5, tol=1e-8).fit(X, Y, sample_weight=[2, 2, 2, 1, 1, 1, 1, 1])
    np.testing.assert_allclose(twice.coef_, weighted.coef_, atol=1e-5)
    encoded = CRF(Graph()).encode(X)
    again = CRF(Graph(), l2=0.5, tol=1e-8).fit(encoded[::-1], Y[::-1])
    np.testing.assert_allclose(again.predict_marginals(encoded[2:3])[0], again.predict_marginals(X[2:3])[0])
    with pytest.raises(ValueError, match="encoded with symmetric=False"):
        CRF(Graph(symmetric=True)).fit(encoded, Y)


def test_dicts_and_tuples_are_graphs_too():
    X, Y = trees()
    tuples = [(g.nodes, g.edges) for g in X]
    dicts = [{"nodes": g.nodes, "edges": g.edges} for g in X]
    models = [CRF(Graph()).fit(graphs, Y) for graphs in (X, tuples, dicts)]
    for model in models[1:]:
        np.testing.assert_array_equal(model.coef_, models[0].coef_)
    assert models[0].predict(iter(tuples)) == models[0].predict(X)


def test_warm_starts_partial_fits_and_searches():
    X, Y = trees()
    model = CRF(Graph(), l2=0.5, tol=1e-8, warm_start=True).fit(X, Y)
    n_iter = model.n_iter_
    assert model.fit(X, Y).n_iter_ < n_iter
    online = Perceptron(Graph())
    for part in (slice(0, 4), slice(4, 8)):
        online.partial_fit(X[part], Y[part], classes=[0, 1, 2])
    assert 0.5 < online.score(X, Y) <= 1.0
    named = [GraphInput([[str(label)] for label in y], g.edges) for g, y in zip(X, Y)]
    online = Perceptron(Graph()).partial_fit(named[:2], Y[:2], classes=[0, 1, 2]).partial_fit(named, Y)
    assert online.score(named, Y) > 0.9
    search = GridSearchCV(SSVM(Graph(), classes=[0, 1, 2]), {"C": [0.1, 1.0]}, cv=2).fit(X, Y)
    assert search.best_params_["C"] in (0.1, 1.0)


def test_graphs_without_nodes_and_prediction_of_other_sizes():
    X, Y = trees()
    model = SSVM(Graph()).fit(X, Y)
    empty = GraphInput(np.empty((0, 3)), [])
    assert model.predict([X[0], empty, X[1]])[1] == []
    with pytest.raises(ValueError, match=r"X\[1\] is an empty sequence"):
        SSVM(Graph()).fit([X[0], empty], [Y[0], []])
