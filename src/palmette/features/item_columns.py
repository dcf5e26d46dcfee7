"""Columns of the items of dicts: each distinct pair of a name and a value is spelled once, then remembered."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from threading import Lock
from typing import Any

import numpy as np

from palmette.features.attributes import attribute_name
from palmette.features.texts import Spans, spans_of

LookUp = Callable[[Spans], np.ndarray]

TEXTS = (str, bytes, np.str_, np.bytes_)
NUMBERS = (
    bool, int, float, np.bool_, np.float16, np.float32, np.float64,
    np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64,
)  # fmt: skip
PLAIN = frozenset([*TEXTS, *NUMBERS])
"""Types of values for which equal values mean equal attributes, as ``True == 1 == 1.0`` do; others only look equal:
``Decimal(1)`` is no number here, and a subclass of str may ignore the case."""

_ITEMS_REMEMBERED = 200_000
_ZERO = 0  # number of all items whose value is 0; they have no column


class ItemColumns:
    """Columns and values of items, (name, value) with a value of a type in `PLAIN`; what is remembered is bounded.

    An item has a number, and the number a column. Items are looked up by one ``map`` at the speed of C: no string is
    made, save for those not met before, which are spelled all at once. Real numbers other than 0 and 1 are
    not remembered, since they seldom come again: only their names are.

    It serves one table of columns, and threads in turn. A copy, by pickle too, begins with nothing remembered.

    Examples
    --------
    >>> from palmette.features.texts import TextIndex
    >>> items = [("w", "the"), ("n", 2.5), ("cap", True), ("num", False), ("cap", 1)]
    >>> ItemColumns().look_up(items, 5, TextIndex().add)
    (array([ 0,  1,  2, -1,  2], dtype=int32), array([1. , 2.5, 1. , 1. , 1. ]))
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._forget()

    def __reduce__(self) -> tuple[type[ItemColumns], tuple[()]]:
        return ItemColumns, ()

    def _forget(self) -> None:
        self._numbers = _Numbers()
        self._columns = np.full(1, -1, np.int32)  # by number

    def look_up(
        self, items: Iterable[tuple[Any, Any]], count: int, columns_of: LookUp
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Columns (int32, -1 for none) of `count` items, and their values unless all are 1 or of no column.

        Names not met before are given to `columns_of`, in order.
        """
        with self._lock:
            if len(self._numbers) > _ITEMS_REMEMBERED:
                self._forget()
            try:
                numbers = np.fromiter(map(self._numbers.__getitem__, items), np.int64, count)
                names, reals = self._numbers.taken()
                if names:
                    self._columns = np.append(self._columns, columns_of(spans_of(names)))
            except BaseException:
                self._forget()  # some have a number and no column
                raise
            columns = self._columns
        if not reals:
            return columns[numbers], None
        values = np.ones(count)
        values[numbers < 0] = reals
        return columns[np.where(numbers < 0, ~numbers, numbers)], values


class _Numbers(dict[tuple[Any, Any], int]):
    """Numbers of items, from 0 in order of appearance; ``~number`` is the name with a real number for a value."""

    def __init__(self) -> None:
        self._given = _ZERO + 1
        self._names: list[str] = []
        self._reals: list[float] = []

    def __missing__(self, item: tuple[Any, Any]) -> int:
        name, value = item
        if isinstance(value, (str, bytes)):
            spelled = f"{attribute_name(name)}:{attribute_name(value)}"
        elif value == 0:
            attribute_name(name)
            self[item] = _ZERO
            return _ZERO
        elif value == 1:
            spelled = attribute_name(name)
        else:
            self._reals.append(float(value))
            return ~self[name, 1]
        self._names.append(spelled)
        number = self[item] = self._given
        self._given += 1
        return number

    def taken(self) -> tuple[list[str], list[float]]:
        """Names that got numbers, and reals that came, since the last call."""
        taken = self._names, self._reals
        self._names, self._reals = [], []
        return taken
