"""What would take too much memory is refused before it is taken, with the limit and the remedy."""

from __future__ import annotations

import io
import lzma

import numpy as np
import pytest

import palmette
from palmette import CRF, Chain, Encoding, Graph, PlackettLuce, Ranking, SemiMarkov, memory
from palmette.apps.tagging import columns, labelling
from palmette.apps.tagging.columns import iter_columns, read_columns
from palmette.apps.tagging.tagger import Tagger
from palmette.apps.tagging.templates import Template
from palmette.errors import DataFileError, ModelFileError, TooLarge, TooWide
from palmette.features import template_syntax
from palmette.inference import FactorGraph, JunctionTree
from palmette.io import lines
from palmette.structures import chain_graph
from palmette.structures.positions.tables import ChainTables
from palmette.structures.segments import tables as segment_tables

TRAIN = "the DT O\ncat NN B\n\na DT O\ndog NN B\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "train.txt").write_text(TRAIN)
    return tmp_path


@pytest.fixture
def tagger():
    return Tagger.train(
        read_columns("-", stream=io.StringIO(TRAIN)), template=Template.parse("U:%x[-5,0]\nU1:%x[0,0]\nB")
    )


# -- the mechanism ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "expected"), [("1000", 1000), ("4e9", 4 * 10**9), ("1.5GB", 3 * 2**29), (" 2 mib ", 2**21), ("7k", 7168)]
)  # fmt: skip
def test_the_limit_is_set_by_a_variable(monkeypatch, given, expected):
    monkeypatch.setenv("PALMETTE_MEMORY", given)
    assert memory.memory_limit() == expected
    memory.check_size("a thing", expected, "no remedy is needed")
    with pytest.raises(
        TooLarge, match=r"^a thing: .* limit is .* \(PALMETTE_MEMORY\): make it smaller"
    ) as error:
        memory.check_size("a thing", expected + 1, "make it smaller")
    assert error.value.n_bytes == expected + 1


@pytest.mark.parametrize("given", ["lots", "-1", "0", "4 XB", "nan", "1e400"])
def test_a_limit_that_is_none_is_refused(monkeypatch, given):
    monkeypatch.setenv("PALMETTE_MEMORY", given)
    with pytest.raises(ValueError, match=r"PALMETTE_MEMORY must be .*8GB"):
        memory.memory_limit()


def test_without_a_variable_it_is_half_of_what_there_is(monkeypatch):
    monkeypatch.delenv("PALMETTE_MEMORY", raising=False)
    monkeypatch.setattr(memory, "_machine_memory", lambda: 1000)
    assert memory.memory_limit() == 500
    with pytest.raises(TooLarge, match="half of the memory here; PALMETTE_MEMORY sets it"):
        memory.check_size("a thing", 501, "")


def test_junction_trees_obey_the_same_limit(monkeypatch):
    graph = FactorGraph.from_tables([3] * 4, [((i, j), np.zeros((3, 3))) for i in range(4) for j in range(i)])
    monkeypatch.setenv("PALMETTE_MEMORY", "10")
    with pytest.raises(TooWide, match="the limit of 10 bytes") as error:
        JunctionTree.of(graph.topology)
    assert isinstance(error.value, TooLarge)


# -- templates --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", ["100000000", "-1001", "1001", "9" * 5000])
def test_templates_look_so_far_and_no_farther(row):
    for at in (1000, -1000):
        assert Template.parse(f"U:%x[{at},0]").features[0].macros[0].row == at
    with pytest.raises(DataFileError, match=r"^mine:2: '%x\[.* a row is at most 1000 away"):
        Template.parse(f"U0:%x[0,0]\nU1:%x[{row},0]", "mine")


@pytest.mark.parametrize("macro", ["%x[0," + "9" * 5000 + "]", "%p[0,0," + "9" * 5000 + "]"])
def test_templates_with_huge_numbers(macro):
    with pytest.raises(DataFileError, match=r"^template:1: .* below 10\^9"):
        Template.parse(f"U:{macro}")


