"""Nothing that comes from outside reaches a compiled loop unchecked: model files, sparse matrices, batches."""

from __future__ import annotations

import contextlib
import functools
import io
import json
import os
import struct
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import palmette
from palmette import CRF, SSVM, Chain, Graph, Multiclass, Perceptron, SemiMarkov
from palmette.compat.crfsuite_file import read_crfsuite_model
from palmette.data import Batch, Ragged, as_sequences, write_letor
from palmette.errors import ModelFileError
from palmette.features import ColumnSentences, EncodedInputs
from palmette.features.column_table import ColumnTable
from palmette.io import read_model, write_model
from palmette.kernels import RBF, Nystroem
from palmette.kernels.rows import as_rows
from palmette.structures import GraphBatch, GraphLayout, by_query
from palmette.structures.graph.batch import CliqueRows

HERE = Path(__file__).resolve().parents[1] / "helpers"
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


# -- model files ----------------------------------------------------------------------------------------------------


def fuzz(share: float, seed: int, folder: Path, *names: str, **environment: str) -> dict:
    """The report of `fuzz_models.py`, run as a process of its own; a crash names its case."""
    command = [sys.executable, str(HERE / "fuzz_models.py"), str(share), str(seed), str(folder), *names]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | environment, cwd=HERE)
    last = done.stderr.splitlines()[-1:]
    assert done.returncode == 0, (
        f"the process ended with {done.returncode} after {last}: {done.stderr[-2000:]}"
    )
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def zoo(tmp_path_factory):
    """A folder where the fuzzer keeps the files that it damages."""
    return tmp_path_factory.mktemp("zoo")


def test_damaged_model_files_are_refused_or_harmless(zoo):
    """Of every kind of model some arrays and entries of the header; `python tests/fuzz_models.py 1 0` tries all."""
    report = fuzz(0.006, 0, zoo)
    assert report["failures"] == []
    assert report["counts"]["refused"] > 300 and report["counts"]["answered"] > 100


def test_without_compilation_no_index_leaves_its_array(zoo):
    """Python's own indexing sees what compiled loops would read in silence."""
    kinds = ("crf edge features", "crf graph types", "kernel sparse", "nystroem sparse", "tagger")
    report = fuzz(0.02, 1, zoo, *kinds, NUMBA_DISABLE_JIT="1")
    assert report["failures"] == [] and report["counts"]["refused"] > 30


def damaged(model, change) -> io.BytesIO:
    """The file of a model after ``change(header, arrays)``."""
    file, out = io.BytesIO(), io.BytesIO()
    model.save(file)
    kind, header, arrays = read_model(file)
    change(header, arrays)
    write_model(out, kind, header, arrays)
    return out


@pytest.mark.parametrize("kernel", [RBF(0.5), Nystroem(RBF(0.5), 4)])
def test_wild_pointers_that_end_in_0(kernel):
    """SciPy's full check looks at ``indices[:indptr[-1]]`` alone, and takes this for an empty matrix."""
    X = [sparse.csr_array(np.eye(4))]
    model = SSVM(Chain(), kernel=kernel, max_iter=3).fit(X, [[0, 1, 0, 1]])

    def change(header, arrays):
        indptr = np.full(len(arrays["scorer.indptr"]), 2**30, arrays["scorer.indptr"].dtype)
        indptr[[0, -1]] = 0
        arrays["scorer.indptr"] = indptr
        rows = sparse.csr_array(
            (arrays["scorer.data"], arrays["scorer.indices"], indptr), tuple(header["scorer"]["support"])
        )
        rows.check_format(full_check=True)  # or this test is about nothing

    with pytest.raises(ModelFileError, match=r"indptr goes from 0 to 0, but there are \d+ entries"):
        palmette.load(damaged(model, change))


