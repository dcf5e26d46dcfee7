"""Options of a task as data: the command line makes its own from them."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Option:
    """One option of one task.

    Parameters
    ----------
    name : str
        Under which the task finds the value, such as ``cut_size``.
    help : str
        One line.
    type : {str, int, float, bool}
        A bool is a flag.
    default : object
        The value where the option is not given.
    choices : tuple of str
        The values of a string, if they are few.
    metavar : str, optional
        What stands for the value in the help.
    flag : str, optional
        How it is written; by default the name with hyphens, ``--cut-size``.
    check : callable, optional
        Takes a value that was given, and returns what the task gets for it; raises ValueError for a bad one.

    Examples
    --------
    >>> Option("scale", "What to scale to.", choices=("query", "none")).checked("all")
    Traceback (most recent call last):
    ValueError: Invalid value for --scale: 'all' is not one of query, none
    """

    name: str
    help: str
    type: type[str] | type[int] | type[float] | type[bool] = str
    default: str | int | float | bool | None = None
    choices: tuple[str, ...] = ()
    metavar: str | None = None
    flag: str = ""
    check: Callable[[Any], object] | None = None

    def __post_init__(self) -> None:
        if not self.flag:
            object.__setattr__(self, "flag", "--" + self.name.replace("_", "-"))

    def checked(self, value: Any) -> Any:
        """The value that the task gets; bad ones are refused."""
        if value is None:
            return value
        if self.choices and value not in self.choices:
            raise ValueError(
                f"Invalid value for {self.flag}: {value!r} is not one of {', '.join(self.choices)}"
            )
        return value if self.check is None else self.check(value)


def readable(path: str, folders: bool = False) -> str:
    """Check that a file can be read; ``-`` always can, and a folder if it may be one."""
    if path != "-":
        if os.path.isdir(path):
            if folders:
                return path
            raise IsADirectoryError(f"{path} is a folder; name a file in it")
        with open(path, "rb"):
            pass
    return path


def writable(path: str, what: str) -> str:
    """Check that a file can be written where it shall be, before there is something to lose."""
    from palmette.io.atomic import checked_target

    folder = checked_target(path, what).parent
    if not os.access(folder, os.W_OK):
        raise PermissionError(f"cannot write {what} to {path}: no permission to write in {folder}")
    return path
