"""``ramify train``: learn a tagger from column files."""

from __future__ import annotations

import os
from enum import StrEnum
from typing import Annotated, Any

import typer

from ramify.cli.files import check_readable, check_writable
from ramify.cli.output import Json, aligned, print_result
from ramify.cli.progress import progress, timed


class Task(StrEnum):
    """What can be trained."""

    tagging = "tagging"


class Algorithm(StrEnum):
    """The learners."""

    crf = "crf"
    ssvm = "ssvm"
    perceptron = "perceptron"


class Encoding(StrEnum):
    """How labels encode spans."""

    iob1 = "iob1"
    iob2 = "iob2"
    iobes = "iobes"
    bilou = "bilou"
    bmes = "bmes"
    bmes6 = "bmes6"


class Invalid(StrEnum):
    """What to do with labels that are no valid spans."""

    repair = "repair"
    error = "raise"


def train(
    data: Annotated[list[str], typer.Argument(help="Column files (.gz, .xz too); - is standard input.")],
    model: Annotated[str, typer.Option("--model", "-m", help="Where to write the model.")],
    task: Annotated[Task, typer.Option(help="What to learn.")] = Task.tagging,
    dev: Annotated[str | None, typer.Option(help="Held-out column file to score the model on.")] = None,
    template: Annotated[
        str | None, typer.Option(help="Feature template (CRF++, Wapiti); a good one by default.")
    ] = None,
    algorithm: Annotated[Algorithm, typer.Option(help="The learner.")] = Algorithm.crf,
    l2: Annotated[float | None, typer.Option(help="L2 penalty; 1 by default.")] = None,
    l1: Annotated[float | None, typer.Option(help="L1 penalty, for sparse models; 0 by default.")] = None,
    label_column: Annotated[
        int, typer.Option(help="Column of the label, from 0; negative counts from the end.")
    ] = -1,
    encoding: Annotated[
        Encoding | None,
        typer.Option(help="Learn spans in this encoding; predictions are in that of the data."),
    ] = None,
    invalid: Annotated[
        Invalid | None, typer.Option(help="What to do with labels that are no valid spans.")
    ] = None,
    clusters: Annotated[
        str | None,
        typer.Option(metavar="N,N", help="Learn so many word clusters as further columns, such as 64,256."),
    ] = None,
    min_count: Annotated[int | None, typer.Option(help="Drop features that occur less often.")] = None,
    n_hash: Annotated[
        int | None, typer.Option("--hash", metavar="N", help="Hash features to N columns, to save memory.")
    ] = None,
    prune: Annotated[bool, typer.Option("--prune", help="Drop features whose weights are all 0.")] = False,
    solver: Annotated[str | None, typer.Option(help="Solver; chosen by the learner by default.")] = None,
    tol: Annotated[float | None, typer.Option(help="Relative suboptimality to stop at.")] = None,
    max_iter: Annotated[int | None, typer.Option(help="Iterations (epochs) at most.")] = None,
    jobs: Annotated[int | None, typer.Option(help="Threads; all cores by default.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of everything random.")] = 0,
    json: Json = False,
) -> None:
    """Learn a tagger from column files: one token a line, blank lines between sentences."""
    check_readable([*data, dev, template])
    check_writable(model, "the model")
    if [*data, dev].count("-") > 1:
        raise ValueError("standard input (-) can be read only once")
    options: dict[str, Any] = {
        "l2": l2, "l1": l1, "solver": solver, "tol": tol, "max_iter": max_iter, "n_jobs": jobs,
        "random_state": seed, "min_count": min_count, "n_hash": n_hash,
    }  # fmt: skip
    spans = {"encoding": encoding, "invalid": invalid}
    seconds: dict[str, float] = {}
    with progress() as shown, timed(seconds, "total"):
        with timed(seconds, "import"):
            from ramify.apps.tagging.columns import read_columns
            from ramify.apps.tagging.learners import make_learner
            from ramify.apps.tagging.tagger import Tagger
            from ramify.apps.tagging.templates import Template
            from ramify.apps.tagging.training_files import common_columns

            make_learner(algorithm.value, **options)  # refuses bad options before the data is read
            features = None if template is None else Template.load(template)
        with timed(seconds, "read"):
            shown.stage(f"reading {', '.join(data)}")
            texts = [read_columns(path) for path in data]
            held_out = None if dev is None else read_columns(dev)
            common_columns(texts if held_out is None else [*texts, held_out])
        shown.stage(f"learning from {sum(len(text.table) for text in texts):,} sentences")
        tagger = Tagger.train(
            texts, template=features, label_column=label_column, algorithm=algorithm.value,
            dev=held_out, watch=shown.held_out, callbacks=[shown], clusters=_sizes(clusters), prune=prune,
            **spans, **options,
        )  # fmt: skip
        seconds |= tagger.seconds
        evaluation = None
        if held_out is not None:
            shown.stage(f"scoring {dev}")
            with timed(seconds, "evaluate"):
                evaluation = tagger.evaluate(held_out)
        with timed(seconds, "save"):
            tagger.save(model)
    record = {
        "task": task.value,
        "algorithm": algorithm.value,
        "model": model,
        "model_bytes": os.path.getsize(model),
        **_facts(tagger, texts),
        "seconds": seconds,
        "dev": None if evaluation is None else evaluation.to_dict(),
    }
    print_result(json, record, _summary(record, "" if evaluation is None else evaluation.headline()))


def _sizes(clusters: str | None) -> tuple[int, ...] | None:
    """Numbers of clusters, from their text."""
    if clusters is None:
        return None
    try:
        return tuple(int(size) for size in clusters.split(","))
    except ValueError:
        raise ValueError(f"--clusters takes numbers such as 64,256, got {clusters!r}") from None


def _facts(tagger: Any, texts: list[Any]) -> dict[str, Any]:
    model, result = tagger.model, tagger.model.result_
    return {
        "sentences": sum(len(text.table) for text in texts),
        "tokens": sum(text.table.n_tokens for text in texts),
        "labels": len(model.codec_.classes_),
        "features": model.encoder_.n_columns,
        "weights": len(model.coef_),
        "nonzero_weights": int((model.coef_ != 0).sum()),
        "iterations": result.step.n_iter,
        "objective": result.primal,
        "gap": result.gap,
        "converged": bool(result.converged),
        "reason": result.reason,
    }


def _summary(record: dict[str, Any], held_out: str) -> str:
    gap, objective = record["gap"], record["objective"]
    bound = f", at most {gap:.4g} ({gap / abs(objective):.1e} of it) above the optimum" if gap == gap else ""
    stop = f"stopped by {record['reason']}" if record["converged"] else f"NOT CONVERGED: {record['reason']}"
    rows = [
        [
            "data",
            f"{record['sentences']:,} sentences, {record['tokens']:,} tokens, {record['labels']} labels",
        ],
        ["model", f"{record['algorithm']}, {record['features']:,} features, {_weights(record)}"],
        ["objective", f"{objective:.8g}{bound}"],
        ["iterations", f"{record['iterations']}, {stop}"],
        ["seconds", ", ".join(f"{name} {value:.1f}" for name, value in record["seconds"].items())],
    ]
    if held_out:
        rows.append(["held out", held_out])
    rows.append(["written", f"{record['model']} ({record['model_bytes'] / 2**20:.1f} MB)"])
    return aligned(rows)


def _weights(record: dict[str, Any]) -> str:
    zeros = record["weights"] - record["nonzero_weights"]
    return f"{record['weights']:,} weights" + (f" ({zeros:,} of them 0)" if zeros else "")
