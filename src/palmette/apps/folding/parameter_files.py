"""CONTRAfold's parameter files: a line for each weight, its name and its value."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import IO, Any

import numpy as np

from palmette.errors import DataFileError
from palmette.io.atomic import write_atomically
from palmette.io.lines import read_lines, source_name
from palmette.structures.folding.feature_names import feature_names


def read_parameters(path: str | os.PathLike[str], *, stream: IO[Any] | None = None) -> dict[str, float]:
    """Read all weights of CONTRAfold's model, by name.

    The files of CONTRAfold and EternaFold have the same 708 names, which
    :func:`palmette.structures.folding.feature_names.feature_names` lists. ``.gz`` and ``.xz`` are unpacked.

    Raises
    ------
    DataFileError
        A name that is unknown, missing or there twice, or a value that is no finite number.

    Examples
    --------
    >>> import io
    >>> text = "\\n".join(f"{name} 0.5" for name in feature_names())
    >>> weights = read_parameters("-", stream=io.StringIO(text))
    >>> len(weights), weights["base_pair_CG"]
    (708, 0.5)
    """
    file, number = source_name(path), 0
    known = dict.fromkeys(feature_names())
    weights: dict[str, float] = {}
    for number, raw in enumerate(read_lines(path, stream), 1):
        columns = raw.split()
        if not columns or columns[0].startswith("#"):
            continue
        where = f"{file}:{number}"
        if len(columns) != 2:
            raise DataFileError(f"{where}: {len(columns)} columns; a line is 'name value'")
        name, text = columns
        if name not in known:
            raise DataFileError(
                f"{where}: {name[:60]!r} is no weight of the model; the names are those of CONTRAfold's files"
            )
        if name in weights:
            raise DataFileError(f"{where}: {name!r} is there twice; leave one out")
        try:
            weights[name] = float(text)
        except ValueError:
            raise DataFileError(f"{where}: the value {text[:20]!r} of {name!r} is not a number") from None
        if not math.isfinite(weights[name]):
            raise DataFileError(f"{where}: the value of {name!r} is {text}; it must be finite")
    missing = [name for name in known if name not in weights]
    if missing:
        raise DataFileError(
            f"{file}:{max(number, 1)}: {len(missing)} of {len(known)} weights are missing, the first is {missing[0]!r}"
        )
    return {name: weights[name] for name in known}


def write_parameters(path: str | os.PathLike[str], weights: Mapping[str, float]) -> None:
    """Write weights by name, so that CONTRAfold and others read them; the file appears when it is complete.

    Weights that are missing are 0; a name that the files do not have is refused.
    """
    values = _vector(weights)
    with write_atomically(path) as file:
        for name, value in zip(feature_names(), values.tolist()):
            file.write(f"{name} {value!r}\n".encode())


def _vector(weights: Mapping[str, float]) -> np.ndarray:
    """Weights in the order of the files."""
    known = feature_names()
    foreign = sorted(set(weights) - set(known))
    if foreign:
        raise ValueError(f"{foreign[0]!r} is no weight of CONTRAfold's files ({len(foreign)} such names)")
    values = np.array([weights.get(name, 0.0) for name in known], float)
    if not np.isfinite(values).all():
        name = known[int(np.flatnonzero(~np.isfinite(values))[0])]
        raise ValueError(f"the weight {name!r} is {weights[name]!r}; it must be finite")
    return values
