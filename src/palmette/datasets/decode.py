"""Decoders from what is stored or downloaded to the content that is hashed: bytes to bytes."""

from __future__ import annotations

import gzip
import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from typing import IO

Decode = Callable[[bytes], bytes]

LIMIT = 256 * 2**20
"""No content of ours is larger (bytes); what grows beyond it is damaged or hostile."""

DECODE_ERRORS = (
    ValueError,
    LookupError,
    EOFError,
    OSError,
    lzma.LZMAError,
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
)
"""What a decoder raises on a damaged file."""


def plain(raw: bytes) -> bytes:
    """Return the content of a file that is stored as it is."""
    return raw


def gunzip(raw: bytes) -> bytes:
    """Return the content of a gzip file.

    >>> gunzip(gzip.compress(b"text"))
    b'text'
    """
    with gzip.open(io.BytesIO(raw)) as stream:
        return _read_bounded(stream)


def unxz(raw: bytes) -> bytes:
    """Return the content of an xz file.

    >>> unxz(lzma.compress(b"text"))
    b'text'
    """
    with lzma.open(io.BytesIO(raw)) as stream:
        return _read_bounded(stream)


def unzip(raw: bytes, member: str) -> bytes:
    """Return the content of one member of a zip archive."""
    with zipfile.ZipFile(io.BytesIO(raw)) as archive, archive.open(member) as stream:
        return _read_bounded(stream)


def untar(raw: bytes, member: str) -> bytes:
    """Return the content of one member of a tar archive, compressed or not."""
    with tarfile.open(fileobj=io.BytesIO(raw)) as archive, _opened(archive, member) as stream:
        return _read_bounded(stream)


def _opened(archive: tarfile.TarFile, member: str) -> IO[bytes]:
    stream = archive.extractfile(member)
    if stream is None:
        raise LookupError(f"{member} is not a file of the archive")
    return stream


def _read_bounded(stream: IO[bytes] | io.BufferedIOBase) -> bytes:
    content = stream.read(LIMIT + 1)
    if len(content) > LIMIT:
        raise ValueError(f"it unpacks to more than {LIMIT:,} bytes")
    return content
