"""Files that a command reads and writes, checked before its work begins."""

from __future__ import annotations

import io
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import IO

from palmette.apps.options import readable
from palmette.cli.output import log


def check_readable(paths: Iterable[str | None], folders: bool = False) -> None:
    """Raise an error that names the first file that cannot be read; ``-`` and None always can, folders if they may."""
    for path in paths:
        if path is not None:
            readable(path, folders)


def saved(save: Callable[[str], object], path: str, *, ask: bool = True) -> tuple[str, int]:
    """Save a model: where it is in the end, and the exit code. What took hours to train must not be lost.

    If it cannot be written to ``path`` (a full disk), a terminal is asked for another path, if ``ask`` is true. Without
    one, or without an answer, the model goes to the temporary folder, and the exit code says that it is not where it
    should be.
    """
    from palmette.cli import BAD_INPUT, OK

    trouble = _trouble(save, path)
    if not trouble:
        return path, OK
    log(f"error: cannot write the model: {trouble}; it is trained and not lost")
    while ask and sys.stdin.isatty() and sys.stderr.isatty():
        print("another path (empty: the temporary folder): ", end="", file=sys.stderr, flush=True)
        other = sys.stdin.readline().strip()
        if not other:
            break
        again = _trouble(save, other)
        if not again:
            return other, OK
        log(f"error: cannot write the model: {again}")
    other = os.path.join(tempfile.mkdtemp(prefix="palmette-"), os.path.basename(path))
    again = _trouble(save, other)
    if again:
        shutil.rmtree(os.path.dirname(other), ignore_errors=True)
        raise OSError(f"cannot write the model: {trouble}; {again}")
    log(f"the model was written to {other} instead: move it to where you want it")
    return other, BAD_INPUT


def _trouble(save: Callable[[str], object], path: str) -> str:
    """Save a model; what prevented it, if something did."""
    try:
        save(path)
    except OSError as error:
        return f"{path}: {error.strerror}" if error.strerror else str(error)
    return ""


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