def test_models_with_such_templates_are_refused(tagger, tmp_path, monkeypatch):
    for options in ({}, {"n_hash": 100, "min_count": 1}):
        model = Tagger.train(
            read_columns("-", stream=io.StringIO(TRAIN)), template=tagger.template, **options
        )
        model.save(tmp_path / "model")
        Tagger.load(tmp_path / "model")
        with monkeypatch.context() as patch:
            patch.setattr(template_syntax, "FARTHEST", 4)
            with pytest.raises(ModelFileError, match="at most 4 away"):
                Tagger.load(tmp_path / "model")


# -- k best -----------------------------------------------------------------------------------------------------


def chain_tables(n, k):
    return ChainTables(np.zeros((n, k)), np.zeros((1, k, k)), np.array([0, n]))


ROWS = np.random.default_rng(0).normal(size=(4, 2))
KINDS = {
    "chain": (Chain(), [0, 1, 0, 1], ROWS, 16),
    "second order": (Chain(order=2), [0, 1, 0, 1], ROWS, 16),
    "segments": (SemiMarkov(4, outside=None), [(0, 2, 0), (2, 4, 1)], ROWS, 54),
    "graph": (Graph(), [0, 1, 0, 1], chain_graph(ROWS), 16),
}


@pytest.mark.parametrize("kind", KINDS)
def test_k_best_stops_where_there_is_no_more(kind):
    """A billion of them are asked for: all that exist come, and memory is that of these."""
    structure, y, x, expected = KINDS[kind]
    model = CRF(structure, n_jobs=1).fit([x], [y])
    assert len(model.predict_nbest([x], 10**9)[0]) == expected


def test_k_best_orders_stop_where_there_is_no_more():
    model = PlackettLuce().fit([ROWS], [[0, 1, 2, 1]])
    assert len(model.predict_nbest([ROWS], 10**9)[0]) == 24
    theta = model.scorer_.score(model.coef_, model.encoder_.transform([ROWS]))
    assert len(Ranking().k_best(theta, 10**9)[0]) == 24


@pytest.mark.parametrize("k", [10**9, 10**30])
@pytest.mark.parametrize("structure", [Chain(), Chain(order=2)])
def test_too_many_best_are_refused(structure, k):
    with pytest.raises(TooLarge, match=r"best outputs of 1 samples, the longest of 100 .* --nbest"):
        structure.k_best(chain_tables(100, 3), k)


@pytest.mark.parametrize("k", [0, -1, 1.5, True])
def test_k_must_be_a_number_of_outputs(k):
    with pytest.raises(ValueError, match=r"k must be (an integer|at least 1), got"):
        Chain().k_best(chain_tables(2, 2), k)


def test_too_many_best_orders_are_refused():
    X = [np.random.default_rng(0).normal(size=(30, 2))]
    model = PlackettLuce().fit(X, [[0, 1, 2] * 10])
    with pytest.raises(TooLarge, match=r"best orders of 30 documents"):
        model.predict_nbest(X, 10**9)


def test_nbest_of_the_command(run, folder, tagger):
    tagger.save(folder / "model")
    (folder / "long.txt").write_text("cat NN\n" * 100)
    code, out, err = run("predict", "-m", "model", "long.txt", "--nbest", 10**9)
    assert (code, out) == (2, "") and err.count("\n") == 1 and "--nbest" in err and "PALMETTE_MEMORY" in err
    code, out, err = run("predict", "-m", "model", "train.txt", "--nbest", 10**9)
    assert code == 0 and out.count("# nbest") == 8


# -- weights ----------------------------------------------------------------------------------------------------


def test_hash_of_the_command(run, folder, monkeypatch):
    monkeypatch.setenv("PALMETTE_MEMORY", "8GB")
    code, _, err = run("train", "train.txt", "-m", "model", "--hash", 2**31 - 1)
    assert code == 2 and err.startswith("error: n_hash=2,147,483,647 (--hash): ") and "fewer columns" in err
    assert not (folder / "model").exists()


