"""The benchmark harness, on benchmark files made up here."""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
import tomllib

import pytest

from experiments.harness import (
    Benchmark,
    BenchmarkFailed,
    Report,
    Run,
    Side,
    Target,
    benchmark_names,
    find_benchmark,
    load_benchmark,
    load_declared,
    run_benchmark,
    run_suite,
)
from experiments.harness.compare import compare
from experiments.harness.measure import Measurement, Phase, peak_memory_mb
from experiments.harness.runner import ROOT, child_environment
from palmette.cli import main
from palmette.recipes.machine import machine, versions

HEADER = '''
"""Two ways to spend time.

A longer description.
"""
import os
import sys
import time

from experiments.harness import Benchmark, Side, Target


def quick(run):
    print("noise that must not reach the result")
    os.write(1, b"noise below Python")
    with run.phase("compile"):
        marker = os.path.join(os.environ["NUMBA_CACHE_DIR"], "compiled")
        if not os.path.exists(marker):
            time.sleep(0.05)
            open(marker, "w").close()
    with run.phase("work"):
        sum(range(1000))
    run.sizes["numbers"] = 1000
    run.figures["answer"] = 42.0
    run.figures["threads"] = os.environ["OMP_NUM_THREADS"]


def slow(run):
    run.add_phase("work", wall=30.0, cpu=20.0)
    ballast = bytearray(64 * 2**20)
    run.sizes["numbers"] = 1000
    run.figures["answer"] = 42
'''

DECLARATION = """
BENCHMARK = Benchmark(
    name="tiny",
    doc=__doc__,
    main_phase="work",
    sides={"ours": Side(quick, imports=("json",)), "theirs": Side(slow, package="pytest")},
    targets=[Target("work wall ratio", "<=", 0.5), Target("answer relative difference", "<=", 0.0)],
)
"""


@pytest.fixture
def bench_file(tmp_path, monkeypatch):
    """Write ``benchmarks/tiny.py`` into an empty folder, make it the current one, return the path."""

    def write(*parts: str):
        path = tmp_path / "benchmarks" / "tiny.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(HEADER + "\n".join(parts or [DECLARATION]))
        return path

    monkeypatch.chdir(tmp_path)
    return write


def measurement(wall=1.0, sizes=None, figures=None, peak_mb=100.0, **phases):
    return Measurement(
        {"work": Phase(wall, wall), **phases}, sizes or {}, figures or {}, peak_mb=peak_mb, import_mb=10.0
    )


def report(ours, theirs, targets=()):
    benchmark = Benchmark(
        "made_up", "Title", {"ours": Side(print), "theirs": Side(print)}, "work", targets=targets
    )
    return Report(benchmark, {"ours": tuple(ours), "theirs": tuple(theirs)}, {}, machine(), {})


# -------------------------------------------------------------------------------------------- whole runs


def test_run_benchmark(bench_file):
    lines = []
    outcome = run_benchmark(bench_file(), repeat=2, log=lines.append)

    assert outcome.ok
    assert [line.split(":")[0] for line in lines] == [
        "tiny 1/2 ours",
        "tiny 1/2 theirs",
        "tiny 2/2 ours",
        "tiny 2/2 theirs",
    ]
    first, second = outcome.runs["ours"]
    assert second.phases["compile"].wall < 0.05 <= first.phases["compile"].wall
    assert outcome.best["ours"].phases["compile"] == first.phases["compile"], "the cold time is shown"
    ours, theirs = outcome.best["ours"], outcome.best["theirs"]
    assert theirs.peak_mb - theirs.import_mb > 60 > ours.peak_mb - ours.import_mb
    assert ours.figures["threads"] == "1"
    assert outcome.sizes == {"numbers": 1000}


def test_json_has_the_documented_keys(bench_file):
    bench_file()
    suite = run_suite(["tiny"], repeat=1)
    record = json.loads(json.dumps(suite.to_dict(), allow_nan=False))
    assert set(record) == {"ok", "benchmarks"} and record["ok"] is True

    record = record["benchmarks"]["tiny"]
    documented = "benchmark title ok repeat sizes sides ratios targets versions machine environment".split()
    assert list(record) == documented
    assert all(f"``{key}``" in Report.to_dict.__doc__ for key in documented)
    assert record["title"] == "Two ways to spend time."
    assert set(record["sides"]["ours"]) == {"phases", "figures", "peak_mb", "import_mb", "runs"}
    assert set(record["sides"]["ours"]["runs"][0]) == {"phases", "sizes", "figures", "peak_mb", "import_mb"}
    assert set(record["sides"]["ours"]["phases"]["work"]) == {"wall", "cpu"}
    assert record["sides"]["theirs"]["phases"] == {"work": {"wall": 30.0, "cpu": 20.0}}
    assert set(record["ratios"]) == {"theirs"}
    metrics = {"work wall ratio", "work cpu ratio", "peak memory ratio", "answer ratio", "answer difference"}
    assert metrics <= set(record["ratios"]["theirs"])
    assert set(record["targets"][0]) == {"metric", "op", "bound", "peer", "value", "met"}
    assert set(record["machine"]) == {"cpu", "cores", "platform"}
    assert {"python", "palmette", "numpy", "numba", "pytest"} <= set(record["versions"])
    assert record["environment"]["OMP_NUM_THREADS"] == "1"


