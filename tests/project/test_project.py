"""The project itself: what an import costs, what the repository says, and the rules of the test run."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import palmette

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "palmette"
MODULES = sorted(PACKAGE.rglob("*.py"))
LINE_LIMIT = 450


def python(*arguments: str, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a fresh interpreter with the given variables changed; an empty value unsets one."""
    env = {name: value for name, value in (os.environ | environment).items() if value}
    return subprocess.run([sys.executable, *arguments], cwd=cwd, env=env, capture_output=True, text=True)


def repository_files() -> list[Path]:
    """Files that git tracks or would add."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    try:
        listing = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    except (FileNotFoundError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    return [path for name in listing.splitlines() if (path := ROOT / name).is_file()]


# ------------------------------------------------------------------------------------------ the package


def test_import_is_light():
    heavy = ("numba", "matplotlib", "dask")
    result = python("-c", f"import sys, palmette; print([m for m in {heavy!r} if m in sys.modules])")
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() == "[]", "import these inside functions or lazily loaded modules"


def test_every_folder_of_the_package_is_a_package():
    folders = {path.parent for path in MODULES}
    assert [str(f.relative_to(ROOT)) for f in sorted(folders) if not (f / "__init__.py").is_file()] == []


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_modules_are_short(path):
    n_lines = len(path.read_text(encoding="utf-8").splitlines())
    assert n_lines <= LINE_LIMIT, f"{path.name} has {n_lines} lines; split it by purpose"


def test_version_is_the_same_everywhere():
    installed = importlib.metadata.version("palmette")
    assert installed == palmette.__version__, "the installed version is stale: pip install -e . again"
    headings = re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    released = re.fullmatch(r"\d+\.\d+\.\d+", palmette.__version__)
    assert headings[0] == "Unreleased"
    assert not released or palmette.__version__ in headings


# --------------------------------------------------------------------------------------- the repository


def test_repository_names_no_place_of_one_machine():
    # Spelled in pieces, so that this file passes its own test.
    homes = "|".join(["home", "root", "Users", "wo" + "rk"])
    place = re.compile(rf"(?<![\w.]){'/'}(?:{homes})/|" + re.escape("../" + "shared"))
    found = []
    for path in repository_files():
        name = path.relative_to(ROOT).as_posix()
        if name == ".ci/run":  # the one file that may name the data folder
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        found += [
            f"{name}:{n}: {line.strip()[:80]}"
            for n, line in enumerate(text.splitlines(), 1)
            if place.search(line)
        ]
    assert found == []


def test_nothing_has_the_name_of_before():
    # The project was renamed before its first release: another package has the old name.
    old = "rami" + "fy"
    found = []
    for path in repository_files():
        name = path.relative_to(ROOT).as_posix()
        if name == "CHANGELOG.md":  # it says what was renamed
            continue
        text = name + "\n" + path.read_text(encoding="utf-8", errors="replace")
        found += [f"{name}:{n}" for n, line in enumerate(text.splitlines()) if old in line.lower()]
    assert found == []


def test_readme_says_first_how_to_install():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert headings[0] == "Install"
    with (ROOT / "pyproject.toml").open("rb") as file:
        extras = tomllib.load(file)["project"]["optional-dependencies"]
    named = {name for group in re.findall(r"\[([a-z,]+)\]\"", text) for name in group.split(",")}
    assert named <= set(extras), "README names an extra that does not exist"
    assert {"plot", "peers"} <= named


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_python_code_in_the_documents_runs(name, tmp_path, monkeypatch):
    text = (ROOT / name).read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": name}
    for block in re.finditer(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        above = "\n" * text[: block.start(1)].count("\n")  # errors then name the line of the document
        exec(compile(above + block[1], name, "exec", dont_inherit=True), namespace)


# ------------------------------------------------------------------------------ the rules of the test run

SAMPLE_TESTS = """
import os
import pytest
from palmette.errors import DatasetUnavailable

def test_plain():
    pass

@pytest.mark.data
def test_with_data():
    pass

@pytest.mark.data
def test_absent_set():
    raise DatasetUnavailable("set 'owls' is nowhere")

def test_skipped_for_another_reason():
    pytest.skip("no reason")

def test_compiles(tmp_path):
    import numba

    inner = numba.njit(lambda x: x + 1)
    outer = numba.njit(lambda x: inner(x) * 2)
    assert outer(1) == 4
"""


@pytest.mark.parametrize("mark", ["warm", "nojit"])
def test_marked_tests_are_where_make_runs_them(mark):
    folders = re.search(rf"-m {mark} (.+)", (ROOT / "Makefile").read_text(encoding="utf-8"))[1].split()
    tests = (ROOT / "tests").rglob("test_*.py")
    marked = [path for path in tests if f"mark.{mark}" in path.read_text(encoding="utf-8")]
    assert marked
    assert [path for path in marked if not any(path.is_relative_to(ROOT / each) for each in folders)] == []


@pytest.fixture
def sample_suite(tmp_path):
    """A folder with this suite's conftest and a few tests; returns a function that runs them."""
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path)
    (tmp_path / "test_sample.py").write_text(SAMPLE_TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    data: needs data\n")

    def run(*arguments: str, **environment: str) -> str:
        quiet = ("-q", "-rs", "-p", "no:cacheprovider")
        return python("-m", "pytest", *quiet, *arguments, cwd=tmp_path, **environment).stdout

    return run


def test_data_tests_are_skipped_without_data(sample_suite):
    output = sample_suite(PALMETTE_DATA="", PALMETTE_REQUIRE_DATA="", NUMBA_DISABLE_JIT="")
    assert "2 passed, 3 skipped" in output
    assert "set PALMETTE_DATA to a folder of data sets" in output
    assert "tests on real data that did not run: 2" in output
    check_compile_time(output)


def test_an_absent_set_is_a_skip(sample_suite, tmp_path):
    output = sample_suite("-k", "not compiles", PALMETTE_DATA=str(tmp_path), PALMETTE_REQUIRE_DATA="")
    assert "2 passed, 2 skipped" in output
    assert "set 'owls' is nowhere" in output
    assert "tests on real data that did not run: 1" in output
    assert "numba compile: 0.0 s in 0 functions" in output


def test_a_skipped_data_test_fails_where_data_is_required(sample_suite):
    output = sample_suite("-k", "not compiles", PALMETTE_DATA="", PALMETTE_REQUIRE_DATA="1")
    assert "1 passed, 1 skipped" in output and "2 errors" in output
    assert "this test on real data did not run" in output


def check_compile_time(output):
    seconds, functions = re.search(r"numba compile: ([\d.]+) s in (\d+) functions", output).groups()
    assert float(seconds) > 0
    assert functions == "1", "the inner function lies inside the outer one"


def test_compile_time_is_summed_over_workers(sample_suite):
    output = sample_suite("-n", "2", PALMETTE_DATA="", PALMETTE_REQUIRE_DATA="", NUMBA_DISABLE_JIT="")
    check_compile_time(output)
    assert "tests on real data that did not run: 2" in output
