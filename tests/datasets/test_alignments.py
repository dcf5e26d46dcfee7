"""Pairs of proteins with their alignments."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palmette.datasets import load_alignment_parameters, load_alignments, store
from palmette.datasets.two_folds import connected

PAIRS = b">p|x|A\nACd-\n>p|y|B\nA-dE\n>q|y|A\nAC\n>q|z|B\nAC\n>r|u|A\nWW\n>r|v|B\nWW\n"
INDEX = b"pair\tgroup\tnameA\tnameB\tpid_core\np\tf1\tx\ty\t100.0\nq\tf2\ty\tz\t50.0\nr\tf3\tu\tv\t100.0\n"
FEATURES = b"family\tname\tsequence\tsecondary_structure\tsolvent_accessible\n" + b"".join(
    b"%s\t%s\tAC\tHE\tTF\n" % key
    for key in [(b"f1", b"x"), (b"f1", b"y"), (b"f2", b"y"), (b"f2", b"z"), (b"f3", b"u"), (b"f3", b"v")]
)


@pytest.fixture
def small(monkeypatch):
    texts = {"pairs": PAIRS, "index": INDEX, "features": FEATURES}
    monkeypatch.setattr(store, "read", lambda name, sources: {source: texts[source] for source in sources})


def test_pairs_that_share_a_chain_are_one_group(small):
    found = load_alignments("prefab")
    assert found.data == [("ACD", "ADE"), ("AC", "AC"), ("WW", "WW")]
    assert found.target[0] == ("ACd-", "A-dE") and found.identity.tolist() == [100.0, 50.0, 100.0]
    assert found.groups.tolist() == ["x", "x", "u"] and found.folds.tolist() == [0, 0, 1]
    assert "secondary_structure" not in found and "PREFAB" in found.DESCR
    assert load_alignments("prefab", return_X_y=True) == (found.data, found.target)


def test_groups_of_others_are_families(small):
    found = load_alignments("homstrad")
    assert found.groups.tolist() == ["f1", "f2", "f3"]
    assert found.secondary_structure[0] == ("HE", "HE") and found.accessible[2] == ("TF", "TF")


def test_unknown_names():
    with pytest.raises(
        ValueError, match="name must be one of 'prefab', 'homstrad', 'ox', 'bali3', got 'sabmark'"
    ):
        load_alignments("sabmark")
    with pytest.raises(ValueError, match="name must be one of 'contralign'"):
        load_alignment_parameters("proda")


@given(
    st.lists(st.tuples(st.sampled_from("abcdefghij"), st.sampled_from("abcdefghij")), min_size=1, max_size=15)
)
def test_components_are_the_closure_of_sharing_a_name(edges):
    groups = connected(edges)
    reach = {name: {name} for edge in edges for name in edge}
    for _ in range(10):
        for one, two in edges:
            for name in list(reach[one] | reach[two]):
                reach[name] |= reach[one] | reach[two]
    for k, (one, _) in enumerate(edges):
        for l, (other, _) in enumerate(edges):
            assert (groups[k] == groups[l]) == (other in reach[one])


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "n", "groups", "core"),
    [
        ("prefab", 1681, 460, 305_511),
        ("homstrad", 1835, 1031, 364_992),
        ("ox", 1185, 395, 125_370),
        ("bali3", 1158, 386, 151_161),
    ],
)
def test_published_sets(name, n, groups, core):
    found = load_alignments(name)
    assert len(found.data) == n and len(set(found.groups)) == groups
    columns = [(x.isupper() and y.isupper(), x == y) for rows in found.target for x, y in zip(*rows)]
    assert sum(both for both, _ in columns) == core
    assert not set(found.groups[found.folds == 0]) & set(found.groups[found.folds == 1])
    if name == "prefab":
        assert np.max(np.unique(found.groups, return_counts=True)[1]) == 195
        assert not set(found.chains[found.folds == 0].ravel()) & set(found.chains[found.folds == 1].ravel())
    if name == "homstrad":
        assert all(
            len(x) == len(s) for xs, ss in zip(found.data, found.secondary_structure) for x, s in zip(xs, ss)
        )


@pytest.mark.data
def test_published_parameters():
    weights = load_alignment_parameters()
    assert len(weights) == 362 and weights["insert_change"] < 0.0
