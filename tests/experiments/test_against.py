"""This commit against another one, in a repository made up here: a library whose work is a number."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
from pathlib import Path

import pytest

from experiments.harness import BenchmarkFailed, against, run_against
from experiments.harness.against import Line
from experiments.harness.runner import ROOT

TOY = '''"""Toy."""

from experiments.harness import Benchmark, Side

def ours(run, share):
    import palmette

    run.add_phase("compile", 9.0, 9.0)
    run.add_phase("work", 1.0, share * palmette.WORK)

def theirs(run):
    raise RuntimeError("peers do not run")

BENCHMARK = Benchmark("toy", __doc__, {
    "palmette": Side(lambda run: ours(run, 1.0), package="palmette"),
    "peer": Side(theirs, package="peer"),
    "palmette, half": Side(lambda run: ours(run, 0.5), package="palmette"),
}, "work")
'''

STUDY = '''"""Many."""

from experiments.harness import Study

def run(point):
    import palmette

    return {"seconds": palmette.WORK * point["n"], "search_seconds": 1.0, "error": 0.5}

BENCHMARK = Study("many", __doc__, [{"set": s, "n": n} for s in "ab" for n in (1, 2)], run, list,
                  line=lambda point: point["set"])
'''


def git(folder: Path, *arguments: str) -> str:
    who = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    done = subprocess.run(["git", "-C", folder, *who, *arguments], capture_output=True, text=True, check=True)
    return done.stdout


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """Two commits of a library with the real harness: WORK is 2 in the first, and 3 now."""
    root = tmp_path.resolve() / "repository"
    shutil.copytree(ROOT / "experiments" / "harness", root / "experiments" / "harness")
    (root / "experiments" / "__init__.py").write_text("")
    (root / "experiments" / "benchmarks").mkdir()
    (root / "experiments" / "benchmarks" / "toy.py").write_text(TOY)
    (root / "experiments" / "benchmarks" / "many.py").write_text(STUDY)
    (root / "src" / "palmette").mkdir(parents=True)
    library = root / "src" / "palmette" / "__init__.py"
    git(tmp_path, "init", "-q", str(root))
    for work in (2.0, 3.0):
        library.write_text(f"WORK = {work}\n")
        git(root, "add", "-A")
        git(root, "commit", "-qm", f"work {work}")
    monkeypatch.setattr(against, "ROOT", root)
    yield root
    assert len(git(root, "worktree", "list").splitlines()) == 1, "the other commit's worktree is gone"


def benchmark(root: Path, name: str = "toy") -> Path:
    return root / "experiments" / "benchmarks" / f"{name}.py"


def test_lines_of_both_commits(repository):
    lines = []
    report = run_against(benchmark(repository), "HEAD~1", repeat=2, log=lines.append)
    assert [(line.name, line.new, line.old) for line in report.lines] == [
        ("palmette: work", [3.0, 3.0], [2.0, 2.0]),
        ("palmette, half: work", [1.5, 1.5], [1.0, 1.0]),
    ]
    assert [(line.ratio, line.spread, line.within) for line in report.lines] == [(1.5, 1.0, False)] * 2
    assert not report.ok and report.revision == git(repository, "rev-parse", "HEAD~1")[:10]
    assert lines == [f"toy {turn}/2 {side}" for turn in (1, 2) for side in ("palmette", "palmette, half")]
    table = next(line.split() for line in report.format().splitlines() if line.startswith("palmette, half"))
    assert table[-5:] == ["1.500", "1.000", "1.500", "1.000", "SLOWER"]
    record = json.loads(json.dumps(report.to_dict()))
    assert record["against"] == report.revision and record["lines"][0]["ratio"] == 1.5


def test_a_commit_against_itself_and_a_choice_of_sides(repository):
    report = run_against(benchmark(repository), "HEAD", repeat=1, only=["half"])
    assert [(line.name, line.ratio, line.within) for line in report.lines] == [("work", 1.0, True)]
    assert report.ok and math.isnan(report.lines[0].spread)
    assert report.to_dict()["lines"][0]["spread"] is None
    with pytest.raises(
        ValueError, match="no side of palmette called third; there are: palmette; palmette, half"
    ):
        run_against(benchmark(repository), "HEAD", only=["third"])


def test_uncommitted_changes_are_measured(repository):
    (repository / "src" / "palmette" / "__init__.py").write_text("WORK = 1.0\n")
    report = run_against(benchmark(repository), "HEAD", repeat=1, only=["half"])
    assert report.lines[0].ratio == pytest.approx(1 / 3)


def test_points_of_a_study_are_summed_by_line(repository):
    report = run_against(benchmark(repository, "many"), "HEAD~1", repeat=1)
    assert {line.name: (line.new, line.old) for line in report.lines} == {
        "a": ([9.0], [6.0]), "a, search": ([2.0], [2.0]), "b": ([9.0], [6.0]), "b, search": ([2.0], [2.0]),
    }  # fmt: skip
    only = run_against(benchmark(repository, "many"), "HEAD~1", repeat=1, only=["b", "2"])
    assert [line.name for line in only.lines] == ["b", "b, search"] and only.lines[0].new == [6.0]


@pytest.mark.parametrize("before", [False, True], ids=["experiments", "benchmarks"])
def test_the_other_commit_s_own_file_stands_in(repository, before):
    """The library calls WORK another name now, so that today's file does not run on yesterday's library."""
    if before:  # files as they were when the harness was a part of the package
        git(repository, "mv", "experiments/benchmarks", "benchmarks")
        git(repository, "commit", "-qm", "old place")
        benchmark(repository).parent.mkdir()
    benchmark(repository).write_text(TOY.replace("palmette.WORK", "palmette.EFFORT"))
    (repository / "src" / "palmette" / "__init__.py").write_text("EFFORT = 6.0\n")
    lines = []
    report = run_against(benchmark(repository), "HEAD", repeat=1, only=["half"], log=lines.append)
    assert report.lines[0].ratio == 2.0
    assert "has no attribute 'EFFORT'): its own file is taken" in lines[0]


def test_what_cannot_be_compared(repository):
    with pytest.raises(ValueError, match="no commit 'nonsense'"):
        run_against(benchmark(repository), "nonsense")
    with pytest.raises(ValueError, match="repeat must be at least 1, got 0"):
        run_against(benchmark(repository), "HEAD", repeat=0)
    (repository / "src" / "palmette" / "__init__.py").write_text("")
    with pytest.raises(BenchmarkFailed, match="has no attribute 'WORK'"):
        run_against(benchmark(repository), "HEAD")


@pytest.mark.parametrize(
    ("new", "old", "within"),
    [
        ([1.04], [1.0], True),
        ([1.06], [1.0], False),
        ([1.06, 2.0], [1.0, 1.1], True),
        ([1.2], [1.1, 1.0, 1.0], False),
        ([0.5], [1.0, 1.0], True),
        ([1.0], [0.0], True),
    ],
)
def test_slower_is_more_than_the_spread_of_the_other_commit(new, old, within):
    assert Line("fit", new, old).within is within
