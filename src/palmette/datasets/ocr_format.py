"""Handwritten words in three file formats, all decoded to one canonical text.

The canonical text has one line per word, in the order of the original file::

    fold word pixels

``fold`` is a digit, ``word`` its letters, and ``pixels`` 32 hexadecimal digits per letter: the 16 x 8 binary
image row by row, the first pixel being the highest bit. Lines end in a line feed; the text is ASCII.
"""

from __future__ import annotations

import io
from typing import NamedTuple

import numpy as np

from palmette.datasets.decode import gunzip

LETTERS = "abcdefghijklmnopqrstuvwxyz"
IMAGE_SHAPE = (16, 8)
N_PIXELS = IMAGE_SHAPE[0] * IMAGE_SHAPE[1]
N_FOLDS = 10
_N_COLUMNS = 6 + N_PIXELS
_LETTER_SET = frozenset(LETTERS)
_FOLD_SET = frozenset(map(str, range(N_FOLDS)))
_BIT_SET = frozenset("01")


class Words(NamedTuple):
    """Parsed canonical text.

    Attributes
    ----------
    words : list of str
    folds : ndarray of int64, shape (n_words,)
    pixels : ndarray of uint8, shape (n_letters, 128)
        Zeros and ones, the letters of all words one after the other.
    """

    words: list[str]
    folds: np.ndarray
    pixels: np.ndarray


def parse(text: bytes) -> Words:
    """Read the canonical text.

    >>> words = parse(b"3 ab " + b"80" + b"0" * 60 + b"01" + b"\\n")
    >>> words.words, words.folds, words.pixels.shape, words.pixels[0, :2]
    (['ab'], array([3]), (2, 128), array([1, 0], dtype=uint8))
    """
    folds, words, pixels = zip(*(line.split(" ") for line in text.decode("ascii").splitlines()))
    packed = np.frombuffer(bytes.fromhex("".join(pixels)), np.uint8).reshape(-1, N_PIXELS // 8)
    return Words(list(words), np.array([int(fold) for fold in folds]), np.unpackbits(packed, axis=1))


def from_npz(raw: bytes) -> bytes:
    """Convert an ``.npz`` archive to the canonical text.

    It has ``pixels`` (uint8, letters x 16: the bits of each image, packed), ``labels`` (0..25), ``offsets``
    (word ``i`` is the letters ``offsets[i]:offsets[i + 1]``) and ``folds``. Pickled objects are refused.
    """
    with np.load(io.BytesIO(raw), allow_pickle=False) as archive:
        pixels, labels, offsets, folds = (archive[key] for key in ("pixels", "labels", "offsets", "folds"))
    lines = []
    for fold, start, stop in zip(folds, offsets[:-1], offsets[1:]):
        word = "".join(LETTERS[code] for code in labels[start:stop])
        lines.append(f"{fold} {word} {pixels[start:stop].tobytes().hex()}\n")
    return "".join(lines).encode("ascii")


def from_letter_data(raw: bytes) -> bytes:
    """Convert the original ``letter.data`` to the canonical text.

    A line is a letter, with columns separated by tabs: id, letter, id of the next letter (-1 at the end of a
    word), word id, position, fold, and 128 pixels row by row. The word id and the position are not used.
    """
    lines: list[str] = []
    letters: list[str] = []
    images: list[str] = []
    number = 0
    for number, line in enumerate(raw.decode("ascii").splitlines(), start=1):
        columns = line.rstrip("\t ").split("\t")  # the lines of the original end in a tab
        if len(columns) != _N_COLUMNS:
            raise ValueError(f"line {number}: expected {_N_COLUMNS} columns, found {len(columns)}")
        _, letter, following, _, _, fold = columns[:6]
        bits = "".join(columns[6:])
        if (
            letter not in _LETTER_SET
            or fold not in _FOLD_SET
            or len(bits) != N_PIXELS
            or set(bits) - _BIT_SET
        ):
            raise ValueError(f"line {number}: expected a letter a..z, a fold 0..9 and pixels 0 or 1")
        letters.append(letter)
        images.append(f"{int(bits, 2):0{N_PIXELS // 4}x}")
        if following == "-1":
            lines.append(f"{fold} {''.join(letters)} {''.join(images)}\n")
            letters, images = [], []
    if letters or not lines:
        raise ValueError(f"line {number}: the file ends inside a word")
    return "".join(lines).encode("ascii")


def from_letter_data_gz(raw: bytes) -> bytes:
    """Convert the original ``letter.data.gz`` to the canonical text."""
    return from_letter_data(gunzip(raw))
