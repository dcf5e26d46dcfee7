"""Encoders: every accepted input against a slow reading of its definition, and every refusal."""

from __future__ import annotations

import copy
import pickle
import time
from collections import Counter
from types import MappingProxyType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from palmette.data import Batch, SparseRows
from palmette.data.sequences import listed
from palmette.errors import ModelFileError
from palmette.features import encoder_from_state, make_encoder
from palmette.registry import stored

names = st.text("ab:é ", max_size=3)
numbers = st.one_of(st.booleans(), st.integers(-2, 2), st.floats(-3, 3), st.floats(-3, 3).map(np.float64))
values = st.recursive(
    st.one_of(names, names.map(str.encode), numbers, st.lists(names, max_size=3), st.sets(names, max_size=3)),
    lambda inner: st.dictionaries(names, inner, max_size=3),
    max_leaves=4,
)
positions = st.one_of(
    st.dictionaries(names, values, max_size=4),
    st.lists(names, max_size=4),
    st.sets(names, max_size=3),
    st.dictionaries(names, names, max_size=3),
)
samples = st.lists(st.lists(positions, min_size=1, max_size=4), min_size=1, max_size=4)


def dense(batch: Batch) -> np.ndarray:
    """The rows of a batch as a plain array, from the definition of SparseRows."""
    if not isinstance(batch.rows, SparseRows):
        return batch.rows
    rows, out = batch.rows, np.zeros(batch.rows.shape)
    weights = rows.values if rows.values.size else np.ones(len(rows.indices))
    for r in range(len(rows)):
        for e in range(rows.indptr[r], rows.indptr[r + 1]):
            out[r, rows.indices[e]] += weights[e]
    return out


def check_types(batch: Batch) -> None:
    assert batch.offsets.dtype == np.int64
    if isinstance(batch.rows, SparseRows):
        arrays = {"indptr": np.int64, "indices": np.int32, "values": np.float64}
        for name, dtype in arrays.items():
            assert getattr(batch.rows, name).dtype == dtype
        assert len(batch.rows.values) in (0, len(batch.rows.indices))
        assert batch.rows.indptr[-1] == len(batch.rows.indices)
    else:
        assert batch.rows.dtype == np.float64
        assert batch.rows.flags.c_contiguous and batch.rows.flags.writeable and batch.rows.flags.aligned


def fitted(X, layout="sequences"):
    encoder = make_encoder(X, layout)
    return encoder, encoder.fit_transform(X)


# -------------------------------------------------------------------------------- what names mean, slowly


def meaning(position) -> Counter:
    """Attributes of a position, written from the description, apart from the code under test."""
    text = lambda s: s.decode() if isinstance(s, bytes) else s  # noqa: E731
    out: Counter = Counter()
    if not isinstance(position, dict):
        out.update(text(name) for name in position)
        return out
    for key, value in position.items():
        if isinstance(value, (str, bytes)):
            out[f"{text(key)}:{text(value)}"] += 1
        elif isinstance(value, (dict, list, set)):
            for name, weight in meaning(value).items():
                out[f"{text(key)}:{name}"] += weight
        else:
            out[text(key)] += float(value)
    return out


def meaning_of(X, feature_names) -> np.ndarray:
    flat = [meaning(position) for sample in X for position in sample]
    return np.array([[row[name] for name in feature_names] for row in flat])


def has_feature(X) -> bool:
    flat = [meaning(position) for sample in X for position in sample]
    return any(value for row in flat for value in row.values())


@given(samples.filter(has_feature))
def test_names_mean_what_the_description_says(X):
    before = copy.deepcopy(X)
    encoder, batch = fitted(X)
    check_types(batch)
    assert X == before
    assert batch.lengths.tolist() == [len(sample) for sample in X]
    assert encoder.kind == "names" and encoder.n_columns == batch.n_columns == len(encoder.feature_names)
    np.testing.assert_allclose(dense(batch), meaning_of(X, encoder.feature_names))
    used = {n for sample in X for p in sample for n, v in meaning(p).items() if v}
    assert used <= set(encoder.feature_names)
    np.testing.assert_array_equal(dense(encoder.transform(X)), dense(batch))


