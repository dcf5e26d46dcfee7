"""Studies: what is stored, what is run again, what is summarised; and the study of structure regularisation."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.utils import Bunch

from experiments.benchmarks import structreg
from experiments.harness import Study, StudyTable, load_benchmark, load_declared, run_study
from experiments.harness.store import RunStore
from experiments.harness.study import default_store
from palmette import CRF, Chain, Perceptron
from palmette.cli import main
from palmette.datasets import make_tagging
from palmette.metrics import Tally, compare, tally_accuracy
from palmette.regularizers import Decomposition
from palmette.solvers import Stochastic

FILE = Path(structreg.__file__)


# ---------------------------------------------------------------------------------------------- the store


def test_a_store_gives_back_what_it_was_given(tmp_path):
    store = RunStore(tmp_path / "deep" / "runs.jsonl")
    assert store.read() == []
    records = [{"set": "Wörter", "size": size, "counts": [1, 2], "rate": None} for size in (1.5, "none")]
    for record in records:
        store.append(record)
    assert store.read() == records
    assert len(store.path.read_text(encoding="utf-8").splitlines()) == 2


def test_a_half_written_run_does_not_count_and_does_no_harm(tmp_path):
    store = RunStore(tmp_path / "runs.jsonl")
    store.append({"n": 1})
    with open(store.path, "a") as file:
        file.write('{"n": 2, "counts": [1,')
    with pytest.warns(UserWarning, match=r"runs.jsonl:2: no record of a run"):
        assert store.read() == [{"n": 1}]
    store.append({"n": 3})
    with pytest.warns(UserWarning, match="half written"):
        assert store.read() == [{"n": 1}, {"n": 3}]


def test_a_store_refuses_what_it_could_not_give_back(tmp_path):
    store = RunStore(tmp_path / "runs.jsonl")
    with pytest.raises(ValueError, match="JSON"):
        store.append({"objective": float("nan")})
    assert not store.path.exists()
    with pytest.raises(IsADirectoryError, match="name a file in it"):
        RunStore(tmp_path)


def test_many_writers_share_a_store(tmp_path):
    counts = list(range(3000))

    def write(writer):
        for k in range(20):
            RunStore(tmp_path / "runs.jsonl").append({"writer": writer, "k": k, "counts": counts})

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    records = RunStore(tmp_path / "runs.jsonl").read()
    assert sorted((r["writer"], r["k"]) for r in records) == [(w, k) for w in range(4) for k in range(20)]
    assert all(r["counts"] == counts for r in records)


# ---------------------------------------------------------------------------------------------- studies


class Powers:
    """A study that notes its runs; with ``fails`` it breaks off at that point."""

    def __init__(self, fails=None, setup="a"):
        self.made, self.fails = [], fails
        points = [{"base": b, "exponent": e, "setup": setup} for b in (2, 3) for e in (1, 2.5, "none")]
        self.study = Study("powers", "Powers.\n\nMore.", points, self.run, self.summarise, self.draw)

    def run(self, point):
        if (point["base"], point["exponent"]) == self.fails:
            raise KeyboardInterrupt
        self.made.append((point["base"], point["exponent"]))
        return {
            "power": 1.0 if point["exponent"] == "none" else point["base"] ** point["exponent"],
            "counts": [1],
        }

    @staticmethod
    def summarise(records):
        rows = [[f"{r['base']}^{r['exponent']}", f"{r['power']:g}"] for r in records]
        return [StudyTable("Powers", ["", "power"], rows)]

    @staticmethod
    def draw(figure, records):
        figure.subplots().plot([record["power"] for record in records])


def test_a_study_goes_on_where_it_was_broken_off(tmp_path):
    out, lines = tmp_path / "runs.jsonl", []
    broken = Powers(fails=(2, "none"))
    with pytest.raises(KeyboardInterrupt):
        run_study(broken.study, out=out)
    again = Powers()
    report = run_study(again.study, out=out, log=lines.append)
    assert broken.made == [(2, 1), (2, 2.5)]
    assert again.made == [(2, "none"), (3, 1), (3, 2.5), (3, "none")]
    assert [line.split(":")[0] for line in lines][:2] == ["powers 3/6 2 none a", "powers 4/6 3 1 a"]
    assert "power 1" in lines[0] and "counts" not in lines[0]
    assert [r["power"] for r in report.records] == [2, 2**2.5, 1, 3, 3**2.5, 1], "in the order of the points"
    last = Powers()
    run_study(last.study, out=out)
    assert last.made == []


def test_a_study_may_miss_targets(tmp_path):
    def missed(records):
        return [f"{len(records)} of 6 runs"] if len(records) < 6 else []

    study = replace(Powers().study, missed=missed)
    report = run_study(study, out=tmp_path / "runs.jsonl", only=["3"])
    assert not report.ok and "MISSED: 3 of 6 runs" in report.format()
    assert report.to_dict()["missed"] == ["3 of 6 runs"] and not report.to_dict()["ok"]
    assert run_study(study, out=tmp_path / "runs.jsonl").ok
    assert run_study(Powers().study, out=tmp_path / "runs.jsonl").ok


def test_processes_share_a_study_by_parts(tmp_path):
    out = tmp_path / "runs.jsonl"
    first, second = Powers(), Powers()
    run_study(first.study, out=out, only=["3"])
    report = run_study(second.study, out=out, only=["2", "none", "1"])
    assert first.made == [(3, 1), (3, 2.5), (3, "none")]
    assert second.made == [(2, 1), (2, "none")]
    assert report.to_dict()["runs"] == 5 and report.to_dict()["missing"] == 1
    assert [r["base"] for r in report.records] == [2, 2, 3, 3, 3]


def test_runs_with_other_settings_do_not_count(tmp_path):
    out = tmp_path / "runs.jsonl"
    run_study(Powers(setup="old").study, out=out)
    new = Powers(setup="new")
    assert run_study(new.study, out=out, run=False).records == []
    run_study(new.study, out=out)
    assert len(new.made) == 6


def test_only_names_values_that_exist():
    study = Powers().study
    assert len(study.select([])) == 6
    assert [p["exponent"] for p in study.select(["3", "2.5", "none"])] == [2.5, "none"]
    with pytest.raises(ValueError, match=r"no run with '7'. It has base: 2, 3; exponent: 1, 2.5, none"):
        study.select(["7"])


def test_a_report_is_text_and_curves(tmp_path, monkeypatch):
    monkeypatch.setenv("PALMETTE_CACHE", str(tmp_path))
    report = run_study(Powers().study)
    assert report.path == default_store("powers") == tmp_path / "bench" / "powers.jsonl"
    assert "| 2^none | 1 |" in report.format() and "6 of 6 runs" in report.format()
    assert report.markdown().startswith("## powers\n\nPowers.\n\nMore.\n\n**Powers**")
    assert report.to_dict()["tables"]["Powers"][0] == {"": "2^1", "power": "2"}
    report.plot(tmp_path / "curves.png")
    assert (tmp_path / "curves.png").read_bytes()[1:4] == b"PNG"
    with pytest.raises(ValueError, match=r"written as .png, .svg or .pdf"):
        report.plot(tmp_path / "curves.txt")
    with pytest.raises(FileNotFoundError, match="absent"):
        report.plot(tmp_path / "absent" / "curves.png")


STUDY = '''"""Counting."""

from experiments.harness import Study, StudyTable

def summarise(records):
    return [StudyTable("Counts", ["", "count"], [[str(r["n"]), str(r["count"])] for r in records])]

BENCHMARK = Study("counting", __doc__, [{"n": n} for n in range(3)], lambda p: {"count": p["n"]}, summarise)
'''
COMPARISON = '''"""Two."""
from experiments.harness import Benchmark, Side
BENCHMARK = Benchmark("two", __doc__, {"a": Side(print), "b": Side(print)}, "work")
'''


@pytest.fixture
def bench(tmp_path, monkeypatch, capsys):
    """``palmette bench`` in a folder with a study and a comparison: exit code, standard output, standard error."""
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks" / "counting.py").write_text(STUDY)
    (tmp_path / "benchmarks" / "two.py").write_text(COMPARISON)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PALMETTE_CACHE", str(tmp_path / "cache"))

    def run(*arguments):
        capsys.readouterr()
        code = main(["bench", *arguments])
        return code, *capsys.readouterr()

    return run


def test_bench_runs_a_study(bench, tmp_path):
    code, out, err = bench("counting", "--only", "1,2", "--out", "runs.jsonl", "--json")
    record = json.loads(out)["benchmarks"]["counting"]
    assert (code, record["runs"], record["missing"], record["title"]) == (0, 2, 1, "Counting.")
    assert "counting 2/2 2" in err
    code, out, _ = bench("counting", "--no-run", "--out", "runs.jsonl")
    assert (code, "| 2 | 2 |" in out, "| 0 |" in out) == (0, True, False)
    assert json.loads(bench("--json")[1])["available"]["counting"] == "Counting."
    assert bench("counting")[0] == 0 and (tmp_path / "cache" / "bench" / "counting.jsonl").is_file()


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["counting", "--only", "7"], "no run with '7'"),
        (["counting", "--plot", "a.png"], "has no curves to draw"),
        (["two", "--plot", "a.png"], "--plot draws the curves of one study, got two"),
        (["two", "--only", "a"], "'two' is not a study"),
        (["counting", "--out", "."], "it is a folder"),
    ],
)
def test_bench_refuses_in_one_line(bench, tmp_path, arguments, message):
    code, out, err = bench(*arguments)
    assert (code, out) == (2, "") and message in err and "Traceback" not in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["benchmarks"]


def test_a_study_is_no_comparison():
    assert isinstance(load_declared(FILE), Study)
    with pytest.raises(ValueError, match="declares a study"):
        load_benchmark(FILE)


# ------------------------------------------------------------------------------- structure regularisation


def test_structreg_has_the_runs_it_should_have():
    points = structreg.BENCHMARK.points
    assert len({tuple(point.values()) for point in points}) == len(points)
    for data in ("conll2000", "jnlpba", "ud-ewt", "cws-pd199801", "hapt"):
        runs = structreg.BENCHMARK.select([data, "nodes", "equal-epochs"])
        grid = {(p["learner"], p["size"], p["seed"]) for p in runs}
        sizes = (1.5, 2.5, 3.5, 5.5, 10.5, 15.5, 20.5, "none")
        assert grid == {(k, s, i) for k in ("crf", "perceptron") for s in sizes for i in (0, 1, 2)}
    for data in ("brown", "masc", "ptb-sample", "cws-udc"):
        runs = structreg.BENCHMARK.select([data])
        assert {(p["learner"], p["size"], p["seed"]) for p in runs} == {
            (k, s, 0) for k in ("crf", "perceptron") for s in (5.5, "none")
        }
    stops = structreg.BENCHMARK.select(["stopping-rule", "0"])
    assert {p["data"] for p in stops} == {"conll2000", "cws-pd199801", "hapt"}
    together = [(p["data"], p["features"]) for p in points]
    changes = sum(a != b for a, b in zip(together, together[1:]))
    assert changes == len(set(together)) - 1, "each data set is encoded once"


def test_structreg_is_light_to_import():
    load = f"from experiments.harness import load_declared; load_declared({str(FILE)!r})"
    code = f"import sys; {load}; print('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=FILE.parents[2], capture_output=True, text=True)
    assert done.stdout.strip() == "False", done.stderr


def test_pieces_that_are_never_cut_are_no_regularisation():
    X, Y = make_tagging(60, 4, 30, random_state=0)

    def solver():
        return Stochastic(rate=0.3, tol=0.0, max_iter=3)

    none = Decomposition(structreg.WHOLE)
    with pytest.warns(UserWarning, match="stopped after 3 epochs"):
        cut = CRF(Chain(), l2=0.5, solver=solver(), regularizer=none).fit(X, Y)
        plain = CRF(Chain(), l2=0.5, solver=solver()).fit(X, Y)
    np.testing.assert_allclose(cut.coef_, plain.coef_, atol=1e-6)
    cut, plain = (Perceptron(Chain(), max_iter=3, regularizer=each).fit(X, Y) for each in (none, None))
    np.testing.assert_allclose(cut.coef_, plain.coef_, atol=1e-6)


def fake(size, seed, right, **more):
    """A run on 40 test sentences of five labels, of which ``right`` are right in each, and on development data."""
    true, found = [["A"] * 5] * 40, [["A"] * right + ["B"] * (5 - right)] * 40
    test = tally_accuracy(true, found)
    point = {"data": "toy", "features": "nodes", "protocol": "equal-epochs", "learner": "crf"}
    outcome = {
        "dev": 0.5,
        "test": test.score,
        "seconds": 2.0,
        "epochs": 12,
        "objective": 7.0,
        "score": test.name,
    }
    counts = {"numerator": test.numerator.tolist(), "denominator": test.denominator.tolist()}
    return {**point, "size": size, "seed": seed, **outcome, **counts, **more}


def table(tables, beginning):
    (found,) = [t for t in tables if t.title.startswith(beginning)]
    return [dict(zip(found.header, row)) for row in found.rows]


def test_structreg_summary():
    records = [fake(5.5, 0, 4, dev=0.9), fake(5.5, 1, 5, dev=0.8, seconds=4.0), fake(1.5, 0, 2, dev=0.1)]
    records += [fake("none", seed, 3, dev=0.7, seconds=1.0) for seed in (0, 1)]
    tables = structreg.summarise(json.loads(json.dumps(records)))
    (test,) = table(tables, "Test score %")
    assert (test["curve"], test["5.5"], test["none"]) == ("toy crf", "90.00 ± 14.14", "60.00 ± 0.00")
    assert (test["1.5"], test["20.5"]) == ("40.00", "")
    (gain,) = table(tables, "Test score, difference")
    assert gain["5.5"] == f"+30.00 ({1 / 2001:.2g})" and gain["none"] == ""
    assert gain["1.5"].startswith("-20.00"), "with the seed that both have"
    (seconds,) = table(tables, "CPU seconds")
    assert (seconds["5.5"], seconds["none"]) == ("3 (3.00)", "1")
    (chosen,) = table(tables, "The size chosen")
    assert (chosen["best on dev"], chosen["test %"], chosen["test % of none"]) == (
        "5.5",
        "90.00 ± 14.14",
        "60.00 ± 0.00",
    )


def test_structreg_chooses_no_cuts_on_a_tie():
    tables = structreg.summarise([fake(5.5, 0, 5), fake("none", 0, 3)])
    (chosen,) = table(tables, "The size chosen")
    assert (chosen["best on dev"], chosen["difference (p)"]) == ("none", "")


def test_structreg_significance_is_that_of_the_pooled_predictions(rng):
    def one(size, seed):
        right = rng.integers(0, 6, 40)
        return fake(size, seed, 5, numerator=right.tolist(), denominator=[5] * 40, test=right.mean() / 5)

    runs, whole = ([one(size, seed) for seed in (0, 1)] for size in (5.5, "none"))

    def pool(side):
        return Tally("accuracy", np.sum([r["numerator"] for r in side], axis=0), np.full(40, 10))

    expected = compare(pool(runs), pool(whole), n_resamples=structreg.RESAMPLES)
    assert structreg.compared(runs, whole) == expected
    assert structreg.compared(runs[:1], whole[1:]) is None, "no seed in common"


def test_structreg_summary_of_parts():
    tables = structreg.summarise([fake(5.5, 0, 4, objective=None)])
    (gain,) = table(tables, "Test score, difference")
    (objective,) = table(tables, "Objective")
    assert (gain["5.5"], objective["5.5"]) == ("", "")


def test_structreg_curves(tmp_path):
    from matplotlib.figure import Figure

    sizes = (1.5, 5.5, 20.5, "none")
    records = [
        fake(size, seed, 4, learner=learner)
        for size in sizes
        for seed in (0, 1)
        for learner in structreg.EPOCHS
    ]
    records += [
        fake(size, 0, 3, data="other", protocol="stopping-rule", rate=0.1, tuning_seconds=1.0)
        for size in sizes
    ]
    records += [fake(5.5, 0, 3, data="small")]
    figure = Figure()
    structreg.draw(figure, records)
    shown = [ax.get_title() for ax in figure.axes if ax.axison]
    assert shown == ["toy, crf", "toy, perceptron", "other, crf stopping-rule"] * 2
    assert table(structreg.summarise(records), "Tuned rate")[0]["5.5"] == "0.1 (1)"
    with pytest.raises(ValueError, match="no curve to draw yet"):
        structreg.draw(Figure(), records[-1:])


@pytest.mark.parametrize(
    "protocol, features", [("equal-epochs", "nodes"), ("equal-epochs", "edges"), ("stopping-rule", "nodes")]
)
def test_structreg_run(monkeypatch, tmp_path, protocol, features):
    X, Y = make_tagging(300, 4, 30, random_state=0)
    data = [[(token["w"],) for token in x] for x in X]
    parts = {"fit": slice(200), "dev": slice(200, 250), "test": slice(250, 300)}

    def load(part):
        return Bunch(data=data[parts[part]], target=Y[parts[part]])

    import palmette.datasets

    monkeypatch.setattr(palmette.datasets, "load_toy", load, raising=False)
    toy = structreg.Task("load_toy", "tally_accuracy", ("%x[0,0]", "%x[-1,0]"), 0.5, 0.3, ("%x[0,0]",))
    monkeypatch.setitem(structreg.TASKS, "toy", toy)
    point = {"data": "toy", "features": features, "protocol": protocol, "learner": "crf", "seed": 0}
    outcomes = {size: structreg.run({**point, "size": size}) for size in (2.5, "none")}
    for outcome in outcomes.values():
        RunStore(tmp_path / "runs.jsonl").append(outcome)
        assert 0.5 < outcome["test"] <= 1 and outcome["seconds"] > 0
        assert outcome["test"] == sum(outcome["numerator"]) / sum(outcome["denominator"])
        assert (outcome["epochs"] == 12) == (protocol == "equal-epochs") and ("rate" in outcome) == (
            protocol != "equal-epochs"
        )
    assert outcomes[2.5]["objective"] != outcomes["none"]["objective"]
    structreg.prepared.cache_clear()
