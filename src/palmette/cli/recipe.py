"""``palmette recipe``: complete experiments, from data to table and figure."""

from __future__ import annotations

from typing import Annotated

import typer

from palmette.apps.options import writable
from palmette.cli.completion import completion, recipes
from palmette.cli.output import Json, aligned, log, print_result


def recipe(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Recipes; none lists them.", autocompletion=completion(recipes)),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A small version that takes seconds.")] = False,
    report: Annotated[
        str | None, typer.Option(help="File for the report of the recipe: .html, or Markdown.")
    ] = None,
    json: Json = False,
) -> None:
    """Run experiments end to end; exit code 1 if one misses its targets."""
    from palmette.recipes import find_recipe, list_recipes, run_recipe

    if report is not None:
        if len(names or ()) != 1:
            raise ValueError(f"--report takes the report of one recipe, but {len(names or ())} were named")
        writable(report, "the report")
    if not names:
        titles = {entry.name: entry.title for entry in list_recipes()}
        rows = [[name, title] for name, title in titles.items()]
        print_result(json, {"available": titles}, aligned(rows))
        return
    chosen = [find_recipe(name).name for name in names]  # all of them, before the first one runs
    outcomes = {name: run_recipe(name, quick=quick, log=log) for name in chosen}
    if report is not None:
        outcomes[chosen[0]].write_report(report)
    ok = all(outcome.passed for outcome in outcomes.values())
    record = {"ok": ok, "recipes": {name: outcome.to_dict() for name, outcome in outcomes.items()}}
    print_result(json, record, "\n\n".join(outcome.format() for outcome in outcomes.values()))
    if not ok:
        raise typer.Exit(1)
