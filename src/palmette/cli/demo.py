"""``palmette demo``: read handwritten dates with and without structure."""

from __future__ import annotations

from typing import Annotated

import typer

from palmette.cli.output import Json, log, print_result


def demo(
    output: Annotated[str, typer.Option("--output", "-o", help="Folder for the figure.")] = "demo-output",
    seed: Annotated[int, typer.Option(help="Seed of the dates and of the learners.")] = 0,
    json: Json = False,
) -> None:
    """Read handwritten dates: digit by digit, with a chain CRF and with a chain SSVM."""
    from palmette.apps.dates import run_demo

    report = run_demo(output, seed=seed, log=log)
    print_result(json, report.to_dict(), report.format())
