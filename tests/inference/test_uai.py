"""Files of the UAI competitions, the questions of ``palmette infer``, and instances with known answers."""

from __future__ import annotations

import io
import itertools
import json
import lzma
import tarfile

import numpy as np
import pytest

from palmette.cli import main
from palmette.datasets import load_uai2014, store, uai_format
from palmette.errors import DataFileError, TooWide
from palmette.inference import FactorGraph
from palmette.inference.answers import answer
from palmette.inference.uai import (
    parse_evidence,
    parse_marginals,
    parse_network,
    parse_partition,
    read_network,
)

# Two variables that share a table, one apart, a table of none: P(y) = 2 * a(y0) b(y0, y1) c(y2)
NETWORK = """MARKOV
3
2 3 2
4
1 0
2 1 0
1 2
0

2
 1 3
6
 1 2
 0 4
 5 6
2
 0.5 0.5
1
 2
"""


def products(evidence):
    """The definition of the network above."""
    a, b = [1, 3], [[1, 2], [0, 4], [5, 6]]
    found = {}
    for y in itertools.product(range(2), range(3), range(2)):
        if all(y[i] == k for i, k in evidence.items()):
            found[y] = 2 * a[y[0]] * b[y[1]][y[0]] * 0.5
    return found


@pytest.mark.parametrize("evidence", [{}, {0: 1}, {1: 1}, {0: 0, 2: 1}], ids=str)
def test_a_network_is_read_as_it_is_written(evidence):
    network = parse_network(NETWORK)
    graph = network.graph.conditioned(evidence)
    expected = products(evidence)
    for y, value in expected.items():
        assert np.exp(network.constant + graph.score(np.array(y))) == pytest.approx(value)
    found = {task: answer(graph, task) for task in ("map", "mar", "pr")}
    assert np.exp(found["map"].value + network.constant) == pytest.approx(max(expected.values()))
    assert expected[tuple(found["map"].codes)] == pytest.approx(max(expected.values()))
    total = sum(expected.values())
    for task in ("mar", "pr"):
        assert np.exp(found[task].value + network.constant) == pytest.approx(total)
        assert found[task].exact and found[task].bound == found[task].value
    first = sum(value for y, value in expected.items() if y[0] == 1) / total
    assert found["mar"].marginals[1] == pytest.approx(first)


def test_impossible_evidence_has_no_assignment():
    graph = parse_network(NETWORK).graph.conditioned({0: 0, 1: 1})
    for task in ("map", "mar", "pr"):
        found = answer(graph, task)
        assert found.value == -np.inf and found.codes is None and found.marginals is None
    with pytest.raises(ValueError, match="task must be one of map, mar, pr"):
        answer(graph, "mpe")


def test_every_variable_decided_by_evidence():
    graph = parse_network(NETWORK).graph.conditioned({0: 1, 1: 2, 2: 0})
    assert answer(graph, "map").codes.tolist() == [1, 2, 0]
    assert np.exp(answer(graph, "pr").value) == pytest.approx(3 * 6 * 0.5)
    assert answer(graph, "mar").marginals.tolist() == [0, 1, 0, 0, 1, 1, 0]


CARDS = np.array([2, 3, 2])


@pytest.mark.parametrize(
    "text, expected",
    [("", {}), ("0", {}), ("0\n\n", {}), ("1 1 2", {1: 2}), ("2\n0 1\n2 0", {0: 1, 2: 0}), ("1\n0", {})]
    + [("1\n2 0 1 2 0", {0: 1, 2: 0}), ("2 0 1 0 1", {0: 1})],
)
def test_evidence_of_both_forms(text, expected):
    assert parse_evidence(text, CARDS) == expected


