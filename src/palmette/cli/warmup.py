"""``palmette warmup``: compile kernels now, so that later commands find them in the cache."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Annotated

import typer

from palmette.cli.output import Json, aligned, log, print_result


def warmup(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help="Groups such as tagging, crf, crf.dual or graphs. By default what taggers and learners of chains, "
            "segments, classes and image grids run: tagging, crf, ssvm, perceptron, edges, grids, predictions."
        ),
    ] = None,
    everything: Annotated[
        bool,
        typer.Option("--all", help="All groups: every structure, kernels, features on edges, inference."),
    ] = False,
    jobs: Annotated[
        int | None,
        typer.Option(min=1, max=2, help="Processes that compile; two by default, if there are two cores."),
    ] = None,
    json: Json = False,
) -> None:
    """Fill the cache of compiled kernels: run solvers and answers once, on tiny data."""
    from palmette.warmup.groups import USUAL, cache, groups
    from palmette.warmup.parallel import Record, run_groups

    if names and everything:
        raise ValueError("--all means every group: leave out their names, or leave out --all")
    started, known = time.perf_counter(), list(groups())
    chosen = known if everything else _chosen(known, names or USUAL)
    log("compiling; this takes a minute or more where nothing is cached yet")
    done: list[str] = []

    def tell(name: str, record: Record) -> None:
        done.append(name)
        log(f"[{len(done)}/{len(chosen)}] {name}: {_in_words(record)}")

    ran = run_groups(chosen, tell, jobs)
    folder, kept = cache()
    total = {
        "seconds": time.perf_counter() - started,
        "cpu_seconds": sum(record["cpu_seconds"] for record in ran.values()),
        "cache": folder,
        "kept": kept,
    }
    rows = [[name, _in_words(record)] for name, record in ran.items()]
    where = f"kept in {folder}" if kept else "NOT KEPT: set NUMBA_CACHE_DIR to a writable folder"
    more = "" if len(chosen) == len(known) else "; --all compiles the rest"
    text = f"{aligned(rows)}\n{total['seconds']:.1f} s in all; compiled kernels are {where}{more}"
    print_result(json, {"groups": ran, **total}, text)


def _in_words(record: dict[str, float]) -> str:
    return f"{record['seconds']:.2f} s, {record['compiled']} compiled"


def _chosen(groups: Sequence[str], names: Sequence[str]) -> list[str]:
    """The groups with these names or with names that go on from them after a dot."""
    for name in names:
        if not any(f"{group}.".startswith(f"{name}.") for group in groups):
            raise ValueError(f"no group {name!r} to compile; there are: {', '.join(groups)}")
    return [group for group in groups if any(f"{group}.".startswith(f"{name}.") for name in names)]
