"""Word clusters: what they group, determinism, unknown words, storage."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from palmette.errors import ModelFileError
from palmette.features import WordClusters, append_clusters
from palmette.features.clusters import _positive_information

CLASSES = {
    "who": ["cats", "dogs", "birds", "mice", "Lions"],
    "did": ["chase", "see", "hear", "fear"],
    "how": ["slowly", "often", "never"],
}


def sentences(n=400, seed=0):
    """Who did how whom: words of a class are exchangeable."""
    rng = np.random.default_rng(seed)
    order = ("how", "who", "did", "how", "who")
    return [[str(rng.choice(CLASSES[each])) for each in order] for _ in range(n)]


@pytest.fixture(scope="module")
def clusters():
    return WordClusters(n_clusters=(3, 5), n_components=3).fit(sentences())


def test_exchangeable_words_share_a_cluster(clusters):
    found = [{clusters.clusters_of(word)[0] for word in words} for words in CLASSES.values()]
    assert [len(each) for each in found] == [1, 1, 1]
    assert len(set.union(*found)) == 3


def test_attributes(clusters):
    assert clusters.column_names_ == ["cluster3", "cluster5"]
    assert set(clusters.vocabulary_) == {word.lower() for words in CLASSES.values() for word in words}
    assert clusters.labels_.shape == (12, 2)
    assert set(clusters.labels_[:, 0].tolist()) == {0, 1, 2}


def test_equal_seeds_give_equal_clusters(clusters):
    again = clone(clusters).fit(sentences())
    assert again.vocabulary_ == clusters.vocabulary_
    np.testing.assert_array_equal(again.labels_, clusters.labels_)


def test_case_and_digits():
    text = [["Cats", "saw", "12"], ["cats", "saw", "34"]] * 3
    one = WordClusters(2, n_components=2, min_count=1).fit(text)
    assert set(one.vocabulary_) == {"cats", "saw", "00"}
    assert one.clusters_of("CATS") == one.clusters_of("cats") and one.clusters_of("99") == one.clusters_of(
        "12"
    )
    two = WordClusters(2, n_components=2, min_count=1, lowercase=False).fit(text)
    assert set(two.vocabulary_) == {"Cats", "cats", "saw", "00"}


def test_rare_and_unknown_words_get_their_shape():
    text = [["cats", "chase", "mice"]] * 3 + [["Kim", "chase", "IL-2Ra"]]
    clusters = WordClusters(2, n_components=2).fit(text)
    assert "kim" not in clusters.vocabulary_, "it occurs once, min_count is 3"
    assert clusters.clusters_of("Kim") == ("?Xx",)
    assert clusters.clusters_of("IL-2Ra") == ("?X-0Xx",)
    assert clusters.clusters_of("3,141.59") == ("?0,0.0",)


def test_columns_are_appended(clusters):
    text = [[("cats", "NNS", "B"), ("xylophones", "NNS", "I")], []]
    plain = clusters.transform(text)
    assert [token[:3] for token in plain[0]] == text[0] and plain[1] == []
    assert plain[0][0][3:] == clusters.clusters_of("cats") and plain[0][1][3:] == ("?x", "?x")
    before_label = append_clusters(text, clusters, at=-1)
    assert [token[-1] for token in before_label[0]] == ["B", "I"]
    assert [token[2:4] for token in before_label[0]] == [token[3:] for token in plain[0]]
    assert clusters.transform([["cats"]]) == [[("cats", *clusters.clusters_of("cats"))]]
    moved = append_clusters([[("NNS", "cats")]], clusters, column=1)
    assert moved[0][0][2:] == clusters.clusters_of("cats")
    assert WordClusters(3, n_components=3).fit_transform(sentences())[0][0][0] == sentences()[0][0]


def test_tokens_and_words_teach_the_same(clusters):
    tokens = [[(word, "TAG") for word in sentence] for sentence in sentences()]
    np.testing.assert_array_equal(clone(clusters).fit(tokens).labels_, clusters.labels_)


def test_contexts_do_not_cross_sentences():
    clusters = WordClusters(1, n_components=1, window=2, min_count=1)
    clusters.vocabulary_ = {"a": 0, "b": 1}
    counts = clusters._counts([["a", "b"], ["a"]]).toarray()
    n_codes = 4  # boundary, rare, a, b; blocks are the distances -2, -1, 1, 2
    expected = np.zeros((2, 4 * n_codes))
    for row, contexts in ((0, (0, 0, 3, 0)), (1, (0, 2, 0, 0)), (0, (0, 0, 0, 0))):
        for block, code in enumerate(contexts):
            expected[row, block * n_codes + code] += 1
    np.testing.assert_array_equal(counts, expected)


@given(st.lists(st.lists(st.integers(0, 3), min_size=3, max_size=3), min_size=2, max_size=4))
def test_positive_information_by_its_formula(table):
    from scipy import sparse

    counts = np.array(table, float)
    counts[0] += 1
    found = _positive_information(sparse.csr_array(counts)).toarray()
    p = counts / counts.sum()
    for i, j in np.ndindex(*counts.shape):
        wanted = np.log(p[i, j] / (p[i].sum() * p[:, j].sum())) if p[i, j] else -np.inf
        assert found[i, j] == pytest.approx(max(0.0, wanted), abs=1e-12)


def test_storage(clusters):
    header, arrays = clusters.state()
    loaded = WordClusters.from_state(json.loads(json.dumps(header)), arrays)
    assert loaded.get_params() == clusters.get_params()
    assert loaded.vocabulary_ == clusters.vocabulary_ and loaded.column_names_ == clusters.column_names_
    assert loaded.transform(sentences(20, seed=1)) == clusters.transform(sentences(20, seed=1))
    for damage in ({"labels": arrays["labels"][:-1]}, {"labels": arrays["labels"].astype(float)}):
        with pytest.raises(ModelFileError, match="damaged word clusters"):
            WordClusters.from_state(header, {**arrays, **damage})


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_clusters": (64, 0)}, "n_clusters must be an integer >= 1, got 0"),
        ({"n_clusters": ()}, "n_clusters is empty"),
        ({"window": 1.5}, "window must be an integer >= 1, got 1.5"),
        ({"min_count": True}, "min_count must be an integer >= 1"),
        ({"n_clusters": 13}, "12 different words occur at least 3 times, but 50 are needed"),
        ({"n_clusters": 13, "n_components": 2}, "but 13 are needed; give more text, or lower min_count"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        WordClusters(**parameters).fit(sentences())


@pytest.mark.data
def test_clusters_of_a_newspaper_know_parts_of_speech():
    from palmette.datasets import load_conll2000

    clusters = WordClusters(64).fit(load_conll2000().data)
    (monday,) = clusters.clusters_of("monday")
    assert clusters.clusters_of("friday") == (monday,)
    assert clusters.clusters_of("would") == clusters.clusters_of("could") != (monday,)