@given(samples.filter(has_feature), samples)
def test_unseen_names_are_ignored_and_extended_encoders_have_them(X, X_new):
    encoder, _ = fitted(X)
    seen = encoder.feature_names
    new = encoder.transform(X_new)
    check_types(new)
    np.testing.assert_allclose(dense(new), meaning_of(X_new, seen).reshape(-1, len(seen)))
    larger = encoder.extended(X_new)
    assert encoder.feature_names == seen
    assert larger.feature_names[: len(seen)] == seen
    assert len(set(larger.feature_names)) == larger.n_columns
    np.testing.assert_allclose(dense(larger.transform(X_new)), meaning_of(X_new, larger.feature_names))


@given(samples.filter(has_feature))
def test_items_layout_reads_the_same_rows(X):
    flat = [position for sample in X for position in sample]
    encoder, batch = fitted(X)
    items, item_batch = fitted(flat, "items")
    assert items.feature_names == encoder.feature_names
    np.testing.assert_array_equal(dense(item_batch), dense(batch))
    assert item_batch.offsets.tolist() == list(range(len(flat) + 1))
    again, object_batch = fitted(np.array([*flat, None], object)[:-1], "items")
    assert again.feature_names == encoder.feature_names
    np.testing.assert_array_equal(dense(object_batch), dense(batch))


@given(samples.filter(has_feature))
def test_names_are_those_of_crfsuite(X):
    pycrfsuite = pytest.importorskip("pycrfsuite")
    encoder, batch = fitted(X)
    rows = dense(batch)
    read = [item for sample in X for item in pycrfsuite.ItemSequence(sample).items()]
    for row, item in zip(rows, read):
        found = {name for name, value in zip(encoder.feature_names, row) if value}
        assert found <= item.keys()
        for name in item.keys() - found:  # it keeps zeros, and shows only the last of repeated attributes
            assert name not in encoder.feature_names or row[encoder.feature_names.index(name)] == 0


def test_names_by_example():
    X = [[{"w": "the", "cap": True, "low": False, "n": 2.5, b"k": b"v", "in": {"t": ["x", "y"], "z": 0}}]]
    encoder, batch = fitted(X)
    assert dict(zip(encoder.feature_names, dense(batch)[0])) == {
        "w:the": 1, "cap": 1, "n": 2.5, "k:v": 1, "in:t:x": 1, "in:t:y": 1,
    }  # fmt: skip
    assert encoder.transform([[["cap", "w:the", "cap"]]]).rows.values.size == 0
    np.testing.assert_array_equal(
        dense(encoder.transform([[["cap", "w:the", "cap"]]]))[0], [1, 2, 0, 0, 0, 0]
    )


def test_repeated_attributes_add():
    encoder, batch = fitted([[{"a": "b", "a:b": 2.0}], [["a:b", "a:b"]]])
    assert encoder.feature_names == ["a:b"]
    np.testing.assert_array_equal(dense(batch), [[3], [2]])


def test_values_are_stored_only_where_they_differ_from_one():
    for X in ([[["a", "b"]]], [[{"w": "a", "t": True, "f": False, "one": 1.0}]]):
        assert fitted(X)[1].rows.values.size == 0
    assert fitted([[{"w": "a", "n": 2}]])[1].rows.values.tolist() == [1, 2]


def test_sets_are_read_in_a_fixed_order():
    assert fitted([[{"c", "a", "b"}]])[0].feature_names == ["a", "b", "c"]
    assert fitted([[{"x": {"c", "a", "b"}}]])[0].feature_names == ["x:a", "x:b", "x:c"]


def test_kinds_of_strings_and_mappings():
    class Text(str):
        def __str__(self):
            return "something else"

    X = [[[Text("a"), np.str_("b"), b"c", "a"]], [MappingProxyType({"b": True})], ({"a": 1},)]
    encoder, batch = fitted(X)
    assert encoder.feature_names == ["a", "b", "c"]
    assert {type(name) for name in encoder.feature_names} == {str}
    np.testing.assert_array_equal(dense(batch), [[2, 1, 1], [0, 1, 0], [1, 0, 0]])
    flat, _ = fitted([[{np.str_("k"): Text("v"), "n": np.float32(0.5), "t": np.True_, "i": np.int64(3)}]])
    assert flat.feature_names == ["k:v", "n", "t", "i"]


