"""``palmette bench``: measure against other libraries, and against other commits."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from palmette.cli.completion import benchmarks, completion
from palmette.cli.output import Json, aligned, log, print_result


def bench(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Benchmarks; none lists them.", autocompletion=completion(benchmarks)),
    ] = None,
    repeat: Annotated[int, typer.Option(help="Runs of each side; the best is reported.")] = 3,
    against: Annotated[
        str | None,
        typer.Option(help="A commit: measure this one against it instead of against other libraries."),
    ] = None,
    only: Annotated[
        str,
        typer.Option(
            help="Of a study: only runs with these values, such as conll2000,crf,5.5. With --against, of a benchmark: "
            "only sides whose name has one of these."
        ),
    ] = "",
    out: Annotated[Path | None, typer.Option(help="Of a study: the file of its runs.")] = None,
    run: Annotated[bool, typer.Option(help="Of a study: make the runs that are missing.")] = True,
    plot: Annotated[Path | None, typer.Option(help="Of a study: draw its curves (.png, .svg, .pdf).")] = None,
    json: Json = False,
) -> None:
    """Run benchmarks and print ratios; exit code 1 if a target is missed or, with --against, a line became slower."""
    from palmette.recipes.files import import_harness

    harness = import_harness()
    if not names:
        found = {name: harness.find_benchmark(name) for name in harness.benchmark_names()}
        titles = {name: harness.load_declared(path).title for name, path in found.items()}
        print_result(json, {"available": titles}, aligned([[name, title] for name, title in titles.items()]))
        return
    if plot is not None:
        _check_plot(harness, names, plot)
    terms = [term.strip() for term in only.split(",") if term.strip()]
    try:
        if against is not None:
            if out is not None or plot is not None or not run:
                raise ValueError("--against measures anew: it takes none of --out, --plot and --no-run")
            paths = [harness.find_benchmark(name) for name in names]
            reports = [
                harness.run_against(path, against, repeat=repeat, only=terms, log=log) for path in paths
            ]
            suite = harness.Suite(tuple(reports))
        else:
            suite = harness.run_suite(names, repeat=repeat, log=log, only=terms, out=out, run=run)
    except harness.BenchmarkFailed as failure:
        log(f"error: {failure}")
        raise typer.Exit(1) from failure
    if plot is not None:
        suite.reports[0].plot(plot)
    print_result(json, suite.to_dict(), suite.format())
    if not suite.ok:
        raise typer.Exit(1)


def _check_plot(harness: Any, names: list[str], path: Path) -> None:
    """Refuse a plot that could not be drawn in the end."""
    declared = harness.load_declared(harness.find_benchmark(names[0]))
    if len(names) > 1 or not isinstance(declared, harness.Study):
        raise ValueError(f"--plot draws the curves of one study, got {' '.join(names)}")
    harness.check_plot(declared, path)
