"""Labels and their codes, and sequences cut from tables."""

from __future__ import annotations

import copy
import enum
import json
import pickle
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from palmette import CRF, SSVM, Chain, Graph, Multiclass, Ranking, SemiMarkov, compat
from palmette.data import UNKNOWN, UNKNOWN_CODE, LabelCodec, as_sequences
from palmette.data.sequences import check_same_length, listed
from palmette.errors import ModelFileError

scalars = st.one_of(
    st.text(), st.integers(), st.booleans(), st.none(), st.floats(allow_nan=False, allow_infinity=False)
)
labels = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=4)


def differ_in_more_than_type(Y):
    """Whether labels that are equal look equal, too; others (1 and True) are refused."""
    flat = [label for y in Y for label in y]
    return len(set(flat)) == len(set(map(repr, flat)))


label_sequences = st.lists(
    st.lists(labels.filter(lambda label: label is not None), max_size=5), min_size=1, max_size=5
).filter(lambda Y: any(Y) and differ_in_more_than_type(Y))


class Colour(enum.Enum):
    RED = 1


# ------------------------------------------------------------------------------------------------ UNKNOWN


def test_unknown_is_one_object_whatever_happens_to_it():
    assert repr(UNKNOWN) == "UNKNOWN"
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(UNKNOWN, protocol)) is UNKNOWN
    assert copy.copy(UNKNOWN) is UNKNOWN
    assert copy.deepcopy([["B", UNKNOWN]])[0][1] is UNKNOWN
    assert np.array(["B", UNKNOWN], object).tolist()[1] is UNKNOWN


def test_unknown_has_code_minus_one_and_is_no_class():
    codec = LabelCodec.from_labels([["b", UNKNOWN], ["a"]])
    assert codec.classes_ == ("a", "b")
    assert codec.encode_sequences([[UNKNOWN, "b"]]).values.tolist() == [UNKNOWN_CODE, 1] == [-1, 1]
    assert codec.encode_items(["a", UNKNOWN]).tolist() == [0, -1]
    assert codec.decode([-1, 0]) == [UNKNOWN, "a"]
    with pytest.raises(ValueError, match="UNKNOWN, which stands for labels"):
        LabelCodec(["a", UNKNOWN])
    with pytest.raises(ValueError, match="no label at all"):
        LabelCodec.from_labels([[UNKNOWN], []])


# -------------------------------------------------------------------------------------------------- codec


@given(label_sequences)
def test_codec_round_trip(Y):
    codec = LabelCodec.from_labels(Y)
    codes = codec.encode_sequences(Y)
    assert codes.values.dtype == np.int32
    assert codes.offsets.dtype == np.int64
    assert codes.lengths.tolist() == [len(y) for y in Y]
    assert codec.decode_sequences(codes) == Y
    assert codec.decode(codes.values) == [label for y in Y for label in y]
    flat = [label for y in Y for label in y]
    assert LabelCodec.from_labels(flat, layout="items") == codec
    np.testing.assert_array_equal(codec.encode_items(flat), codes.values)


@given(label_sequences)
def test_state_brings_back_the_same_labels_and_types(Y):
    codec = LabelCodec.from_labels(Y)
    back = LabelCodec.from_state(json.loads(json.dumps(codec.state(), allow_nan=False)))
    assert back == codec
    assert [repr(label) for label in back.classes_] == [repr(label) for label in codec.classes_]


@given(st.lists(st.one_of(st.text(max_size=3), st.integers(), st.tuples(st.integers())), min_size=1))
def test_order_does_not_depend_on_the_order_of_the_data(y):
    assert LabelCodec.from_labels([y]).classes_ == LabelCodec.from_labels([y[::-1]]).classes_


def test_order_of_mixed_types():
    assert LabelCodec.from_labels([["b", 2, (), "a", 1]]).classes_ == (1, 2, "a", "b", ())
    assert LabelCodec.from_labels([[2j, 1j]]).classes_ == (2j, 1j)  # no order: as they appear
    assert LabelCodec.from_labels([[3, 1.5, 2]]).classes_ == (1.5, 2, 3)


def test_classes_declares_order_and_absent_labels():
    codec = LabelCodec.from_labels([["a"]], classes=["z", "a", "m"])
    assert codec.classes_ == ("z", "a", "m")
    assert len(codec) == 3
    assert codec.encode_items(["m", "z"]).tolist() == [2, 0]


