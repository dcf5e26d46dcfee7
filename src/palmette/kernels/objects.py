"""Kernels of objects: strings, sequences, paths and labels as sparse rows, whose products are kernel values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy import sparse

from palmette.data.checks import entry
from palmette.data.flat_labels import Codes
from palmette.data.outside import refuse_masked, refuse_unordered
from palmette.data.plain_objects import from_json, to_json
from palmette.data.ragged import offsets_from_lengths
from palmette.kernels.base import Kernel
from palmette.kernels.rows import Rows, products, squared_norms

_TEXTS = {str, np.str_}


def as_objects(X: Any, where: str = "X") -> list[Any]:
    """A list of objects; one string would be a list of characters, and is refused, as are sets and mappings.

    Strings of NumPy become plain ones.

    >>> as_objects(np.array(["ab", "c"])), as_objects([np.str_("ab")])
    (['ab', 'c'], ['ab'])
    """
    if isinstance(X, str | bytes) or not isinstance(X, Iterable):
        raise TypeError(f"{where} must be a list of objects, got {type(X).__name__}: {X!r:.60}")
    refuse_unordered(X, where)
    refuse_masked(X, where)
    found = X.tolist() if isinstance(X, np.ndarray) else list(X)
    return [str(each) for each in found] if found and set(map(type, found)) <= _TEXTS else found


def hashable(value: Any) -> Any:
    """An object as a key: lists and arrays become tuples, NumPy's scalars plain ones.

    >>> hashable([1, np.int64(2), ["a"]])
    (1, 2, ('a',))
    """
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    return tuple(map(hashable, value)) if isinstance(value, list | tuple) else value


class Symbols(NamedTuple):
    """Sequences as codes of their symbols, one after the other; codes from ``len(alphabet)`` on are new symbols."""

    codes: np.ndarray  # int32
    offsets: np.ndarray

    @property
    def lengths(self) -> np.ndarray:
        """Length of each sequence."""
        return np.diff(self.offsets)

    @property
    def owner(self) -> np.ndarray:
        """The sequence of every symbol."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)

    @property
    def place(self) -> np.ndarray:
        """The place of every symbol in its sequence."""
        return np.arange(len(self.codes)) - np.repeat(self.offsets[:-1], self.lengths)


def symbols_of(
    objects: Sequence[Any], alphabet: Sequence[Any] = (), where: str = "X"
) -> tuple[Symbols, list[Any]]:
    """Sequences (strings, or sequences of hashables) as codes, and the alphabet with the new symbols behind it.

    >>> symbols_of(["ab", "", "ca"], "ab")
    (Symbols(codes=array([0, 1, 2, 0], dtype=int32), offsets=array([0, 2, 2, 4])), ['a', 'b', 'c'])
    """
    for i, value in enumerate(objects):
        if not hasattr(value, "__len__") or isinstance(value, dict | set | frozenset):
            raise TypeError(
                f"{where}[{i}] must be a string or a sequence of symbols, got {type(value).__name__}: {value!r:.60}"
            )
    offsets, known = offsets_from_lengths(list(map(len, objects))), Codes(zip(alphabet, range(len(alphabet))))
    if all(type(value) is str for value in objects):
        letters = np.frombuffer("".join(objects).encode("utf-32-le", "surrogatepass"), np.uint32)
        found, places = np.unique(letters, return_inverse=True)
        order = np.array([known[chr(letter)] for letter in found.tolist()], np.int32)
        return Symbols(order[places] if len(order) else np.empty(0, np.int32), offsets), list(known)
    try:
        each = map(known.__getitem__, map(hashable, chain.from_iterable(objects)))
        codes = np.fromiter(each, np.int32, int(offsets[-1]))
    except TypeError as error:
        raise TypeError(f"a symbol of {where} is not hashable: {error}") from None
    return Symbols(codes, offsets), list(known)


class ObjectKernel(Kernel):
    """A kernel of objects by explicit features, ``K(x, y) = <phi(x), phi(y)>``.

    :meth:`bind` learns the columns from training objects; ``prepare(objects)`` makes their sparse rows. What a new
    object has outside of the columns cannot match a training object, but counts for its norm. So there is one more
    column, the last, which is 0 for training objects and has the length of the rest for others: products with training
    objects and norms are right, also under powers, sums and ``normalize``. Products of two new objects are not.
    """

    objects: ClassVar[bool] = True

    @property
    def surely_definite(self) -> bool:
        """Inner products are."""
        return True

    def bind(self, rows: Any) -> Self:
        """The same kernel, which knows the features of training objects."""
        self.check()
        own = self.anew()
        own.learn(as_objects(rows, self.called))
        return own

    def learn(self, objects: list[Any]) -> None:
        """Set the columns that training objects need."""
        raise NotImplementedError

    def prepare(self, rows: Any) -> sparse.csr_array:
        """Features of objects, shape (n, columns + 1)."""
        raise NotImplementedError

    @property
    def n_features(self) -> int:
        """Number of columns, without that of the rest."""
        raise NotImplementedError

    def check_support(self, name: str, rows: Rows, n_columns: int) -> None:
        """As many columns as there are features."""
        super().check_support(name, rows, self.n_features + 1)

    def _cross(self, X: Rows, Y: Rows) -> np.ndarray:
        return products(X, Y)

    def _diagonal(self, X: Rows) -> np.ndarray:
        return squared_norms(X)


def stored_alphabet(symbols: Sequence[Any]) -> list[Any]:
    """Symbols as JSON values."""
    return list(map(to_json, symbols))


def revived_alphabet(header: Any) -> list[Any]:
    """Inverse of :func:`stored_alphabet`."""
    symbols = list(map(from_json, entry(header, "alphabet", list, "the kernel")))
    if len(set(symbols)) < len(symbols):
        raise ValueError("the alphabet of a kernel names a symbol twice")
    return symbols


def feature_rows(
    shape: tuple[int, int], rows: np.ndarray, columns: np.ndarray, values: np.ndarray, rest: np.ndarray
) -> sparse.csr_array:
    """CSR rows of entries (``rows``, ``columns``, ``values``), and ``sqrt(rest)`` as their last column."""
    beside = np.flatnonzero(rest)
    rows = np.concatenate([rows, beside])
    columns = np.concatenate([columns, np.full(len(beside), shape[1])])
    values = np.concatenate([values, np.sqrt(rest[beside])])
    return sparse.csr_array((values, (rows, columns)), shape=(shape[0], shape[1] + 1), dtype=float)
