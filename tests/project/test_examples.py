"""The guides and examples: their code runs, prints what they say, and names what the package has."""

from __future__ import annotations

import doctest
import io
import re
import runpy
import sys
import tempfile
from pathlib import Path

import pytest

from palmette import CRF, SSVM, Chain, Perceptron
from palmette.solvers.registry import HOME
from palmette.testing import CHECKS

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
GUIDES = sorted((ROOT / "docs").glob("*.md"))
RECORDS = sorted((ROOT / "docs" / "decisions").glob("0*.md"))
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
FENCE = re.compile(r"^```.*$", re.MULTILINE)
MOST_LINES = 60

# What each example must print, as regular expressions.
PRINTS = {
    "partial_annotation": [
        r"CRF +0\.9\d+ +0\.9\d+ +0\.9\d+",
        r"SSVM +0\.9",
        r"796 labels, 2,359 unknown; 6 sentences",
    ],
    "plot_grids": [
        r"pixels alone +[78]\d\.\d%",
        r"CRF on the grid +9\d\.\d%, proven gap \d",
        r"SSVM on the grid +9\d\.\d%, proven gap \d",
        r"figure: .*\.png",
    ],
    "plot_hierarchy": [
        r"flat, a third of the paths +0\.9\d+ +0\.5\d+ +0\.7\d+",
        r"paths, all +0\.99\d +0\.6\d+ +0\.8\d+",
        r"figure: .*\.png",
    ],
    "plot_ramp": [
        r"SSVM, hinge +8\d\.\d% +6\.\d\d +4\.\d\d +2\.\d\d",
        r"SSVM, ramp +8[6-9]\.\d% +1\d\.\d\d +2\.\d\d +2\.\d\d",
        r"figure: .*\.png",
    ],
    "plot_regression": [
        r"SORRCV  Dirac +[78]\d\.\d% words +[123]-grams, held-out score 0\.\d+, optimality \de-1\d",
        r"SOSCCV  Hamming +\d\d\.\d% words +[123]-grams, held-out score -?\d\.\d+, optimality \de-1\d",
        r"lengths off by 0\.\d\d letters",
        r"figure: .*\.png",
    ],
    "plot_chain_basics": [
        r"CRF\(Multiclass\(\)\) +\d+\.\d%",
        r"CRF\(Chain\(\)\) +\d+\.\d%",
        r"figure: .*\.png",
    ],
    "tagging_with_dicts": [
        r"l2 = 0\.1 +cross-validated accuracy 0\.\d+",
        r"test accuracy 0\.[89]",
        r"T\d T\d T\d",
    ],
    "bounds": [r"Theorem 6.1.* vacuous", r"20000 samples:(.*\n)*stability .* holds", "do not apply"],
    "choosing_penalties": [
        r"l2 = \S+ +0\.\d+ <- chosen",
        r"test accuracy: usual 0\.\d+, chosen 0\.\d+",
        r"unit 1 +chosen (\S+x) = \S+, test accuracy (0\.\d+)\n +unit 1000 +chosen \1 = \S+, test accuracy \2",
    ],
    "losses_and_solvers": [
        r"Hamming\(costs=\{0: 5\.0\}\)",
        r"CRF: all agree .*: True",
        r"SSVM: all agree .*: True",
    ],
    "evaluation_report": [
        r"token accuracy: \d+\.\d\d \[\d+\.\d\d, \d+\.\d\d\]",
        r"why 'w\d+' is T\d, not T\d:",
        r"[+-]\d+\.\d+  all \d+ terms",
        r"page: .*\.html",
    ],
    "crfsuite_drop_in": [
        r"weighted avg +0\.9",
        r"best F1 in cross-validation: 0\.[89]\d+, model of \d+ bytes",
        r"B-PER +-> I-PER +\d\.\d+",
        r"B-LOC +before:word:in +\d\.\d+",
    ],
    "clusters_and_significance": [r"words alone +F1 \d", r"gain \+\d+\.\d+ .* p = 0\.0001"],
    "segments": [
        r"chain of labels +F1 0\.\d\d",
        r"segments with the list +F1 0\.[6-9]\d",
        r"-> \[\(\d, \d, 'title'\)",
    ],
    "ranking": [
        r"hinge +NDCG@10 0\.197",
        r"ramp +NDCG@10 0\.[56]\d\d",
        r"no scores +NDCG@10 0\.197",
        r"ramp against hinge: \+3\d\.\d\d .* p = 0\.0001",
        "best first: docid = A, docid = C, docid = B",
    ],
    "rich_chains": [r"plain +17 +7\d\.\d% +9\d\.\d%", r"\+ second order +49 +\d\d\.\d% +100\.0%"],
    "structure_regularisation": [
        r"inf +0\.[67]\d\d +0\.[67]\d\d",
        r"chosen by cross-validation: size (\d+\.5|inf)",
        r"template w +\|w\| = +\d+\.[1-9]",
        r"template noise +\|w\| = +0\.00",
        r"together 0\.[78]",
    ],
    "columns_and_memory": [
        r"columns: \d+ features, accuracy 0\.[78]",
        r"streamed: \d+ columns, accuracy 0\.[78]",
        r"hashed: 256 columns, accuracy 0\.[78]",
        r"pruned: \d+ features, \d+ of them needed",
    ],
    "transfer": [
        r"Transfer +15% +200 +20 +8\d\.\d\d",
        r"against the same share alone: \+\d\.\d\d .* p = 0\.0005",
        r"target: 0\.9\d\d of the tags",
    ],
    "active_learning": [
        r"the journal has 500 answers",
        r"next: sentence \d+, token \d+: the best label leads the second best by only \d",
        r"tokens, (\d+)% asked: accuracy 0\.[89]\d\d\n",
        r"\d\.\d{3} \[0\.\d{3}, \d\.\d{3}\]",
        r"random sentences, \d+% asked: accuracy 0\.\d{3}",
    ],
    "plot_tracking": [
        r"\d+ detections, \d+ tracks",
        r"all links: +TRA (1\.0|0\.99)",
        r"half of them: TRA (1\.0|0\.99)",
        r"of our own: +TRA (1\.0|0\.9[89])",
        r"figure: .*lineage\.png",
    ],
    "plot_alignment": [
        r"score 80, identity 30\.9 %, probability 0\.00\d+",
        r"globin    VLSPADKTNV",
        r"next best scores: 77\.0 73\.0",
        r"by posteriors: \d+ matches, \d\d\.\d expected",
        r"crf from 20 pairs, on 10 others: recall 0\.9",
        r"ssvm from 20 pairs, on 10 others: recall 0\.9",
        r"figure: .*alignment\.png",
    ],
    "plot_folding": [
        r"highest score +[().]{76} +score +-?\d+\.\d+ +F1 (0\.[89]|1\.0)",
        r"\d+ structures within 1 of the best",
        r"acceptor stem open +\.{7}",
        r"with SHAPE reactivities .* F1 (0\.9|1\.0)",
        r"learnt from three hairpins: \.\.\(+\.{4}\)+\.\.",
        r"figure: .*folding\.png",
    ],
    "save_and_load": ["same weights: True", "same predictions: True", "refused: .*damaged"],
}


