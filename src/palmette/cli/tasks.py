"""What a model file is for, and which options belong to which task."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import typer


def task_of(model: Any) -> str | None:
    """The task that a loaded model was trained for by ``palmette train``, such as "tagging"; None for other models."""
    extra = getattr(model, "extra_", None)
    return extra.get("task") if isinstance(extra, dict) else None


def refuse_options(context: typer.Context, names: Collection[str], task: str) -> None:
    """Raise an error that names the first option on the command line that a task does not have."""
    for parameter in context.command.params:
        source = context.get_parameter_source(str(parameter.name))
        if parameter.name in names and source is not None and source.name == "COMMANDLINE":
            raise ValueError(f"{parameter.opts[0]} is not an option of {task}; leave it out")


def refuse_graded_documents(paths: Iterable[str | None], remedy: str) -> None:
    """Raise an error for a LETOR file where columns are read: it would be taken for one sentence of many labels.

    Standard input is not looked at, since it can be read only once.
    """
    from palmette.errors import DataFileError
    from palmette.io.lines import read_raw_lines

    for path in paths:
        if path is None or path == "-":
            continue
        lines = enumerate(map(bytes.split, read_raw_lines(path)), 1)
        first = ((number, cells) for number, cells in lines if cells and not cells[0].startswith(b"#"))
        number, cells = next(first, (0, []))
        if len(cells) > 1 and cells[1].startswith(b"qid:"):
            raise DataFileError(
                f"{path}:{number}: {cells[1].decode(errors='replace')[:40]} is the query of a graded document, and "
                f"columns of tokens are wanted; {remedy}"
            )
