"""Random pieces: they cover every sample, follow their law, and cut graphs as they cut chains."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from sklearn.base import clone

from palmette import Chain, Multiclass
from palmette.errors import MissingCapability
from palmette.regularizers import Decomposition
from palmette.regularizers.decomposition import check_removable

sizes = st.one_of(st.floats(1.0, 12.0), st.integers(1, 6), st.just(float("inf")))
lengths = st.lists(st.integers(0, 30), max_size=12)


def offsets_of(lengths):
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])


def path_edges(offsets):
    nodes = np.arange(offsets[-1])
    inner = np.setdiff1d(nodes, offsets[:-1])  # nodes with a left neighbour
    return np.column_stack([inner - 1, inner])


def parts(n_nodes, edges, keep):
    graph = coo_array((np.ones(keep.sum()), edges[keep].T), shape=(n_nodes, n_nodes))
    return connected_components(graph, directed=False)[1]


# ------------------------------------------------------------------------------------------------------ chains


@given(size=sizes, lengths=lengths, seed=st.integers(0, 2**32 - 1), epoch=st.integers(0, 100))
def test_pieces_cover_every_sample_in_order(size, lengths, seed, epoch):
    offsets = offsets_of(lengths) + 7  # a slice of a batch need not start at 0
    cut = Decomposition(size)
    starts, stops, sample = cut.pieces(offsets, seed, epoch)
    assert all(part.dtype == np.int64 for part in (starts, stops, sample))
    rows = [np.arange(a, b) for a, b in zip(starts, stops)]
    np.testing.assert_array_equal(np.concatenate([*rows, []]), np.arange(7, offsets[-1]))
    assert np.all(stops > starts) and np.all(np.diff(sample) >= 0)
    assert np.all((starts >= offsets[sample]) & (stops <= offsets[sample + 1]))
    assert np.all(stops - starts <= (np.floor(size) + (size % 1 > 0) if np.isfinite(size) else 30))
    count = np.bincount(sample, minlength=len(lengths))
    assert all(n == min(length, 1) for n, length in zip(count, lengths) if length <= size)
    again = cut.pieces(offsets, seed, epoch)
    assert all(map(np.array_equal, (starts, stops, sample), again))


def renewal_law(size, n):
    """Probability of every set of cuts of ``n`` positions: a window on an endless chain of i.i.d. pieces."""
    low = int(size)
    share = {low: low + 1 - size, low + 1: size - low}
    first = {r: sum(p for k, p in share.items() if k >= r) / size for r in range(1, low + 2)}
    law = {}

    def extend(cuts, end, probability):
        if end >= n:
            law[cuts] = law.get(cuts, 0.0) + probability
            return
        for k, p in share.items():
            if p:
                extend((*cuts, end), end + k, probability * p)

    for r, p in first.items():
        extend((), r, p)
    return law


@pytest.mark.parametrize("size", [1.0, 1.5, 2.0, 2.25, 3.5])
def test_law_of_the_cuts(size):
    """Frequencies of all sets of cuts of 5 positions are those of the endless chain."""
    n, draws = 5, 20_000
    starts, _, sample = Decomposition(size).pieces(np.arange(draws + 1) * n, seed=1, epoch=2)
    cut = np.zeros((draws, n), bool)
    cut[sample, starts - sample * n] = True
    law = renewal_law(size, n)
    assert sum(law.values()) == pytest.approx(1.0)
    seen = {}
    for row in cut[:, 1:]:
        key = tuple(np.flatnonzero(row) + 1)
        seen[key] = seen.get(key, 0) + 1
    assert set(seen) <= set(law)
    for key, p in law.items():
        assert abs(seen.get(key, 0) - draws * p) <= 5.0 * np.sqrt(draws * p * (1.0 - p)) + 1e-9


@pytest.mark.parametrize("size", [1.0, 1.5, 2.5, 5.5, 7.0])
def test_every_edge_is_dropped_with_the_same_probability(size):
    n, draws = 12, 20_000
    starts, stops, sample = Decomposition(size).pieces(np.arange(draws + 1) * n, seed=3, epoch=0)
    dropped = np.bincount(starts - sample * n, minlength=n)[1:] / draws
    np.testing.assert_allclose(dropped, 1.0 / size, atol=5.0 * np.sqrt(1.0 / draws / size))
    inner = (starts > sample * n) & (stops < (sample + 1) * n)
    inside = (stops - starts)[inner]
    assert set(inside) <= {int(size), int(np.ceil(size))}


def test_long_chains_have_pieces_of_the_mean_size():
    starts, stops, _ = Decomposition(5.5).pieces(np.array([0, 200_000]), seed=0, epoch=0)
    assert (stops - starts).mean() == pytest.approx(5.5, abs=0.02)
    counts = np.bincount(stops - starts)
    assert counts[:5].sum() <= 2 and abs(counts[5] - counts[6]) < 0.05 * counts[5]


def test_epochs_seeds_and_samples_differ():
    offsets = np.arange(101) * 20
    cut = Decomposition(5.5)
    first, other_epoch, other_seed = (
        cut.pieces(offsets, seed, epoch)[0] for seed, epoch in ((0, 0), (0, 1), (1, 0))
    )
    assert not np.array_equal(first, other_epoch) and not np.array_equal(first, other_seed)
    phases = {int(first[first > start][0] - start) for start in offsets[:-1]}
    assert phases == {1, 2, 3, 4, 5, 6}


def test_limits():
    offsets = offsets_of([4, 1, 0, 3])
    starts, stops, sample = Decomposition(1).pieces(offsets, 0, 0)
    np.testing.assert_array_equal(starts, np.arange(8))
    np.testing.assert_array_equal(sample, [0, 0, 0, 0, 1, 3, 3, 3])
    for size in (float("inf"), 4, 1e300):
        starts, stops, sample = Decomposition(size).pieces(offsets, 0, 0)
        np.testing.assert_array_equal(starts, [0, 4, 5])
        np.testing.assert_array_equal(stops, [4, 5, 8])


# ------------------------------------------------------------------------------------------------------ graphs


@given(size=sizes, lengths=lengths, seed=st.integers(0, 1000))
def test_paths_are_cut_as_chains(size, lengths, seed):
    offsets = offsets_of(lengths)
    edges = path_edges(offsets)
    cut = Decomposition(size)
    starts = cut.pieces(offsets, seed, 4)[0]
    kept = cut.keep_edges(int(offsets[-1]), edges, seed, 4)
    np.testing.assert_array_equal(kept, ~np.isin(edges[:, 1], starts))


def test_paths_with_shuffled_nodes_follow_the_same_law(rng):
    """Each edge is dropped with probability 1 / size, and nearly all pieces have 3 or 4 nodes."""
    n, draws, size = 9, 4000, 3.5
    edges = path_edges(np.arange(draws + 1) * n)
    position = np.concatenate([rng.permutation(n) + i * n for i in range(draws)])
    kept = Decomposition(size).keep_edges(n * draws, position[edges], 0, 0)
    dropped = (~kept).reshape(draws, n - 1).mean(axis=0)
    np.testing.assert_allclose(dropped, 1.0 / size, atol=5.0 * np.sqrt(1.0 / draws / size))


@given(
    n=st.integers(1, 25),
    pairs=st.lists(st.tuples(st.integers(0, 24), st.integers(0, 24)), max_size=60),
    size=sizes,
    seed=st.integers(0, 1000),
)
def test_pieces_of_a_graph_are_connected_and_keep_all_inner_edges(n, pairs, size, seed):
    edges = np.array([p for p in pairs if max(p) < n], np.int64).reshape(-1, 2)
    kept = Decomposition(size).keep_edges(n, edges, seed, 0)
    part, whole = parts(n, edges, kept), parts(n, edges, np.ones(len(edges), bool))
    np.testing.assert_array_equal(kept, part[edges[:, 0]] == part[edges[:, 1]])
    if np.isfinite(size):
        assert np.bincount(part).max() <= max(2 * np.ceil(size), size)
    for c in range(whole.max() + 1):
        if np.count_nonzero(whole == c) <= size:
            assert len(np.unique(part[whole == c])) == 1  # small graphs stay whole


def grid(m):
    node = np.arange(m * m).reshape(m, m)
    pairs = [(node[:, :-1], node[:, 1:]), (node[:-1], node[1:])]
    return m * m, np.concatenate([np.column_stack([a.ravel(), b.ravel()]) for a, b in pairs])


def random_tree(n):
    parent = (np.random.default_rng(0).random(n - 1) * np.arange(1, n)).astype(int)
    return n, np.column_stack([np.arange(1, n), parent])


@pytest.mark.parametrize(("graph", "slack"), [(grid(30), 0.05), (random_tree(1000), 0.25)])
@pytest.mark.parametrize("size", [1.5, 2.5, 5.5, 10.5])
def test_mean_size_on_grids_and_trees(graph, slack, size):
    n, edges = graph
    n_pieces = [parts(n, edges, Decomposition(size).keep_edges(n, edges, 0, k)).max() + 1 for k in range(4)]
    assert n / np.mean(n_pieces) == pytest.approx(size, rel=slack)


def test_graphs_are_cut_anew_each_epoch():
    n, edges = grid(6)
    cut = Decomposition(4.5)
    seen = {cut.keep_edges(n, edges, 0, epoch).tobytes() for epoch in range(20)}
    assert len(seen) == 20
    ever = np.mean([cut.keep_edges(n, edges, 0, epoch) for epoch in range(60)], axis=0)
    assert np.all((ever > 0.0) & (ever < 1.0))  # no edge is always kept or always dropped


def test_small_graphs_by_hand():
    star = np.column_stack([np.zeros(6, int), np.arange(1, 7)])
    # The hub with its piece, the others alone.
    assert Decomposition(3).keep_edges(7, star, 0, 0).sum() in (1, 2)
    loops = np.array([[0, 0], [0, 1], [0, 1], [1, 1]])
    assert Decomposition(1).keep_edges(2, loops, 0, 0).tolist() == [True, False, False, True]
    assert Decomposition(2).keep_edges(2, loops, 0, 0).all()
    assert Decomposition(2).keep_edges(3, [], 0, 0).shape == (0,)
    assert Decomposition(2).keep_edges(0, np.empty((0, 2), int), 0, 0).shape == (0,)


@pytest.mark.parametrize(
    ("n_nodes", "edges", "message"),
    [
        (2, [[0, 1], [1, 2]], r"edges\[1\] = \[1, 2\] names a node that does not exist: there are 2"),
        (2, [[0, -1]], r"edges\[0\] = \[0, -1\]"),
        (2, [[0.0, 1.0]], "integers of shape"),
        (3, [[0, 1, 2]], "integers of shape"),
        (-1, [], "n_nodes must be an integer"),
    ],
)
def test_bad_edges(n_nodes, edges, message):
    with pytest.raises(ValueError, match=message):
        Decomposition(2).keep_edges(n_nodes, np.array(edges), 0, 0)


# ------------------------------------------------------------------------------------------------ bad and good


@pytest.mark.parametrize("size", [0.99, 0, -3, float("nan"), "5.5", "Auto", None, True, [5.5], 1j])
def test_bad_sizes_are_refused_with_a_remedy(size):
    with pytest.raises(ValueError, match=r"at least 1 .*such as 5.5.* or 'auto', got"):
        Decomposition(size)
    with pytest.raises(ValueError, match="size must be a number of at least 1"):
        Decomposition().set_params(size=size).pieces(np.array([0, 3]), 0, 0)


def test_auto_has_no_pieces_yet():
    with pytest.raises(ValueError, match="no size yet: fit a learner"):
        Decomposition("auto").pieces(np.array([0, 3]), 0, 0)


def test_is_a_parameter_object():
    cut = Decomposition(2.5)
    assert clone(cut).size == 2.5 and pickle.loads(pickle.dumps(cut)).size == 2.5
    assert repr(cut) == "Decomposition(size=2.5)"
    assert Decomposition(np.float32(2.5)).pieces(np.array([0, 9]), 0, 0)[1][-1] == 9


def test_huge_sizes_cut_nothing():
    path = np.array([[0, 1], [1, 2], [3, 4]])
    for size in (1e300, np.inf, 5):
        assert Decomposition(size).keep_edges(5, path, 0, 0).all()
        assert Decomposition(size).pieces(np.array([0, 3, 5]), 0, 0)[1].tolist() == [3, 5]


def test_structures_say_whether_edges_can_be_dropped():
    class Ranking:
        pass

    class Segments(Chain):
        pass

    check_removable(Chain())
    for structure, name in ((Ranking(), "Ranking"), (Segments(), "Segments"), (Multiclass(), "Multiclass")):
        with pytest.raises(MissingCapability, match=f"cannot cut a {name}"):
            check_removable(structure)


@pytest.mark.nojit
def test_all_small_graphs():
    """Every graph of 4 nodes, sizes 1 to 4."""
    pairs = np.array(list(itertools.combinations(range(4), 2)))
    for size, chosen in itertools.product((1, 1.5, 2, 3, 4), itertools.product([False, True], repeat=6)):
        edges = pairs[np.array(chosen)]
        kept = Decomposition(size).keep_edges(4, edges, 0, 0)
        part = parts(4, edges, kept)
        np.testing.assert_array_equal(kept, part[edges[:, 0]] == part[edges[:, 1]])
        if size == 4:
            assert kept.all()
        if size == 1:
            assert not kept.any()
