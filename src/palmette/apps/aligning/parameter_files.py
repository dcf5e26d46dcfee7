"""Parameter files: a line for each weight, its name and its value; those of CONTRAlign are translated."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from functools import cache
from typing import IO, Any

from palmette.apps.aligning.matrix_files import SubstitutionMatrix
from palmette.errors import DataFileError
from palmette.io.atomic import write_atomically
from palmette.io.lines import read_lines, source_name
from palmette.structures.alignment.alignment import Alignment
from palmette.structures.alignment.alphabet import PROTEIN, letters_of
from palmette.structures.alignment.feature_names import GROUPS, feature_names

_ONLY_THERE = ("match_to_match", "insert2_change")


@cache
def contralign_names() -> tuple[str, ...]:
    """The 362 names of CONTRAlign's files for proteins.

    >>> len(contralign_names())
    362
    """
    own = feature_names(PROTEIN, "", GROUPS, True, False)
    return (*(name for name in own if not name.startswith("end_")), *_ONLY_THERE)


def from_contralign(weights: Mapping[str, float]) -> dict[str, float]:
    """The weights of CONTRAlign as those of :class:`~palmette.Alignment` with long gaps; scores differ by a constant.

    CONTRAlign scores the steps between neighbouring columns. Two matches score ``match_to_match``; of K matches there
    are K - 1 such steps, less the gaps between matches, so this weight is added to ``match`` and taken from the opening
    of gaps. ``match_to_insert`` counts for the step into a gap and for that out of it, hence twice, and once at an end:
    read so, the published file gives core columns of PREFAB and HOMSTRAD a higher likelihood than if it counts once. A
    gap in one sequence beside one in the other is one gap: what is counted too often is given back to
    ``insert_change``, and ``insert2_change`` counts as that.

    >>> found = from_contralign({"match_to_match": 4.0, "match": 1.0, "match_to_insert": 0.5, "insert_change": -3.0})
    >>> found["match"], found["match_to_insert"], found["end_open"], found["insert_change"]
    (5.0, -3.0, 0.5, 0.0)
    """
    given = {name: weights.get(name, 0.0) for name in contralign_names()}
    step, change = given.pop("match_to_match"), given.pop("insert_change")
    given.pop("insert2_change")
    given["match"] += step
    given["insert_change"] = change + step - 2.0 * given["match_to_insert"]
    for two in ("", "2"):
        given[f"end_open{two}"] = given[f"match_to_insert{two}"]
        given[f"end_extend{two}"] = given[f"insert{two}_extend"]
    for name in given:
        if name.startswith("match_to_insert"):
            given[name] = 2.0 * given[name] - (0.0 if "hydrophilic" in name else step)
    return given


def read_parameters(path: str | os.PathLike[str], *, stream: IO[Any] | None = None) -> dict[str, float]:
    """Read weights by name: those that :func:`write_parameters` wrote, or CONTRAlign's, which are translated.

    ``.gz`` and ``.xz`` are unpacked.

    Raises
    ------
    DataFileError
        A name that is unknown or there twice, a value that is no finite number; of CONTRAlign's files also a name that
        is missing.

    Examples
    --------
    >>> import io
    >>> read_parameters("-", stream=io.StringIO("match_AA 1.5\\nend_open -2\\n"))
    {'match_AA': 1.5, 'end_open': -2.0}
    """
    file, number = source_name(path), 0
    weights: dict[str, float] = {}
    for number, raw in enumerate(read_lines(path, stream), 1):
        columns = raw.split()
        if not columns or columns[0].startswith("#"):
            continue
        where = f"{file}:{number}"
        if len(columns) != 2:
            raise DataFileError(f"{where}: {len(columns)} columns; a line is 'name value'")
        name, text = columns
        if name in weights:
            raise DataFileError(f"{where}: {name!r} is there twice; leave one out")
        if not name.replace("_", "").isalnum():
            raise DataFileError(f"{where}: {name[:60]!r} is no name of a weight")
        try:
            weights[name] = float(text)
        except ValueError:
            raise DataFileError(f"{where}: the value {text[:20]!r} of {name!r} is not a number") from None
        if not math.isfinite(weights[name]):
            raise DataFileError(f"{where}: the value of {name!r} is {text}; it must be finite")
    if not weights:
        raise DataFileError(f"{file}:{max(number, 1)}: there are no weights in the file")
    if "match_to_match" not in weights:
        return weights
    known = dict.fromkeys(contralign_names())
    foreign = [name for name in weights if name not in known]
    if foreign:
        raise DataFileError(f"{file}: {foreign[0]!r} is no weight of CONTRAlign's files")
    missing = [name for name in known if name not in weights]
    if missing:
        raise DataFileError(
            f"{file}:{number}: {len(missing)} of {len(known)} weights of CONTRAlign are missing, the first is "
            f"{missing[0]!r}"
        )
    return from_contralign(weights)


def write_parameters(path: str | os.PathLike[str], weights: Mapping[str, float]) -> None:
    """Write weights by name; the file appears when it is complete."""
    for name, value in weights.items():
        if not math.isfinite(value):
            raise ValueError(f"the weight {name!r} is {value!r}; it must be finite")
    with write_atomically(path) as file:
        for name, value in weights.items():
            file.write(f"{name} {value!r}\n".encode())


def matrix_weights(
    matrix: SubstitutionMatrix, structure: Alignment, open: float, extend: float
) -> dict[str, float]:
    """The weights by name that score as a substitution matrix with affine gaps does.

    Letters of the alphabet that the matrix lacks score its lowest score.
    """
    letters, lowest = letters_of(structure.alphabet), float(matrix.scores.min())
    weights = {"match_to_insert": float(open), "insert_extend": float(extend)}
    for i, x in enumerate(letters):
        for y in letters[i:]:
            known = x in matrix and y in matrix
            weights["match_" + "".join(sorted((x, y)))] = matrix[x, y] if known else lowest
    return weights
