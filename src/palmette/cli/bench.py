"""``palmette bench``: measure against other libraries."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from palmette.cli.output import Json, aligned, log, print_result


def bench(
    names: Annotated[list[str] | None, typer.Argument(help="Benchmarks; none lists them.")] = None,
    repeat: Annotated[int, typer.Option(help="Runs of each side, of which the best counts.")] = 3,
    only: Annotated[
        str, typer.Option(help="Of a study: only runs with these values, such as conll2000,crf,5.5.")
    ] = "",
    out: Annotated[Path | None, typer.Option(help="Of a study: the file of its runs, which goes on.")] = None,
    run: Annotated[bool, typer.Option(help="Of a study: make the runs that are missing.")] = True,
    plot: Annotated[Path | None, typer.Option(help="Of a study: draw its curves (.png, .svg, .pdf).")] = None,
    json: Json = False,
) -> None:
    """Run benchmarks against other libraries and print ratios; exit code 1 if a target is missed."""
    from palmette.bench import (
        BenchmarkFailed,
        StudyReport,
        benchmark_names,
        find_benchmark,
        load_declared,
        run_suite,
    )

    if not names:
        titles = {name: load_declared(find_benchmark(name)).title for name in benchmark_names()}
        rows = [[name, title] for name, title in titles.items()]
        nothing = "no benchmarks: they come with a source checkout of palmette"
        print_result(json, {"available": titles}, aligned(rows) if rows else nothing)
        return
    if plot is not None:
        _check_plot(names, plot)
    terms = [term.strip() for term in only.split(",") if term.strip()]
    try:
        suite = run_suite(names, repeat=repeat, log=log, only=terms, out=out, run=run)
    except BenchmarkFailed as failure:
        log(f"error: {failure}")
        raise typer.Exit(1) from failure
    for report in suite.reports:
        if plot is not None and isinstance(report, StudyReport):
            report.plot(plot)
    print_result(json, suite.to_dict(), suite.format())
    if not suite.ok:
        raise typer.Exit(1)


def _check_plot(names: list[str], path: Path) -> None:
    """Refuse a plot that could not be drawn in the end."""
    from palmette.bench import Study, find_benchmark, load_declared
    from palmette.bench.study import check_plot

    declared = load_declared(find_benchmark(names[0]))
    if len(names) > 1 or not isinstance(declared, Study):
        raise ValueError(f"--plot draws the curves of one study, got {' '.join(names)}")
    check_plot(declared, path)
