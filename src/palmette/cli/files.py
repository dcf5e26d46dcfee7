"""Files that a command reads and writes, checked before its work begins."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import IO


def check_readable(paths: Iterable[str | None]) -> None:
    """Raise an error that names the first file that cannot be read; ``-`` and None always can."""
    for path in paths:
        if path is None or path == "-":
            continue
        if os.path.isdir(path):
            raise IsADirectoryError(f"{path} is a folder; name a file in it")
        with open(path, "rb"):
            pass


def check_writable(path: str, what: str) -> None:
    """Raise an error if a file cannot be written where it shall be, before there is something to lose."""
    folder = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"cannot write {what} to {path}: there is no folder {folder}; make it first")
    if os.path.isdir(path):
        raise IsADirectoryError(f"cannot write {what} to {path}: it is a folder; name a file in it")
    if not os.access(folder, os.W_OK):
        raise PermissionError(f"cannot write {what} to {path}: no permission to write in {folder}")


@contextmanager
def text_output(path: str | None) -> Iterator[IO[str]]:
    """A UTF-8 text file that appears when it is complete, or standard output; line ends stay as they are."""
    if path is not None:
        from palmette.io import write_atomically

        with write_atomically(path) as file:
            out = io.TextIOWrapper(file, "utf-8", newline="")
            try:
                yield out
            finally:
                out.detach()  # flushes; the file itself is closed by write_atomically
        return
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", newline="")
    yield sys.stdout
