"""Probing data as soft evidence: reactivities of positions become scores of being unpaired."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from palmette.apps.folding.records import RNARecord
from palmette.errors import DataFileError
from palmette.io.fasta import entries

SLOPE, INTERCEPT = 1.8, -0.6
MISSING = -500.0
"""Values below this (usually -999) say that nothing was measured."""


def shape_scores(reactivities: Any, slope: float = SLOPE, intercept: float = INTERCEPT) -> np.ndarray:
    """Scores of being unpaired, ``slope * log(1 + reactivity) + intercept``; 0 where nothing was measured.

    The form is that of Deigan et al. (PNAS 2009), with one term for every position. Scores are in nats, as those of the
    model: at a score of 1, being unpaired is e times as likely as before.

    Parameters
    ----------
    reactivities : array of shape (n,)
        Normalised, about 0 to 2; NaN or below -500 where nothing was measured, negative ones count as 0.

    Examples
    --------
    >>> shape_scores([0.0, 1.0, -999.0]).round(2)
    array([-0.6 ,  0.65,  0.  ])
    """
    values = np.asarray(reactivities, float)
    known = ~np.isnan(values) & (values > MISSING)
    return np.where(known, slope * np.log1p(np.where(known, np.maximum(values, 0.0), 0.0)) + intercept, 0.0)


def read_evidence(path: str | os.PathLike[str], records: Sequence[RNARecord]) -> dict[str, np.ndarray]:
    """Read values of positions, by the names of sequences; NaN where there is none.

    A line is ``position value`` or ``position letter value``; positions count from 1. Values below -500 and ``NA`` are
    missing. Where there are several sequences, ``>name`` stands above the lines of each.

    Raises
    ------
    DataFileError
        A position that the sequence does not have, or that is there twice; another letter than in the sequence.
    """
    known = {record.name: record for record in records}
    found: dict[str, np.ndarray] = {}
    for name, source, lines in entries(path, None, headed=len(records) != 1):
        if len(records) == 1:
            name = records[0].name
        if name not in known:
            raise DataFileError(f"{source}: there is no sequence {name!r} that this evidence could be of")
        if name in found:
            raise DataFileError(
                f"{source}: a second list of evidence of {name!r}; give one for each sequence"
            )
        values, seen = np.full(len(known[name]), np.nan), set()
        for number, text in lines:
            where = f"{source.rpartition(':')[0]}:{number}"
            position, letter, value = _parsed(text, where)
            if not 1 <= position <= len(values):
                raise DataFileError(
                    f"{where}: position {position} is outside of {name!r}, which has {len(values)} letters; "
                    "positions count from 1"
                )
            own = known[name].sequence[position - 1]
            if letter and _as_rna(letter) != _as_rna(own):
                raise DataFileError(
                    f"{where}: position {position} is {letter!r} here, and {own!r} in the sequence"
                )
            if position in seen:
                raise DataFileError(f"{where}: position {position} is there twice; leave one line out")
            seen.add(position)
            values[position - 1] = value if value > MISSING else np.nan
        found[name] = values
    return found


def _parsed(text: str, where: str) -> tuple[int, str, float]:
    columns = text.replace(",", " ").split()
    try:
        if len(columns) not in (2, 3):
            raise ValueError
        value = float("nan") if columns[-1].upper() in ("NA", "NAN") else float(columns[-1])
        if np.isinf(value):
            raise ValueError
        return int(columns[0]), columns[1] if len(columns) == 3 else "", value
    except ValueError:
        raise DataFileError(
            f"{where}: {text[:40]!r} is not 'position value' or 'position letter value'"
        ) from None


def _as_rna(letter: str) -> str:
    return letter.upper().replace("T", "U")
