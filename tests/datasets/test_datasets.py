"""Loaders and simulators of data sets, and the file formats behind them."""

from __future__ import annotations

import gzip
import io
import pickle
import subprocess
import sys
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import palmette.datasets
from palmette.datasets import (
    get_dataset,
    list_datasets,
    load_conll2000,
    load_ocr_letters,
    make_chains,
    make_tagging,
    ocr_format,
)

# ------------------------------------------------------------------------------------------ public names


def test_every_public_name_can_be_imported():
    for name in palmette.datasets.__all__:
        assert getattr(palmette.datasets, name).__doc__, name


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'load_nothing'"):
        palmette.datasets.load_nothing  # noqa: B018


def test_listing_needs_no_scikit_learn():
    code = "import sys; from palmette.datasets import list_datasets, where; print('sklearn' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "False"


def test_registry_is_complete():
    for dataset in list_datasets():
        assert get_dataset(dataset.name) is dataset
        assert dataset.licence and dataset.size > 0
        assert dataset.title in dataset.DESCR and dataset.licence in dataset.DESCR
        for source in dataset.sources:
            assert len(source.sha256) == 64
            assert source.urls or "to be put there by hand" in dataset.description
            assert source.files[0].decode(b"content") == b"content", "the cache holds decoded content"


def test_a_data_set_is_tried_if_each_of_its_sources_was():
    dataset = get_dataset("conll2000")
    assert not any(url.tried for url in dataset.urls) and not dataset.tried
    untried = dataset.sources[0]
    tried = replace(untried, urls=(untried.urls[0], untried.urls[1]._replace(tried=True)))
    assert not replace(dataset, sources=(tried, untried)).tried
    assert replace(dataset, sources=(tried, tried)).tried


def test_unknown_data_set_names_the_known_ones():
    with pytest.raises(ValueError, match="unknown data set 'ocr'; known: ocr-letters, conll2000"):
        get_dataset("ocr")


# ----------------------------------------------------------------------- three formats of handwritten words

simulated_words = st.lists(
    st.tuples(
        st.integers(0, 9),
        st.text(alphabet=ocr_format.LETTERS, min_size=1, max_size=4),
        st.integers(0, 2**32 - 1),
    ),
    min_size=1,
    max_size=5,
).map(
    lambda words: [
        (fold, word, np.random.default_rng(seed).integers(0, 2, (len(word), 128), np.uint8))
        for fold, word, seed in words
    ]
)


def as_letter_data(words) -> bytes:
    """The original format: a line per letter, every column followed by a tab."""
    lines, identity = [], 0
    for word_id, (fold, word, pixels) in enumerate(words, start=1):
        for position, (letter, image) in enumerate(zip(word, pixels), start=1):
            identity += 1
            following = -1 if position == len(word) else identity + 1
            columns = [identity, letter, following, word_id, position, fold, *image]
            lines.append("".join(f"{column}\t" for column in columns) + "\n")
    return "".join(lines).encode()


def as_npz(words) -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(
        buffer,
        pixels=np.packbits(np.concatenate([pixels for _, _, pixels in words]), axis=1),
        labels=np.array([ord(c) - ord("a") for _, word, _ in words for c in word], np.uint8),
        offsets=np.cumsum([0] + [len(word) for _, word, _ in words], dtype=np.int32),
        folds=np.array([fold for fold, _, _ in words], np.uint8),
    )
    return buffer.getvalue()


@given(simulated_words)
def test_all_formats_have_the_same_content(words):
    text = ocr_format.from_npz(as_npz(words))
    assert ocr_format.from_letter_data(as_letter_data(words)) == text
    assert ocr_format.from_letter_data_gz(gzip.compress(as_letter_data(words))) == text
    assert ocr_format.from_letter_data(as_letter_data(words).replace(b"\t\n", b"\r\n")) == text
    parsed = ocr_format.parse(text)
    assert parsed.words == [word for _, word, _ in words]
    assert parsed.folds.tolist() == [fold for fold, _, _ in words]
    np.testing.assert_array_equal(parsed.pixels, np.concatenate([pixels for _, _, pixels in words]))


def two_letters() -> list[bytes]:
    pixels = np.zeros((2, 128), np.uint8)
    return as_letter_data([(0, "ab", pixels)]).splitlines(keepends=True)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"\t0\t\n", b"\n", "line 2: expected 134 columns, found 133"),
        (b"\tb\t", b"\tB\t", "line 2: expected a letter a..z"),
        (b"\tb\t", b"\tbc\t", "line 2: expected a letter a..z"),
        (b"\t2\t0\t", b"\t2\t12\t", "line 2: expected .* a fold 0..9"),
        (b"\t0\t\n", b"\t7\t\n", "line 2: expected .* pixels 0 or 1"),
        (b"\t-1\t", b"\t3\t", "line 2: the file ends inside a word"),
    ],
)
def test_damaged_letter_data_names_the_line(old, new, message):
    first, second = two_letters()
    with pytest.raises(ValueError, match=message):
        ocr_format.from_letter_data(first + second.replace(old, new))


