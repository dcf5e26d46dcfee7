"""The command line: what it prints, what it refuses, and its exit codes."""

from __future__ import annotations

import errno
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

import palmette
from palmette.apps.dates import DemoReport
from palmette.apps.tagging.learners import SOLVERS
from palmette.cli import main
from palmette.cli.summary import above_optimum
from palmette.datasets import make_tagging
from palmette.estimators.crf import FEW_WEIGHTS
from palmette.structures.chain.loops.dual_state import DualState

DOCUMENTATION = (Path(__file__).resolve().parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
TEMPLATE = "U0:%x[0,0]\nU1:%x[-1,0]\nB\n"


def column_lines(first: int, last: int) -> str:
    """Some of 80 simulated sentences in three columns, with chunk labels."""
    X, Y = make_tagging(80, 2, 30, random_state=0)
    chunk = {"T0": "B-NP", "T1": "I-NP"}
    sentences = []
    for x, y in zip(X[first:last], Y[first:last]):
        sentences.append("".join(f"{t['w']} {t['w'][-1]} {chunk[tag]}\n" for t, tag in zip(x, y)))
    return "\n".join(sentences)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Training data, test data, a template and a model, made once."""
    folder = tmp_path_factory.mktemp("cli")
    (folder / "train.txt").write_text(column_lines(0, 60))
    (folder / "test.txt").write_text("# source = simulated\n" + column_lines(60, 80))
    (folder / "template").write_text(TEMPLATE)
    train, model, template = (f"{folder}/{name}" for name in ("train.txt", "model", "template"))
    assert main(["train", train, "--model", model, "--template", template]) == 0
    return folder


def assert_documented(command: str, record: dict) -> None:
    """Every key is named in the section of the command."""
    section = re.search(rf"^## {command}\n(.*?)(?=^## |\Z)", DOCUMENTATION, re.MULTILINE | re.DOTALL)[1]
    missing = [key for key in record if f"`{key}`" not in section]
    assert missing == [], f"docs/cli.md, section {command}, does not name these keys"


# ------------------------------------------------------------------------------------------------- start


@pytest.mark.parametrize("arguments", [["--help"], ["predict", "--help"], ["data", "where", "--help"]])
def test_help_is_light(arguments):
    code = (
        f"import sys; from palmette.cli import main; assert main({arguments!r}) == 0; "
        "print([m for m in ('numba', 'sklearn', 'scipy', 'numpy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Usage: palmette" in done.stdout
    assert done.stdout.splitlines()[-1] == "[]", "import these inside the commands"


def test_version_and_bare_call(run):
    assert run("--version") == (0, f"palmette {palmette.__version__}\n", "")
    code, out, _ = run()
    assert code == 0 and "train" in out


def test_module_is_the_command():
    done = subprocess.run([sys.executable, "-m", "palmette", "--version"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, f"palmette {palmette.__version__}\n")


# ------------------------------------------------------------------------------------------------- train


def test_train_tells_what_it_did(run, folder):
    command = ["train", "train.txt", "--model", "m", "--dev", "test.txt", "--template", "template", "--json"]
    code, out, err = run(*command, "--l2", 0.5, "--jobs", 1)
    record = json.loads(out)
    assert code == 0
    assert_documented("train", record)
    assert set(record) == {
        "task", "algorithm", "model", "model_bytes", "sentences", "tokens", "labels", "features", "weights",
        "nonzero_weights", "cut_size", "iterations", "objective", "gap", "converged", "reason", "seconds", "dev",
        "l2", "tuning", "models",
    }  # fmt: skip
    assert (record["sentences"], record["labels"], record["converged"]) == (60, 2, True)
    assert record["model_bytes"] == (folder / "m").stat().st_size
    phases = ["import", "read", "features", "encode", "solve", "evaluate", "save", "total"]
    assert list(record["seconds"]) == phases
    assert_documented("train", record["seconds"])
    assert record["dev"]["accuracy"] > 0.8
    assert "reading train.txt" in err


@pytest.mark.parametrize("algorithm", ["ssvm", "perceptron"])
def test_train_in_words(run, algorithm):
    command = ["train", "train.txt", "train.txt", "--model", "m", "--template", "template"]
    code, out, _ = run(*command, "--algorithm", algorithm, "--tol", 0.05, "--dev", "test.txt")
    assert code == 0
    assert re.search(r"^data +120 sentences", out, re.MULTILINE)
    assert re.search(r"^held out +accuracy \d+\.\d\d%, chunk F1 ", out, re.MULTILINE)


def test_same_seed_same_model(run, folder):
    for name in ("a", "b"):
        command = ["train", "train.txt", "--template", "template", "--algorithm", "perceptron", "--seed", 7]
        assert run(*command, "--model", name)[0] == 0
    assert json.loads(run("inspect", "a", "--json")[1]) == json.loads(run("inspect", "b", "--json")[1])


def test_a_model_without_a_name_is_called_after_the_data(run, folder):
    code, out, _ = run("train", "train.txt", "--template", "template", "--json", "--tol", 0.5)
    assert (
        code == 0 and json.loads(out)["model"] == "train.palmette" and (folder / "train.palmette").is_file()
    )
    code, _, err = run("train", folder / "train.txt", "--template", "template")
    assert code == 2 and "train.palmette is there already; give --model train.palmette to replace it" in err


def test_train_from_standard_input(run, folder):
    stdin = (folder / "train.txt").read_text()
    code, out, _ = run("train", "-", "--model", "m", "--tol", 0.1, "--json", stdin=stdin)
    assert (code, json.loads(out)["sentences"]) == (0, 60)


def test_train_with_every_option_of_features_and_labels(run, folder):
    command = ["train", "train.txt", "--model", "m", "--template", "template", "--tol", 0.1, "--json"]
    plain = json.loads(run(*command)[1])
    code, out, err = run(*command, "--encoding", "iobes", "--invalid", "repair", "--min-count", 3, "--prune")
    record = json.loads(out)
    assert code == 0, err
    assert record["features"] < plain["features"] and record["labels"] > plain["labels"]
    assert set(run("predict", "--model", "m", "test.txt")[1].split()) & {"S-NP", "E-NP"} == set()
    code, out, _ = run(*command, "--hash", 50)
    assert (code, json.loads(out)["features"]) == (0, 50)
    assert run("predict", "--model", "m", "test.txt")[0] == run("inspect", "m")[0] == 0
    code, out, err = run(*command, "--clusters", "64")
    assert code == 2 and re.search(r"train.txt: cannot learn .* different words occur at least 3 times", err)
    assert "min_count" not in err, "--min-count is another thing"
    code, _, err = run(*command, "--encoding", "iobes")
    assert code == 2 and re.search(r"train.txt:\d+: .*'I-NP' .* is not valid in IOB2.*--invalid repair", err)


def test_train_on_one_label_has_an_objective_of_zero(run, folder):
    (folder / "same.txt").write_text("a X\nb X\n\na X\n")
    for options in ([], ["--json"]):
        code, out, err = run("train", "same.txt", "--model", "m", "--template", "template", *options)
        assert code == 0, err
    assert json.loads(out)["objective"] == 0.0
    out = run("train", "same.txt", "--model", "m", "--template", "template")[1]
    assert re.search(r"^objective +0, at most 0 above the optimum$", out, re.MULTILINE)


def test_train_in_words_never_promises_less_than_nothing():
    assert above_optimum(-1e-16, 2.0) == ", at most 0 (0.0e+00 of it) above the optimum"
    assert above_optimum(float("nan"), 2.0) == ""


def test_train_with_every_option_of_structure_and_penalties(run, folder):
    (folder / "spans.txt").write_text("a X B-NP\nb Y I-NP\nc Z O\n\nb Y B-NP\nc Z O\n\na X B-NP\n")
    command = ["train", "spans.txt", "--model", "m", "--template", "template", "--json"]
    code, out, err = run(*command, "--order", 2, "--constrained", "--cut-size", 1.5, "--max-iter", 3)
    assert (code, json.loads(out)["cut_size"]) == (0, 1.5), err
    record = json.loads(run("inspect", "m", "--json")[1])
    assert record["settings"] == {
        "structure": "Chain(allowed='IOB2', order=2)", "regularizer": "[Decomposition(size=1.5)]", "max_iter": "3",
    }  # fmt: skip
    assert record["cut_size"] == 1.5 and record["transitions"]["positive"]
    text = run("inspect", "m")[1]
    assert "Chain(allowed='IOB2', order=2)" in text and re.search(r"^cut size +1.5$", text, re.MULTILINE)
    code, out, err = run(*command, "--group-lasso", 0.1, "--group-by", "attribute", "--solver", "proximal")
    assert (code, json.loads(out)["cut_size"]) == (0, None), err
    settings = json.loads(run("inspect", "m", "--json")[1])["settings"]
    assert settings["regularizer"] == "[GroupLasso(by='attribute', weight=0.1)]"


@pytest.mark.parametrize(
    "options, message",
    [
        (["--order", "3"], "the order of a chain must be 1 or 2, got 3"),
        (
            ["--order", "2", "--constrained", "--solver", "dual"],
            "solver='dual' does not support constrained chains of second order",
        ),
        (["--cut-size", "0.5"], "--cut-size takes a number of at least 1, or auto, got '0.5'"),
        (["--cut-size", "all"], "--cut-size takes a number of at least 1, or auto, got 'all'"),
        (["--cut-size", "2", "--solver", "lbfgs"], "or use stochastic or proximal"),
        (["--cut-size", "2", "--algorithm", "perceptron", "--solver", "arow"], "or use perceptron"),
        (["--group-lasso", "-1"], "GroupLasso: weight must be a finite number >= 0, got -1.0"),
        (["--group-lasso", "1", "--algorithm", "ssvm"], "SSVM does not support a GroupLasso"),
        (["--group-lasso", "1", "--solver", "dual"], "or use proximal"),
        (["--group-lasso", "1", "--hash", "9"], "group by attribute (--group-by attribute)"),
        (["--group-by", "attribute"], "give --group-lasso WEIGHT too"),
        (["--clusters", "4,x"], "--clusters takes numbers such as 64,256, got '4,x'"),
        (["--clusters", "0"], "--clusters takes numbers such as 64,256, got '0'"),
        (
            ["--template", "pairs", "--hash", "9"],
            "pairs: lines such as B01:%x[0,0] and n_hash=9 (--hash) exclude",
        ),
        (
            ["--template", "alone", "--constrained"],
            "alone: labels that are constrained need label transitions",
        ),
    ],
)
def test_options_of_train_are_refused_before_the_data_is_read(run, folder, options, message):
    (folder / "pairs").write_text("U0:%x[0,0]\nB01:%x[0,0]\n")
    (folder / "alone").write_text("U0:%x[0,0]\n")
    code, out, err = run("train", "train.txt", "--model", "refused", *options)
    assert (code, out, "reading" in err) == (2, "", False), err
    assert message in err


# ----------------------------------------------------------------------------------------------- predict


def test_predict_adds_a_column_and_keeps_the_rest(run, folder):
    code, out, err = run("predict", "--model", "model", "test.txt")
    assert (code, err) == (0, "")
    given = (folder / "test.txt").read_text().splitlines()
    for before, after in zip(given, out.splitlines(), strict=True):
        if before and not before.startswith("# source ="):
            assert re.fullmatch(re.escape(before) + " [BI]-NP", after)
        else:
            assert before == after


def test_predict_without_labels_and_from_standard_input(run, folder):
    with_labels = run("predict", "--model", "model", "test.txt")[1]
    bare = re.sub(r" [BI]-NP$", "", (folder / "test.txt").read_text(), flags=re.MULTILINE)
    for arguments in (["predict", "--model", "model"], ["predict", "--model", "model", "-"]):
        code, out, _ = run(*arguments, stdin=bare)
        assert code == 0
        assert re.findall(r"\S+$", out, re.MULTILINE) == re.findall(r"\S+$", with_labels, re.MULTILINE)


def test_predict_to_a_file(run, folder):
    expected = run("predict", "--model", "model", "test.txt")[1]
    assert run("predict", "--model", "model", "test.txt", "--output", "out.txt") == (0, "", "")
    assert (folder / "out.txt").read_text() == expected


def test_predict_keeps_line_ends_and_letters(run, folder):
    (folder / "dos.txt").write_bytes("Größe x\r\n\r\nw1 y\r\n".encode())
    assert run("predict", "--model", "model", "dos.txt", "--output", "out.txt")[0] == 0
    assert re.fullmatch("Größe x .-NP\r\n\r\nw1 y .-NP\r\n", (folder / "out.txt").read_bytes().decode())


def test_predict_empty_input(run):
    assert run("predict", "--model", "model", stdin="") == (0, "", "")
    assert run("predict", "--model", "model", "--nbest", 2, stdin="\n") == (0, "", "")


def test_predict_marginals(run):
    plain = run("predict", "--model", "model", "test.txt")[1]
    code, out, _ = run("predict", "--model", "model", "--marginals", "test.txt")
    assert code == 0
    assert re.sub(r" \d\.\d{6}$", "", out, flags=re.MULTILINE) == plain
    probabilities = [float(p) for p in re.findall(r" (\d\.\d{6})$", out, re.MULTILINE)]
    assert len(probabilities) == plain.count("-NP\n") and all(0 < p <= 1 for p in probabilities)


def test_predict_nbest(run, folder):
    plain = run("predict", "--model", "model", "test.txt")[1]
    code, out, _ = run("predict", "--model", "model", "--nbest", 3, "test.txt")
    assert code == 0
    blocks = [block.split("\n") for block in out.strip("\n").split("\n\n")]
    headers = [re.fullmatch(r"# nbest = (\d) score = (-?\d+\.\d{6})", block[0]) for block in blocks]
    assert all(headers)
    best = [block[1:] for block, header in zip(blocks, headers) if header[1] == "1"]
    assert [line for block in best for line in block] == [line for line in plain.split("\n") if line]
    for this, following in zip(headers, headers[1:]):
        if following[1] != "1":
            assert int(following[1]) == int(this[1]) + 1 and float(following[2]) <= float(this[2])
    # what was written can be read again: the headers are comments
    (folder / "nbest.txt").write_text(out)
    assert json.loads(run("evaluate", "nbest.txt", "--json")[1])["sentences"] == len(blocks)


def test_a_filter_streams_and_survives_a_closed_pipe(folder, tmp_path):
    (tmp_path / "long.txt").write_text("\n".join([(folder / "test.txt").read_text()] * 200))
    command = f'"{sys.executable}" -m palmette predict --model model < "{tmp_path}/long.txt" | head -n 2'
    shell = ["bash", "-o", "pipefail", "-c", command]
    done = subprocess.run(shell, cwd=folder, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (141, "")
    assert len(done.stdout.splitlines()) == 2


# ---------------------------------------------------------------------------------------------- evaluate


def test_evaluate_with_a_model_is_evaluate_of_its_output(run, folder):
    code, out, _ = run("evaluate", "--model", "model", "test.txt", "--json")
    record = json.loads(out)
    assert code == 0
    assert_documented("evaluate", record)
    assert_documented("evaluate", record["chunks"]["overall"])
    tagged = run("predict", "--model", "model", "test.txt")[1]
    assert json.loads(run("evaluate", "-", "--json", stdin=tagged)[1]) == record
    text = run("evaluate", "-", stdin=tagged)[1]
    assert f"accuracy: {100 * record['accuracy']:6.2f}%" in text and "FB1" in text


def test_evaluate_labels_that_are_no_chunks(run):
    code, out, _ = run("evaluate", "-", stdin="a X X\nb Y X\n")
    assert (code, out.splitlines()[0]) == (0, "accuracy:  50.00% (1 of 2 tokens)")


def test_evaluate_another_true_column(run):
    _, out, _ = run("evaluate", "-", "--label-column", 0, "--json", stdin="X a X\nY b Y\n")
    assert json.loads(out)["accuracy"] == 1.0


# ----------------------------------------------------------------------------------------------- inspect


def test_inspect(run):
    code, out, _ = run("inspect", "model", "--top", 3, "--json")
    record = json.loads(out)
    assert code == 0
    assert_documented("inspect", record)
    assert set(record) == {
        "class", "structure", "settings", "cut_size", "labels", "feature_kind", "n_features", "n_weights",
        "n_nonzero_weights", "objective", "gap", "iterations", "converged", "reason", "task", "n_columns",
        "label_column", "separator", "template", "scale", "reading", "measurements", "window", "events", "decode",
        "gamma", "min_hairpin", "pairs_allowed", "about", "alphabet", "long_gaps", "free_ends", "features",
        "nodes", "levels",
        "weights", "transitions", "edge_features",
    }  # fmt: skip
    assert (record["class"], record["labels"], record["template"]) == ("CRF", ["B-NP", "I-NP"], TEMPLATE)
    model = palmette.load("model")
    strongest = record["weights"]["positive"]
    assert strongest[0]["weight"] == max(model.coef_[model.scorer_.blocks["node"]])
    assert [w["weight"] for w in strongest] == sorted((w["weight"] for w in strongest), reverse=True)
    assert strongest[0].keys() == {"feature", "label", "weight"}
    assert record["transitions"]["negative"][0]["weight"] == model.transitions_.min()
    text = run("inspect", "model")[1]
    assert "strongest positive weights" in text and "U1:%x[-1,0]" in text


def test_against_takes_the_labels_that_the_model_learnt(run, folder):
    (folder / "spans.txt").write_text("a X B-NP\nb Y I-NP\nc Z O\n\nb Y B-NP\nc Z O\n")
    command = ["train", "spans.txt", "--model", "m", "--template", "template", "--tol", 0.1]
    assert run(*command, "--encoding", "iobes")[0] == 0
    code, _, err = run("inspect", "m", "--why", "spans.txt:1", "--against", "I-NP")
    assert code == 2 and "the model learnt spans in IOBES (the files have IOB2)" in err and "E-NP" in err
    assert run("inspect", "m", "--why", "spans.txt:1", "--against", "E-NP")[0] == 0


def test_inspect_other_models(run):
    palmette.CRF(palmette.Multiclass()).fit([[0.0, 1.0], [1.0, 0.0]], [0, 1]).save("other")
    record = json.loads(run("inspect", "other", "--json")[1])
    assert (record["task"], record["labels"], record["feature_kind"]) == (None, ["0", "1"], "dense")
    assert record["transitions"] == {"positive": [], "negative": []}
    assert "column 0" in run("inspect", "other")[1]


# -------------------------------------------------------------------------------- bench, recipe, demo, warmup

BENCHMARK = '''"""Counting."""

from experiments.harness import Benchmark, Side, Target

def count(run):
    with run.phase("count"):
        run.figures["total"] = 1

BENCHMARK = Benchmark("counting", __doc__, {"ours": Side(count), "peer": Side(count)}, "count",
                      [Target("total ratio", "<=", BOUND)])
'''


@pytest.mark.parametrize("bound, expected", [("1.0", 0), ("0.5", 1)])
def test_bench_fails_with_its_target(run, tmp_path, monkeypatch, bound, expected):
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks" / "counting.py").write_text(BENCHMARK.replace("BOUND", bound))
    monkeypatch.chdir(tmp_path)
    code, out, err = run("bench", "counting", "--repeat", 1, "--json")
    record = json.loads(out)
    assert (code, record["ok"]) == (expected, expected == 0)
    assert_documented("bench", record)
    assert "counting 1/1 ours" in err
    listed = json.loads(run("bench", "--json")[1])
    assert_documented("bench", listed)
    assert listed["available"]["counting"] == "Counting."


def test_bench_that_crashes(run, tmp_path, monkeypatch):
    (tmp_path / "benchmarks").mkdir()
    crash = BENCHMARK.replace("BOUND", "1.0").replace('    with run.phase("count"):\n', "    if 1 / 0:\n")
    (tmp_path / "benchmarks" / "counting.py").write_text(crash)
    monkeypatch.chdir(tmp_path)
    code, out, err = run("bench", "counting", "--repeat", 1)
    assert (code, out) == (1, "")
    assert "error: side 'ours' of benchmark 'counting' failed" in err and "ZeroDivisionError" in err


RECIPE = '''"""Works."""

def run(context):
    context.log(f"quick={context.quick}")
    context.add_table("Errors", ["learner", "error"], [["CRF", 0.25]])
    context.add_target("error", 0.25, "<=", BOUND)
'''


@pytest.fixture
def recipes(folder):
    """Two recipes: one that meets its target and one that does not."""
    (folder / "recipes").mkdir(exist_ok=True)
    for name, bound in (("good", "0.3"), ("bad", "0.2")):
        (folder / "recipes" / f"{name}.py").write_text(RECIPE.replace("BOUND", bound))


def test_recipe(run, folder, recipes):
    code, out, err = run("recipe", "good", "--quick", "--report", "report.md")
    assert code == 0
    assert "0.25" in out and "quick=True" in err
    assert "0.25" in (folder / "report.md").read_text()
    code, out, _ = run("recipe", "good", "bad", "--json")
    record = json.loads(out)
    assert (code, record["ok"], list(record["recipes"])) == (1, False, ["good", "bad"])
    assert_documented("recipe", record)
    listed = json.loads(run("recipe", "--json")[1])
    assert listed["available"]["good"] == "Works."
    assert_documented("recipe", listed)


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["absent"], "no recipe 'absent'; there are: "),
        (["good", "bad", "--report", "r.md"], "--report takes the report of one recipe, but 2 were named"),
        (["good", "--report", "no/r.md"], "cannot write the report to no/r.md"),
    ],
)
def test_recipe_with_bad_input(run, recipes, arguments, message):
    code, out, err = run("recipe", *arguments)
    assert (code, out) == (2, "") and message in err


def test_demo(run, monkeypatch):
    def run_demo(output_dir, *, seed, log):
        log("reading dates")
        reading = SimpleNamespace(name="CRF", to_dict=lambda: {"digit_error": 0.01})
        return SimpleNamespace(
            to_dict=lambda: DemoReport((reading,), {}, seed, 1.0, Path(output_dir) / "dates.png").to_dict(),
            format=lambda: "the table",
        )

    monkeypatch.setattr("palmette.apps.dates.run_demo", run_demo)
    assert run("demo") == (0, "the table\n", "reading dates\n")
    code, out, _ = run("demo", "--output", "figures", "--seed", 3, "--json")
    record = json.loads(out)
    assert (code, record["seed"], record["figure"]) == (0, 3, str(Path("figures") / "dates.png"))
    assert_documented("demo", record)


# What a process that was warmed up has loaded, and what it compiles when data is larger than that of the warmup.
WARMED = """
import importlib, io, json, re, sys
from itertools import chain
from pathlib import Path
import palmette
from numba.core import event
from palmette import CRF, Chain
from palmette.apps.tracking import Tracker
from palmette.cli import main
from palmette.datasets import make_cells, make_tagging

assert main(["warmup", "--all", "--jobs", "1", "--json"]) == 0
used = set()
for path in Path(palmette.__file__).parent.rglob("*.py"):
    if path.parent.name not in ("_kernels", "kernels"):
        for module, names in re.findall(r"from (palmette[\\w.]*kernels[.]\\w+) import ([\\w, ]+)", path.read_text()):
            if not module.startswith("palmette.kernels."):
                used |= {(module, name.split(" as ")[0].strip()) for name in names.split(",")}
kernels = {f"{m}.{n}": getattr(importlib.import_module(m), n) for m, n in used}
cold = [name for name, kernel in kernels.items() if not getattr(kernel, "signatures", True)]
with event.install_recorder("numba:compile") as recorder:
    for n_samples in (200, 3000):  # the second by dual ascent
        X, Y = make_tagging(n_samples, 10, 500, random_state=0)
        model = CRF(Chain(), tol=0.1, n_jobs=1).fit(X, Y)
        model.predict(X)
    movies = [make_cells(20, 10, p_miss=0.05, random_state=seed) for seed in (0, 1)]
    Tracker.train([(movies[0].frames, movies[0].lineage)], window=3, n_jobs=1).track(movies[1].frames)
    Tracker.pretrained(["area"]).track(movies[1].frames)
features = sum(map(len, chain(*X)))
sizes = {"weights": len(model.coef_), "features": features}
print(json.dumps({"cold": cold, "compiled": len(recorder.buffer), "used": len(used), **sizes}))
"""


def test_warmup_leaves_nothing_to_compile():
    for _ in range(2):  # the second time after the first has compiled something
        done = subprocess.run([sys.executable, "-c", WARMED], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        *lines, last = done.stdout.splitlines()
        record, then = json.loads("\n".join(lines)), json.loads(last)
        if not any(group["compiled"] for group in record["groups"].values()):
            break
    assert_documented("warmup", record)
    assert_documented("warmup", record["groups"]["inference"])
    assert [name for name, group in record["groups"].items() if group["compiled"]] == []
    assert then["cold"] == [] and then["used"] > 40, "kernels that no group of the warmup runs"
    assert then["weights"] > FEW_WEIGHTS and then["features"] > DualState.few_features
    assert then["compiled"] == 0, "the default on data of usual size"


def test_warmup_runs_every_solver_by_name(run, monkeypatch):
    ran = []
    monkeypatch.setattr("palmette.warmup.groups._solve", lambda *which: ran.append(which))
    assert run("warmup", "crf", "ssvm.bundle", "--jobs", "1")[0] == 0
    assert ran == [("crf", solver) for solver in SOLVERS["crf"] if solver != "auto"] + [("ssvm", "bundle")]
    code, _, err = run("warmup", "cr")
    assert code == 2 and "no group 'cr' to compile; there are: tagging, crf.dual" in err
    assert "--all means every group" in run("warmup", "crf", "--all")[2]


def test_warmup_tells_each_group_and_works_in_two_processes(run):
    code, out, err = run("warmup", "crf.bundle", "ssvm.bundle", "--jobs", "2", "--json")
    record = json.loads(out)
    assert code == 0 and list(record["groups"]) == ["crf.bundle", "ssvm.bundle"]
    assert {line.split()[0] for line in err.splitlines()[1:]} == {"[1/2]", "[2/2]"}


def test_the_usual_warmup_covers_the_default_learners():
    from palmette.cli.warmup import _chosen
    from palmette.warmup.groups import USUAL, groups

    chosen = _chosen(list(groups()), USUAL)
    assert {"tagging", "crf.dual", "crf.lbfgs", "ssvm.frank_wolfe", "perceptron.perceptron"} <= set(chosen)
    assert set(chosen) < set(groups())


# -------------------------------------------------------------------------------------------------- data


def test_data(run, tmp_path, monkeypatch):
    monkeypatch.delenv("PALMETTE_DATA", raising=False)
    monkeypatch.setenv("PALMETTE_CACHE", str(tmp_path))
    record = json.loads(run("data", "list", "--json")[1])
    assert_documented("data", record)
    assert_documented("data", record["datasets"]["conll2000"])
    text = run("data", "list")[1]
    untried = [url["url"] for url in record["datasets"]["conll2000"]["urls"] if not url["tried"]]
    assert all(f"{url} (untried)" in text for url in untried)
    code, out, _ = run("data", "where", "conll2000", "--json")
    assert (code, json.loads(out)) == (0, {"datasets": {"conll2000": {"place": "url", "path": None}}})
    assert "to be downloaded" in run("data", "where")[1]


@pytest.mark.data
def test_data_fetch_finds_what_is_here(run):
    code, out, err = run("data", "fetch", "conll2000", "--json")
    record = json.loads(out)
    assert (code, err) == (0, "")
    assert_documented("data", record)
    assert Path(record["folders"]["conll2000"]).is_dir()


# ------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["train", "absent.txt", "--model", "m"], "absent.txt: No such file or directory"),
        (["train", "-"], "say where to write it: --model FILE"),
        (["train", "train.txt", "--model", "no/m"], "cannot write the model to no/m: there is no folder"),
        (["train", "train.txt", "--model", "."], "cannot write the model to .: it is a folder"),
        (
            ["train", "train.txt", "--model", os.devnull],
            f"cannot write the model to {os.devnull}: it is a device",
        ),
        (["train", ".", "--model", "m"], ". is a folder; name a file in it"),
        (["train", "train.txt", "--model", "m", "--dev", "absent"], "absent: No such file or directory"),
        (["train", "train.txt", "--model", "m", "--l2", "-1"], "l2 must be a finite number >= 0, got -1.0"),
        (["train", "train.txt", "--model", "m", "--algorithm", "svm"], "'svm' is not one of"),
        (["train", "train.txt", "--model", "m", "--task", "parsing"], "'parsing' is not"),
        (["train", "train.txt", "--model", "m", "--label-column", "7"], "train.txt:1: there is no column 7"),
        (["train", "-", "--model", "m", "--dev", "-"], "standard input (-) can be read only once"),
        (["train", "few.txt", "--model", "m"], "few.txt:2: expected 3 columns separated by blanks"),
        (
            ["train", "train.txt", "--model", "m", "--dev", "two.txt"],
            "two.txt:1: 2 columns, but train.txt has 3",
        ),
        (["train", "latin1.txt", "--model", "m"], "latin1.txt:1: byte 3 of the line (0xfc) is not UTF-8"),
        (["train", "utf16.txt", "--model", "m"], "iconv -f utf-16 -t utf-8"),
        (["train", "empty.txt", "--model", "m"], "empty.txt:1: there are no tokens"),
        (["train", "train.txt", "--model", "m", "--template", "bad"], "bad:1: 'U0:%x[0,9]' reads column 9"),
        (["train", "train.txt", "--model", "m", "--template", "odd"], "odd:1: cannot read 'hello'"),
        (["predict", "--model", "absent", "test.txt"], "absent: No such file or directory"),
        (["predict", "--model", "model", "absent.txt"], "absent.txt: No such file or directory"),
        (["predict", "--model", "train.txt", "test.txt"], "train.txt: this is not a model file"),
        (["predict", "--model", "cut", "test.txt"], "cut: this is not a model file, or it is truncated"),
        (["predict", "--model", "table", "test.txt"], "table: this CRF is not a tagger"),
        (["predict", "--model", "model", "one.txt"], "one.txt:1: expected 3 columns as in training"),
        (["predict", "--model", "model", "test.txt", "--nbest", "0"], "--nbest must be at least 1, got 0"),
        (["predict", "--model", "model", "--nbest", "2", "--marginals", "test.txt"], "exclude each other"),
        (
            ["predict", "--model", "model", "test.txt", "-o", "no/out"],
            "cannot write the predictions to no/out",
        ),
        (["predict", "--model", "model", "test.txt", "--nbest", "x"], "Invalid value for '--nbest'"),
        (
            ["evaluate", "--model", "model", "two.txt"],
            "two.txt:1: expected 3 columns as in training, with the",
        ),
        (["evaluate", "one.txt"], "one.txt:1: only one column"),
        (["evaluate", "--model", "model", "--label-column", "1", "test.txt"], "exclude each other"),
        (["inspect", "cut"], "cut: this is not a model file, or it is truncated"),
        (["inspect", "model", "--top", "-1"], "--top must be at least 0, got -1"),
        (["bench", "absent"], "no benchmark 'absent'"),
        (["data", "where", "absent"], "unknown data set 'absent'; known:"),
        (["data", "fetch", "absent"], "unknown data set 'absent'; known:"),
        (["tarin"], "No such command 'tarin'"),
    ],
)
def test_bad_input_is_one_line_and_code_2(run, folder, arguments, message):
    (folder / "few.txt").write_text("a b X\na X\n")
    (folder / "two.txt").write_text("a X\n")
    (folder / "one.txt").write_text("a\n")
    (folder / "empty.txt").write_text("\n")
    (folder / "latin1.txt").write_bytes(b"M\xc3\xfc X\n".replace(b"\xc3", b"u"))
    (folder / "utf16.txt").write_bytes("a X\n".encode("utf-16"))
    (folder / "bad").write_text("U0:%x[0,9]\n")
    (folder / "odd").write_text("hello\n")
    (folder / "cut").write_bytes((folder / "model").read_bytes()[:500])
    palmette.CRF(palmette.Multiclass()).fit([[0.0], [1.0]], [0, 1]).save(folder / "table")
    before = sorted(os.listdir(folder))
    code, out, err = run(*arguments)
    lines = [line for line in err.splitlines() if line.startswith("error: ")]
    assert (code, out, len(lines)) == (2, "", 1), err
    assert message in lines[0]
    assert "Traceback" not in err
    assert sorted(os.listdir(folder)) == before, "nothing may be left behind"


def test_a_folder_without_permission(run, folder):
    (folder / "locked").mkdir(exist_ok=True, mode=0o500)
    if os.access(folder / "locked", os.W_OK):
        pytest.skip("this user may write everywhere")
    code, _, err = run("train", "train.txt", "--model", "locked/m")
    assert (code, "no permission to write" in err) == (2, True)


def test_an_error_leaves_the_old_file(run, folder):
    (folder / "kept.txt").write_text("kept")
    (folder / "breaks.txt").write_text("a b\n\na b c d e\n")
    assert run("predict", "--model", "model", "breaks.txt", "-o", "kept.txt")[0] == 2
    assert (folder / "kept.txt").read_text() == "kept"


def test_debug_raises(run, monkeypatch):
    with pytest.raises(FileNotFoundError):
        run("--debug", "inspect", "absent")
    monkeypatch.setenv("PALMETTE_DEBUG", "1")
    with pytest.raises(FileNotFoundError):
        main(["inspect", "absent"])


def test_errors_of_ours_are_not_hidden(run, monkeypatch):
    def fail(path):
        raise RuntimeError("a bug")

    monkeypatch.setattr("palmette.estimators.load", fail)
    with pytest.raises(RuntimeError, match="a bug"):
        run("inspect", "model")


def test_interrupt(run, monkeypatch):
    def interrupt(path):
        raise KeyboardInterrupt

    monkeypatch.setattr("palmette.estimators.load", interrupt)
    assert run("inspect", "model") == (130, "", "interrupted\n")


def test_warnings_are_one_line(run):
    command = ["train", "train.txt", "--model", "m", "--template", "template", "--max-iter", 1]
    done = subprocess.run(
        [sys.executable, "-m", "palmette", *map(str, command)], capture_output=True, text=True, check=True
    )
    assert re.search(r"^warning: lbfgs stopped after 1 iteration", done.stderr, re.MULTILINE)
    assert "NOT CONVERGED: max_iter" in done.stdout


@pytest.mark.data
def test_conll2000_from_files_to_table(run, tmp_path):
    from palmette.datasets import load_conll2000

    bunch = load_conll2000("train")
    lines = [
        "".join(f"{word} {tag} {label}\n" for (word, tag), label in zip(x, y))
        for x, y in zip(bunch.data[:600], bunch.target[:600])
    ]
    (tmp_path / "train").write_text("\n".join(lines[:400]))
    (tmp_path / "test").write_text("\n".join(lines[400:]))
    assert run("train", tmp_path / "train", "--model", tmp_path / "m", "--tol", 1e-2)[0] == 0
    code, out, _ = run("evaluate", "--model", tmp_path / "m", tmp_path / "test")
    assert code == 0
    assert re.search(r"^ +NP: precision: +[89]\d\.\d\d%", out, re.MULTILINE)


# ------------------------------------------------------------------------------------ a disk that is full


@pytest.fixture
def full_disk(monkeypatch):
    """Let so many files from now on be too much for the disk."""
    left = [0]
    fsync = os.fsync

    def refuse(handle):
        if left[0]:
            left[0] -= 1
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", refuse)
    return lambda n: left.__setitem__(0, n)


LETOR = "1 qid:1 1:1\n0 qid:1 1:0\n1 qid:2 1:2\n0 qid:2 1:1\n"


@pytest.mark.parametrize("task", ["tagging", "ranking"])
def test_a_trained_model_is_not_lost_to_a_full_disk(folder, tmp_path, capsys, full_disk, monkeypatch, task):
    """It goes to the temporary folder, which is named; the exit code is not 0."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    data, model = folder / "train.txt", folder / "full.palmette"
    if task == "ranking":
        (tmp_path / "letor.txt").write_text(LETOR)
        data = tmp_path / "letor.txt"
    full_disk(1)
    assert main(["train", str(data), "--model", str(model), "--task", task, "--json"]) == 2
    out, err = capsys.readouterr()
    written = json.loads(out)["model"]
    assert Path(written).is_relative_to(tmp_path) and Path(written).name == model.name
    assert f"{model}: No space left on device" in err and f"written to {written} instead" in err
    assert len(palmette.load(written).coef_) == json.loads(out)["weights"]
    assert not model.exists() and not list(folder.glob(".palmette*"))


def test_nowhere_to_write_names_both_places(folder, tmp_path, capsys, full_disk, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    full_disk(2)
    assert main(["train", str(folder / "train.txt"), "--model", str(folder / "full.palmette")]) == 2
    out, err = capsys.readouterr()
    assert out == "" and f"{folder}/full.palmette: No space left" in err
    assert re.search(rf"{re.escape(str(tmp_path))}.*full\.palmette: No space left", err) and not list(
        tmp_path.iterdir()
    )


def test_a_terminal_is_asked_for_another_path(folder, tmp_path, capsys, full_disk, monkeypatch):
    answers = io.StringIO(f"{tmp_path}/absent/m.palmette\n{tmp_path}/other.palmette\n")
    answers.isatty = lambda: True
    monkeypatch.setattr(sys, "stdin", answers)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    full_disk(1)
    code = main(["train", str(folder / "train.txt"), "--model", str(folder / "full.palmette"), "--json"])
    out, err = capsys.readouterr()
    assert code == 0 and json.loads(out)["model"] == f"{tmp_path}/other.palmette"
    assert err.count("another path") == 2 and "there is no folder" in err
    assert palmette.load(tmp_path / "other.palmette").predict([]) == []