NAMES = [[["a"], ["b"]], [["b"], ["c"]]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda h, a: h["scorer"].update(n_columns=None), "'n_columns' of the scorer must be of type int, found None"),
        (lambda h, a: h["scorer"].update(n_labels=True), "'n_labels' of the scorer must be of type int, found bool"),
        (lambda h, a: h["scorer"].update(n_columns=2**62), "n_columns must be an integer from 0 to 2147483647"),
        (lambda h, a: h["scorer"].update(n_columns=-1), "n_columns must be an integer from 0"),
        (lambda h, a: h["encoder"].update(n_columns="3"), "n_columns must be an integer from 1"),
        (lambda h, a: h["params"]["structure"].update(options=[]), "'options' of the parameter structure must be"),
        (lambda h, a: h.update(params=[]), "params must be of type dict, found list"),
        (lambda h, a: h["codec"].pop("state"), "the labels of a model file must be a list"),
        (lambda h, a: h["codec"].update(kind="os.system"), "there is a codec of the kind 'os.system', which is"),
        (lambda h, a: h.update(scorer=3), "the scorer of a model file must be an object, found int"),
        (lambda h, a: h["result"].pop("reason"), "the result has no entry 'reason'"),
        (lambda h, a: a.update(history=np.empty((0, 5))), r"history has shape \(0, 5\)"),
        (lambda h, a: a.update(history=a["history"] * np.nan), "history of iterations"),
        (lambda h, a: a.update({"scorer.ptr": a["scorer.ptr"][None]}), "ptr must be a 1-D array of int64, found int64"),
        (lambda h, a: a.update({"scorer.ptr": a["scorer.ptr"].astype(float)}), "ptr must be a 1-D array of int64"),
        (lambda h, a: a.update({"scorer.label": -1 - a["scorer.label"]}), r"code\[0\] is -1, out of range"),
        (lambda h, a: a.pop("scorer.pairs"), "the array 'pairs' is missing"),
        (lambda h, a: a.update(coef=a["coef"] * np.inf), r"coef\[\d\] is (nan|-?inf); NaN and infinite"),
        (lambda h, a: a.update(coef=a["coef"][:-1]), r"the weights have shape \(\d+,\), expected"),
    ],
)  # fmt: skip
def test_every_damage_has_one_clear_message(change, message):
    model = CRF(Chain()).fit(NAMES, [["x", "y"], ["x", "x"]])
    with pytest.raises(ModelFileError, match=message):
        palmette.load(damaged(model, change))


@pytest.mark.parametrize("number", ["Infinity", "-Infinity", "NaN", "1e999"])
def test_numbers_of_the_header_are_finite(number):
    """JSON has no infinity, but Python's reader takes it, and an infinite size is an OverflowError later on."""
    file = io.BytesIO()
    CRF(Chain()).fit(NAMES, [["x", "y"], ["x", "x"]]).save(file)
    out = io.BytesIO()
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name).replace(b'"n_columns": 3', f'"n_columns": {number}'.encode()))
    with pytest.raises(ModelFileError, match=f"header.json is not JSON .*{number} is not a finite number"):
        palmette.load(out)


# -- CRFsuite's files -----------------------------------------------------------------------------------------------


def crfsuite_file(
    labels=("a", "b"), names=("x", "y", "z"), features=((0, 0, 0, 1.0), (0, 2, 1, 2.0), (1, 0, 1, 3.0))
) -> bytes:
    """A model in CRFsuite's format, as `palmette.compat.crfsuite_file` describes it."""

    def table(strings, start):
        records = [struct.pack("<II", i, len(s) + 1) + s.encode() + b"\0" for i, s in enumerate(strings)]
        ends = np.cumsum([24, *map(len, records)])
        places = struct.pack(f"<{len(strings)}I", *ends[:-1])
        return struct.pack("<4s5I", b"CQDB", 0, 0, 0, len(strings), ends[-1]) + b"".join(records) + places

    body = struct.pack("<4sII", b"FEAT", 0, len(features)) + b"".join(
        struct.pack("<IIId", *f) for f in features
    )
    first = 48
    second = first + len(body)
    one = table(labels, second)
    third = second + len(one)
    two = table(names, third)
    head = struct.pack(
        "<4sI4s9I", b"lCRF", 0, b"FOMC", 100, 0, len(labels), len(names), first, second, third, 0, 0
    )
    return head + body + one + two


