"""n-gram kernels of strings and sequences: spectrum, with mismatches, of several lengths."""

from __future__ import annotations

from itertools import combinations
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy import sparse

from palmette.data.checks import check_array, check_codes, needed
from palmette.kernels.objects import (
    ObjectKernel,
    Symbols,
    feature_rows,
    revived_alphabet,
    stored_alphabet,
    symbols_of,
)
from palmette.registry import register

_TABLE = 2**22  # codes up to which ranks are looked up in a table, in linear time; more are sorted
_SPARSE = 4  # entries of such a table for each code, at most, if there are many codes
_WIDEST = 2**62  # codes that fit into int64
_MOST = 2**28  # neighbours of n-grams that are made at once


@register("kernel")
class NGram(ObjectKernel):
    r"""``K(x, y) = sum_g count_g(x) count_g(y)`` over n-grams g: contiguous runs of n symbols.

    Time is linear in the length of the sequences where there are at most four million n-grams over the alphabet, or
    four times as many as places; others are sorted.

    Parameters
    ----------
    n : int or sequence of int, default=3
        Length of n-grams, or several lengths, whose kernels are added.
    mismatches : int, default=0
        An n-gram also counts for all that differ from it in at most so many symbols (of the training alphabet).
    binary : bool, default=False
        Whether an n-gram occurs instead of how often.
    idf : bool, default=False
        Rare n-grams count more: features are multiplied by ``1 + ln((m + 1) / (d + 1))``, where d of the m training
        sequences have the n-gram, as in scikit-learn's ``TfidfVectorizer``.
    weights : sequence of float, optional
        Of the lengths ``n``; 1 by default.
    short : {"refuse", "zero"}, default="refuse"
        What becomes of a sequence without any n-gram: an error, or a row of zeros.
    normalize : bool, default=False
        Divide by ``sqrt(K(x, x) K(y, y))``.

    Examples
    --------
    >>> NGram(2)(["abab", "ba"])  # "ab" twice and "ba" once
    array([[5., 1.],
           [1., 1.]])
    >>> NGram(2, mismatches=1)(["ab"], ["ab", "bb", "ba"])
    array([[3., 2., 2.]])
    >>> (NGram((1, 2), weights=(0.5, 1.0), binary=True) ** 2)([["the", "cat"]], [["the", "dog"]])
    array([[0.25]])
    >>> NGram(1, idf=True)(["ab"], ["ab", "ac", "ad"])[0].round(2)  # all have "a", one has "b"
    array([3.87, 1.  , 1.  ])
    """

    def __init__(
        self,
        n: Any = 3,
        mismatches: int = 0,
        binary: bool = False,
        idf: bool = False,
        weights: Any = None,
        short: str = "refuse",
        normalize: bool = False,
    ) -> None:
        self.n = n
        self.mismatches = mismatches
        self.binary = binary
        self.idf = idf
        self.weights = weights
        self.short = short
        self.normalize = normalize

    @property
    def lengths(self) -> list[int]:
        """The lengths of n-grams."""
        return [int(n) for n in (self.n if np.iterable(self.n) else [self.n])]

    def check(self) -> None:
        """Refuse settings that make no sense."""
        super().check()
        given = list(self.n) if np.iterable(self.n) else [self.n]
        if not given or any(not isinstance(n, Integral) or isinstance(n, bool) or n < 1 for n in given):
            raise ValueError(f"NGram: n must be an integer of at least 1, or some of them, got {self.n!r}")
        if len(set(given)) < len(given):
            raise ValueError(f"NGram: n={self.n!r} names a length twice")
        if not isinstance(self.mismatches, Integral) or not 0 <= self.mismatches < min(given):
            raise ValueError(
                f"NGram: mismatches must be an integer from 0 to n - 1 = {min(given) - 1}, got {self.mismatches!r}"
            )
        own = [1.0] * len(given) if self.weights is None else list(self.weights)
        if len(own) != len(given) or any(not isinstance(w, Real) or not 0.0 < w < np.inf for w in own):
            raise ValueError(
                f"NGram: weights must be {len(given)} positive numbers, one for each length, got {self.weights!r}"
            )
        if not isinstance(self.idf, bool | np.bool_):
            raise ValueError(f"NGram: idf must be True or False, got {self.idf!r}")
        if self.short not in ("refuse", "zero"):
            raise ValueError(f"NGram: short must be 'refuse' or 'zero', got {self.short!r}")

    def learn(self, objects: list[Any]) -> None:
        """Alphabet, and the n-grams that have a column."""
        found, self.alphabet_ = symbols_of(objects, where=self.called)
        self.grams_: list[np.ndarray] = []  # of each length the n-grams by column, int32 (columns, n)
        self.owners_: list[
            np.ndarray
        ] = []  # how many training sequences have them, and the number of all behind
        for n in self.lengths:
            windows, _, _ = _windows(found, n)
            if self.mismatches:
                near, _ = self._near(windows)
                windows = near[_ranks(near)[1]]
            self.grams_.append(windows)
            if self.idf:
                known, _ = self._features(found, n, self.grams_[-1])
                owners = np.bincount(known.indices, minlength=known.shape[1])
                self.owners_.append(np.append(owners, len(objects)))

    @property
    def n_features(self) -> int:
        """Number of n-grams with a column."""
        return sum(map(len, self.grams_))

    def learned(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Alphabet and n-grams, and how many sequences have them."""
        arrays = dict(zip(map(str, self.lengths), self.grams_))
        arrays |= {f"owners_{n}": owners for n, owners in zip(self.lengths, self.owners_)}
        return {"alphabet": stored_alphabet(self.alphabet_)}, arrays

    def relearn(self, header: Any, arrays: Any) -> None:
        """Alphabet and n-grams, which must be made of it."""
        self.alphabet_ = revived_alphabet(header)
        self.grams_ = [check_array("n-grams", needed(arrays, str(n)), np.int32, 2) for n in self.lengths]
        for n, grams in zip(self.lengths, self.grams_):
            check_codes("n-grams", grams, len(self.alphabet_))
            if grams.shape[1] != n:
                raise ValueError(f"n-grams have {grams.shape[1]} symbols, expected {n}")
        names = [f"owners_{n}" for n in self.lengths] if self.idf else []
        self.owners_ = [check_array(name, needed(arrays, name), np.int64, 1) for name in names]
        for name, owners, grams in zip(names, self.owners_, self.grams_):
            if len(owners) != len(grams) + 1 or owners.min() < 0 or owners.max() > owners[-1]:
                raise ValueError(f"{name}: expected {len(grams)} numbers from 0 to the number behind them")

    def prepare(self, rows: Any) -> sparse.csr_array:
        """Counts of n-grams, times their factors."""
        found, _ = symbols_of(rows, self.alphabet_, self.called)
        if self.short == "refuse":
            _refuse_short(rows, found, min(self.lengths), self.called)
        blocks, rest = [], np.zeros(len(found.lengths))
        for (n, grams), (own, other) in zip(zip(self.lengths, self.grams_), self.factors()):
            known, unknown = self._features(found, n, grams)
            known.data *= own[known.indices]
            unknown.data *= other
            blocks.append(known)
            rest += np.asarray(unknown.multiply(unknown).sum(axis=1)).ravel()
        all_of = sparse.coo_array(sparse.hstack(blocks))
        return feature_rows(all_of.shape, all_of.row, all_of.col, all_of.data, rest)

    def factors(self) -> list[tuple[np.ndarray, float]]:
        """For each length the factors of n-grams with a column and that of all others: rarity, root of the weight."""
        found = []
        for k, grams in enumerate(self.grams_):
            root = 1.0 if self.weights is None else float(np.sqrt(self.weights[k]))
            own, other = _rarity(self.owners_[k]) if self.idf else (np.ones(len(grams)), 1.0)
            found.append((root * own, root * other))
        return found

    def _features(self, found: Symbols, n: int, grams: np.ndarray) -> tuple[Any, Any]:
        """Counts of the n-grams with a column, and of the others, which are numbered anew."""
        windows, counts = _counts(found, n)
        near, of = self._near(windows)
        ranks, _ = _ranks(np.concatenate([grams, near]))
        column = np.full(int(ranks.max(initial=-1)) + 1, -1)
        column[ranks[: len(grams)]] = np.arange(len(grams))
        ranks = ranks[len(grams) :]
        own, parts = column[ranks], []
        for chosen, columns, width in ((own >= 0, own, len(grams)), (own < 0, ranks, len(column))):
            if self.mismatches:
                each = (of[chosen], columns[chosen])
                spread = sparse.csr_array((np.ones(len(each[0])), each), shape=(len(windows), width))
                part = sparse.csr_array(counts @ spread)
            else:
                part = _moved(counts, chosen, columns, width)
            if self.binary:
                part.data[:] = 1.0
            parts.append(part)
        return parts[0], parts[1]

    def _near(self, windows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """All n-grams within ``mismatches`` of given ones, and whose neighbour each is; the neighbour itself too."""
        size, n = len(self.alphabet_), windows.shape[1]
        found, of = [windows], [np.arange(len(windows))]
        for k in range(1, int(self.mismatches) + 1):
            other = np.stack(np.meshgrid(*[np.arange(size)] * k, indexing="ij"), -1).reshape(-1, k)
            if len(windows) * len(other) > _MOST:
                raise ValueError(
                    f"{self!r}: {len(windows)} n-grams have about {len(windows) * len(other)} neighbours over an "
                    f"alphabet of {size} symbols; take fewer mismatches"
                )
            for places in combinations(range(n), k):
                new = np.repeat(windows, len(other), axis=0)
                new[:, places] = np.tile(other, (len(windows), 1))
                owner = np.repeat(np.arange(len(windows)), len(other))
                differs = np.all(new[:, places] != windows[owner][:, places], axis=1)
                found.append(new[differs])
                of.append(owner[differs])
        return np.concatenate(found), np.concatenate(of)


def _windows(found: Symbols, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The n-grams met, (n-grams, n), which of them each place has where one begins, and how many each sequence has."""
    places = np.arange(len(found.codes))
    begins = np.flatnonzero(places + n <= np.repeat(found.offsets[1:], found.lengths))
    m = max(len(found.codes) - n + 1, 0)
    codes, size = _joint([found.codes[k : k + m] for k in range(n)])
    ranks, first = _dense(codes[begins], size)
    of_each_place = sliding_window_view(found.codes if m else np.zeros(n, np.int32), n)
    return of_each_place[begins[first]], ranks, np.maximum(found.lengths - n + 1, 0)


def _counts(found: Symbols, n: int) -> tuple[np.ndarray, sparse.csr_array]:
    """The n-grams met, and how often every sequence has each of them."""
    windows, ranks, room = _windows(found, n)
    ends = np.concatenate([[0], np.cumsum(room)])
    counts = sparse.csr_array((np.ones(len(ranks)), ranks, ends), shape=(len(room), len(windows)))
    counts.sum_duplicates()
    return windows, counts


def _moved(counts: sparse.csr_array, chosen: np.ndarray, columns: np.ndarray, width: int) -> sparse.csr_array:
    """Some of the columns, at other places of a table of another width."""
    kept = chosen[counts.indices]
    ends = np.concatenate([[0], np.cumsum(kept)])[counts.indptr]
    entries = (counts.data[kept], columns[counts.indices[kept]], ends)
    return sparse.csr_array(entries, shape=(counts.shape[0], width))


def _rarity(owners: np.ndarray) -> tuple[np.ndarray, float]:
    """Factors of n-grams that so many sequences have, out of the last number, and of one that none has."""
    most = 1.0 + float(np.log(owners[-1] + 1.0))
    return most - np.log(owners[:-1] + 1.0), most


def _ranks(windows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ranks of n-grams in the order of their codes, and for each rank where it occurs first.

    >>> _ranks(np.array([[1, 0], [0, 5], [1, 0]], np.int32))
    (array([1, 0, 1]), array([1, 0]))
    """
    return _dense(*_joint(list(windows.T)))


def _joint(symbols: list[np.ndarray]) -> tuple[np.ndarray, int]:
    """Codes of the tuples that some arrays of symbols make side by side, and a number above all of them.

    >>> _joint([np.array([0, 1]), np.array([2, 0])])
    (array([2, 3]), 9)
    """
    base = max((int(each.max(initial=0)) for each in symbols), default=0) + 1
    codes, size = np.zeros(len(symbols[0]), np.int64), 1
    for symbol in symbols:
        if size > _WIDEST // base:
            codes, first = _dense(codes, size)
            size = len(first)
        codes *= base
        codes += symbol
        size *= base
    return codes, size


def _dense(codes: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Ranks of codes below ``size``, and for each rank where it occurs first."""
    if size > max(_TABLE, _SPARSE * len(codes)):
        _, first, ranks = np.unique(codes, return_index=True, return_inverse=True)
        return ranks.ravel(), first
    at = np.full(size, -1)
    at[codes[::-1]] = np.arange(len(codes))[::-1]  # of equal codes the first stays
    present = np.flatnonzero(at >= 0)
    first = at[present]
    at[present] = np.arange(len(present))
    return at[codes], first


def _refuse_short(objects: Any, found: Symbols, n: int, called: str) -> None:
    short = np.flatnonzero(found.lengths < n)
    if len(short):
        i = int(short[0])
        raise ValueError(
            f"{called}[{i}] = {objects[i]!r:.60} has {found.lengths[i]} symbols and hence no {n}-gram; take a smaller "
            "n, or short='zero', which makes it a row of zeros"
        )
