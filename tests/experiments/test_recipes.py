"""Recipes: how they are found and run, what a report holds, and the ones of the repository."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path

import pytest

from palmette.recipes import Context, find_recipe, list_recipes, run_recipe

ROOT = Path(__file__).resolve().parents[2]

SUMS = '''"""Sums: how fast they grow.

Adds & compares <numbers>.
"""

def run(context):
    context.log("adding")
    n = 10 if context.quick else 1000
    context.add_table("Sums", ["n", "sum", "mean"], [[n, sum(range(n)), None]])
    context.add_figure("A line", lambda figure: figure.subplots().plot([1, 2]))
    context.add_target("sum", sum(range(n)), ">=", 100)
    context.add_note("a note")
'''


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A current folder with recipes of its own."""
    (tmp_path / "recipes").mkdir()
    (tmp_path / "recipes" / "sums.py").write_text(SUMS)
    (tmp_path / "recipes" / "_helper.py").write_text("raise RuntimeError")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "recipes"


# ---------------------------------------------------------------------------------------------- finding


def test_recipes_are_listed_without_importing_them(folder):
    (folder / "explodes.py").write_text('"""Never run."""\nraise RuntimeError')
    titles = {recipe.name: recipe.title for recipe in list_recipes()}
    assert titles["sums"] == "Sums: how fast they grow." and titles["explodes"] == "Never run."
    assert {"chunking", "ocr_letters"} <= set(titles) and "_helper" not in titles


def test_unknown_recipe(folder):
    with pytest.raises(ValueError, match=r"no recipe 'products'; there are: .*ocr_letters.*sums"):
        run_recipe("products")


def test_without_a_source_checkout(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("palmette.__file__", str(tmp_path / "site" / "palmette" / "__init__.py"))
    for ask in (list_recipes, lambda: run_recipe("sums")):
        with pytest.raises(
            ValueError, match=r"no recipes here: .*get its source code, .*experiments/recipes"
        ):
            ask()


def test_a_recipe_of_the_current_folder_needs_no_checkout(folder, monkeypatch):
    monkeypatch.setattr("palmette.__file__", str(folder / "site" / "palmette" / "__init__.py"))
    assert [recipe.name for recipe in list_recipes()] == ["sums"]
    assert run_recipe("sums", quick=True).tables


def test_names_have_underscores_and_are_found_with_hyphens(folder):
    names = [recipe.name for recipe in list_recipes()]
    assert {"noisy_multiclass", "ocr_m3n", "pos_brown"} <= set(names) and not any(
        "-" in name for name in names
    )
    assert find_recipe("pos-brown") == find_recipe("pos_brown")
    (folder / "my-own.py").write_text(SUMS)
    assert find_recipe("my_own") == find_recipe("my-own")


@pytest.mark.parametrize(
    "text, message",
    [("", r"does not define run\(context\)"), ("def run(context): pass", "neither a table nor a figure")],
)
def test_faulty_recipe(folder, text, message):
    (folder / "faulty.py").write_text(text)
    with pytest.raises(ValueError, match=f"faulty.py.*{message}"):
        run_recipe("faulty")


# ---------------------------------------------------------------------------------------------- reports


@pytest.mark.parametrize("quick, passed", [(True, False), (False, True)])
def test_report(folder, quick, passed):
    lines = []
    report = run_recipe("sums", quick=quick, log=lines.append)
    assert (report.passed, lines) == (passed, ["adding"])
    record = json.loads(json.dumps(report.to_dict()))
    assert set(record) == set(re.findall(r"^ +``(\w+)``", type(report).to_dict.__doc__, re.MULTILINE))
    assert record["targets"][0]["met"] is passed
    text = report.format()
    assert ("MISSED: sum >= 100" in text) is not passed and "a note" in text
    assert ("quick run" in text) is quick


def test_html_report_holds_everything(folder, tmp_path):
    report = run_recipe("sums")
    report.write_report(tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    (picture,) = re.findall(r'src="data:image/png;base64,([^"]+)"', page)
    assert base64.b64decode(picture) == report.figures[0].png
    assert "<td>499,500</td>" in page and 'class="met"' in page
    assert "Adds &amp; compares &lt;numbers&gt;." in page
    assert not re.search(r'(?:src|href)="(?!data:)', page)


def test_markdown_report_has_its_figures_beside_it(folder, tmp_path):
    report = run_recipe("sums")
    report.write_report(tmp_path / "r.md")
    text = (tmp_path / "r.md").read_text(encoding="utf-8")
    assert "| 1,000 | 499,500 |  |" in text and "![A line](r-1.png)" in text
    assert (tmp_path / "r-1.png").read_bytes() == report.figures[0].png


def test_without_matplotlib_a_note_stands_for_the_figure(folder, monkeypatch):
    monkeypatch.setattr("palmette.recipes.context.has_matplotlib", lambda: False)
    report = run_recipe("sums")
    assert not report.figures and any("pip install 'palmette[plot]'" in note for note in report.notes)


def test_rows_have_the_cells_of_the_header():
    with pytest.raises(ValueError, match="table 'T': row 1 has 1 cells, the header has 2"):
        Context().add_table("T", ["a", "b"], [[1, 2], [3]])


def test_nan_misses_every_target():
    context = Context()
    context.add_target("x", float("nan"), ">=", 0.0)
    assert not context.verdicts[0].met


# ------------------------------------------------------------------------------- those of the repository


@pytest.mark.parametrize(
    "path", sorted((ROOT / "experiments" / "recipes").glob("*.py")), ids=lambda path: path.stem
)
def test_recipe_is_short_and_explained(path):
    text = path.read_text(encoding="utf-8")
    assert text.startswith('"""') and len(text.splitlines()) <= 200


@pytest.mark.data
@pytest.mark.parametrize(
    "name", ["cheap_data", "chunking", "ocr_letters", "ohsumed", "protein_alignment", "rna"]
)
def test_quick_run_meets_its_targets(name):
    report = run_recipe(name, quick=True)
    assert report.verdicts and report.passed, report.format()
    assert report.tables and report.figures
