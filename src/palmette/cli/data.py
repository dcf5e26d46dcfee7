"""``palmette data``: list, locate and download data sets."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from palmette.cli.completion import completion, datasets
from palmette.cli.output import Json, aligned, log, print_result

app = typer.Typer()

_COMPLETED = completion(datasets)


@app.callback(invoke_without_command=True)
def overview(context: typer.Context, json: Json = False) -> None:
    """List, locate and download data sets; alone, a line for each of them."""
    if context.invoked_subcommand is not None:
        if json:
            raise ValueError(
                f"--json stands behind the command: palmette data {context.invoked_subcommand} --json"
            )
        return
    from palmette.datasets import list_datasets, where

    found: dict[str, dict[str, Any]] = {
        dataset.name: {
            "task": dataset.task,
            "bytes": dataset.size,
            "present": where(dataset.name).path is not None,
            "title": dataset.title,
        }
        for dataset in list_datasets()
    }
    rows: list[list[Any]] = [["name", "task", "MB", "present", "content"]]
    for name, each in found.items():
        megabytes = math.ceil(10 * each["bytes"] / 2**20) / 10
        rows.append([name, each["task"], megabytes, "yes" if each["present"] else "no", each["title"]])
    print_result(json, {"datasets": found}, aligned(rows))


def _record(dataset: Any) -> dict[str, Any]:
    from palmette.datasets import where

    location = where(dataset.name)
    return {
        "title": dataset.title,
        "task": dataset.task,
        "place": location.place,
        "path": None if location.path is None else str(location.path),
        "bytes": dataset.size,
        "licence": dataset.licence,
        "homepage": dataset.homepage,
        "urls": [{"url": url.address, "tried": url.tried} for url in dataset.urls],
    }


@app.command("list")
def list_datasets(json: Json = False) -> None:
    """List the data sets that palmette can load, and where each would come from."""
    from palmette import datasets

    records = {dataset.name: _record(dataset) for dataset in datasets.list_datasets()}
    parts = []
    for name, record in records.items():
        rows = [
            ["place", record["path"] or "to be downloaded"],
            ["size", f"{record['bytes'] / 2**20:.1f} MB"],
            ["licence", record["licence"]],
            *(["from", url["url"] + ("" if url["tried"] else " (untried)")] for url in record["urls"]),
        ]
        parts.append(f"{name}: {record['title']}\n{aligned(rows, indent='  ')}")
    print_result(json, {"datasets": records}, "\n\n".join(parts))


@app.command()
def where(
    names: Annotated[
        list[str] | None, typer.Argument(help="Data sets; all by default.", autocompletion=_COMPLETED)
    ] = None,
    json: Json = False,
) -> None:
    """Print where data sets lie: in PALMETTE_DATA, in the cache, or nowhere yet (url)."""
    from palmette import datasets

    known = names or [dataset.name for dataset in datasets.list_datasets()]
    found = {name: datasets.where(name) for name in known}
    record = {
        name: {"place": at.place, "path": None if at.path is None else str(at.path)}
        for name, at in found.items()
    }
    rows = [[name, at.place, str(at.path or "to be downloaded")] for name, at in found.items()]
    print_result(json, {"datasets": record}, aligned(rows))


@app.command()
def fetch(
    names: Annotated[list[str], typer.Argument(help="Data sets.", autocompletion=_COMPLETED)],
    force: Annotated[bool, typer.Option("--force", help="Download again even if present.")] = False,
    json: Json = False,
) -> None:
    """Make sure that data sets are on this machine, downloading what is missing."""
    from palmette import datasets

    for name in names:
        datasets.get_dataset(name)  # an unknown name shall not be found after the first download
    folders = {}
    with _download_progress() as shown:
        for name in names:
            folders[name] = str(datasets.fetch(name, force=force, progress=shown))
    print_result(json, {"folders": folders}, aligned([[name, path] for name, path in folders.items()]))


@contextmanager
def _download_progress() -> Iterator[Callable[[str, int, int | None], None]]:
    """A bar for each address on a terminal, a line for each elsewhere."""
    seen: dict[str, Any] = {}
    if not sys.stderr.isatty():

        def report(address: str, n_bytes: int, n_total: int | None) -> None:
            if address not in seen:
                seen[address] = None
                log(f"downloading {address}")

        yield report
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn()
    with Progress(*columns, console=Console(stderr=True)) as bar:

        def update(address: str, n_bytes: int, n_total: int | None) -> None:
            if address not in seen:
                seen[address] = bar.add_task(address)
            bar.update(seen[address], completed=n_bytes, total=n_total)

        yield update
