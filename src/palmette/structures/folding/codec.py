"""Structures as users write them: dot-bracket strings, lists of pairs, or partners of positions."""

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
from palmette.structures.folding.brackets import check_pairs, format_brackets, parse_brackets

FORMS = ("dot-bracket", "pairs", "partners")
CLASSES = ("unpaired", "paired")
ANY = "?"
"""A position of a dot-bracket string of which nothing is known."""


@register("codec", "pairs")
class FoldingCodec(LabelCodec):
    """Structures to codes (0 unpaired, ``j + 1`` paired with j) and back; positions count from 0.

    Three forms are read, and ``predict`` answers in the one that ``fit`` was given:

    * dot-bracket strings, ``"((...))"``, with ``?`` where nothing is known; brackets of other kinds may cross;
    * lists of pairs ``[(0, 6), (1, 5)]``;
    * partners, one per position: ``-1`` unpaired, j paired with j, UNKNOWN, or OneOf several.

    Examples
    --------
    >>> codec = FoldingCodec("pairs")
    >>> codes = codec.encode_outputs([[(0, 6), (1, 5)]], [7])
    >>> codes, codec.decode(codes)
    (array([7, 6, 0, 0, 0, 2, 1], dtype=int32), [(0, 6), (1, 5)])
    >>> FoldingCodec("dot-bracket").decode(codes)
    '((...))'
    """

    def __init__(self, form: str = "dot-bracket") -> None:
        super().__init__(CLASSES)
        self.form = form

    @classmethod
    def from_outputs(cls, Y: Any) -> FoldingCodec:
        """The codec of the form of the first output that shows one."""
        for y in structures(Y, "y"):
            if isinstance(y, str):
                return cls("dot-bracket")
            if len(y):
                return cls("partners" if _is_partner(y[0]) else "pairs")
        return cls("pairs")

    def encode_outputs(self, Y: Any, lengths: Sequence[int] | np.ndarray) -> np.ndarray:
        """Codes (int32) of structures of sequences of the given lengths; -1 where nothing is known."""
        return self.encode_annotation(Y, lengths).known

    def encode_annotation(
        self, Y: Any, lengths: Sequence[int] | np.ndarray, layout: str = "sequences"
    ) -> Annotation:
        """What structures say that may be known in part."""
        own = [_coded(y, int(n), f"y[{i}]") for i, (y, n) in enumerate(zip(structures(Y, "y"), lengths))]
        sets = dict.fromkeys(code for codes in own for code in codes if isinstance(code, frozenset))
        if not sets:
            codes = [np.array(each, np.int32) for each in own]
            return Annotation(np.concatenate([np.empty(0, np.int32), *codes]), None)
        n_kinds = int(np.max(lengths)) + 1
        place = {each: n_kinds + k for k, each in enumerate(sets)}
        flat = [
            place.get(code, code) if isinstance(code, frozenset) else code for each in own for code in each
        ]
        table = np.zeros((len(sets), n_kinds), bool)
        for row, each in zip(table, sets):
            row[list(each)] = True
        return Annotation(np.array(flat, np.int32), table)

    def encode_allowed(
        self, Y: Any, lengths: Iterable[int]
    ) -> tuple[dict[int, np.ndarray], dict[int, list[Any]]]:
        """Codes of the structures among `Y` that sequences of each of the `lengths` can have, one per row."""
        given, found = structures(Y, "within"), {}
        for n in lengths:
            own = [_coded(y, n, "within") for y in given if _fits(y, n)]
            found[n] = np.array(own, np.int32).reshape(-1, n)
        return found, {}

    def decode(self, codes: Sequence[int] | np.ndarray) -> Any:
        """The structure of one sequence, in the form of this codec."""
        codes = np.asarray(codes)
        if self.form == "partners":
            return [UNKNOWN if code < 0 else int(code) - 1 for code in codes]
        pairs = pairs_of(codes)
        if self.form == "pairs":
            return pairs
        text = format_brackets(pairs, len(codes))
        unknown = np.flatnonzero(codes == UNKNOWN_CODE)
        if not len(unknown):
            return text
        letters = list(text)
        for t in unknown.tolist():
            letters[t] = ANY
        return "".join(letters)

    def decode_sequences(self, codes: Ragged) -> list[Any]:
        """The structure of each item of `codes`."""
        return [self.decode(item) for item in codes]

    def positions(self, Y: Any, lengths: Sequence[int] | np.ndarray) -> list[list[Any]]:
        """The partner of each position, -1 for none."""
        own = [_coded(y, int(n), f"y[{i}]") for i, (y, n) in enumerate(zip(structures(Y, "y"), lengths))]
        return [[_partner(code) for code in codes] for codes in own]

    def state(self) -> Any:
        """The codec as JSON values."""
        return {"form": self.form}

    @classmethod
    def from_state(cls, state: Any) -> FoldingCodec:
        """Inverse of :meth:`state`."""
        form = state.get("form") if isinstance(state, dict) else None
        if form not in FORMS:
            raise ModelFileError(f"damaged structures in a model file: form {form!r:.60}")
        return cls(form)