def test_a_crashing_side_shows_the_end_of_its_output(bench_file):
    crash = "def slow(run):\n    print('about to fall')\n    raise RuntimeError('out of luck')\n"
    path = bench_file(crash, DECLARATION)
    message = r"(?s)side 'theirs' of benchmark 'tiny' failed with exit code 1.*about to fall.*out of luck"
    with pytest.raises(BenchmarkFailed, match=message):
        run_benchmark(path, repeat=1)


def test_sides_must_do_the_same_work(bench_file):
    other = "def slow(run):\n    run.add_phase('work', 1.0, 1.0)\n    run.sizes['numbers'] = 999\n"
    with pytest.raises(BenchmarkFailed, match=r"not do the same work: 'ours' .*1000.*, 'theirs' .*999"):
        run_benchmark(bench_file(other, DECLARATION), repeat=1)


def test_the_main_phase_must_be_recorded(bench_file):
    other = "def slow(run):\n    run.add_phase('rest', 1.0, 1.0)\n"
    with pytest.raises(BenchmarkFailed, match=r"'theirs' .* not record the main phase 'work'.*\['rest'\]"):
        run_benchmark(bench_file(other, DECLARATION), repeat=1)


def test_a_missing_peer_is_found_before_any_run(bench_file):
    declaration = DECLARATION.replace('imports=("json",)', 'imports=("no_such_library.part",)')
    message = r"'tiny' cannot run: 'ours' needs no_such_library\.part.*pip install 'palmette\[peers\]'"
    path = bench_file(declaration)
    with pytest.raises(ModuleNotFoundError, match=message):
        run_benchmark(path, log=lambda line: pytest.fail(line))
    with pytest.raises(ModuleNotFoundError, match=message):
        run_suite(["tiny"], log=lambda line: pytest.fail(line))


def test_the_child_prints_json_alone(bench_file):
    command = [sys.executable, "-m", "experiments.harness.child", str(bench_file()), "theirs"]
    done = subprocess.run(
        command, capture_output=True, text=True, env=child_environment({}, [ROOT]), check=True
    )
    assert Measurement.from_dict(json.loads(done.stdout)).phases == {"work": Phase(30.0, 20.0)}


# ------------------------------------------------------------------------------------- files and bad input


def test_unknown_name(bench_file):
    bench_file()
    assert "tiny" in benchmark_names()
    assert find_benchmark("tiny").name == "tiny.py"
    with pytest.raises(ValueError, match=r"no benchmark 'nonsense'; there are: .*tiny"):
        run_suite(["tiny", "nonsense"], log=lambda line: pytest.fail(line))


