"""What a model file is for, and which options belong to which task."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import typer


def task_of(model: Any) -> str | None:
    """The task that a loaded model was trained for by ``ramify train``, such as "tagging"; None for other models."""
    extra = getattr(model, "extra_", None)
    return extra.get("task") if isinstance(extra, dict) else None


def refuse_options(context: typer.Context, names: Collection[str], task: str) -> None:
    """Raise an error that names the first option on the command line that a task does not have."""
    for parameter in context.command.params:
        source = context.get_parameter_source(str(parameter.name))
        if parameter.name in names and source is not None and source.name == "COMMANDLINE":
            raise ValueError(f"{parameter.opts[0]} is no option of {task}; leave it out")