def pairs_of(codes: np.ndarray) -> list[tuple[int, int]]:
    """The pairs (i, j), i < j, of the codes of one sequence.

    >>> pairs_of(np.array([4, 0, 0, 1]))
    [(0, 3)]
    """
    codes = np.asarray(codes)
    left = np.flatnonzero(codes - 1 > np.arange(len(codes)))
    return list(zip(left.tolist(), (codes[left] - 1).tolist()))


def both_ends(codes: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Codes in which a pair that is known at one end is known at the other one, too.

    >>> both_ends(np.array([4, -1, 0, -1]), np.array([0, 4]))
    array([ 4, -1,  0,  1])
    """
    start = np.repeat(offsets[:-1], np.diff(offsets))
    out = codes.copy()
    known = np.flatnonzero(codes > 0)
    other = start[known] + codes[known] - 1
    open_ = codes[other] == UNKNOWN_CODE
    out[other[open_]] = (known - start[known] + 1)[open_]
    return out


def structures(Y: Any, where: str) -> list[Any]:
    """Structures one by one, arrays as lists."""
    if isinstance(Y, str | bytes) or not isinstance(Y, Iterable):
        raise TypeError(
            f"{where} must be a list of structures, one per sequence, got {type(Y).__name__}: {Y!r:.60}"
        )
    refuse_masked(Y, where)
    found = [y.tolist() if isinstance(y, np.ndarray) else y for y in listed(Y)]
    for i, y in enumerate(found):
        if not isinstance(y, str) and not (isinstance(y, Iterable) and hasattr(y, "__len__")):
            raise TypeError(
                f"{where}[{i}] must be a dot-bracket string, a list of pairs or the partners of all positions, got "
                f"{type(y).__name__}: {y!r:.60}"
            )
    return found


def _is_partner(item: Any) -> bool:
    return item is UNKNOWN or isinstance(item, int | np.integer | OneOf)


def _coded(y: Any, n: int, where: str) -> list[Any]:
    """Codes of one structure: -1 where nothing is known, a set of codes where there are several."""
    if isinstance(y, str):
        if len(y) != n:
            raise ValueError(f"{where} has {len(y)} characters, but its sequence has {n} letters")
        try:
            pairs = parse_brackets(y.replace(ANY, "."))
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from None
        codes: list[Any] = [UNKNOWN_CODE if letter == ANY else 0 for letter in y]
        return _with_pairs(codes, pairs)
    items = list(y)
    if items and _is_partner(items[0]):
        return _from_partners(items, n, where)
    for item in items:
        if isinstance(item, str) or not hasattr(item, "__len__") or len(item) != 2:
            raise ValueError(
                f"{where} has {item!r:.60}, expected a pair (i, j); partners of all positions are whole numbers"
            )
    try:
        return _with_pairs([0] * n, check_pairs(items, n))
    except (TypeError, ValueError) as error:
        raise ValueError(f"{where}: {error}") from None


def _with_pairs(codes: list[Any], pairs: Iterable[tuple[int, int]]) -> list[Any]:
    for i, j in pairs:
        codes[i], codes[j] = j + 1, i + 1
    return codes


def _from_partners(items: list[Any], n: int, where: str) -> list[Any]:
    if len(items) != n:
        raise ValueError(f"{where} has {len(items)} partners, but its sequence has {n} letters")
    codes: list[Any] = []
    for t, item in enumerate(items):
        if item is UNKNOWN:
            codes.append(UNKNOWN_CODE)
        elif isinstance(item, OneOf):
            several = frozenset(_partner_code(each, t, n, where) for each in item.labels)
            codes.append(next(iter(several)) if len(several) == 1 else several)
        else:
            codes.append(_partner_code(item, t, n, where))
    for t, code in enumerate(codes):
        if isinstance(code, frozenset) or code < 1:
            continue
        back = codes[code - 1]
        if back not in (UNKNOWN_CODE, t + 1) and not (isinstance(back, frozenset) and t + 1 in back):
            raise ValueError(
                f"{where}[{t}] pairs position {t} with {code - 1}, but {where}[{code - 1}] says "
                f"{_partner(back)}; give the partner at both positions"
            )
    return codes


def _partner_code(item: Any, t: int, n: int, where: str) -> int:
    if not isinstance(item, int | np.integer) or isinstance(item, bool):
        raise ValueError(
            f"{where}[{t}] is {item!r:.60}, expected the partner of position {t}, or -1 for none"
        )
    if not -1 <= item < n or item == t:
        raise ValueError(f"{where}[{t}] is {item}, expected another position 0..{n - 1}, or -1 for none")
    return int(item) + 1


def _partner(code: Any) -> Any:
    if isinstance(code, frozenset):
        return OneOf(*(each - 1 for each in sorted(code)))
    return UNKNOWN if code < 0 else code - 1


def _fits(y: Any, n: int) -> bool:
    """Whether a sequence of n letters can have an allowed structure."""
    if isinstance(y, str) or (len(y) and _is_partner(y[0])):
        return len(y) == n
    return max((max(pair) + 1 for pair in y), default=0) <= n
