"""The named weights of an alignment model, by rule; names are those of CONTRAlign's files where it has them.

A name says which parts of an alignment its weight counts for, and the score of a part is the sum of its weights. Pairs
of letters are written in alphabetical order, since a match does not tell which sequence comes first.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations_with_replacement
from typing import Final

from palmette.structures.alignment.alphabet import PROTEIN
from palmette.structures.alignment.batch import END, N_COUNTS

GROUPS: Final = ("substitution", "classes", "insertions", "hydropathy", "ends")
"""Groups of features that can be chosen; the scores of a match and of opening and extending gaps are always there."""

CLASSES: Final = ("AGPST", "C", "DENQ", "FWY", "HKR", "ILMV")
"""Amino acids that are alike."""


@cache
def class_of(letter: str) -> str:
    """The class of an amino acid, "" for other letters.

    >>> class_of("W"), class_of("X")
    ('FWY', '')
    """
    return next((own for own in CLASSES if letter in own), "")


def match_names(a: str, b: str, groups: tuple[str, ...], protein: bool) -> list[str]:
    """The weights of a match of two letters.

    >>> match_names("W", "F", ("substitution", "classes"), True)
    ['match', 'match_FW', 'match_FWYFWY']
    """
    names = ["match"]
    if "substitution" in groups:
        names.append("match_" + "".join(sorted((a, b))))
    if "classes" in groups and protein and class_of(a) and class_of(b):
        names.append("match_" + "".join(sorted((class_of(a), class_of(b)))))
    return list(dict.fromkeys(names))


def insert_names(letter: str, kind: int, groups: tuple[str, ...], protein: bool) -> list[str]:
    """The weights of a letter against a gap.

    >>> insert_names("W", 1, ("insertions", "classes"), True)
    ['insert2', 'insert_W', 'insert_FWY']
    """
    names = []
    if "insertions" in groups:
        names += ["insert2" if kind else "insert", f"insert_{letter}"]
        if "classes" in groups and protein and class_of(letter):
            names.append(f"insert_{class_of(letter)}")
    return list(dict.fromkeys(names))


def gap_names(
    first: bool, kind: int, context: int, groups: tuple[str, ...], protein: bool, free_ends: bool
) -> list[str]:
    """The weights of the first or a further letter of a gap in a context: 0..6 hydrophilic residues, or an end.

    >>> gap_names(True, 0, 2, ("hydropathy",), True, False)
    ['match_to_insert', 'match_to_insert_hydrophilic_count_2']
    >>> gap_names(False, 1, END, ("ends",), True, False), gap_names(True, 0, END, (), True, True)
    (['end_extend2'], [])
    """
    two = "2" if kind else ""
    if context == END and free_ends:
        return []
    if context == END and "ends" in groups:
        return [f"end_open{two}" if first else f"end_extend{two}"]
    names = [f"match_to_insert{two}" if first else f"insert{two}_extend"]
    if "hydropathy" in groups and protein and context != END:
        names.append(f"{'match' if first else f'insert{two}'}_to_insert{two}_hydrophilic_count_{context}")
    return names


@cache
def feature_names(
    letters: str, tracks: str, groups: tuple[str, ...], long_gaps: bool, free_ends: bool
) -> tuple[str, ...]:
    """All names, but for those of profiles and cells.

    >>> names = feature_names(PROTEIN, "", GROUPS, False, False)
    >>> len(names), names[:2], names[-1]
    (345, ('match', 'match_AA'), 'insert_change')
    """
    protein, kinds = letters == PROTEIN, (0, 1) if long_gaps else (0,)
    names: dict[str, None] = {}
    for a, b in combinations_with_replacement(letters, 2):
        names.update(dict.fromkeys(match_names(a, b, groups, protein)))
    for letter in letters:
        for kind in kinds:
            names.update(dict.fromkeys(insert_names(letter, kind, groups, protein)))
    for pair in combinations_with_replacement(sorted(tracks), 2):
        names["track_" + "".join(pair)] = None
    names.update(dict.fromkeys(f"track_insert_{value}" for value in tracks))
    for kind in kinds:
        for first in (True, False):
            for context in (*range(N_COUNTS), END):
                own = gap_names(first, kind, context, groups, protein, free_ends)
                names.update(dict.fromkeys(own))
    return (*names, "insert_change")