def test_numpy_labels_become_plain():
    for array, expected in [
        (np.array(["b", "a"]), ("a", "b")),
        (np.array([3, 1], np.int64), (1, 3)),
        (np.array([True, False]), (False, True)),
    ]:
        for y in ([array], [list(array)], array[np.newaxis]):
            codec = LabelCodec.from_labels(y)
            assert codec.classes_ == expected
            assert [type(label) for label in codec.classes_] == [type(label) for label in expected]
            assert codec.encode_sequences(y).values.tolist() == [1, 0]
    nested = LabelCodec([(np.str_("a"), np.int64(1))]).classes_[0]
    assert nested == ("a", 1) and type(nested[0]) is str and type(nested[1]) is int


def test_iterators_of_labels():
    codec = LabelCodec("ab")
    assert codec.encode_sequences(iter(y) for y in [["a", "b"], ["b"]]).values.tolist() == [0, 1, 1]
    assert codec.encode_items(iter("ba")).tolist() == [1, 0]
    assert LabelCodec.from_labels(iter(y) for y in ["ab"]) == codec


def test_unknown_label_names_position_labels_and_remedy():
    codec = LabelCodec(["B", "I", "O"])
    Y = [["B"], ["O"], [], ["B", "I", "X"]]
    with pytest.raises(
        ValueError, match=r"unknown label 'X' at y\[3\]\[2\]; known labels: \['B', 'I', 'O'\].*classes="
    ):
        codec.encode_sequences(Y)
    with pytest.raises(ValueError, match=r"unknown label 'X' at gold\[3\]\[2\]"):
        codec.encode_sequences(Y, where="gold")
    with pytest.raises(ValueError, match=r"unknown label 7 at y\[1\]"):
        codec.encode_items(["B", 7])
    with pytest.raises(ValueError, match=r"\.\.\.\]"):
        LabelCodec(range(1000)).encode_items(["B"])


@pytest.mark.parametrize("bad", [float("nan"), np.nan, np.float64("inf"), (1, float("nan"))])
def test_labels_that_are_not_finite_are_refused(bad):
    with pytest.raises(ValueError, match=r"y\[1\]\[0\] is .*NaN and infinite labels are refused"):
        LabelCodec.from_labels([[1.0], [bad]])
    with pytest.raises(ValueError, match=r"y\[1\] is .*NaN and infinite labels are refused"):
        LabelCodec([1.0]).encode_items([1.0, bad])
    with pytest.raises(ValueError, match=r"classes\[0\] is .*refused"):
        LabelCodec([bad])


def test_bad_kinds_of_labels():
    codec = LabelCodec("ab")
    with pytest.raises(TypeError, match=r"label at y\[0\]\[1\] is not hashable, a list"):
        LabelCodec.from_labels([["a", ["b"]]])
    with pytest.raises(TypeError, match=r"label at y\[0\]\[1\] is not hashable, a list"):
        codec.encode_sequences([["a", ["b"]]])
    with pytest.raises(TypeError, match=r"y\[1\] is the string 'ab', not a sequence of labels; use list"):
        codec.encode_sequences([["a"], "ab"])
    with pytest.raises(TypeError, match=r"y\[0\] must be a sequence of labels.*got int: 3"):
        codec.encode_sequences([3])
    with pytest.raises(TypeError, match="y must be a list of label sequences, got NoneType"):
        LabelCodec.from_labels(None)
    with pytest.raises(TypeError, match="y must be a sequence of labels, got str"):
        codec.encode_items("ab")
    with pytest.raises(ValueError, match=r"y must have one dimension.*\(2, 1\)"):
        codec.encode_items(np.zeros((2, 1)))


def test_bad_classes_and_codes():
    with pytest.raises(ValueError, match=r"classes\[2\] = True equals classes\[0\] = 1"):
        LabelCodec([1, "a", True])
    with pytest.raises(ValueError, match="at least one"):
        LabelCodec([])
    for codes in ([2], [-2]):
        with pytest.raises(ValueError, match=r"codes must be in -1\.\.1"):
            LabelCodec("ab").decode(codes)


def test_labels_that_cannot_be_saved_are_named():
    for label in (Colour.RED, b"x", ("a", Colour.RED), 2j):
        with pytest.raises(TypeError, match=r"the label .* cannot be saved"):
            LabelCodec([label]).state()


@pytest.mark.parametrize("state", [None, "ab", [["a"]], [{"list": []}], ["a", "a"], [], [float("nan")]])
def test_damaged_states_are_refused(state):
    with pytest.raises(ModelFileError, match="label"):
        LabelCodec.from_state(state)


def test_codec_pickles():
    codec = LabelCodec(["a", ("b", 1)])
    again = pickle.loads(pickle.dumps(codec))
    assert again == codec and again != LabelCodec("a")
    assert again.encode_items([UNKNOWN, ("b", 1)]).tolist() == [-1, 1]


