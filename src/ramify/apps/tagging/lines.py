"""Reading text by lines: plain, ``.gz``, ``.xz`` or standard input, with errors that name file and line."""

from __future__ import annotations

import contextlib
import gzip
import io
import lzma
import os
import sys
import zlib
from collections.abc import Iterable, Iterator
from typing import IO

from ramify.errors import DataFileError

_DAMAGED = (lzma.LZMAError, gzip.BadGzipFile, zlib.error, EOFError)


def source_name(path: str | os.PathLike) -> str:
    """Name of an input as error messages show it: the path, or ``<stdin>`` for ``-``."""
    name = os.fspath(path)
    return "<stdin>" if name == "-" else name


def read_lines(path: str | os.PathLike, stream: IO | None = None) -> Iterator[str]:
    """Yield the lines of a UTF-8 text, line ends included.

    Parameters
    ----------
    path : path
        A file; names in ``.gz`` and ``.xz`` are decompressed; ``-`` is `stream`.
    stream : file object, optional
        What ``-`` stands for; standard input by default. Bytes are preferred where the stream offers them
        (``stream.buffer``), so that the locale does not matter.

    Raises
    ------
    DataFileError
        Bytes that are not UTF-8, or a damaged archive.
    """
    source, number = source_name(path), 0
    try:
        with _opened(path, stream) as handle:
            for number, raw in enumerate(handle, 1):  # noqa: B007 (the handlers below read it)
                yield raw if isinstance(raw, str) else raw.decode()
    except UnicodeDecodeError as error:
        raise DataFileError(
            f"{source}:{number}: byte {error.start + 1} of the line (0x{error.object[error.start]:02x}) is "
            f"not UTF-8; convert the text first, for example with iconv -f latin1 -t utf-8"
        ) from error
    except _DAMAGED as error:
        raise DataFileError(
            f"{source}:{number + 1}: the compressed file is damaged or cut off here ({error}); fetch it again"
        ) from error


@contextlib.contextmanager
def _opened(path: str | os.PathLike, stream: IO | None) -> Iterator[Iterable[str | bytes]]:
    name = os.fspath(path)
    if name == "-":
        stream = sys.stdin if stream is None else stream
        yield getattr(stream, "buffer", stream)
    elif name.endswith(".xz"):
        with lzma.open(name) as packed:
            yield io.BufferedReader(packed)  # LZMAFile's own line iteration is slow
    else:
        with gzip.open(name) if name.endswith(".gz") else open(name, "rb") as handle:
            yield handle
