"""The journal: one JSON line per event, on disk before the next one; what a learner goes on from."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from palmette.data import UNKNOWN, OneOf, SparseRows
from palmette.data.labels import LabelCodec
from palmette.errors import DataFileError
from palmette.io.atomic import checked_target

FORMAT = 1


class Journal:
    """Events in a file that is only appended to; a header in its first line says what they are about.

    Parameters
    ----------
    path : path
    header : mapping
        What must agree with the header of a file that is there already: names to JSON values.

    Attributes
    ----------
    n_lost : int
        Lines that could not be read.
    """

    def __init__(self, path: str | os.PathLike[str], header: Mapping[str, Any]) -> None:
        self.path = checked_target(path, "the journal")
        self.header = {"palmette journal": FORMAT, **header}
        self.n_lost = 0
        self._size = 0  # of the file when it was last read or written here

    def events(self) -> list[dict[str, Any]]:
        """The complete events in the file; a new file is begun if there is none.

        The rest of a line that was cut off at the end is removed, so that the next event begins a line of its own.

        Raises
        ------
        DataFileError
            The file is no journal, or one of something else; the message names what differs.
        """
        if not self.path.exists() or not self.path.stat().st_size:
            self.append([self.header])
            return []
        whole = self.path.read_bytes()
        first, *lines = whole.split(b"\n")
        self._check(first)
        read = [_parsed(line) for line in lines if line.strip()]
        self.n_lost = sum(event is None for event in read)
        self._end_line(whole)
        self._size = self.path.stat().st_size
        return [event for event in read if event is not None]

    def append(self, events: Iterable[Mapping[str, Any]]) -> None:
        """Write events at the end of the file and wait until they are on disk.

        Raises
        ------
        DataFileError
            Another learner has written to the file since; events of two that do not know each other make no sense.
        """
        if self.path.exists() and (size := self.path.stat().st_size) != self._size:
            raise DataFileError(
                f"{self.path}: the journal had {self._size} bytes when this learner last used it and has {size} now: "
                "another learner writes to it. Nothing was noted. Make the learner anew to go on from what is there, "
                "and let one learner write to a journal at a time"
            )
        lines = "".join(
            json.dumps(event, ensure_ascii=False, separators=(",", ":")) + "\n" for event in events
        )
        with open(self.path, "ab") as file:
            file.write(lines.encode())
            file.flush()
            os.fsync(file.fileno())
            self._size = file.tell()

    def _check(self, line: bytes) -> None:
        found = _parsed(line)
        if found is None or "palmette journal" not in found:
            raise DataFileError(
                f"{self.path}:1: this is not the header of a journal: {line[:60]!r}; name another file for the "
                "journal, or remove this one"
            )
        differ = [
            f"{name} is {found.get(name)!r} there and {value!r} here"
            for name, value in self.header.items()
            if found.get(name) != value
        ]
        if differ:
            raise DataFileError(
                f"{self.path}:1: the journal is of another data set or of other settings: {'; '.join(differ)}. Give "
                "the same pool and settings, or name another file for the journal"
            )

    def _end_line(self, whole: bytes) -> None:
        """End the last line: by a line feed if its event is complete, else by removing what is there of it."""
        start = whole.rfind(b"\n") + 1
        if start == len(whole):
            return
        if _parsed(whole[start:]) is not None:
            with open(self.path, "ab") as file:
                file.write(b"\n")
        else:
            os.truncate(self.path, start)


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        event = json.loads(line)
    except ValueError:
        return None
    return event if isinstance(event, dict) else None


# -- answers as JSON ------------------------------------------------------------------------------------------------


def to_json(answer: Any) -> Any:
    """An answer as JSON values: labels as in model files, and what stands for labels.

    >>> to_json(["B", UNKNOWN, OneOf("B", "I"), (1, 2)])
    ['B', {'unknown': True}, {'one of': ['B', 'I']}, {'tuple': [1, 2]}]
    """
    if answer is UNKNOWN:
        return {"unknown": True}
    if isinstance(answer, OneOf):
        return {"one of": LabelCodec(answer.labels).state()}
    if isinstance(answer, np.ndarray):
        answer = answer.tolist()
    if isinstance(answer, list):
        return [to_json(part) for part in answer]
    (value,) = LabelCodec([answer]).state()
    return value


def from_json(value: Any) -> Any:
    """Inverse of :func:`to_json`, up to arrays, which become lists.

    >>> from_json(["B", {"unknown": True}, {"one of": ["B", "I"]}, {"tuple": [1, 2]}])
    ['B', UNKNOWN, OneOf('B', 'I'), (1, 2)]
    """
    if isinstance(value, list):
        return [from_json(part) for part in value]
    if isinstance(value, dict) and "unknown" in value:
        return UNKNOWN
    if isinstance(value, dict) and "one of" in value:
        return OneOf(*LabelCodec.from_state(value["one of"]).classes_)
    (label,) = LabelCodec.from_state([value]).classes_
    return label


# -- fingerprints ---------------------------------------------------------------------------------------------------


def fingerprint(
    batch: Any, offsets: np.ndarray, names: Iterable[str] | None, links: np.ndarray | None = None
) -> str:
    """A hash of encoded inputs, of the names of their columns and of what joins their parts: 16 hexadecimal digits.

    >>> from palmette.data import Batch
    >>> one, other = (Batch(np.array([[x], [2.0]]), np.array([0, 2])) for x in (1.0, 1.5))
    >>> fingerprint(one, one.offsets, None) == fingerprint(other, other.offsets, None)
    False
    """
    digest = hashlib.sha256()

    def feed(array: np.ndarray) -> None:
        digest.update(f"{array.dtype}{array.shape}".encode() + np.ascontiguousarray(array).tobytes())

    for table, rows in batch.take(
        np.arange(len(batch))
    ).feature_tables():  # a slice shares the arrays of the whole
        for array in (
            (table.indptr, table.indices, table.values) if isinstance(table, SparseRows) else (table,)
        ):
            feed(array)
        feed(rows)
    feed(offsets)
    if links is not None:
        feed(links)
    for name in names or ():
        digest.update(str(name).encode() + b"\0")
    return digest.hexdigest()[:16]
