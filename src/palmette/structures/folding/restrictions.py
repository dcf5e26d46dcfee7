"""Which structures are allowed: forced and forbidden pairs, positions that must or may not be unpaired."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from palmette.contracts.structure import Allowed
from palmette.data.annotation import Annotation, Known
from palmette.data.ragged import gather, offsets_from_lengths
from palmette.structures.folding.tables import FoldingTables, squares_of, take_squares


@dataclass(frozen=True)
class FoldingRestriction(Allowed):
    """What structures may be; None leaves that free, and ``a & b`` is what both allow.

    Parameters
    ----------
    unpaired : ndarray of bool, shape (n_positions,), optional
        Positions that may be unpaired.
    pairs : ndarray of bool, shape (sum of n^2,), optional
        Of each sample a square: pairs (i, j), i < j, that may be.
    partner : ndarray of int32, shape (n_positions,), optional
        -1: anything; 0: this position is unpaired; j + 1: it is paired with position j of its sample.
    contradicts : ndarray of int or Annotation, optional
        An annotation that the structure must contradict somewhere.

    Examples
    --------
    >>> FoldingRestriction.of([5], forced=[[(0, 4)]], unpaired=[[2]]).partner
    array([ 5, -1,  0, -1,  1], dtype=int32)
    >>> FoldingRestriction.from_text(["(.x.)"]).partner
    array([ 5, -1,  0, -1,  1], dtype=int32)
    """

    unpaired: np.ndarray | None = None
    pairs: np.ndarray | None = None
    partner: np.ndarray | None = None
    contradicts: Any = None

    @classmethod
    def of(
        cls,
        lengths: Sequence[int],
        *,
        forced: Sequence[Iterable[tuple[int, int]]] | None = None,
        forbidden: Sequence[Iterable[tuple[int, int]]] | None = None,
        unpaired: Sequence[Iterable[int]] | None = None,
        paired: Sequence[Iterable[int]] | None = None,
    ) -> FoldingRestriction:
        """Lists for every sample: pairs that must be, pairs that may not be, unpaired and paired positions."""
        offsets = offsets_from_lengths(lengths)
        partner = np.full(int(offsets[-1]), -1, np.int32)
        may = np.ones(int(offsets[-1]), bool)
        mask = None if forbidden is None else np.ones(int(squares_of(offsets)[-1]), bool)
        for s, n in enumerate(lengths):
            lo = int(offsets[s])
            for t in () if unpaired is None else unpaired[s]:
                _set(partner, lo, _position(t, n, s), 0, s)
            for pair in () if forced is None else forced[s]:
                i, j = _pair(pair, n, s)
                _set(partner, lo, i, j + 1, s)
                _set(partner, lo, j, i + 1, s)
            for t in () if paired is None else paired[s]:
                may[lo + _position(t, n, s)] = False
            if mask is not None and forbidden is not None:
                for pair in forbidden[s]:
                    i, j = _pair(pair, n, s)
                    mask[squares_of(offsets)[s] + i * n + j] = False
        return cls(None if may.all() else may, mask, partner)

    @classmethod
    def from_text(cls, texts: Sequence[str]) -> FoldingRestriction:
        """Constraints as other folders write them, a character for each position.

        ``.`` anything, ``x`` unpaired, ``(`` and ``)`` this pair, ``|`` paired, ``<`` paired with a later position,
        ``>`` with an earlier one.
        """
        lengths = [len(text) for text in texts]
        offsets = offsets_from_lengths(lengths)
        squares = squares_of(offsets)
        one_sided = any(set(text) & set("<>") for text in texts)
        mask = np.ones(int(squares[-1]), bool) if one_sided else None
        forced, unpaired, paired = [], [], []
        for s, text in enumerate(texts):
            open_, own = [], []
            for t, letter in enumerate(text):
                if letter == "(":
                    open_.append(t)
                elif letter == ")":
                    if not open_:
                        raise ValueError(f"constraint {s}, position {t} (0-based): ')' closes no '('")
                    own.append((open_.pop(), t))
                elif letter not in ".x|<>":
                    raise ValueError(
                        f"constraint {s}, position {t} (0-based): {letter!r} is none of . x ( ) | < >"
                    )
            if open_:
                raise ValueError(f"constraint {s}, position {open_[-1]} (0-based): '(' is never closed")
            forced.append(own)
            unpaired.append([t for t, letter in enumerate(text) if letter == "x"])
            paired.append([t for t, letter in enumerate(text) if letter in "|<>"])
            if mask is not None:
                square = mask[squares[s] : squares[s + 1]].reshape(len(text), len(text))
                for t, letter in enumerate(text):
                    if letter == "<":
                        square[:t, t] = False
                    elif letter == ">":
                        square[t, t + 1 :] = False
        found = cls.of(lengths, forced=forced, unpaired=unpaired, paired=paired)
        return FoldingRestriction(found.unpaired, mask, found.partner)

    def __and__(self, other: FoldingRestriction) -> FoldingRestriction:
        """What both allow."""
        if self.contradicts is not None and other.contradicts is not None:
            raise ValueError("two annotations to contradict at once: give one of them")
        partner = _both(self.partner, other.partner, _agreed)
        contradicts = other.contradicts if self.contradicts is None else self.contradicts
        return FoldingRestriction(
            _both(self.unpaired, other.unpaired, np.logical_and),
            _both(self.pairs, other.pairs, np.logical_and),
            partner,
            contradicts,
        )

    def take(self, samples: np.ndarray, offsets: np.ndarray) -> FoldingRestriction:
        """The restriction of some samples of a batch with these offsets."""
        samples = np.asarray(samples, np.int64)
        rows = gather(offsets, samples)[0]
        pairs = None if self.pairs is None else take_squares(self.pairs, offsets, samples)
        free, partner = (None if own is None else own[rows] for own in (self.unpaired, self.partner))
        return FoldingRestriction(
            free, pairs, partner, None if self.contradicts is None else self.contradicts[rows]
        )

    def check(self, theta: FoldingTables) -> None:
        """Compare shapes and codes with the potentials before any work starts."""
        n = len(theta.letters)
        for name, array, dtype, size in (
            ("unpaired", self.unpaired, bool, n),
            ("pairs", self.pairs, bool, int(theta.squares[-1])),
            ("partner", self.partner, np.int32, n),
        ):
            if array is None:
                continue
            if not isinstance(array, np.ndarray) or array.dtype != dtype or array.shape != (size,):
                raise ValueError(
                    f"within.{name} must be {np.dtype(dtype)} of shape ({size},), got {array!r:.60}"
                )
            if not array.flags.c_contiguous:
                raise ValueError(f"within.{name} must be contiguous: use np.ascontiguousarray")
        if self.contradicts is not None:
            check_annotation(self.contradicts, theta)


def check_annotation(annotation: Known, theta: FoldingTables) -> None:
    """Refuse an annotation of other positions, or of partners that a sample does not have."""
    codes = annotation.codes if isinstance(annotation, Annotation) else np.asarray(annotation)
    if codes.shape != theta.letters.shape:
        raise ValueError(f"the annotation has shape {codes.shape}, expected {theta.letters.shape}")
    lengths = np.repeat(np.diff(theta.offsets), np.diff(theta.offsets))
    single = codes if not isinstance(annotation, Annotation) else annotation.known
    wrong = np.flatnonzero((single < -1) | (single > lengths))
    if len(wrong):
        t = int(wrong[0])
        raise ValueError(
            f"the annotation has the code {single[t]} at position {t}, expected -1..{lengths[t]}"
        )


def possible_parts(annotation: Known, theta: FoldingTables) -> tuple[np.ndarray, np.ndarray]:
    """Which positions may be unpaired and which pairs may be, bool (n_positions,) and squares, as an annotation says.

    A pair is possible if both its ends may have the other as partner. A structure agrees with the annotation just if
    all its parts are possible.
    """
    check_annotation(annotation, theta)
    free = np.empty(len(theta.letters), bool)
    pairs = np.empty(int(theta.squares[-1]), bool)
    codes = annotation.codes if isinstance(annotation, Annotation) else np.asarray(annotation)
    kinds = annotation.n_kinds if isinstance(annotation, Annotation) and annotation.sets is not None else None
    for s, (lo, hi) in enumerate(zip(theta.offsets[:-1].tolist(), theta.offsets[1:].tolist())):
        n, own = hi - lo, codes[lo:hi]
        may = np.zeros((n, n + 1), bool)
        single = (own >= 0) & ((own < kinds) if kinds is not None else True)
        may[np.flatnonzero(single), np.minimum(own[single], n)] = True
        may[own < 0] = True
        for t in np.flatnonzero((own >= 0) & ~single):
            allowed = annotation.sets[own[t] - kinds]  # type: ignore[union-attr]
            width = min(n + 1, len(allowed))
            may[t, :width] = allowed[:width]
        free[lo:hi] = may[:, 0]
        pairs[theta.squares[s] : theta.squares[s + 1]] = (may[:, 1:] & may[:, 1:].T).ravel()
    return free, pairs


def agreeing(theta: FoldingTables, annotation: Known) -> FoldingRestriction:
    """The restriction to structures that agree with an annotation."""
    check_annotation(annotation, theta)
    if isinstance(annotation, Annotation) and annotation.sets is not None and len(annotation.sets):
        free, pairs = possible_parts(annotation, theta)
        return FoldingRestriction(free, pairs)
    codes = annotation.codes if isinstance(annotation, Annotation) else annotation
    return FoldingRestriction(partner=np.ascontiguousarray(codes, np.int32))


def _both(a: Any, b: Any, function: Any) -> Any:
    return b if a is None else a if b is None else function(a, b)


def _agreed(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Partners that both want; where they differ something that cannot be: a position that is its own partner."""
    out = np.where(a < 0, b, a)
    clash = (a >= 0) & (b >= 0) & (a != b)
    out[clash] = np.iinfo(np.int32).max
    return out


def _position(t: Any, n: int, s: int) -> int:
    if not isinstance(t, int | np.integer) or not 0 <= t < n:
        raise ValueError(f"sample {s}: {t!r} is no position, expected 0..{n - 1}")
    return int(t)


def _pair(pair: Any, n: int, s: int) -> tuple[int, int]:
    i, j = (_position(t, n, s) for t in pair)
    if i == j:
        raise ValueError(f"sample {s}: position {i} cannot pair with itself")
    return min(i, j), max(i, j)


def _set(partner: np.ndarray, lo: int, t: int, code: int, s: int) -> None:
    if partner[lo + t] not in (-1, code):
        raise ValueError(
            f"sample {s}: the constraints contradict each other at position {t} (0-based): "
            f"{_words(int(partner[lo + t]))} and {_words(code)}"
        )
    partner[lo + t] = code


def _words(code: int) -> str:
    return "unpaired" if code == 0 else f"paired with {code - 1}"
