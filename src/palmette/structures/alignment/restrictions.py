"""Which alignments are allowed: forced and forbidden matches, positions that must or may not be against a gap."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from palmette.contracts.structure import Allowed
from palmette.data.annotation import Annotation, Known
from palmette.data.ragged import gather, offsets_from_lengths
from palmette.structures.alignment.tables import AlignmentTables, cells_of

CLASH = np.iinfo(np.int32).max
"""A code that no position can have."""


@dataclass(frozen=True)
class AlignmentRestriction(Allowed):
    """What alignments may be; None leaves that free, and ``a & b`` is what both allow.

    Parameters
    ----------
    gaps : ndarray of bool, shape (n_kinds, n_positions), optional
        Positions that may be against a gap of each kind.
    matches : ndarray of bool, shape (sum of n m,), optional
        Of each sample a rectangle: matches (i, j) that may be.
    codes : ndarray of int32, shape (n_positions,), optional
        -1: anything; 0: this position is against a short gap; j + 1: it is matched with position j of the other
        sequence; 1 + the length of both sequences: it is against a long gap.
    contradicts : ndarray of int or Annotation, optional
        An annotation that the alignment must contradict somewhere.

    Examples
    --------
    >>> AlignmentRestriction.of([(3, 2)], forced=[[(0, 1)]], gaps=[([2], [])]).codes
    array([ 2, -1,  0, -1,  1], dtype=int32)
    """

    gaps: np.ndarray | None = None
    matches: np.ndarray | None = None
    codes: np.ndarray | None = None
    contradicts: Any = None

    @classmethod
    def of(
        cls,
        lengths: Sequence[tuple[int, int]],
        *,
        forced: Sequence[Iterable[tuple[int, int]]] | None = None,
        forbidden: Sequence[Iterable[tuple[int, int]]] | None = None,
        gaps: Sequence[tuple[Iterable[int], Iterable[int]]] | None = None,
        matched: Sequence[tuple[Iterable[int], Iterable[int]]] | None = None,
        n_kinds: int = 1,
    ) -> AlignmentRestriction:
        """Lists for every pair of lengths: matches that must be and may not be, and positions of both sequences.

        Parameters
        ----------
        lengths : sequence of (int, int)
        forced, forbidden : sequence of iterables of (i, j), optional
        gaps, matched : sequence of two iterables of positions, optional
            Positions of the first and of the second sequence that are against a gap, or matched with anything.
        n_kinds : int
            2 if there are long gaps; ``gaps`` then allows either kind.
        """
        offsets = offsets_from_lengths([n + m for n, m in lengths])
        starts = cells_of(offsets, np.array([n for n, _ in lengths], np.int64))
        codes = np.full(int(offsets[-1]), -1, np.int32)
        may = np.ones((n_kinds, int(offsets[-1])), bool)
        mask = np.ones(int(starts[-1]), bool)
        for s, (n, m) in enumerate(lengths):
            lo = int(offsets[s])
            own = mask[starts[s] : starts[s + 1]].reshape(n, m)
            for which, size, at in ((0, n, lo), (1, m, lo + n)):
                for t in () if gaps is None else gaps[s][which]:
                    t = _position(t, size, s)
                    if n_kinds == 1:
                        _set(codes, at + t, 0, s, which, t)
                    else:
                        (own[t] if which == 0 else own[:, t])[...] = False
                for t in () if matched is None else matched[s][which]:
                    may[:, at + _position(t, size, s)] = False
            last = (-1, -1)
            for i, j in sorted(() if forced is None else (_match(each, n, m, s) for each in forced[s])):
                if i > last[0] and j <= last[1]:
                    raise ValueError(
                        f"sample {s}: the forced matches {last} and {(i, j)} cross; positions of both sequences "
                        "must increase together"
                    )
                _set(codes, lo + i, j + 1, s, 0, i)
                _set(codes, lo + n + j, i + 1, s, 1, j)
                last = i, j
            for each in () if forbidden is None else forbidden[s]:
                own[_match(each, n, m, s)] = False
        return cls(None if may.all() else may, None if mask.all() else mask, codes)

    def __and__(self, other: AlignmentRestriction) -> AlignmentRestriction:
        """What both allow."""
        if self.contradicts is not None and other.contradicts is not None:
            raise ValueError("two annotations to contradict at once: give one of them")
        return AlignmentRestriction(
            _both(self.gaps, other.gaps, np.logical_and),
            _both(self.matches, other.matches, np.logical_and),
            _both(self.codes, other.codes, _agreed),
            other.contradicts if self.contradicts is None else self.contradicts,
        )

    def take(self, samples: np.ndarray, offsets: np.ndarray, starts: np.ndarray) -> AlignmentRestriction:
        """The restriction of some samples of a batch with these offsets, whose cells begin at ``starts``."""
        samples = np.asarray(samples, np.int64)
        rows = gather(offsets, samples)[0]
        return AlignmentRestriction(
            None if self.gaps is None else np.ascontiguousarray(self.gaps[:, rows]),
            None if self.matches is None else self.matches[gather(starts, samples)[0]],
            None if self.codes is None else self.codes[rows],
            None if self.contradicts is None else self.contradicts[rows],
        )

    def check(self, theta: AlignmentTables) -> None:
        """Compare shapes and codes with the potentials before any work starts."""
        for name, array, dtype, shape in (
            ("gaps", self.gaps, bool, theta.unit.shape),
            ("matches", self.matches, bool, (int(theta.starts[-1]),)),
            ("codes", self.codes, np.int32, theta.letters.shape),
        ):
            if array is None:
                continue
            if not isinstance(array, np.ndarray) or array.dtype != dtype or array.shape != shape:
                raise ValueError(
                    f"within.{name} must be {np.dtype(dtype)} of shape {shape}, got {array!r:.60}"
                )
            if not array.flags.c_contiguous:
                raise ValueError(f"within.{name} must be contiguous: use np.ascontiguousarray")
        if self.contradicts is not None:
            check_annotation(self.contradicts, theta)


def check_annotation(annotation: Known, theta: AlignmentTables) -> None:
    """Refuse an annotation of other positions, or of partners that a sample does not have."""
    codes = annotation.codes if isinstance(annotation, Annotation) else np.asarray(annotation)
    if codes.shape != theta.letters.shape:
        raise ValueError(f"the annotation has shape {codes.shape}, expected {theta.letters.shape}")
    single = annotation.known if isinstance(annotation, Annotation) else codes
    most = theta.others
    long = (single == theta.long_codes) & (theta.n_kinds == 2)
    wrong = np.flatnonzero((single < -1) | ((single > most) & ~long))
    if len(wrong):
        t = int(wrong[0])
        raise ValueError(f"the annotation has the code {single[t]} at position {t}, expected -1..{most[t]}")


def possible_parts(annotation: Known, theta: AlignmentTables) -> tuple[np.ndarray, np.ndarray]:
    """Which gaps and matches may be, bool (n_kinds, n_positions) and cells, as an annotation says.

    A match is possible if both its ends may have the other as partner. An alignment agrees with the annotation just
    if all its parts are possible.
    """
    check_annotation(annotation, theta)
    gaps, cells = np.empty(theta.unit.shape, bool), np.empty(int(theta.starts[-1]), bool)
    starts, lengths = theta.starts.tolist(), np.diff(theta.offsets).tolist()
    for s, (lo, n, length) in enumerate(zip(theta.offsets.tolist(), theta.splits.tolist(), lengths)):
        m = length - n
        may = _possible_codes(annotation[lo : lo + length], length, length + 2)
        gaps[:, lo : lo + length] = may[:, [0, length + 1][: theta.n_kinds]].T
        cells[starts[s] : starts[s + 1]] = (may[:n, 1 : m + 1] & may[n:, 1 : n + 1].T).ravel()
    return gaps, cells


def _possible_codes(annotation: Known, n: int, n_codes: int) -> np.ndarray:
    """Which codes each of n positions may have, bool (n, n_codes)."""
    if isinstance(annotation, Annotation) and annotation.sets is not None:
        codes, kinds, sets = annotation.codes, annotation.n_kinds, annotation.sets
    else:
        codes = annotation.codes if isinstance(annotation, Annotation) else np.asarray(annotation)
        kinds, sets = n_codes, np.empty((0, n_codes), bool)
    may = np.zeros((n, n_codes), bool)
    single = np.flatnonzero((codes >= 0) & (codes < kinds))
    may[single, codes[single]] = True
    may[codes < 0] = True
    for t in np.flatnonzero(codes >= kinds).tolist():
        width = min(n_codes, sets.shape[1])
        may[t, :width] = sets[codes[t] - kinds, :width]
    return may


def agreeing(theta: AlignmentTables, annotation: Known) -> AlignmentRestriction:
    """The restriction to alignments that agree with an annotation."""
    check_annotation(annotation, theta)
    if isinstance(annotation, Annotation) and annotation.sets is not None and len(annotation.sets):
        return AlignmentRestriction(*possible_parts(annotation, theta))
    codes = annotation.codes if isinstance(annotation, Annotation) else annotation
    return AlignmentRestriction(codes=np.ascontiguousarray(codes, np.int32))


def _both(a: Any, b: Any, function: Any) -> Any:
    return b if a is None else a if b is None else function(a, b)


def _agreed(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Codes that both want; where they differ one that cannot be."""
    out = np.where(a < 0, b, a)
    out[(a >= 0) & (b >= 0) & (a != b)] = CLASH
    return out


def _position(t: Any, n: int, s: int) -> int:
    if not isinstance(t, int | np.integer) or not 0 <= t < n:
        raise ValueError(f"sample {s}: {t!r} is no position, expected 0..{n - 1}")
    return int(t)


def _match(pair: Any, n: int, m: int, s: int) -> tuple[int, int]:
    i, j = pair
    return _position(i, n, s), _position(j, m, s)


def _set(codes: np.ndarray, at: int, code: int, s: int, which: int, t: int) -> None:
    if codes[at] not in (-1, code):
        raise ValueError(
            f"sample {s}: the constraints contradict each other at position {t} (0-based) of the "
            f"{('first', 'second')[which]} sequence: {_words(int(codes[at]))} and {_words(code)}"
        )
    codes[at] = code


def _words(code: int) -> str:
    return "against a gap" if code == 0 else f"matched with {code - 1}"