@pytest.mark.parametrize(
    "text, message",
    [
        ("1 3 0", "e:1: an observed variable must be from 0 to 2, found 3"),
        ("1\n1\n3", "e:3: the state of variable 1 must be from 0 to 2, found 3"),
        ("2 0 1 0 0", "e:1: variable 0 is observed in state 1 and in state 0"),
        ("2\n1 0 1\n1 0 0", "e:1: 2 pairs .* but 6 numbers follow; one sample"),
        ("1 0 x", "e:1: expected the state of variable 0, found 'x'"),
        ("0 1 1", "e:1: 2 more words after the last observation"),
        ("1\n1\n", "e:2: the file ends where an observed variable is expected"),
    ],
)
def test_bad_evidence_names_the_line(text, message):
    with pytest.raises(DataFileError, match=message):
        parse_evidence(text, CARDS, "e")


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("MARKOV", "GIBBS", "n:1: expected MARKOV or BAYES, found 'GIBBS'"),
        ("2 3 2", "2 0 2", "n:3: the number of states of variable 1 must be at least 1, found 0"),
        ("2 1 0", "2 1 3", "n:6: a variable of table 1 must be from 0 to 2, found 3"),
        ("2 1 0", "2 1 1", r"n:6: table 1 names a variable twice: \[1, 1\]"),
        ("\n6\n", "\n5\n", "n:12: table 1 announces 5 entries, expected 6"),
        (" 0 4", " 0 -4", "n:14: table 1: expected a number that is not negative, found '-4'"),
        (" 0 4", " 0 four", "n:14: table 1: expected a number that is not negative, found 'four'"),
        (" 0 4", " 0 nan", "n:14: table 1: expected a number that is not negative, found 'nan'"),
        (" 2\n", " 2\n7\n", "n:20: 1 more words after the last table, the first is '7'"),
        ("1\n 2\n", "1\n", "n:18: the file ends after 0 of the 1 entries of table 3"),
    ],
)
def test_bad_networks_name_the_line(old, new, message):
    at = NETWORK.rindex(old) if old in (" 2\n", "1\n 2\n") else NETWORK.index(old)
    with pytest.raises(DataFileError, match=message):
        parse_network(NETWORK[:at] + new + NETWORK[at + len(old) :], "n")


def test_files_that_are_no_networks(tmp_path):
    path = tmp_path / "packed.uai"
    path.write_bytes(b"MARKOV\n2 2\xff")
    with pytest.raises(DataFileError, match=r"packed.uai:2: the byte 0xff is not text"):
        read_network(path)
    with pytest.raises(DataFileError, match=r"states in all, more than"):
        parse_network("MARKOV 2 2 99999999999 0")


def test_bad_results_name_the_line():
    with pytest.raises(DataFileError, match="r:1: expected PR, found 'MAR'"):
        parse_partition("MAR", "r")
    with pytest.raises(DataFileError, match="r:2: expected the marginals of 3 variables"):
        parse_marginals("MAR\n2 2 0.5 0.5", CARDS, "r")
    with pytest.raises(DataFileError, match="r:3: variable 1 has 3 states"):
        parse_marginals("MAR\n3 2 0.5 0.5\n2 1 0", CARDS, "r")


# ------------------------------------------------------------------------------------------ command line


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "small.uai"
    path.write_text(NETWORK)
    return path


def run(capsys, *arguments):
    code = main(["infer", *map(str, arguments)])
    return code, capsys.readouterr()


def test_infer_prints_json(model, capsys):
    code, said = run(capsys, model, "--task", "mar", "--json")
    record = json.loads(said.out)
    assert code == 0 and record["exact"] and record["method"] == "junction_tree"
    assert np.exp(record["value"]) == pytest.approx(sum(products({}).values()))
    assert record["bound"] == record["value"] and record["seconds"] >= 0
    assert [len(row) for row in record["marginals"]] == [2, 3, 2] and "assignment" not in record
    code, said = run(capsys, model, "--json")
    record = json.loads(said.out)
    assert code == 0 and record["assignment"][:2] == [1, 2] and "marginals" not in record