def test_without_a_source_checkout(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("palmette.__file__", str(tmp_path / "site" / "palmette" / "__init__.py"))
    for ask in (benchmark_names, lambda: find_benchmark("crf_chunking")):
        with pytest.raises(
            ValueError, match=r"no benchmarks here: .*get its source code, .*experiments/benchmarks"
        ):
            ask()
    for arguments in (["bench"], ["bench", "crf_chunking"]):
        assert main(arguments) == 2
        out, err = capsys.readouterr()
        assert out == "" and err.count("\n") == 1 and "experiments/benchmarks" in err


def test_an_installed_package_has_no_experiments(tmp_path):
    """What the wheel packs, alone in a folder: the commands say in one line where experiments are."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        (packed,) = tomllib.load(file)["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    shutil.copytree(
        ROOT / packed, tmp_path / "site" / "palmette", ignore=shutil.ignore_patterns("__pycache__")
    )
    env = os.environ | {"PYTHONPATH": str(tmp_path / "site")}
    for command in ("bench", "recipe"):
        call = [sys.executable, "-m", "palmette", command]
        done = subprocess.run(call, cwd=tmp_path, env=env, capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (2, "") and done.stderr.count("\n") == 1
        assert "experiments/" in done.stderr and "not part of the installed package" in done.stderr


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("BENCHMARK", "SOMETHING", r"tiny\.py does not define BENCHMARK"),
        ('"tiny"', '"huge"', r"declares the name 'huge'; it must be that of the file"),
        ('"work wall ratio", "<="', '"work wall ratio", "<"', r"'work wall ratio': op must be '<=' or '>='"),
        ("0.5)", "0.5, peer='x')", r"names the peer 'x'; the peers are \['theirs'\]"),
        ('"theirs"', '"ours"', r"'tiny' needs our side and at least one peer, got \['ours'\]"),
    ],
)
def test_faulty_files(bench_file, old, new, message):
    assert old in DECLARATION
    with pytest.raises(ValueError, match=message):
        load_benchmark(bench_file(DECLARATION.replace(old, new)))


def test_bad_arguments(bench_file, tmp_path):
    with pytest.raises(ValueError, match="repeat must be at least 1, got 0"):
        run_benchmark(bench_file(), repeat=0)
    with pytest.raises(ValueError, match=r"no benchmark file .*absent\.py"):
        run_benchmark(tmp_path / "absent.py")


def test_figures_must_be_numbers_or_strings():
    with pytest.raises(TypeError, match=r"figure 'table' must be a number or a string, got \[1\]"):
        measurement(figures={"table": [1]}).to_dict()


def test_our_own_benchmarks_load():
    for name in benchmark_names():
        benchmark = load_declared(find_benchmark(name))
        assert benchmark.title
        if isinstance(benchmark, Benchmark):
            assert benchmark.ours == "palmette" and benchmark.targets


# ---------------------------------------------------------------------------------- metrics and verdicts


def test_best_run_is_the_fastest_in_the_main_phase():
    cold, warm = Phase(9.0, 9.0), Phase(0.1, 0.1)
    runs = [measurement(3.0, compile=cold), measurement(1.0, compile=warm), measurement(2.0, compile=warm)]
    best = report(runs, [measurement(5.0), measurement(4.0)]).best
    assert best["ours"].phases == {"work": Phase(1.0, 1.0), "compile": cold}
    assert best["theirs"].phases["work"].wall == 4.0


def test_metrics():
    ours = measurement(1.0, figures={"loss": 9.0, "count": 0, "text": "a", "mine": 1}, peak_mb=50.0)
    theirs = measurement(4.0, figures={"loss": 10.0, "count": 0, "text": "b"})
    metrics = compare(ours, theirs)
    assert metrics["work wall ratio"] == metrics["work cpu ratio"] == 0.25
    assert metrics["peak memory ratio"] == 0.5
    assert metrics["loss difference"] == -1.0 and metrics["loss relative difference"] == 0.1
    assert math.isnan(metrics["count ratio"]) and metrics["count relative difference"] == 0.0
    assert not any("text" in name or "mine" in name for name in metrics)


def test_a_missed_target():
    runs = [measurement(2.0, figures={"score": 0.9})], [measurement(1.0, figures={"score": 0.0})]
    outcome = report(
        *runs,
        targets=[
            Target("work wall ratio", "<=", 0.5),
            Target("score", ">=", 0.8),
            Target("score ratio", ">=", 1.0, peer="theirs"),
        ],
    )
    assert [verdict.met for verdict in outcome.verdicts] == [False, True, False]
    assert not outcome.ok
    assert "MISSED: work wall ratio <= 0.5 (theirs): 2" in outcome.format()
    assert "met: score >= 0.8 (theirs): 0.9" in outcome.markdown()
    assert outcome.to_dict()["targets"][2]["value"] is None, "a ratio to zero does not exist"


def test_a_target_on_an_unknown_metric():
    with pytest.raises(ValueError, match=r"target 'train wall ratio' is not a metric .*work wall ratio"):
        report([measurement()], [measurement()], targets=[Target("train wall ratio", "<=", 1.0)])


def test_text_and_markdown():
    ours = measurement(1.0, sizes={"tokens": 211727}, figures={"score": 0.5, "model": "a"}, extra=Phase(1, 2))
    outcome = report([ours], [measurement(2.0, sizes={"tokens": 211727}, figures={"score": 1.0})])
    text, markdown = outcome.format(), outcome.markdown()
    assert "sizes: 211,727 tokens" in text
    table = {line.rpartition("  ")[0].split("  ")[0]: line.split() for line in text.splitlines()}
    assert table["work wall s"][-3:] == ["1.00", "2.00", "0.5"]
    assert table["extra wall s"][-1] == "1.00", "no ratio where the peer has no such phase"
    assert "| work wall s | 1.00 | 2.00 | 0.5 |" in markdown
    assert "| model | a |  |  |" in markdown


def test_three_sides_have_two_ratios():
    benchmark = Benchmark("made_up", "Title", {name: Side(print) for name in ("ours", "one", "two")}, "work")
    runs = {"ours": (measurement(1.0),), "one": (measurement(2.0),), "two": (measurement(4.0),)}
    outcome = Report(benchmark, runs, {}, machine(), {})
    assert "ratio to one" in outcome.format() and "ratio to two" in outcome.format()
    assert "| work wall s | 1.00 | 2.00 | 4.00 | 0.5 | 0.25 |" in outcome.markdown()


# ---------------------------------------------------------------------------------------------- measuring


def test_phases_add_up():
    run = Run()
    run.add_phase("train", 1.0, 2.0)
    with run.phase("train"):
        pass
    run.add_phase("train", 0.5, 0.5)
    assert run.phases["train"].wall >= 1.5 and run.phases["train"].cpu >= 2.5


def test_peak_memory_sees_an_allocation():
    before = peak_memory_mb()
    block = bytearray(int(before + 50) * 2**20)  # more than was ever resident
    assert peak_memory_mb() >= before + 40
    del block


def test_versions_leave_out_what_is_not_installed():
    found = versions(["pytest", None, "no-such-distribution"])
    assert "pytest" in found and "no-such-distribution" not in found
