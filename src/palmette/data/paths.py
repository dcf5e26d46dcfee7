"""Paths of a hierarchy as users write them: tuples or lists of labels, or strings with a separator."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from palmette.data.annotation import UNKNOWN, OneOf
from palmette.data.labels import _plain

ANY = "?"
"""A level of a string of which nothing is known."""


class Path(NamedTuple):
    """The labels of a path from the top; of an open one only the first levels are known."""

    labels: tuple[Any, ...]
    open: bool = False


def read_path(given: Any, separator: str = ".", where: str = "y") -> Path:
    """A path from a tuple, a list or a string; ``UNKNOWN`` (``?`` in strings) ends what is known of it.

    >>> read_path("1.2.3"), read_path(["a", UNKNOWN, UNKNOWN])
    (Path(labels=('1', '2', '3'), open=False), Path(labels=('a',), open=True))
    >>> read_path("1..3", where="y[4]")
    Traceback (most recent call last):
    ...
    ValueError: y[4] = '1..3' has no label at level 2: a path names every level from the top, such as '1.2.3'
    """
    if given is UNKNOWN:
        return Path((), True)
    if isinstance(given, str):
        parts: list[Any] = [UNKNOWN if part == ANY else part for part in given.split(separator)]
        empty = next((k for k, part in enumerate(parts) if part == ""), None)
        if empty is not None:
            say = "is empty" if not given else f"has no label at level {empty + 1}"
            sample = separator.join("123")
            raise ValueError(
                f"{where} = {given!r:.60} {say}: a path names every level from the top, such as {sample!r}"
            )
    elif isinstance(given, tuple | list) or (isinstance(given, np.ndarray) and given.ndim == 1):
        parts = list(given)
    else:
        raise TypeError(
            f"{where} is {given!r:.60}, a {type(given).__name__}; a path is a tuple or list of labels from the top, or "
            f"a string with {separator!r} between them"
        )
    if not parts:
        raise ValueError(f"{where} is an empty path; name at least one level, or give UNKNOWN")
    known = next((k for k, part in enumerate(parts) if part is UNKNOWN), len(parts))
    for k, part in enumerate(parts):
        if k > known and part is not UNKNOWN:
            raise ValueError(
                f"{where}[{k}] = {part!r:.60} stands below a level that is UNKNOWN: a path is known from the top down; "
                "name the levels above, or mark this one as UNKNOWN, too"
            )
        if part is None or isinstance(part, OneOf | list | dict | set):
            raise ValueError(
                f"{where}[{k}] = {part!r:.60} is no label of a level; give a string or number, or UNKNOWN from where "
                "on the path is not known"
            )
    labels = tuple(_plain(part, f"{where}[{k}]") for k, part in enumerate(parts[:known]))
    return Path(labels, known < len(parts))


def read_paths(given: Any, separator: str = ".", where: str = "y") -> list[Path]:
    """The paths of a set of them; UNKNOWN is the set of which nothing is known.

    >>> read_paths([("a", "b"), "c.d"])
    [Path(labels=('a', 'b'), open=False), Path(labels=('c', 'd'), open=False)]
    """
    if given is UNKNOWN:
        return [Path((), True)]
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise TypeError(
            f"{where} is {given!r:.60}, a {type(given).__name__}; an output is a list of paths, such as "
            "[('a', 'b'), ('c',)]"
        )
    return [read_path(each, separator, f"{where}[{k}]") for k, each in enumerate(given)]


def nodes_of(paths: Iterable[Path]) -> dict[tuple[Any, ...], None]:
    """All nodes on paths, each named by the labels from the top to it, in the order of the paths.

    >>> list(nodes_of([Path(("a", "b")), Path(("a", "c"))]))
    [('a',), ('a', 'b'), ('a', 'c')]
    """
    return {path.labels[: k + 1]: None for path in paths for k in range(len(path.labels))}
