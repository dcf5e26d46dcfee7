"""Files of graded documents: what is read, what is written, what is refused; OHSUMED."""

from __future__ import annotations

import gzip
import io
import lzma

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from palmette.data import letor_lines
from palmette.data.letor import Queries, read_letor, write_letor
from palmette.datasets import load_letor_ohsumed, store
from palmette.datasets.known_ranking import LETOR_OHSUMED
from palmette.errors import DataFileError


def read(text, **options):
    return read_letor("-", stream=io.BytesIO(text if isinstance(text, bytes) else text.encode()), **options)


TEXT = "# a comment\n2 qid:10 1:0.5 3:1e-3 #docid = 7\n\n0 qid:10 2:-.25\r\n1.0\tqid:b 1:+1\t2:2  # x # y\n"


def test_lines_become_tables_grades_names_and_comments():
    queries = read(TEXT)
    np.testing.assert_array_equal(queries.X[0], [[0.5, 0, 1e-3], [0, -0.25, 0]])
    np.testing.assert_array_equal(queries.X[1], [[1, 2, 0]])
    assert [y.tolist() for y in queries.y] == [[2, 0], [1]] and queries.y[0].dtype == np.int64
    assert queries.ids == ["10", "b"] and queries.comments == [["docid = 7", ""], ["x # y"]]
    assert [lines.tolist() for lines in queries.lines] == [[2, 4], [5]]


@pytest.mark.parametrize("suffix, compress", [("", bytes), (".gz", gzip.compress), (".xz", lzma.compress)])
def test_compressed_files_are_the_same(tmp_path, suffix, compress):
    path = tmp_path / f"train.txt{suffix}"
    path.write_bytes(compress(TEXT.encode()))
    queries = read_letor(path)
    assert queries.source == str(path) and len(queries) == 2 and queries.n_documents == 3


def test_blocks_of_lines_do_not_matter(monkeypatch, rng):
    lines = [f"{rng.integers(3)} qid:{i // 4} 1:{rng.normal():.6f} 4:{rng.normal():.3e}" for i in range(21)]
    whole = read("\n".join(lines))
    monkeypatch.setattr(letor_lines, "_BLOCK", 2)
    pieces = read("\n".join(lines))
    for a, b in zip(whole.X, pieces.X, strict=True):
        np.testing.assert_array_equal(a, b)


def test_sparse_tables_equal_dense_ones():
    for dense, rows in zip(read(TEXT).X, read(TEXT, as_sparse=True).X, strict=True):
        assert sparse.issparse(rows)
        np.testing.assert_array_equal(dense, rows.toarray())


def test_number_of_features_can_be_given_and_numbers_begin_at_0_if_asked():
    assert read(TEXT, n_features=5).X[0].shape == (2, 5)
    zero = read("1 qid:1 0:2 2:3\n", zero_based=True)
    np.testing.assert_array_equal(zero.X[0], [[2, 0, 3]])
    np.testing.assert_array_equal(read("1 qid:1 3:2 1:3\n").X[0], [[3, 0, 2]])  # any order


NULLS = "1 qid:1 1:NULL 2:3\n0 qid:1 1:5 2:NULL\n0 qid:1 1:4 2:NULL\n0 qid:2 1:NULL 2:1\n"


def test_null_is_what_the_user_says():
    np.testing.assert_array_equal(read(NULLS, missing=-1.0).X[0], [[-1, 3], [5, -1], [4, -1]])
    least = read(NULLS, missing="minimum")
    np.testing.assert_array_equal(least.X[0], [[4, 3], [5, 3], [4, 3]])
    np.testing.assert_array_equal(least.X[1], [[0, 1]])
    with pytest.raises(DataFileError, match=r"<stdin>:1: feature 1 is NULL; .*missing='minimum'"):
        read(NULLS)


def test_split_queries_are_refused_or_merged():
    text = "1 qid:a 1:1\n0 qid:b 1:2\n2 qid:a 1:3 #late\n"
    with pytest.raises(
        DataFileError, match=r"<stdin>:3: query a comes again, after its lines ended at line 1; sort"
    ):
        read(text)
    queries = read(text, split="merge")
    assert queries.ids == ["a", "b"] and queries.y[0].tolist() == [1, 2]
    assert queries.comments == [["", "late"], [""]] and queries.X[0].ravel().tolist() == [1, 3]


def test_queries_that_teach_nothing_are_kept_and_counted():
    text = "1 qid:1 1:1\n0 qid:2 1:1\n1 qid:3 1:1\n1 qid:3 1:2\n0 qid:4 1:1\n0 qid:4 1:2\n1 qid:5 1:1\n0 qid:5 1:2\n"
    queries = read(text)
    assert queries.facts() == {
        "queries": 5, "documents": 8, "features": 1, "grades": 2,
        "single_document": 2, "equal_grades": 2, "without_relevant": 2,
    }  # fmt: skip
    assert "2 with a single document, 2 with equal grades, 2 without relevant documents" in queries.describe()