def test_strings_of_a_large_corpus_are_indexed_in_one_c_loop(rng):
    words = [f"w[0]={i}" for i in range(20_000)]
    X = [[[words[i] for i in row] for row in rng.integers(0, 20_000, (20, 19))] for _ in range(500)]
    encoder = make_encoder(X, "sequences")
    start = time.process_time()
    batch = encoder.fit_transform(X)
    assert time.process_time() - start < 1.0  # about 0.05 s
    assert len(batch.rows.indices) == 190_000


# ------------------------------------------------------------------------------------------------- arrays


@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=4),
    st.integers(1, 4),
    st.sampled_from([np.float64, np.float32, np.int64, np.uint8, bool, object, ">f8"]),
    st.sampled_from("CF"),
    st.integers(0, 100),
)
def test_dense_equals_sparse_equals_nested_lists(lengths, n_columns, dtype, order, seed):
    rng = np.random.default_rng(seed)
    X = [np.asarray(rng.integers(0, 3, (n, n_columns)).astype(dtype), order=order) for n in lengths]
    expected = np.concatenate(X).astype(float)
    encoder, batch = fitted(X)
    assert encoder.kind == "dense" and encoder.n_columns == n_columns and encoder.feature_names is None
    check_types(batch)
    np.testing.assert_array_equal(batch.rows, expected)
    assert batch.lengths.tolist() == lengths
    np.testing.assert_array_equal(fitted([x.tolist() for x in X])[1].rows, expected)
    for kind in (sparse.csr_matrix, sparse.csc_array, sparse.coo_array):
        numeric = [kind(x.astype(float)) for x in X]
        other, sparse_batch = fitted(numeric)
        assert other.kind == "sparse" and other.n_columns == n_columns
        check_types(sparse_batch)
        np.testing.assert_array_equal(dense(sparse_batch), expected)
        np.testing.assert_array_equal(sparse_batch.offsets, batch.offsets)
    items = sparse.csr_array(expected)
    np.testing.assert_array_equal(dense(fitted(items, "items")[1]), expected)
    np.testing.assert_array_equal(fitted(np.concatenate(X), "items")[1].rows, expected)
    np.testing.assert_array_equal(fitted(expected.tolist(), "items")[1].rows, expected)


def test_three_dimensional_array_is_a_list_of_sequences(rng):
    X = rng.normal(size=(3, 4, 2))
    _, batch = fitted(X)
    np.testing.assert_array_equal(batch.rows, X.reshape(12, 2))
    assert batch.lengths.tolist() == [4, 4, 4]


def test_arrays_of_workers_are_read_only_and_become_usable(rng):
    X = rng.normal(size=(5, 2))
    X.flags.writeable = False
    for layout, data in (("items", X), ("sequences", [X])):
        check_types(fitted(data, layout)[1])
    S = sparse.csr_array(np.abs(X))
    for array in (S.data, S.indices, S.indptr):
        array.flags.writeable = False
    rows = fitted(S, "items")[1].rows
    assert rows.indptr.flags.writeable and rows.indices.flags.writeable and rows.values.flags.writeable


