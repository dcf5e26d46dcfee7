"""Graphs: every answer against enumeration, chains and junction trees; what is refused; what is said aloud."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

from palmette import Chain, Clique, Graph, GraphInput
from palmette.errors import ApproximateInferenceWarning, InfeasibleError, TooWide
from palmette.inference.junction_tree import JunctionTree
from palmette.structures import ChainTables, GraphTables, Restriction, chain_graph, grid_graph, tree_graph
from palmette.structures.graph.batch import GraphLayout
from palmette.structures.graph.factor_graphs import factor_graph
from palmette.testing import check_structure


def test_every_answer_against_enumeration():
    report = check_structure(Graph())
    assert not report.missing


def random_tree(rng, n):
    """Edges of a tree on n nodes, in any order and direction."""
    parent = np.array([rng.integers(k) for k in range(1, n)])
    edges = np.column_stack([parent, np.arange(1, n)])
    names = rng.permutation(n)
    edges = names[edges]
    turned = rng.random(n - 1) < 0.5
    edges[turned] = edges[turned][:, ::-1]
    return rng.permutation(edges)


def tables(rng, graphs, labels, scale=1.0, own=True):
    """Random potentials on graphs given as (number of nodes, edges)."""
    offsets = np.cumsum([0] + [n for n, _ in graphs])
    edge_offsets = np.cumsum([0] + [len(edges) for _, edges in graphs])
    layout = GraphLayout(offsets, edge_offsets, np.concatenate([edges for _, edges in graphs]))
    n_tables = layout.n_edges if own else 1
    return GraphTables(
        rng.normal(scale=scale, size=(offsets[-1], labels)),
        rng.normal(scale=scale, size=(n_tables, labels, labels)),
        layout.offsets,
        layout=layout,
        edge_table=np.arange(layout.n_edges) % n_tables,
    )


@pytest.mark.parametrize("scale", [1.0, 30.0])  # scaled products, and log space
def test_forests_agree_with_junction_trees(scale):
    rng = np.random.default_rng(0)
    theta = tables(rng, [(40, random_tree(rng, 40)), (25, random_tree(rng, 25)[:-6])], 4, scale)
    assert theta.layout.forest.all()
    structure = Graph()
    best, log_z, mu = structure.best(theta), structure.log_partition(theta), structure.marginals(theta)
    most, entropy = structure.max_marginals(theta), structure.entropy(theta)
    for s in range(2):
        graph = factor_graph(theta, s)
        tree = JunctionTree.of(graph.topology)
        rows, edges = slice(*theta.offsets[s : s + 2]), slice(*theta.edge_offsets[s : s + 2])
        np.testing.assert_allclose(best.values[s], tree.best(graph).value)
        found = tree.sum(graph)
        np.testing.assert_allclose(log_z[s], found.log_z)
        np.testing.assert_allclose(mu.node[rows].ravel(), found.unary, atol=1e-10)
        np.testing.assert_allclose(mu.edge[edges].ravel(), found.factor, atol=1e-10)
        unary, factor = tree.max_marginals(graph)
        np.testing.assert_allclose(most.node[rows].ravel(), unary)
        np.testing.assert_allclose(most.edge[edges].ravel(), factor)
        energy = graph.dot(found.unary, found.factor)
        np.testing.assert_allclose(entropy[s], max(found.log_z - energy, 0.0), atol=1e-8 * scale)


@pytest.mark.parametrize("shared", [True, False])
def test_chains_are_graphs(shared):
    rng = np.random.default_rng(1)
    lengths = [1, 5, 9, 2]
    offsets = np.cumsum([0, *lengths])
    n_edges = offsets[-1] - len(lengths)
    chain = ChainTables(
        rng.normal(size=(offsets[-1], 3)), rng.normal(size=(1 if shared else n_edges, 3, 3)), offsets
    )
    graphs = [(n, np.column_stack([np.arange(n - 1), np.arange(1, n)])) for n in lengths]
    theta = replace(tables(rng, graphs, 3, own=not shared), node=chain.node, edge=chain.edge)
    one, other = Graph(), Chain()
    codes = rng.integers(0, 3, offsets[-1])
    for answer in ("best", "worst"):
        a, b = getattr(one, answer)(theta), getattr(other, answer)(chain)
        np.testing.assert_array_equal(a.codes, b.codes)
        np.testing.assert_allclose(a.values, b.values, rtol=1e-14)
    for answer in ("log_partition", "entropy"):
        np.testing.assert_allclose(getattr(one, answer)(theta), getattr(other, answer)(chain), rtol=1e-12)
    for answer in ("marginals", "max_marginals"):
        a, b = getattr(one, answer)(theta), getattr(other, answer)(chain)
        np.testing.assert_allclose(a.node, b.node, atol=1e-12)
        np.testing.assert_allclose(a.edge, b.edge, atol=1e-12)
    np.testing.assert_allclose(one.score(theta, codes), other.score(chain, codes))
    a, b = one.expectation(theta), other.expectation(chain)
    np.testing.assert_allclose(a.counts.edge, b.counts.edge, atol=1e-12)
    for mine, theirs in zip(one.k_best(theta, 4), other.k_best(chain, 4)):
        assert [codes.tolist() for codes, _ in mine] == [codes.tolist() for codes, _ in theirs]


def test_ties_are_decided_from_the_lowest_node_of_each_tree():
    rng = np.random.default_rng(2)
    theta = tables(rng, [(3, np.array([[2, 0], [1, 2]]))], 2)
    theta = replace(theta, node=np.zeros((3, 2)), edge=np.array([[[0.0, 1.0], [1.0, 0.0]]] * 2))
    assert Graph().best(theta).codes.tolist() == [0, 0, 1]  # node 0 first, then node 2, then node 1


def test_star_with_many_leaves_stays_in_range():
    """Messages of hundreds of children multiply; the result is that of independent leaves."""
    rng = np.random.default_rng(3)
    n = 400
    theta = tables(rng, [(n, np.column_stack([np.zeros(n - 1, int), np.arange(1, n)]))], 3, scale=4.0)
    leaves = np.logaddexp.reduce(
        theta.edge + theta.node[1:][:, None, :], axis=2
    )  # (leaves, label of the hub)
    expected = np.logaddexp.reduce(theta.node[0] + leaves.sum(axis=0))
    np.testing.assert_allclose(Graph().log_partition(theta)[0], expected, rtol=1e-12)


# -- graphs with cycles -----------------------------------------------------------------------------------------


def grid(rng, side, labels, n=1, scale=1.0):
    edges = np.asarray(grid_graph(np.zeros((side, side, 1))).edges)
    return tables(rng, [(side * side, edges)] * n, labels, scale)


def test_exact_and_approximate_answers_on_grids():
    rng = np.random.default_rng(4)
    theta = grid(rng, 4, 3, n=2)
    exact, loose = Graph(), Graph(memory_limit=10)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        best, log_z = exact.best(theta), exact.log_partition(theta)
        np.testing.assert_allclose(exact.bounds(theta), best.values)
    with pytest.warns(ApproximateInferenceWarning, match="sums of 2 graphs are by reweighted"):
        upper, counts = loose.expectation(theta)
    assert np.all(upper >= log_z - 1e-9)
    np.testing.assert_allclose(counts.node.sum(axis=1), 1.0, atol=1e-9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ApproximateInferenceWarning)
        found, bound = loose.best(theta), loose.bounds(theta)
    assert np.all(found.values <= best.values + 1e-9) and np.all(best.values <= bound + 1e-9)
    np.testing.assert_allclose(found.values, loose.score(theta, found.codes))


def test_what_needs_exact_inference_says_so():
    rng = np.random.default_rng(5)
    theta, loose = grid(rng, 4, 3), Graph(memory_limit=10)
    for answer in (
        lambda: loose.k_best(theta, 2),
        lambda: loose.max_marginals(theta),
        lambda: loose.sample(theta),
        lambda: loose.best_contradicting(theta, np.zeros(16, int)),
    ):
        with pytest.raises(TooWide, match=r"sample 0: .* needs exact inference"):
            answer()


def test_reweighted_sums_are_convex_with_their_gradient():
    """What L-BFGS and its certificate rely on: F(a) + <mu, b - a> <= F(b), and finite differences."""
    rng = np.random.default_rng(6)
    loose = Graph(sums="reweighted")
    a, b = grid(rng, 3, 3), grid(rng, 3, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ApproximateInferenceWarning)
        value, counts = loose.expectation(a)
        slope = counts.dot(b) - counts.dot(a)
        assert loose.log_partition(b)[0] >= value[0] + slope - 1e-7
        step = 1e-4
        at = [
            loose.log_partition(
                replace(a, node=a.node + h * (b.node - a.node), edge=a.edge + h * (b.edge - a.edge))
            )[0]
            for h in (-step, step)
        ]
    np.testing.assert_allclose((at[1] - at[0]) / (2 * step), slope, rtol=1e-4, atol=1e-5)


def test_relaxed_best_is_an_upper_bound_with_a_subgradient():
    rng = np.random.default_rng(7)
    loose, exact = Graph(memory_limit=10), Graph()
    thetas = [grid(rng, 3, 3, scale=2.0) for _ in range(6)]
    assert loose.relaxes(thetas[0]) and not exact.relaxes(thetas[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ApproximateInferenceWarning)
        found = [loose.relaxed_best(theta, weight=np.ones(1)) for theta in thetas]
    for theta, (value, counts, slack) in zip(thetas, found):
        assert value[0] + slack[0] >= exact.best(theta).values[0] - 1e-9
        assert 0.0 <= slack[0] <= 2e-3 * max(1.0, abs(value[0]))  # the tolerance of the linear program
        np.testing.assert_allclose(theta.dot(counts), value[0])
        np.testing.assert_allclose(counts.node.sum(axis=1), 1.0, atol=1e-6)
        for other, (there, _, more) in zip(thetas, found):
            assert there[0] + more[0] >= value[0] + counts.dot(other) - counts.dot(theta) - 1e-9


def test_explain_names_methods_and_reasons():
    forests, loops = [chain_graph(np.zeros((3, 1)))], [grid_graph(np.zeros((3, 3, 1)))]
    text = Graph().explain(forests + loops, n_labels=4)
    assert "1 forests: best labels and sums by message passing" in text
    assert "sample 1: 9 nodes, 12 edges, 1 component" in text and "a junction tree (exact)" in text
    text = Graph(memory_limit=100).explain(loops, n_labels=4)
    assert "would need" in text and "tree-reweighted" in text and "linear relaxation" in text
    assert "integer program (exact)" in Graph(memory_limit=100, inference="exact").explain(loops, n_labels=4)


def test_contradiction_by_potentials_and_restriction():
    rng = np.random.default_rng(8)
    theta = tables(rng, [(6, random_tree(rng, 6))], 3)
    best = Graph().best(theta)
    second = Graph().k_best(theta, 2)[0][1]
    rival = Graph().best_contradicting(theta, best.codes)
    assert rival.codes.tolist() == second[0].tolist()
    with pytest.raises(ValueError, match="second annotation"):
        Graph().best_contradicting(theta, best.codes, within=Restriction(contradicts=best.codes))


# -- what is refused --------------------------------------------------------------------------------------------

NODES = np.zeros((3, 2))


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (GraphInput(NODES, [(0, 1), (1, 1)]), r"sample 1: edge 1 = \[1, 1\] is a self-loop"),
        (
            GraphInput(NODES, [(0, 1), (1, 3)]),
            r"sample 1: edge 1 = \[1, 3\] names a node that does not exist: .* 3 nodes",
        ),
        (GraphInput(NODES, [(0, -1)]), r"sample 1: edge 0 = \[0, -1\] names a node"),
        (
            GraphInput(NODES, [(0, 1), (1, 2), (0, 1)]),
            r"sample 1: edge 2 = \[0, 1\] is a duplicate of edge 0",
        ),
        (GraphInput(NODES, [(0, 1, 2)]), r"sample 1: edges must be integers of shape \(n_edges, 2\)"),
        (GraphInput(NODES, [(0.5, 1.5)]), "sample 1: edges must be integers"),
        (
            GraphInput(NODES, [(0, 1)], edge_types=[0, 1]),
            "sample 1: edge_types has 2 entries, but the graph has 1 edges",
        ),
        (
            GraphInput(NODES, [(0, 1)], node_types=[0]),
            "sample 1: node_types has 1 entries, but the graph has 3 nodes",
        ),
        (
            GraphInput(NODES, [(0, 1)], edge_features=[[1.0]]),
            "sample 0 has no edge_features, but others have some",
        ),
        (
            GraphInput(NODES, [], factors=[Clique([0, 1, 5])]),
            r"sample 1: factors\[0\], number 0 = \[0, 1, 5\] names",
        ),
        (GraphInput(NODES, [], factors=[Clique([0, 1, 1])]), r"sample 1: factors\[0\], number 0 .* twice"),
        (
            GraphInput(NODES, [], factors=["clique"]),
            r"sample 1: factors\[0\] must be a Clique, AtMostOne, Parity or Agreement",
        ),
        (GraphInput(np.full((3, 2), np.nan), []), "NaN"),
        ("graph", r"X\[1\] must be a GraphInput"),
        ({"node": NODES}, r"X\[1\] has the key 'node'; the keys of a graph are"),
        ({"edges": []}, r"X\[1\] has no 'nodes'; the keys of a graph are"),
        (GraphInput(NODES, [(0, 1), (2,)]), r"sample 1: edge 1 = \(2,\) is not a pair"),
        (GraphInput(NODES, node_types=["a", [1], "b"]), r"sample 1: node_types\[1\] is not hashable"),
        ([{"a": 1}, {"b": 1}], r"X\[1\]: nodes must be an array or a list with the features of every node"),
    ],
)
def test_bad_graphs_are_refused_by_sample(graph, message):
    from palmette import CRF

    with pytest.raises((ValueError, TypeError), match=message):
        CRF(Graph()).fit([GraphInput(NODES, [(0, 1)]), graph], [[0, 1, 0], [0, 1, 0]])


@pytest.mark.parametrize(
    "structure, message",
    [
        (Graph(symmetric="both"), "symmetric must be True, False or a list of edge types, got 'both'"),
        (Graph(memory_limit=-1), "memory_limit must be a number, at least 0, got -1"),
        (Graph(tol="small"), "tol must be a number, at least 0, got 'small'"),
        (Graph(max_sweeps=0), "max_sweeps must be a number, at least 1, got 0"),
    ],
)
def test_bad_settings_are_refused(structure, message):
    from palmette import CRF

    with pytest.raises((ValueError, TypeError), match=message):
        CRF(structure).fit([(NODES, [(0, 1)])], [[0, 1, 0]])


def test_labels_that_contradict_each_other_or_factors():
    from palmette import CRF, SSVM, Perceptron
    from palmette.structures import AtMostOne

    X, Y = [GraphInput(NODES, labels={0: [0, 1]}), GraphInput(NODES, labels={0: [1, 0]})], [[0, 1, 0]] * 2
    CRF(Graph()).fit(X, Y)  # the same set in another order
    with pytest.raises(
        ValueError, match=r"labels gives nodes of type 0 the labels \[0, 1, 2\], but X gives them"
    ):
        CRF(Graph(labels={0: [0, 1, 2]}), classes=[0, 1, 2]).fit(X, Y)
    one = [GraphInput(NODES, factors=AtMostOne([[0, 1], [1, 2], [0, 2]], label=0))] * 2
    for learner in (CRF, SSVM, Perceptron):
        with pytest.raises(
            ValueError, match=r"sample 1: y has the label 0 at the nodes \[0, 2\], but an AtMostOne"
        ):
            learner(Graph()).fit(one, [[0, 1, 1], [0, 1, 0]])
    one = [GraphInput(NODES, factors=AtMostOne([0, 1], label=0), node_types=["a", "a", "b"])]
    learnt = CRF(Graph()).fit(one, [[0, 1, 0]])
    both = GraphInput(NODES, factors=AtMostOne([0, 1], label=0), node_types=["b", "b", "b"])
    with pytest.raises(InfeasibleError, match=r"sample 2 .* labels of the node types and the at-most-one"):
        learnt.predict([one[0], one[0], both])


def test_errors_name_samples_by_their_place_in_x():
    from palmette import CRF, Perceptron

    X = [chain_graph(np.zeros((2000, 1))) for _ in range(6)] + [
        grid_graph(np.zeros((4, 4, 1)), directions=False)
    ]
    learnt = Perceptron(Graph(memory_limit=1), max_iter=1).fit(X, [np.arange(len(x)) % 2 for x in X])
    with pytest.raises(
        TooWide, match=r"sample 6: k_best needs .* 2\^\d.* bytes, more than the limit of 1 bytes"
    ):
        learnt.predict_nbest(X, 2)
    with pytest.raises(TooWide, match=r"sample 6: exact inference is out of reach"):
        CRF(Graph(memory_limit=1, sums="exact")).fit(X, [np.arange(len(x)) % 2 for x in X])
    bad = GraphInput(NODES, [(0, 1)], edge_features=[[np.nan]])
    with pytest.raises(ValueError, match=r"edge_features: sample 2, row 0 \(X\[2\]\[0\]\)"):
        CRF(Graph()).fit(
            [GraphInput(NODES, [], edge_features=np.empty((0, 1))), (NODES, []), bad], [[0, 1, 0]] * 3
        )


def test_inputs_encoded_for_another_structure_are_refused():
    from palmette import CRF

    X, Y = [(NODES, [(0, 1)])], [[0, 1, 0]]
    graphs = CRF(Graph()).fit(X, Y).encode(X)
    with pytest.raises(ValueError, match="X was encoded as graphs, but Chain needs sequences"):
        CRF(Chain()).fit(graphs, Y)
    with pytest.raises(ValueError, match="X was encoded with symmetric=False"):
        CRF(Graph(symmetric=True)).fit(graphs, Y)
    with pytest.raises(ValueError, match="X was encoded as sequences, but the structure is a Graph"):
        CRF(Graph()).fit(CRF(Chain()).fit([NODES], Y).encode([NODES]), Y)


def test_explanations_know_the_labels_of_a_model_and_guess_no_weights():
    from palmette import Perceptron

    X = [grid_graph(np.zeros((4, 4, 1)))]
    told = Graph(memory_limit=1).explain(X)
    assert "2 labels (n_labels says how many" in told
    assert (
        "message passing with a bound" in told and "or a graph cut where the weights are submodular" in told
    )
    learnt = Perceptron(Graph(), max_iter=1).fit(X, [np.arange(16) % 5])
    assert learnt.structure_.explain(X).startswith("1 graphs, 16 nodes, 24 edges, 5 labels\n")


def test_more_that_is_refused():
    from palmette import CRF

    X, Y = [GraphInput(NODES, [(0, 1), (1, 0)])], [[0, 1, 0]]
    CRF(Graph()).fit(X, Y)  # two directions are two edges
    with pytest.raises(ValueError, match=r"edge 1 = \[1, 0\] is a duplicate"):
        CRF(Graph(symmetric=True)).fit(X, Y)
    with pytest.raises(ValueError, match="edge_features has 2 rows, but the graph has 1 edges"):
        CRF(Graph()).fit([GraphInput(NODES, [(0, 1)], edge_features=np.zeros((2, 1)))], Y)
    with pytest.raises(ValueError, match="parameters must be one of"):
        CRF(Graph(parameters="each")).fit(X, Y)
    with pytest.raises(ValueError, match="all graphs must have the nodes and edges of the first"):
        CRF(Graph(parameters="own")).fit([X[0], GraphInput(NODES, [(0, 1)])], Y * 2)
    with pytest.raises(ValueError, match="has no edge_features"):
        CRF(Graph(edge_bias=False)).fit(X, Y)
    with pytest.raises(
        ValueError, match=r"sample 0, node 1: y has the label 1, but nodes of type 0 have \[0\]"
    ):
        CRF(Graph(labels={0: [0]})).fit(X, Y)
    with pytest.raises(ValueError, match="which does not occur in y"):
        CRF(Graph(labels={0: [0, 1, 2]})).fit(X, Y)
    two, three = {0: [0, 1]}, {0: [0, 1, 2]}
    with pytest.raises(
        ValueError, match=r"sample 1: nodes of type 0 have 3 labels, .* but in earlier samples 2"
    ):
        CRF(Graph()).fit([GraphInput(NODES, labels=two), GraphInput(NODES, labels=three)], Y * 2)
    with pytest.raises(
        ValueError, match=r"sample 0, node 1: y has the label 1, but nodes of type 0 have \[0\]"
    ):
        CRF(Graph()).fit([GraphInput(NODES, labels={0: [0]})], Y)
    with pytest.raises(TypeError, match="a single graph g is given as"):
        CRF(Graph()).fit(X[0], Y)
    with pytest.raises(ValueError, match=r"sample 0: X\[0\] has 3 positions but y\[0\] has 2 labels"):
        CRF(Graph()).fit(X, [[0, 1]])
    with pytest.raises(ValueError, match=r"lists of 3 or more node numbers, got \[0, 1\]; pairs are edges"):
        Clique([0, 1])
    with pytest.raises(ValueError, match="parents has shape"):
        tree_graph(NODES, [-1, 0])
    typed = CRF(Graph()).fit([GraphInput(NODES, [(0, 1)], edge_types=["near"])], Y)
    with pytest.raises(
        ValueError, match="sample 0: edge 0 has the type 'far', which does not occur in the training"
    ):
        typed.predict([GraphInput(NODES, [(0, 1)], edge_types=["far"])])
