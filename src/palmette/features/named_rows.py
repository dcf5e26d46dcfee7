"""From dicts and lists of strings to numbered attributes, in blocks: no string outlives its block."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, ClassVar, NamedTuple

import numpy as np

from palmette.data.growing import Growing
from palmette.data.ragged import offsets_from_lengths
from palmette.data.sequences import listed
from palmette.features.attributes import SCALARS, attribute_name, attributes, describe, names_in_order
from palmette.features.base import check_lengths, place
from palmette.features.kinds import Kind, Layout, require_kind, samples_of
from palmette.features.texts import Spans, spans_of, spans_of_lines

_POSITIONS_A_PIECE = 4096
_PAIRS_REMEMBERED = 200_000

LookUp = Callable[[Spans], np.ndarray]


@dataclass(frozen=True)
class Stream:
    """Samples of named features that come one by one and are read once (`features.choose_encoder.admitted`)."""

    kind: ClassVar[Kind] = "names"
    samples: Iterator[Any]


class Entries(NamedTuple):
    """Attributes of all rows, in order: row r has ``columns[indptr[r]:indptr[r + 1]]``."""

    indptr: np.ndarray
    columns: np.ndarray  # int32; -1 for an attribute without a column
    values: np.ndarray | None  # None where all are 1
    offsets: np.ndarray  # rows of the samples


def encode_names(X: Any, layout: Layout, look_up: LookUp, allow_empty: bool) -> Entries:
    """The attributes of `X` by column.

    Parameters
    ----------
    X : samples of named features, or a `Stream` of them
    layout : {"sequences", "items"}
    look_up : callable
        Columns (int32) of some attribute names, such as ``TextIndex.find``.
    allow_empty : bool
        Whether sequences may be empty.

    Raises
    ------
    TypeError, ValueError
        What cannot be read, by sample and row; values that are NaN or infinite.
    """
    lengths: list[int] = []
    sizes, columns, values = Growing(np.int64), Growing(np.int32), None
    pairs = _Pairs()
    n_rows = 0
    for positions, own_lengths in _pieces(X, layout):
        lengths += own_lengths
        try:
            own_sizes, spans, own_values = _spelled(positions, pairs)
        except (TypeError, ValueError, OverflowError):
            _explain(positions, n_rows, lengths, layout)
            raise
        if own_values is not None and not np.isfinite(own_values).all():
            _explain(positions, n_rows, lengths, layout)
        n_rows += len(positions)
        sizes.append(own_sizes)
        if own_values is not None and values is None:
            values = Growing(float)
            values.append(np.ones(len(columns)))
        columns.append(look_up(spans))
        if values is not None:
            values.append(np.ones(len(columns) - len(values)) if own_values is None else own_values)
    check_lengths(np.array(lengths), allow_empty)
    return Entries(
        offsets_from_lengths(sizes.finished()),
        columns.finished(),
        None if values is None else values.finished(),
        offsets_from_lengths(lengths),
    )


# -- pieces -----------------------------------------------------------------------------------------------------


def _pieces(X: Any, layout: Layout) -> Iterator[tuple[list[Any], list[int]]]:
    """The positions of some samples at a time, and how many each sample has."""
    if isinstance(X, Stream):
        samples: Iterable[Any] = map(_listed_sample, X.samples)
    else:
        X = listed(X)
        require_kind(X, layout, "names")
        if layout == "items":
            positions = list(X)
            for start in range(0, len(positions), _POSITIONS_A_PIECE):
                piece = positions[start : start + _POSITIONS_A_PIECE]
                yield piece, [1] * len(piece)
            return
        samples = samples_of(X)
    positions, lengths = [], []
    for i, sample in enumerate(samples):
        if type(sample) is not list and not isinstance(sample, Sequence | np.ndarray):
            raise TypeError(
                f"X[{i}] must be a list of dicts or of lists of strings; found {describe(sample)}"
            )
        positions.extend(sample)
        lengths.append(len(sample))
        if len(positions) >= _POSITIONS_A_PIECE:
            yield positions, lengths
            positions, lengths = [], []
    if lengths:
        yield positions, lengths


def _listed_sample(sample: Any) -> Any:
    return list(sample) if isinstance(sample, Iterator) else sample


# -- the names of one piece -------------------------------------------------------------------------------------


def _spelled(positions: list[Any], pairs: _Pairs) -> tuple[np.ndarray, Spans, np.ndarray | None]:
    """For some positions: how many attributes each has, their names, and their values unless all are 1."""
    types = set(map(type, positions))
    if types <= {list, tuple}:
        return *_lists(positions), None
    if types <= {set, frozenset}:
        return *_lists([names_in_order(names) for names in positions]), None
    if types == {dict}:
        try:
            return *_dicts_of_strings(positions), None
        except (TypeError, ValueError):
            pass  # other values than strings, or line feeds
    flat = types == {dict} and _are_flat(positions)
    if not flat:
        positions = [attributes(position) for position in positions]
    sizes = np.fromiter(map(len, positions), np.int64, len(positions))
    return pairs.spelled(chain.from_iterable(map(dict.items, positions) if flat else positions), sizes)


def _lists(positions: list[Any]) -> tuple[np.ndarray, Spans]:
    sizes = np.fromiter(map(len, positions), np.int64, len(positions))
    filled = positions if sizes.all() else [names for names in positions if names]
    try:
        spans = spans_of_lines(map("\n".join, filled), int(sizes.sum()))
    except TypeError:  # bytes, or something that is not a name
        filled = [[attribute_name(name) for name in names] for names in filled]
        spans = None
    return sizes, spans_of(list(chain.from_iterable(filled))) if spans is None else spans


def _dicts_of_strings(positions: list[dict[str, Any]]) -> tuple[np.ndarray, Spans]:
    sizes = np.fromiter(map(len, positions), np.int64, len(positions))
    spans = spans_of_lines(
        ["\n".join(map(":".join, position.items())) for position in positions if position],
        int(sizes.sum()),
    )
    if spans is None:
        raise ValueError("a name has a line feed")
    return sizes, spans


def _are_flat(dicts: list[dict[str, Any]]) -> bool:
    """Whether every value is a string or a number, so that the items can be read as they are."""
    found = set(map(type, chain.from_iterable(map(dict.values, dicts))))
    return all(issubclass(kind, (str, *SCALARS)) for kind in found)


class _Pairs(dict[Any, Any]):
    """Attributes of the (key, value) pairs of flat dicts: a name, or (name, number), or None for a value of 0.

    Names are remembered, since most pairs come again; a dict that fills itself is read by ``map`` at the speed of C.
    """

    def __missing__(self, pair: tuple[Any, Any]) -> str | tuple[str, float] | None:
        name, value = attribute_name(pair[0]), pair[1]
        if isinstance(value, str):
            found: str | None = f"{name}:{attribute_name(value)}"
        elif value == 0:
            found = None
        elif value == 1:
            found = name
        else:
            return name, float(value)  # not remembered: numbers seldom come again, and would fill the memory
        self[pair] = found
        return found

    def spelled(self, items: Iterable[Any], sizes: np.ndarray) -> tuple[np.ndarray, Spans, np.ndarray | None]:
        """Sizes of the positions without zeros, names and values; ``items`` are the pairs of all positions."""
        if len(self) > _PAIRS_REMEMBERED:
            self.clear()
        found: list[Any] = list(map(self.__getitem__, items))
        kinds, values = set(map(type, found)), None
        if type(None) in kinds:
            kept_before = offsets_from_lengths([a is not None for a in found])
            sizes = np.diff(kept_before[offsets_from_lengths(sizes)])
            found = [a for a in found if a is not None]
        if tuple in kinds:
            values = np.array([a[1] if type(a) is tuple else 1.0 for a in found])
            found = [a[0] if type(a) is tuple else a for a in found]
        return sizes, spans_of(found), values


def _explain(positions: list[Any], n_rows: int, lengths: list[int], layout: Layout) -> None:
    """Raise the exact error of the first position that cannot be read; only called after a failure."""
    offsets = offsets_from_lengths(lengths)
    for row, position in enumerate(positions, n_rows):
        try:
            found = attributes(position)
        except (TypeError, ValueError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"{place(offsets, row, layout)}: {error}") from None
        for name, value in found:
            if not math.isfinite(value):
                raise ValueError(
                    f"{place(offsets, row, layout)}: attribute {name!r} is {value}; "
                    "NaN and infinite (inf) feature values are refused"
                )