def test_empty_letter_data():
    with pytest.raises(ValueError, match="ends inside a word"):
        ocr_format.from_letter_data(b"")


def test_pickled_arrays_are_refused():
    buffer = io.BytesIO()
    np.savez(buffer, pixels=np.array([{}], dtype=object), labels=[0], offsets=[0, 1], folds=[0])
    with pytest.raises(ValueError, match="allow_pickle=False"):
        ocr_format.from_npz(buffer.getvalue())


# ------------------------------------------------------------------------------------------ real data


@pytest.mark.data
def test_ocr_letters_has_the_published_counts():
    words = load_ocr_letters()
    assert len(words.data) == len(words.target) == len(words.folds) == 6877
    assert sum(map(len, words.target)) == 52152
    assert np.bincount(words.folds).tolist() == [626, 704, 684, 698, 693, 651, 739, 717, 690, 675]
    letters = np.bincount(words.folds, weights=[len(y) for y in words.target])
    assert letters.tolist() == [4617, 5375, 5110, 5353, 5270, 5001, 5583, 5370, 5331, 5142]
    assert len({"".join(y) for y in words.target}) == 55
    assert {len(y) for y in words.target} <= set(range(3, 15))
    assert {letter for y in words.target for letter in y} == set(words.target_names)
    assert len(words.feature_names) == 128 and words.feature_names[9] == "p_1_1"
    for x, y in zip(words.data, words.target):
        assert x.shape == (len(y), 128) and x.dtype == np.float64
    assert np.unique(np.concatenate(words.data)).tolist() == [0.0, 1.0]
    assert "Kassel" in words.DESCR


@pytest.mark.data
def test_folds_of_ocr_letters_are_parts_of_the_whole():
    everything = load_ocr_letters(None)
    for subset, folds in ((3, {3}), (np.int64(3), {3}), ([7, 2], {2, 7}), (range(9), set(range(9)))):
        part = load_ocr_letters(subset)
        kept = [i for i, fold in enumerate(everything.folds) if fold in folds]
        assert part.folds.tolist() == everything.folds[kept].tolist()
        assert part.target == [everything.target[i] for i in kept]
        assert all(np.array_equal(x, everything.data[i]) for x, i in zip(part.data, kept))
    X, y = load_ocr_letters(7, return_X_y=True)
    assert len(X) == len(y) == 717


@pytest.mark.data
@pytest.mark.parametrize(
    ("subset", "n_sentences", "n_tokens", "n_labels"),
    [("train", 8936, 211727, 22), ("test", 2012, 47377, 19), ("all", 10948, 259104, 23)],
)
def test_conll2000_has_the_published_counts(subset, n_sentences, n_tokens, n_labels):
    bunch = load_conll2000(subset)
    assert len(bunch.data) == len(bunch.target) == len(bunch.groups) == n_sentences
    assert sum(map(len, bunch.data)) == sum(map(len, bunch.target)) == n_tokens
    assert bunch.target_names == sorted({label for labels in bunch.target for label in labels})
    assert len(bunch.target_names) == n_labels
    assert [len(x) for x in bunch.data] == [len(y) for y in bunch.target]
    assert all(x for x in bunch.data), "no sentence is empty"
    assert {len(token) for x in bunch.data for token in x} == {2}
    expected = {"train": 8936, "test": 2012}
    assert Counter(bunch.groups.tolist()) == (expected if subset == "all" else {subset: n_sentences})


@pytest.mark.data
def test_conll2000_keeps_tokens_that_look_like_comments():
    X, y = load_conll2000("all", return_X_y=True)
    assert any(word == "#" for sentence in X for word, _ in sentence)
    train = load_conll2000()
    assert X[: len(train.data)] == train.data and y[: len(train.data)] == train.target
    assert "I-LST" in {label for labels in y for label in labels} - set(train.target_names)


@pytest.mark.parametrize("subset", ["train", "", 10, -1, True, 0.5, [0, 10], ["0"], [0.5], [True], object])
def test_bad_subset_of_ocr_letters(subset):
    with pytest.raises(ValueError, match="subset must be 'all' or folds from 0 to 9, got"):
        load_ocr_letters(subset)


def test_empty_subset_of_ocr_letters():
    with pytest.raises(ValueError, match="subset is empty"):
        load_ocr_letters([])


@pytest.mark.parametrize("subset", ["valid", None, 0, ["train"]])
def test_bad_subset_of_conll2000(subset):
    with pytest.raises(ValueError, match="subset must be one of 'train', 'fit', 'dev', 'test', 'all', got"):
        load_conll2000(subset)


# ------------------------------------------------------------------------------------------ simulators


