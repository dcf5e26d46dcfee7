"""``palmette warmup``: compile all kernels now, so that later commands find them in the cache."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from palmette.cli.output import Json, aligned, log, print_result


def warmup(
    names: Annotated[
        list[str] | None, typer.Argument(help="Groups such as tagging, crf or crf.dual; all by default.")
    ] = None,
    json: Json = False,
) -> None:
    """Fill the cache of compiled kernels: run every solver of every learner and every answer once, on tiny data."""
    from palmette.warmup.groups import cache, groups

    started = time.perf_counter()
    chosen = _chosen(groups(), names or [])
    log("compiling; this takes a few minutes where nothing is cached yet")
    ran = {}
    for name, work in chosen.items():
        with _measured() as record:
            work()
        ran[name] = record
    folder, kept = cache()
    total = {"seconds": time.perf_counter() - started, "cache": folder, "kept": kept}
    rows = [[name, f"{r['seconds']:6.2f} s", f"{r['compiled']:3} compiled"] for name, r in ran.items()]
    where = f"kept in {folder}" if kept else "NOT KEPT: set NUMBA_CACHE_DIR to a writable folder"
    text = f"{aligned(rows)}\n{total['seconds']:.1f} s in all; compiled kernels are {where}"
    print_result(json, {"groups": ran, **total}, text)


def _chosen(groups: dict[str, Callable[[], None]], names: list[str]) -> dict[str, Callable[[], None]]:
    """The groups with these names or with names that go on from them after a dot; without names all."""
    for name in names:
        if not any(f"{group}.".startswith(f"{name}.") for group in groups):
            raise ValueError(f"no group {name!r} to compile; there are: {', '.join(groups)}")
    return {
        group: work
        for group, work in groups.items()
        if not names or any(f"{group}.".startswith(f"{name}.") for name in names)
    }


@contextmanager
def _measured() -> Iterator[dict[str, float]]:
    """Seconds of the body and the number of kernels that it compiled rather than found in the cache."""
    from numba.core import event

    record: dict[str, float] = {}
    started = time.perf_counter()
    with event.install_recorder("numba:compile") as recorder:
        yield record
    compiled = sum(happening.is_end for _, happening in recorder.buffer)
    record |= {"seconds": time.perf_counter() - started, "compiled": compiled}
