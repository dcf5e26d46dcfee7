"""The layout of the tables: one flat vector of float64 with a section for each kind of loop feature.

Letters are A=0, C=1, G=2, U=3 and 4 for an unknown letter, whose entries are 0. A pair seen from inside (it closes a
loop) reads left letter ``s[i]``, right letter ``s[j]``, neighbours ``s[i+1]`` and ``s[j-1]``. A pair seen from outside
(a branch of a loop) is mirrored: left letter ``s[j]``, right letter ``s[i]``, neighbours ``s[j+1]`` and ``s[i-1]``.
"""

from __future__ import annotations

from math import prod
from typing import Final

LETTERS: Final = "ACGU"
N_LETTERS: Final = 5
UNKNOWN_LETTER: Final = 4
MAX_HAIRPIN: Final = 30
"""Hairpins with more unpaired positions score as this many."""
MAX_INTERIOR: Final = 30
"""Most unpaired positions of an interior loop or bulge that the tables have entries for."""

SHAPES: Final[dict[str, tuple[int, ...]]] = {
    "base_pair": (5, 5),  # s[i], s[j]; once for every pair
    "helix_stacking": (5, 5, 5, 5),  # s[i], s[j], s[i+1], s[j-1]
    "helix_closing": (5, 5),  # left, right letter of a junction
    "terminal_mismatch": (5, 5, 5, 5),  # left, right, neighbour of the left, neighbour of the right
    "dangle_left": (5, 5, 5),  # left, right, neighbour of the left
    "dangle_right": (5, 5, 5),  # left, right, neighbour of the right
    "hairpin_length": (31,),  # min(number of unpaired positions, 30)
    "interior": (31, 31),  # unpaired positions on the left and on the right; 0 on one side is a bulge
    "bulge_nucleotide": (5,),  # letter of a bulge of one
    "internal_1x1": (5, 5),  # the two unpaired letters of a 1x1 loop
    "multi_base": (),
    "multi_unpaired": (),
    "multi_paired": (),
    "external_unpaired": (),
    "external_paired": (),
}
"""Sections in their order, each in C order."""


def _starts() -> tuple[dict[str, int], int]:
    starts, at = {}, 0
    for name, shape in SHAPES.items():
        starts[name] = at
        at += prod(shape)
    return starts, at


START, TABLE_SIZE = _starts()
SLICES: Final[dict[str, slice]] = {
    name: slice(START[name], START[name] + prod(shape)) for name, shape in SHAPES.items()
}

# The same starts as constants for compiled loops.
BASE_PAIR: Final = START["base_pair"]
HELIX_STACKING: Final = START["helix_stacking"]
HELIX_CLOSING: Final = START["helix_closing"]
TERMINAL_MISMATCH: Final = START["terminal_mismatch"]
DANGLE_LEFT: Final = START["dangle_left"]
DANGLE_RIGHT: Final = START["dangle_right"]
HAIRPIN_LENGTH: Final = START["hairpin_length"]
INTERIOR: Final = START["interior"]
BULGE_NUCLEOTIDE: Final = START["bulge_nucleotide"]
INTERNAL_1X1: Final = START["internal_1x1"]
MULTI_BASE: Final = START["multi_base"]
MULTI_UNPAIRED: Final = START["multi_unpaired"]
MULTI_PAIRED: Final = START["multi_paired"]
EXTERNAL_UNPAIRED: Final = START["external_unpaired"]
EXTERNAL_PAIRED: Final = START["external_paired"]