def read_crfsuite(tmp_path, content):
    path = tmp_path / "model.crfsuite"
    path.write_bytes(content)
    return read_crfsuite_model(path)


def test_a_sound_model_of_crfsuite_is_read(tmp_path):
    model = read_crfsuite(tmp_path, crfsuite_file())
    assert model.coef_.tolist() == [1.0, 2.0, 3.0] and model.predict([[["z"]], [["x"], ["y"]]]) == [
        ["b"],
        ["a", "b"],
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"names": ("x", "y", "x")}, "the same attribute twice"),
        ({"labels": ("a", "a")}, "the same label twice"),
        ({"features": ((0, 3, 0, 1.0),)}, r"source of states\[0\] is 3, out of range"),
        ({"features": ((0, 0, 2, 1.0),)}, r"target\[0\] is 2, out of range"),
        ({"features": ((1, 2, 0, 1.0),)}, r"source of transitions\[0\] is 2, out of range"),
        ({"features": ((0, 0, 0, 1.0), (0, 0, 0, 2.0))}, "must ascend"),
        ({"features": ((1, 0, 0, 1.0), (1, 0, 0, 2.0))}, "must ascend"),
        ({"features": ((0, 0, 0, float("nan")),)}, "not finite"),
    ],
)
def test_damaged_models_of_crfsuite_are_refused(tmp_path, content, message):
    with pytest.raises(ModelFileError, match=f"model.crfsuite: the CRFsuite model is damaged .*{message}"):
        read_crfsuite(tmp_path, crfsuite_file(**content))


def test_strings_that_share_their_bytes_are_refused(tmp_path):
    """A file of a megabyte could fill the memory otherwise: all strings reach to its end."""
    names = [f"n{i}" for i in range(10)]
    content = bytearray(crfsuite_file(names=names))
    for i, name in enumerate(names):
        at = content.index(struct.pack("<II", i, len(name) + 1) + name.encode())
        content[at + 4 : at + 8] = struct.pack("<I", content.index(b"n9\0") + 3 - at - 8)
    with pytest.raises(ModelFileError, match="of a table is broken"):
        read_crfsuite(tmp_path, bytes(content))


def test_no_byte_of_a_model_of_crfsuite_does_harm(tmp_path):
    content = crfsuite_file()
    for at in range(4, len(content)):
        for value in (1, 255):
            changed = bytearray(content)
            changed[at] = value
            with contextlib.suppress(ModelFileError):
                model = read_crfsuite(tmp_path, bytes(changed))
                model.scorer_.check()
                if np.abs(model.coef_).max(initial=0.0) < 1e100:
                    assert len(model.predict([[["z"], ["x"]]])[0]) == 2


# -- sparse matrices ------------------------------------------------------------------------------------------------

FORMATS = ("csr", "csc", "coo", "lil", "bsr", "dok", "dia")
TABLE = np.array([[0.0, 2.0, 0.0, 1.0], [1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0], [3.0, 0.0, 4.0, 5.0]])
LABELS = ["a", "b", "a", "b"]


@functools.cache
def fitted():
    return CRF(Chain()).fit([TABLE], [LABELS]), CRF(Multiclass()).fit(TABLE, LABELS)