def test_infer_takes_the_evidence_beside_the_model(model, capsys):
    def value(*arguments):
        return np.exp(json.loads(run(capsys, model, "--task", "pr", "--json", *arguments)[1].out)["value"])

    assert value() == pytest.approx(sum(products({}).values()))
    model.with_suffix(".evid").write_text("1 0 0")
    assert value() == pytest.approx(sum(products({0: 0}).values()))
    (model.parent / "small.uai.evid").write_text("1\n1 0 1")
    assert value() == pytest.approx(sum(products({0: 1}).values()))
    assert value("--no-evidence") == pytest.approx(sum(products({}).values()))
    other = model.parent / "other"
    other.write_text("1 1 1")
    assert value("--evid", other) == pytest.approx(sum(products({1: 1}).values()))


def test_infer_prints_text(model, capsys):
    code, said = run(capsys, model)
    assert code == 0 and "(exact)" in said.out and said.out.splitlines()[-1].startswith("1 2 ")
    assert run(capsys, model, "--task", "mar")[1].out.splitlines()[-1] == "2  0.5 0.5"
    model.with_suffix(".evid").write_text("2 0 0 1 1")
    code, said = run(capsys, model, "--json")
    assert code == 0 and "nothing is possible" in said.err and json.loads(said.out)["value"] is None


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--task", "mpe"], "--task must be one of map, mar, pr, got 'mpe'"),
        (["--memory", "0"], "--memory must be positive"),
        (["--time-limit", "-1"], "--time-limit must be positive"),
        (["--evid", "x", "--no-evidence"], "exclude each other"),
        (["--evid", "nowhere"], "nowhere: No such file"),
    ],
)
def test_infer_refuses_bad_options(arguments, message, model, capsys):
    code, said = run(capsys, model, *arguments)
    assert code == 2 and message in said.err and said.out == ""


def complete(n, path):
    pairs = list(itertools.combinations(range(n), 2))
    lines = [
        f"MARKOV {n}",
        "2 " * n,
        str(len(pairs)),
        *(f"2 {i} {j}" for i, j in pairs),
        "4 1 2 2 1 " * len(pairs),
    ]
    path.write_text("\n".join(lines))
    return path


def test_infer_refuses_sums_that_are_too_wide(tmp_path, capsys):
    path = complete(20, tmp_path / "dense.uai")
    code, said = run(capsys, path, "--task", "pr", "--memory", "1e-6")
    assert code == 2 and "20 variables and 2^20.0 joint states" in said.err and "reweighted" in said.err
    with pytest.raises(TooWide):
        answer(read_network(path).graph, "map", method="junction_tree", memory_limit=100)


def test_too_wide_maxima_are_proven_by_other_methods(rng, monkeypatch):
    from palmette.inference import choose

    pairs = list(itertools.combinations(range(7), 2))
    graph = FactorGraph.from_tables([3] * 7, [(p, rng.normal(size=(3, 3))) for p in pairs])
    exact = answer(graph, "map", method="junction_tree")
    found = answer(graph, "map", memory_limit=100, time_limit=60)
    assert found.exact and found.method != "junction_tree"
    assert found.value == pytest.approx(exact.value) and graph.score(found.codes) == pytest.approx(
        found.value
    )
    bounded = answer(graph, "map", memory_limit=100)
    assert bounded.value <= exact.value + 1e-9 and exact.value - 1e-9 <= bounded.bound
    monkeypatch.setattr(choose, "_AT_ONCE", 0.0)  # as if the tree were slow: other methods come first
    assert answer(graph, "map").value == pytest.approx(exact.value)
    agree = FactorGraph.from_tables([2] * 7, [(p, np.eye(2) * rng.random()) for p in pairs])
    assert answer(agree, "map").method == "graph_cut"


# -------------------------------------------------------------------------------------------- the data set


def archive(files):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:xz") as tar:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text.encode()))
    return buffer.getvalue()