def test_sparse_zeros_are_dropped_without_touching_the_input():
    S = sparse.csr_array((np.array([0.0, 1.0, 1.0]), np.array([0, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
    _, batch = fitted([S])
    assert batch.rows.indices.tolist() == [1, 0] and batch.rows.values.size == 0
    assert S.data.tolist() == [0, 1, 1] and S.nnz == 3


def test_data_frames_are_arrays():
    class Frame:
        """As much of a data frame as the door looks at."""

        columns, shape, ndim = ["a", "b"], (2, 2), 2

        def __len__(self):
            return 2

        def __array__(self, dtype=None, copy=None):
            return np.array([[1, 2], [3, 4]], dtype)

    np.testing.assert_array_equal(fitted(Frame(), "items")[1].rows, [[1, 2], [3, 4]])
    np.testing.assert_array_equal(fitted([Frame()])[1].rows, [[1, 2], [3, 4]])
    with pytest.raises(ValueError, match=r"one table of shape \(2, 2\).*palmette.as_sequences"):
        make_encoder(Frame(), "sequences")


# ------------------------------------------------------------------------------- iterators and emptiness


def test_iterators_are_listed():
    X = listed(iter([["a"], ["b"]]) for _ in range(2))
    encoder, batch = fitted(X)
    assert len(batch) == 2 and batch.n_rows == 4
    assert len(encoder.transform(iter([["a"]]) for _ in range(3))) == 3
    with pytest.raises(TypeError, match=r"X must be a list of sequences.*generator"):
        make_encoder((x for x in X), "sequences")
    with pytest.raises(TypeError, match=r"X\[0\]\[0\] is an iterator"):
        make_encoder([[iter(["a"])]], "sequences")


NONEMPTY = {
    "names": [[{"a": 1}], [["b"], ["a"]]],
    "dense": [np.ones((2, 3)), np.zeros((1, 3))],
    "sparse": [sparse.csr_array(np.ones((2, 3))), sparse.csr_array((1, 3))],
}


@pytest.mark.parametrize("kind", NONEMPTY)
def test_empty_sequences_are_for_prediction_only(kind):
    X = [NONEMPTY[kind][0], [], NONEMPTY[kind][1]]
    encoder = make_encoder(X, "sequences")
    assert encoder.kind == kind
    with pytest.raises(ValueError, match=r"X\[1\] is an empty sequence; remove"):
        encoder.fit_transform(X)
    with pytest.raises(ValueError, match=r"X\[1\] is an empty sequence \(and 1 more\)"):
        encoder.fit_transform([*X, []])
    assert encoder.fit_transform(X, allow_empty=True).lengths[1] == 0
    batch = encoder.transform(X)
    check_types(batch)
    assert batch.lengths.tolist()[1] == 0 and batch.n_columns == encoder.n_columns
    with pytest.raises(ValueError, match=r"X\[1\] is an empty sequence"):
        encoder.transform(X, allow_empty=False)
    nothing = encoder.transform([])
    check_types(nothing)
    assert len(nothing) == nothing.n_rows == 0 and nothing.n_columns == encoder.n_columns
    assert encoder.transform([[], []]).lengths.tolist() == [0, 0]
    with pytest.raises(ValueError, match="X is empty"):
        encoder.fit_transform([])


@pytest.mark.parametrize("X", [[{"a": 1}], np.ones((2, 3)), sparse.csr_array(np.ones((2, 3)))])
def test_no_items_to_predict(X):
    encoder, _ = fitted(X, "items")
    batch = encoder.transform([])
    check_types(batch)
    assert len(batch) == 0 and batch.n_columns == encoder.n_columns
    if encoder.kind != "names":
        assert len(encoder.transform(X[:0])) == 0


def test_arrays_without_rows():
    encoder, _ = fitted([np.ones((2, 3))])
    assert encoder.transform([np.empty((0, 3)), np.empty(0)]).lengths.tolist() == [0, 0]
    with pytest.raises(ValueError, match=r"X\[0\] has 2 columns but the model was fitted on 3"):
        encoder.transform([np.empty((0, 2))])


@pytest.mark.parametrize("layout", ["sequences", "items"])
def test_nothing_to_fit(layout):
    with pytest.raises(ValueError, match="X is empty"):
        fitted([], layout)


def test_no_features_at_all():
    with pytest.raises(ValueError, match="X has no features"):
        fitted([[[], {}]])
    with pytest.raises(ValueError, match="X has no features"):
        fitted([[{"a": 0, "b": False}]])
    with pytest.raises(ValueError, match="0 columns"):
        fitted([np.empty((3, 0))])
    with pytest.raises(ValueError, match=r"X\[0\] is an empty sequence"):
        fitted([[], []])


# ----------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_are_located(value):
    text = r"NaN and infinite \(inf\)"
    X = [np.ones((2, 4)), np.ones((3, 4))]
    X[1][2, 3] = value
    for data in (X, [sparse.csr_array(x) for x in X]):
        with pytest.raises(
            ValueError, match=rf"sample 1, row 2 \(X\[1\]\[2\]\), column 3 is {value}; {text}"
        ):
            fitted(data)
    encoder, _ = fitted([X[0]])
    with pytest.raises(ValueError, match="sample 0, row 2"):
        encoder.transform(X[1:])
    for table in (X[1], sparse.csr_array(X[1])):
        with pytest.raises(ValueError, match=rf"row 2 \(X\[2\]\), column 3 is {value}; {text}"):
            fitted(table, "items")
    with pytest.raises(
        ValueError, match=rf"sample 0, row 1 \(X\[0\]\[1\]\): attribute 'n' is {value}; {text}"
    ):
        fitted([[{"w": "a"}, {"w": "b", "n": value}]])
    with pytest.raises(ValueError, match=rf"sample 0, row 0 \(X\[0\]\[0\]\): attribute 'a:n' is {value}"):
        fitted([[{"a": {"n": np.float64(value)}}]])
    with pytest.raises(ValueError, match=rf"row 1 \(X\[1\]\): attribute 'n' is {value}"):
        fitted([{"n": 2}, {"n": value}], "items")


def test_shapes():
    with pytest.raises(ValueError, match=r"X\[1\] has 1 dimension, .*\(3,\); reshape\(-1, 1\)"):
        fitted([np.ones((2, 1)), np.ones(3)])
    with pytest.raises(ValueError, match=r"X\[0\] has 1 dimension, but a sequence is a 2-D array"):
        fitted([[1.0, 2.0]])
    with pytest.raises(ValueError, match=r"X\[0\] has 3 dimensions"):
        fitted(np.ones((2, 2, 2, 2)))
    with pytest.raises(ValueError, match=r"X\[2\] has 4 columns but X\[0\] has 3"):
        fitted([np.ones((1, 3)), np.ones((2, 3)), np.ones((1, 4))])
    with pytest.raises(ValueError, match=r"X\[1\] has 4 columns but X\[0\] has 3"):
        fitted([sparse.csr_array((1, 3)), sparse.csr_array((1, 4))])
    with pytest.raises(ValueError, match=r"X\[0\] is not a 2-D array"):
        fitted([[[1.0, 2.0], [3.0]]])
    with pytest.raises(ValueError, match=r"X\[0\] has shape \(3,\)"):
        fitted([sparse.coo_array(np.ones(3))])
    for table in (np.ones((3, 2)), sparse.csr_array((3, 2))):
        with pytest.raises(ValueError, match=r"one table of shape \(3, 2\), but sequences are needed"):
            make_encoder(table, "sequences")


def test_another_number_of_columns_than_fitted():
    for make in (np.asarray, sparse.csr_array):
        encoder, _ = fitted([make(np.ones((2, 3)))])
        with pytest.raises(ValueError, match=r"X\[0\] has 4 columns but the model was fitted on 3"):
            encoder.transform([make(np.ones((2, 4)))])
        with pytest.raises(ValueError, match="the model was fitted on 3"):
            encoder.extended([make(np.ones((2, 4)))])
        assert encoder.extended([make(np.ones((2, 3)))]) is encoder
        items, _ = fitted(make(np.ones((2, 3))), "items")
        with pytest.raises(ValueError, match=r"X has 1 features, but \w+ is expecting 3 features as input"):
            items.transform(make(np.ones((2, 1))))


def test_another_kind_than_fitted():
    for fit_kind, X in NONEMPTY.items():
        encoder, _ = fitted(X)
        for kind, other in NONEMPTY.items():
            if kind != fit_kind and "names" in (kind, fit_kind):
                with pytest.raises(TypeError, match=r"the model was fitted on .*, but X holds"):
                    encoder.transform(other)
                with pytest.raises(TypeError):
                    encoder.transform([*X, *other])


def test_dense_and_sparse_arrays_stand_for_each_other():
    table = np.array([[0.0, 2.0], [1.0, 0.0]])
    dense, thin = fitted([table]), fitted([sparse.csr_array(table)])
    np.testing.assert_array_equal(dense[0].transform([sparse.csr_array(table)]).rows, table)
    again = thin[0].transform([table]).rows
    assert again.indices.tolist() == thin[1].rows.indices.tolist() and again.values.tolist() == [2.0, 1.0]


def test_mixed_kinds_in_one_input():
    array, matrix, names = np.ones((1, 2)), sparse.csr_array((1, 2)), [{"a": 1}]
    assert fitted([array, matrix])[1].rows.tolist() == [[1, 1], [0, 0]]
    assert fitted([matrix, array])[1].rows.indices.tolist() == [0, 1]
    with pytest.raises(
        TypeError, match=r"sample 1, row 0 \(X\[1\]\[0\]\): expected a dict or a list of strings"
    ):
        fitted([names, array])
    with pytest.raises(TypeError, match=r"X\[1\] must be a list of dicts.*found csr_array"):
        fitted([names, matrix])


@pytest.mark.parametrize("layout", ["sequences", "items"])
def test_strings_where_positions_are_expected(layout):
    X, where = ([["the", "cat"]], r"X\[0\]\[0\]") if layout == "sequences" else (["the", "cat"], r"X\[0\]")
    with pytest.raises(TypeError, match=rf"{where} is the string 'the', .* write \['the'\]"):
        make_encoder(X, layout)


@pytest.mark.parametrize("layout", ["sequences", "items"])
@pytest.mark.parametrize("X", ["abc", None, {"a": 1}, {"a"}, 5])
def test_inputs_that_are_no_samples(X, layout):
    with pytest.raises(TypeError, match=r"X must be a|X must be a list of dicts"):
        make_encoder(X, layout)


def test_one_level_too_deep_or_too_flat():
    with pytest.raises(TypeError, match=r"X\[0\]\[0\] is a list of dicts, one level too deep"):
        make_encoder([[[{"a": 1}]]], "sequences")
    with pytest.raises(TypeError, match=r"X\[0\] must be a list of dicts.*found dict"):
        make_encoder([{"a": 1}], "sequences")
    with pytest.raises(TypeError, match=r"X\[0\] is a list of dicts, one level too deep"):
        make_encoder([[{"a": 1}]], "items")
    with pytest.raises(TypeError, match=r"X\[0\] is a list of lists, one level too deep"):
        make_encoder([[["a"]]], "items")


@pytest.mark.parametrize(
    ("position", "message"),
    [
        ({"a": None}, "attribute 'a' has the value NoneType None; values are strings, numbers"),
        ({"a": {"b": object}}, "attribute 'a:b' has the value type"),
        ({"a": [1, 2]}, "attribute 'a': attribute names are strings, found int 1"),
        ({"a": np.ones(2)}, "attribute 'a' has the value ndarray"),
        ({"a": 1j}, "attribute 'a' has the value complex 1j"),
        ({1: "x"}, "attribute names are strings, found int 1"),
        ({1: 2}, "attribute names are strings, found int 1"),
        (["b", 2], "attribute names are strings, found int 2"),
        (["b", ["c"]], "attribute names are strings, found list"),
        ("abc", "expected a dict or a list of strings, found str 'abc'"),
        (None, "expected a dict or a list of strings, found NoneType"),
    ],
)
def test_bad_positions_are_located(position, message):
    good = [[["a"]], [["a"], ["a"]]] if isinstance(position, list) else [[{"a": "b"}], [{"c": 2}, {"c": 2}]]
    X = [*good, [good[0][0], position]]
    place = r"sample 2, row 1 \(X\[2\]\[1\]\): "
    with pytest.raises(TypeError, match=place + message):
        fitted(X)
    encoder, _ = fitted(good)
    with pytest.raises(TypeError, match=place + message):
        encoder.transform(X)
    with pytest.raises(TypeError, match=r"row 1 \(X\[1\]\): " + message):
        fitted([good[0][0], position], "items")


def test_numbers_too_large_and_bytes_that_are_no_text():
    with pytest.raises(ValueError, match=r"X\[0\]\[0\]\): attribute 'a' is 1000.*too large for a float"):
        fitted([[{"a": 10**400}]])
    with pytest.raises(ValueError, match=r"X\[0\]\[0\]\): .*utf-8"):
        fitted([[[b"\xff"]]])


def test_arrays_of_other_things_than_numbers():
    for layout, where in (("sequences", r"X\[0\]"), ("items", "X")):
        wrap = (lambda a: [a]) if layout == "sequences" else (lambda a: a)
        with pytest.raises(ValueError, match=rf"{where} is an array of strings, such as .*1.*named features"):
            fitted(wrap(np.array([["1", "2"]])), layout)
        with pytest.raises(ValueError, match=rf"{where}\[0, 1\] is the string '2'"):
            fitted(wrap(np.array([[1, "2"]], object)), layout)
        with pytest.raises(ValueError, match="Complex data not supported"):
            fitted(wrap(np.array([[1j]])), layout)
        with pytest.raises(TypeError, match=r"argument must be .* string.* number"):
            fitted(wrap(np.array([[1, {"foo": "bar"}]], object)), layout)
        with pytest.raises(TypeError, match="datetime64"):
            fitted(wrap(np.array([["2020-01-01"]], "M8[D]")), layout)
    with pytest.raises(ValueError, match="Complex data not supported"):
        fitted([sparse.csr_array(np.array([[1j]]))])


def test_items_speak_as_scikit_learn_does():
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array instead"):
        fitted(np.ones(3), "items")
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array instead"):
        fitted([1.0, 2.0], "items")
    with pytest.raises(ValueError, match=r"Found array with 0 feature\(s\)"):
        fitted(np.empty((3, 0)), "items")
    with pytest.raises(ValueError, match=r"Found array with 0 sample\(s\)"):
        fitted(np.empty((0, 3)), "items")


def test_inputs_are_not_modified(rng):
    X = rng.integers(0, 2, (4, 3)).astype(float)
    S = sparse.coo_array(X)
    copies = X.copy(), S.copy()
    for data, layout in ((X, "items"), ([X, X], "sequences"), (S, "items"), ([S, S], "sequences")):
        encoder, _ = fitted(data, layout)
        encoder.transform(data)
    np.testing.assert_array_equal(X, copies[0])
    np.testing.assert_array_equal(S.toarray(), copies[1].toarray())


# -------------------------------------------------------------------------------------------------- state


@given(st.lists(st.text(), min_size=1, max_size=8), st.sampled_from(["sequences", "items"]))
def test_state_round_trip_of_names(feature_names, layout):
    X = [feature_names] if layout == "items" else [[feature_names]]
    encoder, batch = fitted(X, layout)
    header, arrays = stored(encoder)
    assert arrays["vocabulary"].dtype == np.uint8 and arrays["vocabulary_offsets"].dtype == np.int64
    back = encoder_from_state(header, arrays)
    assert (back.kind, back.layout, back.feature_names) == ("names", layout, encoder.feature_names)
    np.testing.assert_array_equal(back.transform(X).rows.indices, batch.rows.indices)
    copied = pickle.loads(pickle.dumps(encoder))
    assert copied.feature_names == encoder.feature_names
    unseen = [["not a name known before"]]
    assert len(copied.transform(unseen if layout == "items" else [unseen])) == 1
    assert copied.n_columns == encoder.n_columns


def test_lone_surrogates_survive():
    encoder, _ = fitted([[["\ud800", "é"]]])
    assert encoder_from_state(*stored(encoder)).feature_names == ["\ud800", "é"]


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_state_round_trip_of_arrays(kind):
    encoder, batch = fitted(NONEMPTY[kind])
    header, arrays = stored(encoder)
    assert arrays == {}
    back = encoder_from_state(header, arrays)
    assert (back.kind, back.layout, back.n_columns) == (kind, "sequences", 3)
    np.testing.assert_array_equal(dense(back.transform(NONEMPTY[kind])), dense(batch))


def test_an_encoder_that_was_not_fitted_says_so():
    with pytest.raises(ValueError, match="call fit_transform first"):
        make_encoder(np.ones((2, 2)), "items").transform(np.ones((2, 2)))


def test_damaged_states_are_refused():
    header, arrays = fitted([[["a", "bé"]]])[0].state()
    text, bounds = arrays["vocabulary"], arrays["vocabulary_offsets"]
    wrong = [{"layout": "tree"}, {"n_columns": True}, {"n_columns": -1}, {"n_columns": 3}, {"kind": "new"}]
    for bad in ("text", None, {}, *({**header, **entry} for entry in wrong)):
        with pytest.raises(ModelFileError, match="model file"):
            encoder_from_state(bad, arrays)
    for bad in (
        {},
        {"vocabulary": text},
        {"vocabulary": text, "vocabulary_offsets": bounds[:-1]},
        {"vocabulary": text, "vocabulary_offsets": bounds[:0]},
        {"vocabulary": text, "vocabulary_offsets": np.int64(3)},
        {"vocabulary": text, "vocabulary_offsets": bounds.astype(float)},
        {"vocabulary": text, "vocabulary_offsets": np.array([0, 5, 4])},
        {"vocabulary": text, "vocabulary_offsets": np.array([0, 3, 4])},
        {"vocabulary": np.array([97, 97], np.uint8), "vocabulary_offsets": np.array([0, 1, 2])},
    ):
        with pytest.raises(ModelFileError, match="model file"):
            encoder_from_state(header, bad)
