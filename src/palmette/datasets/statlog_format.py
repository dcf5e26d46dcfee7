"""Tables of numbers with a class for each row, decoded to one canonical file.

The canonical file begins with a line of JSON, its keys in alphabetical order::

    {"classes": [...], "n_columns": d, "n_rows": n, "n_train": t, "type": "<i2", "unit": u, "zero": z}

and goes on with the values of all rows (of that type, little-endian) and the class of each row, one byte. A value v
stands for ``v * unit + zero``. The first ``n_train`` rows are the official training part; 0 if there is none.
"""

from __future__ import annotations

import io
import json
from typing import NamedTuple

import numpy as np

LETTERS = tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
SEGMENTS = ("brickface", "sky", "foliage", "cement", "window", "path", "grass")
DIGITS = tuple("0123456789")
_PIXEL = {"unit": 0.001, "zero": -1.0}  # grey levels of USPS are whole thousandths


class Table(NamedTuple):
    """Parsed canonical file: float64 rows, codes of their classes, names of the classes, rows of the training part."""

    data: np.ndarray
    codes: np.ndarray
    classes: tuple[str, ...]
    n_train: int


def pack(
    values: np.ndarray, codes: np.ndarray, classes: tuple[str, ...], n_train: int = 0, *, unit: float = 1.0,
    zero: float = 0.0,
) -> bytes:  # fmt: skip
    """The canonical file.

    >>> content = pack(np.array([[1, 2]], "<i2"), np.array([1]), ("a", "b"))
    >>> content.split(b"\\n")[1]
    b'\\x01\\x00\\x02\\x00\\x01'
    """
    values = values.astype(values.dtype.newbyteorder("<"))
    header = {
        "classes": list(classes), "n_columns": values.shape[1], "n_rows": len(values), "n_train": int(n_train),
        "type": values.dtype.str, "unit": unit, "zero": zero,
    }  # fmt: skip
    return (
        json.dumps(header, sort_keys=True).encode("ascii") + b"\n" + values.tobytes() + bytes(codes.tolist())
    )


def parse(content: bytes) -> Table:
    """Read the canonical file.

    >>> parse(pack(np.array([[1, 2]], "<i2"), np.array([1]), ("a", "b"))).data
    array([[1., 2.]])
    """
    line, _, body = content.partition(b"\n")
    header = json.loads(line)
    shape = header["n_rows"], header["n_columns"]
    values = np.frombuffer(body, header["type"], shape[0] * shape[1]).reshape(shape).astype(float)
    if header["unit"] != 1.0:
        values = np.round(values * header["unit"] + header["zero"], 12)
    codes = np.frombuffer(body[len(body) - shape[0] :], np.uint8).astype(np.int64)
    return Table(values, codes, tuple(header["classes"]), header["n_train"])


def from_npz(raw: bytes) -> bytes:
    """Convert an ``.npz`` archive: ``X``, ``y`` from 0, ``classes`` in that order, perhaps ``n_train``.

    USPS has ``Xq`` instead, thousandths above -1, and its classes are digits. Pickled objects are refused.
    """
    with np.load(io.BytesIO(raw), allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    n_train = int(arrays.get("n_train", 0))
    if "Xq" in arrays:
        return pack(arrays["Xq"], arrays["y"], DIGITS, n_train, **_PIXEL)
    return pack(arrays["X"], arrays["y"], tuple(map(str, arrays["classes"])), n_train)


def from_letters(raw: bytes) -> bytes:
    """Convert ``letter-recognition.data``: a line is a capital and 16 numbers from 0 to 15, separated by commas.

    >>> parse(from_letters(b"T," + b",".join([b"3"] * 16) + b"\\n")).codes
    array([19])
    """
    lines = [line.split(",") for line in raw.decode("ascii").split()]
    codes = np.array([LETTERS.index(cells[0]) for cells in lines])
    return pack(np.array([cells[1:] for cells in lines]).astype(np.uint8), codes, LETTERS)


def from_segments(raw: bytes) -> bytes:
    """Convert ``segment.dat``: a line is 19 numbers and a class from 1 to 7, separated by spaces."""
    lines = [line.split() for line in raw.decode("ascii").splitlines() if line.strip()]
    codes = np.array([int(cells[-1]) - 1 for cells in lines])
    return pack(np.array([cells[:-1] for cells in lines]).astype(np.float32), codes, SEGMENTS)