def test_archives_of_both_layouts_have_the_same_content():
    ours = {
        f"mar_pr/Tiny_11.uai{s}": t
        for s, t in (("", NETWORK), (".evid", "0"), (".MAR", "MAR"), (".PR", "PR 1"))
    }
    theirs = {
        "uai-1/uai2014/MAR/Tiny_11.uai": NETWORK,
        "uai-1/uai2014/MAR/Tiny_11.uai.evid": "0",
        "uai-1/uai2014/MAR/Tiny_11.uai.MAR": "MAR",
        "uai-1/uai2014/PR/Tiny_11.uai.PR": "PR 1",
        "uai-1/uai2014/PR/Other_11.uai": NETWORK,  # without marginals
        "uai-1/uai2014/MAR/relational_1.uai": NETWORK,
        "uai-1/uai2014/MAP/Grids_18.uai": NETWORK,
    }
    content = uai_format.from_tar(archive(ours), "mar_pr")
    assert content == uai_format.from_tar(archive(theirs), "mar_pr")
    assert uai_format.parse(content)["Tiny_11.uai"] == NETWORK
    with pytest.raises(LookupError, match="no instance of map"):
        uai_format.from_tar(archive(ours), "map")


def test_the_loader_parses_on_demand(monkeypatch, tmp_path):
    files = {f"mar_pr/Tiny_11.uai{s}": t for s, t in (("", NETWORK), (".evid", "1 0 1"), (".PR", "PR\n1.5"))}
    files["mar_pr/Tiny_11.uai.MAR"] = "MAR 3 2 0 1 3 .2 .3 .5 2 .5 .5"
    content = uai_format.from_tar(archive(files), "mar_pr")
    monkeypatch.setattr(store, "read", lambda name, sources: dict.fromkeys(sources, content))
    monkeypatch.setattr(store, "where", lambda name: store.Location(tmp_path, "PALMETTE_DATA"))
    (found,) = load_uai2014().instances.values()
    assert found.reference is None
    graph, constant = found.conditioned()
    assert np.exp(constant) == pytest.approx(2) and graph.unary[0] == -np.inf
    marginals, log10_z = found.published(graph)
    assert log10_z == 1.5 and marginals.tolist() == [0, 1, 0.2, 0.3, 0.5, 0.5, 0.5]
    with pytest.raises(ValueError, match="subset must be one of 'mar_pr', 'map', got 'pr'"):
        load_uai2014("pr")
    (tmp_path / "reference.json.xz").write_bytes(lzma.compress(b"{}"))
    with pytest.raises(DataFileError, match=r"reference.json.xz: wrong SHA-256"):
        load_uai2014()


QUICK = ["Grids_12.uai", "Pedigree_13.uai", "Promedus_16.uai", "Promedus_30.uai", "Segmentation_11.uai"]


@pytest.mark.data
@pytest.mark.parametrize("name", QUICK)
def test_published_sums_and_exact_values(name):
    instance = load_uai2014().instances[name]
    graph, constant = instance.conditioned()
    marginals, log10_z = instance.published(graph)
    found = answer(graph, "mar")
    value = (found.value + constant) / np.log(10)
    assert value == pytest.approx(log10_z, rel=1e-5)
    np.testing.assert_allclose(found.marginals, marginals, atol=1e-6)
    if instance.reference:
        assert value == pytest.approx(instance.reference["log10Z_exact"], rel=1e-8)
        best = answer(graph, "map")
        assert best.value + constant == pytest.approx(instance.reference["ln_map_exact"], rel=1e-9)
        assert graph.score(best.codes) == pytest.approx(best.value)


def test_answers_of_a_bayesian_network():
    rain = [0.8, 0.2]
    wet = [[0.9, 0.1], [0.3, 0.7]]
    text = "BAYES 2 2 2 2 1 0 2 0 1  2 0.8 0.2  4 0.9 0.1 0.3 0.7"
    graph = parse_network(text).graph
    assert isinstance(graph, FactorGraph) and answer(graph, "pr").value == pytest.approx(0.0, abs=1e-12)
    given_wet = answer(graph.conditioned({1: 1}), "mar").marginals[1]
    assert given_wet == pytest.approx(rain[1] * wet[1][1] / (rain[0] * wet[0][1] + rain[1] * wet[1][1]))
