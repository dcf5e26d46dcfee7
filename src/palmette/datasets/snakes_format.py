"""Images of snakes in two file formats, both decoded to one canonical text.

The canonical text has one line an image, in the order of the original::

    part height width colours labels

``part`` is ``train`` or ``test``. Pixels go row by row: a colour is the digit red + 2 green + 4 blue, a label a
hexadecimal digit, 0 for the background and 1 to a from one end of the snake to the other.

The original is a Python pickle. It is read by an unpickler that knows five inert names and refuses all others, so no
code of the file, and none that it names, ever runs.
"""

from __future__ import annotations

import io
import pickle
from typing import Any, NamedTuple

import numpy as np

N_LABELS = 11


class Image(NamedTuple):
    """An image: its part, colour codes and labels, both of shape (height, width)."""

    part: str
    colours: np.ndarray
    labels: np.ndarray


def parse(text: bytes) -> list[Image]:
    """Read the canonical text.

    >>> parse(b"train 1 3 444 01a\\n")
    [Image(part='train', colours=array([[4, 4, 4]], dtype=uint8), labels=array([[ 0,  1, 10]], dtype=uint8))]
    """
    images = []
    for line in text.decode("ascii").splitlines():
        part, height, width, *digits = line.split(" ")
        grids = (np.array([int(digit, 16) for digit in each], np.uint8) for each in digits)
        images.append(Image(part, *(grid.reshape(int(height), int(width)) for grid in grids)))
    return images


def from_npz(raw: bytes) -> bytes:
    """Convert an ``.npz`` archive: X, shapeX, Y, shapeY (all images flattened, one after another) and n_train."""
    with np.load(io.BytesIO(raw), allow_pickle=False) as archive:
        pictures = _cut(archive["X"], archive["shapeX"])
        grids = _cut(archive["Y"], archive["shapeY"])
        n_train = int(archive["n_train"])
    return _convert(pictures[:n_train], grids[:n_train], pictures[n_train:], grids[n_train:])


def _cut(flat: np.ndarray, shapes: np.ndarray) -> list[np.ndarray]:
    ends = np.cumsum(shapes.prod(axis=1))
    return [part.reshape(shape) for part, shape in zip(np.split(flat, ends[:-1]), shapes.tolist())]


def _convert(*quarters: list[np.ndarray]) -> bytes:
    """The canonical text of images and labels for training, images and labels for testing."""
    lines = []
    for part, pictures, grids in zip(("train", "test"), quarters[::2], quarters[1::2]):
        if len(pictures) != len(grids):
            raise ValueError(f"{len(pictures)} images for {part}, but {len(grids)} grids of labels")
        for picture, grid in zip(pictures, grids):
            if picture.ndim != 3 or picture.shape[2] != 3 or picture.shape[:2] != grid.shape:
                raise ValueError(f"an image of shape {picture.shape} with labels of shape {grid.shape}")
            if not np.isin(picture, (0, 255)).all() or not np.isin(grid, range(N_LABELS)).all():
                raise ValueError("colours other than 0 and 255, or labels other than 0 to 10")
            colours = (picture > 0) @ np.array([1, 2, 4])
            digits = ("".join(f"{int(value):x}" for value in each.ravel()) for each in (colours, grid))
            lines.append(" ".join([part, *map(str, grid.shape), *digits]) + "\n")
    return "".join(lines).encode("ascii")


# -- the original ------------------------------------------------------------------------------------------------------


def from_pickle(raw: bytes) -> bytes:
    """Convert the original pickle: a dict with lists of arrays ``X_train``, ``Y_train``, ``X_test``, ``Y_test``."""
    try:
        found = _Reader(io.BytesIO(raw), encoding="latin-1").load()
    except (pickle.UnpicklingError, EOFError, AttributeError, TypeError, MemoryError) as error:
        raise ValueError(f"not the pickle of plain arrays that was expected: {error}") from error
    names = ("X_train", "Y_train", "X_test", "Y_test")
    if not isinstance(found, dict) or not set(names) <= set(found):
        raise ValueError(f"expected a dict with {', '.join(names)}")
    return _convert(*([_array(each) for each in found[name]] for name in names))


class _Record:
    """Stands for an array or its type: keeps what the pickle says of it and does nothing."""

    def __init__(self, *arguments: Any) -> None:
        self.arguments, self.state = arguments, ()

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.state = state


def _latin(text: str, _: str) -> bytes:
    return text.encode("latin-1")


class _Reader(pickle.Unpickler):
    """Builds tuples, lists, dicts, strings, numbers and records."""

    def find_class(self, module: str, name: str) -> Any:
        if module in ("numpy.core.multiarray", "numpy._core.multiarray") and name == "_reconstruct":
            return _Record
        if module == "numpy" and name in ("ndarray", "dtype"):
            return _Record
        if (module, name) == ("_codecs", "encode"):  # how bytes are written for old readers
            return _latin
        raise pickle.UnpicklingError(f"it names {module}.{name}")


def _array(record: Any) -> np.ndarray:
    """The array that a record describes."""
    if not isinstance(record, _Record) or len(record.state) != 5:
        raise ValueError("expected arrays")
    _, shape, kind, fortran, values = record.state
    letters = str(kind.arguments[0])
    if letters[:1] not in "biuf":
        raise ValueError(f"expected arrays of numbers, found {letters!r}")
    order = kind.state[1] if len(kind.state) > 1 and kind.state[1] in ("<", ">") else "="
    content = values.encode("latin-1") if isinstance(values, str) else values
    flat = np.frombuffer(content, np.dtype(letters).newbyteorder(order))
    return flat.reshape(shape, order="F" if fortran else "C")
