"""The commands and what they share. Nothing heavy is imported before a command runs."""

from __future__ import annotations

from typing import Annotated

import typer

from palmette.cli import (
    align,
    bench,
    bounds,
    data,
    demo,
    evaluate,
    fold,
    infer,
    inspect,
    predict,
    recipe,
    track,
    train,
    warmup,
)
from palmette.cli.tasks import Commands, add_task_command

app = typer.Typer(
    name="palmette",
    help="Structured prediction: train, predict, evaluate.",
    epilog="Exit codes: 0 done, 1 a target was missed, 2 bad input, 128 + n ended by signal n. "
    "Results on stdout, the rest on stderr.",
    cls=Commands,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from palmette import __version__

        print(f"palmette {__version__}")
        raise typer.Exit


@app.callback()
def palmette(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of errors, as PALMETTE_DEBUG=1 does.")
    ] = False,
) -> None:
    """Take the options that stand before the command."""
    if debug:
        context.obj["debug"] = True


for function in (train.train, predict.predict, evaluate.evaluate, inspect.inspect, bounds.bounds):
    add_task_command(app, function)
for plain in (
    track.track,
    fold.fold,
    align.align,
    infer.infer,
    bench.bench,
    recipe.recipe,
    demo.demo,
    warmup.warmup,
):
    app.command()(plain)
app.add_typer(data.app, name="data")
