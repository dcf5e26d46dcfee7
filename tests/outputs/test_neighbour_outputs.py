"""Labels whose kernel counts pairs of neighbours: those found by inference are the best of all."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import palmette
from palmette import SORR, Chain, Graph, Multiclass, SemiMarkov
from palmette.errors import MissingCapability
from palmette.kernels import Joined
from palmette.outputs import NeighbourOutputs, PositionOutputs, output_space
from palmette.registry import revive, stored

ALLOWED = {"a": ["a", "b"], "b": ["b", "c"], "c": ["a"]}
ENDS = [pair for label in "abc" for pair in ((None, label), (label, None))]
RULES = [(u, v) for u in ALLOWED for v in ALLOWED[u]] + ENDS
SEQUENCES = [["a", "b", "c"], ["b", "c"], ["a", "a", "b", "c"], ["c"]]
exact = st.lists(st.integers(-8, 8).map(lambda k: k / 8.0), min_size=4, max_size=4)


def common(x, y, weight):
    same = [u == v for u, v in zip(x, y)]
    return sum(same) + weight * sum(a and b for a, b in zip(same, same[1:]))


@pytest.mark.parametrize("chain", [Chain(), Chain(allowed=RULES), Chain(order=2)], ids=repr)
@given(exact, st.integers(1, 5), st.sampled_from([0.25, 4.0]))
def test_pre_images_are_the_best_of_all_sequences(chain, a, size, weight):
    space = NeighbourOutputs(chain, weight).fit(SEQUENCES)
    votes = (space.rows.T @ np.array(a))[None]
    found = space.pre_images(votes, ["x" * size])
    values = {
        y: common(y, y, weight) - 2.0 * sum(c * common(y, z, weight) for c, z in zip(a, SEQUENCES))
        for y in product("abc", repeat=size)
        if chain.allowed is None or all(v in ALLOWED[u] for u, v in zip(y, y[1:]))
    }
    assert found.values[0] == pytest.approx(min(values.values()), abs=1e-12) and found.exact[0]
    assert tuple(found.outputs[0]) == min(y for y in values if values[y] == min(values.values()))
    np.testing.assert_allclose(
        space.values(votes, list(map(list, values)))[0], list(values.values()), atol=1e-12
    )


def test_the_kernel_counts_labels_and_pairs():
    longer = [*SEQUENCES, list("abcab"), list("bcabca")]
    for weight in (0.5, 2.0):
        space = NeighbourOutputs(Chain(), weight).fit(SEQUENCES)
        np.testing.assert_allclose(
            space.gram(longer, SEQUENCES), [[common(u, v, weight) for v in SEQUENCES] for u in longer]
        )
        np.testing.assert_allclose(space.norms(longer), [common(u, u, weight) for u in longer])


def test_without_pairs_positions_are_left(rng):
    """As the weight goes to 0."""
    a = rng.normal(size=4)
    for chain in (Chain(), Chain(allowed=RULES)):
        plain, pairs = PositionOutputs(chain).fit(SEQUENCES), NeighbourOutputs(chain, 1e-12).fit(SEQUENCES)
        found = [own.pre_images((own.rows.T @ a)[None], ["xxxx"]) for own in (plain, pairs)]
        assert found[0].outputs == found[1].outputs
        assert found[0].values == pytest.approx(found[1].values, abs=1e-9)


def test_learners_and_files(rng, tmp_path):
    codes = [rng.integers(2, size=rng.integers(1, 5)) for _ in range(30)]
    y = [["ab"[code] for code in own] for own in codes]
    X = [np.eye(2)[own] + 0.1 * rng.normal(size=(len(own), 2)) for own in codes]
    model = SORR(NeighbourOutputs(Chain(), 0.5), kernel=Joined("rbf"), l2=0.1).fit(X, y)
    assert model.score(X, y) > 0.5 and model.pre_images(X).exact.all()
    model.save(tmp_path / "m.palmette")
    again = palmette.load(tmp_path / "m.palmette")
    assert again.predict(X) == model.predict(X) and again.score(X, y) == model.score(X, y)


EDGES = [(0, 1), (1, 2), (0, 2), (2, 3)]  # a triangle with a tail
LABELS = [["a", "b", "b", "a"], ["b", "b", "a", "c"], ["c", "a", "b", "b"], ["a", "a", "a", "b"]]


def in_common(x, y, weight):
    same = [u == v for u, v in zip(x, y)]
    return sum(same) + weight * sum(same[u] and same[v] for u, v in EDGES)


@given(exact, st.sampled_from([0.25, 4.0]))
def test_edges_of_a_graph(a, weight):
    graphs = [(np.zeros((4, 1)), EDGES)] * 4
    space = NeighbourOutputs(Graph(), weight).fit(LABELS, graphs)
    every = [list(y) for y in product("abc", repeat=4)]
    np.testing.assert_allclose(
        space.gram(every[:20], LABELS), [[in_common(u, v, weight) for v in LABELS] for u in every[:20]]
    )
    votes = (space.rows.T @ np.array(a))[None]
    found = space.pre_images(votes, graphs[:1])
    values = [
        in_common(y, y, weight) - 2.0 * sum(c * in_common(y, z, weight) for c, z in zip(a, LABELS))
        for y in every
    ]
    assert found.exact[0] and found.values[0] == pytest.approx(min(values), abs=1e-12)
    assert values[every.index(found.outputs[0])] == pytest.approx(min(values), abs=1e-12)
    np.testing.assert_allclose(space.values(votes, every)[0], values, atol=1e-12)


def test_graphs_are_one_graph(rng):
    X = [(rng.normal(size=(4, 2)), EDGES) for _ in range(12)]
    y = [LABELS[k] for k in rng.integers(4, size=12)]
    space = NeighbourOutputs(Graph(), 0.5)
    fitted = space.fit(y, X)
    again = revive("output", *stored(fitted), {"output": space})
    votes = rng.normal(size=(12, 12)) @ fitted.rows.toarray()
    assert again.pre_images(votes, X).outputs == fitted.pre_images(votes, X).outputs
    other = [(np.zeros((4, 2)), EDGES[:3])]
    with pytest.raises(
        MissingCapability, match=r"edge by edge, and X\[0\] has 4 nodes and 3 edges, not those of"
    ):
        fitted.pre_images(votes[:1], other)
    with pytest.raises(MissingCapability, match=r"X\[12\] has 4 nodes and 3 edges.* or take PositionOutputs"):
        space.fit([*y, y[0]], X + other)
    with pytest.raises(ValueError, match=r"y\[0\] has 2 labels, and the graph has 4 nodes"):
        fitted.norms([["a", "b"]])
    with pytest.raises(ValueError, match="outputs of Graph need the inputs, which have the edges"):
        space.fit(y)
    header, arrays = stored(fitted)
    with pytest.raises(ValueError, match="do not join 4 nodes"):
        revive("output", header, {**arrays, "kept.edges_": arrays["kept.edges_"] + 2}, {"output": space})


def test_structures_without_neighbours_are_refused():
    for structure, y in (
        (Multiclass(), ["a", "b"]),
        (SemiMarkov(2), [["O"], ["B-x"]]),
    ):
        with pytest.raises(
            MissingCapability, match=r"needs labels with costs of neighbours .*, as chains have"
        ):
            NeighbourOutputs(structure).fit(y)
    for weight in (0.0, np.nan, "1", True):
        with pytest.raises(ValueError, match="weight must be a finite number above 0, got"):
            NeighbourOutputs(Chain(), weight).fit(SEQUENCES)
    space = output_space(NeighbourOutputs(Chain()), lambda true, found: float(true != found)).fit(SEQUENCES)
    assert space.pre_images(np.array([[0.1, 0.6, 0.2, 0.1]])).outputs == [["b", "c"]]
