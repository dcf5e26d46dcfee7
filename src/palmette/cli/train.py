"""``palmette train``: learn from files, and write a model."""

from __future__ import annotations

import os
from typing import Annotated, Any

import typer

from palmette.apps.options import writable
from palmette.apps.task import Application, get_task
from palmette.cli.files import check_readable, saved
from palmette.cli.output import Json, aligned, log, print_result
from palmette.cli.progress import progress, timed
from palmette.cli.signals import in_words, number_of, terminable
from palmette.cli.summary import count_of_weights, fit_facts, outcome_rows, size_in_words
from palmette.cli.tasks import Given, TaskName, refuse_files_of_others


def train(
    context: typer.Context,
    given: Given,
    data: Annotated[list[str], typer.Argument(help="Files (.gz, .xz too); - is standard input.")],
    model: Annotated[
        str | None,
        typer.Option("--model", "-m", help="Where to write it; by default NAME.palmette for NAME.txt."),
    ] = None,
    task: TaskName = None,
    dev: Annotated[str | None, typer.Option(help="Held-out file to score the model on.")] = None,
    tune: Annotated[
        bool, typer.Option("--tune", help="Choose the L2 penalty by the score on --dev, or on folds.")
    ] = False,
    folds: Annotated[
        int | None, typer.Option(help="With --tune: folds of the training data; 3 by default without --dev.")
    ] = None,
    solver: Annotated[str | None, typer.Option(help="Solver; chosen by the learner by default.")] = None,
    tol: Annotated[float | None, typer.Option(help="Relative suboptimality to reach.")] = None,
    max_iter: Annotated[int | None, typer.Option(help="Maximal number of iterations (epochs).")] = None,
    jobs: Annotated[int | None, typer.Option(help="Threads; all cores by default.")] = None,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    json: Json = False,
) -> None:
    """Learn a model from files. Ctrl-C and SIGTERM save the best weights so far in a file next to it."""
    kind = get_task(task)
    settings = {"solver": solver, "tol": tol, "max_iter": max_iter, "n_jobs": jobs, "random_state": seed}
    options = given.of(kind) | settings
    way = _way(tune, folds, dev, options.get("l2"))
    check_readable([*data, dev], kind.reads_folders)
    model = _named_after(data[0]) if model is None else model
    writable(model, "the model")
    if [*data, dev].count("-") > 1:
        raise ValueError("standard input (-) can be read only once")
    refuse_files_of_others(kind, [*data, dev], "use")
    seconds: dict[str, float] = {}
    application: Application | None = None
    evaluation = None
    try:
        with terminable(), timed(seconds, "total"):
            with progress() as shown:
                with timed(seconds, "import"):  # bad options are refused before the data is read
                    training = kind.prepare(options, way, dev is not None)
                with timed(seconds, "read"):
                    shown.stage(f"reading {', '.join(data)}")
                    training.read(data, dev)
                shown.stage(f"learning from {training.size()}")
                application = training.fit([shown], shown.held_out)
                seconds |= application.seconds
                if dev is not None:
                    shown.stage(f"scoring {dev}")
                    with timed(seconds, "evaluate"):
                        evaluation = training.evaluate(application)
            with timed(seconds, "save"):
                path, code = saved(application.save, model)
    except KeyboardInterrupt as stop:
        _save_partial(getattr(stop, "application", application), model, in_words(number_of(stop)))
        raise typer.Exit(128 + number_of(stop)) from stop
    from palmette.apps.tuning import tuning_record

    record = {
        "task": kind.name,
        "algorithm": training.algorithm,
        "model": path,
        "model_bytes": os.path.getsize(path),
        **training.facts(application),
        **fit_facts(application.model),
        "weights": len(application.model.coef_),
        "nonzero_weights": int(application.model.coef_.astype(bool).sum()),
        "l2": getattr(application.model, "l2_", None),
        "tuning": tuning_record(application.model),
        "seconds": seconds,
        "dev": None if evaluation is None else evaluation.to_dict(),
    }
    held_out = [] if evaluation is None else [["held out", evaluation.headline()]]
    print_result(json, record, _summary(record, training.rows(application), held_out))
    warning = training.warning(application)
    if warning is not None:
        log(f"warning: {warning}")
    if code:
        raise typer.Exit(code)


def _named_after(data: str) -> str:
    """The file of a model without a name, in the current folder; what is there already is kept.

    Raises
    ------
    FileExistsError
        There is one.
    """
    if data == "-":
        raise ValueError(
            "standard input has no name to call the model by; say where to write it: --model FILE"
        )
    stem = os.path.basename(os.path.abspath(data)).removesuffix(".gz").removesuffix(".xz")
    name = f"{os.path.splitext(stem)[0]}.palmette"
    if os.path.exists(name):
        raise FileExistsError(f"{name} is there already; give --model {name} to replace it, or another name")
    return name


def _way(tune: bool, folds: int | None, dev: str | None, l2: float | None) -> str | int | None:
    """What the penalty is chosen by: the held-out file, so many folds, or nothing."""
    if not tune:
        if folds is not None:
            raise ValueError("--folds says on how many folds --tune chooses the penalty; give --tune too")
        return None
    if l2 is not None:
        raise ValueError(f"--l2 {l2:g} and --tune exclude each other: leave one out")
    if folds is not None and folds < 2:
        raise ValueError(f"--folds must be at least 2, got {folds}")
    return folds or ("dev" if dev is not None else 3)


def _save_partial(application: Application | None, model: str, stopped: str) -> None:
    """Save what was learnt before a signal beside the model that was wanted, and say so."""
    if application is None:
        log(f"{stopped}: nothing was learnt yet, and nothing is saved")
        return
    stem, suffix = os.path.splitext(model)
    path, _ = saved(application.save, f"{stem}.partial{suffix}", ask=False)
    result = getattr(application.model, "result_", None)
    reached = ""
    if result is not None:
        gap = f"gap {result.gap:.3g}" if result.gap == result.gap else "no bound on the gap"
        reached = f" after {result.step.n_iter} iterations ({gap})"
    log(f"{stopped}{reached}: the best weights so far are saved in {path}")


def _summary(record: dict[str, Any], about: list[list[str]], held_out: list[list[str]]) -> str:
    from palmette.apps.tuning import tuning_rows

    rows = [
        *about,
        ["model", f"{record['algorithm']}, {count_of_weights(record)}"],
        *outcome_rows(record),
        *tuning_rows(record["tuning"]),
        *held_out,
        ["written", f"{record['model']} ({size_in_words(record['model_bytes'])})"],
    ]
    return aligned(rows)