@pytest.mark.parametrize(
    "line, message",
    [
        ("-1 qid:1 1:2", "the grade of relevance is -1, but must be an integer of at least 0"),
        ("0.5 qid:1 1:2", "the grade of relevance is 0.5"),
        ("inf qid:1 1:2", "the grade of relevance is inf"),
        ("nan qid:1 1:2", "the grade of relevance is nan"),
        ("x qid:1 1:2", "the grade of relevance is x"),
        ("1 1:2 2:3", "expected qid:QUERY after the grade, found 1:2"),
        ("1", "expected qid:QUERY after the grade, found nothing"),
        ("1 qid: 1:2", "expected qid:QUERY"),
        ("1 qid:1 a:2", "expected FEATURE:VALUE, a feature being a number of at most 9 digits, found a:2"),
        ("1 qid:1 3", "expected FEATURE:VALUE, .* found 3"),
        ("1 qid:1 -3:1", "expected FEATURE:VALUE, .* found -3:1"),
        ("1 qid:1 12345678901:1", "expected FEATURE:VALUE, .* found 12345678901:1"),
        ("1 qid:1 1:2:3 4", "the value of feature 1 is not a number: 1:2:3"),
        ("1 qid:1 1:", "the value of feature 1 is not a number: 1:"),
        ("1 qid:1 1:x", "the value of feature 1 is not a number: 1:x"),
        ("1 qid:1 1:1-2", "the value of feature 1 is not a number: 1:1-2"),
        ("1 qid:1 1:1e", "the value of feature 1 is not a number: 1:1e"),
        ("1 qid:1 1:nan", "the value of feature 1 is nan; values must be finite"),
        ("1 qid:1 1:1e999", "the value of feature 1 is 1e999; values must be finite"),
        ("1 qid:1 0:1", "features are numbered from 1, found feature 0; use zero_based=True"),
        ("1 qid:1 2:1 2:1", "feature 2 comes twice in the line"),
        ("1 qid:1 2:1 1:4 2:1", "feature 2 comes twice in the line"),
    ],
)
def test_bad_lines_are_named(line, message):
    with pytest.raises(DataFileError, match=f"<stdin>:2: {message}"):
        read(f"0 qid:1 1:1\n{line}\n0 qid:1 1:5\n")


def test_bad_files_and_options_are_named():
    with pytest.raises(DataFileError, match="<stdin>:1: the file has no documents"):
        read("# nothing\n")
    with pytest.raises(DataFileError, match=r"<stdin>:1: byte 13 of the line .* is not UTF-8"):
        read(b"1 qid:1 1:1 \xe9\n")
    with pytest.raises(DataFileError, match="<stdin>:1: feature 3 is beyond the 2 features expected"):
        read("1 qid:1 3:1\n", n_features=2)
    with pytest.raises(
        DataFileError, match="1 documents x 999,999,999 features are too many for arrays; use as_spar"
    ):
        read("1 qid:1 999999999:1\n")
    assert read("1 qid:1 999999999:1\n", as_sparse=True).X[0].shape == (1, 999_999_999)
    for missing in ("mean", float("nan"), float("inf"), None):
        with pytest.raises(
            ValueError, match=f"must be a finite number, 'error' or 'minimum', got {missing!r}"
        ):
            read("", missing=missing)
    with pytest.raises(ValueError, match="split must be 'refuse' or 'merge', got 'first'"):
        read("", split="first")


def test_files_are_joined_and_widened():
    joined = Queries.joined(
        [read("1 qid:1 1:1\n"), read("0 qid:2 3:1\n"), read("0 qid:3 2:1\n", as_sparse=True)]
    )
    assert [table.shape for table in joined.X] == [(1, 3)] * 3 and joined.ids == ["1", "2", "3"]
    with pytest.raises(DataFileError, match="<stdin>:1: query 1 is in <stdin>:2 already"):
        Queries.joined([read("0 qid:0 1:1\n1 qid:1 1:1\n"), read("1 qid:1 1:1\n")])


tables = st.integers(1, 3).flatmap(
    lambda width: st.lists(
        st.integers(1, 4).flatmap(
            lambda n: st.tuples(
                hnp.arrays(np.float64, (n, width), elements=st.floats(allow_nan=False, allow_infinity=False)),
                st.lists(st.integers(0, 9), min_size=n, max_size=n),
                st.lists(st.sampled_from(["", "docid = 3", "é # x"]), min_size=n, max_size=n),
            )
        ),
        min_size=1,
        max_size=3,
    )
)


