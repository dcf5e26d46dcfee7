"""Files that are either complete or not there at all."""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

try:
    import fcntl
except ImportError:  # Windows, which does not let anybody remove a file that is open
    fcntl = None  # type: ignore[assignment]


def checked_target(path: str | os.PathLike[str], what: str = "") -> Path:
    """The file that `path` names, links followed; an OSError if it cannot be a regular file, which names `what`."""
    target, named = Path(os.path.realpath(path)), f"{what} to {os.fspath(path)}".removeprefix(" to ")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"cannot write {named}: there is no folder {target.parent}; make it first")
    if target.is_dir():
        raise IsADirectoryError(f"cannot write {named}: it is a folder; name a file in it")
    if target.exists() and not target.is_file():
        raise OSError(f"cannot write {named}: it is a device or a pipe, not a regular file")
    return target


@contextmanager
def write_atomically(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for writing that takes its name only when it is complete and on disk.

    The bytes go to a temporary file in the same folder, which replaces `path` when the block ends well and
    is removed when it does not; an existing file stays as it was until then. A link is followed. What a process left
    behind that was killed while it wrote to the same `path` is removed.

    Raises
    ------
    OSError
        Nothing can be written there, the disk is full, ...; the error names `path`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with write_atomically(Path(folder) / "a.txt") as file:
    ...         _ = file.write(b"whole")
    ...     (Path(folder) / "a.txt").read_bytes()
    b'whole'
    """
    target = checked_target(path)
    _remove_abandoned(target)
    try:
        with _temporary_file(target) as (temporary, file):
            yield file
            file.flush()
            os.fsync(file.fileno())
            if target.exists():
                shutil.copymode(target, temporary)
            if fcntl is None:
                file.close()  # Windows cannot rename an open file
            os.replace(temporary, target)
    except OSError as error:
        if error.errno is None or error.filename is not None:
            raise
        raise OSError(
            error.errno, os.strerror(error.errno), os.fspath(path)
        ) from error  # a full disk names no file
    _sync_folder(target.parent)


# -- temporary files: each is locked as long as its writer lives ----------------------------------------------------


def _prefix(target: Path) -> str:
    """How the names of temporary files for this target begin; short, whatever the length of its name."""
    return f".palmette-{hashlib.sha256(os.fsencode(target.name)).hexdigest()[:12]}-"


@contextmanager
def _temporary_file(target: Path) -> Iterator[tuple[Path, BinaryIO]]:
    """A new locked file beside the target, removed unless it was renamed."""
    while True:
        temporary = target.with_name(f"{_prefix(target)}{secrets.token_hex(8)}.tmp")
        file = open(temporary, "xb")
        _lock(file, wait=True)
        if temporary.exists():
            break
        file.close()  # somebody took it for abandoned before it was locked
    try:
        yield temporary, file
    finally:
        # of a full disk once more; what matters has been flushed and synchronised above
        with suppress(OSError):
            file.close()
        with suppress(FileNotFoundError):
            temporary.unlink()


def _remove_abandoned(target: Path) -> None:
    """Remove the temporary files for this target whose writers are dead: those that nobody holds locked."""
    for path in target.parent.glob(f"{_prefix(target)}*.tmp"):
        with suppress(OSError), open(path, "r+b") as file:  # gone, of another user, or in use
            if fcntl is not None:
                _lock(file, wait=False)
                path.unlink()
        if fcntl is None:
            with suppress(OSError):
                path.unlink()


def _lock(file: Any, *, wait: bool) -> None:
    """Lock a file until it is closed; OSError if another holds it, and `wait` is false."""
    if fcntl is None:
        return
    if wait:
        # a file system without locks: then its temporary files are never taken for abandoned
        with suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
    else:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _sync_folder(folder: Path) -> None:
    """Put the new name on disk too, where the system can open folders."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
