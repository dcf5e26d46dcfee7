"""Which sums over graphs are exact, what is said where they are not, and exact ones of a shape in one call."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from palmette import CRF, SSVM, Graph
from palmette.errors import ApproximateInferenceWarning
from palmette.structures import GraphTables, grid_graph
from palmette.structures.graph import methods, sums
from palmette.structures.graph.batch import GraphLayout


def grids(rng, sides, n_labels=2, scale=1.0):
    X = [grid_graph(np.zeros((side, side, 1))) for side in sides]
    offsets, edge_offsets = (
        np.cumsum([0, *map(len, X)]),
        np.cumsum([0, *(x.n_edges for x in X)]),
    )
    layout = GraphLayout(offsets, edge_offsets, np.concatenate([x.edges for x in X]))
    return GraphTables(
        scale * rng.normal(size=(offsets[-1], n_labels)), rng.normal(size=(3, n_labels, n_labels)), offsets,
        layout=layout, edge_table=rng.integers(0, 3, layout.n_edges),
    )  # fmt: skip


def quietly(answer, *given, **named):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ApproximateInferenceWarning)
        return answer(*given, **named)


@pytest.mark.parametrize("n_labels", [2, 3])
def test_graphs_of_a_shape_have_the_sums_of_single_ones(n_labels, monkeypatch):
    rng = np.random.default_rng(0)
    tables = grids(rng, [3, 4, 3, 2, 4] + [3] * 9, n_labels)
    tables.node[5, 0] = -np.inf  # in logarithms, while the others of its shape are not
    weight = rng.uniform(0.5, 2.0, len(tables))
    together = Graph().expectation(tables, weight=weight)
    np.testing.assert_allclose(together.log_z, Graph().log_partition(tables), rtol=1e-12)
    monkeypatch.setattr(sums, "add_tree_sums", lambda structure, tables, samples, *given: samples)
    alone = Graph().expectation(tables, weight=weight)
    np.testing.assert_allclose(together.log_z, alone.log_z, rtol=1e-12)
    np.testing.assert_allclose(together.counts.node, alone.counts.node, atol=1e-12)
    np.testing.assert_allclose(together.counts.edge, alone.counts.edge, atol=1e-11)


def test_sums_are_exact_where_that_takes_as_long_as_messages(monkeypatch):
    """By the entries of all cliques; ``sums='exact'`` and a memory limit leave that out."""
    theta = grids(np.random.default_rng(1), [4, 4])
    exact = Graph().expectation(theta)
    monkeypatch.setattr(methods, "MOST_ENTRIES", 5.0)
    with pytest.warns(
        ApproximateInferenceWarning, match="sums of 2 graphs are by reweighted .sums='exact' makes"
    ):
        upper = Graph().expectation(theta)
    assert np.all(upper.log_z > exact.log_z + 1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for structure in (Graph(sums="exact"), Graph(memory_limit=1e6)):
            found = structure.expectation(theta)
            np.testing.assert_array_equal(found.log_z, exact.log_z)
            np.testing.assert_array_equal(found.counts.edge, exact.counts.edge)
        Graph().sample(theta, random_state=0)  # what is asked once may take longer


def test_training_does_not_depend_on_threads_nor_on_what_else_is_in_a_call():
    rng = np.random.default_rng(2)
    X = [grid_graph(rng.normal(size=(side, side, 2))) for side in [3, 4, 5] * 5]
    Y = [rng.integers(0, 2, len(x)) for x in X]
    one, two = (CRF(Graph(), max_iter=3, n_jobs=n).fit(X, Y) for n in (1, 2))
    np.testing.assert_array_equal(one.coef_, two.coef_)
    together = one.predict_marginals(X)
    for k in (0, 7):
        np.testing.assert_array_equal(one.predict_marginals(X[k : k + 1])[0], together[k])


def test_a_warning_names_what_makes_sums_exact(monkeypatch):
    monkeypatch.setattr(methods, "MOST_ENTRIES", 5.0)
    theta = grids(np.random.default_rng(3), [2, 4, 4, 30, 30])
    with pytest.warns(ApproximateInferenceWarning) as heard:
        Graph().expectation(theta)
    (message,) = (str(one.message) for one in heard)
    assert "sums of 4 graphs are by reweighted (memory_limit=" in message
    assert "makes 2 of them exact, by junction trees)" in message
    needed = float(message.split("memory_limit=")[1].split()[0])
    assert [
        Graph(memory_limit=needed).explain(theta).count(f"sums by {how}") for how in ("a junc", "tree-re")
    ] == [2, 1]
    with pytest.warns(
        ApproximateInferenceWarning, match=r"sums of 1 graph are by reweighted .too wide for exact sums"
    ):
        Graph().expectation(theta.take(np.array([0, 3])))


def test_explain_has_a_line_for_each_shape(monkeypatch):
    X = [grid_graph(np.zeros((side, side, 1))) for side in [3, 2] * 10 + [4]]
    lines = Graph().explain(X).splitlines()
    assert [line.split(":")[0] for line in lines[1:]] == [
        "samples 0, 2, 4 and 7 more",
        "samples 1, 3, 5 and 7 more",
        "sample 20",
    ]
    monkeypatch.setattr("palmette.structures.graph.explain.MOST_LINES", 1)
    assert Graph().explain(X).splitlines()[-1] == "... and 11 more graphs with cycles or cliques, of 2 shapes"
    monkeypatch.setattr("palmette.structures.graph.explain.MOST_ENTRIES", 3)
    monkeypatch.setattr(methods, "MOST_ENTRIES", 3)
    line = Graph().explain(X[1:2]).splitlines()[1]
    assert "exact ones would go through 2^4.0 entries, more than 2^3; sums='exact' makes them exact" in line


def test_a_line_of_explain_for_each_method_of_a_shape():
    theta = grids(np.random.default_rng(4), [3, 3, 3])
    theta.edge[:] = np.eye(2), np.eye(2), -np.eye(2)
    theta.edge_table[:] = 0
    theta.edge_table[-1] = 2  # of the last graph: not submodular
    lines = Graph().explain(theta).splitlines()[1:]
    assert [(line.split(":")[0], "graph cut" in line) for line in lines] == [
        ("samples 0, 1", True),
        ("sample 2", False),
    ]


def test_sums_are_as_accurate_as_a_solver_needs_and_then_as_they_can_be():
    rng = np.random.default_rng(5)
    truth = [np.kron(rng.integers(0, 2, (2, 2)), np.ones((3, 3), int)) for _ in range(6)]
    X, Y = [grid_graph(y[:, :, None] + rng.normal(size=(6, 6, 1))) for y in truth], [y.ravel() for y in truth]
    found = {}
    for tol in (1e-3, 1e-5, 1e-8):
        model = quietly(
            SSVM(Graph(symmetric=True, memory_limit=1), l2=0.1, loss="soft_hinge", tol=tol).fit, X, Y
        )
        found[tol] = model.result_
        assert model.result_.converged and model.result_.gap <= tol * model.result_.primal
    for tol, result in found.items():
        assert abs(result.primal - found[1e-8].primal) <= 1.1 * tol * result.primal
        assert result.lower <= (1 + 0.1 * tol) * found[1e-8].primal


def test_refining_ends_at_the_accuracy_of_the_structure():
    theta, structure = grids(np.random.default_rng(6), [3, 3]), Graph(memory_limit=1, tol=1e-9)
    fine = quietly(structure.expectation, theta).log_z
    assert not structure.loosen(1e-3), "nobody gathers"
    with structure.telling(quiet=True):
        assert not structure.loosen(0.0) and structure.sum_tol(1.0) == 1e-9
        for error in (1e-4, 1e-6, 1e-8):
            assert structure.loosen(error)
            loose = structure.expectation(theta).log_z
            assert np.all((loose >= fine - 1e-9) & (loose <= fine + error + 1e-8))
        assert structure.loosen(1e-3) and structure.sum_tol(1e2) == 1e-6 and structure.sum_tol(1e5) == 1e-8
        assert structure.sum_tol(np.inf) == structure.sum_tol(1e9) == 1e-9
        assert structure.refine() and structure.sum_tol(1e2) == 1e-9
        np.testing.assert_allclose(structure.expectation(theta).log_z, fine, rtol=1e-9)
    with structure.telling(quiet=True):
        assert structure.loosen(1e-3)
        assert not structure.refine(), "no sum was inexact"