DOORS = {
    "fit": lambda X: CRF(Chain(), max_iter=3).fit([X], [LABELS]),
    "fit items": lambda X: CRF(Multiclass(), max_iter=3).fit(X, LABELS),
    "fit graph": lambda X: CRF(Graph(), max_iter=3).fit([(X, [(0, 1)])], [LABELS]),
    "fit edges": lambda X: CRF(Graph(), max_iter=3).fit(
        [(TABLE, [(0, 1), (1, 2), (2, 3), (3, 0)], X)], [LABELS]
    ),
    "predict": lambda X: fitted()[0].predict([X]),
    "predict items": lambda X: fitted()[1].predict(X),
    "kernel": lambda X: RBF(0.5)(X, X),
    "nystroem": lambda X: Nystroem(RBF(0.5), 2).fit(X),
    "as_sequences": lambda X: as_sequences(X, LABELS),
    "by_query": lambda X: by_query(X, [0, 1, 0, 1], [1, 1, 2, 2]),
    "write_letor": lambda X: write_letor(
        os.path.join(tempfile.gettempdir(), "palmette-test"), [X], [[0, 1, 0, 1]]
    ),
}


@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("form", FORMATS)
def test_every_sparse_format_means_the_same(form, kind):
    X = getattr(sparse, f"{form}_{kind}")(TABLE)
    model = CRF(Multiclass(), max_iter=5).fit(sparse.csr_array(TABLE), LABELS)
    np.testing.assert_array_equal(CRF(Multiclass(), max_iter=5).fit(X, LABELS).coef_, model.coef_)
    chain = CRF(Chain(), max_iter=5).fit([X], [LABELS])
    np.testing.assert_array_equal(
        chain.coef_, CRF(Chain(), max_iter=5).fit([sparse.csr_array(TABLE)], [LABELS]).coef_
    )
    assert model.predict(X).tolist() == model.predict(TABLE).tolist()


def test_wide_indices_duplicates_disorder_and_spare_room_are_welcome():
    plain = sparse.csr_array(TABLE)
    wide = sparse.csr_array(
        (plain.data, plain.indices.astype(np.int64), plain.indptr.astype(np.int64)), plain.shape
    )
    # row 0: column 1 twice, and columns not in order; two entries too many at the end
    indices, data = (
        np.array([3, 1, 1, 0, 2, 3, 0, 77, -5]),
        np.array([1.0, 1.5, 0.5, 1.0, 4.0, 5.0, 3.0, 9.0, 9.0]),
    )
    odd = sparse.csr_array((data[:7], indices[:7], np.array([0, 3, 4, 4, 7])), TABLE.shape)
    odd.data, odd.indices = data, indices
    for X in (wide, odd):
        np.testing.assert_array_equal(as_rows(CRF(Multiclass()).encode(X).batch.rows).toarray(), TABLE)
        found, wanted = (CRF(Multiclass(), max_iter=5).fit(x, LABELS) for x in (X, plain))
        np.testing.assert_array_equal(found.coef_, wanted.coef_)


def test_a_kernel_leaves_the_matrix_of_the_user_alone():
    """Entries that occur twice are added for a kernel, and not in the arrays that the user still has."""
    X = sparse.csr_array((np.arange(1.0, 6.0), np.array([1, 1, 0, 2, 2]), np.array([0, 2, 3, 5])), (3, 3))
    before, model = X.toarray(), SSVM(Multiclass(), kernel=RBF(0.5))
    first = model.fit(X, ["a", "b", "a"]).coef_
    np.testing.assert_array_equal(X.toarray(), before)
    np.testing.assert_array_equal(model.fit(X, ["a", "b", "a"]).coef_, first)
    assert X.indices.tolist() == [1, 1, 0, 2, 2]


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_not_finite(value):
    X = sparse.csr_array(TABLE)
    X.data[2] = value
    with pytest.raises(ValueError, match=r"row 1 \(X\[1\]\), column 0 is (nan|inf)"):
        CRF(Multiclass()).fit(X, LABELS)