def test_models_with_too_many_hashes_are_refused(tmp_path, monkeypatch):
    model = CRF(Chain(), encoding=Encoding(n_hash=10**5, states="observed")).fit(
        [[["a"], ["b"]]], [["x", "y"]]
    )
    model.save(tmp_path / "model")
    assert palmette.load(tmp_path / "model").predict([[["a"]]])
    monkeypatch.setenv("PALMETTE_MEMORY", "1MB")
    with pytest.raises(ModelFileError, match=r"n_hash=100,000 .*1\.0 MB"):
        palmette.load(tmp_path / "model")


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"encoding": Encoding(transitions="observed")},
        {"structure": Chain(order=2)},
        {"edge_features": "all"},
    ],
    ids=str,
)
def test_too_many_labels_on_a_chain(options, monkeypatch):
    """20,000 labels: tables of 3 GB each."""
    monkeypatch.setenv("PALMETTE_MEMORY", "4GB")
    model = CRF(**{"structure": Chain(), "classes": range(20_000), **options})
    with pytest.raises(TooLarge, match=r"^20,000 labels .* merge rare labels"):
        model.fit([[["a"], ["b"]]], [[0, 1]])


def test_too_many_labels_of_a_graph(monkeypatch):
    monkeypatch.setenv("PALMETTE_MEMORY", "4GB")
    with pytest.raises(TooLarge, match=r"^20,000 labels and 1 edge types"):
        CRF(Graph(), classes=range(20_000)).fit([chain_graph(ROWS)], [[0, 1, 2, 3]])


def test_many_labels_of_second_order(monkeypatch):
    monkeypatch.setenv("PALMETTE_MEMORY", "1GB")
    with pytest.raises(TooLarge, match=r"^500 labels, order 2"):
        CRF(Chain(order=2), classes=range(500)).fit([[["a"], ["b"]]], [[0, 1]])


def test_solvers_that_keep_marginals(monkeypatch):
    """One table of label pairs a sample."""
    X, Y = [[["a"], ["b"]]] * 500, [[0, 1]] * 500
    model = CRF(Chain(), classes=range(100), solver="dual", max_iter=1)
    monkeypatch.setenv("PALMETTE_MEMORY", "10MB")
    with pytest.raises(TooLarge, match=r"500 samples, 1,000 positions, 100 labels: .* solver='lbfgs'"):
        model.fit(X, Y)


def test_a_table_for_every_edge(monkeypatch):
    theta = chain_tables(1000, 50)
    monkeypatch.setenv("PALMETTE_MEMORY", "10MB")
    for answer in (Chain().marginals, Chain().entropy, Chain().max_marginals):
        with pytest.raises(TooLarge, match=r"50 x 50 labels for each of 999 edges"):
            answer(theta)
    assert np.isclose(Chain().log_partition(theta)[0], 1000 * np.log(50))


# -- segments ---------------------------------------------------------------------------------------------------

X, Y = [[["a"], ["b"], ["c"]]], [[(0, 2, "x")]]


@pytest.mark.parametrize("length", [10**9, 2**20 + 1, {"x": 10**9, None: 1}], ids=str)
@pytest.mark.parametrize("features", [None, lambda x, start, stop: ["s"]])
def test_segments_are_no_longer_than_tables(length, features, monkeypatch):
    monkeypatch.setenv("PALMETTE_MEMORY", "40MB")
    with pytest.raises(ValueError, match=r"max_length"):
        CRF(SemiMarkov(length, features), max_iter=1).fit(X, Y)


def test_the_longest_segment_must_fit_the_data(monkeypatch):
    monkeypatch.setenv("PALMETTE_MEMORY", "1MB")
    CRF(SemiMarkov(1000)).fit(X, Y)
    with pytest.raises(TooLarge, match=r"up to 100,000 positions with 2 labels .* smaller max_length"):
        CRF(SemiMarkov(100_000), max_iter=1).fit(X, Y)