@pytest.fixture
def run_example(tmp_path, monkeypatch, capsys):
    """Runs an example as a script in an empty folder; returns what it printed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def run(path: Path, *arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", [str(path), *arguments])
        runpy.run_path(str(path), run_name="__main__")
        return capsys.readouterr().out

    return run


# ------------------------------------------------------------------------------------------- examples


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(path, run_example):
    printed = run_example(path)
    assert [text for text in PRINTS[path.stem] if not re.search(text, printed)] == [], printed


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_is_short_and_explained(path):
    text = path.read_text(encoding="utf-8")
    assert text.startswith('"""') and len(text.splitlines()) <= MOST_LINES


def test_chain_beats_classifier_and_draws_it(run_example, tmp_path):
    printed = run_example(ROOT / "examples" / "plot_chain_basics.py", str(tmp_path / "own.png"))
    single, chain = (float(error) for error in re.findall(r"\) +(\d+\.\d)%", printed))
    assert chain < single
    assert (tmp_path / "own.png").read_bytes().startswith(b"\x89PNG")


def test_example_without_matplotlib(run_example, monkeypatch):
    for module in ("matplotlib", "matplotlib.pyplot"):
        monkeypatch.setitem(sys.modules, module, None)
    assert "no figure: " in run_example(ROOT / "examples" / "plot_chain_basics.py")


# --------------------------------------------------------------------------------------------- guides


@pytest.mark.parametrize("path", GUIDES, ids=lambda path: path.stem)
def test_code_in_the_guide_runs(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # Without the fences, which would otherwise belong to the output expected above them.
    text = FENCE.sub("", path.read_text(encoding="utf-8"))
    test = doctest.DocTestParser().get_doctest(text, {"__name__": "__main__"}, path.name, str(path), 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    report = io.StringIO()
    outcome = runner.run(test, out=report.write)
    assert outcome.failed == 0, report.getvalue()
    assert outcome.attempted > 0 or not path.stem.startswith("guide")


@pytest.mark.parametrize(
    "path", [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *GUIDES, *RECORDS], ids=lambda path: path.stem
)
def test_links_lead_somewhere(path):
    wrong = []
    for link in re.findall(r"\]\((?!https?:)([^)\s]+)\)", FENCED.sub("", path.read_text(encoding="utf-8"))):
        name, _, anchor = link.partition("#")
        target = path.parent / name if name else path
        if not target.exists() or (anchor and anchor not in anchors(target)):
            wrong.append(link)
    assert wrong == []


def anchors(path: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", FENCED.sub("", path.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_records_of_decisions_are_dated_and_listed():
    index = (ROOT / "docs" / "decisions" / "README.md").read_text(encoding="utf-8")
    assert [path.stem[:4] for path in RECORDS] == [f"{number:04d}" for number in range(1, len(RECORDS) + 1)]
    for path in RECORDS:
        text = path.read_text(encoding="utf-8")
        title = re.match(
            rf"# {int(path.stem[:4])}\. (.+)\n\n\* Date: (\d{{4}}-\d\d-\d\d)\n\* Status: \w", text
        )
        assert title, f"{path.name} has no title, date and status"
        assert f"| [{path.stem[:4]}]({path.name}) | {title[2]} | {title[1]} |" in index
        assert all(f"**{field}.** " in text for field in ("Context", "Decision", "Why", "Consequences")), (
            path.name
        )


def test_index_lists_every_guide():
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert [path.name for path in GUIDES if path.stem != "index" and f"]({path.name})" not in index] == []


def test_guides_name_what_the_package_has():
    """A parameter, an answer or a solver that is added or renamed shows here."""
    parameters = {name for model in (CRF, SSVM, Perceptron) for name in model(Chain()).get_params(deep=False)}
    wanted = {
        "guide-learners": sorted(parameters - {"structure"}),
        "guide-structures": [f"{answer}(theta" for answer in CHECKS],
        "guide-solvers": [f'"{solver}"' for solver in HOME],
    }
    for guide, names in wanted.items():
        text = (ROOT / "docs" / f"{guide}.md").read_text(encoding="utf-8")
        assert [name for name in names if f"`{name}" not in text] == [], f"{guide}.md does not name these"
