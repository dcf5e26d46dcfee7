"""``ramify bench``: measure against other libraries."""

from __future__ import annotations

from typing import Annotated

import typer

from ramify.cli.output import Json, aligned, log, print_result


def bench(
    names: Annotated[list[str] | None, typer.Argument(help="Benchmarks; none lists them.")] = None,
    repeat: Annotated[int, typer.Option(help="Runs of each side, of which the best counts.")] = 3,
    json: Json = False,
) -> None:
    """Run benchmarks against other libraries and print ratios; exit code 1 if a target is missed."""
    from ramify.bench import BenchmarkFailed, benchmark_names, find_benchmark, load_benchmark, run_suite

    if not names:
        titles = {name: load_benchmark(find_benchmark(name)).title for name in benchmark_names()}
        rows = [[name, title] for name, title in titles.items()]
        nothing = "no benchmarks: they come with a source checkout of ramify"
        print_result(json, {"available": titles}, aligned(rows) if rows else nothing)
        return
    try:
        suite = run_suite(names, repeat=repeat, log=log)
    except BenchmarkFailed as failure:
        log(f"error: {failure}")
        raise typer.Exit(1) from failure
    print_result(json, suite.to_dict(), suite.format())
    if not suite.ok:
        raise typer.Exit(1)