def test_encoding_is_a_tight_loop():
    Y = [["B", "I", "O", "O"]] * 50_000
    start = time.process_time()
    LabelCodec.from_labels(Y).encode_sequences(Y)
    assert time.process_time() - start < 1.0  # about 0.03 s; a Python call per token would be many times that


# ------------------------------------------------------------------------------------------- as_sequences


def test_as_sequences_of_dense_sparse_and_dicts(rng):
    X, groups = rng.normal(size=(6, 3)), ["a", "a", "b", "c", "c", "c"]
    y = np.array([1, 2, 3, 4, 5, 6])
    before = X.copy()
    sequences, targets = as_sequences(X, y, groups)
    assert [s.shape for s in sequences] == [(2, 3), (1, 3), (3, 3)]
    assert targets == [[1, 2], [3], [4, 5, 6]]
    np.testing.assert_array_equal(np.concatenate(sequences), X)
    for kind in (sparse.csr_array, sparse.coo_matrix):
        pieces = as_sequences(kind(X), groups=np.array(groups))
        np.testing.assert_array_equal(sparse.vstack(pieces).toarray(), X)
    dicts = [{"i": i} for i in range(6)]
    assert as_sequences(dicts, groups=groups) == [dicts[:2], dicts[2:3], dicts[3:]]
    words = [[], ["a"], ["b", "c"], [], [], ["d"]]
    assert as_sequences(iter(words), groups=groups) == [words[:2], words[2:3], words[3:]]
    np.testing.assert_array_equal(X, before)


@given(st.lists(st.integers(1, 4), min_size=1, max_size=6))
def test_as_sequences_cuts_where_the_group_changes(lengths):
    groups = np.repeat(np.arange(len(lengths)), lengths)
    X = np.arange(len(groups), dtype=float)[:, np.newaxis]
    sequences, y = as_sequences(X, groups.tolist(), groups)
    assert [len(s) for s in sequences] == lengths
    assert y == [[i] * n for i, n in enumerate(lengths)]


def test_as_sequences_without_groups_is_one_sequence():
    sequences, y = as_sequences([[1.0], [2.0]], ["a", UNKNOWN])
    assert len(sequences) == 1 and sequences[0].shape == (2, 1)
    assert y == [["a", UNKNOWN]]


def test_as_sequences_refuses():
    X = np.zeros((4, 2))
    with pytest.raises(ValueError, match="group 7 occurs again at row 3"):
        as_sequences(X, groups=[7, 7, 8, 7])
    with pytest.raises(ValueError, match="X has 4 rows but groups has 3"):
        as_sequences(X, groups=[7, 7, 8])
    with pytest.raises(ValueError, match="X has 4 rows but y has 5"):
        as_sequences(X, [0] * 5, [1, 1, 1, 1])
    with pytest.raises(ValueError, match=r"groups\[2\] is nan"):
        as_sequences(X, groups=[1.0, 1.0, float("nan"), 2.0])
    with pytest.raises(ValueError, match="groups must have one dimension"):
        as_sequences(X, groups=np.zeros((4, 1)))
    with pytest.raises(ValueError, match=r"two dimensions .*\(4,\)"):
        as_sequences(X[:, 0], groups=[1, 1, 1, 1])
    with pytest.raises(ValueError, match="no rows"):
        as_sequences([], groups=[])


# ------------------------------------------------------------------------------------------------ lengths


def test_check_same_length():
    X = [np.zeros((2, 1)), sparse.csr_array((3, 1)), [{}], []]
    y = [[0, 0], np.zeros(3), ("a",), []]
    check_same_length(X, y)
    check_same_length(sparse.csr_array((3, 1)), [0, 1, 2], "items")
    with pytest.raises(ValueError, match="X has 4 samples but y has 3"):
        check_same_length(X, y[:3])
    with pytest.raises(ValueError, match="X has 4 samples but y has 3"):
        check_same_length(X, y[:3], "items")
    with pytest.raises(ValueError, match=r"sample 1: X\[1\] has 3 positions but y\[1\] has 2 labels"):
        check_same_length(X, [y[0], [0, 0], *y[2:]])
    with pytest.raises(ValueError, match="requires y to be passed, but the target y is None"):
        check_same_length(X, None)
    with pytest.raises(TypeError, match="y must hold one entry per sample, got str"):
        check_same_length(X, "abcd")


def test_listed_copies_only_iterators():
    X = [["a"], np.zeros(2)]
    assert listed(X) is X
    array = np.zeros((2, 2, 2))
    assert listed(array) is array
    assert listed(iter([iter("ab"), "c"])) == [["a", "b"], "c"]