@settings(max_examples=40, deadline=None)
@given(tables, st.booleans())
def test_what_is_written_is_read_again(tmp_path_factory, queries, skip_zeros):
    path = tmp_path_factory.mktemp("letor") / "out.txt"
    X, y, comments = map(list, zip(*queries))
    write_letor(path, X, y, comments=comments, skip_zeros=skip_zeros)
    found = read_letor(path, n_features=X[0].shape[1])
    for a, b in zip(X, found.X, strict=True):
        np.testing.assert_array_equal(a, b)
    assert [grades.tolist() for grades in found.y] == y and found.comments == comments


@pytest.mark.parametrize(
    "options, message",
    [
        ({"ids": ["a b"]}, "ids.0. is 'a b', but the name of a query has no blanks"),
        ({"ids": []}, "X has 1 queries but ids has 0"),
        ({"y": [[1, -1]]}, r"y\[0\]\[1\] is -1, but grades are integers"),
        ({"y": [[1]]}, r"query 0 \(1\): X\[0\] has 2 documents, y\[0\] 1, comments\[0\] 1"),
        ({"comments": [["a\nb", ""]]}, r"comments\[0\]\[0\] has a line break"),
        ({"X": [[[1.0], [np.nan]]]}, r"X\[0\] has a value that is not finite in document 1"),
    ],
)
def test_what_cannot_be_read_again_is_not_written(tmp_path, options, message):
    given = {"X": [np.ones((2, 1))], "y": [[1, 0]], **options}
    with pytest.raises(ValueError, match=message):
        write_letor(tmp_path / "out.txt", **given)
    assert not list(tmp_path.iterdir())


def test_two_queries_of_one_name_are_not_written(tmp_path):
    with pytest.raises(ValueError, match="two queries have the name '7'"):
        write_letor(tmp_path / "out.txt", [np.ones((1, 1))] * 2, [[1], [0]], ids=[7, 7])


# ------------------------------------------------------------------------------------------------- OHSUMED


def test_parts_of_a_fold(monkeypatch):
    text = "0 qid:{0} 1:NULL 2:1 #docid = {0}\n1 qid:{0} 1:3 2:1 #docid = 9\n"
    asked = []

    def given(name, sources):
        asked.append(sources)
        return {source: text.format(source[-1]).encode() for source in sources}

    monkeypatch.setattr(store, "read", given)
    assert load_letor_ohsumed(4, "train").queries == ["4", "5", "1"]
    assert load_letor_ohsumed(4, "validation").parts.tolist() == ["S2"]
    test = load_letor_ohsumed(4, "test", version="featurenull", missing=7.0)
    assert test.documents == [["3", "9"]] and test.data[0].tolist() == [[7, 1], [3, 1]]
    assert asked[-1] == ["featurenull_S3"]
    X, y = load_letor_ohsumed(1, "all", return_X_y=True)
    assert len(X) == 5 and y[0].tolist() == [0, 1] and X[0][0, 0] == 3.0
    for bad, message in (
        ({"fold": 0}, "fold must be a number from 1 to 5, got 0"),
        ({"fold": True}, "fold must be"),
        ({"part": "dev"}, "part must be one of 'train', 'validation', 'test', 'all', got 'dev'"),
        ({"version": "raw"}, "version must be one of 'querylevelnorm', 'featurenull', got 'raw'"),
    ):
        with pytest.raises(ValueError, match=message):
            load_letor_ohsumed(**bad)


def test_public_addresses_are_the_test_parts_of_the_folds():
    urls = {source.name: source.urls[0].address for source in LETOR_OHSUMED.sources}
    assert urls["querylevelnorm_S5"].endswith("QueryLevelNorm/Fold1/test.txt")
    assert urls["featurenull_S1"].endswith("Feature-null/Fold2/testset.txt")


@pytest.mark.data
def test_real_ohsumed():
    sizes = {part: len(load_letor_ohsumed(1, part).data) for part in ("train", "validation", "test")}
    assert sizes == {"train": 63, "validation": 21, "test": 22}
    everything = load_letor_ohsumed(part="all")
    assert np.bincount(np.concatenate(everything.target)).tolist() == [11_303, 2_585, 2_252]
    table = np.concatenate(everything.data)
    assert table.shape == (16_140, 45) and table.min() == 0 and table.max() == 1
    assert sum(not grades.any() for grades in everything.target) == 1
    raw = load_letor_ohsumed(part="all", version="featurenull")
    assert raw.queries == everything.queries and raw.documents == everything.documents
