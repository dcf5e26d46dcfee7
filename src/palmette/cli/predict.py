"""``palmette predict``: a filter from standard input to standard output."""

from __future__ import annotations

from typing import Annotated

import typer

from palmette.apps.options import writable
from palmette.cli.files import check_readable, text_output
from palmette.cli.progress import progress_beside
from palmette.cli.tasks import Given, TaskName, refuse_files_of_others, task_for
from palmette.stages import stage


def predict(
    context: typer.Context,
    given: Given,
    model: Annotated[str, typer.Option("--model", "-m", help="Model written by 'palmette train'.")],
    data: Annotated[str, typer.Argument(help="File (.gz, .xz too); - is standard input.")] = "-",
    task: TaskName = None,
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="File to write; standard output by default.")
    ] = None,
    jobs: Annotated[int | None, typer.Option(help="Threads; all cores by default.")] = None,
) -> None:
    """Write what a model predicts for a file. The model knows its task."""
    check_readable([model])
    if output is not None:
        writable(output, "the predictions")

    from palmette.estimators import load

    loaded = load(model)
    if jobs is not None:
        loaded.set_params(n_jobs=jobs)
    kind = task_for(loaded, model, task)
    check_readable([data], kind.reads_folders)
    options = given.of(kind) | {"model": model}
    application = kind.open(loaded, model)
    refuse_files_of_others(kind, [data], "give a --model of")
    with (
        progress_beside(data, results=output is None),
        stage(f"predicting for {data}"),
        text_output(output) as out,
    ):
        kind.predict(application, data, out, options)
