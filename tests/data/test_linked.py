"""Allowed labels of edges in annotations: what is said, where it stands after samples were taken, what is counted."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palmette import UNKNOWN, Linked, OneOf
from palmette.data import Annotation, LabelCodec
from palmette.data.annotation import counts_of
from palmette.data.linked import Pairs
from palmette.data.ragged import gather, offsets_from_lengths

CODEC = LabelCodec("abc")


def drawn(rng, n_samples=5):
    """Outputs with allowed labels of pairs of nodes, and their lengths."""
    outputs = []
    for n in rng.integers(1, 6, n_samples):
        labels = [UNKNOWN if rng.random() < 0.5 else "abc"[rng.integers(3)] for _ in range(n)]
        pairs = {}
        for _ in range(rng.integers(0, 4) if n > 1 else 0):
            u, v = rng.choice(n, 2, replace=False).tolist()
            if (v, u) not in pairs:
                several = rng.integers(0, 3, (rng.integers(1, 4), 2)).tolist()
                pairs[u, v] = OneOf(*(("abc"[i], "abc"[j]) for i, j in several))
        outputs.append(Linked(labels, pairs) if rng.random() < 0.8 else labels)
    return outputs, np.array([len(y) for y in outputs])


def said(annotation):
    """What an annotation says, in an order of its own."""
    if annotation.pairs is None:
        return annotation.codes.tolist(), []
    pairs = annotation.pairs
    tables = pairs.tables[pairs.table].tolist()
    return annotation.codes.tolist(), sorted(zip(pairs.places.tolist(), tables))


@given(st.integers(0, 10**6))
def test_samples_take_their_pairs_along(seed):
    rng = np.random.default_rng(seed)
    outputs, lengths = drawn(rng)
    whole, offsets = CODEC.encode_annotation(outputs, lengths), offsets_from_lengths(lengths)
    order = rng.integers(0, len(outputs), 7)  # in another order, with copies
    taken = whole[gather(offsets, order)[0]]
    assert said(taken) == said(CODEC.encode_annotation([outputs[i] for i in order], lengths[order]))
    a, b = sorted(rng.integers(0, len(outputs) + 1, 2))
    part = whole[offsets[a] : offsets[b]]
    assert said(part) == said(CODEC.encode_annotation(outputs[a:b], lengths[a:b]))
    assert said(pickle.loads(pickle.dumps(part))) == said(part)


@given(st.integers(0, 10**6))
def test_readings_have_every_allowed_pair(seed):
    outputs, lengths = drawn(np.random.default_rng(seed))
    some = CODEC.encode_annotation(outputs, lengths)
    if some.pairs is None:
        assert [codes.tolist() for codes in some.readings()] == [some.codes.tolist()]
        return
    possible = some.possible()
    left = [
        {(i, j) for i, j in np.argwhere(table) if possible[a, i] and possible[b, j]}
        for (a, b), table in zip(some.pairs.places, some.pairs.tables[some.pairs.table])
    ]
    if not all(left):
        return  # contradictions are refused before
    readings = list(some.readings())
    for codes in readings:
        assert np.all((some.known < 0) | (codes == some.known))
    for k, (a, b) in enumerate(some.pairs.places):
        assert {(codes[a], codes[b]) for codes in readings if min(codes[a], codes[b]) >= 0} >= left[k]
    for k, (a, b) in enumerate(some.pairs.places):
        if len(some.pairs) == 1 and max(some.known[a], some.known[b]) < 0:
            assert {(codes[a], codes[b]) for codes in readings if codes[a] >= 0} == left[k]


def test_links_are_found_in_both_directions():
    table = np.array([[[True, True, False], [False, False, False], [False, False, True]]])
    pairs = Pairs(np.array([[0, 1], [3, 2]]), np.zeros(2, int), table)
    links = np.array([[2, 3], [1, 0], [0, 1], [1, 2]])  # two edges join 0 and 1: one of them will do
    link, turned = pairs.links_of(links)
    assert link.tolist() == [1, 0] and turned.tolist() == [True, True]
    allowed = pairs.on(links)
    assert np.array_equal(allowed[1], table[0].T) and np.array_equal(allowed[0], table[0].T)
    assert allowed[2:].all()
    assert pairs.links_of(np.array([[5, 0], [0, 1]]))[0].tolist() == [1, -1]
    assert pairs.links_of(np.empty((0, 2), int))[0].tolist() == [-1, -1]
    with pytest.raises(ValueError, match="parts 3 and 2, which no edge joins"):
        pairs.on(np.array([[0, 1]]))


def test_counts_of_pairs():
    outputs = [Linked([UNKNOWN, UNKNOWN], {(0, 1): OneOf(("a", "b"))}), [UNKNOWN], Linked(["a", UNKNOWN], {})]
    some = CODEC.encode_annotation(outputs, [2, 1, 2])
    assert counts_of(some, np.array([0, 2, 3, 5])) == (1, 0, 4, 3, 1, 1)
    assert isinstance(some.plain, Annotation) and some[2:].pairs is None
    assert isinstance(some[2:].plain, np.ndarray)  # structures that know codes alone


def test_labels_of_edges_are_labels():
    outputs = [Linked(np.array(["b", "b"]), {(0, 1): OneOf(("b", "d"), ("a", "b"))})]
    assert LabelCodec.from_labels(outputs).classes_ == ("a", "b", "d")
    assert list(outputs[0]) == ["b", "b"] and outputs[0] == pickle.loads(pickle.dumps(outputs[0]))
    assert repr(outputs[0]) == "Linked(['b', 'b'], {(0, 1): OneOf(('b', 'd'), ('a', 'b'))})"
    with pytest.raises(TypeError, match="unhashable"):
        hash(outputs[0])
