"""Enzymes with their paths in the hierarchy of functions."""

import pytest

from palmette.datasets import load_enzymes, store
from palmette.errors import DataFileError

SPLIT = (
    b"entry\tec\tn_labels\tlength\tsplit\tsequence\n"
    b"P1\t3.5.2.6\t1\t4\ttrain\tMELP\nP2\t3.5.2.10\t1\t3\ttest\tMKV\nP3\t1.1.1.1;2.7.7.n1\t2\t2\t-\tMX\n"
)
NEW = b"entry\tec\tn_labels\tlength\tsequence\nQ1\t2.7.7.18;3.6.1.41\t2\t3\tMKQ\n"


@pytest.fixture
def small(monkeypatch):
    texts = {"split10": SPLIT, "new392": NEW, "price149": NEW.replace(b"MKQ", b"")}
    monkeypatch.setattr(store, "read", lambda name, sources: {source: texts[source] for source in sources})


def test_the_given_split_has_one_path_each(small):
    train, both = load_enzymes("train"), load_enzymes("single")
    assert train.data == ["MELP"] and train.target == [("3", "5", "2", "6")]
    assert train.entries.tolist() == ["P1"] and "Swiss-Prot" in train.DESCR
    assert both.target[1] == ("3", "5", "2", "10") and both.split.tolist() == ["train", "test"]
    assert load_enzymes("test", return_X_y=True) == (["MKV"], [("3", "5", "2", "10")])


def test_other_proteins_may_have_several_paths(small):
    everything, new = load_enzymes("all"), load_enzymes("new392")
    assert everything.target[0] == [("3", "5", "2", "6")]
    assert everything.target[2] == [("1", "1", "1", "1"), ("2", "7", "7", "n1")]
    assert new.target == [[("2", "7", "7", "18"), ("3", "6", "1", "41")]] and new.split.tolist() == ["-"]


def test_refusals(small):
    with pytest.raises(ValueError, match="subset must be one of 'train', 'test', 'single'"):
        load_enzymes("dev")
    with pytest.raises(DataFileError, match="price149, line 2: a protein needs a sequence"):
        load_enzymes("price149")


@pytest.mark.data
def test_published_set():
    both = load_enzymes("single")
    assert [(both.split == part).sum() for part in ("train", "test")] == [2797, 1755]
    assert [len({path[: k + 1] for path in both.target}) for k in range(4)] == [7, 52, 134, 527]
    seen = {p for p, s in zip(both.target, both.split) if s == "train"}
    assert sum(p not in seen for p, s in zip(both.target, both.split) if s == "test") == 49
    assert len(load_enzymes("all").data) == 7757
    assert [len(load_enzymes(name).data) for name in ("new392", "price149")] == [392, 149]
