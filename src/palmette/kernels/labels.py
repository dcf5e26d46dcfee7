"""Kernels of whole objects and of sequences position by position: Dirac and Hamming."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse

from palmette.data.checks import check_whole
from palmette.kernels.objects import (
    ObjectKernel,
    feature_rows,
    hashable,
    revived_alphabet,
    stored_alphabet,
    symbols_of,
)
from palmette.registry import register


@register("kernel")
class Dirac(ObjectKernel):
    """``K(x, y) = 1`` if x and y are equal, else 0; of any hashable objects, lists and arrays.

    Examples
    --------
    >>> Dirac()(["a", "b"], ["b", "c", "b"])
    array([[0., 0., 0.],
           [1., 0., 1.]])
    """

    def learn(self, objects: list[Any]) -> None:
        """The distinct objects, in order of appearance."""
        self.values_ = list(dict.fromkeys(self._key(value, i) for i, value in enumerate(objects)))

    @property
    def n_features(self) -> int:
        """Number of distinct objects."""
        return len(self.values_)

    def learned(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """The distinct objects."""
        return {"alphabet": stored_alphabet(self.values_)}, {}

    def relearn(self, header: Any, arrays: Any) -> None:
        """The distinct objects."""
        self.values_ = revived_alphabet(header)

    def prepare(self, rows: Any) -> sparse.csr_array:
        """Indicators of the training objects."""
        code = {value: k for k, value in enumerate(self.values_)}
        columns = np.array([code.get(self._key(value, i), -1) for i, value in enumerate(rows)], np.int64)
        own = np.flatnonzero(columns >= 0)
        shape = (len(columns), len(code))
        return feature_rows(shape, own, columns[own], np.ones(len(own)), (columns < 0).astype(float))

    def _key(self, value: Any, i: int) -> Any:
        key = hashable(value)
        try:
            hash(key)
        except TypeError:
            raise TypeError(
                f"{self.called}[{i}] is not hashable, a {type(value).__name__}: {value!r:.60}; Dirac compares hashable "
                "objects, such as strings and tuples"
            ) from None
        return key


@register("kernel")
class Hamming(ObjectKernel):
    """Number of places at which two sequences have the same symbol: length of the longer minus Hamming distance.

    ``K(x, x)`` is the length of x, so that predictions of a regression, which are shrunken, favour short outputs. With
    ``blank`` sequences are filled up with a blank symbol to one length, and ``K(x, x)`` is that length.

    Parameters
    ----------
    blank : bool, default=False
    length : int, optional
        To which sequences are filled up; by default that of the longest training sequence.
    normalize : bool, default=False
        Divide by ``sqrt(K(x, x) K(y, y))``.

    Examples
    --------
    >>> Hamming()(["ab", "abcd"])
    array([[2., 2.],
           [2., 4.]])
    >>> Hamming(blank=True)(["ab", "abcd"])
    array([[4., 2.],
           [2., 4.]])
    """

    def __init__(self, blank: bool = False, length: int | None = None, normalize: bool = False) -> None:
        self.blank = blank
        self.length = length
        self.normalize = normalize

    def check(self) -> None:
        """Refuse settings that make no sense."""
        super().check()
        if not isinstance(self.blank, bool | np.bool_):
            raise ValueError(f"Hamming: blank must be True or False, got {self.blank!r}")
        if self.length is not None and (not isinstance(self.length, Integral) or self.length < 1):
            raise ValueError(
                f"Hamming: length must be an integer of at least 1, or None, got {self.length!r}"
            )

    def learn(self, objects: list[Any]) -> None:
        """Alphabet and length of the columns."""
        found, self.alphabet_ = symbols_of(objects, where=self.called)
        longest = int(found.lengths.max(initial=0))
        if self.length is not None and longest > self.length:
            i = int(found.lengths.argmax())
            raise ValueError(
                f"{self.called}[{i}] = {objects[i]!r:.60} has {longest} symbols, more than "
                f"length={self.length} of Hamming"
            )
        self.length_ = longest if self.length is None else int(self.length)
        if self.blank:
            self.length = self.length_  # a setting from training, like gamma="scale" of other kernels

    @property
    def width(self) -> int:
        """Columns of a place: its symbols and, if there is one, the blank behind them."""
        return len(self.alphabet_) + bool(self.blank)

    @property
    def n_features(self) -> int:
        """Places times symbols."""
        return self.length_ * self.width

    def learned(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Alphabet and length."""
        return {"alphabet": stored_alphabet(self.alphabet_), "length": self.length_}, {}

    def relearn(self, header: Any, arrays: Any) -> None:
        """Alphabet and length."""
        self.alphabet_ = revived_alphabet(header)
        self.length_ = check_whole("length", header.get("length"))

    def prepare(self, rows: Any) -> sparse.csr_array:
        """Indicators of (place, symbol), one place after the other."""
        found, _ = symbols_of(rows, self.alphabet_, self.called)
        owner, place, codes = found.owner, found.place, found.codes.astype(np.int64)
        known = (codes < len(self.alphabet_)) & (place < self.length_)
        rest = np.bincount(owner[~known], minlength=len(found.lengths)).astype(float)
        owner, columns = owner[known], place[known] * self.width + codes[known]
        if self.blank:
            free = np.maximum(self.length_ - found.lengths, 0)
            empty = np.repeat(np.arange(len(free)), free)
            at = self.length_ - 1 - (np.arange(len(empty)) - np.repeat(np.cumsum(free) - free, free))
            owner = np.concatenate([owner, empty])
            columns = np.concatenate([columns, (at + 1) * self.width - 1])
        shape = (len(found.lengths), self.n_features)
        return feature_rows(shape, owner, columns, np.ones(len(owner)), rest)
