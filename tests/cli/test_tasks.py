"""Tasks of the command line: their help, the refusal of foreign options, a task from outside, and signals."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import typer

import palmette
from palmette.apps import task as tasks
from palmette.apps.interrupted import TrainingInterrupted, handing_over
from palmette.apps.options import Option
from palmette.apps.ranking.learners import ALGORITHMS as RANKERS
from palmette.apps.ranking.ranker import SCALES
from palmette.apps.tagging.learners import ALGORITHMS as TAGGERS
from palmette.apps.task import Task, Training, all_tasks, get_task, register_task
from palmette.cli import main
from palmette.cli.app import app
from palmette.cli.tasks import command_for
from palmette.errors import ModelFileError

COLUMNS = "the D\ndog N\n\na D\ncat N\n\nthe D\ncat N\n"
LETOR = "1 qid:1 1:1\n0 qid:1 1:0\n1 qid:2 1:2\n0 qid:2 1:1\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tasks")
    (folder / "columns.txt").write_text(COLUMNS)
    (folder / "letor.txt").write_text(LETOR)
    assert main(["train", f"{folder}/columns.txt", "--model", f"{folder}/tagger"]) == 0
    assert main(["train", f"{folder}/letor.txt", "--task", "ranking", "--model", f"{folder}/ranker"]) == 0
    return folder


def flags(text: str) -> set[str]:
    """Options that a help text lists: the first words of its rows."""
    return set(re.findall(r"^│ \*? *(--[\w-]+)", text, re.MULTILINE))


COMMON = {
    "train": {"--model", "--task", "--dev", "--tune", "--folds", "--solver", "--tol", "--max-iter", "--jobs", "--seed",
              "--json", "--help"},
    "predict": {"--model", "--task", "--output", "--jobs", "--help"},
    "evaluate": {"--model", "--task", "--json", "--help"},
    "inspect": {"--task", "--top", "--json", "--help"},
    "bounds": {"--test", "--task", "--delta", "--gamma", "--norm", "--feature-norm", "--rho", "--l2", "--tau", "--eps",
               "--log-annotations", "--variances", "--output-dimension", "--n-tried", "--printed", "--plot", "--json",
               "--help"},
}  # fmt: skip


# --------------------------------------------------------------------------------------------------- help


@pytest.mark.parametrize("command", COMMON)
def test_help_shows_the_options_of_the_default_task_and_the_tasks(run, command):
    code, out, _ = run(command, "--help")
    own = [option.flag for option in get_task().options.get(command, ())]
    assert code == 0 and flags(out) == COMMON[command] | set(own)
    assert not own or "Options of --task tagging, the default" in out
    assert [flag for flag in re.findall(r"^│ +(--[\w-]+)", out, re.MULTILINE) if flag in own] == own
    assert "ranking: order the documents" in out and "tagging: label every token" in out


@pytest.mark.parametrize("command", COMMON)
@pytest.mark.parametrize("name", ["tagging", "ranking"])
@pytest.mark.parametrize("equals", [False, True])
def test_help_of_a_task_shows_its_options_and_no_others(run, command, name, equals):
    named = [f"--task={name}"] if equals else ["--task", name]
    code, out, _ = run(command, *named, "--help")
    own = {option.flag for option in get_task(name).options.get(command, ())}
    assert code == 0 and flags(out) == COMMON[command] | own
    assert f"Files of {name}" in out


def test_help_of_a_task_is_light():
    code = (
        "import sys; from palmette.cli import main; assert main(['train', '--task', 'ranking', '--help']) == 0; "
        "print([m for m in ('numba', 'sklearn', 'scipy', 'numpy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]", "declare tasks without their learners"
    assert "--radius" in done.stdout


def test_choices_of_options_are_those_of_the_learners():
    choices = {
        (name, option.name): option.choices
        for name in ("tagging", "ranking")
        for option in get_task(name).options["train"]
    }
    assert choices["tagging", "algorithm"] == TAGGERS and choices["ranking", "algorithm"] == RANKERS
    assert choices["ranking", "scale"] == SCALES


def completions(*words: str) -> set[str]:
    """What a shell offers for the last word."""
    command = typer.main.get_command(app)
    with command.make_context("palmette", list(words[:-1]), obj={}, resilient_parsing=True) as context:
        name, made, rest = command.resolve_command(context, list(words[:-1]))
        with made.make_context(name, rest, parent=context, resilient_parsing=True) as inner:
            return {item.value for item in made.shell_complete(inner, words[-1])}


def test_a_shell_completes_the_options_of_the_task():
    assert "--radius" in completions("train", "--task", "ranking", "--")
    assert "--order" not in completions("train", "--task", "ranking", "--")
    assert "--order" in completions("train", "--task", "tagging", "--")
    assert "--order" in completions("train", "--") and "--radius" not in completions("train", "--")


# ----------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["train", "columns.txt", "-m", "x", "--radius", 4], "--radius is not an option of --task tagging"),
        (["train", "columns.txt", "-m", "x", "--radius", 4], "it belongs to --task ranking"),
        (["train", "letor.txt", "-m", "x", "--task", "ranking", "--order", 1], "it belongs to --task tagging"),
        (["train", "letor.txt", "-m", "x", "--task=ranking", "--prune"], "--prune is not an option of --task ranking"),
        (["train", "columns.txt", "-m", "x", "--algorithm", "ramp"], "'ramp' is not one of crf, ssvm, perceptron"),
        (["train", "columns.txt", "-m", "x", "--algorithm", "ramp"], "or use --task alignment or folding or ranking"),
        (["train", "columns.txt", "-m", "x", "--task", "weaving"], "'weaving' is not a task; there are: alignment"),
        (["train", "columns.txt", "-m", "x", "--raduis", 4], "No such option: --raduis"),
        (["predict", "-m", "ranker", "letor.txt", "--nbest", 2], "it belongs to --task tagging"),
        (["predict", "-m", "tagger", "columns.txt", "--orders"], "it belongs to --task ranking"),
        (["predict", "-m", "tagger", "columns.txt", "--task", "ranking"], "tagger is a model of --task tagging"),
        (["evaluate", "-m", "ranker", "letor.txt", "--label-column", 1], "it belongs to --task tagging"),
        (["evaluate", "--task", "ranking", "letor.txt"], "letor.txt: files of documents hold no predictions"),
        (["inspect", "ranker", "--why", "letor.txt"], "it belongs to --task tagging"),
        (["predict", "-m", "unknown", "columns.txt"], "unknown: a model of task 'weaving', which is not registered"),
    ],
)  # fmt: skip
def test_what_belongs_to_another_task_is_refused(run, folder, arguments, message):
    palmette.load(folder / "tagger").save(folder / "unknown", extra={"task": "weaving"})
    code, out, err = run(*arguments)
    assert (code, out) == (2, "") and message in err
    assert not (folder / "x").exists()


def test_a_model_of_an_unknown_task_can_be_inspected(run, folder):
    palmette.load(folder / "tagger").save(folder / "unknown", extra={"task": "weaving"})
    code, out, _ = run("inspect", "unknown", "--json")
    assert code == 0 and json.loads(out)["task"] == "weaving" and json.loads(out)["template"] is None


# ------------------------------------------------------------------------------------ a task from outside


class Votes:
    """A classifier of the lines of a file: a number, and its class."""

    def __init__(self, model, unit=1.0):
        self.model, self.unit, self.seconds = model, unit, {}

    def save(self, path):
        self.model.save(path, extra={"task": "votes", "unit": self.unit})

    def predict(self, path):
        X, y = read(path)
        return self.model.predict(X / self.unit), y


class Share:
    def __init__(self, share):
        self.share = share

    def to_dict(self):
        return {"share": self.share}

    def headline(self):
        return f"{self.share:.0%} right"


def read(path):
    rows = [line.split() for line in Path(path).read_text().splitlines()]
    return np.array([[float(x)] for x, _ in rows]), np.array([y for _, y in rows])


class VotesTraining(Training):
    algorithm = "crf"

    def __init__(self, options):
        given = dict(options)
        self.unit = given.pop("unit")
        self.learner = palmette.CRF(
            palmette.Multiclass(), **{name: value for name, value in given.items() if value is not None}
        )

    def read(self, data, dev):
        self.parts = [read(path) for path in data]
        self.dev = dev

    def size(self):
        return f"{sum(len(y) for _, y in self.parts)} votes"

    def fit(self, callbacks, watch):
        votes = Votes(self.learner.set_params(callbacks=list(callbacks)), self.unit)
        X, y = (np.concatenate(part) for part in zip(*self.parts))
        with handing_over(votes):
            self.learner.fit(X / self.unit, y)
        return votes

    def evaluate(self, application):
        predicted, true = application.predict(self.dev)
        return Share(float(np.mean(predicted == true)))

    def facts(self, application):
        return {"votes": self.size()}

    def rows(self, application):
        return [["data", self.size()]]


class VotesTask(Task):
    name, summary, files = "votes", "classify numbers", "a number and its class per line"
    options = {  # noqa: RUF012
        "train": (Option("unit", "What numbers are divided by.", float, 1.0), Option("l2", "L2 penalty.", float)),
        "predict": (Option("loud", "In capitals.", bool, False),),
        "inspect": (Option("count", "Only the number of weights.", bool, False),),
    }  # fmt: skip

    def prepare(self, options, tune, has_dev):
        return VotesTraining(options)

    def open(self, model, source):
        return Votes(model, model.extra_["unit"])

    def predict(self, application, data, out, options):
        found = application.predict(data)[0]
        out.writelines(f"{label.upper() if options['loud'] else label}\n" for label in found)

    def evaluate(self, application, data, options, log):
        predicted, true = application.predict(data)
        return {"share": float(np.mean(predicted == true))}, "shares"

    def answer(self, application, options, top):
        return ({"count": len(application.model.coef_)}, "count") if options["count"] else None


@pytest.fixture
def votes(monkeypatch, folder):
    all_tasks()
    monkeypatch.setattr(tasks, "_tasks", dict(tasks._tasks))
    register_task(VotesTask())
    (folder / "votes.txt").write_text("".join(f"{x} {'no' if x < 0 else 'yes'}\n" for x in range(-8, 8)))


def test_a_task_from_outside_the_package_works_end_to_end(run, folder, votes):
    code, out, _ = run("train", "--task", "votes", "--help")
    assert (
        code == 0 and flags(out) == COMMON["train"] | {"--unit", "--l2"} and "votes: classify numbers" in out
    )
    command = ["train", "votes.txt", "--task", "votes", "--model", "votes", "--dev", "votes.txt", "--unit", 2]
    code, out, err = run(*command, "--l2", 0.01, "--json")
    record = json.loads(out)
    assert (
        code == 0 and record["task"] == "votes" and record["l2"] == 0.01 and record["dev"]["share"] > 0.9
    ), err
    assert "learning from 16 votes" in err
    assert re.search(r"^held out +\d+% right$", run(*command)[1], re.MULTILINE)
    code, out, _ = run("predict", "--model", "votes", "votes.txt")
    assert code == 0 and out.split().count("no") + out.split().count("yes") == 16
    assert run("predict", "--model", "votes", "votes.txt", "--loud")[1] == out.upper()
    code, out, _ = run("evaluate", "--model", "votes", "votes.txt", "--json")
    assert code == 0 and json.loads(out)["share"] > 0.9
    assert json.loads(run("inspect", "votes", "--json")[1])["task"] == "votes"
    assert json.loads(run("inspect", "votes", "--count", "--json")[1]) == {
        "count": len(palmette.load("votes").coef_)
    }
    code, _, err = run("train", "columns.txt", "--model", "x", "--unit", 2)
    assert (
        code == 2
        and "--unit is not an option of --task tagging; leave it out: it belongs to --task votes" in err
    )


def test_options_that_cannot_be_told_apart_are_refused(votes):
    class Other(VotesTask):
        name = "other"
        options = {"predict": (Option("nbest", "Another thing.", float),)}  # noqa: RUF012

    with pytest.raises(
        ValueError, match=r"task other: --nbest of predict is of type float, and that of task tagging"
    ):
        register_task(Other())
    assert "other" not in all_tasks()


def test_a_task_replaces_no_option_of_the_command(votes):
    class Other(VotesTask):
        name = "other"
        options = {"train": (Option("seed", "Another thing.", int),)}  # noqa: RUF012

    register_task(Other())
    from palmette.cli.train import train

    with pytest.raises(ValueError, match=r"--seed of task other is an option of 'palmette train' already"):
        command_for(train, "other")


# ------------------------------------------------------------------------------------------------- signals


@pytest.fixture
def stopped(monkeypatch):
    """Let the fit of a CRF end, and then be interrupted as if it had not."""
    fit = palmette.CRF.fit

    def stop(learns, interrupt=KeyboardInterrupt):
        def interrupted(self, *arguments, **options):
            if learns:
                fit(self, *arguments, **options)
            raise interrupt

        monkeypatch.setattr(palmette.CRF, "fit", interrupted)

    return stop


def test_ctrl_c_saves_the_weights_so_far_beside_the_target(run, folder, stopped):
    stopped(learns=True)
    code, out, err = run("train", "columns.txt", "--model", "m.palmette", "--json")
    last = err.splitlines()[-1]
    assert (code, out) == (130, "") and not (folder / "m.palmette").exists()
    assert re.fullmatch(
        r"interrupted after \d+ iterations \(gap [\d.e+-]+\): the best weights so far are saved in "
        r"m\.partial\.palmette", last
    )  # fmt: skip
    code, out, _ = run("predict", "--model", "m.partial.palmette", "columns.txt")
    assert code == 0 and "dog N N" in out


def test_ctrl_c_without_weights_saves_nothing(run, folder, stopped):
    stopped(learns=False)
    before = sorted(os.listdir(folder))
    code, out, err = run("train", "columns.txt", "--model", "n.palmette")
    assert (code, out) == (130, "") and sorted(os.listdir(folder)) == before
    assert err.splitlines()[-1] == "interrupted: nothing was learnt yet, and nothing is saved"


def test_the_partial_model_of_a_task_from_outside(run, folder, votes, stopped):
    stopped(learns=True)
    assert run("train", "votes.txt", "--task", "votes", "--model", "v")[0] == 130
    assert run("evaluate", "votes.txt", "--model", "v.partial")[0] == 0


def test_python_gets_the_tagger_of_an_interrupted_training(folder, stopped):
    from palmette.apps.tagging.columns import read_columns
    from palmette.apps.tagging.tagger import Tagger

    stopped(learns=True)
    with pytest.raises(TrainingInterrupted) as caught:
        Tagger.train(read_columns(folder / "columns.txt"))
    assert isinstance(caught.value, KeyboardInterrupt) and caught.value.signal == signal.SIGINT
    assert caught.value.application.predict([[("the",), ("dog",)]]) == [["D", "N"]]


# Tells when there are weights, or none yet, and then waits for a signal. A run in the background ignores SIGINT.
LONG = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
import palmette
from palmette.cli import main
fit = palmette.CRF.fit
def slow(self, *arguments, **options):
    fit(self, *arguments, **options)
    print("fitted", flush=True)
    time.sleep(60)
if sys.argv[1] == "late":
    palmette.CRF.fit = slow
else:
    palmette.CRF.fit = lambda *arguments, **options: (print("fitted", flush=True), time.sleep(60))
sys.exit(main(["train", "columns.txt", "--model", f"{sys.argv[1]}.palmette"]))
"""


@pytest.mark.parametrize("number, word", [(signal.SIGTERM, "terminated"), (signal.SIGINT, "interrupted")])
def test_signals_end_a_training_with_their_code(folder, number, word):
    when = "late" if number == signal.SIGTERM else "early"
    command = [sys.executable, "-c", LONG, when]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "fitted\n"
    time.sleep(0.05)
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (128 + number, ""), err
    assert err.splitlines()[-1].startswith(word)
    assert (folder / f"{when}.partial.palmette").exists() == (when == "late")
    assert not (folder / f"{when}.palmette").exists()


def test_sigterm_is_as_before_after_training(run, folder):
    before = signal.getsignal(signal.SIGTERM)
    assert run("train", "columns.txt", "--model", "m")[0] == 0
    assert signal.getsignal(signal.SIGTERM) is before


def test_models_of_other_tasks_are_no_taggers(folder):
    with pytest.raises(ModelFileError, match="is not a tagger"):
        get_task("tagging").open(palmette.load(folder / "ranker"), "ranker")
