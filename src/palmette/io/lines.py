"""Reading text by lines: plain, ``.gz``, ``.xz`` or standard input, with errors that name file and line."""

from __future__ import annotations

import codecs
import contextlib
import gzip
import io
import lzma
import os
import sys
import zlib
from collections.abc import Iterator
from functools import partial
from typing import IO, Any

from palmette.errors import DataFileError
from palmette.memory import check_size, in_words

LONGEST_LINE = 2**24
"""Bytes of a line at most: what is longer is not text of lines, or made to fill the memory."""

_AT_ONCE = 2**24
_DAMAGED = (lzma.LZMAError, gzip.BadGzipFile, zlib.error, EOFError)


def source_name(path: str | os.PathLike[str]) -> str:
    """Name of an input as error messages show it: the path, or ``<stdin>`` for ``-``."""
    name = os.fspath(path)
    return "<stdin>" if name == "-" else name


def read_lines(path: str | os.PathLike[str], stream: IO[Any] | None = None) -> Iterator[str]:
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
        Bytes that are not UTF-8, a line of more than 16 MB, or a damaged archive.
    """
    for number, raw in enumerate(read_raw_lines(path, stream), 1):
        check_utf8(raw, source_name(path), number)
        yield raw.decode()


def read_raw_lines(path: str | os.PathLike[str], stream: IO[Any] | None = None) -> Iterator[bytes]:
    """Yield the lines of a text as bytes; parameters as for `read_lines`."""
    number = 0
    try:
        with _opened(path, stream) as handle:
            for number, raw in enumerate(_bounded_lines(handle), 1):
                if len(raw) > LONGEST_LINE:
                    raise DataFileError(
                        f"{source_name(path)}:{number}: the line is longer than {in_words(LONGEST_LINE)}; is this a "
                        f"text file? break it into lines"
                    )
                yield raw.encode() if isinstance(raw, str) else raw
    except _DAMAGED as error:
        raise DataFileError(
            f"{source_name(path)}:{number + 1}: the compressed file is damaged or truncated here ({error}); "
            f"fetch it again"
        ) from error


def read_raw(path: str | os.PathLike[str], stream: IO[Any] | None = None, *, work: float = 1.0) -> bytes:
    """The whole text as bytes; parameters as for `read_lines`.

    `work` is what the caller needs of memory, as a multiple of the text. A text for which that is too much is refused
    as soon as so much of it was read, however small the file is that it is packed in.
    """
    parts, size = [], 0
    try:
        with _opened(path, stream) as handle:
            # a stream may also be a mere iterable of lines
            reads = (
                partial(handle.read, _AT_ONCE) if hasattr(handle, "read") else partial(next, iter(handle), "")
            )
            while raw := reads():
                parts.append(raw.encode() if isinstance(raw, str) else raw)
                size += len(parts[-1])
                check_size(
                    f"{source_name(path)}: {in_words(size)} of text",
                    work * size,
                    "cut the file into smaller ones, or raise the limit",
                )
            return b"".join(parts)
    except _DAMAGED:
        return b"".join(read_raw_lines(path))  # which says in which line


def _bounded_lines(handle: Any) -> Iterator[Any]:
    """Lines, cut off one byte behind what a line may have, so that none is ever held that is longer."""
    if not hasattr(handle, "readline"):
        return iter(handle)  # an iterable of lines
    return iter(partial(handle.readline, LONGEST_LINE + 1), handle.readline(0))


def check_utf8(raw: bytes, source: str, first_line: int = 1) -> None:
    """Raise an error that names file, line and byte unless the bytes, which begin in that line, are UTF-8.

    >>> check_utf8(b"a\\ncaf\\xe9", "menu.txt")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    palmette.errors.DataFileError: menu.txt:2: byte 4 of the line (0xe9) is not UTF-8; convert the text first, ...
    """
    try:
        raw.decode()
    except UnicodeDecodeError as error:
        number = first_line + raw.count(b"\n", 0, error.start)
        byte = error.start - raw.rfind(b"\n", 0, error.start)
        wide = raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or b"\0" in raw
        raise DataFileError(
            f"{source}:{number}: byte {byte} of the line (0x{raw[error.start]:02x}) is not UTF-8; convert the text "
            f"first, for example with iconv -f {'utf-16' if wide else 'latin1'} -t utf-8"
        ) from error


@contextlib.contextmanager
def _opened(path: str | os.PathLike[str], stream: IO[Any] | None) -> Iterator[Any]:
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
