"""Alignments as codes and back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from palmette.data.annotation import UNKNOWN, UNKNOWN_CODE, Annotation, OneOf
from palmette.data.labels import LabelCodec
from palmette.data.outside import refuse_masked
from palmette.data.ragged import Ragged
from palmette.data.sequences import listed
from palmette.errors import ModelFileError
from palmette.registry import register
from palmette.structures.alignment.outputs import Coded, is_partners, matches_of

FORMS = ("matches", "partners")
CLASSES = ("gap", "match")


@register("codec", "matches")
class AlignmentCodec(LabelCodec):
    """Alignments to codes and back; positions count from 0.

    The codes of a pair are those of the first sequence, then those of the second: 0 against a gap, ``j + 1`` matched
    with position j of the other sequence, -1 unknown, and with long gaps 1 + the length of both against a long gap.
    ``predict`` answers with lists of matches (i, j), or, if ``fit`` was given partners, with the partner of each
    position, -1 for a gap.

    Examples
    --------
    >>> codec = AlignmentCodec("partners")
    >>> codes = codec.encode_outputs([[0, -1, 1, 0, 2]], [5])
    >>> codes, codec.decode(codes)
    (array([1, 0, 2, 1, 3], dtype=int32), [0, -1, 1, 0, 2])
    >>> AlignmentCodec().decode(codes)
    [(0, 0), (2, 1)]
    """

    def __init__(self, form: str = "matches", long_gaps: bool = False) -> None:
        super().__init__(CLASSES)
        self.form, self.long_gaps = form, long_gaps

    @classmethod
    def from_outputs(cls, Y: Any, long_gaps: bool = False) -> AlignmentCodec:
        """The codec of the form of the first output that shows one."""
        form = next(
            ("partners" if is_partners(y) else "matches" for y in alignments(Y, "y") if len(y)), "matches"
        )
        return cls(form, long_gaps)

    def encode_outputs(self, Y: Any, lengths: Sequence[int] | np.ndarray) -> np.ndarray:
        """Codes (int32) of alignments; lengths are those of both sequences. -1 where several are possible."""
        return self.encode_annotation(Y, lengths).known

    def encode_annotation(
        self, Y: Any, lengths: Sequence[int] | np.ndarray, layout: str = "sequences"
    ) -> Annotation:
        """What alignments say that may be known in part; with long gaps a gap may be of either kind."""
        sizes = [int(n) for n in lengths]
        own = [_coded(y, n, f"y[{i}]") for i, (y, n) in enumerate(zip(alignments(Y, "y"), sizes))]
        if self.long_gaps:
            own = [_either_gap(codes, n) for codes, n in zip(own, sizes)]
        if all(isinstance(codes, np.ndarray) for codes in own):
            return Annotation(np.concatenate([np.empty(0, np.int32), *own]).astype(np.int32), None)
        n_kinds = max(sizes) + 2
        sets = dict.fromkeys(code for codes in own for code in codes if isinstance(code, frozenset))
        place = {each: n_kinds + k for k, each in enumerate(sets)}
        flat = [place[code] if isinstance(code, frozenset) else code for codes in own for code in codes]
        table = np.zeros((len(sets), n_kinds), bool)
        for row, each in zip(table, sets):
            row[list(each)] = True
        return Annotation(np.array(flat, np.int32), table)

    def encode_allowed(
        self, Y: Any, lengths: Iterable[int]
    ) -> tuple[dict[int, np.ndarray], dict[int, list[Any]]]:
        """Codes of the alignments among `Y`, partners of all positions, that pairs of so many positions can have."""
        given, found = alignments(Y, "within"), {}
        for n in lengths:
            own = [_coded(y, n, "within") for y in given if len(y) == n]
            found[n] = np.array(own, np.int32).reshape(-1, n)
        return found, {}

    def decode(self, codes: Sequence[int] | np.ndarray) -> Any:
        """The alignment of one pair, in the form of this codec; partners if it is not known wholly."""
        codes = np.asarray(codes)
        if self.form == "matches" and np.all(codes >= 0):
            return matches_of(codes)
        return [_partner(int(code), len(codes)) for code in codes]

    def decode_sequences(self, codes: Ragged) -> list[Any]:
        """The alignment of each item of `codes`."""
        return [self.decode(item) for item in codes]

    def positions(self, Y: Any, lengths: Sequence[int] | np.ndarray) -> list[list[Any]]:
        """The partner of each position, -1 for none."""
        own = [_coded(y, int(n), f"y[{i}]") for i, (y, n) in enumerate(zip(alignments(Y, "y"), lengths))]
        return [[_partner(code, len(codes)) for code in list(codes)] for codes in own]

    def state(self) -> Any:
        """The codec as JSON values."""
        return {"form": self.form, "long_gaps": self.long_gaps}

    @classmethod
    def from_state(cls, state: Any) -> AlignmentCodec:
        """Inverse of :meth:`state`."""
        form, long_gaps = (
            state.get(key) if isinstance(state, dict) else None for key in ("form", "long_gaps")
        )
        if form not in FORMS or not isinstance(long_gaps, bool):
            raise ModelFileError(f"damaged alignments in a model file: {state!r:.60}")
        return cls(form, long_gaps)


def alignments(Y: Any, where: str) -> list[Any]:
    """Alignments one by one."""
    if isinstance(Y, str | bytes) or not isinstance(Y, Iterable):
        raise TypeError(
            f"{where} must be a list of alignments, one per pair, got {type(Y).__name__}: {Y!r:.60}"
        )
    refuse_masked(Y, where)
    found = list(listed(Y))
    for i, y in enumerate(found):
        if isinstance(y, str) or not hasattr(y, "__len__"):
            raise TypeError(
                f"{where}[{i}] must be two rows with gaps, a list of matches (i, j), Core(matches), or the partners of "
                f"all positions, got {type(y).__name__}: {y!r:.60}"
            )
    return found


def _coded(y: Any, n: int, where: str) -> Any:
    """Codes of one alignment: an array with -1 where nothing is known, or a list with sets of codes."""
    if isinstance(y, Coded):
        codes: Any = y.codes
    elif is_partners(y):
        codes = [_code(item, n, f"{where}[{t}]") for t, item in enumerate(y)]
        if not any(isinstance(code, frozenset) for code in codes):
            codes = np.array(codes, np.int32)
    elif len(y) == 0 and n == 0:
        codes = np.empty(0, np.int32)
    else:
        raise ValueError(
            f"{where} is {y!r:.60}: where the sequences are not at hand, an alignment is the partners of all positions"
        )
    if len(codes) != n:
        raise ValueError(f"{where} has {len(codes)} partners, but its sequences have {n} letters together")
    return codes


def _code(item: Any, n: int, where: str) -> Any:
    if item is UNKNOWN:
        return UNKNOWN_CODE
    if isinstance(item, OneOf):
        several = frozenset(_code(each, n, where) for each in item.labels)
        return next(iter(several)) if len(several) == 1 else several
    if not isinstance(item, int | np.integer) or isinstance(item, bool) or not -1 <= item < n:
        raise ValueError(
            f"{where} is {item!r:.60}, expected a position of the other sequence, or -1 for a gap"
        )
    return int(item) + 1


def _either_gap(codes: Any, n: int) -> Any:
    """Codes in which a gap may be long, too."""
    if isinstance(codes, np.ndarray) and not np.any(codes == 0):
        return codes
    gap = frozenset((0, n + 1))
    plain = codes.tolist() if isinstance(codes, np.ndarray) else codes
    return [
        (code | gap if 0 in code else code) if isinstance(code, frozenset) else gap if code == 0 else code
        for code in plain
    ]


def _partner(code: Any, n: int) -> Any:
    if isinstance(code, frozenset):
        return OneOf(*sorted({_partner(each, n) for each in code}))
    return UNKNOWN if code < 0 else -1 if code == n + 1 else int(code) - 1