BREAKS = {  # what to do to an array so that it is no longer what it was
    "huge": lambda a: np.concatenate([a[:1], [2**30], a[2:]]).astype(a.dtype),
    "negative": lambda a: np.concatenate([a[:1], [-(2**30)], a[2:]]).astype(a.dtype),
    "wild inside": lambda a: np.concatenate([[0], np.full(len(a) - 2, 2**30), [0]]).astype(a.dtype),
    "falling": lambda a: np.concatenate([a[:1], a[-2:0:-1], a[-1:]]),
    "short": lambda a: a[:-1],
    "long": lambda a: np.concatenate([a, a[-1:]]),
    "float": lambda a: a.astype(float),
    "2-D": lambda a: a[None],
}
BROKEN = [
    *((form, "indptr", how) for form in ("csr", "csc", "bsr") for how in BREAKS),
    *((form, "indices", how) for form in ("csr", "csc", "bsr") for how in ("huge", "negative", "short", "float")),
    *((form, "indices", "2-D") for form in ("csr", "csc", "bsr")),
    *((form, "data", how) for form in ("csr", "csc", "bsr", "coo") for how in ("short", "2-D")),
    *(("coo", part, how) for part in ("row", "col") for how in ("huge", "negative", "short", "long", "float", "2-D")),
    *(("dia", "offsets", how) for how in ("short", "long", "float", "2-D")),
    *(("lil", part, how) for part in ("rows", "data") for how in ("short", "long")),
    *(("lil", "columns", how) for how in ("huge", "negative")),
    *(("dok", "keys", how) for how in ("huge", "negative")),
]  # fmt: skip


def broken(form: str, part: str, how: str):
    """A matrix with one part changed behind SciPy's back."""
    X = getattr(sparse, f"{form}_array")(TABLE)
    if form == "dok":
        X._dict[(2**20, 0) if how == "huge" else (0, -1)] = 1.0
    elif form == "lil" and part == "columns":
        X.rows[0] = [1, 2**40 if how == "huge" else -1]
    elif form == "lil":
        getattr(X, part)[0] = [1] if how == "short" else [1, 2, 3]
    elif form == "coo" and part != "data":
        X.coords = tuple(BREAKS[how](c) if name == part else c for name, c in zip(("row", "col"), X.coords))
    else:
        setattr(X, part, BREAKS[how](getattr(X, part)))
    return X


@pytest.mark.parametrize(("form", "part", "how"), BROKEN)
def test_broken_sparse_matrices_are_refused_at_every_door(form, part, how):
    for name, door in DOORS.items():
        with pytest.raises(ValueError, match=r"is a broken sparse matrix: .*; rebuild it from its entries"):
            pytest.fail(f"{name} took it: {door(broken(form, part, how))}")


def is_sound(indptr, indices, n_columns):
    """What CSR means, said once more and slowly."""
    last = 0
    for row, pointer in enumerate(indptr):
        if (row == 0 and pointer != 0) or not last <= pointer <= len(indices):
            return False
        if not all(0 <= column < n_columns for column in indices[last:pointer]):
            return False
        last = pointer
    return True


numbers = st.one_of(st.integers(-1, 6), st.integers(-1, 6), st.sampled_from([-(2**31), 2**31 - 1, 2**30, 77]))


@settings(max_examples=80, deadline=None)
@given(
    st.lists(numbers, min_size=5, max_size=5), st.lists(numbers, max_size=6), st.booleans(), st.booleans(),
    st.sampled_from([np.int32, np.int64]),
)  # fmt: skip
def test_any_csr_matrix_is_sound_or_refused(pointers, columns, in_order, in_range, dtype):
    """Sound ones give what the dense table gives, at fit and at predict; the others are refused at both."""
    pointers = [0, *sorted(min(max(p, 0), len(columns)) for p in pointers[1:])] if in_order else pointers
    columns = [abs(c) % 4 for c in columns] if in_range else columns
    X = sparse.csr_array((4, 4))
    X.indptr, X.indices, X.data = (
        np.array(pointers, dtype),
        np.array(columns, dtype),
        np.arange(1.0, len(columns) + 1),
    )
    chain, items = fitted()
    if is_sound(pointers, columns, 4):
        table = np.zeros((4, 4))
        for row in range(4):
            for entry in range(pointers[row], pointers[row + 1]):
                table[row, columns[entry]] += X.data[entry]
        assert chain.predict([X]) == chain.predict([table])
        np.testing.assert_array_equal(items.predict(X), items.predict(table))
        np.testing.assert_array_equal(as_rows(CRF(Multiclass()).encode(X).batch.rows).toarray(), table)
        assert CRF(Multiclass(), max_iter=2).fit(X, LABELS).predict(X).shape == (4,)
        return
    for act in (
        lambda: chain.predict([X]),
        lambda: items.predict(X),
        lambda: CRF(Chain()).fit([X], [LABELS]),
    ):
        with pytest.raises(ValueError, match="is a broken sparse matrix"):
            act()