# --------------------------------------------------------------------- labels that are none, or two in one


def test_none_is_no_label():
    for Y, classes, where in (
        ([["a"], ["b", None]], None, r"y\[1\]\[1\]"),
        ([[None]], None, r"y\[0\]\[0\]"),
        ([["a"]], ["a", None], r"classes\[1\]"),
    ):
        with pytest.raises(
            ValueError, match=rf"label at {where} is None, .* no label: give palmette.UNKNOWN if"
        ):
            LabelCodec.from_labels(Y, classes)


@pytest.mark.parametrize(
    "pair", [(1, True), (True, 1), (0, False), (1, 1.0), (np.int64(1), np.True_), ((1, "a"), (True, "a"))]
)
def test_equal_labels_of_different_types_are_refused_by_both_places(pair):
    first, second = pair
    with pytest.raises(
        ValueError, match=r"label at y\[1\]\[1\] is .*the one at y\[0\]\[0\] is .*the same type"
    ):
        LabelCodec.from_labels([[first], ["x", second]])
    with pytest.raises(ValueError, match=r"label at classes\[0\] is .*the one at y\[0\] is "):
        LabelCodec.from_labels([first], [second, "x"], layout="items")
    assert LabelCodec.from_labels([[first, first], ["x"]]).encode_items([first]).tolist() in ([0], [1])


def test_numpy_and_plain_labels_of_one_type_are_one():
    assert LabelCodec.from_labels([[1, np.int64(1), np.int32(2)], [np.str_("a"), "a"]]).classes_ == (
        1,
        2,
        "a",
    )


@pytest.mark.parametrize("y", [[True, 1, 0], [0, 1, True], [1, "x", True], np.array([1, True, "x"], object)])
def test_learners_refuse_them_too(y):
    with pytest.raises(ValueError, match=r"label at y\[\d\] is .*the one at y\[\d\] is "):
        CRF(Multiclass()).fit(np.eye(3), y)
    with pytest.raises(ValueError, match=r"label at y\[0\]\[\d\] is .*the one at y\[0\]\[\d\] is "):
        compat.CRF().fit([[["a"], ["b"], ["c"]]], [list(y)])


def test_truth_and_other_numbers_keep_their_kind():
    assert CRF(Multiclass()).fit(np.eye(3), [True, 2, 3]).predict(np.eye(3)).tolist() == [True, 2, 3]
    assert CRF(Multiclass()).fit(np.eye(2), [True, False]).classes_.tolist() == [False, True]


def test_masked_labels_are_refused():
    masked = np.ma.array([0, 1, 0], mask=[False, True, False])
    for fit in (
        lambda: CRF(Multiclass()).fit(np.eye(3), masked),
        lambda: CRF(Chain()).fit([np.eye(3)], [masked]),
        lambda: CRF(SemiMarkov(2)).fit([np.eye(3)], [np.ma.array([(0, 1, 1)], mask=[[False, False, True]])]),
        lambda: SSVM(Ranking()).fit([np.eye(3)], [masked]),
        lambda: CRF(Multiclass()).fit(np.eye(3), [0, 1, 0], sample_weight=masked),
    ):
        with pytest.raises(
            ValueError, match=r"(y|y\[0\]|sample_weight) is a masked array, and its entry \[.*is masked"
        ):
            fit()
    whole = np.ma.array([0, 1, 0], mask=False)
    assert CRF(Multiclass()).fit(np.eye(3), whole).predict(np.eye(3)).tolist() == [0, 1, 0]


@pytest.mark.parametrize("layout", ["array", "rows", "one row"])
def test_masked_features_are_refused(layout):
    masked = np.ma.array(np.eye(3), mask=np.eye(3, k=1))
    X = {"array": masked, "rows": list(masked), "one row": [np.ones(3), masked[0], np.zeros(3)]}[layout]
    match = r"is a masked array, and its entry \[.*fill it"
    with pytest.raises(ValueError, match=match):
        CRF(Multiclass()).fit(X, [0, 1, 0])
    with pytest.raises(ValueError, match=match):
        CRF(Chain()).fit([np.eye(3), X], [[0, 1, 0]] * 2)
    with pytest.raises(ValueError, match=match):
        CRF(Graph()).fit([(X, [(0, 1)])], [[0, 1, 0]])
    with pytest.raises(ValueError, match=match):
        as_sequences(X, [0, 1, 0])
    model = CRF(Chain()).fit([np.eye(3)], [[0, 1, 0]])
    with pytest.raises(ValueError, match=match):
        model.predict([X])
