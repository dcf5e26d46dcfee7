"""Runs that are kept: one JSON object per line, appended as each run ends."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

Record = dict[str, Any]


class RunStore:
    """A file of runs, to which several processes may append at the same time.

    A record is one line, written by a single call and on disk before :meth:`append` returns. A line that was left half
    written when a process ended is reported by a warning and does not count.

    Parameters
    ----------
    path : path
        Made together with its folder when the first run is appended.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = RunStore(Path(folder) / "new" / "runs.jsonl")
    ...     before = store.read()
    ...     store.append({"size": 5.5, "score": 0.9})
    ...     store.read()
    [{'size': 5.5, 'score': 0.9}]
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        if self.path.is_dir():
            raise IsADirectoryError(f"cannot keep runs in {self.path}: it is a folder; name a file in it")

    def read(self) -> list[Record]:
        """All runs, in the order in which they ended; none if there is no file."""
        try:
            lines = self.path.read_bytes().split(b"\n")
        except FileNotFoundError:
            return []
        records = []
        for number, line in enumerate(lines, 1):
            try:
                record = json.loads(line) if line.strip() else None
            except ValueError:
                record = line
            if isinstance(record, dict):
                records.append(record)
            elif record is not None:
                warnings.warn(
                    f"{self.path}:{number}: no record of a run, perhaps half written; it does not count",
                    stacklevel=2,
                )
        return records

    def append(self, record: Mapping[str, Any]) -> None:
        """Add a run.

        Raises
        ------
        ValueError, TypeError
            The record holds something that JSON does not have, NaN included.
        """
        line = json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode() + b"\n"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with open(self.path, "a+b", buffering=0) as file:
            end = file.seek(0, os.SEEK_END)
            if end:
                file.seek(end - 1)
                line = line if file.read(1) == b"\n" else b"\n" + line  # after a line that was broken off
            if file.write(line) != len(line):
                raise OSError(f"cannot write all of a run to {self.path}: is the disk full?")
            os.fsync(file.fileno())
