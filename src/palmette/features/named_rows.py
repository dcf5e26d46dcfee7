"""From dicts and lists of strings to numbered attributes, in blocks: no string outlives its block."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, ClassVar, NamedTuple

import numpy as np

from palmette.data.growing import Growing
from palmette.data.ragged import offsets_from_lengths
from palmette.data.sequences import listed
from palmette.features.attributes import attribute_name, attributes, describe, names_in_order
from palmette.features.base import check_lengths, place
from palmette.features.item_columns import PLAIN, ItemColumns, LookUp
from palmette.features.kinds import Kind, Layout, require_kind, samples_of
from palmette.features.text_lists import read_lists
from palmette.features.texts import Spans, spans_of, spans_of_lines

_POSITIONS_A_PIECE = 8192
FEW_POSITIONS = 4096  # up to here Python joins strings sooner than the kernel for lists is compiled


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


def encode_names(
    X: Any, layout: Layout, look_up: LookUp, allow_empty: bool, known: ItemColumns | None = None
) -> Entries:
    """The attributes of `X` by column.

    Parameters
    ----------
    X : samples of named features, or a `Stream` of them
    layout : {"sequences", "items"}
    look_up : callable
        Columns (int32) of some attribute names, such as ``TextIndex.find``.
    allow_empty : bool
        Whether sequences may be empty.
    known : ItemColumns, optional
        What an earlier call with the same `look_up` remembered.

    Raises
    ------
    TypeError, ValueError
        What cannot be read, by sample and row; values that are NaN or infinite.
    """
    lengths, sizes, columns, values = Growing(np.int64), Growing(np.int64), Growing(np.int32), None
    known = ItemColumns() if known is None else known
    for samples in _pieces(X, layout):
        try:
            own_lengths, own_sizes, own_columns, own_values = _attributes(samples, look_up, known)
        except (TypeError, ValueError, OverflowError):
            _explain(samples, len(sizes), lengths, layout)
            raise
        if own_values is not None and not np.isfinite(own_values).all():
            _explain(samples, len(sizes), lengths, layout)
        lengths.append(own_lengths)
        sizes.append(own_sizes)
        if own_values is not None and values is None:
            values = Growing(float)
            values.append(np.ones(len(columns)))
        columns.append(own_columns)
        if values is not None:
            values.append(np.ones(len(columns) - len(values)) if own_values is None else own_values)
    n_rows = lengths.finished() if layout == "sequences" else np.ones(len(sizes), np.int64)
    check_lengths(n_rows, allow_empty)
    return Entries(
        offsets_from_lengths(sizes.finished()),
        columns.finished(),
        None if values is None else values.finished(),
        offsets_from_lengths(n_rows),
    )


# -- pieces -----------------------------------------------------------------------------------------------------


def _pieces(X: Any, layout: Layout) -> Iterator[list[Any]]:
    """Some samples at a time; in the layout "items", where a sample is a position, one list of them for all."""
    if isinstance(X, Stream):
        samples: Iterable[Any] = map(_listed_sample, X.samples)
    else:
        X = listed(X)
        require_kind(X, layout, "names")
        if layout == "items":
            positions = list(X)
            for start in range(0, len(positions), _POSITIONS_A_PIECE):
                yield [positions[start : start + _POSITIONS_A_PIECE]]
            return
        samples = samples_of(X)
    piece: list[Any] = []
    n_positions = 0
    for i, sample in enumerate(samples):
        if type(sample) is not list and not isinstance(sample, Sequence | np.ndarray):
            raise TypeError(
                f"X[{i}] must be a list of dicts or of lists of strings; found {describe(sample)}"
            )
        piece.append(sample)
        n_positions += len(sample)
        if n_positions >= _POSITIONS_A_PIECE:
            yield piece
            piece, n_positions = [], 0
    if piece:
        yield piece


def _listed_sample(sample: Any) -> Any:
    return list(sample) if isinstance(sample, Iterator) else sample


# -- the attributes of one piece --------------------------------------------------------------------------------


def _has_lists(samples: list[Any]) -> bool:
    """Whether the first position is a list or a tuple, as the others will be then."""
    first = next((sample[0] for sample in samples if len(sample)), None)
    return isinstance(first, (list, tuple))


def _attributes(
    samples: list[Any], look_up: LookUp, known: ItemColumns
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
    """Positions of each sample; for each of them how many attributes it has; columns; values unless all are 1."""
    many = sum(map(len, samples)) > FEW_POSITIONS
    read = read_lists(samples) if many and _has_lists(samples) else None
    if read is not None:
        return read.lengths, np.diff(read.indptr), look_up(read.spans)[read.texts], None
    lengths = np.fromiter(map(len, samples), np.int64, len(samples))
    positions = list(chain.from_iterable(samples))
    types = set(map(type, positions))
    if types <= {list, tuple}:
        sizes, spans = _lists(positions)
        return lengths, sizes, look_up(spans), None
    if types <= {set, frozenset}:
        sizes, spans = _lists([names_in_order(names) for names in positions])
        return lengths, sizes, look_up(spans), None
    if types == {dict} and PLAIN.issuperset(map(type, chain.from_iterable(map(dict.values, positions)))):
        items = map(dict.items, positions)
    else:
        positions = list(map(_items, positions))
        items = map(iter, positions)
    sizes = np.fromiter(map(len, positions), np.int64, len(positions))
    return lengths, sizes, *known.look_up(chain.from_iterable(items), int(sizes.sum()), look_up)


def _items(position: Any) -> Collection[tuple[Any, Any]]:
    """The items of a plain dict as they are, the attributes of what is not."""
    plain = type(position) is dict and PLAIN.issuperset(map(type, position.values()))
    return position.items() if plain else attributes(position)


def _lists(positions: list[Any]) -> tuple[np.ndarray, Spans]:
    sizes = np.fromiter(map(len, positions), np.int64, len(positions))
    filled = positions if sizes.all() else [names for names in positions if names]
    try:
        spans = spans_of_lines(map("\n".join, filled), int(sizes.sum()))
    except TypeError:  # bytes, or something that is not a name
        filled = [[attribute_name(name) for name in names] for names in filled]
        spans = None
    return sizes, spans_of(list(chain.from_iterable(filled))) if spans is None else spans


def _explain(samples: list[Any], n_rows: int, lengths: Growing, layout: Layout) -> None:
    """Raise the exact error of the first position that cannot be read; only called after a failure.

    ``n_rows`` and ``lengths`` tell what came before these samples.
    """
    offsets = offsets_from_lengths([*lengths.finished(), *map(len, samples)])
    for row, position in enumerate(chain.from_iterable(samples), n_rows):
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
