"""Constraints of users, checked against the sequence and against each other before anything is folded."""

from __future__ import annotations

import os
from collections.abc import Sequence

from palmette.apps.folding.records import RNARecord
from palmette.errors import DataFileError
from palmette.io.fasta import entries
from palmette.structures.folding.alphabet import letter_codes, reading
from palmette.structures.folding.brackets import BracketError, parse_brackets
from palmette.structures.folding.folding import Folding
from palmette.structures.folding.restrictions import FoldingRestriction

CHARACTERS = ".x()|<>"


def make_restriction(
    text: str, sequence: str, structure: Folding, where: str = "constraint"
) -> FoldingRestriction:
    """The structures that a constraint allows.

    Parameters
    ----------
    text : str
        A character for each position: ``.`` anything, ``x`` unpaired, ``(`` and ``)`` this pair, ``|`` paired, ``<``
        paired with a later position, ``>`` with an earlier one.
    sequence : str
    structure : Folding
        Which letters may pair, and how close.
    where : str
        What the constraint is called in messages.

    Raises
    ------
    ValueError
        Brackets without a partner, a pair of letters that may not pair, a pair that is too close, another length.

    Examples
    --------
    >>> make_restriction("(.x.)", "GAAAC", Folding()).partner
    array([ 5, -1,  0, -1,  1], dtype=int32)
    >>> make_restriction("(...)", "GAAAG", Folding())
    Traceback (most recent call last):
    ValueError: constraint: positions 0 and 4 are G and G, which may not pair (pairs='canonical'); leave the pair out
    """
    if len(text) != len(sequence):
        raise ValueError(f"{where} has {len(text)} characters, the sequence {len(sequence)} letters")
    for position, character in enumerate(text):
        if character not in CHARACTERS:
            raise ValueError(
                f"{where}, position {position}: {character!r} is none of {' '.join(CHARACTERS)}; correct it"
            )
    try:
        pairs = parse_brackets("".join(each if each in "()" else "." for each in text))
    except BracketError as error:
        raise ValueError(f"{where}, {error}") from error
    codes = letter_codes(sequence, where, reading(structure.alphabet))
    can_pair = structure.can_pair()
    for i, j in pairs:
        if j - i - 1 < structure.min_hairpin:
            raise ValueError(
                f"{where}: positions {i} and {j} are closer than min_hairpin={structure.min_hairpin} allows; leave the "
                "pair out"
            )
        if not can_pair[codes[i], codes[j]]:
            raise ValueError(
                f"{where}: positions {i} and {j} are {sequence[i]} and {sequence[j]}, which may not pair "
                f"(pairs={structure.pairs!r}); leave the pair out"
            )
    return FoldingRestriction.from_text([text])


def read_constraints(given: str, records: Sequence[RNARecord]) -> dict[str, str]:
    """Constraints by the names of sequences, from a file, or one string for a single sequence.

    Parameters
    ----------
    given : str
        The path of a file with ``>name``, perhaps the sequence, and the constraint; or a constraint itself.
    records : sequence of RNARecord
        What is to be folded.
    """
    if not os.path.exists(given):
        if set(given) <= set(CHARACTERS):
            if len(records) != 1:
                raise ValueError(
                    f"{given[:40]!r} constrains one sequence, and there are {len(records)}: give a file with '>name' "
                    "above each constraint"
                )
            return {records[0].name: given}
        raise FileNotFoundError(
            f"{given}: there is no such file, and it is no constraint of {' '.join(CHARACTERS)}"
        )
    known = {record.name: record for record in records}
    found: dict[str, str] = {}
    for name, source, lines in entries(given, None, headed=len(records) != 1):
        if len(records) == 1:
            name = records[0].name
        if name not in known:
            raise DataFileError(f"{source}: there is no sequence {name!r} to constrain")
        own = [text for _, text in lines if set(text) <= set(CHARACTERS)]
        if name in found or len(own) != 1:
            raise DataFileError(
                f"{source}: {name!r} has {len(own) or 'no'} constraints; give one for each sequence"
            )
        found[name] = own[0]
    return found