@pytest.mark.parametrize("learner", [CRF(Chain()), SSVM(Chain(), kernel=RBF(0.5)), Perceptron(Chain())])
def test_learners_refuse_a_matrix_that_would_end_the_process(learner):
    X = broken("csr", "indptr", "wild inside")
    with pytest.raises(ValueError, match=r"X\[1\] is a broken sparse matrix: X\[1\].indptr decreases from"):
        learner.fit([sparse.csr_array(TABLE), X], [LABELS, LABELS])


# -- batches made by hand -------------------------------------------------------------------------------------------


def refused(encoded, message, model, y):
    with pytest.raises(ValueError, match=f"X holds a broken batch: .*{message}.*make it with the encode"):
        model.predict(encoded)
    with pytest.raises(ValueError, match=f"X holds a broken batch: .*{message}"):
        type(model)(model.structure, max_iter=2).fit(encoded, y)


I64, I32 = np.int64, np.int32


@pytest.mark.parametrize(
    ("part", "value", "message"),
    [
        ("indices", np.array([0, 1, 1, 3], I32), r"rows.indices\[3\] is 3, out of range: expected 0..2"),
        ("indices", np.array([0, 1, 1, -1], I32), r"rows.indices\[3\] is -1"),
        ("indices", np.array([0, 1, 1, 2]), "rows.indices must be a 1-D array of int32, found int64"),
        ("indptr", np.array([0, 1, 2, 3, 9]), "rows.indptr goes from 0 to 9, but there are 4 entries"),
        ("indptr", np.array([0, 3, 1, 3, 4]), "rows.indptr decreases from 3 to 1 at row 1"),
        ("indptr", np.array([-1, 1, 2, 3, 4]), "rows.indptr goes from -1"),
        ("indptr", np.array([[0, 1, 2, 3, 4]]), "rows.indptr must be a 1-D array"),
        ("values", np.ones(2), "rows.values has 2 entries, expected 4"),
        ("values", np.array([1.0, np.nan, 1.0, 1.0]), r"rows.values\[1\] is nan"),
        ("n_columns", 7, "the batch has 7 columns, its encoder 3"),
        ("n_columns", 3.0, "n_columns must be an integer"),
    ],
)
def test_sparse_rows_made_by_hand(part, value, message):
    model = CRF(Chain(), max_iter=2).fit(NAMES, [["x", "y"], ["x", "x"]])
    encoded = model.encode(NAMES)
    assert model.predict(encoded) == model.predict(NAMES)
    rows = replace(encoded.batch.rows, **{part: value})
    refused(
        EncodedInputs(Batch(rows, encoded.batch.offsets), encoded.encoder),
        message,
        model,
        [["x", "y"], ["x", "x"]],
    )


