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


PICTURES = (".png", ".svg", ".pdf")


def picture_name(path: str, *pages: str) -> str:
    """Check that a picture can be drawn and written: its format, its folder, and matplotlib, which pages do not need.

    Raises
    ------
    ModuleNotFoundError
        matplotlib is not installed; the message says how to install it.
    """
    known = PICTURES + pages
    if not path.lower().endswith(known):
        raise ValueError(f"--plot {path}: pictures are written as {', '.join(known[:-1])} or {known[-1]}")
    if not path.lower().endswith(pages):
        from palmette.plot.axes import need_matplotlib

        need_matplotlib()
    return writable(path, "the picture")


def page_name(path: str) -> str:
    """Check that a report can be written as a page."""
    if not path.lower().endswith((".html", ".htm")):
        raise ValueError(f"--report writes a page; name a file that ends in .html, got {path}")
    return writable(path, "the report")