@given(st.integers(1, 6), st.integers(1, 4), st.integers(1, 3), st.floats(1, 6), st.integers(0, 99))
def test_chains_have_the_shapes_asked_for(n_samples, n_classes, n_features, mean_length, seed):
    X, Y = make_chains(n_samples, n_classes, n_features, mean_length=mean_length, random_state=seed)
    assert len(X) == len(Y) == n_samples
    for x, y in zip(X, Y):
        assert x.shape == (len(y), n_features) and len(y) >= 1 and np.isfinite(x).all()
        assert all(type(label) is int and 0 <= label < n_classes for label in y)


@pytest.mark.parametrize("make", [make_chains, make_tagging])
def test_simulators_are_deterministic(make):
    same = pickle.dumps(make(5, random_state=3))
    assert pickle.dumps(make(5, random_state=3)) == same
    assert pickle.dumps(make(5, random_state=np.random.default_rng(3))) == same
    assert pickle.dumps(make(5, random_state=4)) != same


def test_mean_length_of_chains():
    lengths = [len(y) for y in make_chains(4000, mean_length=5, random_state=0)[1]]
    assert abs(np.mean(lengths) - 5) < 4 * 2 / np.sqrt(4000)
    assert {len(y) for y in make_chains(50, mean_length=1, random_state=0)[1]} == {1}


def test_full_stickiness_keeps_the_label():
    _, Y = make_chains(200, stickiness=1, random_state=0)
    assert all(len(set(y)) == 1 for y in Y)
    assert {y[0] for y in Y} == set(range(5))


def test_stickiness_is_added_to_the_chance_of_staying():
    def stays(stickiness):
        _, Y = make_chains(2000, stickiness=stickiness, random_state=0)  # the same random table each time
        return np.mean([a == b for y in Y for a, b in zip(y, y[1:])])

    assert stays(0.0) < stays(0.5) < stays(0.9) and stays(0.9) > 0.85


def test_without_noise_features_are_the_class_means():
    X, Y = make_chains(20, noise=0, random_state=0)
    rows, labels = np.concatenate(X), np.concatenate(Y)
    for k in np.unique(labels):
        assert len(np.unique(rows[labels == k], axis=0)) == 1
    assert len(np.unique(rows, axis=0)) == len(np.unique(labels))


def test_noise_is_the_standard_deviation():
    X, Y = make_chains(500, n_classes=2, n_features=3, noise=0.3, random_state=1)
    rows, labels = np.concatenate(X), np.concatenate(Y)
    for k in (0, 1):
        np.testing.assert_allclose(rows[labels == k].std(axis=0), 0.3, rtol=0.1)


def test_tagging_features_are_the_words_around():
    X, Y = make_tagging(20, n_tags=3, random_state=0)
    assert {tag for y in Y for tag in y} == {"T0", "T1", "T2"}
    for x, y in zip(X, Y):
        assert len(x) == len(y)
        assert [token.get("first", False) for token in x] == [True] + [False] * (len(x) - 1)
        assert [token["w"] for token in x[:-1]] == [token["w-1"] for token in x[1:]]
        assert [token["w"] for token in x[1:]] == [token["w+1"] for token in x[:-1]]
        assert "w-1" not in x[0] and "w+1" not in x[-1]


def test_ambiguity_of_words():
    def mean_tags_per_word(ambiguity):
        X, Y = make_tagging(300, n_words=20, ambiguity=ambiguity, random_state=0)
        pairs = {(token["w"], tag) for x, y in zip(X, Y) for token, tag in zip(x, y)}
        return len(pairs) / len({word for word, _ in pairs})

    assert mean_tags_per_word(0.02) < 2 < 4.5 < mean_tags_per_word(10)


@pytest.mark.parametrize(
    ("make", "arguments", "error", "message"),
    [
        (make_chains, {"n_samples": 0}, ValueError, "n_samples must be at least 1, got n_samples=0"),
        (make_chains, {"n_classes": 2.0}, TypeError, "n_classes must be an integer, got n_classes=2.0"),
        (make_chains, {"n_features": True}, TypeError, "n_features must be an integer, got n_features=True"),
        (make_chains, {"mean_length": 0.5}, ValueError, "mean_length must be a finite number >= 1"),
        (make_chains, {"noise": -1}, ValueError, "noise must be a finite number >= 0, got noise=-1"),
        (make_chains, {"noise": float("nan")}, ValueError, "noise must be a finite number >= 0"),
        (make_chains, {"stickiness": 1.5}, ValueError, r"stickiness must be in \[0, 1\], got stickiness=1.5"),
        (make_tagging, {"n_tags": 0}, ValueError, "n_tags must be at least 1"),
        (make_tagging, {"n_words": "many"}, TypeError, "n_words must be an integer, got n_words='many'"),
        (
            make_tagging,
            {"ambiguity": 0},
            ValueError,
            "ambiguity must be a finite number > 0, got ambiguity=0",
        ),
    ],
)
def test_bad_arguments_of_simulators(make, arguments, error, message):
    with pytest.raises(error, match=message):
        make(**arguments)
