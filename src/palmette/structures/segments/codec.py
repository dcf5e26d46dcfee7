"""Labelled segments: as users write them outside, one code per position inside.

A segmentation is written as segments ``(start, stop, label)`` of positions ``start .. stop - 1``, or as IOB2 labels.
Inside, with K labels, a position has the code ``label`` where a segment begins and ``K + label`` where it goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import index
from sys import maxsize
from typing import Any, NamedTuple

import numpy as np

from palmette.data.annotation import UNKNOWN, UNKNOWN_CODE, Annotation, OneOf
from palmette.data.checks import check_type, check_whole, entry
from palmette.data.labels import LabelCodec
from palmette.data.outside import refuse_masked
from palmette.data.ragged import Ragged
from palmette.data.sequences import listed
from palmette.data.span_encodings import split_label
from palmette.errors import ModelFileError
from palmette.registry import register
from palmette.structures.segments.annotated import Possible, is_partial, possible_segments, possible_tags

FORMS = ("segments", "iob2")


class Segment(NamedTuple):
    """A segment of positions ``start .. stop - 1``, and where it was given."""

    start: int
    stop: int
    label: Any
    place: str


@register("codec", "segments")
class SegmentCodec(LabelCodec):
    """Bijection between segmentations and codes.

    Parameters
    ----------
    classes : iterable of labels
        Labels of segments, by code.
    longest : ndarray of int64, shape (n_classes,)
        Positions of a segment of each label at most.
    form : {"segments", "iob2"}
        How segmentations are written.
    outside : label or None
        Label of the positions that are in no given segment (IOB2: of the label ``O``); each is a segment of its own.
    shown : bool
        Whether segments with that label are written out (``form="segments"``).

    Examples
    --------
    >>> codec = SegmentCodec(["NP", "O"], np.array([3, 1]), "segments", "O", shown=False)
    >>> codes = codec.encode_outputs([[(1, 3, "NP")]], [4])
    >>> codes, codec.decode(codes)
    (array([1, 0, 2, 1], dtype=int32), [(1, 3, 'NP')])
    """

    def __init__(
        self, classes: Iterable[Any], longest: np.ndarray, form: str, outside: Any = "O", shown: bool = True
    ) -> None:
        super().__init__(classes)
        self.longest, self.form, self.outside, self.shown = longest, form, outside, shown

    @classmethod
    def from_outputs(
        cls,
        Y: Any,
        classes: Any,
        longest: Callable[[tuple[Any, ...]], np.ndarray],
        outside: Any,
        lengths: Sequence[int] | np.ndarray,
    ) -> SegmentCodec:
        """Codec of the labels, and of the form, of the outputs `Y` of sequences of the given `lengths`."""
        Y = _outputs(Y)
        form = _form(Y)
        possible = [_possible(y, i, int(n), form, outside) for i, (y, n) in enumerate(zip(Y, lengths))]
        labels = [[label for part in y if part for label, _ in part] for y in possible]
        codec = LabelCodec.from_labels(labels, classes)
        shown = form == "iob2" or any(label == outside for y in Y for _, _, label in y)
        return cls(codec.classes_, longest(codec.classes_), form, outside, shown)

    def encode_outputs(self, Y: Any, lengths: Sequence[int] | np.ndarray) -> np.ndarray:
        """Codes (int32) of all positions of segmentations of sequences of the given `lengths`."""
        codes = [
            self._encode_one(_read(y, i, int(n), self.form, self.outside), int(n))
            for i, (y, n) in enumerate(zip(_outputs(Y), lengths))
        ]
        return np.concatenate([np.empty(0, np.int32), *codes])

    def encode_annotation(
        self, Y: Any, lengths: Sequence[int] | np.ndarray, layout: str = "sequences"
    ) -> Annotation:
        """What segmentations with UNKNOWN and OneOf in them say (:mod:`palmette.structures.segments.annotated`)."""
        Y, k = _outputs(Y), len(self)
        if not is_partial(Y, self.form):
            return Annotation(self.encode_outputs(Y, lengths), np.empty((0, 2 * k), bool))
        codes: list[int] = []
        sets: dict[tuple[int, ...], int] = {}
        for i, (y, n) in enumerate(zip(Y, lengths)):
            for t, part in enumerate(_possible(y, i, int(n), self.form, self.outside)):
                if part is None:
                    codes.append(UNKNOWN_CODE)
                    continue
                own = [
                    self._code_of(label, f"y[{i}], position {t}") + k * (not begins) for label, begins in part
                ]
                own = own or list(range(k))
                codes.append(own[0] if len(own) == 1 else 2 * k + sets.setdefault(tuple(own), len(sets)))
        table = np.zeros((len(sets), 2 * k), bool)
        for row, allowed in enumerate(sets):
            table[row, list(allowed)] = True
        return Annotation(np.array(codes, np.int32), table)

    def encode_allowed(
        self, Y: Any, lengths: Iterable[int]
    ) -> tuple[dict[int, np.ndarray], dict[int, list[Any]]]:
        """Codes of the segmentations among `Y` that sequences of each of the `lengths` can have, one per row.

        IOB2 labels fit sequences of their number. Segments ``(start, stop, label)`` fit where the last one ends with
        the sequence, or before: the positions after it are outside, if there is a label for that. Segmentations with a
        label that this codec does not know come second, by the lengths that they fit.
        """
        Y = _outputs(Y, "within")
        longer = self.form == "segments" and self.outside is not None
        least = [self._least_length(y, i) for i, y in enumerate(Y)]

        codes: dict[int, np.ndarray] = {}
        unknown: dict[int, list[Any]] = {}
        for n in lengths:
            known, unknown[n] = [], []
            for i, (y, m) in enumerate(zip(Y, least)):
                if m == n or (longer and m < n):
                    segments = _read(y, i, n, self.form, self.outside, "within")
                    if self._codes.keys() >= {segment.label for segment in segments}:
                        known.append(self._encode_one(segments, n))
                    else:
                        unknown[n].append(y)
            codes[n] = np.array(known, np.int32).reshape(-1, n)
        return codes, unknown

    def _least_length(self, y: Sequence[Any], i: int) -> int:
        """Positions that an allowed output needs."""
        if self.form == "iob2":
            return len(y)
        return max((segment.stop for segment in _read_segments(y, i, maxsize, "within")), default=0)

    def _encode_one(self, segments: list[Segment], n: int) -> np.ndarray:
        codes = np.empty(n, np.int32)
        for start, stop, label, place in segments:
            code = self._codes[label] if label in self._codes else self._code_of(label, place)
            if stop - start > self.longest[code]:
                raise ValueError(
                    f"{place}: the segment {(start, stop, label)} has {stop - start} positions, but max_length of "
                    f"{label!r} is {self.longest[code]}; raise max_length, or cut the segment"
                )
            codes[start] = code
            codes[start + 1 : stop] = len(self) + code
        return codes

    def decode(self, codes: Sequence[int] | np.ndarray) -> list[Any]:
        """The segmentation of one sequence, in the form of this codec."""
        codes = np.asarray(codes)
        starts = np.flatnonzero(codes < len(self)).tolist()
        found = [(a, b, self.classes_[codes[a]]) for a, b in zip(starts, [*starts[1:], len(codes)])]
        if self.form == "iob2":
            return [tag for segment in found for tag in _tags(*segment, self.outside)]
        return [segment for segment in found if self.shown or segment[2] != self.outside]

    def decode_sequences(self, codes: Ragged) -> list[list[Any]]:
        """The segmentation of each item of `codes`."""
        return [self.decode(item) for item in codes]

    def positions(self, Y: Any, lengths: Sequence[int] | np.ndarray) -> list[list[Any]]:
        """What each position is: its label and whether a segment begins there. UNKNOWN stays what it is."""
        if self.form == "iob2":
            return list(Y)
        read = [_read(y, i, n, self.form, self.outside) for i, (y, n) in enumerate(zip(_outputs(Y), lengths))]
        return [
            [(s.label, t == s.start) for s in segments for t in range(s.start, s.stop)] for segments in read
        ]

    def state(self) -> Any:
        """The codec as JSON values."""
        return {
            "labels": super().state(),
            "longest": self.longest.tolist(),
            "form": self.form,
            "outside": None if self.outside is None else LabelCodec([self.outside]).state(),
            "shown": self.shown,
        }

    @classmethod
    def from_state(cls, state: Any) -> LabelCodec:
        """Inverse of :meth:`state`."""
        try:
            check_type("the labels", state, dict)
            labels, outside = LabelCodec.from_state(state.get("labels")), state["outside"]
            longest = [check_whole("longest", n, 1) for n in entry(state, "longest", list)]
            if len(longest) != len(labels) or state.get("form") not in FORMS:
                raise ValueError(f"{len(longest)} longest segments, form {state.get('form')!r:.60}")
            if outside is not None:
                (outside,) = LabelCodec.from_state(outside).classes_
            codec = cls(
                labels.classes_,
                np.array(longest, np.int64),
                state["form"],
                outside,
                entry(state, "shown", bool),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ModelFileError(f"damaged segment labels in a model file: {error!r}") from error
        if codec.form == "iob2" and not all(isinstance(label, str) for label in codec.classes_):
            raise ModelFileError("damaged segment labels in a model file: labels in IOB2 are strings")
        return codec


def _outputs(Y: Any, where: str = "y") -> list[Any]:
    if isinstance(Y, (str, bytes)) or not isinstance(Y, Iterable):
        raise TypeError(
            f"{where} must be a list of segmentations, one per sequence, got {type(Y).__name__}: {Y!r:.60}"
        )
    refuse_masked(Y, "y")
    nested = [y.tolist() if isinstance(y, np.ndarray) else y for y in listed(Y)]
    for i, y in enumerate(nested):
        if isinstance(y, (str, bytes)) or not (isinstance(y, Iterable) and hasattr(y, "__len__")):
            raise TypeError(
                f"{where}[{i}] must be a list of segments (start, stop, label) or of IOB2 labels, got "
                f"{type(y).__name__}: {y!r:.60}"
            )
    return nested


def _form(Y: list[Any]) -> str:
    """How the first output that says anything is written."""
    first = next((item for y in Y for item in y), None)
    return "iob2" if isinstance(first, str | OneOf) or first is UNKNOWN else "segments"


def _possible(y: Sequence[Any], i: int, n: int, form: str, outside: Any) -> list[Possible]:
    """What each position of output i may be."""
    if not is_partial([y], form):
        read = _read(y, i, n, form, outside)
        return [((s.label, t == s.start),) for s in read for t in range(s.start, s.stop)]
    if form == "segments":
        found = _read_segments(y, i, n, "y")
        for before, after in zip(found, found[1:]):
            if after.start < before.stop:
                raise ValueError(
                    f"{before.place} and {after.place} overlap: a position belongs to one segment"
                )
        return possible_segments(found, n, outside)
    if len(y) != n:
        raise ValueError(f"sample {i}: X[{i}] has {n} positions but y[{i}] has {len(y)} labels")
    return possible_tags(y, f"y[{i}]", outside)


def _read(y: Sequence[Any], i: int, n: int, form: str, outside: Any, where: str = "y") -> list[Segment]:
    """The segments of output i of `where` from left to right, every position in one of them."""
    found = _read_tags(y, i, n, outside, where) if form == "iob2" else _read_segments(y, i, n, where)
    whole: list[Segment] = []
    at = 0
    for segment in [*found, Segment(n, n, None, "the end")]:
        if segment.start < at:
            raise ValueError(
                f"{whole[-1].place} and {segment.place} overlap: a position belongs to one segment"
            )
        if segment.start > at and outside is None:
            raise ValueError(
                f"{where}[{i}]: no segment covers the positions {at}..{segment.start - 1} of {n}; give them a label, "
                "or name one for all such positions: SemiMarkov(outside='O')"
            )
        whole += [Segment(t, t + 1, outside, f"{where}[{i}]") for t in range(at, segment.start)]
        whole.append(segment)
        at = segment.stop
    return whole[:-1]


def _read_segments(y: Sequence[Any], i: int, n: int, where: str) -> list[Segment]:
    found = []
    for j, item in enumerate(y):
        place = f"{where}[{i}][{j}]"
        if isinstance(item, (str, bytes)) or not hasattr(item, "__len__") or len(item) != 3:
            raise TypeError(
                f"{place} is {item!r:.60}, expected a segment (start, stop, label); give segments or IOB2 labels, "
                "for all sequences alike"
            )
        try:
            start, stop = index(item[0]), index(item[1])
        except TypeError:
            raise TypeError(f"{place} = {item!r:.60}: start and stop of a segment are integers") from None
        if not 0 <= start < stop <= n:
            raise ValueError(
                f"{place} = {(start, stop, item[2])!r:.60}: 0 <= start < stop <= {n} must hold, since the sequence "
                f"has {n} positions"
            )
        try:
            hash(item[2])
        except TypeError:
            raise TypeError(
                f"{place} = {item!r:.60}: a segment needs a label, a string or number, say"
            ) from None
        found.append(Segment(start, stop, item[2], f"{place} = {(start, stop, item[2])!r:.60}"))
    return sorted(found, key=lambda segment: segment.start)


def _read_tags(y: Sequence[Any], i: int, n: int, outside: Any, where: str) -> list[Segment]:
    if len(y) != n:
        raise ValueError(f"sample {i}: X[{i}] has {n} positions but y[{i}] has {len(y)} labels")
    found: list[Segment] = []
    for t, tag in enumerate(y):
        place = f"{where}[{i}][{t}]"
        if tag is UNKNOWN or isinstance(tag, OneOf):
            raise ValueError(f"{place} is {tag!r}, and this needs complete outputs: label this position")
        letter, label = split_label(tag) if isinstance(tag, str) else ("", "")
        if outside is not None and tag == outside:
            found.append(Segment(t, t + 1, outside, place))
        elif letter == "B":
            found.append(Segment(t, t + 1, label, place))
        elif letter == "I":
            if not found or found[-1].label != label:
                raise ValueError(
                    f"{place} is {tag!r}, but no segment of {label!r} is open there; in IOB2 a segment begins with B: "
                    "correct it, or use palmette.data.convert_spans(y, source, 'IOB2', invalid='repair')"
                )
            found[-1] = found[-1]._replace(stop=t + 1)
        else:
            raise ValueError(
                f"{place} is {tag!r:.60}, which is not an IOB2 label: those are {outside!r}, B-... and I-...; convert "
                "others with palmette.data.convert_spans, or give segments (start, stop, label)"
            )
    return found


def _tags(start: int, stop: int, label: Any, outside: Any) -> list[str]:
    if label == outside:
        return [label] * (stop - start)
    rest = f"-{label}" if label else ""
    return [f"B{rest}", *[f"I{rest}"] * (stop - start - 1)]
