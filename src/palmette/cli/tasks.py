"""Commands whose options depend on the task: their functions have those that all tasks share."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, get_type_hints

import typer
from typer.core import TyperGroup

from palmette.apps.options import Option
from palmette.apps.task import Task, all_tasks, get_task
from palmette.cli.completion import completion

TaskName = Annotated[
    str | None,
    typer.Option(
        "--task",
        metavar="TASK",
        help="One of the tasks below; with --help its options are shown.",
        autocompletion=completion(all_tasks),
    ),
]


class Given:
    """The options of tasks that stand on the command line."""

    def __init__(self, command: str, values: Mapping[str, Any]) -> None:
        self._command, self._values = command, values

    def __bool__(self) -> bool:
        return bool(self._values)

    def of(self, task: Task) -> dict[str, Any]:
        """Checked values of all options of a task by name; an option of another task is refused."""
        own = task.options.get(self._command, ())
        foreign = [flag for flag in self._values if flag not in {option.flag for option in own}]
        if foreign:
            owners = " and ".join(self._owners(lambda option: option.flag == foreign[0]))
            raise ValueError(
                f"{foreign[0]} is not an option of --task {task.name}; leave it out: it belongs to --task {owners}"
            )
        return {option.name: self._checked(option) for option in own}

    def _checked(self, option: Option) -> Any:
        value = self._values.get(option.flag, option.default)
        try:
            return option.checked(value)
        except ValueError as error:
            others = self._owners(lambda other: other.flag == option.flag and value in other.choices)
            raise ValueError(f"{error}; or use --task {' or '.join(others)}") if others else error from None

    def _owners(self, has: Callable[[Option], bool]) -> list[str]:
        return [
            name for name, task in all_tasks().items() if any(map(has, task.options.get(self._command, ())))
        ]


_functions: dict[str, Callable[..., None]] = {}


def add_task_command(app: typer.Typer, function: Callable[..., None]) -> None:
    """Add a command that `Commands` makes when it is called; until then only its help is known."""
    _functions[function.__name__] = function
    app.command(function.__name__, help=inspect.getdoc(function))(lambda: None)


class Commands(TyperGroup):
    """The commands, of which some are made for the task that is named behind them."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find a command and its arguments; also what shell completion asks."""
        name, command, rest = super().resolve_command(ctx, args)
        if name in _functions:
            command = command_for(_functions[name], _named_task(rest))
        return name, command, rest


def _named_task(arguments: Sequence[str]) -> str | None:
    """The last value of ``--task``."""
    found = None
    for argument, following in zip(arguments, [*arguments[1:], None]):
        if argument == "--":
            break
        if argument == "--task":
            found = following
        elif argument.startswith("--task="):
            found = argument.removeprefix("--task=")
    return found


def command_for(function: Callable[..., None], named: str | None) -> Any:
    """The command of a function, which takes ``given: Given`` beside its own options.

    It takes the options of all tasks, so that one of another task can be told from a mistake, and a model file can
    tell its task later. Its help shows those of the task that is named, or else of the default.
    """
    name, known = function.__name__, all_tasks()
    task = get_task(named)
    own = {option.flag: option for option in task.options.get(name, ())}
    others = {option.flag: option for each in known.values() for option in each.options.get(name, ())}
    options = own | {flag: option for flag, option in others.items() if flag not in own}
    hints = get_type_hints(function, include_extras=True)
    common = [
        parameter.replace(annotation=hints[parameter.name])
        for parameter in inspect.signature(function).parameters.values()
        if parameter.name != "given"
    ]
    taken = {f"--{parameter.name.replace('_', '-')}" for parameter in common}
    for flag in taken & own.keys():
        raise ValueError(
            f"{flag} of task {task.name} is an option of 'palmette {name}' already; choose another name"
        )
    parameters = {f"_{i}": option for i, option in enumerate(options.values()) if option.flag not in taken}

    def command(context: typer.Context, **values: Any) -> None:
        told = {option.flag: (key, values.pop(key)) for key, option in parameters.items()}
        on_line = {flag: value for flag, (key, value) in told.items() if _is_on_line(context, key)}
        function(context=context, **values, given=Given(name, on_line))

    panel = f"Options of --task {task.name}{'' if named else ', the default'}"
    made_of = [*common, *(_parameter(key, option, panel, own) for key, option in parameters.items())]
    command.__signature__ = inspect.Signature(made_of)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in made_of}
    says = task.about.get(name, "")
    if says and not named:
        says = f"With {task.name}, the default task: {says}"
    about = f"\n\n{says}\n\nFiles of {task.name}: {task.files}"
    listed = [f"{each.name}: {each.summary}{' (the default)' * each.is_default}" for each in known.values()]
    first = f"Tasks (palmette {name} --task TASK --help shows what one does, and its options):"
    made = typer.Typer(add_completion=False)
    made.command(name, help=f"{inspect.getdoc(function)}{about}", epilog="\n\n".join([first, *listed]))(
        command
    )
    return typer.main.get_command(made)


def _is_on_line(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _parameter(name: str, option: Option, panel: str, own: Mapping[str, Option]) -> inspect.Parameter:
    shown = typer.Option(
        option.flag,
        help=option.help,
        metavar=option.metavar or "|".join(option.choices) or None,
        hidden=option.flag not in own,
        rich_help_panel=panel,
        autocompletion=completion(lambda: option.choices) if option.choices else None,
    )
    kind: Any = bool if option.type is bool else option.type | None
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=option.default, annotation=Annotated[kind, shown]
    )


def task_of(model: Any) -> str | None:
    """The name of the task that a loaded model is for, because ``palmette train`` or its kind says so; else None."""
    extra = getattr(model, "extra_", None)
    own = extra.get("task") if isinstance(extra, dict) else None
    return own or next((name for name, task in all_tasks().items() if task.takes(model)), None)


def task_for(model: Any, source: str, named: str | None) -> Task:
    """The task of a loaded model; without one the task that was named, or the default."""
    own = task_of(model)
    if own is None:
        return get_task(named)
    if own not in all_tasks():
        raise ValueError(
            f"{source}: a model of task {own!r}, which is not registered; import the module that registers it"
        )
    if named not in (None, own):
        raise ValueError(f"{source} is a model of --task {own}, not of --task {named}; leave --task out")
    return get_task(own)


def refuse_files_of_others(task: Task, paths: Iterable[str | None], remedy: str) -> None:
    """Raise an error for a file that is plainly one of another task.

    Standard input is not looked at, since it can be read only once.
    """
    from palmette.errors import DataFileError

    others = [other for other in all_tasks().values() if other.name != task.name]
    for path in paths:
        if path is None or path == "-" or os.path.isdir(path):
            continue
        for other in others:
            found = other.recognise(path)
            if found is not None:
                wanted = task.files.split(",")[0]
                raise DataFileError(f"{found}, and {wanted} are wanted; {remedy} --task {other.name}")