def test_models_of_long_segments_are_refused(tmp_path, monkeypatch):
    CRF(SemiMarkov(50)).fit(X, Y).save(tmp_path / "model")
    palmette.load(tmp_path / "model")
    monkeypatch.setattr(segment_tables, "LONGEST", 49)
    with pytest.raises(ModelFileError, match="max_length=50 is above 49"):
        palmette.load(tmp_path / "model")


# -- texts ------------------------------------------------------------------------------------------------------


class Endless(io.RawIOBase):
    """A stream that never ends, and counts what was read of it."""

    def __init__(self, text):
        self.text, self.n_read = text, 0

    def readable(self):
        return True

    def readinto(self, buffer):
        n = len(buffer)
        start = self.n_read % len(self.text)
        buffer[:] = (self.text * (n // len(self.text) + 2))[start : start + n]
        self.n_read += n
        return n


def endless(text):
    raw = Endless(text)
    return raw, io.BufferedReader(raw, 8192)


def test_a_line_without_an_end(monkeypatch):
    monkeypatch.setattr(lines, "LONGEST_LINE", 10**5)
    raw, stream = endless(b"a")
    with pytest.raises(DataFileError, match=r"^<stdin>:1: the line is longer than 100,000 bytes"):
        list(lines.read_raw_lines("-", stream))
    assert raw.n_read < 2 * 10**5
    at_most = io.BytesIO(b"a\n" + b"b" * (10**5 - 1) + b"\n" + b"c" * 10**5)
    assert [len(line) for line in lines.read_raw_lines("-", at_most)] == [2, 10**5, 10**5]


@pytest.mark.parametrize("text", [b"word NN\n", b"# key = value\n"], ids=["tokens", "comments"])
def test_a_sentence_without_an_end(text, monkeypatch):
    monkeypatch.setattr(columns, "LONGEST_SENTENCE", 10**5)
    raw, stream = endless(text)
    with pytest.raises(
        DataFileError, match=r"^<stdin>:1: the sentence here is longer than 100,000 bytes; .*blank"
    ):
        list(iter_columns("-", stream=stream))
    assert raw.n_read < 2 * 10**5


def test_a_file_without_an_end(monkeypatch):
    monkeypatch.setenv("PALMETTE_MEMORY", "100MB")
    raw, stream = endless(b"a X\n\n")
    with pytest.raises(TooLarge, match=r"^<stdin>: .* of text: .* smaller ones"):
        read_columns("-", stream=stream)
    assert raw.n_read < 2**26
    blocks = iter_columns("-", stream=endless(b"a X\n\n")[1])  # a filter takes it, block by block
    assert [len(next(blocks).table) for _ in range(3)] == [1000] * 3


def test_a_long_sentence_in_a_small_archive(tmp_path, monkeypatch):
    monkeypatch.setattr(columns, "LONGEST_SENTENCE", 10**4)
    path = tmp_path / "small.xz"
    path.write_bytes(lzma.compress(b"a X\n\n" + b"a X\n" * 10**5))
    assert path.stat().st_size < 500
    for read in (read_columns, lambda path: list(iter_columns(path))):
        with pytest.raises(
            DataFileError, match=r"small\.xz:3: the sentence here is longer than 10,000 bytes"
        ):
            read(path)


def test_blocks_of_long_sentences_have_fewer_of_them(monkeypatch):
    text = "a X\n" * 10 + "\n"
    monkeypatch.setattr(columns, "_BLOCK", 100)
    blocks = list(iter_columns("-", stream=io.StringIO(text * 10)))
    assert [len(block.table) for block in blocks] == [3, 3, 3, 1]
    assert b"".join(block.raw for block in blocks).decode() == text * 10
    monkeypatch.setattr(labelling, "BYTES_PER_BATCH", 100)
    sentences = iter_columns("-", stream=io.StringIO(text * 10), sentences_per_block=1)
    assert [len(batch) for batch in labelling._batches(sentences, 1000)] == [3, 3, 3, 1]