@pytest.mark.parametrize(
    ("rows", "offsets", "message"),
    [
        (np.zeros((4, 2)), [0, 2, 5], "offsets goes from 0 to 5, but there are 4 entries"),
        (np.zeros((4, 2)), [0, 5, 4], "offsets decreases from 5 to 4 at row 1"),
        (np.zeros((4, 2)), [1, 2, 4], "offsets goes from 1"),
        (np.zeros((4, 2)), [], "offsets"),
        (np.zeros((4, 2), np.float32), [0, 2, 4], "rows must be a 2-D array of float64, found float32"),
        (np.zeros(4), [0, 2, 4], "rows must be a 2-D array"),
        (np.zeros((4, 3)), [0, 2, 4], "the batch has 3 columns, its encoder 2"),
        (np.zeros((2, 4)).T, [0, 2, 4], "rows must be in C order"),
        (np.full((4, 2), np.inf), [0, 2, 4], r"rows\[0\] is inf"),
        ([[0.0, 1.0]] * 4, [0, 2, 4], "rows must be a 2-D array"),
    ],
)
def test_batches_made_by_hand(rows, offsets, message):
    X, y = [np.eye(2), np.ones((2, 2))], [["x", "y"], ["x", "x"]]
    model = CRF(Chain(), max_iter=2).fit(X, y)
    encoder = model.encode(X).encoder
    refused(EncodedInputs(Batch(rows, np.array(offsets, I64)), encoder), message, model, y)


def test_items_are_one_row_each():
    model = CRF(Multiclass(), max_iter=2).fit(np.eye(4), LABELS)
    encoded = model.encode(np.eye(4))
    for offsets in ([0, 2, 4], [0, 0, 2, 3, 4]):
        batch = replace(encoded.batch, offsets=np.array(offsets))
        refused(
            EncodedInputs(batch, encoded.encoder),
            "every sample .* is one row",
            model,
            LABELS[: len(offsets) - 1],
        )


