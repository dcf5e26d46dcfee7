"""``palmette evaluate``: compare predictions with the truth."""

from __future__ import annotations

from typing import Annotated

import typer

from palmette.apps.task import get_task
from palmette.cli.files import check_readable
from palmette.cli.output import Json, log, print_result
from palmette.cli.progress import progress_beside
from palmette.cli.tasks import Given, TaskName, refuse_files_of_others, task_for
from palmette.stages import stage


def evaluate(
    context: typer.Context,
    given: Given,
    data: Annotated[str, typer.Argument(help="File (.gz, .xz too); - is standard input.")],
    model: Annotated[
        str | None,
        typer.Option("--model", "-m", help="Model to predict with; without it DATA has the predictions."),
    ] = None,
    task: TaskName = None,
    json: Json = False,
) -> None:
    """Print how well the predictions for a file agree with the truth in it. A model knows its task."""
    check_readable([model])
    kind, application = get_task(task), None
    if model is not None:
        from palmette.estimators import load

        loaded = load(model)
        kind = task_for(loaded, model, task)
    check_readable([data], kind.reads_folders)
    options = given.of(kind) | {"model": model}
    refuse_files_of_others(kind, [data], "give a --model of")
    if model is not None:
        application = kind.open(loaded, model)
    with progress_beside(data), stage(f"evaluating {data}"):
        result = kind.evaluate(application, data, options, log)
    print_result(json, *result)
