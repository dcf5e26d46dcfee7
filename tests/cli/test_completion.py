"""What a shell is told when it completes, and the list of data sets."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from palmette.cli import main
from palmette.datasets import list_datasets


@pytest.mark.parametrize(
    "line, expected",
    [
        ("palmette tr", {"train", "track"}),
        ("palmette data fetch webkb", {"webkb-cmu", "webkb-linqs"}),
        ("palmette train --task ra", {"ranking"}),
        ("palmette train --task ranking --algorithm p", {"plackett-luce"}),
        ("palmette train --task ranking --rad", {"--radius"}),
        ("palmette infer --task m", {"map", "mar"}),
    ],
)
def test_a_shell_is_told_what_fits(capsys, monkeypatch, line, expected):
    assert set(completions(capsys, monkeypatch, line)) == expected


def test_recipes_and_benchmarks_of_the_current_folder(capsys, monkeypatch, tmp_path):
    for folder in ("recipes", "benchmarks"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "mine_own.py").write_text('"""Mine."""')
    monkeypatch.chdir(tmp_path)
    assert completions(capsys, monkeypatch, "palmette recipe mine") == ["mine_own"]
    assert completions(capsys, monkeypatch, "palmette bench mine") == ["mine_own"]


def test_nothing_is_offered_where_there_are_no_recipes(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("palmette.recipes.files.checkout", lambda: None)
    assert completions(capsys, monkeypatch, "palmette recipe ") == []
    assert main(["recipe"]) == 2 and "get its source code" in capsys.readouterr().err
    assert main(["bench"]) == 2 and "get the source code of palmette" in capsys.readouterr().err


def completions(capsys, monkeypatch, line: str) -> list[str]:
    with monkeypatch.context() as shell:
        shell.setenv("_PALMETTE_COMPLETE", "complete_bash")
        shell.setenv("COMP_WORDS", line)
        shell.setenv("COMP_CWORD", str(len(line.split(" ")) - 1))
        assert main([]) == 0
    return capsys.readouterr().out.split()


def test_completion_is_light():
    code = (
        "import os, sys; from palmette.cli import main; "
        "os.environ |= dict(_PALMETTE_COMPLETE='complete_bash', COMP_WORDS='palmette data fetch ', COMP_CWORD='3'); "
        "main([]); print([m for m in ('numba', 'sklearn', 'scipy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "conll2000" in done.stdout and done.stdout.splitlines()[-1] == "[]"


def test_data_alone_lists(capsys, monkeypatch, tmp_path):
    monkeypatch.delenv("PALMETTE_DATA", raising=False)
    monkeypatch.setenv("PALMETTE_CACHE", str(tmp_path))
    assert main(["data", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["datasets"]
    assert list(found) == [dataset.name for dataset in list_datasets()]
    assert all(each["task"] and not each["present"] and each["bytes"] > 0 for each in found.values())
    assert main(["data"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["name", "task", "MB", "present", "content"] and len(lines) == len(found) + 1
    assert main(["data", "--json", "where"]) == 2
    assert "--json stands behind the command" in capsys.readouterr().err