def test_graphs_made_by_hand():
    layout = {"offsets": [0, 2, 5], "edge_offsets": [0, 1, 3], "edges": [[0, 1], [0, 1], [1, 2]]}
    GraphLayout(**{k: np.array(v) for k, v in layout.items()})
    for change, message in (
        (
            {"edges": [[0, 2], [0, 1], [1, 2]]},
            r"edges\[0\] = \[0, 2\] must be different nodes of its sample, .* 0 to 1",
        ),
        ({"edges": [[0, 1], [0, -1], [1, 2]]}, r"edges\[1\] = \[0, -1\]"),
        ({"edges": [[0, 1], [0, 0], [1, 2]]}, r"edges\[1\] = \[0, 0\]"),
        ({"edges": [[0, 1], [0, 2**40], [1, 2]]}, r"edges\[1\]"),
        ({"edge_offsets": [0, 2, 9]}, "edge_offsets goes from 0 to 9, but there are 3 entries"),
        ({"edge_offsets": [0, 5, 3]}, "edge_offsets decreases from 5 to 3"),
        ({"offsets": [0, 7, 5]}, "offsets decreases from 7 to 5"),
        ({"offsets": []}, "offsets has 0 entries"),
        ({"node_type": [0]}, "offsets goes from 0 to 5, but there are 1 entries"),
        ({"edge_type": [0]}, "edge_type has 1 entries, expected 3"),
        ({"cliques": (CliqueRows(np.array([[0, 1, 3]]), np.array([0, 0, 1])),)}, r"cliques\[0\].nodes\[0\]"),
        (
            {"cliques": (CliqueRows(np.array([[0, 1, 2]]), np.array([0, 0, 3])),)},
            r"cliques\[0\].offsets goes from 0 to 3",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            GraphLayout(
                **{k: v if k == "cliques" else np.array(v, I64) for k, v in (layout | change).items()}
            )


def test_batches_of_graphs_made_by_hand():
    X = [(np.eye(3), [(0, 1), (1, 2)], np.ones((2, 1)))]
    y = [["a", "b", "a"]]
    model = CRF(Graph(), max_iter=2).fit(X, y)
    encoded = model.encode(X)
    batch, layout = encoded.batch, encoded.batch.layout
    others = {
        "edge_type": GraphLayout(
            layout.offsets, layout.edge_offsets, layout.edges, edge_type=np.array([0, 9])
        ),
        "node_type": GraphLayout(layout.offsets, layout.edge_offsets, layout.edges, np.array([0, -4, 0])),
        "factors": GraphLayout(
            layout.offsets,
            layout.edge_offsets,
            layout.edges,
            cliques=(CliqueRows(np.array([[0, 1, 2]]), np.array([0, 1])),),
        ),
        "different offsets": GraphLayout(np.array([0, 3, 3]), np.array([0, 2, 2]), layout.edges),
    }
    cases = [(name, replace(batch, layout=other)) for name, other in others.items()]
    cases.append(("edge_rows has 1 rows, expected 2", replace(batch, edge_rows=np.ones((1, 1)))))
    cases.append(("3 columns of nodes and 2 of edges", replace(batch, edge_rows=np.ones((2, 2)))))
    cases.append(("3 columns of nodes and 0 of edges", replace(batch, edge_rows=None)))
    cases.append(("their batch is a Batch", Batch(batch.rows, batch.offsets)))
    for message, other in cases:
        refused(EncodedInputs(other, encoded.encoder), message, model, y)
    chain = CRF(Chain(), max_iter=2).fit([np.eye(3)], y)
    refused(
        EncodedInputs(GraphBatch(batch.rows, batch.offsets, layout), chain.encoder_), "a GraphBatch", chain, y
    )


def test_batches_of_segments_made_by_hand():
    def features(x, start, stop):
        return [f"n={stop - start}"]

    y = [[(0, 1, "P")], [(0, 2, "P")]]
    structure = SemiMarkov(2, features)
    model = CRF(structure, max_iter=2).fit(NAMES, y)
    encoded = model.encode(NAMES)
    batch = encoded.batch
    for message, other in (
        ("there are 8 segments, expected 4 . 3", replace(batch, max_length=3)),
        (
            "segments.indices",
            replace(batch, segments=replace(batch.segments, indices=batch.segments.indices + I32(9))),
        ),
        ("segments must be SparseRows", replace(batch, segments=np.zeros((8, 2)))),
        ("their batch is a Batch", Batch(batch.rows, batch.offsets)),
    ):
        refused(EncodedInputs(other, encoded.encoder), message, model, y)


def test_tables_of_columns_made_by_hand():
    sentences, template = [[("the",), ("cat",)], [("a",)]], "U0:%x[0,0]\nU1:%x[-1,0]\nB"
    table = ColumnTable.from_sentences(sentences)
    model = CRF(Chain(), max_iter=2).fit(ColumnSentences(table, template), [["D", "N"], ["D"]])
    for change, message in (
        ({"codes": (np.array([0, 1, 7], I32),)}, r"codes\[0\]\[2\] is 7, out of range: expected 0..2"),
        ({"codes": (np.array([0, -1, 2], I32),)}, r"codes\[0\]\[1\] is -1"),
        ({"codes": (np.array([0, 1], I32),)}, "offsets goes from 0 to 3, but there are 2 entries"),
        ({"codes": (np.array([0.0, 1.0, 2.0]),)}, r"codes\[0\] must be a 1-D array of int32"),
        ({"codes": table.codes * 2}, "2 columns of codes and 1 of cells"),
        ({"offsets": np.array([0, 9, 3])}, "offsets decreases from 9 to 3"),
    ):
        broken_table = ColumnSentences(replace(table, **change), template)
        with pytest.raises(ValueError, match=message):
            model.predict(broken_table)
        with pytest.raises(ValueError, match=message):
            CRF(Chain()).fit(broken_table, [["D", "N"], ["D"]])


@pytest.mark.parametrize("offsets", [[0, 3, 2], [0, 9], [-1, 2], [], [[0, 2]], [0.0, 2.0]])
def test_ragged_lists_made_by_hand(offsets):
    with pytest.raises(ValueError, match="offsets"):
        Ragged(np.arange(3), np.array(offsets) if len(offsets) else np.empty(0, I64))
    assert len(Ragged(np.arange(3), np.array([0, 1, 3]))) == 2
